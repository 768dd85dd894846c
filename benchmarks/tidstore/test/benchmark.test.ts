// The benchmark end to end, small: what it reports, what it refuses, and the loops that it times.
import { type BenchmarkContext, describeMachine, type Measured } from '@blockwright/benchmark';
import { tidstoreBenchmark } from '@blockwright/benchmark-tidstore';
import { BLOCK_SIZES, BlockGeometry, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { SortedArrayTidStore } from '@blockwright/tidstore';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../src/cases.ts';
import { loadArray, loadRadix, searchArray, searchRadix, searchRemembering } from '../src/loops.ts';
import type { CaseMeasurement } from '../src/measure.ts';
import { Population } from '../src/population.ts';
import { RememberingArray } from '../src/remembering-array.ts';
import { aimsOf, notesOf } from '../src/report.ts';

const context = (over: Partial<BenchmarkContext> = {}): BenchmarkContext => ({
  log: () => {},
  progress: () => {},
  signal: new AbortController().signal,
  ...over,
});
const g = BlockGeometry.of(8192);
const NONE = {
  minBlock: undefined,
  maxBlock: undefined,
  tidsPerBlock: undefined,
  stride: undefined,
  offsets: undefined,
};
const DISCUSSED = [
  'nkeys',
  'rt_mem_allocated',
  'array_mem_allocated',
  'rt_load_ms',
  'array_load_ms',
  'rt_search_ms',
  'array_search_ms',
];
const NODES = ['num_keys', 'height', 'n4', 'n16', 'n32', 'n128', 'n256'];

const measured = (ns: number): Measured => ({
  name: '',
  units: 1,
  samplesNs: Array.from({ length: 9 }, (_, i) => ns + i / 100),
  repetitions: 1,
});
const pairOf = (radix: number, array: number) => ({ radix: measured(radix), array: measured(array) });

describe('the loops', () => {
  it.each([
    [searchRadix, searchArray],
    [searchRadix, searchRemembering],
    [loadRadix, loadArray],
  ])('%o and %o are the same, and two', (radix, array) => {
    const bodyOf = (loop: unknown): string => String(loop).replace(/^function \w+/, '');
    expect(radix).not.toBe(array);
    expect(bodyOf(radix)).toBe(bodyOf(array));
  });
});

describe('bench tidstore', () => {
  it("has the discussion's columns, in its order, and the node statistics", () => {
    const keys = tidstoreBenchmark.columns.map(({ key }) => key);
    expect(keys.slice(1, 15)).toEqual([...DISCUSSED, ...NODES]);
    for (const { key, title } of tidstoreBenchmark.columns.slice(1, 15)) expect(title).toBe(key);
  });

  it.each(BLOCK_SIZES)('at %i bytes reports both searches', async (size) => {
    const lines: string[] = [];
    const report = await tidstoreBenchmark.run(
      { maxBlock: 300, blockSize: formatBlockSize(size), rounds: 9, searched: 1000 },
      context({ log: (line) => lines.push(line) }),
    );
    expect(lines).toEqual(['300 × 30: seq-search, shuffle-search']);
    expect(report.results.map(({ query, variant }) => [query, variant])).toEqual([
      ['seq-search', '300 × 30, seq-search'],
      ['shuffle-search', '300 × 30, shuffle-search'],
    ]);
    for (const cell of report.results) {
      expect(cell).toMatchObject({ blockSize: size, rounds: 9, units: 1000, searched: 1000, ntids: 9000 });
      expect(cell).toMatchObject({ nkeys: 300, num_keys: 300, array_mem_allocated: 54_000 });
      for (const key of [...DISCUSSED, ...NODES]) expect([key, typeof cell[key]]).toEqual([key, 'number']);
      expect(cell['rt_search_ms']).toBeCloseTo((cell.medianNs * 9) / 1e6, 9);
      expect(cell['array_ns']).toBeCloseTo((cell['array_search_ms'] as number) / 9e-3, 6);
      expect(cell.q1Ns <= cell.medianNs && cell.medianNs <= cell.q3Ns).toBe(true);
      expect(cell['ratioLow']).toBeLessThanOrEqual(cell['ratio'] as number);
    }
    expect(report.results.map((cell) => cell['ascending'])).toEqual([1, expect.closeTo(0.5, 1)]);
    expect(report.settings).toMatchObject({
      rounds: 9,
      searched: 1000,
      blockSize: formatBlockSize(size),
      cases: [{ minBlock: 0, maxBlock: 300, stride: 1, tidsPerBlock: 30, offsets: 'dense' }],
    });
    expect(report.aims.length).toBe(10);
    for (const aim of report.aims) expect(aim).toMatchObject({ measured: null, met: null });
    expect(report.results.map((cell) => typeof cell['array_memo_search_ms'])).toEqual(['number', 'object']);
    expect(report.results.map((cell) => typeof cell['memo_ratio'])).toEqual(['number', 'object']);
    expect(report.notes?.length).toBe(8);
    expect(
      report.notes?.filter((note) => /remembers the last block's run of offsets too \(no store/.test(note)),
    ).toHaveLength(1);
    expect(report.notes).toContain(
      'Aims that this run did not measure: 1,000,000 × 30, by `blockwright bench tidstore --max-block=1000000`; ' +
        '10,000,000 × 30, by `blockwright bench tidstore --max-block=10000000` (3.6 GB of memory or more).',
    );
  });

  it.each([
    { search: 'seq-search', minBlock: 4_294_967_000, maxBlock: 4_294_967_295 },
    { search: 'shuffle-search', minBlock: 8_388_500, maxBlock: 8_388_700 },
    { search: 'shuffle-search', minBlock: 2 ** 31 - 50, maxBlock: 2 ** 31 + 50, tidsPerBlock: 1 },
    { search: 'shuffle-search', maxBlock: 20, tidsPerBlock: 2048 },
    { search: 'shuffle-search', maxBlock: 8192, tidsPerBlock: 8192, stride: 2048, blockSize: '32kB' },
    { search: 'shuffle-search', maxBlock: 500, offsets: 'spread' },
    { search: 'seq-search', maxBlock: 4_294_967_295, stride: 43_000_000, tidsPerBlock: 2 },
    { search: 'seq-search', minBlock: 7, maxBlock: 8, tidsPerBlock: 1 },
    { search: 'shuffle-search', minBlock: 4_294_967_294, maxBlock: 4_294_967_295, tidsPerBlock: 2 },
  ])('answers right with %j', async (options) => {
    const { minBlock = 0, maxBlock, stride = 1, tidsPerBlock = 30, blockSize = '8kB' } = options;
    const report = await tidstoreBenchmark.run({ ...options, rounds: 9, whole: true }, context());
    const keys = Math.ceil((maxBlock - minBlock) / stride);
    const [cell] = report.results;
    expect(report.results.length).toBe(1);
    expect(cell).toMatchObject({ query: options.search, nkeys: keys, units: keys * tidsPerBlock });
    // Every array has room for one block of heap tuples at least.
    const room = Math.max(keys * tidsPerBlock, BlockGeometry.of(parseBlockSize(blockSize)).maxHeapTuplesPerPage);
    expect(cell).toMatchObject({ searched: keys * tidsPerBlock, array_mem_allocated: 6 * room });
  });

  it.each([
    [{ minBlock: 10, maxBlock: 5 }, /--min-block is below --max-block.*not 10 and 5/],
    [{ minBlock: 10, maxBlock: 10 }, /--min-block is below --max-block/],
    [{ minBlock: 1_000_000 }, /--min-block is below --max-block/],
    [{ maxBlock: 4_294_967_296 }, /--max-block is an integer from 1 to 4294967295/],
    [{ minBlock: -1 }, /--min-block is an integer from 0 to 4294967294/],
    [{ tidsPerBlock: 2049 }, /--tids-per-block is at most 2048, the line pointers of an 8kB block; not 2049/],
    [{ tidsPerBlock: 257, blockSize: '1kB' }, /at most 256, the line pointers of a 1kB block/],
    [{ tidsPerBlock: 0 }, /--tids-per-block/],
    [{ maxBlock: 4_294_967_295 }, /128,849,018,850 TIDs: two sorted arrays of 773\.1 GB do not fit/],
    [{ blockSize: '3kB' }, /"3kB" is not a block size|must be 1kB/],
    [{ offsets: 'sprad' }, /--offsets takes dense, spread, not "sprad"; did you mean "spread"\?/],
    [{ search: 'seq-serch' }, /search takes seq-search, shuffle-search, not "seq-serch"; did you mean "seq-search"\?/],
    [{ rounds: 8 }, /from 9/],
  ])('refuses %j', async (options, message) => {
    await expect(tidstoreBenchmark.run(options, context())).rejects.toThrow(message);
    await expect(tidstoreBenchmark.run(options, context())).rejects.toThrow(RangeError);
  });

  it('stops when it is told to', async () => {
    const controller = new AbortController();
    const progress = () => controller.abort(new Error('stop'));
    const run = tidstoreBenchmark.run({ maxBlock: 100 }, context({ signal: controller.signal, progress }));
    await expect(run).rejects.toThrow('stop');
  });
});

describe('cases', () => {
  const machine = { ...describeMachine(), memoryBytes: 4e9 };

  const DEFAULT_NAMES = ['1,000,000 × 30', '1,000,000 × 30, spread', '8,000,000 × 1', '1,000,000 × 1, 4,294 apart'];

  it("are the discussion's, its offsets spread, and the two where a tree looks worst, if none is described", () => {
    expect(casesOf(NONE, g, machine, 4.1e9 - 1).map(({ name }) => name)).toEqual(DEFAULT_NAMES);
  });

  it('are ten million blocks too, briefly, where twice their array and half a gigabyte are free', () => {
    const cases = casesOf(NONE, g, machine, 4.1e9);
    expect(cases.map(({ name }) => name)).toEqual([...DEFAULT_NAMES, '10,000,000 × 30']);
    expect(cases.map(({ isBrief }) => isBrief === true)).toEqual([false, false, false, false, true]);
    expect(casesOf({ ...NONE, maxBlock: 10_000_000 }, g, machine, 1)[0]?.isBrief).toBeUndefined();
  });

  it('are one, completed, if it is described', () => {
    expect(casesOf({ ...NONE, maxBlock: 10_000_000 }, g, machine).map(({ name }) => name)).toEqual(['10,000,000 × 30']);
    expect(casesOf({ ...NONE, tidsPerBlock: 1, minBlock: 5 }, g, machine)).toEqual([
      {
        name: '999,995 × 1, from 5',
        minBlock: 5,
        maxBlock: 1_000_000,
        stride: 1,
        tidsPerBlock: 1,
        offsets: 'dense',
      },
    ]);
  });

  it('fit into memory twice', () => {
    const options = { ...NONE, maxBlock: 12_000_000 };
    expect(() => casesOf(options, g, { ...machine, memoryBytes: 2 * 2.16e9 })).not.toThrow();
    expect(() => casesOf(options, g, { ...machine, memoryBytes: 2 * 2.16e9 - 1 })).toThrow(
      /two sorted arrays of 2\.2 GB/,
    );
  });
});

describe('the array that remembers', () => {
  it.each(['dense', 'spread'] as const)('answers as the store does: %s', (offsets) => {
    const options = { minBlock: 5, maxBlock: 400, stride: 3, tidsPerBlock: 7, offsets, seed: 4 };
    const population = new Population(g, options);
    const store = new SortedArrayTidStore(g, { maxTids: population.tidCount });
    loadArray(store, population, population.blockCount);
    const remembering = new RememberingArray(store, g.maxOffsetNumber);
    let found = 0;
    // in order, back again, and to and fro; blocks that are there and that are not
    for (const blockAt of [(i: number) => i, (i: number) => 420 - i, (i: number) => (i * 131) % 421]) {
      for (let i = 0; i <= 420; i++) {
        for (let o = 0; o <= 300; o++) {
          const block = blockAt(i);
          if (remembering.has(block, o) !== store.has(block, o)) throw new Error(`(${block},${o})`);
          if (remembering.has(block, o)) found++;
        }
      }
    }
    expect(found).toBe(3 * population.tidCount);
    for (const [block, o] of [
      [-1, 1],
      [5.5, 1],
      [5, 1.5],
      [2 ** 32 + 5, 1],
      [Number.NaN, 1],
    ] as const) {
      expect(remembering.has(block, o)).toBe(false);
    }
  });
});

describe('notes', () => {
  const one = (name: string, arrayBytes: number) =>
    ({
      case: { name },
      radixBytes: 2 ** 20,
      arrayBytes,
      tids: 1,
      load: pairOf(1, 1),
      reload: pairOf(1, 1),
      searches: [],
    }) as unknown as CaseMeasurement;
  const noted = (cache: number) =>
    notesOf([one('small', 2 ** 21), one('large', 2 ** 30)], { ...describeMachine(), lastLevelCacheBytes: cache }).at(
      -1,
    );

  it('say which arrays are larger than the last-level cache', () => {
    expect(noted(2 ** 20)).toContain('has 1 MB: larger than it are the arrays of small; large.');
    expect(noted(2 ** 25)).toContain('has 32 MB: larger than it are the arrays of large.');
    expect(noted(2 ** 31)).toContain(': every array fits into it.');
  });
});

describe('aims', () => {
  const search = { reading: measured(1), searched: 1, ascending: 1 };
  const measurement = (maxBlock: number, over: Partial<CaseMeasurement['case']> = {}): CaseMeasurement => ({
    case: { name: '', minBlock: 0, maxBlock, stride: 1, tidsPerBlock: 30, offsets: 'dense', ...over },
    keys: maxBlock,
    tids: maxBlock * 30,
    radixBytes: 1,
    arrayBytes: 20,
    nodes: { numKeys: maxBlock, height: 2, n4: 0, n16: 0, n32: 0, n128: 0, n256: 1 },
    load: pairOf(169, 100),
    reload: pairOf(171, 100),
    searches: [
      { search: 'seq-search', ...search, ...pairOf(10, 81) },
      { search: 'shuffle-search', ...search, ...pairOf(10, 59) },
    ],
  });

  it('are judged at a million and at ten million blocks of 30', () => {
    const aims = aimsOf([measurement(1_000_000)]);
    expect(aims.map(({ met }) => met)).toEqual([true, true, false, true, false, null, null, null, null, null]);
    expect(aims.map(({ aim }) => aim)).toEqual([0.05, 8, 6, 1.7, 1.7, 0.05, 8, 6, 1.7, 1.7]);
    expect(aimsOf([measurement(10_000_000)]).map(({ met }) => met === null)).toEqual([
      ...Array<boolean>(5).fill(true),
      ...Array<boolean>(5).fill(false),
    ]);
  });

  it('are not judged by a search that was not run, nor by other cases', () => {
    const [half] = [measurement(1_000_000)].map((one) => ({ ...one, searches: one.searches.slice(1) }));
    expect(aimsOf([half!]).map(({ met }) => met)[1]).toBeNull();
    for (const other of [{ tidsPerBlock: 29 }, { stride: 2 }, { offsets: 'spread' as const }]) {
      expect(aimsOf([measurement(1_000_000, other)]).every(({ met }) => met === null)).toBe(true);
    }
  });
});
