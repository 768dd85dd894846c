// The notebook's section on crash recovery of updates and of transactions, and on commits.
import { distinct, sizeName } from './figures.mjs';
import { aimsTable, notes, table } from './tables.mjs';

const REPORT = 'recovery';
const TRANSACTIONS = 'recovery-transactions';
const NARROW = 'narrow';
const COMMIT = 'commit';
const REPORTS = [REPORT, TRANSACTIONS, NARROW, COMMIT];
const WORKLOADS = { tpcb: 'pgbench’s transaction', narrow: 'look-up and update by key' };

const ours = (f, wanted = {}) => f.cells(REPORT, { engine: 'blockwright', ...wanted });
const postgres = (f) => f.cells(REPORT).find(({ engine }) => engine !== 'blockwright');
const sizesOf = (cells) => distinct(cells.map(({ blockSize }) => blockSize));

export const recovery = {
  name: REPORT,
  reports: REPORTS,
  title: 'Recovery without the sort, and what a block size does to the WAL',

  headline: (f) => {
    const cells = ours(f, { variant: 'adaptive' }).filter(({ ratio }) => ratio !== null);
    if (cells.length === 0) return 'Commits alone and in groups';
    return `Redo of narrow random updates is ${f.range(cells, 'ratio', 'ratio')} times as fast without the sort`;
  },

  idea: (f) => `
An update writes a new version of a row, and once a page is full, pruning throws old ones away and moves the rest together. In
redo this happens again for every page and every time it did, and on narrow rows PostgreSQL spent most of its recovery
sorting the tuples of a page before it moved them. Without the sort, its developers measured ${f.quote('2.3')} times the speed.

\`\`\`text
update  update  update   page is full   update …
  |       |       |          |            |
 WAL     WAL     WAL    WAL: prune       WAL
                          redo: sort, then move     before
                          redo: move in place       now
\`\`\``,

  built: () => `
The whole write path, so that the measurement is a real one: a write-ahead log with full-page images, transactions with a
commit log and snapshots, HOT updates and pruning by PostgreSQL's rules, checkpoints, and redo. A benchmark updates rows
until it "crashes", and replays copies of the same directory with each way to compact a page. The whole engine is driven on a
simulated disk and crashed at every single file operation before a time of it is believed.`,

  measured: (f) => {
    const sizes = sizesOf(ours(f));
    const ways = distinct(ours(f).map(({ variant }) => variant));
    const at = (blockSize, variant) => f.cell(REPORT, { blockSize, variant, engine: 'blockwright' });
    const charts = [];
    const texts = [];
    if (sizes.length > 0) {
      charts.push({
        name: 'recovery-redo',
        title: 'Redo of random updates, by the way to compact a page',
        unit: 'ns a record',
        categories: sizes.map(sizeName),
        series: ways.map((variant) => {
          const cells = sizes.map((size) => at(size, variant));
          return {
            name: variant,
            values: cells.map((cell) => cell?.nsPerUnit ?? null),
            low: cells.map((cell) => (cell === undefined ? null : cell.q1Ns / cell.units)),
            high: cells.map((cell) => (cell === undefined ? null : cell.q3Ns / cell.units)),
          };
        }),
      });
      texts.push(`
{{chart recovery-redo}}

${redoTable(f, sizes, ways, at)}

${beside(f)}

What an update costs in the WAL, at each block size: after a checkpoint a page's first change is logged as an image of the
whole page.

${walTable(f, sizes, ways, at)}`);
    }
    texts.push(...transactionTexts(f));
    const commits = f.cells(COMMIT, { engine: 'blockwright' });
    if (commits.length > 0) texts.push(`Commits of one row a second:\n\n${commitTable(f, commits)}`);
    return { charts, text: `${texts.join('\n\n')}\n\n${aimsTable(f, REPORTS)}` };
  },

  means: (f) => {
    const lines = [];
    const faster = ours(f, { variant: 'adaptive' }).filter(({ ratio }) => ratio !== null);
    if (faster.length > 0)
      lines.push(
        `- **For who waits for recovery:** the whole redo is ${f.range(faster, 'ratio', 'ratio')} times as fast with \`adaptive\` as with \`sort\`; compaction itself takes ${f.range(faster, 'compactionPercent', 'tenths')} % of it.`,
      );
    const wal = ours(f, { variant: 'adaptive' });
    if (wal.length > 1)
      lines.push(
        `- **For who chooses a block size:** from the smallest to the largest block, an update of one narrow row writes ${f.range(wal, 'walBytesPerUpdate', 'significant')} bytes of WAL, of which images are ${f.range(wal, 'imagePercent', 'tenths')} %.`,
      );
    const updated = f.cells(NARROW, { variant: 'adaptive' }).filter(({ ratio }) => ratio !== null);
    if (updated.length > 0)
      lines.push(
        `- **For who updates narrow rows:** with \`adaptive\`, ${f.range(updated, 'ratio', 'ratio')} times the transactions of \`sort\`, and scans of the table afterwards ${f.range(updated, 'scanRatio', 'ratio')} times as fast.`,
      );
    const groups = f.cells(COMMIT, { engine: 'blockwright' }).filter(({ variant }) => /^synchronous, in/.test(variant));
    const alone = f.cells(COMMIT, { engine: 'blockwright', variant: 'synchronous, alone' });
    if (groups.length > 0 && alone.length > 0)
      lines.push(
        `- **For who commits:** alone, ${f.range(alone, 'perSecond', 'significant')} synchronous commits a second; in groups that share a sync, ${f.range(groups, 'perSecond', 'significant')}.`,
      );
    return lines.join('\n');
  },

  findings: (f) =>
    REPORTS.filter((name) => f.has(name))
      .map((name) => notes(f, name))
      .join('\n\n'),
};

