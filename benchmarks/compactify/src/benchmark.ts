// `bench compactify`: what compacting a page costs, by strategy, and whether the order that is left helps later scans.
import { type Benchmark, defineBenchmark, type MachineDescription } from '@blockwright/benchmark';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { FILLFACTOR } from './heap-updates.ts';
import { Measurements } from './measurements.ts';
import { ONE_DEAD_OF, ORDERS, WIDTHS } from './page-set.ts';
import { compactionAims, compactionNotes, reportCells, scanNotes } from './summary.ts';

/** A scan from memory reads this much more than the last-level cache holds. */
const BEYOND_CACHE = 1.1;
/** Where the system does not tell how large that cache is. */
const UNKNOWN_CACHE_BYTES = 2 ** 28;
/** A typed array of pages stays below the largest byte that a base can be. */
const MOST_SCAN_MEGABYTES = 1000;
/** Bytes of a sample's pages. */
const bytesOf = (pagesOf8kB: number): number => pagesOf8kB * 8192;

export const compactifyBenchmark: Benchmark = defineBenchmark({
  name: 'compactify',
  summary: 'what compacting a page costs: by sorting, through a workspace, adaptively',
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    widths: {
      type: 'list',
      default: WIDTHS.map(String),
      choices: WIDTHS.map(String),
      help: "bytes of an item: 16 an index's entry, else a table's tuple",
    },
    orders: {
      type: 'list',
      default: ORDERS,
      choices: ORDERS,
      help: 'order of data before compaction; the last three: made by updates',
    },
    rounds: { type: 'number', default: 31, help: 'interleaved rounds', min: 9, max: 100_000, integer: true },
    pages: {
      type: 'number',
      default: 32,
      help: 'pages a sample at 8 kB; the same bytes at other sizes',
      min: 4,
      max: 100_000,
      integer: true,
    },
    scanMegabytes: {
      type: 'number',
      default: undefined,
      help: 'memory of the scan that no cache holds, at one block size; 0: none (default: 1.1 times the last-level cache)',
      placeholder: 'MB',
      min: 0,
      max: MOST_SCAN_MEGABYTES,
    },
    seed: { type: 'number', default: 1, help: 'seed of pages and order', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'what', title: 'what' },
    { key: 'width', title: 'width' },
    { key: 'order', title: 'order' },
    { key: 'variant', title: 'variant' },
    { key: 'nsPerUnit', title: 'ns/page' },
    { key: 'ratio', title: 'times of sort', format: (ratio) => Number(ratio).toFixed(2) },
  ],
  run: async (options, context, machine) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const widths = WIDTHS.filter((width) => options.widths.includes(String(width)));
    const orders = ORDERS.filter((order) => options.orders.includes(order));
    const scanBytes = Math.floor((options.scanMegabytes ?? scanMegabytes(machine)) * 2 ** 20);
    const { rounds, pages, seed } = options;
    const measurements = new Measurements(
      { sizes, widths, orders, rounds, sampleBytes: bytesOf(pages), seed },
      context,
    );
    const compactions = await measurements.compactions();
    const scans = await measurements.scans(scanBytes);
    return {
      settings: {
        fillfactor: FILLFACTOR,
        deadItems: `one of ${ONE_DEAD_OF} on pages laid out; on pages that updates made, what pruning found`,
        bytesOfASample: bytesOf(options.pages),
        scanBytes,
        lastLevelCacheBytes: machine.lastLevelCacheBytes,
      },
      results: reportCells(compactions, scans),
      aims: compactionAims(compactions),
      notes: [...compactionNotes(compactions), ...scanNotes(scans), cacheNote(options.pages, scanBytes, machine)],
    };
  },
});

function scanMegabytes({ lastLevelCacheBytes }: MachineDescription): number {
  return Math.min(
    MOST_SCAN_MEGABYTES,
    Math.ceil(((lastLevelCacheBytes ?? UNKNOWN_CACHE_BYTES) * BEYOND_CACHE) / 2 ** 20),
  );
}

function cacheNote(pages: number, scanBytes: number, { lastLevelCacheBytes }: MachineDescription): string {
  const cache = lastLevelCacheBytes === null ? 'not known' : `${Math.round(lastLevelCacheBytes / 2 ** 20)} MB`;
  const bytes = bytesOf(pages);
  const where =
    bytes <= (lastLevelCacheBytes ?? UNKNOWN_CACHE_BYTES)
      ? 'so they are in a cache, as a page is that an update or recovery has just touched; --pages makes it more'
      : 'more than the last-level cache holds';
  return `A sample compacts ${Math.round(bytes / 1024)} kB of pages that were put back just before, ${where}. The last-level cache, as the system tells it: ${cache}; the scan from memory reads ${Math.round(scanBytes / 2 ** 20)} MB.`;
}
