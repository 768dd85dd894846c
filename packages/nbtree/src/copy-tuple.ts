// Copies of tuples, from page to page or aside.
import { indexTupleSize, type TupleMemory } from '@blockwright/tuple';

/** Copies `bytes` bytes, a multiple of 4; both places are, too. */
export function copyWords(m: TupleMemory, pos: number, out: TupleMemory, at: number, bytes: number): void {
  const source = m.u32;
  const target = out.u32;
  const from = pos >>> 2;
  const to = at >>> 2;
  const words = bytes >>> 2;
  for (let i = 0; i < words; i++) target[to + i] = source[from + i];
}

/** Copies the index tuple at `pos`. @returns its length */
export function copyTuple(m: TupleMemory, pos: number, out: TupleMemory, at: number): number {
  const bytes = indexTupleSize(m, pos);
  copyWords(m, pos, out, at, bytes);
  return bytes;
}
