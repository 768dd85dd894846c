// The benchmark's answers, not its times, run small.
import { type BenchmarkContext, measureRounds, WrongAnswerError } from '@blockwright/benchmark';
import { compactifyBenchmark } from '@blockwright/benchmark-compactify';
import { BLOCK_SIZES, BlockGeometry, formatBlockSize } from '@blockwright/geometry';
import {
  copyPage,
  findPageFaults,
  linePointer,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
  pageSetUpper,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';
import { describe, expect, it } from 'vitest';
import { compactByComparator } from '../src/comparator.ts';
import { difference } from '../src/model.ts';
import {
  compactedPlainly,
  hasOrder,
  makePageSet,
  ORDERS,
  type Order,
  type PageSet,
  WIDTHS,
  type Width,
} from '../src/page-set.ts';
import { leftPages, makeArena, SCAN_ORDERS, scanVariants } from '../src/scan.ts';
import { compactionVariant, compactionVariants, VARIANTS } from '../src/variants.ts';

const context = (over: Partial<BenchmarkContext> = {}): BenchmarkContext => ({
  log: () => {},
  progress: () => {},
  signal: new AbortController().signal,
  ...over,
});
const quick = { rounds: 9, warmUpMs: 0, seed: 1 };
const CELLS = WIDTHS.flatMap((width) =>
  ORDERS.filter((order) => hasOrder(width, order)).map((order) => ({ width, order })),
);

/** A page or two: to age them is slow here. */
function smallSet(g: BlockGeometry, width: Width, order: Order): PageSet {
  const key = `${g.size} ${width} ${order}`;
  const made = SETS.get(key) ?? makePageSet(g, width, order, g.size > 4096 ? 1 : 2, g.size);
  SETS.set(key, made);
  return made;
}
const SETS = new Map<string, PageSet>();

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  it.each(CELLS)('pages of $width bytes, $order, are sound, and every variant compacts them', async (cell) => {
    const set = smallSet(g, cell.width, cell.order);
    for (const memory of [
      set.pristine,
      ...(['physical', 'line pointer'] as const).map((o) => compactedPlainly(set, o)),
    ]) {
      for (let page = 0; page < set.pages; page++) {
        findPageFaults(memory, page * size, g, { checksum: false }, (finding) => expect(finding).toBeUndefined());
      }
    }
    await measureRounds(compactionVariants(set, 2), quick);
  });

  it.each(WIDTHS)('pages of %i bytes that were laid out lie as they should, a third of them dead', (width) => {
    for (const order of ['sorted', 'reversed', 'shuffled'] as const) {
      const { pristine, pages } = smallSet(g, width, order);
      for (let page = 0; page < pages; page++) {
        const places = placesOf(pristine, page * size);
        const falls = places.filter((place, i) => i > 0 && place < (places[i - 1] as number)).length;
        if (order === 'sorted') expect(falls).toBe(places.length - 1);
        if (order === 'reversed') expect(falls).toBe(0);
        if (order === 'shuffled' && places.length > 20) expect(falls / places.length).toBeCloseTo(0.5, 0);
      }
    }
  });
});

/** `lp_off` of the items, by line pointer. */
function placesOf(m: PageMemory, base: number): number[] {
  return Array.from({ length: pageMaxOffset(m, base) }, (_, i) => linePointer(m, base, i + 1))
    .filter((lp) => lp >>> 17 > 0)
    .map((lp) => lp & 0x7fff);
}

describe('a strategy that', () => {
  const g = BlockGeometry.of(8192);
  const set = makePageSet(g, 40, 'shuffled', 4, 1);
  const work = (): PageMemory => pageMemory(new ArrayBuffer(2 * 4 * g.size)); // the set's pages twice
  /** Compacts rightly, then does harm to the third page when the pages are met again. */
  const planted =
    (harm: (m: PageMemory, base: number) => void) =>
    (m: PageMemory, start: number, { pages }: PageSet) => {
      for (let page = 0; page < pages; page++) compactByComparator(m, start + page * g.size, undefined);
      if (start > 0) harm(m, start + 2 * g.size);
    };
  const run = (name: string, harm: (m: PageMemory, base: number) => void): Promise<unknown> =>
    measureRounds([compactionVariant(name, planted(harm), set, work())], quick);
  const lastItem = (m: PageMemory, base: number): number => {
    let o = pageMaxOffset(m, base);
    while (linePointer(m, base, o) >>> 17 === 0) o--;
    return o;
  };

  it('does no harm is believed', async () => {
    await expect(run('sort', () => {})).resolves.toBeDefined();
  });
  it.each([
    ['loses an item', (m: PageMemory, base: number) => setLinePointer(m, base, lastItem(m, base), 0)],
    [
      'swaps two items',
      (m: PageMemory, base: number) => {
        const [a, b] = [lastItem(m, base), placesOf(m, base).length > 1 ? firstItem(m, base) : 0];
        const lp = linePointer(m, base, a);
        setLinePointer(m, base, a, linePointer(m, base, b));
        setLinePointer(m, base, b, lp);
      },
    ],
    [
      'garbles a byte of an item',
      (m: PageMemory, base: number) => {
        const at = base + g.size - 5;
        m.u8[at] = (m.u8[at] as number) ^ 1;
      },
    ],
    ['leaves a gap', (m: PageMemory, base: number) => pageSetUpper(m, base, pageUpper(m, base) - 8)],
  ])('%s is caught', async (_, harm) => {
    await expect(run('sort', harm)).rejects.toThrow(WrongAnswerError);
  });
  it('leaves items in the order of a sort where line-pointer order is promised is caught', async () => {
    for (const name of ['workspace', 'adaptive']) {
      await expect(run(name, () => {})).rejects.toThrow(/left a wrong page of 8192 bytes: line pointer/);
    }
  });
  it('moves nothing is caught', async () => {
    const nothing = compactionVariant('adaptive', () => {}, set, work());
    await expect(measureRounds([nothing], quick)).rejects.toThrow(/instead of/);
  });

  function firstItem(m: PageMemory, base: number): number {
    let o = 1;
    while (linePointer(m, base, o) >>> 17 === 0) o++;
    return o;
  }
});

