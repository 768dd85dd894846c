// How many buffers a pool may have: at least what the algorithms need, at most what this machine can hold.
import { totalmem } from 'node:os';
import { highWord, lowWord } from '@blockwright/base';
import { type BlockGeometry, formatBlockSize } from '@blockwright/geometry';

/** The fewest buffers of a pool. PostgreSQL: the minimum of `shared_buffers`, guc_tables.c. */
export const MIN_BUFFERS = 16;
/** The most, whatever the machine: a descriptor's index and a table's slot must stay within 31 bits. */
const MAX_BUFFERS = 0x1000_0000;

/** The most buffers that a pool of this block size can have on this machine: its memory, or its container's. */
export function maxBuffers(geometry: BlockGeometry): number {
  let bytes = totalmem();
  const constrained = process.constrainedMemory?.() ?? 0;
  if (constrained > 0 && constrained < bytes) bytes = constrained;
  // Whole blocks of 1 kB first, so that the shifts work on 32 bits; from 4 TiB on the other limit decides.
  const high = highWord(bytes);
  const kilobytes = high < 1024 ? ((high << 22) | (lowWord(bytes) >>> 10)) >>> 0 : 0xffff_ffff;
  return Math.min(MAX_BUFFERS, kilobytes >>> (geometry.shift - 10));
}

/**
 * Checks a number of buffers.
 * @throws RangeError when it is no integer from {@link MIN_BUFFERS} to {@link maxBuffers}.
 */
export function checkBuffers(geometry: BlockGeometry, buffers: number): void {
  const most = maxBuffers(geometry);
  if (Number.isInteger(buffers) && buffers >= MIN_BUFFERS && buffers <= most) return;
  const size = formatBlockSize(geometry.size);
  throw new RangeError(
    `a buffer pool cannot have ${String(buffers)} buffers of ${size}: from ${MIN_BUFFERS} to ${most}, which is all the memory of this machine`,
  );
}
