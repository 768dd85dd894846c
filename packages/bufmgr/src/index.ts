export type { LivePin } from './errors.ts';
export type { BufferedFork, WalFlusher } from './fork.ts';
export { MAX_USAGE as MAX_USAGE_COUNT } from './frames.ts';
export { MIN_BUFFERS, maxBuffers } from './limits.ts';
export type { BufferPoolOptions } from './options.ts';
export { POISON_BYTE } from './poison.ts';
export { BufferPool } from './pool.ts';
export { BULK_READ_RING_BYTES, BULK_WRITE_RING_BYTES, type BufferRing } from './ring.ts';
export { type BufferCounts, BufferStats } from './stats.ts';
