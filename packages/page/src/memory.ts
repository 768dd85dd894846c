// The memory that pages lie in: one buffer under three typed arrays, made once a chunk of pages and not once a page.
import { type ChecksumKernel, KERNELS } from './kernel.ts';

/**
 * One buffer, seen as bytes, 16-bit and 32-bit words. A page in it starts at a byte called its base, a multiple of 8;
 * the functions of this package take both, and never look outside [base, base + block size).
 */
export interface PageMemory {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
  /** What computes checksums in place: in memories made by {@link kernelMemory}, where the platform can. Else null. */
  readonly kernel: ChecksumKernel | null;
}

/** The one class that implements {@link PageMemory}, so that every function over it sees one hidden class. */
export class PageMemoryViews implements PageMemory {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
  readonly kernel: ChecksumKernel | null;

  /**
   * Views of `byteLength` bytes of `buffer` from `byteOffset` on; both must be multiples of 4.
   * @param kernel of that buffer, when byteOffset is 0.
   * @throws RangeError when they are not, or reach beyond the buffer; TypeError when `buffer` is a typed array.
   */
  constructor(
    buffer: ArrayBufferLike,
    byteOffset: number = 0,
    byteLength: number = buffer.byteLength - byteOffset,
    kernel: ChecksumKernel | null = null,
  ) {
    // A typed array would be copied, element by element, and each view would be of a copy of its own.
    if (ArrayBuffer.isView(buffer)) throw new TypeError('page memory is over an ArrayBuffer, not over a view of one');
    if ((byteOffset & 3) !== 0 || (byteLength & 3) !== 0) {
      throw new RangeError(`page memory of ${byteLength} bytes from byte ${byteOffset}: both must be multiples of 4`);
    }
    this.u8 = new Uint8Array(buffer, byteOffset, byteLength);
    this.u16 = new Uint16Array(buffer, byteOffset, byteLength >>> 1);
    this.u32 = new Uint32Array(buffer, byteOffset, byteLength >>> 2);
    this.kernel = kernel;
  }
}

/**
 * The three views of a buffer.
 * @throws RangeError when its length is no multiple of 4; TypeError when it is a typed array: its `buffer` is meant.
 */
export function pageMemory(buffer: ArrayBufferLike): PageMemory {
  return new PageMemoryViews(buffer);
}

/** The most bytes of a {@link kernelMemory}: so every base is below 2^30. */
const MOST_BYTES = 0x4000_0000;

/**
 * New memory, all zero, in which checksums are computed in place by the SIMD kernel: for those who hash many pages, and
 * keep the memory. It takes some 0.1 ms and 10 GB of address space, whatever `bytes` is; where the platform has no SIMD
 * or no room, it is ordinary memory.
 * @param bytes a multiple of 4, up to 1 GiB.
 * @throws RangeError when `bytes` is not that, or there is no memory at all.
 */
export function kernelMemory(bytes: number): PageMemory {
  if (!Number.isInteger(bytes) || bytes < 0 || bytes > MOST_BYTES || (bytes & 3) !== 0) {
    throw new RangeError(`page memory of ${bytes} bytes: it must be a multiple of 4 from 0 to ${MOST_BYTES}`);
  }
  const kernel = KERNELS.over(bytes);
  return kernel === null
    ? new PageMemoryViews(new ArrayBuffer(bytes))
    : new PageMemoryViews(kernel.memory.buffer, 0, bytes, kernel);
}
