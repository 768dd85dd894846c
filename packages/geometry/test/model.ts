// The mappings by plain division, each in the one line that defines it: what the geometry is held against.
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import fc from 'fast-check';

export const LAST_BLOCK = 0xffff_fffe;
export const UINT32_MAX = 0xffff_ffff;

export interface Model {
  readonly size: BlockSize;
  readonly g: BlockGeometry;
  readonly segmentBlocks: number;
  /** Heap blocks a visibility map page. */
  readonly vm: number;
  /** Slots a free space map page. */
  readonly slots: number;
  readonly depth: number;
  readonly clog: number;
}

/** From the definitions in PostgreSQL's headers, not from the package. */
function modelOf(size: BlockSize): Model {
  const slots = size - 24 - 4 - (size / 2 - 1);
  return {
    size,
    g: BlockGeometry.of(size),
    segmentBlocks: 2 ** 30 / size,
    vm: (size - 24) * 4,
    slots,
    depth: slots ** 3 >= 2 ** 32 ? 3 : 4,
    clog: size * 4,
  };
}

export const MODELS: readonly Model[] = BLOCK_SIZES.map(modelOf);

export const quotient = (n: number, divisor: number): number => Math.floor(n / divisor);

export function fsmPhysical({ slots, depth }: Model, level: number, logical: number): number {
  let below = logical * slots ** level;
  let pages = -level - 1;
  for (let i = 0; i < depth; i++) {
    pages += below + 1;
    below = quotient(below, slots);
  }
  return pages;
}

/** Numbers from 0 to `last`, often at or beside a multiple of one of the divisors or a power of two. */
export function numbersNear(last: number, divisors: readonly number[]): fc.Arbitrary<number> {
  const within = (n: number): number => Math.min(Math.max(n, 0), last);
  return fc.oneof(
    fc.integer({ min: 0, max: last }),
    fc
      .tuple(fc.constantFrom(...divisors), fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: -2, max: 2 }))
      .map(([divisor, where, beside]) => within(quotient(where * last, divisor) * divisor + beside)),
    fc
      .tuple(fc.integer({ min: 0, max: 32 }), fc.integer({ min: -2, max: 2 }))
      .map(([power, beside]) => within(2 ** power + beside)),
    fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 31, last - 1, last).map(within),
  );
}
