// Block sizes: the six that exist, and their text forms.

/** A block size in bytes. PostgreSQL: `BLCKSZ`, which its build allows the same six values. */
export type BlockSize = 1024 | 2048 | 4096 | 8192 | 16384 | 32768;

/** The six block sizes, ascending. */
export const BLOCK_SIZES: readonly BlockSize[] = [1024, 2048, 4096, 8192, 16384, 32768];

/** PostgreSQL's own default, 8 kB. */
export const DEFAULT_BLOCK_SIZE: BlockSize = 8192;

/** Whether `bytes` is one of the six block sizes. */
export function isBlockSize(bytes: number): bytes is BlockSize {
  return (BLOCK_SIZES as readonly number[]).includes(bytes);
}

/**
 * Reads a block size as people write it: `16384`, `16kB`, `16k`, `16 KB`.
 * @throws RangeError that lists the six sizes for anything else.
 */
export function parseBlockSize(text: string | number): BlockSize {
  if (typeof text === 'number') {
    if (isBlockSize(text)) return text;
  } else {
    const match = /^\s*(\d{1,5})\s*([kK][iI]?[bB]?|[bB])?\s*$/.exec(text);
    if (match !== null) {
      const kilo = match[2] !== undefined && match[2].toLowerCase() !== 'b';
      const bytes = Number(match[1]) * (kilo ? 1024 : 1);
      if (isBlockSize(bytes)) return bytes;
    }
  }
  throw new RangeError(`"${String(text)}" is not a block size: it must be 1kB, 2kB, 4kB, 8kB, 16kB or 32kB`);
}

/** A block size as people read it: `8 kB`. */
export function formatBlockSize(size: BlockSize): string {
  return `${size >>> 10} kB`;
}
