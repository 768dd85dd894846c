// The notebook's section on B-trees: what the block size does to builds, inserts and look-ups, and to transactions.
import { distinct, sizeName } from './figures.mjs';
import { aimsTable, notes, table } from './tables.mjs';

const INDEX = 'index';
const TPCB = 'tpcb';
const REPORTS = [INDEX, TPCB];
const KEYS = { sequential: 'int8, rising', random: 'int8, random', uuid: 'UUID, random' };

const ours = (f, report, wanted = {}) => f.cells(report, { engine: 'blockwright', ...wanted });

export const indexes = {
  name: 'indexes',
  reports: REPORTS,
  title: 'B-trees at every block size',

  headline: (f) => {
    const lookUps = ours(f, INDEX, { query: 'look-up' });
    if (lookUps.length === 0) return 'Transactions at every block size';
    return `A look-up by key takes ${f.range(lookUps, 'nsPerUnit', 'significant')} ns`;
  },

  idea: () => `
A block size decides how many keys a page holds: with small blocks a tree is higher and a look-up reads more pages, with large
ones each page costs more to search, to split and to log. PostgreSQL's B-tree is worth measuring for that: it stores the heap TID
as last key column, cuts separators to the columns that separate, and merges equal keys into posting lists.

\`\`\`text
            root     | 40 | 80 |
                    /     |     \\
  leaves   | 10 20 30 | 40 60 | 80 90 |      <-> siblings, each with a high key
              |    a posting list: one key, several rows
              heap TIDs
\`\`\``,

  built: () => `
PostgreSQL's nbtree, version 4, byte for byte: bulk builds equal PostgreSQL's files, splits are chosen as PostgreSQL chooses
them, pages are deleted in its two steps, and its own \`bt_index_parent_check\` accepts the files. Every record is replayed
on a disk that crashes between any two operations.`,

  measured: (f) => {
    const charts = [];
    const texts = [];
    const cells = ours(f, INDEX);
    const sizes = distinct(cells.map(({ blockSize }) => blockSize));
    for (const query of distinct(cells.map((cell) => cell.query))) {
      const name = `index-${query}`;
      charts.push({
        name,
        title: TITLES[query],
        unit: 'ns each',
        categories: sizes.map(sizeName),
        series: distinct(cells.filter((cell) => cell.query === query).map((cell) => cell.keys)).map((keys) => {
          const bySize = sizes.map((blockSize) => ours(f, INDEX, { query, keys, blockSize })[0]);
          return {
            name: KEYS[keys],
            values: bySize.map((cell) => cell?.nsPerUnit ?? null),
            low: bySize.map((cell) => (cell === undefined ? null : cell.q1Ns / cell.units)),
            high: bySize.map((cell) => (cell === undefined ? null : cell.q3Ns / cell.units)),
          };
        }),
      });
      texts.push(`{{chart ${name}}}`);
    }
    if (cells.length > 0) texts.push(indexTable(f, cells));
    const peers = f.cells(INDEX).filter(({ engine }) => engine !== 'blockwright');
    if (peers.length > 0) texts.push(`The same keys elsewhere:\n\n${peerTable(f, peers)}`);
    const transactions = f.cells(TPCB);
    if (transactions.length > 0) texts.push(`pgbench's transaction:\n\n${tpcbTable(f, transactions)}`);
    return { charts, text: `${texts.join('\n\n')}\n\n${aimsTable(f, REPORTS)}` };
  },

  means: (f) => {
    const lines = [];
    const lookUps = ours(f, INDEX, { query: 'look-up' });
    if (lookUps.length > 0)
      lines.push(
        `- **For who looks rows up:** between the best and the worst block size and kind of key a look-up takes ${f.range(lookUps, 'nsPerUnit', 'significant')} ns.`,
      );
    const inserts = ours(f, INDEX, { query: 'insert' });
    if (inserts.length > 0)
      lines.push(
        `- **For who inserts:** a row with its key takes ${f.range(inserts, 'nsPerUnit', 'significant')} ns, heap and log included.`,
      );
    for (const variant of ['synchronous', 'asynchronous']) {
      const cells = ours(f, TPCB, { variant });
      if (cells.length > 0)
        lines.push(
          `- **For who runs transactions, ${variant}:** ${f.range(cells, 'perSecond', 'significant')} a second over all block sizes and clients.`,
        );
    }
    return lines.join('\n');
  },

  findings: (f) =>
    REPORTS.filter((name) => f.has(name))
      .map((name) => notes(f, name))
      .join('\n\n'),
};

const TITLES = {
  build: 'Building an index in bulk',
  insert: 'Inserting rows with a primary key, in one transaction',
  'look-up': 'Looking rows up by their key',
};

function indexTable(f, cells) {
  const rows = cells.map((cell) => [
    cell.query,
    KEYS[cell.keys],
    sizeName(cell.blockSize),
    f.show(cell, 'perSecond', 'significant'),
    cell.timesPostgres === null ? '' : f.show(cell, 'timesPostgres', 'ratio'),
    cell.timesSqlite === null ? '' : f.show(cell, 'timesSqlite', 'ratio'),
    cell.indexBytes === null ? '' : f.show(cell, 'indexBytes', 'count'),
    cell.levels === null ? '' : f.show(cell, 'levels', 'count'),
  ]);
  const titles = ['what', 'keys', 'block', 'a second', "times PostgreSQL's", "times SQLite's", 'bytes', 'levels'];
  return table(titles, rows, [0, 1, 2]);
}

function peerTable(f, cells) {
  const rows = cells.map((cell) => [
    cell.engine,
    cell.query,
    KEYS[cell.keys],
    cell.variant ?? '',
    f.show(cell, 'perSecond', 'significant'),
    f.show(cell, 'nsPerUnit', 'significant'),
  ]);
  return table(['engine', 'what', 'keys', 'how', 'a second', 'ns each'], rows, [0, 1, 2, 3]);
}

function tpcbTable(f, cells) {
  const rows = cells.map((cell) => [
    cell.engine,
    cell.blockSize === null ? '' : sizeName(cell.blockSize),
    cell.variant,
    f.show(cell, 'clients', 'count'),
    f.show(cell, 'perSecond', 'significant'),
    f.show(cell, 'p50', 'significant'),
    f.show(cell, 'p99', 'significant'),
    f.show(cell, 'retries', 'count'),
    cell.timesPostgres === null ? '' : f.show(cell, 'timesPostgres', 'ratio'),
    cell.timesSqlite === null ? '' : f.show(cell, 'timesSqlite', 'ratio'),
  ]);
  const titles = [
    'engine',
    'block',
    'commits',
    'clients',
    'a second',
    'median ms',
    'slowest of a hundred, ms',
    'retries',
  ];
  return table([...titles, "times PostgreSQL's", "times SQLite's"], rows, [0, 1, 2]);
}
