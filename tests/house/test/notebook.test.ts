// The notebook in docs is what its kept JSON gives: rendered again it is the same, each figure is in the JSON, no number is
// typed in by hand, and sentences about an outcome change with it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ROOT } from './workspace.ts';

interface Report {
  settings: Record<string, unknown>;
  results: Record<string, unknown>[];
  aims: { name: string; aim: number; measured: number | null; met: boolean | null; comparison: string }[];
  notes?: string[];
}
type Reports = Record<string, Report>;

const load = (file: string): Promise<unknown> => import(pathToFileURL(join(ROOT, 'scripts', file)).href);
const { commands, keptReports, reportText } = (await load('notebook.mjs')) as {
  commands: Record<string, string>;
  keptReports: () => Reports;
  reportText: (report: Report) => string;
};
const { renderNotebook } = (await load('notebook/render.mjs')) as {
  renderNotebook: (reports: Reports, commands: Record<string, string>) => Map<string, string>;
};

const reports = keptReports();
const rendered = renderNotebook(reports, commands);
const page = rendered.get('index.html') as string;
/** What the discussions measured themselves: constants of the text, each marked as quoted. */
const QUOTED = ['2.3', '10,199,040', '180,000,000', '4.05', '3.5', '4.7'];
const QUOTE = /<span class="quoted">([^<]*)<\/span>/g;
const kept = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');

describe('the notebook is not stale', () => {
  test.each([...rendered.keys()])('%s', (name) => {
    expect(kept(name) === rendered.get(name), `docs/${name} is another: npm run notebook -- --render`).toBe(true);
  });

  test('no chart lies about that it no longer has, and each measurement has a section', () => {
    const charts = readdirSync(join(ROOT, 'docs/figures')).filter((name) => name.endsWith('.svg'));
    expect(charts.map((name) => `figures/${name}`).filter((name) => !rendered.has(name))).toEqual([]);
    const json = readdirSync(join(ROOT, 'docs/figures')).filter((name) => name.endsWith('.json'));
    expect(json.map((name) => name.replace('.json', '')).filter((name) => !(name in reports))).toEqual([]);
  });

  test('its JSON is as the script keeps it', () => {
    for (const [name, report] of Object.entries(reports)) expect(kept(`figures/${name}.json`)).toBe(reportText(report));
  });

  test('every picture and link of the Markdown is there', () => {
    const markdown = rendered.get('notebook.md') as string;
    const targets = [...markdown.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, target]) => target as string);
    expect(targets.filter((target) => target.endsWith('.svg')).length).toBe(rendered.size - 2);
    for (const target of targets) expect(rendered.has(target), target).toBe(true);
    // Nothing is left of the marks that figures carry on their way.
    expect(markdown + page).not.toMatch(/[\ue000-\ue002]|\{\{|undefined|NaN/);
  });

  test('canary: a measured value that changes, changes the page', () => {
    const changed = structuredClone(reports);
    const aim = changed.geometry?.aims[0];
    if (aim === undefined) throw new Error('there is no aim of geometry');
    aim.measured = 7.891;
    expect(renderNotebook(changed, commands).get('index.html')).not.toBe(page);
    expect(renderNotebook(changed, commands).get('notebook.md')).toContain('7.891');
  });
});

/** The value of a figure, looked up in the JSON by this test's own means. */
function valueOf(from: string): number {
  const [first = '', ...rest] = from.split(' ');
  const paths = rest.length === 0 ? [first] : rest;
  const values = paths.map((path) => {
    let at: unknown = JSON.parse(kept(`figures/${path.split('/')[0]}.json`));
    for (const key of path.split('/').slice(1)) at = (at as Record<string, unknown>)[key];
    return at;
  });
  const numbers = values as number[];
  if (rest.length === 0) return numbers[0] as number;
  if (first === 'min') return numbers.reduce((a, b) => (b < a ? b : a));
  if (first === 'max') return numbers.reduce((a, b) => (b > a ? b : a));
  if (first === 'ratio') return (numbers[0] as number) / (numbers[1] as number);
  if (first === 'count') return values.filter((value) => value === true).length;
  if (first === 'total') return values.filter((value) => value !== undefined).length;
  throw new Error(`nobody knows how "${first}" is reckoned`);
}

