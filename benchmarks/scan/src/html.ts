// The report as one self-contained page: its charts are drawn by Chart.js, whose code is written into the page, so that
// it opens from a disk or an attachment, without a network.
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StorageError } from '@blockwright/base';
import {
  type Aim,
  aimText,
  type Cell,
  type MachineDescription,
  machineText,
  significant,
} from '@blockwright/benchmark';
import { QUERIES, QUERY_TITLES, type Query } from './subject.ts';

export interface HtmlReport {
  readonly results: readonly Cell[];
  readonly aims: readonly Aim[];
  readonly notes: readonly string[];
  readonly machine: MachineDescription;
  /** TPC-H scale of the rows; undefined when they were not loaded for the run. */
  readonly scale: number | undefined;
}

/** One chart: a bar an engine and block size. */
interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly labels: readonly string[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
}

/** Colours that differ for the colour-blind too, ours first. */
const COLOURS = ['#2f6fde', '#e08a1e', '#3a9b6f'];

/**
 * Tries whether the page can be written, before anything is measured for it. Nothing is changed or left behind.
 * @throws StorageError 58030 when it cannot be written.
 */
export function tryHtml(path: string): void {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    // Opening a pipe would wait for its reader, and a device has nothing to try.
    if (stat !== undefined && !stat.isFile() && !stat.isDirectory()) return;
    closeSync(openSync(path, 'a'));
    if (stat === undefined) unlinkSync(realpathSync(path));
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

/**
 * Writes the page, replacing a file of that name; where there was none, a page that cannot be written whole is removed.
 * @throws StorageError 58030 when it cannot be written.
 */
export function writeHtml(path: string, report: HtmlReport): void {
  const page = htmlPage(report);
  const isNew = !existsSync(path);
  try {
    writeFileSync(path, page);
  } catch (cause) {
    if (isNew) rmSync(path, { force: true });
    throw cannotWrite(path, cause);
  }
}

function cannotWrite(path: string, cause: unknown): StorageError {
  return new StorageError('58030', `cannot write "${path}": ${(cause as Error).message}`, { cause });
}

/** The page as text. */
function htmlPage(report: HtmlReport): string {
  const charts = [...QUERIES.map((query) => queryChart(report.results, query)), spaceChart(report.results)].filter(
    (chart): chart is Chart => chart !== undefined,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Blockwright: scans by block size</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>Scans by block size</h1>
<p class="lead">The same TPC-H <code>lineitem</code>${report.scale === undefined ? '' : ` at scale ${report.scale}`}, stored at each block size and scanned in one run. Bars are medians; shorter is faster.</p>
<p class="machine">${escape(machineText(report.machine))}</p>
</header>
${charts.map((chart, i) => `<figure><figcaption>${escape(chart.title)} <span>${escape(chart.unit)}</span></figcaption><div class="plot"><canvas id="chart${i}" role="img" aria-label="${escape(chartText(chart))}"></canvas></div></figure>`).join('\n')}
<section>
<h2>What was seen</h2>
<ul>${report.notes.map((note) => `<li>${escape(note)}</li>`).join('')}</ul>
</section>
${aimsSection(report.aims)}
<section>
<h2>Every cell</h2>
<div class="scroll">${cellTable(report.results)}</div>
</section>
</main>
<script>${chartSource()}</script>
<script>
const charts = ${scriptJson(charts)};
const colours = ${scriptJson(COLOURS)};
${DRAW}
</script>
</body>
</html>
`;
}

function queryChart(cells: readonly Cell[], query: Query): Chart | undefined {
  const own = cells.filter((cell) => cell.query === query);
  if (own.length === 0) return undefined;
  return { title: QUERY_TITLES[query], unit: 'ns a row', ...seriesOf(own, (cell) => cell.nsPerUnit) };
}

function spaceChart(cells: readonly Cell[]): Chart | undefined {
  const first = cells[0]?.query;
  const own = cells.filter((cell) => cell.query === first);
  if (own.length === 0) return undefined;
  return { title: 'Size of the table', unit: 'MB', ...seriesOf(own, (cell) => Number(cell.bytes) / 2 ** 20) };
}

function seriesOf(cells: readonly Cell[], value: (cell: Cell) => number): Pick<Chart, 'labels' | 'series'> {
  const sizes = [...new Set(cells.map((cell) => Number(cell.blockSize)))].sort((a, b) => a - b);
  const engines = [...new Set(cells.map((cell) => cell.engine))];
  return {
    labels: sizes.map((size) => `${size / 1024} kB`),
    series: engines.map((name) => ({
      name,
      values: sizes.map((size) => {
        const cell = cells.find((one) => one.engine === name && one.blockSize === size);
        return cell === undefined ? null : Number(value(cell).toPrecision(4));
      }),
    })),
  };
}

/** What a chart shows, for those who do not see it. */
function chartText({ title, unit, labels, series }: Chart): string {
  const parts = series.map(
    ({ name, values }) => `${name}: ${labels.map((label, i) => `${label} ${values[i] ?? 'none'}`).join(', ')}`,
  );
  return `${title}, ${unit}. ${parts.join('. ')}`;
}

function aimsSection(aims: readonly Aim[]): string {
  if (aims.length === 0) return '';
  const items = aims.map((aim) => {
    const mark = aim.met === null ? 'none' : aim.met ? 'met' : 'missed';
    return `<li class="${mark}">${escape(aimText(aim))}</li>`;
  });
  return `<section><h2>Aims</h2><ul class="aims">${items.join('')}</ul></section>`;
}

function cellTable(cells: readonly Cell[]): string {
  const head = ['query', 'block', 'engine', 'ns/row', 'quartiles', 'rows/s', 'pages', 'MB', 'waste/page'];
  const rows = cells.map((cell) => [
    QUERY_TITLES[cell.query as Query],
    `${Number(cell.blockSize) / 1024} kB`,
    cell.engine,
    significant(cell.nsPerUnit),
    `${significant(cell.q1Ns / cell.units)} to ${significant(cell.q3Ns / cell.units)}`,
    Number(cell.rowsPerSecond).toLocaleString('en-US'),
    Number(cell.pages).toLocaleString('en-US'),
    significant(Number(cell.bytes) / 2 ** 20, 4),
    cell.tailWaste === undefined ? '' : significant(Number(cell.tailWaste)),
  ]);
  const line = (values: readonly string[], tag: string): string =>
    `<tr>${values.map((value) => `<${tag}>${escape(value)}</${tag}>`).join('')}</tr>`;
  return `<table><thead>${line(head, 'th')}</thead><tbody>${rows.map((row) => line(row, 'td')).join('')}</tbody></table>`;
}

function chartSource(): string {
  const require = createRequire(import.meta.url);
  // A closing tag inside a string of the library would end the script.
  return readFileSync(join(dirname(require.resolve('chart.js')), 'chart.umd.min.js'), 'utf8')
    .replace(/<\/script/gi, '<\\/script')
    .replace(/^\/\/# sourceMappingURL=.*$/m, '');
}

function escape(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (letter) => names[letter]);
}

function scriptJson(value: unknown): string {
  return JSON.stringify(value).replace(/</g, '\\u003c');
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1b2330; --soft: #5a6678; --line: #d9dfe8; --ground: #f6f8fb; --card: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --soft: #9aa7ba; --line: #2c3645; --ground: #11161e; --card: #1a212c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.25rem; display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
header, section { grid-column: 1 / -1; }
h1 { margin: 0.25rem 0; font-size: 1.7rem; line-height: 1.2; }
h2 { font-size: 1.1rem; margin: 0 0 0.5rem; }
.lead { margin: 0.25rem 0; max-width: 46rem; }
.machine { margin: 0.25rem 0; color: var(--soft); font-size: 0.9rem; }
figure, section { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem; min-width: 0; }
figcaption { font-weight: 600; } figcaption span { color: var(--soft); font-weight: 400; margin-left: 0.35rem; }
.plot { position: relative; height: 15rem; margin-top: 0.5rem; }
ul { margin: 0; padding-left: 1.2rem; } li + li { margin-top: 0.35rem; }
.aims { list-style: none; padding: 0; } .aims li::before { display: inline-block; width: 1.4em; content: '–'; }
.aims .met::before { content: '✓'; color: #2e9e62; } .aims .missed::before { content: '✗'; color: #d05a2a; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left; }
`;

const DRAW = `
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
Chart.defaults.color = dark ? '#9aa7ba' : '#5a6678';
Chart.defaults.borderColor = dark ? '#2c3645' : '#e4e9f0';
Chart.defaults.font.family = 'system-ui, sans-serif';
charts.forEach((chart, i) => new Chart(document.getElementById('chart' + i), {
  type: 'bar',
  data: {
    labels: chart.labels,
    datasets: chart.series.map(({ name, values }, k) => ({ label: name, data: values, backgroundColor: colours[k % colours.length], borderRadius: 3, skipNull: true })),
  },
  options: {
    animation: false, responsive: true, maintainAspectRatio: false,
    scales: { y: { beginAtZero: true, title: { display: true, text: chart.unit } }, x: { grid: { display: false } } },
    plugins: { legend: { display: chart.series.length > 1, position: 'bottom' } },
  },
}));
`;
