import { StorageError } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageFlags, pageLower, pageMemory, pageSizeWord, pageSpecial, pageUpper } from '@blockwright/page';
import {
  VISIBILITYMAP_ALL_FROZEN,
  VISIBILITYMAP_ALL_VISIBLE,
  VISIBILITYMAP_VALID_BITS,
  VisibilityMap,
} from '@blockwright/visibilitymap';
import { describe, expect, test } from 'vitest';
import { countFrozen, countVisible } from '../src/format.ts';
import { MemoryFork } from './memory-fork.ts';

const g = BlockGeometry.of('1kB');
const WINDOW = g.heapBlocksPerVmPage;

interface Made {
  readonly map: VisibilityMap;
  readonly fork: MemoryFork;
  readonly pool: BufferPool;
  readonly warnings: string[];
}

function make(fork: MemoryFork = new MemoryFork(g)): Made {
  const warnings: string[] = [];
  const pool = new BufferPool({ geometry: g, buffers: 16, onWarning: (message) => warnings.push(message) });
  return { map: new VisibilityMap({ pool, fork }), fork, pool, warnings };
}

/** A map file of so many pages on which every block has both bits. */
function fullMap(pages: number): MemoryFork {
  const { map, fork, pool } = make();
  for (let b = 0; b < pages * WINDOW; b++) map.set(b, VISIBILITYMAP_VALID_BITS);
  pool.close();
  const bytes = new Uint8Array(pages * g.size);
  for (const [b, page] of fork.pages) bytes.set(page, b * g.size);
  return new MemoryFork(g, bytes);
}

describe('the format', () => {
  test.each(BLOCK_SIZES)('of a page of %i bytes: a header, and two bits a block from byte 24 on', (size) => {
    const geometry = BlockGeometry.of(size);
    const fork = new MemoryFork(geometry);
    const pool = new BufferPool({ geometry, buffers: 16 });
    const map = new VisibilityMap({ pool, fork });
    map.set(0, 1);
    map.set(3, 3);
    map.set(6, 3);
    map.set(geometry.heapBlocksPerVmPage - 1, 1);
    pool.close();
    const m = pageMemory((fork.pages.get(0) as Uint8Array).buffer);
    expect([pageLower(m, 0), pageUpper(m, 0), pageSpecial(m, 0), pageFlags(m, 0)]).toEqual([24, size, size, 0]);
    expect(pageSizeWord(m, 0)).toBe(size | 4);
    const bits = [...m.u8.entries()].filter(([at, byte]) => at >= 24 && byte !== 0);
    expect(bits).toEqual([
      [24, 0b11_00_00_01],
      [25, 0b00_11_00_00],
      [size - 1, 0b01_00_00_00],
    ]);
  });

  test('the counts are those of a loop over the bits', () => {
    const m = pageMemory(new ArrayBuffer(4096));
    let seed = 12345;
    for (let i = 0; i < 1024; i++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      m.u32[i] = i < 4 ? [0, 0xffff_ffff, 0x5555_5555, 0xaaaa_aaaa][i] : seed;
    }
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
      [0, 1024],
      [7, 7],
    ]) {
      let visible = 0;
      let frozen = 0;
      for (let i = from * 16; i < to * 16; i++) {
        const status = (m.u8[i >> 2] >> ((i & 3) * 2)) & 3;
        visible += status & 1;
        frozen += status >> 1;
      }
      expect([countVisible(m, from, to), countFrozen(m, from, to)]).toEqual([visible, frozen]);
    }
  });
});

describe('changes', () => {
  test('only bits that make sense: all-frozen never without all-visible', () => {
    const { map } = make();
    for (const bits of [0, VISIBILITYMAP_ALL_FROZEN, 4, 7, Number.NaN]) {
      expect(() => map.set(1, bits)).toThrow(RangeError);
    }
    for (const bits of [0, VISIBILITYMAP_ALL_VISIBLE, 4, 7]) expect(() => map.clear(1, bits)).toThrow(RangeError);
  });

  test('setting what is set, or clearing what is clear, makes nothing dirty', () => {
    const { map, pool } = make(fullMap(1));
    map.set(5, 3);
    map.set(5, 1);
    expect(pool.flushAll()).toBe(0);
    expect(map.clear(5, 3)).toBe(true);
    expect(map.clear(5, 3)).toBe(false);
    expect(pool.flushAll()).toBe(1);
  });

  test('clearing a bit on a map page that does not exist, or in a map that does not: nothing happens (C9)', () => {
    const { map, fork } = make();
    expect(map.clear(7, 3)).toBe(false);
    expect([map.status(7), fork.exists()]).toEqual([0, false]);
    map.set(0, 1);
    expect(map.clear(WINDOW, 3)).toBe(false);
    expect(fork.blocks).toBe(1);
  });

  test('an old and a new row on blocks of two map pages, and of one: both bits cleared (C9)', () => {
    for (const [a, b] of [
      [WINDOW - 1, WINDOW],
      [0, 1],
      [WINDOW, WINDOW + 1],
    ]) {
      const { map } = make(fullMap(2));
      expect([map.clear(a, 3), map.clear(b, 3)]).toEqual([true, true]);
      expect(map.count()).toEqual({ allVisible: 2 * WINDOW - 2, allFrozen: 2 * WINDOW - 2 });
      expect([map.status(a), map.status(b)]).toEqual([0, 0]);
    }
  });

  test('pages between the end and the one that is set are new, and mean nothing is visible', () => {
    const { map, fork, pool } = make();
    map.set(3 * WINDOW + 1, 1);
    pool.flushAll();
    expect(fork.blocks).toBe(4);
    expect(map.count()).toEqual({ allVisible: 1, allFrozen: 0 });
    expect(fork.pages.get(1)?.some((byte) => byte !== 0) ?? false).toBe(false);
    map.set(WINDOW, 3);
    pool.flushAll();
    expect(pageLower(pageMemory((fork.pages.get(1) as Uint8Array).buffer), 0)).toBe(24);
  });
});

