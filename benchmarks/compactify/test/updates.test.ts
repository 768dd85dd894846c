// The models of a table and of an index whose rows are updated, against plain maps. That PostgreSQL does the same is
// tested in tests/oracle.
import { HeapUpdateRun, type HeapWorkload, IndexUpdateRun } from '@blockwright/benchmark-compactify';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  findPageFaults,
  itemPosition,
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
} from '@blockwright/page';
import { isHeapOnly, tupleInfomask2, tupleXmax } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { INDEX_WIDTH, markedEntries } from '../src/index-updates.ts';

const WIDTHS = [40, 136, 200];
const WORKLOADS: readonly HeapWorkload[] = ['updates', 'batches'];
const PAGES = 2;

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  describe.each(WIDTHS)('rows of %i bytes', (width) => {
    it.each(WORKLOADS)('have as many updates as transactions gave them, and stay at their TIDs: %s', (workload) => {
      const run = new HeapUpdateRun(g, { width, pages: PAGES, seed: size, workload });
      const roots = rootsOf(run.memory, size);
      const updates = new Map([...roots.keys()].map((key) => [key, 0]));
      let compactions = 0;
      run.onCompaction = (block) => {
        compactions++;
        expectSound(run.memory, block * size, g);
      };
      expect(updates.size).toBe(run.rows);
      for (let i = 0; i < 60; i++) {
        for (const key of run.transaction()) updates.set(key, (updates.get(key) as number) + 1);
        expect(liveRows(run.memory, size)).toEqual(updates);
      }
      for (let base = 0; base < PAGES * size; base += size) expectSound(run.memory, base, g);
      expect(rootsOf(run.memory, size)).toEqual(roots);
      expect(compactions).toBeGreaterThan(30);
    });
  });

  it('an index has its live keys in order, and the dead ones are marked before each deletion', () => {
    const run = new IndexUpdateRun(g, { seed: size });
    const m = run.memory;
    const live = new Set(run.keys);
    let updates = 0;
    let compactions = 0;
    run.onCompaction = () => {
      compactions++;
      const marked = new Set(markedEntries(m, 0));
      keysOf(m).forEach((key, i) => expect([key, live.has(key)]).toEqual([key, !marked.has(i + 1)]));
      expect(marked.size / pageMaxOffset(m, 0)).toBeCloseTo(1 / 3, 1);
      expectSound(m, 0, g);
    };
    while (compactions < 4) {
      const { from, to, afterScan } = run.update();
      live.delete(from);
      live.add(to);
      updates++;
      if (!afterScan && updates % 16 !== 0) continue;
      const keys = keysOf(m);
      expect(keys).toEqual([...keys].sort((a, b) => a - b));
      expect(new Set([...live, ...keys]).size).toBe(new Set(keys).size);
      if (afterScan) expect(keys.length).toBe(live.size + 1);
      expect(run.keys.length).toBe(live.size);
    }
  });
});

function expectSound(m: PageMemory, base: number, g: BlockGeometry): void {
  const found: string[] = [];
  findPageFaults(m, base, g, { checksum: false }, ({ message }) => found.push(message));
  expect(found).toEqual([]);
}

/** Offset number and block of each row's root line pointer, by key. */
function rootsOf(m: PageMemory, size: number): Map<number, string> {
  const roots = new Map<number, string>();
  for (let base = 0; base < m.u8.length; base += size) {
    for (let o = 1; o <= pageMaxOffset(m, base); o++) {
      const lp = linePointer(m, base, o);
      const isRedirect = lpFlags(lp) === LP_REDIRECT;
      if (!isRedirect && lpFlags(lp) !== LP_NORMAL) continue;
      const at = itemPosition(m, base, isRedirect ? lpOffset(lp) : o);
      if (isRedirect || !isHeapOnly(tupleInfomask2(m, at))) roots.set(idAt(m, at), `(${base / size},${o})`);
    }
  }
  return roots;
}

/** `n` of every tuple that nobody has updated, by `id`. */
function liveRows(m: PageMemory, size: number): Map<number, number> {
  const rows: [number, number][] = [];
  for (let base = 0; base < m.u8.length; base += size) {
    for (let o = 1; o <= pageMaxOffset(m, base); o++) {
      if (lpFlags(linePointer(m, base, o)) !== LP_NORMAL) continue;
      const at = itemPosition(m, base, o);
      if (tupleXmax(m, at) === 0) rows.push([idAt(m, at), m.u32[(at + 28) >>> 2] as number]);
    }
  }
  expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
  return new Map(rows.sort(([a], [b]) => a - b));
}

const idAt = (m: PageMemory, at: number): number => m.u32[(at + 24) >>> 2] as number;

const keysOf = (m: PageMemory): number[] =>
  Array.from(
    { length: pageMaxOffset(m, 0) },
    (_, i) => m.u32[(itemPosition(m, 0, i + 1) + INDEX_WIDTH - 8) >>> 2] as number,
  );

describe('a run', () => {
  const g = BlockGeometry.of(8192);
  const heap = (seed: number): Uint8Array => {
    const run = new HeapUpdateRun(g, { width: 40, pages: PAGES, seed, workload: 'updates' });
    for (let i = 0; i < 50; i++) run.transaction();
    return run.memory.u8;
  };
  it('is the same from the same seed', () => {
    expect(Buffer.compare(heap(1), heap(1))).toBe(0);
    expect(Buffer.compare(heap(1), heap(2))).not.toBe(0);
  });
  it('refuses rows of a width that rows cannot have, or whose second version has no room', () => {
    for (const width of [16, 44, Number.NaN]) {
      expect(() => new HeapUpdateRun(g, { width, pages: 1, seed: 1, workload: 'updates' })).toThrow(RangeError);
    }
    const tight = new HeapUpdateRun(BlockGeometry.of(1024), { width: 600, pages: 1, seed: 1, workload: 'updates' });
    expect(() => tight.transaction()).toThrow('no room for another version of row 1, 600 bytes');
  });
});
