// The notebook as files: Markdown for those who read it in a repository, one HTML page that opens from a disk, and a chart
// a file. Made from the benchmarks' JSON alone: the same JSON gives the same bytes.
import { Marked } from 'marked';
import { chart, escapeText, standalone, THEME } from './charts.mjs';
import { checksum } from './checksum.mjs';
import { compactify } from './compactify.mjs';
import { Figures, plain } from './figures.mjs';
import { geometry } from './geometry.mjs';
import { indexes } from './indexes.mjs';
import { recovery } from './recovery.mjs';
import { aimsSentence } from './tables.mjs';
import { tidstore } from './tidstore.mjs';

const SECTIONS = [geometry, indexes, compactify, recovery, checksum, tidstore];

const PARTS = [
  ['idea', 'The idea'],
  ['built', 'What was built'],
  ['measured', 'What was measured'],
  ['means', 'What it means'],
  ['findings', 'Findings, good and bad'],
];

const TITLE = 'Ideas, measured';
const LEAD =
  'PostgreSQL’s developers discussed these ideas on their mailing list. Blockwright builds each one, as a package’s core, ' +
  'beside what it replaces, and a benchmark judges it. Every number below “What was measured” comes out of the benchmark’s ' +
  'own JSON, and so do the sentences that depend on it; nothing is typed in by hand. Ratios were taken within one run, on ' +
  'medians; where quartiles overlap, it says “no difference seen”.';

/**
 * The notebook's files, by their paths in `docs`.
 * @param reports  the benchmarks' reports by name
 * @param commands the command that measured each, by name
 */
export function renderNotebook(reports, commands) {
  const f = new Figures(reports);
  const sections = SECTIONS.filter(({ reports: names }) => names.some((name) => f.has(name))).map((section) =>
    partsOf(f, section, commands),
  );
  const files = new Map();
  for (const { charts } of sections) {
    for (const spec of charts) files.set(`figures/${spec.name}.svg`, standalone(chart(spec)));
  }
  files.set('notebook.md', markdown(f, sections));
  files.set('index.html', html(f, sections));
  return files;
}

/** A section's text, part by part, with its charts. */
function partsOf(f, section, commands) {
  const names = section.used?.(f) ?? section.reports.filter((name) => f.has(name));
  const measured = section.measured(f);
  const parts = PARTS.map(([key, title]) => ({
    key,
    title,
    text: (key === 'measured' ? measured.text : section[key](f)).trim().replace(/\n{3,}/g, '\n\n'),
  }));
  const repeat = names.map((name) => commands[name]).join('\n');
  parts.push({
    key: 'repeat',
    title: 'To repeat it',
    text: `\`\`\`sh\n${repeat}\n\`\`\`\n\nMeasured on: ${distinctMachines(names.map((name) => f.report(name))).join('; ')}.`,
  });
  return {
    name: section.name,
    title: section.title,
    charts: measured.charts,
    parts,
    headline: section.headline(f),
    aims: aimsSentence(f, names),
  };
}

function distinctMachines(reports) {
  return [...new Set(reports.map(({ machine }) => machineText(machine)))];
}

function machineText({ cpu, cores, memoryBytes, os, arch, node, v8, lastLevelCacheBytes }) {
  const cache =
    lastLevelCacheBytes === null ? [] : [`last-level cache ${Math.round(lastLevelCacheBytes / 2 ** 20)} MB`];
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GB`;
  return [
    cpu,
    `${cores} core${cores === 1 ? '' : 's'}`,
    memory,
    ...cache,
    `${os} ${arch}`,
    `Node.js ${node} (V8 ${v8})`,
  ].join(', ');
}

const CHART = /\{\{chart ([\w-]+)\}\}/g;

function markdown(f, sections) {
  const specs = specsOf(sections);
  const text = sections.map(({ title, parts, headline, aims }) => {
    const body = parts.map((part) => `### ${part.title}\n\n${part.text}`).join('\n\n');
    return `## ${title}\n\n**${headline}**; ${aims}.\n\n${body}`;
  });
  const withCharts = [
    `# ${TITLE}`,
    LEAD,
    'Written by `npm run notebook`. As one page with the charts in it: [index.html](index.html).',
    ...text,
  ]
    .join('\n\n')
    .replace(CHART, (_, name) => caption(specs.get(name)));
  return `${plain(withCharts)}\n`;
}

/** A picture has no title of its own. */
function caption({ name, title, unit }) {
  return `**${title}** (${unit})\n\n![${title}](figures/${name}.svg)`;
}

function specsOf(sections) {
  return new Map(sections.flatMap(({ charts }) => charts.map((spec) => [spec.name, spec])));
}

