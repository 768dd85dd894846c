import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { describe, expect, test } from 'vitest';
import { look, put, stampedPage } from './pages.ts';
import { SparseFork } from './sparse-fork.ts';

const g = BlockGeometry.of('1kB');

function stampedFork(blocks: number): SparseFork {
  const f = new SparseFork(g, blocks);
  for (let b = 0; b < blocks; b++) f.written.set(b, stampedPage(g, b, 100 + b));
  return f;
}

describe('rings', () => {
  test.each(BLOCK_SIZES)('at %i bytes: 256 kB for scans, 16 MB for loads, an eighth of the pool at most', (size) => {
    const geometry = BlockGeometry.of(size);
    const large = new BufferPool({ geometry, buffers: 2 ** 17 });
    expect(large.bulkReadRing().size).toBe(2 ** 18 / size);
    expect(large.bulkWriteRing().size).toBe(Math.min(2 ** 24 / size, 2 ** 14));
    const small = new BufferPool({ geometry, buffers: 16 });
    expect([small.bulkReadRing().size, small.bulkWriteRing().size]).toEqual([2, 2]);
  });

  test('a scan ten times the pool, through a ring, leaves the hot pages in it (I6)', () => {
    const pool = new BufferPool({ geometry: g, buffers: 64 });
    const hot = stampedFork(40);
    for (let b = 0; b < 40; b++) look(pool, hot, b);
    const big = stampedFork(640);
    const ring = pool.bulkReadRing();
    for (let b = 0; b < 640; b++) {
      if ((b & 3) === 0) pool.readAhead(big, b, 4, ring);
      expect(look(pool, big, b, ring)).toBe(100 + b);
    }
    for (let b = 0; b < 40; b++) expect(pool.isResident(hot, b)).toBe(true);
    let resident = 0;
    for (let b = 0; b < 640; b++) if (pool.isResident(big, b)) resident++;
    expect(resident).toBe(ring.size);
  });

  test('without a ring the same scan would have emptied it', () => {
    const pool = new BufferPool({ geometry: g, buffers: 64 });
    const hot = stampedFork(40);
    for (let b = 0; b < 40; b++) look(pool, hot, b);
    const big = stampedFork(640);
    for (let b = 0; b < 640; b++) look(pool, big, b);
    for (let b = 0; b < 40; b++) expect(pool.isResident(hot, b)).toBe(false);
  });

  test('a page of the ring that somebody else pins or uses stays, and the ring takes another buffer', () => {
    const pool = new BufferPool({ geometry: g, buffers: 64 });
    const big = stampedFork(200);
    const ring = pool.bulkReadRing();
    look(pool, big, 0, ring);
    look(pool, big, 1, ring);
    const id = pool.pin(big, 0);
    look(pool, big, 1);
    for (let b = 2; b < 100; b++) look(pool, big, b, ring);
    expect(pool.isResident(big, 0)).toBe(true);
    expect(pool.isResident(big, 1)).toBe(true);
    pool.unpin(id);
  });

  test('scanning again and again through rings does not make a page hot', () => {
    const pool = new BufferPool({ geometry: g, buffers: 64 });
    const f = stampedFork(200);
    const ring = pool.bulkReadRing();
    for (let i = 0; i < 10; i++) look(pool, f, 0, ring);
    for (let b = 1; b <= ring.size; b++) look(pool, f, b, ring);
    expect(pool.isResident(f, 0)).toBe(false);
  });

  test('a load through a ring is written in runs', () => {
    const pool = new BufferPool({ geometry: g, buffers: 512 });
    const f = new SparseFork(g);
    const ring = pool.bulkWriteRing();
    for (let b = 0; b < 640; b++) {
      if ((b & 15) === 0) pool.extend(f, 16, ring);
      put(pool, f, b, b, ring);
    }
    expect(pool.stats.writeRuns).toBeLessThan(40);
    pool.close();
    for (let b = 0; b < 640; b++) expect(f.written.get(b)).toEqual(stampedPage(g, b, b));
  });
});

