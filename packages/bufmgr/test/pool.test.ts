import { type BlockNumber, runSync } from '@blockwright/base';
import { BufferPool, type BufferPoolOptions, MIN_BUFFERS, maxBuffers } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { describe, expect, test } from 'vitest';
import { BufferFrames, MAX_CHUNK_BYTES } from '../src/frames.ts';
import { look, put, stampedPage, stampOf } from './pages.ts';
import { SparseFork } from './sparse-fork.ts';

const g = BlockGeometry.of('8kB');
const makePool = (options: Partial<BufferPoolOptions> = {}): BufferPool =>
  new BufferPool({ geometry: g, buffers: 16, ...options });

/** A fork whose block b carries the number 100 + b. */
function stampedFork(blocks: number): SparseFork {
  const f = new SparseFork(g, blocks);
  for (let b = 0; b < blocks; b++) f.written.set(b, stampedPage(g, b, 100 + b));
  return f;
}

/** Pins so many blocks and returns their buffers. */
function pinAll(pool: BufferPool, f: SparseFork, count: number): number[] {
  return Array.from({ length: count }, (_, b) => pool.pin(f, b));
}

describe('pins', () => {
  test('the first pin reads the page, the next find it', () => {
    const pool = makePool();
    const f = stampedFork(3);
    expect([look(pool, f, 2), look(pool, f, 2), look(pool, f, 0)]).toEqual([102, 102, 100]);
    expect(f.calls).toEqual(['read 2+1', 'read 0+1']);
    expect(pool.stats).toMatchObject({ hits: 1, misses: 2, reads: 2, evictions: 0 });
  });

  test('a pinned buffer says which page it holds', () => {
    const pool = makePool();
    const f = stampedFork(3);
    const id = pool.pin(f, 1);
    expect([pool.block(id), pool.fork(id), pool.memory(id).u8.length]).toEqual([1, f, 16 * g.size]);
    pool.unpin(id);
  });

  test('two forks with the same block numbers do not mix', () => {
    const pool = makePool();
    const a = stampedFork(3);
    const b = new SparseFork(g, 3);
    expect([look(pool, a, 1), look(pool, b, 1), look(pool, a, 1)]).toEqual([101, 0, 101]);
  });

  test.each([0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe])(
    'block %i is read, changed, written and found again',
    (b) => {
      const pool = makePool();
      const f = new SparseFork(g, 0xffff_ffff);
      put(pool, f, b, 7);
      const id = pool.pin(f, b);
      expect(pool.block(id)).toBe(b);
      pool.unpin(id);
      expect(pool.flushAll()).toBe(1);
      expect(f.written.get(b)).toEqual(stampedPage(g, b, 7));
      pool.dropFork(f, b);
      expect(pool.isResident(f, b)).toBe(false);
      expect(look(pool, f, b)).toBe(7);
    },
  );

  test.each([-1, 0xffff_ffff, 0x1_0000_0001, 1.5, Number.NaN])('block %d is refused', (b) => {
    expect(() => makePool().pin(new SparseFork(g, 10), b)).toThrow(RangeError);
  });

  test('when every buffer is pinned, one more is refused at once, and one unpinned is enough (I2)', () => {
    const pool = makePool();
    const f = stampedFork(20);
    const ids = pinAll(pool, f, 16);
    expect(() => pool.pin(f, 16)).toThrow(
      expect.objectContaining({
        code: '53000',
        message: 'no unpinned buffers available for block 16 of base/5/16384',
        hint: expect.stringContaining('more buffers'),
      }),
    );
    expect(look(pool, f, 5)).toBe(105);
    pool.unpin(ids[3]);
    expect(look(pool, f, 16)).toBe(116);
    expect(pool.isResident(f, 3)).toBe(false);
  });

  test('unpinning or marking a buffer that is not pinned is an error of the caller', () => {
    const pool = makePool();
    const id = pool.pin(stampedFork(1), 0);
    pool.unpin(id);
    expect(() => pool.unpin(id)).toThrow('buffer 0 is not pinned');
    expect(() => pool.markDirty(id)).toThrow('buffer 0 is not pinned');
    expect(() => pool.unpin(-1)).toThrow(RangeError);
    expect(() => pool.unpin(999)).toThrow(RangeError);
  });

  test('no pin survives an exception in withPage (I4)', () => {
    const pool = makePool();
    const f = stampedFork(1);
    expect(pool.withPage(f, 0, (m, base) => stampOf(m, base, g))).toBe(100);
    expect(() =>
      pool.withPage(f, 0, () => {
        throw new Error('mine');
      }),
    ).toThrow('mine');
    expect(pool.pinned()).toEqual([]);
  });

  test('a page used often outlives pages used once', () => {
    const pool = makePool();
    const f = stampedFork(200);
    for (let b = 1; b < 200; b++) {
      look(pool, f, 0);
      look(pool, f, b);
    }
    expect(f.calls.filter((call) => call === 'read 0+1')).toHaveLength(1);
  });
});