/** What stands in the page as a figure. */
function figuresOf(html: string): { value: number; from: string; text: string }[] {
  const pattern = /<data value="([^"]+)" data-from="([^"]+)" data-format="\w+">([^<]*)<\/data>/g;
  return [...html.matchAll(pattern)].map(([, value, from, text]) => ({
    value: Number(value),
    from: from as string,
    text: text as string,
  }));
}

describe('figures', () => {
  const figures = figuresOf(page);

  test('each is in the JSON, and says the same to the last digit that it shows', () => {
    expect(figures.length).toBeGreaterThan(100);
    for (const { value, from, text } of figures) {
      expect(value, from).toBe(valueOf(from));
      const shown = Number(text.replace(/[,%]|[a-zµ]+$/gi, '').trim());
      // Rounded to three digits at least, or to two decimals.
      expect(Math.abs(shown - value), `${text} from ${from}`).toBeLessThanOrEqual(
        Math.max(0.0051 * Math.abs(value), 0.051),
      );
    }
  }, 60_000);

  test('the Markdown quotes the same ones', () => {
    const markdown = rendered.get('notebook.md') as string;
    for (const { text } of figures) expect(markdown).toContain(text);
  });
});

/** What looks like a measured number and came from nowhere. */
function typedNumbers(html: string): string[] {
  const strings = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === 'string') strings.add(value);
    else if (value !== null && typeof value === 'object') for (const one of Object.values(value)) collect(one);
  };
  collect(reports);
  const parts = [...html.matchAll(/<section class="(?:measured|means|findings)">([\s\S]*?)<\/section>/g)];
  const text = parts
    .map(([, part]) => part as string)
    .join('\n')
    .replace(/<figure>[\s\S]*?<\/figure>/g, '')
    .replace(/<data [^>]*>[^<]*<\/data>/g, '')
    .replace(QUOTE, (all, quoted: string) => (QUOTED.includes(quoted) ? '' : all))
    .replace(/<(?:td|th|p|code)\b[^>]*>([^<]*)<\/(?:td|th|p|code)>/g, (all, cell: string) =>
      strings.has(unescape(cell)) ? '' : all,
    )
    .replace(/<[^>]*>/g, ' ');
  return [...text.matchAll(/\d+\.\d+|\d[\d,]*\s?(?:%|(?:times|ns|ms|µs|GB|MB|of)\b)|\d{1,3}(?:,\d{3})+/g)].map(
    ([found]) => found,
  );
}

function unescape(html: string): string {
  return html
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');
}

describe('no number is typed in by hand', () => {
  test('where it says what was measured, what it means and what was found', () => {
    expect(typedNumbers(page)).toEqual([]);
  });

  test('and what is quoted is known', () => {
    expect([...page.matchAll(QUOTE)].map(([, quoted]) => quoted)).toEqual(QUOTED);
    const planted = page.replace('<section class="means">', '<section class="means"><span class="quoted">4.8</span>');
    expect(typedNumbers(planted)).toEqual(['4.8']);
  });

  test.each(['it took 1.5 times as long', 'a gain of 18 %', '7 of 9 aims', 'it has 180,000,000 bytes'])(
    'canary: %s',
    (text) => {
      const planted = page.replace('<section class="means">', `<section class="means"><p>${text}</p>`);
      expect(typedNumbers(planted).length).toBeGreaterThan(0);
    },
  );
});

