// The data checksum of a page: PostgreSQL's variant of FNV-1a over 32 lanes, folded to 16 bits with the block number.
//
// Word i of the page goes to lane i & 31. A lane starts at its own constant; a word w makes x = lane ^ w, and then
// lane = x * 16777619 ^ (x >>> 17). Two rounds of zero words mix the last ones in. The lanes' exclusive or, and the
// block number, is taken modulo 65535 and one added: so 0 means that there is no checksum. pd_checksum itself is read
// as 0. PostgreSQL: checksum_impl.h.
import { type BlockNumber, INVALID_BLOCK_NUMBER } from '@blockwright/base';
import { BLOCK_SIZES, type BlockGeometry } from '@blockwright/geometry';
import { pageIsNew, pageStoreChecksum, pageStoredChecksum } from './header.ts';
import { KERNELS } from './kernel.ts';
import { kernelMemory, type PageMemory } from './memory.ts';

const PRIME = 16777619;
const LANES = 32;
/** One page of the largest size, or several smaller ones: less than a first-level cache has. */
const SCRATCH_BYTES = BLOCK_SIZES[BLOCK_SIZES.length - 1] as number;
/** All but pd_checksum of the 32-bit word that holds it and pd_flags. */
const BESIDE_CHECKSUM = 0xffff_0000;

/** Where the lanes start. PostgreSQL: `checksumBaseOffsets`. */
// biome-ignore format: four rows of eight
const LANE_STARTS: Int32Array = Int32Array.of(
  0x5b1f36e9, 0xb8525960, 0x02ab50aa, 0x1de66d2a, 0x79ff467a, 0x9bb9f8a3, 0x217e7cd2, 0x83e13d2c,
  0xf8d4474f, 0xe39eb970, 0x42c6ae16, 0x993216fa, 0x7b093b5d, 0x98daff3c, 0xf718902a, 0x0b1c9cdb,
  0xe58f764b, 0x187636bc, 0x5d7b3bb1, 0xe73de7de, 0x92bec979, 0xcca6c0b2, 0x304a0979, 0x85aa43d4,
  0x783125bb, 0x6ca8eaa2, 0xe407eac6, 0x4b5cfc3e, 0x9fbf8c76, 0x15ca20be, 0xf2ca9fd3, 0x959bd756,
);

/** How this platform computes checksums: by the SIMD kernel in WebAssembly, or in TypeScript. */
export function checksumKernel(): 'simd' | 'typescript' {
  return KERNELS.supported ? 'simd' : 'typescript';
}

/**
 * The part of a page's checksum that does not depend on its block number, uint32: by the kernel in place where the
 * memory has one ({@link kernelMemory}), on a copy where not, and by {@link pageHashPortable} where there is none.
 * PostgreSQL: `pg_checksum_block`.
 */
export function pageHash(m: PageMemory, base: number, g: BlockGeometry): number {
  return hashOf(m, base, g) >>> 0;
}

/**
 * The {@link pageHash} of `count` pages that follow each other from `base` on, into the first elements of `out`: where
 * the memory has no kernel, more of them are copied at a time.
 * @throws RangeError when `out` has no room for them.
 */
export function pageHashes(m: PageMemory, base: number, g: BlockGeometry, count: number, out: Uint32Array): void {
  if (count > out.length) throw new RangeError(`${count} hashes do not fit into ${out.length} elements`);
  const { size, shift } = g;
  const copy = m.kernel === null ? scratchMemory() : m;
  const { kernel } = copy;
  if (kernel === null) {
    for (let i = 0; i < count; i++) out[i] = pageHashPortable(m, base + (i << shift), g);
  } else if (copy === m) {
    for (let i = 0; i < count; i++) out[i] = kernel.hash(base + (i << shift), size);
  } else {
    const room = SCRATCH_BYTES >>> shift;
    for (let first = 0; first < count; first += room) {
      const some = count - first < room ? count - first : room;
      const from = base + (first << shift);
      copy.u8.set(m.u8.subarray(from, from + (some << shift)));
      for (let i = 0; i < some; i++) out[first + i] = kernel.hash(i << shift, size);
    }
  }
}

/** {@link pageHash} as int32, which V8 hands on without a heap number. */
function hashOf(m: PageMemory, base: number, g: BlockGeometry): number {
  const { kernel } = m;
  return kernel === null ? hashOfCopy(m, base, g) : kernel.hash(base, g.size);
}

/** To copy a page and hash the copy, which is in the first-level cache then, is still faster than TypeScript. */
function hashOfCopy(m: PageMemory, base: number, g: BlockGeometry): number {
  const copy = scratchMemory();
  const { kernel } = copy;
  if (kernel === null) return pageHashPortable(m, base, g) | 0;
  copy.u8.set(m.u8.subarray(base, base + g.size));
  return kernel.hash(0, g.size);
}

