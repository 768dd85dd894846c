// What was measured as the cells, aims and sentences of a report. The discussion's column names are kept as they were.
import {
  type Aim,
  aimAtLeast,
  aimAtMost,
  type Cell,
  type CellValue,
  type Comparison,
  cellOf,
  compareRounds,
  comparisonText,
  type MachineDescription,
  type Measured,
  quartiles,
  type ReportColumn,
  significant,
} from '@blockwright/benchmark';
import type { BlockGeometry } from '@blockwright/geometry';
import { TID_BYTES } from './cases.ts';
import type { CaseMeasurement, Pair, SearchMeasurement } from './measure.ts';
import type { SearchName } from './stretches.ts';

const exact = (value: CellValue): string => Number(value).toLocaleString('en-US');
const milliseconds = (value: CellValue): string => significant(Number(value), 4);
const times = (value: CellValue): string => Number(value).toFixed(2);

/** The discussion's seven, the node statistics, and what the times are worth. */
export const COLUMNS: readonly ReportColumn[] = [
  { key: 'variant', title: 'blocks × TIDs, search' },
  { key: 'nkeys', title: 'nkeys', format: exact },
  { key: 'rt_mem_allocated', title: 'rt_mem_allocated', format: exact },
  { key: 'array_mem_allocated', title: 'array_mem_allocated', format: exact },
  { key: 'rt_load_ms', title: 'rt_load_ms', format: milliseconds },
  { key: 'array_load_ms', title: 'array_load_ms', format: milliseconds },
  { key: 'rt_search_ms', title: 'rt_search_ms', format: milliseconds },
  { key: 'array_search_ms', title: 'array_search_ms', format: milliseconds },
  ...['num_keys', 'height', 'n4', 'n16', 'n32', 'n128', 'n256'].map((key) => ({ key, title: key, format: exact })),
  { key: 'rt_reload_ms', title: 'rt_reload_ms', format: milliseconds },
  { key: 'array_reload_ms', title: 'array_reload_ms', format: milliseconds },
  { key: 'searched', title: 'searched a round', format: exact },
  { key: 'ascending', title: 'ascending', format: (share) => Number(share).toFixed(3) },
  { key: 'reading_ns', title: 'reading ns/TID', format: times },
  { key: 'array_ns', title: 'array ns/TID', format: (_value, cell) => significant(Number(cell['array_ns'])) },
  {
    key: 'array_q1_ns',
    title: 'array quartiles',
    format: (_value, cell) => `${significant(Number(cell['array_q1_ns']))}–${significant(Number(cell['array_q3_ns']))}`,
  },
  { key: 'nsPerUnit', title: 'rt ns/TID' },
  { key: 'ratio', title: 'times faster', format: times },
  // An array with the tree's memory of the last block, in order only: no store, and no part of the aims.
  { key: 'array_memo_search_ms', title: 'array_memo_search_ms', format: milliseconds },
  { key: 'memo_ratio', title: 'times faster than it', format: times },
];

const median = ({ samplesNs }: Measured): number => quartiles(samplesNs).median;
/** How many times as fast as the array the tree was. */
const speedUp = ({ radix, array }: Pair): Comparison => compareRounds(array.samplesNs, radix.samplesNs);
/** How many times as fast as the array that remembers the tree was; null where that was not measured. */
const memoSpeedUp = ({ radix, remembering }: SearchMeasurement): Comparison | null =>
  remembering === undefined ? null : compareRounds(remembering.samplesNs, radix.samplesNs);
/** How many times the array's time the tree took. */
const cost = ({ radix, array }: Pair): Comparison => compareRounds(radix.samplesNs, array.samplesNs);