describe('sentences follow the outcome', () => {
  const text = (changed: Reports): string =>
    (renderNotebook(changed, commands).get('notebook.md') as string).replace(/\s+/g, ' ');
  const withAims = (met: boolean): Reports => {
    const changed = structuredClone(reports);
    for (const aim of Object.values(changed).flatMap(({ aims }) => aims)) {
      aim.measured ??= 1;
      aim.met = met;
    }
    return changed;
  };

  test('aims met, and aims missed', () => {
    expect(text(withAims(true))).toMatch(/all \d+ aims are met/);
    expect(text(withAims(true))).not.toContain('✗ missed');
    expect(text(withAims(false))).toMatch(/\b0 of \d+ aims are met/);
    expect(text(withAims(false))).not.toContain('✓ met');
  });

  test('an aim that was not measured is told, unless another run has it', () => {
    const changed = withAims(true);
    const aims = changed.geometry?.aims ?? [];
    Object.assign(aims[0] ?? {}, { measured: null, met: null });
    const one = text({ geometry: changed.geometry as Report });
    expect(one).toContain(`${aims.length - 1} of ${aims.length - 1} aims are met; 1 not measured.`);
    expect(one).toContain('| not measured | |');
    for (const aim of aims) Object.assign(aim, { measured: null, met: null });
    expect(text({ geometry: changed.geometry as Report })).toContain(`none of ${aims.length} aims was measured`);
    const tidstore = structuredClone(changed.tidstore) as Report;
    tidstore.aims.forEach((aim, i) => {
      if (i % 2 === 0) Object.assign(aim, { measured: null, met: null });
    });
    const all = text({ tidstore });
    expect(all).toMatch(/ aims are met; \d+ not measured\./);
    const other = structuredClone(changed.tidstore) as Report;
    other.results = other.results.map((cell) => ({ ...cell, variant: `more ${String(cell['variant'])}` }));
    const both = text({ tidstore, 'tidstore-10m': other });
    expect(both).toContain(`all ${tidstore.aims.length} aims are met`);
    expect(both.split("memory, the tree's over the array's |").length).toBe(
      all.split("memory, the tree's over the array's |").length,
    );
  });

  test('a difference that is seen, and one that is not', () => {
    const changed = structuredClone(reports);
    const cells = changed.geometry?.results ?? [];
    const set = (variant: string, from: number, to: number): void => {
      for (const cell of cells) if (cell.variant === variant) Object.assign(cell, { q1Ns: from, q3Ns: to, units: 1 });
    };
    set('literal window', 10, 20);
    set('window', 15, 25);
    expect(text(changed)).toContain('no difference was seen at any block size');
    set('window', 25, 30);
    expect(text(changed)).toMatch(/a difference was seen at 1 kB, /);
  });

  test('a run without the kernel says so, and gives no number for it', () => {
    const changed = structuredClone(reports);
    const report = changed.checksum as Report;
    report.results = report.results.filter(({ variant }) => variant === 'typescript');
    report.aims = [];
    const section = text({ checksum: report });
    expect(section).toContain('The kernel was not measured');
    expect(section).not.toMatch(/undefined|NaN|Infinity/);
  });

  describe('a directory that was checked', () => {
    const cell = { place: 'a directory', blockSize: 8192, units: 131072, medianNs: 1e9, q1Ns: 9e8, q3Ns: 1.1e9 };
    const ours = { ...cell, ratioLow: 1, ratioHigh: 1, differenceSeen: true };
    /** The kept report with a directory in it; `speed` is check's over pg_checksums'. */
    const withDirectory = (speed: number | null, differenceSeen = true, startNs = 3e8): Report => {
      const report = structuredClone(reports.checksum) as Report;
      report.results = report.results.filter(({ place }) => place === 'cache' || place === 'memory');
      report.aims = report.aims.filter(({ name }) => !name.includes('pg_checksums'));
      const peer = { ...cell, variant: 'pg_checksums, command', bytesPerNs: 1.07, ratio: 1, differenceSeen: false };
      if (speed !== null) report.results.push(peer);
      const started = { medianNs: 1e9 + startNs, q1Ns: 9e8 + startNs, q3Ns: 1.1e9 + startNs, ratio: speed ?? 1 };
      const command = { ...ours, ...started, variant: 'check, command', bytesPerNs: 2.14, differenceSeen };
      const within = { ...ours, variant: 'check in process, 2 threads', bytesPerNs: 2.5, ratio: 2.4 };
      report.results.push(command, within, { ...within, variant: 'check in process, 1 thread', ratio: 1.4 });
      const versions = { directoryMadeBy: 'initdb (PostgreSQL) 99.1', pgChecksums: 'pg_checksums (PostgreSQL) 99.1' };
      report.settings = { ...report.settings, directoryBytes: 1_073_741_824, jobs: 2, ...versions };
      const measured = { measured: speed, met: speed === null ? null : speed >= 1.5 };
      report.aims.push({ name: 'check over pg_checksums, 2 cores', aim: 1.5, comparison: 'at least', ...measured });
      return report;
    };
    const told = (...outcome: Parameters<typeof withDirectory>): string =>
      text({ checksum: withDirectory(...outcome) });

    test('with its chart, its size, and what made it', () => {
      expect(told(1.993)).toContain('a data directory of 1,073,741,824 bytes (made by `initdb (PostgreSQL) 99.1`)');
      expect(told(1.993)).toContain('figures/checksum-directory.svg');
      const without = withDirectory(1.993);
      without.results = without.results.filter(({ place }) => place !== 'a directory');
      expect(text({ checksum: without })).not.toContain('checksum-directory.svg');
    });

    test.each([
      [
        1.993,
        true,
        'ran at 1.99 times the speed of `pg_checksums` over the same files: the aim, 1.5 times on two cores, is met',
      ],
      [
        1.2,
        true,
        'ran at 1.2 times the speed of `pg_checksums` over the same files: faster, but less than the aim, 1.5 times',
      ],
      [1.01, false, 'was not seen to differ from `pg_checksums` in speed over the same files; the aim, 1.5 times'],
      [
        0.1,
        true,
        'ran at 0.1 times the speed of `pg_checksums` over the same files: slower, where the aim was 1.5 times',
      ],
    ])('at %s times the speed, a difference seen: %s', (speed, seen, sentence) => {
      expect(told(speed, seen)).toContain(`\`check\`, which verifies more than the checksum, ${sentence}`);
    });

    test('without pg_checksums', () => {
      expect(told(null)).toContain('`pg_checksums` was not measured beside it.');
      expect(told(null)).not.toContain('For who checks a directory');
      expect(told(null)).toMatch(/check over pg_checksums, 2 cores \| at least 1\.5 \| not measured/);
    });

    test('what a command costs however small the directory is', () => {
      expect(told(1.2, true, 3e8)).toContain('the command took 1.3 times the time of the same check within a process');
      expect(told(1.2, true, 5e7)).toContain('no difference was seen between the command and the same check');
      expect(told(1.2, true, 5e7)).not.toContain('weighs most on a small directory');
    });

    test('and no kernel', () => {
      const report = withDirectory(1.993);
      report.results = report.results.filter(({ place }) => place === 'a directory');
      expect(text({ checksum: report })).not.toMatch(/undefined|NaN|Infinity|\(not measured\)/);
    });
  });

  describe('of the TID store', () => {
    type Change = (cell: Record<string, unknown>) => Record<string, unknown>;
    const told = (change: Change, keep: Change | undefined = undefined): string => {
      const report = structuredClone(reports.tidstore) as Report;
      report.results = report.results.filter((cell) => keep === undefined || keep(cell)['keep'] === true);
      for (const cell of report.results) Object.assign(cell, change(cell));
      return text({ tidstore: report });
    };
    const isDense = ({ nkeys, ntids }: Record<string, unknown>): boolean => nkeys !== ntids;
    const seen = { ratio: 3, differenceSeen: true };

    test('memory: less, and more', () => {
      expect(told(() => ({ memory_ratio: 20 }))).toContain('vacuum passes over the indexes less often.');
      const more = told(() => ({ memory_ratio: 0.5 }));
      expect(more).toContain('In every case the tree takes more: one memory limit holds fewer dead tuples there');
      expect(more).not.toContain('less often');
      const some = told(({ variant }) => ({ memory_ratio: /spread/.test(String(variant)) ? 0.5 : 20 }));
      expect(some).toMatch(/In `[^`]*spread` the tree takes more: .* elsewhere more of them/);
    });

    test('search: faster, slower, and no difference seen, in the headline too', () => {
      expect(told(() => seen)).toContain('The tree finds a TID 3 times as fast.');
      const slower = told(() => ({ ratio: 0.5, differenceSeen: true }));
      expect(slower).toMatch(/The tree is slower in `[^.]* at 0\.5 times the array's speed\./);
      expect(slower).not.toContain('as fast.');
      const unseen = told(() => ({ ratio: 0.97, differenceSeen: false }));
      expect(unseen).toMatch(/\*\*With [^*]*, and no difference was seen between searches in the two\*\*/);
      expect(unseen).toContain('. No difference was seen between searches in the two.');
      expect(unseen).toMatch(/- No difference was seen in the search of `/);
      const some = told(({ variant }) =>
        /spread/.test(String(variant)) ? { ratio: 1.02, differenceSeen: false } : seen,
      );
      expect(some).toMatch(/\*\*With [^*]* \(no difference seen in \d+ of \d+ searches\)\*\*/);
      expect(some).toMatch(/The tree finds a TID 3 times as fast in \d+ of \d+ searches; no difference was seen in `/);
    });

    test('an array that is searched faster: no neighbours are the reason only where there are none', () => {
      const slow = { ratio: 0.5, differenceSeen: true };
      expect(told((cell) => (isDense(cell) ? slow : seen))).not.toContain('no neighbours');
      const sparse = told((cell) => (/apart/.test(String(cell['variant'])) ? slow : seen));
      expect(sparse).toMatch(/The array was searched faster in `[^`]*apart[^`]*` .*: there the tree has no neighbours/);
      expect(told(() => seen)).toContain('No search was seen to be slower in the tree.');
    });

    test('loading: a bitmap a block is another reason than nodes', () => {
      const slow = { rt_reload_q1_ms: 10, array_reload_q3_ms: 5, reload_ratio: 2 };
      const fast = { rt_reload_q1_ms: 1, array_reload_q3_ms: 5, reload_ratio: 0.5 };
      const spread = told(({ variant }) => (/spread/.test(String(variant)) ? slow : fast));
      expect(spread).toMatch(/in `[^`]*spread` each block gets a bitmap of its own/);
      expect(spread).not.toContain('nodes are built');
      expect(told(({ variant }) => (/spread/.test(String(variant)) ? fast : slow))).toContain('nodes are built, where');
      expect(told(() => fast)).not.toMatch(/nodes are built|a bitmap of its own/);
    });

    test('without dense cells, without sparse ones, without a column', () => {
      const sparse = told(
        () => ({}),
        (cell) => ({ keep: !isDense(cell) }),
      );
      expect(sparse).toMatch(/\*\*With one dead TID a block, the sorted array takes /);
      const dense = told(
        () => ({}),
        (cell) => ({ keep: isDense(cell) }),
      );
      expect(dense).not.toMatch(/one dead TID a block/);
      const missing = told(() => ({ rt_load_ms: undefined, array_load_ms: undefined, reload_ratio: undefined }));
      expect(missing).not.toContain('rt_load_ms |');
      for (const one of [sparse, dense, missing]) expect(one).not.toMatch(/\(not measured\) times|undefined|NaN/);
    });

    test('an array that remembers its last block, where it was measured', () => {
      const noRatio = { memo_ratio: undefined, memo_ratio_low: undefined, memo_ratio_high: undefined };
      const remembering = told(() => ({ ...noRatio, rt_search_ms: 100, array_memo_search_ms: 250 }));
      expect(remembering).toMatch(
        /An array that remembers its last block too, over the tree: 2\.5 times the time in `/,
      );
      expect(remembering).toContain('| array_memo_search_ms |');
      const memo = { array_memo_search_ms: 250, memo_ratio: 1.04, memo_ratio_low: 0.9, memo_ratio_high: 1.1 };
      expect(told(() => memo)).toContain('over the tree: 1.04 times the time (no difference seen) in `');
      expect(told(() => ({ array_memo_search_ms: null }))).not.toContain('An array that remembers');
      expect(told(() => ({ array_memo_search_ms: undefined }))).not.toContain('An array that remembers');
    });

    test('a second run adds its cases, and none that the first has', () => {
      const [tidstore, other] = [structuredClone(reports.tidstore), structuredClone(reports.tidstore)] as [
        Report,
        Report,
      ];
      expect(text({ tidstore, 'tidstore-10m': other })).toBe(text({ tidstore }));
      for (const cell of other.results) cell['variant'] = `7 × ${String(cell['variant'])}`;
      const both = text({ tidstore, 'tidstore-10m': other });
      expect(both).toContain('| 7 × 1,000,000 × 30, ');
      expect(both).toContain(commands['tidstore-10m']);
    });
  });

  test('a run of one block size, or without one of the benchmarks, is a notebook too', () => {
    const one = structuredClone(reports);
    for (const report of Object.values(one)) {
      report.results = report.results.filter(({ blockSize }) => blockSize === 8192);
      report.aims = report.aims.filter(({ name }) => !/\b(?:1|2|4|16|32)kB/.test(name));
    }
    expect(text(one)).toContain('8 kB');
    for (const name of Object.keys(reports)) {
      const { [name]: _, ...others } = reports;
      expect(text(others).length).toBeGreaterThan(1000);
      expect(text({ [name]: reports[name] as Report })).not.toMatch(/undefined|NaN/);
    }
  });
});
