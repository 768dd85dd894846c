// Tables and lists of the notebook, as Markdown.
import { plain } from './figures.mjs';

/** A table: titles, then rows; columns after the first are of numbers unless `left` names them. */
export function table(titles, rows, left = [0]) {
  const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${titles.map((_, i) => (left.includes(i) ? ' --- ' : ' ---: ')).join('|')}|`;
  return [cells(titles), rule, ...rows.map(cells)].join('\n');
}

/** The aims of these reports, each once: where one run has not measured what another has, the one that has. */
function aimsOf(f, names) {
  const byName = new Map();
  for (const aim of names.flatMap((name) => f.aims(name, undefined, true))) {
    const known = byName.get(aim.name);
    if (known === undefined || (known.met === null && aim.met !== null)) byName.set(aim.name, aim);
  }
  return [...byName.values()];
}

/** Each aim, what was measured, and whether that is enough. */
export function aimsTable(f, names) {
  const rows = aimsOf(f, names).map((aim) => {
    const asked = [aim.name, `${aim.comparison} ${f.show(aim, 'aim', 'significant')}`];
    if (aim.met === null) return [...asked, 'not measured', ''];
    const interval =
      aim.interval === undefined
        ? ''
        : ` (${f.show(aim, 'interval/0', 'ratio3')} to ${f.show(aim, 'interval/1', 'ratio3')})`;
    return [...asked, `${f.show(aim, 'measured', 'ratio3')}${interval}`, aim.met ? '✓ met' : '✗ missed'];
  });
  return rows.length === 0 ? '' : table(['aim', 'asked', 'measured', ''], rows, [0, 3]);
}

/** `5 of 6 aims are met; 2 not measured`. */
export function aimsSentence(f, names) {
  const aims = aimsOf(f, names);
  const judged = aims.filter(({ met }) => met !== null);
  const unmeasured = aims.filter(({ met }) => met === null);
  if (judged.length === 0) return aims.length === 0 ? 'no aims' : `none of ${f.total(aims)} aims was measured`;
  const paths = judged.map(({ path }) => `${path}/met`);
  const [met, all] = [f.take('count', paths, 'count'), f.take('total', paths, 'count')];
  const open = unmeasured.length === 0 ? '' : `; ${f.total(unmeasured)} not measured`;
  if (plain(met) === plain(all) && open === '') return `all ${all} aims are met`;
  return `${met} of ${all} aims are met${open}`;
}

/** The benchmark's own sentences, word for word. */
export function notes(f, name, pattern = /(?:)/) {
  const own = (f.report(name).notes ?? []).filter((note) => pattern.test(note));
  return own.map((note) => `> ${note}`).join('\n>\n');
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(words) {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