/** One cell a search: its own times are the tree's. */
export function cellsOf(measurement: CaseMeasurement, g: BlockGeometry): Cell[] {
  const { case: one, keys, tids, radixBytes, arrayBytes, nodes, load, reload } = measurement;
  return measurement.searches.map((found) => {
    const { search, radix, array, reading, searched, ascending } = found;
    const allMs = (measured: Measured): number => ((median(measured) / searched) * tids) / 1e6;
    const { q1, q3 } = quartiles(array.samplesNs);
    const { ratio, low, high, differenceSeen } = speedUp(found);
    const memo = memoSpeedUp(found);
    return cellOf(radix, {
      blockSize: g.size,
      engine: 'blockwright',
      query: search,
      variant: `${one.name}, ${search}`,
      nkeys: keys,
      rt_mem_allocated: radixBytes,
      array_mem_allocated: arrayBytes,
      rt_load_ms: median(load.radix) / 1e6,
      array_load_ms: median(load.array) / 1e6,
      rt_search_ms: allMs(radix),
      array_search_ms: allMs(array),
      num_keys: nodes.numKeys,
      height: nodes.height,
      n4: nodes.n4,
      n16: nodes.n16,
      n32: nodes.n32,
      n128: nodes.n128,
      n256: nodes.n256,
      rt_reload_ms: median(reload.radix) / 1e6,
      array_reload_ms: median(reload.array) / 1e6,
      ...loadQuartiles(load, 'load'),
      ...loadQuartiles(reload, 'reload'),
      ntids: tids,
      searched,
      ascending,
      reading_ns: median(reading) / searched,
      array_ns: median(array) / searched,
      array_q1_ns: q1 / searched,
      array_q3_ns: q3 / searched,
      ratio,
      ratioLow: low,
      ratioHigh: high,
      differenceSeen,
      array_memo_search_ms: found.remembering === undefined ? null : allMs(found.remembering),
      memo_ratio: memo?.ratio ?? null,
      memo_ratio_low: memo?.low ?? null,
      memo_ratio_high: memo?.high ?? null,
      load_ratio: cost(load).ratio,
      reload_ratio: cost(reload).ratio,
      memory_ratio: arrayBytes / radixBytes,
    });
  });
}

/** Of the times to load, in milliseconds: `rt_load_q1_ms` and the like. */
function loadQuartiles({ radix, array }: Pair, name: string): Record<string, number> {
  const [tree, list] = [quartiles(radix.samplesNs), quartiles(array.samplesNs)];
  return {
    [`rt_${name}_q1_ms`]: tree.q1 / 1e6,
    [`rt_${name}_q3_ms`]: tree.q3 / 1e6,
    [`array_${name}_q1_ms`]: list.q1 / 1e6,
    [`array_${name}_q3_ms`]: list.q3 / 1e6,
  };
}

/** Numbers of blocks that the aims are for, with {@link AIM_TIDS} TIDs each, in a row, their first offsets. */
const AIM_BLOCKS = [1_000_000, 10_000_000];
const AIM_TIDS = 30;
const AIMS = { memory: 1 / 20, load: 1.7, searches: { 'seq-search': 8, 'shuffle-search': 6 } } as const;

const SEARCHES_OF_AIMS: number = Object.keys(AIMS.searches).length;

const aimCase = (measurements: readonly CaseMeasurement[], blocks: number): CaseMeasurement | undefined =>
  measurements.find(
    ({ keys, case: { stride, tidsPerBlock, offsets } }) =>
      keys === blocks && stride === 1 && tidsPerBlock === AIM_TIDS && offsets === 'dense',
  );

/** Every aim, measured by this run or not. */
export function aimsOf(measurements: readonly CaseMeasurement[]): Aim[] {
  return AIM_BLOCKS.flatMap((blocks) => {
    const found = aimCase(measurements, blocks);
    const name = `${blocks.toLocaleString('en-US')} × ${AIM_TIDS}`;
    const searchAim = (search: SearchName, aim: number): Aim => {
      const pair = found?.searches.find((one) => one.search === search);
      return aimAtLeast(`${name}: ${search}, the array's time over the tree's`, aim, pair ? speedUp(pair) : null);
    };
    return [
      aimAtMost(
        `${name}: memory, the tree's over the array's`,
        AIMS.memory,
        found ? found.radixBytes / found.arrayBytes : null,
      ),
      searchAim('seq-search', AIMS.searches['seq-search']),
      searchAim('shuffle-search', AIMS.searches['shuffle-search']),
      aimAtMost(`${name}: load, the tree's time over the array's`, AIMS.load, found ? cost(found.load) : null),
      aimAtMost(`${name}: load again, no new memory`, AIMS.load, found ? cost(found.reload) : null),
    ];
  });
}

