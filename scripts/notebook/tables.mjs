// Tables and lists of the notebook, as Markdown.
import { plain } from './figures.mjs';

/** A table: titles, then rows; columns after the first are of numbers unless `left` names them. */
export function table(titles, rows, left = [0]) {
  const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${titles.map((_, i) => (left.includes(i) ? ' --- ' : ' ---: ')).join('|')}|`;
  return [cells(titles), rule, ...rows.map(cells)].join('\n');
}

/** Each aim, what was measured, and whether that is enough. */
export function aimsTable(f, name) {
  const rows = f.aims(name).map((aim) => {
    const interval =
      aim.interval === undefined
        ? ''
        : ` (${f.show(aim, 'interval/0', 'ratio3')} to ${f.show(aim, 'interval/1', 'ratio3')})`;
    return [
      aim.name,
      `${aim.comparison} ${f.show(aim, 'aim', 'significant')}`,
      `${f.show(aim, 'measured', 'ratio3')}${interval}`,
      aim.met ? '✓ met' : '✗ missed',
    ];
  });
  return table(['aim', 'asked', 'measured', ''], rows, [0, 3]);
}

/** `5 of 6 aims are met`. */
export function aimsSentence(f, names) {
  const paths = names.flatMap((name) => f.aims(name)).map(({ path }) => `${path}/met`);
  const [met, all] = [f.take('count', paths, 'count'), f.take('total', paths, 'count')];
  if (plain(met) === plain(all)) return `all ${all} aims are met`;
  return `${met} of ${all} aims are met`;
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
