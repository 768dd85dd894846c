// The notebook's section on the radix-tree TID store.
import { distinct } from './figures.mjs';
import { aimsTable, notes, table } from './tables.mjs';

const REPORTS = ['tidstore', 'tidstore-10m'];

/** Cells of all runs, those of a search only. */
const cellsOf = (f, search) => REPORTS.flatMap((name) => f.cells(name, search === undefined ? {} : { query: search }));
const caseOf = ({ variant }) => variant.replace(/, [a-z]+-search$/, '');
const isSparse = ({ ntids, nkeys }) => ntids === nkeys;

export const tidstore = {
  name: 'tidstore',
  reports: REPORTS,
  title: 'Dead TIDs in a radix tree',

  headline: (f) => {
    const dense = cellsOf(f).filter((cell) => !isSparse(cell));
    return `With several dead TIDs a block, the sorted array takes ${f.range(dense, 'memory_ratio', 'tenths')} times the memory, and a search in it ${f.range(dense, 'ratio', 'tenths')} times the time`;
  },

  idea: () => `
Vacuum remembers which tuples are dead, then asks for every index entry: is this TID among them? PostgreSQL kept the TIDs in
a sorted array of 6 bytes each, allocated to its limit, and searched it by halving. The proposal was an adaptive radix tree:
the block's number is the key, a node has room for few children or many, by how many it has, and a block's dead offsets
together are one value.

\`\`\`text
array   (0,1) (0,2) (0,3) … (999999,30)
        6 bytes a TID; a search halves it again
        and again, a cache miss at each step

tree    the block's number, 8 bits a level
            [ 4, 16, 32, 128 or 256 children ]
                [ … ]        [ … ]
        block 7 -> its offsets: a few, or a
        bitmap, in one word or beside the tree
\`\`\`

The benchmark that the discussion judged by had two bugs on its way, and both are tests here. A TID was packed into a key
whose block part overflowed 32 bits, so that 8,388,608 keys stood where 9,000,000 were meant. And the shuffled search
shuffled another array than the one that it then searched, so that it measured the sequential search again.`,

  built: () => `
The tree is typed arrays throughout: no object a node, keys as two 32-bit words, nodes that grow and shrink between their
kinds. Offsets up to 31 are a bitmap in the very word that would else say where the bitmap lies. Its memory is the sum of its arenas, spare room included, held against what the process really took. The sorted
array stands behind the same interface, with a binary search as good as can be written, its memory counted by the same
rule. Every hit is counted, so that no search is optimised away.`,

  measured: (f) => {
    const cases = distinct(cellsOf(f).map(caseOf));
    const searches = distinct(cellsOf(f).map(({ query }) => query));
    const cellOf = (name, search) => cellsOf(f, search).find((cell) => caseOf(cell) === name);
    const any = (name) => searches.map((search) => cellOf(name, search)).find((cell) => cell !== undefined);
    const charts = [
      {
        name: 'tidstore-search',
        title: "Search: the array's time over the tree's",
        unit: 'times faster; 1: as fast',
        lying: true,
        categories: cases,
        reference: { value: 1, name: '' },
        series: searches.map((search) => {
          const cells = cases.map((name) => cellOf(name, search));
          return {
            name: search,
            values: cells.map((cell) => cell?.ratio ?? null),
            low: cells.map((cell) => cell?.ratioLow ?? null),
            high: cells.map((cell) => cell?.ratioHigh ?? null),
          };
        }),
      },
      {
        name: 'tidstore-memory',
        title: 'Memory for one TID',
        unit: 'bytes a TID',
        lying: true,
        categories: cases,
        series: [
          { name: 'radix tree', values: cases.map((name) => any(name).rt_mem_allocated / any(name).ntids) },
          { name: 'sorted array', values: cases.map((name) => any(name).array_mem_allocated / any(name).ntids) },
        ],
      },
      {
        name: 'tidstore-load',
        title: "Load: the tree's time over the array's",
        unit: 'less is faster; 1: as fast',
        lying: true,
        categories: cases,
        reference: { value: 1, name: '' },
        series: [
          { name: 'first load', values: cases.map((name) => any(name).load_ratio) },
          { name: 'again, no new memory', values: cases.map((name) => any(name).reload_ratio) },
        ],
      },
    ];
    const rows = cellsOf(f).map((cell) => [
      cell.variant,
      f.show(cell, 'rt_mem_allocated', 'count'),
      f.show(cell, 'array_mem_allocated', 'count'),
      f.show(cell, 'rt_load_ms', 'significant'),
      f.show(cell, 'array_load_ms', 'significant'),
      f.show(cell, 'rt_search_ms', 'significant'),
      f.show(cell, 'array_search_ms', 'significant'),
      `${f.show(cell, 'ratio', 'ratio')}${cell.differenceSeen ? '' : ' (no difference seen)'}`,
    ]);
    const nodes = cases.map((name) => [
      name,
      ...['num_keys', 'height', 'n4', 'n16', 'n32', 'n128', 'n256'].map((key) => f.show(any(name), key, 'count')),
    ]);
    return {
      charts,
      text: `
A case is named by its blocks and the dead TIDs of each. Columns have the names that they had in the discussion.

{{chart tidstore-search}}

{{chart tidstore-memory}}

{{chart tidstore-load}}

${table(
  [
    'case',
    'rt_mem_allocated',
    'array_mem_allocated',
    'rt_load_ms',
    'array_load_ms',
    'rt_search_ms',
    'array_search_ms',
    'times faster',
  ],
  rows,
)}

${table(['case', 'num_keys', 'height', 'n4', 'n16', 'n32', 'n128', 'n256'], nodes)}

${f.has(REPORTS[0]) ? aimsTable(f, REPORTS[0]) : ''}

${f.has(REPORTS[1]) ? aimsTable(f, REPORTS[1]) : ''}`,
    };
  },

  means: (f) => {
    const dense = cellsOf(f).filter((cell) => !isSparse(cell));
    const sparse = cellsOf(f).filter(isSparse);
    const faster = dense.every(({ ratio, differenceSeen }) => ratio > 1 && differenceSeen);
    const dear = distinct(sparse.filter(({ memory_ratio: ratio }) => ratio < 1).map(caseOf));
    const sparseText =
      sparse.length === 0
        ? ''
        : dear.length > 0
          ? `\n- **Where it looks worst**, one dead TID a block, the array's memory is ${f.range(sparse, 'memory_ratio', 'ratio')} times the
  tree's: in ${dear.map((name) => `\`${name}\``).join(' and ')} the tree takes more.`
          : `\n- **Where it looks worst**, one dead TID a block, the array still takes ${f.range(sparse, 'memory_ratio', 'ratio')} times the
  tree's memory.`;
    return `
- **For who writes an engine:** with several dead TIDs a block, the array takes ${f.range(dense, 'memory_ratio', 'tenths')} times
  the tree's memory, and the tree finds a TID ${f.range(dense, 'ratio', 'tenths')} times as fast${faster ? '' : ', though not in every case beyond the quartiles'}. One memory
  limit then holds more dead tuples, and vacuum passes over the indexes less often.
- **For who chooses a block size:** a larger block has more offsets under one key. The tree pays for a key once, however many
  of the block's tuples are dead; the array pays for each tuple.${sparseText}`;
  },

  findings: (f) => {
    const first = cellsOf(f);
    const one = distinct(first.map(caseOf)).map((name) => first.find((cell) => caseOf(cell) === name));
    const slower = one.filter((cell) => cell.rt_reload_q1_ms > cell.array_reload_q3_ms);
    const count = (cells) =>
      f.take(
        'total',
        cells.map(({ path }) => `${path}/reload_ratio`),
        'count',
      );
    const building =
      slower.length === 0
        ? ''
        : `, and more than it, beyond the quartiles, in ${count(slower)} of ${count(one)} cases: to build nodes is more work than to copy six bytes`;
    const behind = cellsOf(f).filter(({ ratio, differenceSeen }) => differenceSeen && ratio < 1);
    const lost =
      behind.length === 0
        ? '\n- No search was seen to be slower in the tree.'
        : `\n- The array was searched faster in ${behind.map((cell) => `\`${cell.variant}\` (${f.show(cell, 'ratio', 'ratio')} times)`).join(', ')}: there the tree has no neighbours to gain from.`;
    return `
- The first load of the array pays for memory that the system gives page by page as it is touched; loading again does not.
  Compared that way, the tree took ${f.range(first, 'reload_ratio', 'ratio')} times the array's time${building}.
- The first offsets of each block, as the discussion loads them, are the kindest case: they stand in the tree's own words.
  The case "spread" draws as many at random from what a heap page can have, and needs a bitmap a block.${lost}

${REPORTS.filter((name) => f.has(name))
  .map((name) => notes(f, name, /^(?:Loading counts|Tree and array)/))
  .join('\n>\n')}`;
  },
};
