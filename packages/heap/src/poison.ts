// The debug switch for what a scan lends: a batch that was given back reads as nonsense, so that who keeps one is found
// out by the first test that looks.
import type { Vector } from '@blockwright/tuple';
import type { HeapBatch } from './batch.ts';

/** What every byte of a batch reads as once it was given back. */
const POISON_BYTE = 0x5a;

/** Overwrites the rows that a batch lent. */
export function poisonBatch(batch: Pick<HeapBatch, 'vectors' | 'blocks' | 'offsets'>): void {
  for (const vector of batch.vectors) {
    for (const array of arraysOf(vector)) bytesOf(array).fill(POISON_BYTE);
    vector.nulls?.fill(POISON_BYTE); // each decode begins by clearing its rows' entries
  }
  bytesOf(batch.blocks).fill(POISON_BYTE);
  bytesOf(batch.offsets).fill(POISON_BYTE);
}

function arraysOf(vector: Vector): ArrayBufferView[] {
  switch (vector.kind) {
    case 'int8':
      return [vector.lo, vector.hi];
    case 'text':
    case 'bytes':
      return [vector.data]; // where texts start is the decoder's own, and goes on from batch to batch
    default:
      return [vector.values];
  }
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
