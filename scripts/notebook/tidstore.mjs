// The notebook's section on the radix-tree TID store.
import { distinct } from './figures.mjs';
import { aimsTable, listed, notes, table } from './tables.mjs';
import { tidstoreCharts } from './tidstore-charts.mjs';
import { caseOf, findings, isSparse, means, timesTheMemory } from './tidstore-outcome.mjs';

const REPORTS = ['tidstore', 'tidstore-10m'];

/** Cells of all runs, those of a search only; what the first run holds is not taken from another. */
function cellsOf(f, search) {
  const cells = REPORTS.flatMap((name) => f.cells(name, search === undefined ? {} : { query: search }));
  return cells.filter((cell, i) => cells.findIndex(({ variant }) => variant === cell.variant) === i);
}

const used = (f) => REPORTS.filter((name) => cellsOf(f).some(({ path }) => path.startsWith(`${name}/`)));

/** The columns of the discussion, and times that were measured beside them. */
const COLUMNS = [
  ['nkeys', 'count'],
  ['rt_mem_allocated', 'count'],
  ['array_mem_allocated', 'count'],
  ['rt_load_ms', 'significant'],
  ['array_load_ms', 'significant'],
  ['rt_search_ms', 'significant'],
  ['array_search_ms', 'significant'],
  ['array_memo_search_ms', 'significant'],
];
const NODES = ['num_keys', 'height', 'n4', 'n16', 'n32', 'n128', 'n256'];

const hasNumber = (cell, key) => typeof cell?.[key] === 'number' && Number.isFinite(cell[key]);
const shown = (f, cell, key, format) => (hasNumber(cell, key) ? f.show(cell, key, format) : '–');

export const tidstore = {
  name: 'tidstore',
  reports: REPORTS,
  used,
  title: 'Dead TIDs in a radix tree',

  headline: (f) => {
    const dense = cellsOf(f).filter((cell) => !isSparse(cell));
    const [cells, which] = dense.length > 0 ? [dense, 'several dead TIDs'] : [cellsOf(f), 'one dead TID'];
    const unseen = cells.filter(({ differenceSeen }) => !differenceSeen);
    const search =
      unseen.length === cells.length
        ? 'and no difference was seen between searches in the two'
        : `and a search in it ${f.range(cells, 'ratio', 'significant')} times the time${unseen.length === 0 ? '' : ` (no difference seen in ${f.total(unseen)} of ${f.total(cells)} searches)`}`;
    return `With ${which} a block, the sorted array takes ${timesTheMemory(f, cells)} times the tree's memory, ${search}`;
  },

  idea: () => `
Vacuum remembers which tuples are dead, then asks for every index entry: is this TID among them? PostgreSQL kept the TIDs in
a sorted array of 6 bytes each, allocated to its limit, and searched it by halving. The proposal was an adaptive radix tree:
the block's number is the key, and a block's dead offsets together are one value. It went into PostgreSQL 17.

\`\`\`text
array   (0,1) (0,2) (0,3) … (999999,30)
        6 bytes a TID; a search halves what is
        left until one is left

tree    the block's number, 8 bits a level
            [ 4, 16, 32, 128 or 256 children ]
                [ … ]        [ … ]
        block 7 -> its offsets: a few, or a
        bitmap, in one word or beside the tree
\`\`\`

What a halving costs depends on where it looks. The first ones look at the same few places in every search, which stay in
the CPU's caches. Asked in the table's order, the last ones look next to where the search before them ended, so that nearly
all steps are in a cache too. Asked in shuffled order, most of the lower steps are not, and each of them waits for memory.

Nodes come in several sizes because their numbers of children differ so much. A node of 256 slots for 3 children would be
nearly all waste; a node of exactly as many slots as it has children would be made anew with each child. So there are few
kinds, and a node is copied into the next one only when it is full. PostgreSQL's kinds are 4, 16, 48 and 256 (the second in
two sizes, 16 and 32; the third has room for 64 by now). Here they are 4, 16, 32, 128 and 256: where PostgreSQL keeps an
index of 256 bytes in a node of the third kind, here bits are counted, which takes 40 bytes for the same. With the smaller
slots, a node of 128 is then smaller than one of 64 there, and fewer nodes of 256 stand mostly empty.

The benchmark that the discussion judged by had two bugs on its way, and both are tests here. A TID was packed into a key
whose block part overflowed 32 bits, so that 8,388,608 keys stood where 9,000,000 were meant. And the shuffled search
shuffled another array than the one that it then searched, so that it measured the sequential search again.`,

  built: () => `
The tree is typed arrays throughout: no object a node, keys as two 32-bit words, nodes that grow and shrink between their
kinds. Offsets up to 31 are a bitmap in the very word that would else say where the bitmap lies. Its memory is the sum of its
arenas, spare room included, held against what the process really took. A look-up remembers the last leaf and the last
block's offsets: in the table's order it goes down the tree once in 256 blocks, and for a block's second dead TID it asks one
word. The sorted array stands behind the same interface, with a binary search as good as can be written, its memory counted
by the same rule. Every hit is counted, so that no search is optimised away.`,

  measured: (f) => {
    const cells = cellsOf(f);
    const cases = distinct(cells.map(caseOf));
    const columns = COLUMNS.filter(([key]) => cells.some((cell) => hasNumber(cell, key)));
    const rows = cells.map((cell) => [
      cell.variant,
      ...columns.map(([key, format]) => shown(f, cell, key, format)),
      `${f.show(cell, 'ratio', 'ratio')}${cell.differenceSeen ? '' : ' (no difference seen)'}`,
    ]);
    const nodes = cases.map((name) => {
      const cell = cells.find((one) => caseOf(one) === name);
      return [name, ...NODES.map((key) => shown(f, cell, key, 'count'))];
    });
    const memo = columns.some(([key]) => key === 'array_memo_search_ms')
      ? ' `array_memo_search_ms` is of an array that remembers the last block as the tree does, asked in order only; it is no store.'
      : '';
    return {
      charts: tidstoreCharts(cells, cases),
      text: `
A case is named by its blocks and the dead TIDs of each. The first seven columns have the names that they had in the
discussion.${memo}

{{chart tidstore-search}}

{{chart tidstore-memory}}

{{chart tidstore-load}}

${table(['case', ...columns.map(([key]) => key), 'times faster'], rows)}

The discussion's own figures, from its machine, beside those of the same cases here:

${besideTheDiscussion(f)}

The nodes of the trees, by kind:

${table(['case', ...NODES], nodes)}

${aimsTable(f, used(f))}`,
    };
  },

  means: (f) => means(f, cellsOf(f)),

  findings: (f) => `${findings(f, cellsOf(f))}

${used(f)
  .map((name) => notes(f, name, /^(?:A round searched|Loading counts|Tree and array)/))
  .filter((text) => text !== '')
  .join('\n>\n')}`,
};

