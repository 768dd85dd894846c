// The notebook in docs is what its kept JSON gives: rendered again it is the same, each figure is in the JSON, no number is
// typed in by hand, and sentences about an outcome change with it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ROOT } from './workspace.ts';

interface Report {
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
    for (const aim of Object.values(changed).flatMap(({ aims }) => aims)) if (aim.met !== null) aim.met = met;
    return changed;
  };

  test('aims met, and aims missed', () => {
    expect(text(withAims(true))).toMatch(/all \d+ aims are met/);
    expect(text(withAims(true))).not.toContain('✗ missed');
    expect(text(withAims(false))).toMatch(/\b0 of \d+ aims are met/);
    expect(text(withAims(false))).not.toContain('✓ met');
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

  test('a directory that was checked beside pg_checksums is told of, with its chart', () => {
    const changed = structuredClone(reports);
    const report = changed.checksum as Report & { settings: Record<string, unknown> };
    report.results = report.results.filter(({ place }) => place === 'cache' || place === 'memory');
    report.aims = report.aims.filter(({ name }) => !name.includes('pg_checksums'));
    expect(text(changed)).not.toContain('checksum-directory.svg');
    const cell = { place: 'a directory', blockSize: 8192, units: 131072, medianNs: 1e9, q1Ns: 9e8, q3Ns: 1.2e9 };
    report.results.push({
      ...cell,
      variant: 'pg_checksums, command',
      bytesPerNs: 1.07,
      ratio: 1,
      differenceSeen: false,
    });
    report.results.push({ ...cell, variant: 'check, command', bytesPerNs: 2.14, ratio: 1.993, differenceSeen: true });
    report.settings = { ...report.settings, directoryBytes: 1_073_741_824 };
    report.aims.push({ name: 'check over pg_checksums', aim: 1.5, comparison: 'at least', measured: 1.993, met: true });
    const told = text(changed);
    expect(told).toContain('a data directory of 1,073,741,824 bytes');
    expect(told).toContain('figures/checksum-directory.svg');
    expect(told).toMatch(/`check`, which verifies far more than the checksum, ran at 1\.99 times the speed/);
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
