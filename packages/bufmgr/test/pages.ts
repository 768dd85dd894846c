// Valid pages with a number on them, for tests that only ask which page it is.
import type { BlockNumber } from '@blockwright/base';
import type { BufferedFork, BufferPool, BufferRing } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageInit, pageMemory, pageSetChecksum } from '@blockwright/page';

/** The number on a page; 0 on a new one. */
export function stampOf(m: PageMemory, base: number, g: BlockGeometry): number {
  return m.u32[(base + g.size - 4) >>> 2] as number;
}

/** Makes a valid page that carries a number. */
export function stamp(m: PageMemory, base: number, g: BlockGeometry, value: number): void {
  pageInit(m, base, g);
  m.u32[(base + g.size - 4) >>> 2] = value;
}

/** The bytes of such a page as block `block`, checksum included. */
export function stampedPage(g: BlockGeometry, block: BlockNumber, value: number): Uint8Array {
  const m = pageMemory(new ArrayBuffer(g.size));
  stamp(m, 0, g, value);
  pageSetChecksum(m, 0, g, block);
  return m.u8;
}

/** Pins a block, reads its number, unpins it. */
export function look(pool: BufferPool, f: BufferedFork, b: BlockNumber, ring?: BufferRing): number {
  const id = pool.pin(f, b, ring);
  const value = stampOf(pool.memory(id), pool.base(id), pool.geometry);
  pool.unpin(id);
  return value;
}

/** Pins a block, puts a number on it, marks it dirty, unpins it. */
export function put(pool: BufferPool, f: BufferedFork, b: BlockNumber, value: number, ring?: BufferRing): void {
  const id = pool.pin(f, b, ring);
  stamp(pool.memory(id), pool.base(id), pool.geometry, value);
  pool.markDirty(id);
  pool.unpin(id);
}
