// How a pool is made, and the checks of it.
import { checkOptions } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import type { WalFlusher } from './fork.ts';
import { MAX_CHUNK_BYTES } from './frames.ts';
import { checkBuffers } from './limits.ts';

/** How a pool is made. */
export interface BufferPoolOptions {
  readonly geometry: BlockGeometry;
  /** How many blocks it holds, at least 16. Their memory is taken when it is used first. PostgreSQL: `shared_buffers`. */
  readonly buffers: number;
  /** Whether each page that is read must have the right checksum; its header is looked at in any case. Default true. */
  readonly verifyChecksums?: boolean;
  /** Whether each page that is written gets its checksum. Default true. */
  readonly writeChecksums?: boolean;
  /** Made durable up to a page's LSN before that page is written; without one, no LSN is looked at. */
  readonly wal?: WalFlusher | undefined;
  /** Told of damage that does not stop the work: a map page read as zeros, once a fork. */
  readonly onWarning?: (message: string) => void;
  /** For tests: an unpinned page reads as 0x5A bytes, and who writes to one is found out. Slow. Default false. */
  readonly debugPoison?: boolean;
  /** Bytes of a chunk of memory, a power of two up to 1 GiB (the default) that holds 16 blocks or more. */
  readonly chunkBytes?: number;
}

const OPTIONS: readonly (keyof BufferPoolOptions)[] = [
  'geometry',
  'buffers',
  'verifyChecksums',
  'writeChecksums',
  'wal',
  'onWarning',
  'debugPoison',
  'chunkBytes',
];

/** Refuses options that make no pool: an unknown one is a TypeError, a wrong number a RangeError. */
export function checkPoolOptions(options: BufferPoolOptions): void {
  checkOptions('BufferPool', options, OPTIONS);
  checkBuffers(options.geometry, options.buffers);
  if (options.chunkBytes !== undefined) checkChunk(options.geometry, options.chunkBytes);
}

function checkChunk(geometry: BlockGeometry, bytes: number): void {
  const powerOfTwo = Number.isInteger(bytes) && bytes > 0 && bytes <= MAX_CHUNK_BYTES && (bytes & (bytes - 1)) === 0;
  if (powerOfTwo && bytes >>> geometry.shift >= 16) return;
  throw new RangeError(`chunkBytes ${String(bytes)} is not a power of two up to 1 GiB that holds 16 blocks or more`);
}