describe('scans', () => {
  it.each(BLOCK_SIZES)('sum the same on pages that either strategy left, at %i bytes', async (size) => {
    const g = BlockGeometry.of(size);
    for (const width of WIDTHS) {
      for (const order of SCAN_ORDERS) {
        const made = (o: Order): PageSet => smallSet(g, width, o);
        const left = leftPages(made(order), order === 'updates' ? made('aged') : made(order));
        const [sorted, lined] = left.memories as [PageMemory, PageMemory];
        // The same items by line pointer, elsewhere.
        const again = pageMemory(sorted.u8.slice().buffer);
        const set = { ...made(order), pristine: sorted, doomed: undefined };
        copyPage(compactedPlainly(set, 'line pointer'), 0, again, 0, g);
        expect(difference(again, 0, lined, 0, size)).toBeUndefined();
        const arena = makeArena(10 * size);
        for (const swapped of [false, true]) await measureRounds(scanVariants(left, arena, swapped), quick);
      }
    }
  });
  it('that read other pages are caught', async () => {
    const made = smallSet(BlockGeometry.of(8192), 40, 'shuffled');
    const left = leftPages(made, made);
    const arena = makeArena(10 * 8192);
    const variants = scanVariants(left, arena);
    const at = 8192 - 12;
    for (const { u8 } of arena.memories) u8.fill(0, at - 40, at);
    await expect(measureRounds(variants, quick)).rejects.toThrow(WrongAnswerError);
  });
});

describe('bench compactify', () => {
  const small = { blockSizes: ['1kB', '4kB'], widths: ['16', '40'], rounds: 9, pages: 4, scanMegabytes: 1 };
  it('reports every variant, its aims and what was seen', async () => {
    const lines: string[] = [];
    const report = await compactifyBenchmark.run(small, context({ log: (line) => lines.push(line) }));
    const compactions = report.results.filter(({ what }) => what === 'compaction');
    const cells = CELLS.filter(({ width }) => width <= 40).length;
    expect(compactions.length).toBe(2 * cells * VARIANTS.length);
    expect(report.results.length - compactions.length).toBe(3 * 2 * SCAN_ORDERS.length * 2);
    for (const cell of report.results) {
      expect(cell.nsPerUnit).toBeCloseTo(cell.medianNs / cell.units, 9);
      expect(cell['ratioLow']).toBeLessThanOrEqual(cell['ratio'] as number);
      if (cell.variant === 'sort') expect(cell['ratio']).toBe(1);
    }
    expect(report.results.filter(({ isStrategy }) => isStrategy === false).length).toBe(2 * cells);
    expect(report.aims.map(({ name, aim }) => `${name}: ${aim}`)).toEqual([
      ...['1kB', '4kB'].flatMap((size) => [
        `sort over adaptive, pages that updates make, ${size}, 16 bytes: 1.5`,
        `sort over adaptive, pages that updates make, ${size}, 40 bytes: 1.5`,
      ]),
      'adaptive over workspace, 1kB, hardest cell: 1.05',
      'adaptive over workspace, 4kB, hardest cell: 1.05',
      'adaptive over sort, 1kB, hardest cell: 1.05',
      'adaptive over sort, 4kB, hardest cell: 1.05',
    ]);
    expect(report.notes?.length).toBe(7);
    expect(report.settings).toMatchObject({ rounds: 9, pages: 4, seed: 1, fillfactor: 75, scanBytes: 2 ** 20 });
    expect(lines).toEqual(
      ['compaction', 'scan in cache']
        .flatMap((what) => ['1kB', '4kB'].map((size) => `${what}, ${size}`))
        .concat('scan from memory, 1kB'),
    );
  });
  it('has no aim for pages that it was not asked for, and no scan of them', async () => {
    const report = await compactifyBenchmark.run(
      { ...small, blockSizes: ['8kB'], widths: ['200'], orders: ['reversed'] },
      context(),
    );
    expect(report.aims.map(({ measured }) => measured === null)).toEqual([true, true, false, false]);
    expect(report.results.map(({ variant }) => variant)).toEqual(VARIANTS);
  });
  it.each([
    [{ rounds: 8 }, 'from 9'],
    [{ blockSizes: ['3kB'] }, 'must be 1kB'],
    [{ widths: ['17'] }, '16, 40, 136, 200'],
    [{ orders: ['shufled'] }, 'did you mean "shuffled"'],
    [{ pages: 0 }, 'from 4'],
  ])('refuses %j', async (options, message) => {
    await expect(compactifyBenchmark.run(options, context())).rejects.toThrow(new RegExp(message));
  });
  it('stops when it is told to', async () => {
    const controller = new AbortController();
    const progress = () => controller.abort(new Error('stop'));
    await expect(compactifyBenchmark.run(small, context({ signal: controller.signal, progress }))).rejects.toThrow(
      'stop',
    );
  });
  it('names its sizes as people do', () => {
    expect(compactifyBenchmark.options['blockSizes']?.default).toEqual(BLOCK_SIZES.map(formatBlockSize));
  });
});