describe('reading', () => {
  test('an invalid page names fork, block and both checksums, takes no buffer, and can be read when repaired', () => {
    const pool = makePool();
    const f = stampedFork(3);
    const page = f.written.get(2) as Uint8Array;
    page[5000] ^= 1;
    const stored = new Uint16Array(page.buffer)[4];
    expect(() => pool.pin(f, 2)).toThrow(
      expect.objectContaining({
        code: 'XX001',
        message: 'invalid page in block 2 of base/5/16384',
        detail: expect.stringMatching(new RegExp(`the checksum is ${stored} and should be \\d+`)),
        hint: expect.stringContaining('blockwright check'),
      }),
    );
    expect(pool.pinned()).toEqual([]);
    page[5000] ^= 1;
    expect(look(pool, f, 2)).toBe(102);
  });

  test('a page in the wrong place is invalid: the checksum holds the block number', () => {
    const f = stampedFork(3);
    f.written.set(1, stampedPage(g, 2, 102));
    expect(() => makePool().pin(f, 1)).toThrow(expect.objectContaining({ code: 'XX001' }));
  });

  test('without checksums the header alone is judged', () => {
    const pool = makePool({ verifyChecksums: false });
    const f = stampedFork(3);
    (f.written.get(1) as Uint8Array)[5000] ^= 1;
    expect(look(pool, f, 1)).toBe(101);
    (f.written.get(2) as Uint8Array)[13] = 0xff; // pd_lower
    expect(() => pool.pin(f, 2)).toThrow(expect.objectContaining({ code: 'XX001' }));
  });

  test('a failing read leaves every buffer usable', () => {
    const pool = makePool();
    const f = stampedFork(20);
    f.failReads = true;
    for (let i = 0; i < 40; i++) expect(() => pool.pin(f, i & 15)).toThrow(expect.objectContaining({ code: '58030' }));
    f.failReads = false;
    expect(pinAll(pool, f, 16)).toHaveLength(16);
  });

  test('pinZeroOnError gives zeros for a damaged page, counts it, and reports a fork once', () => {
    const warnings: string[] = [];
    const pool = makePool({ onWarning: (message) => warnings.push(message) });
    const f = stampedFork(4);
    for (const b of [1, 2]) (f.written.get(b) as Uint8Array)[5000] ^= 1;
    for (const b of [1, 2, 9]) {
      const id = pool.pinZeroOnError(f, b);
      expect(
        pool
          .memory(id)
          .u8.subarray(pool.base(id), pool.base(id) + g.size)
          .every((byte) => byte === 0),
      ).toBe(true);
      pool.unpin(id);
    }
    const fine = pool.pinZeroOnError(f, 3);
    expect(stampOf(pool.memory(fine), pool.base(fine), g)).toBe(103);
    pool.unpin(fine);
    expect(pool.stats.zeroed).toBe(3);
    expect(warnings).toEqual([expect.stringContaining('invalid page in block 1 of base/5/16384; zeroing out page')]);
    expect(pool.flushAll()).toBe(0);
  });

  test('pinZeroOnError does not hide a failing disk', () => {
    const f = stampedFork(1);
    f.failReads = true;
    expect(() => makePool().pinZeroOnError(f, 0)).toThrow(expect.objectContaining({ code: '58030' }));
  });
});