describe('truncation', () => {
  test.each([0, 1, 2, 3, 4, 5, WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + 6, 2 * WINDOW - 1])(
    'to %i heap blocks leaves no stale bit, also when the heap grows again (C9)',
    (heapBlocks) => {
      const { map, fork } = make(fullMap(2));
      map.truncate(heapBlocks);
      expect(fork.blocks).toBe(heapBlocks === 0 ? 0 : heapBlocks <= WINDOW ? 1 : 2);
      map.set(2 * WINDOW - 1, 1);
      for (let b = 0; b < 2 * WINDOW - 1; b++) expect(map.status(b)).toBe(b < heapBlocks ? 3 : 0);
    },
  );

  test('a map that is short enough stays', () => {
    const { map, fork, pool } = make(fullMap(1));
    map.truncate(WINDOW);
    map.truncate(10 * WINDOW + 3);
    expect(fork.blocks).toBe(1);
    expect(pool.flushAll()).toBe(0);
    make().map.truncate(0);
  });

  test('a cursor on a page that goes is an error, and the file stays', () => {
    const { map, fork } = make(fullMap(2));
    const cursor = map.cursor();
    expect(cursor.status(WINDOW)).toBe(3);
    expect(() => map.truncate(5)).toThrow(expect.objectContaining({ code: '55006' }));
    expect(fork.blocks).toBe(2);
    cursor.close();
    map.truncate(5);
    expect(fork.blocks).toBe(1);
  });
});

describe('the cursor', () => {
  test('asks the pool once a window, whatever the order within it', () => {
    const { map, pool } = make(fullMap(3));
    const cursor = map.cursor();
    for (let b = 0; b < 3 * WINDOW; b++) expect(cursor.status(b)).toBe(3);
    for (let b = 3 * WINDOW - 1; b >= 2 * WINDOW; b--) expect(cursor.status(b)).toBe(3);
    expect(pool.stats.hits + pool.stats.misses).toBe(3);
    expect(pool.pinned()).toHaveLength(1);
    cursor.close();
    expect(pool.pinned()).toEqual([]);
    expect(() => cursor.status(0)).toThrow('the visibility cursor is closed');
  });

  test('beyond the end of the map: 0, without reading, counted', () => {
    const { map, fork, pool } = make(fullMap(1));
    const cursor = map.cursor();
    for (const b of [WINDOW, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe]) expect(cursor.status(b)).toBe(0);
    expect([fork.reads, pool.stats.zeroed, map.stats.missingPages]).toEqual([0, 0, 4]);
    expect(cursor.status(0)).toBe(3);
    cursor.close();
  });

  test('sees what is set and cleared under it, and pages that the map gains and loses', () => {
    const { map } = make();
    const cursor = map.cursor();
    expect(cursor.status(WINDOW + 5)).toBe(0);
    map.set(WINDOW + 5, 1);
    expect(cursor.status(WINDOW + 5)).toBe(1);
    map.set(WINDOW + 5, 3);
    expect(cursor.status(WINDOW + 5)).toBe(3);
    map.clear(WINDOW + 5, 3);
    expect(cursor.status(WINDOW + 5)).toBe(0);
    map.set(0, 1);
    expect(cursor.status(0)).toBe(1);
    map.truncate(WINDOW);
    expect(cursor.status(WINDOW + 5)).toBe(0);
    cursor.close();
  });
});

describe('damage', () => {
  test('a corrupt page reads as 0, is counted, and reported once; setting a bit makes it a page again', () => {
    const fork = fullMap(3);
    for (const b of [0, 1]) (fork.pages.get(b) as Uint8Array)[500] ^= 0x10;
    const { map, pool, warnings } = make(fork);
    const cursor = map.cursor();
    expect([cursor.status(7), cursor.status(WINDOW + 7), cursor.status(2 * WINDOW)]).toEqual([0, 0, 3]);
    cursor.close();
    expect(pool.stats.zeroed).toBe(2);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('block 0 of base/5/16384_vm');
    expect(map.count()).toEqual({ allVisible: WINDOW, allFrozen: WINDOW });
    expect(map.clear(7, 3)).toBe(false);
    expect(pool.flushAll()).toBe(0);
    map.set(7, 3);
    pool.close();
    const again = make(fork);
    expect([again.map.status(7), again.map.status(8), again.warnings]).toEqual([3, 0, []]);
  });

  test('a map whose files have a hole: what is there is read, what is not reads as 0', () => {
    const { map, fork, warnings, pool } = make(fullMap(1));
    fork.hole = new StorageError('58P01', 'segment 1 is missing');
    expect([map.status(3), map.status(WINDOW)]).toEqual([3, 0]);
    const cursor = map.cursor();
    expect([cursor.status(3), cursor.status(5 * WINDOW)]).toEqual([3, 0]);
    cursor.close();
    expect([warnings.length, pool.stats.zeroed]).toEqual([1, 2]);
    expect(map.clear(3, 3)).toBe(true);
    for (const b of [WINDOW, 7 * WINDOW]) expect(() => map.set(b, 3)).toThrow('segment 1 is missing');
    expect(pool.pinned()).toEqual([]);
    fork.hole = new StorageError('58030', 'the disk fails');
    expect(() => map.status(7 * WINDOW)).toThrow('the disk fails');
    pool.close();
    expect(fork.blocks).toBe(1);
  });
});