function html(f, sections) {
  const specs = specsOf(sections);
  const marked = new Marked({ gfm: true });
  const toHtml = (text) =>
    f
      .toHtml(marked.parse(text))
      .replace(/<th( [^>]*)?>[^<]*_[^<]*</g, (title) => title.replaceAll('_', '_<wbr>'))
      .replace(/<table>/g, '<div class="scroll" tabindex="0"><table>')
      .replace(/<\/table>/g, '</table></div>')
      .replace(/<p>\{\{chart ([\w-]+)\}\}<\/p>/g, (_, name) => figure(specs.get(name)));
  const contents = sections
    .map(
      ({ name, title, headline, aims }) =>
        `<li><a href="#${name}">${escapeText(title)}</a><span>${f.toHtml(escapeText(headline))}; ${f.toHtml(aims)}.</span></li>`,
    )
    .join('\n');
  const body = sections
    .map(
      ({ name, title, parts }) => `<article id="${name}">
<h2>${escapeText(title)}</h2>
${parts.map((part) => `<section class="${part.key}">\n<h3>${part.title}</h3>\n${toHtml(part.text)}</section>`).join('\n')}
</article>`,
    )
    .join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Blockwright: ${TITLE.toLowerCase()}</title>
<style>
${THEME}
${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>${TITLE}</h1>
<p>${LEAD}</p>
<ol class="contents">
${contents}
</ol>
</header>
${body}
<footer><p>Written by <code>npm run notebook</code> from the JSON in <a href="figures/">docs/figures</a>.</p></footer>
</main>
</body>
</html>
`;
}

/** A chart twice: for a screen, and for a phone. */
function figure(spec) {
  return `<figure><figcaption>${escapeText(spec.title)} <span>${escapeText(spec.unit)}</span></figcaption>
<div class="wide">${chart(spec)}</div>
<div class="narrow">${chart(spec, true)}</div>
</figure>`;
}

const STYLE = `
:root { color-scheme: light dark; --ground: #f6f8fb; --card: #fff; --code: #eef2f7; --edge: #0003; }
@media (prefers-color-scheme: dark) { :root { --ground: #11161e; --card: #1a212c; --code: #232c39; --edge: #000a; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1.25rem; }
h1 { margin: 0.25rem 0; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 0 0 0.25rem; font-size: 1.4rem; line-height: 1.25; }
h3 { margin: 1.75rem 0 0.4rem; font-size: 1.05rem; }
p, ul, ol { margin: 0.5rem 0; }
ul, ol { padding-left: 1.3rem; }
li + li { margin-top: 0.35rem; }
a { color: var(--c1); }
article, .contents { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem; margin: 1.25rem 0; }
.contents { padding-left: 2.6rem; }
.contents span { display: block; color: var(--soft); font-size: 0.9rem; }
figure { margin: 1.25rem 0; }
figcaption { font-weight: 600; } figcaption span { color: var(--soft); font-weight: 400; margin-left: 0.35rem; }
figure svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
code { background: var(--code); border-radius: 4px; padding: 0.1em 0.3em; font: 0.88em ui-monospace, monospace; overflow-wrap: break-word; }
pre { background: var(--code); border-radius: 8px; padding: 0.8rem; overflow-x: auto; line-height: 1.35; }
pre code { background: none; padding: 0; font-size: 0.82rem; }
.scroll {
  /* A shadow at an edge says that the table goes on there; covers of the card's colour move along with its ends. */
  overflow-x: auto; margin: 1rem 0; padding-bottom: 0.2rem; scrollbar-width: thin; scrollbar-color: var(--soft) transparent;
  background:
    linear-gradient(to right, var(--card) 40%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--card) 40%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--edge), transparent) left / 0.9rem 100% no-repeat scroll,
    linear-gradient(to left, var(--edge), transparent) right / 0.9rem 100% no-repeat scroll;
}
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
table:has(th:nth-child(9)) { font-size: 0.78rem; }
th, td { padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0.2rem; }
td:first-child { white-space: normal; min-width: 8.5rem; }
td:first-child:nth-last-child(-n + 5) { min-width: 11rem; }
th[align='right'], td[align='right'] { text-align: right; }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
blockquote { margin: 0.75rem 0; padding: 0.1rem 0 0.1rem 0.9rem; border-left: 3px solid var(--line); color: var(--soft); font-size: 0.92rem; }
footer { color: var(--soft); font-size: 0.9rem; }
@media (max-width: 46rem) {
  main { padding: 0.75rem; }
  article { padding: 1rem 0.8rem; }
  pre { padding: 0.6rem 0.5rem; }
  pre code { font-size: 0.61rem; }
  .wide { display: none; }
  .narrow { display: block; }
}
`;