describe('writing', () => {
  test('dirty pages are written in block order, neighbours in one call, each with its checksum', () => {
    const pool = makePool({ buffers: 64 });
    const a = new SparseFork(g, 50, 'a');
    const b = new SparseFork(g, 50, 'b');
    for (const block of [9, 3, 40, 4, 5, 8]) put(pool, a, block, block);
    put(pool, b, 5, 5);
    look(pool, a, 6);
    a.take('');
    expect(pool.flushAll()).toBe(7);
    expect(a.take('')).toEqual(['write 3+3', 'write 8+2', 'write 40+1']);
    expect(b.take('write')).toEqual(['write 5+1']);
    expect(pool.stats).toMatchObject({ writes: 7, writeRuns: 4 });
    for (const block of [3, 4, 5, 8, 9, 40]) expect(a.written.get(block)).toEqual(stampedPage(g, block, block));
    expect(pool.flushAll()).toBe(0);
  });

  test('block order is that of unsigned numbers', () => {
    const pool = makePool();
    const f = new SparseFork(g, 0xffff_ffff);
    for (const b of [0xffff_fffe, 0x8000_0000, 0, 0x7fff_ffff]) put(pool, f, b, 1);
    f.take('');
    pool.flushFork(f);
    expect(f.take('write')).toEqual(['write 0+1', 'write 2147483647+2', 'write 4294967294+1']);
  });

  test('flushFork leaves other forks alone', () => {
    const pool = makePool();
    const a = new SparseFork(g, 5);
    const b = new SparseFork(g, 5);
    put(pool, a, 1, 1);
    put(pool, b, 1, 1);
    expect(pool.flushFork(b)).toBe(1);
    expect(a.written.size).toBe(0);
  });

  test('without writeChecksums pd_checksum stays as it is', () => {
    const pool = makePool({ writeChecksums: false, verifyChecksums: false });
    const f = new SparseFork(g, 1);
    put(pool, f, 0, 1);
    pool.flushAll();
    expect(new Uint16Array((f.written.get(0) as Uint8Array).buffer)[4]).toBe(0);
  });

  test('a page that cannot be written keeps its changes and its buffer', () => {
    const pool = makePool();
    const f = new SparseFork(g, 40);
    for (let b = 0; b < 16; b++) put(pool, f, b, b + 1);
    f.failWrites = true;
    expect(() => pool.pin(f, 20)).toThrow(expect.objectContaining({ code: '53100' }));
    expect(() => pool.flushAll()).toThrow(expect.objectContaining({ code: '53100' }));
    f.failWrites = false;
    expect(pool.flushAll()).toBe(16);
    for (let b = 0; b < 16; b++) expect(look(pool, f, b)).toBe(b + 1);
  });

  test('an evicted dirty page takes its cold dirty neighbours along', () => {
    const pool = makePool();
    const f = new SparseFork(g, 40);
    for (let b = 0; b < 16; b++) put(pool, f, b, b + 1);
    for (let i = 0; i < 4; i++) look(pool, f, 4); // not cold
    f.take('');
    look(pool, f, 30);
    expect(f.take('write')).toEqual(['write 0+4']);
  });

  test('flushing in steps says how far it is, and copes with pages that went meanwhile', () => {
    const pool = makePool();
    const f = new SparseFork(g, 40);
    for (const b of [0, 2, 4, 6]) put(pool, f, b, b);
    const steps = pool.flushSteps();
    expect(steps.next().value).toEqual({ phase: 'writing', done: 1, total: 4, unit: 'blocks' });
    pool.dropFork(f, 4);
    expect(runSync(steps)).toBe(2);
    expect([...f.written.keys()]).toEqual([0, 2]);
  });
});

