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
 * Reads a block size: bytes as a number or as digits, or kilobytes as `16kB` or `16k`.
 * @throws RangeError that lists the six sizes for anything else.
 */
export function parseBlockSize(text: string | number): BlockSize {
  if (typeof text === 'number') {
    if (isBlockSize(text)) return text;
  } else if (typeof text === 'string') {
    const match = /^([1-9]\d{0,4})(kB|k)?$/.exec(text);
    if (match !== null) {
      const bytes = match[2] === undefined ? Number(match[1]) : Number(match[1]) << 10;
      if (isBlockSize(bytes)) return bytes;
    }
  }
  throw new RangeError(
    `"${String(text)}" is not a block size: it must be ${BLOCK_SIZES.map(formatBlockSize).join(', ')} (${BLOCK_SIZES.join(', ')} bytes)`,
  );
}

/** A block size as PostgreSQL prints it and {@link parseBlockSize} reads it: `8kB`. */
export function formatBlockSize(size: BlockSize): string {
  return `${size >>> 10}kB`;
}