/** Blocks and TIDs of the cases that the discussion printed. */
const DISCUSSED = [
  { nkeys: 1_000_000, ntids: 30_000_000 },
  { nkeys: 10_000_000, ntids: 300_000_000 },
];

/** What the discussion printed, as constants that are marked as its own, and the same of this run. */
function besideTheDiscussion(f) {
  const found = (search, wanted) =>
    cellsOf(f, search).find(
      (cell) => cell.nkeys === wanted.nkeys && cell.ntids === wanted.ntids && !/apart|spread|from/.test(cell.variant),
    );
  const cases = (search) => DISCUSSED.map((wanted) => found(search, wanted)).filter((cell) => cell !== undefined);
  const faster = (search) => {
    const told = cases(search).map(
      (cell) => `${f.show(cell, 'ratio', 'ratio')} (${f.show(cell, 'nkeys', 'count')} blocks)`,
    );
    return told.length === 0 ? 'not measured' : listed(told);
  };
  const first = found(undefined, DISCUSSED[0]);
  const bytes = (key) =>
    hasNumber(first, key)
      ? `${f.show(first, key, 'count')} (${f.show(first, 'nkeys', 'count')} blocks)`
      : 'not measured';
  const theirs = (...texts) => listed(texts.map((text) => f.quote(text)));
  return table(
    ['blocks with 30 TIDs each', 'the discussion', 'here'],
    [
      ['the tree’s bytes', theirs('10,199,040'), bytes('rt_mem_allocated')],
      ['the array’s bytes', theirs('180,000,000'), bytes('array_mem_allocated')],
      ['sequential search, times faster', theirs('4.05', '3.5'), faster('seq-search')],
      ['shuffled search, times faster', theirs('4.7'), faster('shuffle-search')],
    ],
  );
}
