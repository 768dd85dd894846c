// Does the order that a compaction leaves help later scans? The same items, summed through their line pointers, on pages
// that `sort` left and on pages that `adaptive` left (which are those of `workspace`).
import { type Variant, WrongAnswerError } from '@blockwright/benchmark';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
} from '@blockwright/page';
import { compactedPlainly, isIndexWidth, type PageSet, type Width } from './page-set.ts';

/** Orders in which pages are before the compaction that leaves the scanned ones. */
export const SCAN_ORDERS = ['shuffled', 'updates'] as const;
export type ScanOrder = (typeof SCAN_ORDERS)[number];

/** Who left the pages. `adaptive` stands for `workspace` too: their pages are the same, byte for byte. */
const SCAN_VARIANTS = ['sort', 'adaptive'] as const;

/** Byte of the summed column in an item: `n` of a table's row, the key of an index's entry. */
const columnByte = (width: Width): number => (isIndexWidth(width) ? 8 : 28);

export interface LeftPages {
  readonly geometry: BlockGeometry;
  readonly width: Width;
  readonly pages: number;
  /** In the order of {@link SCAN_VARIANTS}. */
  readonly memories: readonly PageMemory[];
}

/**
 * The pages of `lined` as `adaptive` leaves them, and those of `aged` as `sort` does: the same items at the same line
 * pointers. The two sets are one where nothing was compacted before.
 */
export function leftPages(lined: PageSet, aged: PageSet): LeftPages {
  const memories = [compactedPlainly(aged, 'physical'), compactedPlainly(lined, 'line pointer')];
  return { geometry: lined.geometry, width: lined.width, pages: lined.pages, memories };
}

/** Memory to hold the pages of each variant, often enough to fill it. */
export interface ScanArena {
  readonly bytes: number;
  readonly memories: readonly PageMemory[];
}

export function makeArena(bytes: number): ScanArena {
  return { bytes, memories: SCAN_VARIANTS.map(() => pageMemory(new ArrayBuffer(bytes))) };
}

/** Scans of the pages, repeated in `arena` until it is full; `swapped`: each kind in the other's memory. */
export function scanVariants(left: LeftPages, arena: ScanArena, swapped: boolean = false): Variant[] {
  const { size } = left.geometry;
  const at = columnByte(left.width);
  const pages = Math.floor(arena.bytes / size);
  const wanted = plainSum(left, pages, at);
  return SCAN_VARIANTS.map((name, i) => {
    const memory = arena.memories[swapped ? 1 - i : i] as PageMemory;
    const from = (left.memories[i] as PageMemory).u8;
    for (let byte = 0; byte < pages * size; byte += from.length) {
      memory.u8.set(byte + from.length > pages * size ? from.subarray(0, pages * size - byte) : from, byte);
    }
    return {
      name,
      units: pages,
      run: () => sumColumn(memory, pages, size, at),
      check: (answer: unknown) => {
        if (answer === wanted) return;
        throw new WrongAnswerError(`pages left by ${name} sum to ${String(answer)} where ${wanted} is right`);
      },
    };
  });
}

/** Sums a column of all normal items through their line pointers, as 32-bit words. */
function sumColumn(m: PageMemory, pages: number, size: number, at: number): number {
  const words = m.u32;
  let sum = 0;
  for (let page = 0; page < pages; page++) {
    const base = page * size;
    const count = pageMaxOffset(m, base);
    for (let o = 1; o <= count; o++) {
      const lp = linePointer(m, base, o);
      if (lpFlags(lp) === LP_NORMAL) sum = (sum + (words[(base + lpOffset(lp) + at) >>> 2] as number)) | 0;
    }
  }
  return sum;
}

/** The sum over `pages` pages, the left ones repeated, from the pages that `adaptive` left, byte by byte. */
function plainSum({ geometry: { size }, pages: distinct, memories }: LeftPages, pages: number, at: number): number {
  const view = new DataView((memories[1] as PageMemory).u8.buffer);
  const sums = Array.from({ length: distinct }, (_, page) => {
    let sum = 0n;
    const lower = view.getUint16(page * size + 12, true);
    for (let byte = 24; byte < lower; byte += 4) {
      const lp = view.getUint32(page * size + byte, true);
      if (((lp >>> 15) & 3) === 1) sum += BigInt(view.getUint32(page * size + (lp & 0x7fff) + at, true));
    }
    return sum;
  });
  let total = 0n;
  for (let page = 0; page < pages; page++) total += sums[page % distinct] as bigint;
  return Number(BigInt.asIntN(32, total));
}