/** What was seen, and what to be careful about. */
export function notesOf(measurements: readonly CaseMeasurement[], machine: MachineDescription): string[] {
  return [
    ...measurements.flatMap((measurement) => [
      loadNote(measurement),
      ...measurement.searches.flatMap((search) => [searchNote(measurement, search), ...memoNotes(measurement, search)]),
    ]),
    ...sampleNote(measurements),
    ...aimsNote(measurements),
    'Loading counts making the store. The array allocates all that it may take at once; the system gives that memory ' +
      'when it is first written, within the time. Loading again clears the store and fills it once more, within the time: ' +
      'the array meets no new memory then.',
    cacheNote(measurements, machine),
  ];
}

function loadNote({ case: one, radixBytes, arrayBytes, tids, load, reload }: CaseMeasurement): string {
  const [small, large, word] =
    radixBytes <= arrayBytes ? [radixBytes, arrayBytes, 'smaller'] : [arrayBytes, radixBytes, 'larger'];
  return (
    `${one.name}: the tree has ${significant(radixBytes / tids)} bytes a TID, ${(large / small).toFixed(1)} times ${word} ` +
    `than the array. Loading the tree over loading the array: ${comparisonText(cost(load))}; again: ` +
    `${comparisonText(cost(reload))}.`
  );
}

function searchNote({ case: one }: CaseMeasurement, found: SearchMeasurement): string {
  const { search, radix, reading } = found;
  const share = (100 * median(reading)) / median(radix);
  return (
    `${one.name}, ${search}: the array's time over the tree's, ${comparisonText(speedUp(found))}. Reading the TIDs from ` +
    `their arrays, which both do, is ${share.toFixed(share < 10 ? 1 : 0)} % of the tree's time.`
  );
}

/** How much of the lead in order the remembered block makes. */
function memoNotes({ case: one }: CaseMeasurement, found: SearchMeasurement): string[] {
  const memo = memoSpeedUp(found);
  if (memo === null) return [];
  return [
    `${one.name}, ${found.search}: part of the lead in order is that the tree remembers the block asked about last. The time of an ` +
      "array that remembers the last block's run of offsets too (no store, and no part of the aims) over the tree's, " +
      `${comparisonText(memo)}.`,
  ];
}

/** How to measure the aims that this run did not. */
function aimsNote(measurements: readonly CaseMeasurement[]): string[] {
  const missing = AIM_BLOCKS.filter((blocks) => {
    const found = aimCase(measurements, blocks);
    return found === undefined || found.searches.length < SEARCHES_OF_AIMS;
  });
  if (missing.length === 0) return [];
  const commands = missing.map((blocks) => {
    const gigabytes = (2 * blocks * AIM_TIDS * TID_BYTES) / 1e9;
    const memory = gigabytes < 1 ? '' : ` (${gigabytes.toFixed(1)} GB of memory or more)`;
    return `${blocks.toLocaleString('en-US')} × ${AIM_TIDS}, by \`blockwright bench tidstore --max-block=${blocks}\`${memory}`;
  });
  return [`Aims that this run did not measure: ${commands.join('; ')}.`];
}

/** That not all TIDs were searched in a round, if so. */
function sampleNote(measurements: readonly CaseMeasurement[]): string[] {
  const sampled = measurements.flatMap(({ tids, searches }) => searches.filter(({ searched }) => searched < tids));
  if (sampled.length === 0) return [];
  const most = Math.max(...sampled.map(({ searched }) => searched));
  return [
    `A round searched ${exact(most)} TIDs at most, other ones than the round before, the same in both stores; rt_search_ms and array_search_ms are scaled to all TIDs.`,
  ];
}

function cacheNote(measurements: readonly CaseMeasurement[], { lastLevelCacheBytes }: MachineDescription): string {
  const megabytes = (bytes: number): string => `${significant(bytes / 2 ** 20)} MB`;
  const sizes = measurements.map(
    ({ radixBytes, arrayBytes }) => `${megabytes(radixBytes)} and ${megabytes(arrayBytes)}`,
  );
  const which = 'That a small store stays in caches where a large one does not is part of what is measured.';
  if (lastLevelCacheBytes === null) return `Tree and array have ${sizes.join('; ')}. ${which}`;
  const larger = measurements
    .filter(({ arrayBytes }) => arrayBytes > lastLevelCacheBytes)
    .map(({ case: one }) => one.name);
  const cache = `The last-level cache, as the system tells it, has ${megabytes(lastLevelCacheBytes)}`;
  return `Tree and array have ${sizes.join('; ')}. ${cache}: ${larger.length === 0 ? 'every array fits into it' : `larger than it are the arrays of ${larger.join('; ')}`}. ${which}`;
}