describe('read-ahead', () => {
  test('one read a run of blocks that are not there; what is there is left', () => {
    const pool = new BufferPool({ geometry: g, buffers: 128 });
    const f = stampedFork(40);
    look(pool, f, 3);
    put(pool, f, 4, 9);
    f.take('');
    pool.readAhead(f, 0, 10);
    expect(f.take('')).toEqual(['read 0+3', 'read 5+5']);
    expect(pool.stats).toMatchObject({ readAheads: 2, reads: 10, misses: 2 });
    expect(Array.from({ length: 10 }, (_, b) => look(pool, f, b))).toEqual([
      100, 101, 102, 103, 9, 105, 106, 107, 108, 109,
    ]);
    expect(f.take('')).toEqual([]);
  });

  test('16 buffers and a read-ahead of 64: cut down, and the scan succeeds (I1)', () => {
    const pool = new BufferPool({ geometry: g, buffers: 16 });
    const f = stampedFork(200);
    for (const ring of [undefined, pool.bulkReadRing()]) {
      for (let b = 0; b < 200; b++) {
        pool.readAhead(f, b, 64, ring);
        expect(look(pool, f, b, ring)).toBe(100 + b);
      }
    }
  });

  test('with all buffers but one pinned it still works, with all pinned it does nothing', () => {
    const pool = new BufferPool({ geometry: g, buffers: 16 });
    const f = stampedFork(200);
    for (let b = 0; b < 15; b++) pool.pin(f, b);
    pool.readAhead(f, 100, 4);
    expect(look(pool, f, 100)).toBe(200);
    pool.pin(f, 15);
    f.take('');
    pool.readAhead(f, 50, 4);
    expect(f.take('read')).toEqual([]);
  });

  test('never beyond the end of the fork, at 2^32 - 2 either', () => {
    const pool = new BufferPool({ geometry: g, buffers: 128 });
    const f = new SparseFork(g, 0xffff_ffff);
    pool.readAhead(f, 0xffff_fffd, 20);
    pool.readAhead(f, 0xffff_ffff, 20);
    pool.readAhead(f, 0x7fff_fffe, 4);
    expect(f.take('read')).toEqual(['read 4294967293+2', 'read 2147483646+4']);
    expect(pool.isResident(f, 0xffff_fffe)).toBe(true);
    expect(pool.isResident(f, 0x8000_0001)).toBe(true);
  });

  test('an invalid page stays out, and the pin that needs it says so; a failing disk likewise', () => {
    const pool = new BufferPool({ geometry: g, buffers: 128 });
    const f = stampedFork(20);
    (f.written.get(5) as Uint8Array)[700] ^= 1;
    pool.readAhead(f, 0, 10);
    expect(pool.isResident(f, 5)).toBe(false);
    expect(pool.isResident(f, 6)).toBe(true);
    expect(() => pool.pin(f, 5)).toThrow(expect.objectContaining({ code: 'XX001' }));
    f.failReads = true;
    pool.readAhead(f, 10, 10);
    expect(() => pool.pin(f, 10)).toThrow(expect.objectContaining({ code: '58030' }));
    f.failReads = false;
    expect(look(pool, f, 10)).toBe(110);
    expect(pool.pinned()).toEqual([]);
  });

  test('buffers that do not lie side by side get the right pages too', () => {
    const pool = new BufferPool({ geometry: g, buffers: 48, chunkBytes: 16 * g.size });
    const hot = stampedFork(48);
    for (let b = 0; b < 48; b++) look(pool, hot, b);
    for (let b = 0; b < 48; b += 3) for (let i = 0; i < 5; i++) look(pool, hot, b);
    const f = stampedFork(100);
    for (let b = 0; b < 96; b += 12) {
      pool.readAhead(f, b, 12);
      for (let i = 0; i < 12; i++) expect(look(pool, f, b + i)).toBe(100 + b + i);
    }
    expect(f.take('read')).toEqual(Array.from({ length: 8 }, (_, i) => `read ${i * 12}+12`));
  });
});
