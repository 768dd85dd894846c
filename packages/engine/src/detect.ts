// What a lone relation file says of itself: its block size, and whether its pages carry checksums. Nothing is assumed.
import type { BlockSize } from '@blockwright/geometry';
import { type ByteSource, detectBlockSize } from '@blockwright/pageinspect';
import { readFully, type Vfs } from '@blockwright/vfs';

export interface DetectedPages {
  /** undefined when no size has a majority of the pages, as in an empty file. */
  readonly blockSize: BlockSize | undefined;
  /** Whether the first page that is not empty has one: PostgreSQL writes 0 when checksums are off, and never when on. */
  readonly hasChecksums: boolean;
}

const CHECKSUM_BYTE = 8;
const HEADER_BYTES = 24;

/** Looks at a relation file. */
export function detectPages(vfs: Vfs, path: string): DetectedPages {
  const file = vfs.open(path, 'r');
  try {
    const size = file.size();
    const source: ByteSource = {
      size,
      read: (position, length) => {
        const bytes = new Uint8Array(Math.max(0, Math.min(length, size - position)));
        readFully(file, bytes, 0, bytes.length, position);
        return bytes;
      },
    };
    const blockSize = detectBlockSize(source)?.blockSize;
    return { blockSize, hasChecksums: blockSize !== undefined && firstChecksum(source, blockSize) !== 0 };
  } finally {
    file.close();
  }
}

function firstChecksum(source: ByteSource, blockSize: BlockSize): number {
  for (let page = 0; page + blockSize <= source.size; page += blockSize) {
    const header = source.read(page, HEADER_BYTES);
    if (header.some((byte) => byte !== 0)) return header[CHECKSUM_BYTE] | (header[CHECKSUM_BYTE + 1] << 8);
  }
  return 0;
}
