// Measures the cells: compactions by every strategy, and scans of what they leave.
import { type BenchmarkContext, type Measured, measureRounds, type Variant } from '@blockwright/benchmark';
import { BlockGeometry, type BlockSize, formatBlockSize } from '@blockwright/geometry';
import { hasOrder, makePageSet, type Order, type PageSet, type Width } from './page-set.ts';
import { leftPages, makeArena, SCAN_ORDERS, type ScanArena, type ScanOrder, scanVariants } from './scan.ts';
import { adaptiveAgainstBest, type CompactionCell, LIMIT, type ScanCell, type ScanPlace } from './summary.ts';
import { compactionVariants } from './variants.ts';

/** A cell in which `adaptive` seems too slow is measured anew in this many times the rounds: that is what counts. */
const SECOND_LOOK = 4;
/** Rounds of a scan from memory with the pages in either place: each takes long. */
const MEMORY_ROUNDS = 9;
const WARM_UP_MS = 30;
/** Bytes of pages that are all different; a larger sample has each of them several times. */
const DISTINCT_BYTES = 2 ** 18;

export interface MeasurementOptions {
  readonly sizes: readonly BlockSize[];
  readonly widths: readonly Width[];
  readonly orders: readonly Order[];
  readonly rounds: number;
  /** Bytes of the pages that a sample compacts. */
  readonly sampleBytes: number;
  readonly seed: number;
}

export class Measurements {
  private readonly options: MeasurementOptions;
  private readonly context: BenchmarkContext;
  private readonly sets = new Map<string, PageSet>();

  constructor(options: MeasurementOptions, context: BenchmarkContext) {
    this.options = options;
    this.context = context;
  }

  async compactions(): Promise<CompactionCell[]> {
    const { sizes, widths, orders } = this.options;
    const cells: CompactionCell[] = [];
    for (const size of sizes) {
      this.context.log(`compaction, ${formatBlockSize(size)}`);
      for (const width of widths) {
        for (const order of orders) {
          if (hasOrder(width, order)) cells.push(await this.compaction(size, width, order));
        }
      }
    }
    return cells;
  }

  private async compaction(size: BlockSize, width: Width, order: Order): Promise<CompactionCell> {
    const set = this.pageSet(size, width, order);
    const repeats = Math.max(1, Math.floor(this.options.sampleBytes / set.pristine.u8.length));
    const variants = compactionVariants(set, repeats);
    const phase = `${formatBlockSize(size)}, ${width} bytes, ${order}`;
    const measure = async (times: number): Promise<CompactionCell> => {
      const measured = await this.measure(variants, this.options.rounds * times, WARM_UP_MS, phase);
      return { size, width, order, measured };
    };
    const cell = await measure(1);
    return adaptiveAgainstBest(cell).ratio > LIMIT ? measure(SECOND_LOOK) : cell;
  }

  /** Scans in cache at every size, and from `memoryBytes` of memory at one: 8 kB, where it is asked for. */
  async scans(memoryBytes: number): Promise<ScanCell[]> {
    const { sizes, sampleBytes } = this.options;
    const cells: ScanCell[] = [];
    const hot = makeArena(Math.min(sampleBytes, DISTINCT_BYTES));
    for (const size of sizes) cells.push(...(await this.scansOf(size, 'scan in cache', hot)));
    const size = sizes.includes(8192) ? 8192 : (sizes[0] as BlockSize);
    if (memoryBytes >= size) cells.push(...(await this.scansOf(size, 'scan from memory', makeArena(memoryBytes))));
    return cells;
  }

  private async scansOf(size: BlockSize, what: ScanPlace, arena: ScanArena): Promise<ScanCell[]> {
    const { widths, orders } = this.options;
    this.context.log(`${what}, ${formatBlockSize(size)}`);
    const cells: ScanCell[] = [];
    for (const width of widths) {
      for (const order of SCAN_ORDERS.filter((scanned) => orders.includes(scanned))) {
        cells.push(await this.scan(size, width, order, what, arena));
      }
    }
    return cells;
  }

  /** Half of the rounds with the two kinds of pages in each other's place: no memory is better than the other then. */
  private async scan(
    size: BlockSize,
    width: Width,
    order: ScanOrder,
    what: ScanPlace,
    arena: ScanArena,
  ): Promise<ScanCell> {
    const lined = this.pageSet(size, width, order);
    const left = leftPages(lined, order === 'updates' ? this.pageSet(size, width, 'aged') : lined);
    const [rounds, warmUpMs] = what === 'scan in cache' ? [this.options.rounds, WARM_UP_MS] : [MEMORY_ROUNDS, 0];
    const phase = `${what}, ${formatBlockSize(size)}, ${width} bytes, ${order}`;
    const halves: Measured[][] = [];
    for (const swapped of [false, true]) {
      halves.push(await this.measure(scanVariants(left, arena, swapped), rounds, warmUpMs, phase));
    }
    const [first, second] = halves as [Measured[], Measured[]];
    const measured = first.map((half, i) => ({
      ...half,
      samplesNs: [...half.samplesNs, ...(second[i] as Measured).samplesNs],
    }));
    return { what, size, width, order, measured };
  }

  private measure(variants: readonly Variant[], rounds: number, warmUpMs: number, phase: string): Promise<Measured[]> {
    const { signal, progress } = this.context;
    return measureRounds(variants, { rounds, seed: this.options.seed, warmUpMs, signal, progress, phase });
  }

  /** Pages are made once, and few: to age them takes longer than to measure them. */
  private pageSet(size: BlockSize, width: Width, order: Order): PageSet {
    const key = `${size} ${width} ${order}`;
    const { sampleBytes, seed } = this.options;
    const pages = Math.max(1, Math.floor(Math.min(sampleBytes, DISTINCT_BYTES) / size));
    const set = this.sets.get(key) ?? makePageSet(BlockGeometry.of(size), width, order, pages, seed);
    this.sets.set(key, set);
    return set;
  }
}