let scratch: PageMemory | undefined;

/** Memory for copies, with a kernel if the platform has one. */
function scratchMemory(): PageMemory {
  scratch ??= kernelMemory(SCRATCH_BYTES);
  return scratch;
}

/**
 * {@link pageHash} in TypeScript: what the kernel is held against, and stands in for it. Four lanes at a time stay in
 * registers: eight passes over a page in the first-level cache are twice as fast as one with all lanes in memory.
 */
export function pageHashPortable(m: PageMemory, base: number, g: BlockGeometry): number {
  const words = m.u32;
  const start = base >>> 2;
  const end = (base + g.size) >>> 2;
  let fold = 0;
  let mask = BESIDE_CHECKSUM;
  for (let lane = 0; lane < LANES; lane += 4) {
    let i = start + lane;
    let x = (LANE_STARTS[lane] as number) ^ (words[i] as number);
    let a = Math.imul(x, PRIME) ^ (x >>> 17);
    x = (LANE_STARTS[lane + 1] as number) ^ (words[i + 1] as number);
    let b = Math.imul(x, PRIME) ^ (x >>> 17);
    x = (LANE_STARTS[lane + 2] as number) ^ ((words[i + 2] as number) & mask);
    let c = Math.imul(x, PRIME) ^ (x >>> 17);
    x = (LANE_STARTS[lane + 3] as number) ^ (words[i + 3] as number);
    let d = Math.imul(x, PRIME) ^ (x >>> 17);
    for (i += LANES; i < end; i += LANES) {
      x = a ^ (words[i] as number);
      a = Math.imul(x, PRIME) ^ (x >>> 17);
      x = b ^ (words[i + 1] as number);
      b = Math.imul(x, PRIME) ^ (x >>> 17);
      x = c ^ (words[i + 2] as number);
      c = Math.imul(x, PRIME) ^ (x >>> 17);
      x = d ^ (words[i + 3] as number);
      d = Math.imul(x, PRIME) ^ (x >>> 17);
    }
    for (let round = 0; round < 2; round++) {
      a = Math.imul(a, PRIME) ^ (a >>> 17);
      b = Math.imul(b, PRIME) ^ (b >>> 17);
      c = Math.imul(c, PRIME) ^ (c >>> 17);
      d = Math.imul(d, PRIME) ^ (d >>> 17);
    }
    fold ^= a ^ b ^ c ^ d;
    mask = 0xffff_ffff;
  }
  return fold >>> 0;
}

/** The checksum, 1 to 65535, of a page with this {@link pageHash} as block `block` of its fork. */
export function checksumOfHash(hash: number, block: BlockNumber): number {
  const x = (hash ^ block) >>> 0;
  // Modulo 65535 without dividing: 65536 is 1 modulo 65535, so the halves' sum has the same remainder.
  let rest = (x & 0xffff) + (x >>> 16);
  rest = (rest & 0xffff) + (rest >>> 16);
  return (rest === 0xffff ? 0 : rest) + 1;
}

/**
 * The checksum that the page should carry as block `block` of its fork (the block of the relation, not of the segment
 * file): 1 to 65535. The stored one does not go into it. PostgreSQL: `pg_checksum_page`.
 */
export function pageChecksum(m: PageMemory, base: number, g: BlockGeometry, block: BlockNumber): number {
  return checksumOfHash(hashOf(m, base, g), block);
}

/** Computes and stores the checksum, unless the page was never initialised. PostgreSQL: `PageSetChecksumInplace`. */
export function pageSetChecksum(m: PageMemory, base: number, g: BlockGeometry, block: BlockNumber): void {
  if (!pageIsNew(m, base)) pageStoreChecksum(m, base, pageChecksum(m, base, g, block));
}

/**
 * The block nearest to `block`, of `count` blocks from 0, whose number the stored checksum fits, `block` itself
 * excluded: where a page that was written to the wrong place belongs. One in 65535 wrong blocks fits by chance, so it
 * is a hint. INVALID_BLOCK_NUMBER when none does.
 */
export function blockOfChecksum(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  block: BlockNumber,
  count: number,
): BlockNumber {
  const hash = pageHash(m, base, g);
  const stored = pageStoredChecksum(m, base);
  if (stored === 0) return INVALID_BLOCK_NUMBER;
  let nearest: BlockNumber = INVALID_BLOCK_NUMBER;
  let least = Number.POSITIVE_INFINITY;
  // Every word with the right remainder modulo 65535 is the hash of one block number: 65538 steps, whatever `count` is.
  for (let word = stored - 1; word <= 0xffff_ffff; word += 0xffff) {
    const candidate = (hash ^ word) >>> 0;
    const distance = Math.abs(candidate - block);
    if (candidate < count && distance < least && distance > 0) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}