function redoTable(f, sizes, ways, at) {
  const rows = sizes.flatMap((size) =>
    ways
      .map((way) => [way, at(size, way)])
      .filter(([, cell]) => cell !== undefined)
      .map(([way, cell]) => [
        sizeName(size),
        way,
        f.show(cell, 'redoMs', 'significant'),
        f.show(cell, 'nsPerUnit', 'significant'),
        cell.ratio === null ? '' : f.show(cell, 'ratio', 'ratio'),
        f.show(cell, 'compactionPercent', 'tenths'),
        f.show(cell, 'lookupPercent', 'tenths'),
        f.show(cell, 'checkpointMs', 'significant'),
      ]),
  );
  const titles = ['block', 'compaction', 'redo ms', 'ns a record', "times sort's speed"];
  return table([...titles, 'compaction %', 'look-up %', 'last checkpoint ms'], rows, [0, 1]);
}

/** What transactions by key add: their redo, and the updates themselves where nothing is logged. */
function transactionTexts(f) {
  const texts = [];
  const replayed = f.cells(TRANSACTIONS, { engine: 'blockwright' });
  if (replayed.length > 0) {
    const rows = replayed.map((cell) => [
      sizeName(cell.blockSize),
      WORKLOADS[cell.query],
      cell.variant,
      f.show(cell, 'redoMs', 'significant'),
      cell.ratio === null ? '' : f.show(cell, 'ratio', 'ratio'),
      f.show(cell, 'compactionPercent', 'tenths'),
      f.show(cell, 'walBytesPerUpdate', 'significant'),
    ]);
    const titles = [
      'block',
      'transaction',
      'compaction',
      'redo ms',
      "times sort's speed",
      'compaction %',
      'WAL bytes each',
    ];
    texts.push(`Redo of transactions that find their rows by an index:\n\n${table(titles, rows, [0, 1, 2])}`);
  }
  const narrow = f.cells(NARROW);
  if (narrow.length > 0) {
    const rows = narrow.map((cell) => [
      sizeName(cell.blockSize),
      cell.variant,
      f.show(cell, 'perSecond', 'significant'),
      cell.ratio === null ? '' : f.show(cell, 'ratio', 'ratio'),
      f.show(cell, 'scanNs', 'significant'),
      cell.scanRatio === null ? '' : f.show(cell, 'scanRatio', 'ratio'),
    ]);
    const titles = [
      'block',
      'compaction',
      'transactions a second',
      "times sort's",
      'scan afterwards, ns a row',
      "times sort's",
    ];
    texts.push(`The same updates of a narrow table that is not logged:\n\n${table(titles, rows, [0, 1])}`);
  }
  return texts;
}

function beside(f) {
  const peer = postgres(f);
  if (peer === undefined) return 'PostgreSQL was not measured beside.';
  return `PostgreSQL, the same number of updates of the same kind, stopped at once: its redo took ${f.show(peer, 'redoMs', 'significant')} ms, ${f.show(peer, 'nsPerUnit', 'significant')} ns a record over ${f.show(peer, 'records', 'count')} records.`;
}

function walTable(f, sizes, ways, at) {
  const way = ways.includes('adaptive') ? 'adaptive' : ways[0];
  const rows = sizes
    .map((size) => at(size, way))
    .filter((cell) => cell !== undefined)
    .map((cell) => [
      sizeName(cell.blockSize),
      f.show(cell, 'walBytesPerUpdate', 'significant'),
      f.show(cell, 'imagePercent', 'tenths'),
      f.show(cell, 'hotPercent', 'tenths'),
      f.show(cell, 'redoMs', 'significant'),
    ]);
  return table(['block', 'WAL bytes an update', 'images %', 'HOT %', 'redo ms'], rows);
}

function commitTable(f, cells) {
  const rows = cells.map((cell) => [
    sizeName(cell.blockSize),
    cell.variant,
    f.show(cell, 'perSecond', 'significant'),
    cell.ratio === null ? '' : f.show(cell, 'ratio', 'ratio'),
  ]);
  return table(['block', 'commits', 'a second', "times SQLite's"], rows, [0, 1]);
}