describe('extending', () => {
  test('new pages are zero, in the pool, and dirty', () => {
    const pool = makePool({ buffers: 64 });
    const f = new SparseFork(g, 7);
    expect(pool.extend(f, 3)).toBe(7);
    expect(f.calls).toEqual(['extend 7+3']);
    expect([7, 8, 9].map((b) => look(pool, f, b))).toEqual([0, 0, 0]);
    expect(pool.stats).toMatchObject({ extends: 3, reads: 0, hits: 3 });
    expect(pool.flushAll()).toBe(3);
  });

  test('more than the pool takes at once: the rest is in the file', () => {
    const pool = makePool();
    const f = new SparseFork(g);
    pool.extend(f, 100);
    expect(f.blocks).toBe(100);
    expect(look(pool, f, 99)).toBe(0);
  });

  test('a full disk or a full pool changes nothing', () => {
    const pool = makePool();
    const f = stampedFork(16);
    f.failExtends = true;
    for (let i = 0; i < 20; i++) {
      expect(() => pool.extend(f, 2)).toThrow(expect.objectContaining({ code: '53100' }));
    }
    f.failExtends = false;
    pinAll(pool, f, 16);
    expect(() => pool.extend(f, 1)).toThrow(expect.objectContaining({ code: '53000' }));
    expect(f.blocks).toBe(16);
  });

  test('up to the last block number and not beyond', () => {
    const pool = makePool();
    const f = new SparseFork(g, 0xffff_fffd);
    expect(() => pool.extend(f, 3)).toThrow(expect.objectContaining({ code: '54000' }));
    expect(pool.extend(f, 2)).toBe(0xffff_fffd);
    expect(() => pool.extend(f, 1)).toThrow(expect.objectContaining({ code: '54000' }));
    for (const count of [0, -1, 1.5, Number.NaN]) expect(() => pool.extend(f, count)).toThrow(RangeError);
  });

  test('a page of the pool beyond the end is damage, not overwritten', () => {
    const pool = makePool();
    const f = stampedFork(5);
    look(pool, f, 4);
    f.truncate(4);
    expect(() => pool.extend(f, 1)).toThrow(expect.objectContaining({ code: 'XX001' }));
    expect(f.blocks).toBe(4);
  });
});

describe('dropping', () => {
  test('a file dropped and its number reused: nothing old is written into the new one (I7)', () => {
    const pool = makePool();
    const old = new SparseFork(g, 10, 'base/5/16400');
    for (let b = 0; b < 10; b++) put(pool, old, b, 1000 + b);
    pool.dropFork(old);
    const fresh = new SparseFork(g, 10, 'base/5/16400');
    for (let b = 0; b < 10; b++) expect(look(pool, fresh, b)).toBe(0);
    pool.flushAll();
    expect([old.written.size, fresh.written.size]).toEqual([0, 0]);
  });

  test('a pinned page stops it before anything is dropped', () => {
    const pool = makePool();
    const f = stampedFork(5);
    look(pool, f, 1);
    const id = pool.pin(f, 3);
    expect(() => pool.dropFork(f)).toThrow(
      expect.objectContaining({ code: '55006', detail: 'Pinned: block 3 of base/5/16384 (1).' }),
    );
    expect(pool.isResident(f, 1)).toBe(true);
    pool.dropFork(f, 4);
    pool.unpin(id);
    pool.dropFork(f);
    expect(pool.isResident(f, 1)).toBe(false);
  });
});

describe('closing', () => {
  test('writes what is dirty; a second time nothing', () => {
    const pool = makePool();
    const f = new SparseFork(g, 3);
    put(pool, f, 1, 5);
    pool.close();
    pool.close();
    expect(f.take('write')).toEqual(['write 1+1']);
    expect(() => pool.pin(f, 1)).toThrow('the buffer pool is closed');
    expect(() => pool.extend(f, 1)).toThrow('the buffer pool is closed');
    expect(() => pool.readAhead(f, 0, 1)).toThrow('the buffer pool is closed');
  });

  test('with a live pin says which; the pool is closed all the same, and the late unpin is quiet (L8)', () => {
    const pool = makePool();
    const f = stampedFork(9);
    const id = pool.pin(f, 7);
    pool.pin(f, 7);
    pool.pin(f, 8);
    expect(() => pool.close()).toThrow(
      expect.objectContaining({
        code: '55006',
        message: 'the buffer pool was closed while 2 pages are pinned',
        detail: 'Pinned: block 7 of base/5/16384 (2), block 8 of base/5/16384 (1).',
      }),
    );
    pool.close();
    pool.unpin(id);
  });

  test('a failing write leaves it open', () => {
    const pool = makePool();
    const f = new SparseFork(g, 3);
    put(pool, f, 1, 5);
    f.failWrites = true;
    expect(() => pool.close()).toThrow(expect.objectContaining({ code: '53100' }));
    f.failWrites = false;
    pool.close();
    expect(f.written.size).toBe(1);
  });

  test('abandon writes nothing', () => {
    const pool = makePool();
    const f = new SparseFork(g, 3);
    put(pool, f, 1, 5);
    pool.abandon();
    pool.close();
    expect(f.written.size).toBe(0);
  });
});

