// The memory that pages lie in: one buffer under three typed arrays, made once a chunk of pages and not once a page.

/**
 * One buffer, seen as bytes, 16-bit and 32-bit words. A page in it starts at a byte called its base, a multiple of 8;
 * the functions of this package take both, and never look outside [base, base + block size).
 */
export interface PageMemory {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
}

/** The one class that implements {@link PageMemory}, so that every function over it sees one hidden class. */
export class PageMemoryViews implements PageMemory {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;

  /**
   * Views of `byteLength` bytes of `buffer` from `byteOffset` on; both must be multiples of 4.
   * @throws RangeError when they are not, or reach beyond the buffer.
   */
  constructor(buffer: ArrayBufferLike, byteOffset: number = 0, byteLength: number = buffer.byteLength - byteOffset) {
    if ((byteOffset & 3) !== 0 || (byteLength & 3) !== 0) {
      throw new RangeError(`page memory of ${byteLength} bytes from byte ${byteOffset}: both must be multiples of 4`);
    }
    this.u8 = new Uint8Array(buffer, byteOffset, byteLength);
    this.u16 = new Uint16Array(buffer, byteOffset, byteLength >>> 1);
    this.u32 = new Uint32Array(buffer, byteOffset, byteLength >>> 2);
  }
}

/**
 * The three views of a buffer.
 * @throws RangeError when its length is no multiple of 4.
 */
export function pageMemory(buffer: ArrayBufferLike): PageMemory {
  return new PageMemoryViews(buffer);
}