describe('size', () => {
  test.each([0, 15, 16.5, -16, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 40])('%d buffers are refused', (buffers) => {
    expect(() => makePool({ buffers })).toThrow(RangeError);
  });

  test.each(BLOCK_SIZES)(
    'the most that this machine can hold at %i bytes costs nothing until used; one more is refused',
    (size) => {
      const geometry = BlockGeometry.of(size);
      const most = maxBuffers(geometry);
      expect(() => new BufferPool({ geometry, buffers: most + 1 })).toThrow(`from ${MIN_BUFFERS} to ${most}`);
      const pool = new BufferPool({ geometry, buffers: most });
      const f = new SparseFork(geometry, 10);
      put(pool, f, 3, 1);
      pool.close();
      expect(f.written.size).toBe(1);
    },
  );

  test.each(BLOCK_SIZES)('no buffer of %i bytes has a negative base, whatever the pool (L10)', (size) => {
    const geometry = BlockGeometry.of(size);
    const frames = new BufferFrames(geometry, 16, MAX_CHUNK_BYTES);
    const perChunk = MAX_CHUNK_BYTES / size;
    for (const chunk of [0, 1, 2, 3, 4, 7]) {
      expect(frames.base(chunk * perChunk)).toBe(0);
      expect(frames.base((chunk + 1) * perChunk - 1)).toBe(MAX_CHUNK_BYTES - size);
    }
  });

  test('pages in several chunks keep to themselves', () => {
    const pool = makePool({ buffers: 50, chunkBytes: 16 * g.size });
    const f = new SparseFork(g, 100);
    for (let b = 0; b < 50; b++) put(pool, f, b, b);
    const ids = pinAll(pool, f, 50);
    expect(new Set(ids.map((id) => pool.memory(id))).size).toBe(4);
    ids.forEach((id, b) => {
      expect(stampOf(pool.memory(id), pool.base(id), g)).toBe(b);
      pool.unpin(id);
    });
  });

  test('a misspelt option names the right one, a bad chunk is refused', () => {
    expect(() => makePool({ verifyChecksum: true } as object)).toThrow('did you mean "verifyChecksums"?');
    for (const chunkBytes of [0, 8 * g.size, 17 * g.size, 2 ** 31, 1.5]) {
      expect(() => makePool({ chunkBytes })).toThrow(RangeError);
    }
  });
});

describe('debugPoison', () => {
  test('an unpinned page reads as 0x5A, and comes back whole', () => {
    const pool = makePool({ debugPoison: true });
    const f = stampedFork(2);
    const id = pool.pin(f, 1 as BlockNumber);
    const page = pool.memory(id).u8.subarray(pool.base(id), pool.base(id) + g.size);
    const before = page.slice();
    pool.unpin(id);
    expect(page.every((byte) => byte === 0x5a)).toBe(true);
    expect(look(pool, f, 1)).toBe(101);
    pool.pin(f, 1);
    expect(page).toEqual(before);
  });

  test('a write after the unpin is found out', () => {
    const pool = makePool({ debugPoison: true });
    const f = stampedFork(2);
    const id = pool.pin(f, 1);
    pool.unpin(id);
    pool.memory(id).u8[pool.base(id) + 77] = 0;
    expect(() => pool.pin(f, 1)).toThrow('block 1 of base/5/16384 was written at byte 77 after its last unpin');
  });
});
