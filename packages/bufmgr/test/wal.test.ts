// WAL before data, at every way in which a page gets to its file; pages that are pinned unread.
import { fromWords, highWord, lowWord, StorageError } from '@blockwright/base';
import { BufferPool, type BufferRing, type WalFlusher } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageLsnHigh, pageLsnLow, pageMemory, pageSetLsn } from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { look, put, stampedPage, stampOf } from './pages.ts';
import { SparseFork } from './sparse-fork.ts';

const g = BlockGeometry.of('8kB');

/** A WAL that is only its positions. */
class Positions implements WalFlusher {
  insertedUpTo = 0;
  flushedUpTo = 0;
  readonly flushes: number[] = [];
  failure: unknown = undefined;

  flush(upTo: number): void {
    if (this.failure !== undefined) throw this.failure;
    if (upTo > this.insertedUpTo) throw new Error(`flush up to ${upTo}, beyond ${this.insertedUpTo}`);
    this.flushes.push(upTo);
    if (upTo > this.flushedUpTo) this.flushedUpTo = upTo;
  }
}

/** A fork that looks at the LSN of each page that it is given. */
class OrderedFork extends SparseFork {
  readonly wal: Positions;
  readonly geometry: BlockGeometry;
  tooEarly = 0;

  constructor(geometry: BlockGeometry, blocks: number, wal: Positions) {
    super(geometry, blocks);
    this.geometry = geometry;
    this.wal = wal;
  }

  override write(first: number, count: number, src: Uint8Array, at: number): void {
    const m = pageMemory(src.buffer);
    for (let i = 0; i < count; i++) {
      const base = src.byteOffset + at + i * this.geometry.size;
      if (fromWords(pageLsnHigh(m, base), pageLsnLow(m, base)) > this.wal.flushedUpTo) this.tooEarly++;
    }
    super.write(first, count, src, at);
  }
}

function setLsn(pool: BufferPool, f: SparseFork, b: number, lsn: number, ring?: BufferRing): void {
  const id = pool.pin(f, b, ring);
  pageSetLsn(pool.memory(id), pool.base(id), highWord(lsn), lowWord(lsn));
  pool.markDirty(id);
  pool.unpin(id);
}

function made(options: { blocks?: number; wal?: Positions; geometry?: BlockGeometry } = {}) {
  const { blocks = 40, wal = new Positions(), geometry = g } = options;
  const f = new OrderedFork(geometry, blocks, wal);
  const pool = new BufferPool({ geometry, buffers: 16, wal });
  return { wal, f, pool };
}

describe('WAL before data', () => {
  test.each(BLOCK_SIZES)('whatever writes a page of %i bytes: victims, rings, flushes, close', (size) => {
    const geometry = BlockGeometry.of(size);
    const step = fc.record({
      block: fc.nat({ max: 39 }),
      logged: fc.boolean(),
      ring: fc.boolean(),
      flush: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 120 }), (steps) => {
        const { wal, f, pool } = made({ geometry });
        wal.insertedUpTo = 2 ** 32 - 2000; // positions pass from one word into two
        const ring = pool.bulkWriteRing();
        for (const { block, logged, ring: inRing, flush } of steps) {
          put(pool, f, block, 1, inRing ? ring : undefined);
          if (logged) {
            wal.insertedUpTo += 100;
            setLsn(pool, f, block, wal.insertedUpTo);
          }
          if (flush === 0) pool.flushAll();
          if (flush === 1) pool.flushFork(f);
          expect(f.tooEarly).toBe(0);
        }
        const runs = f.calls.filter((call) => call.startsWith('write')).length;
        expect(wal.flushes.length).toBeLessThanOrEqual(runs);
        pool.close();
        expect(f.tooEarly).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  test('a run of pages asks once, for the largest LSN among them', () => {
    const { wal, f, pool } = made();
    wal.insertedUpTo = 1000;
    for (const [b, lsn] of [300, 900, 500].entries()) {
      put(pool, f, b, 1);
      setLsn(pool, f, b, lsn);
    }
    expect([pool.flushAll(), wal.flushes, f.take('write')]).toEqual([3, [900], ['write 0+3']]);
  });

  test('pages without an LSN ask for nothing: those of unlogged relations', () => {
    const { wal, f, pool } = made();
    wal.failure = new Error('not to be asked');
    put(pool, f, 3, 7);
    expect(pool.flushAll()).toBe(1);
  });

  test('when the WAL cannot be flushed, the page is not written and stays dirty', () => {
    const { wal, f, pool } = made();
    wal.insertedUpTo = 500;
    wal.failure = new StorageError('53100', 'disk full');
    put(pool, f, 0, 7);
    setLsn(pool, f, 0, 500);
    expect(() => pool.flushAll()).toThrow(expect.objectContaining({ code: '53100' }));
    for (let b = 1; b < 16; b++) expect([look(pool, f, b), look(pool, f, b)]).toEqual([0, 0]);
    // The hand comes to the dirty page, which cannot go; then to another.
    expect(() => look(pool, f, 20)).toThrow(expect.objectContaining({ code: '53100' }));
    expect(look(pool, f, 20)).toBe(0);
    expect(f.take('write')).toEqual([]);
    wal.failure = undefined;
    expect(look(pool, f, 0)).toBe(7);
    expect(pool.flushAll()).toBe(1);
    expect(f.written.has(0)).toBe(true);
  });

  test.each([
    [0xffff_ffff, 0xffff_fffe, 'FFFFFFFF/FFFFFFFE'],
    [0, 1001, '0/3E9'],
    [1, 0, '1/0'],
  ])('L11: LSN %i, %i beyond the end is named and not written, and the WAL stays where it is', (high, low, text) => {
    const { wal, f, pool } = made();
    wal.insertedUpTo = 1000;
    put(pool, f, 0, 1);
    put(pool, f, 7, 1);
    put(pool, f, 8, 1);
    const id = pool.pin(f, 8);
    pageSetLsn(pool.memory(id), pool.base(id), high, low);
    pool.unpin(id);
    const refusal = expect.objectContaining({
      code: 'XX001',
      message: `block 8 of base/5/16384 has LSN ${text}, which the WAL has not reached`,
      detail: 'The WAL ends at 0/3E8. The page was not written.',
    });
    expect(() => pool.flushAll()).toThrow(refusal);
    // Its neighbour was written all the same, and it is still dirty.
    expect(f.take('write')).toEqual(['write 0+1', 'write 7+1']);
    expect(() => pool.flushFork(f)).toThrow(refusal);
    expect([wal.flushedUpTo, wal.insertedUpTo, f.written.has(8)]).toEqual([0, 1000, false]);
  });

  test('a large scan that sets hints takes other buffers rather than wait for the WAL; a load waits', () => {
    for (const [kind, waits] of [
      ['bulkReadRing', false],
      ['bulkWriteRing', true],
    ] as const) {
      const wal = new Positions();
      const f = new OrderedFork(g, 200, wal);
      const pool = new BufferPool({ geometry: g, buffers: 160, wal });
      const ring = pool[kind]();
      for (let b = 0; b < 120; b++) {
        put(pool, f, b, 1, ring);
        wal.insertedUpTo += 100;
        setLsn(pool, f, b, wal.insertedUpTo, ring);
      }
      expect([wal.flushes.length > 0, f.tooEarly]).toEqual([waits, 0]);
      wal.flush(wal.insertedUpTo);
      for (let b = 120; b < 200; b++) look(pool, f, b, ring);
      expect(f.take('write').length).toBeGreaterThan(0); // what is durable in the WAL goes out again
    }
  });

  test('a victim is not held back by a neighbour from the future', () => {
    const { wal, f, pool } = made();
    wal.insertedUpTo = 1000;
    put(pool, f, 0, 1);
    put(pool, f, 1, 1);
    setLsn(pool, f, 1, 2000);
    for (let b = 10; b < 24; b++) look(pool, f, b);
    look(pool, f, 30);
    expect(f.take('write')).toEqual(['write 0+1']);
  });

  test('without a WAL no LSN is looked at, and one can be given later', () => {
    const f = new SparseFork(g, 4);
    const pool = new BufferPool({ geometry: g, buffers: 16 });
    put(pool, f, 0, 1);
    setLsn(pool, f, 0, 5000);
    expect([pool.wal, pool.flushAll()]).toEqual([undefined, 1]);
    const wal = new Positions();
    pool.wal = wal;
    setLsn(pool, f, 0, 5000);
    expect(() => pool.flushAll()).toThrow(expect.objectContaining({ code: 'XX001' }));
    wal.insertedUpTo = 5000;
    expect([pool.flushAll(), wal.flushes]).toEqual([1, [5000]]);
  });
});

describe('a page pinned unread', () => {
  test.each([false, true])('is zero, was not read, and is not dirty by itself (debugPoison %s)', (debugPoison) => {
    const f = new SparseFork(g, 3);
    f.written.set(1, stampedPage(g, 1, 77));
    const pool = new BufferPool({ geometry: g, buffers: 16, debugPoison });
    f.failReads = true;
    const id = pool.pinZeroed(f, 1);
    const page = pool.memory(id).u8.subarray(pool.base(id), pool.base(id) + g.size);
    expect(page.every((byte) => byte === 0)).toBe(true);
    expect([pool.block(id), pool.fork(id), pool.pinCount(id), pool.isDirty(id)]).toEqual([1, f, 1, false]);
    pool.markDirty(id);
    expect(pool.isDirty(id)).toBe(true);
    pool.unpin(id);
    expect([pool.flushAll(), f.calls]).toEqual([1, ['write 1+1']]);
    pool.close();
  });

  test('one that is in the pool becomes zero, and keeps its other pins', () => {
    const f = new SparseFork(g, 3);
    const pool = new BufferPool({ geometry: g, buffers: 16, debugPoison: true });
    put(pool, f, 2, 9);
    const before = pool.pin(f, 2);
    const id = pool.pinZeroed(f, 2);
    expect([id, pool.pinCount(id), stampOf(pool.memory(id), pool.base(id), g)]).toEqual([before, 2, 0]);
    pool.unpin(id);
    pool.unpin(id);
    const other = pool.pinZeroed(f, 2);
    expect([other, pool.pinCount(id), pool.isDirty(id)]).toEqual([before, 1, true]);
    pool.unpin(id);
    pool.close();
  });

  test('takes the buffer of a dirty page after that was written, and is refused when all are pinned', () => {
    const f = new SparseFork(g, 40);
    const pool = new BufferPool({ geometry: g, buffers: 16 });
    for (let b = 0; b < 16; b++) put(pool, f, b, b + 1);
    for (let b = 16; b < 32; b++) expect(pool.pinCount(pool.pinZeroed(f, b))).toBe(1);
    expect(f.written.size).toBe(16);
    expect(() => pool.pinZeroed(f, 33)).toThrow(expect.objectContaining({ code: '53000' }));
    for (const b of [-1, 0xffff_ffff, 0.5]) expect(() => pool.pinZeroed(f, b)).toThrow(RangeError);
  });

  test.each([0x7fff_ffff, 0x8000_0000, 0xffff_fffe])('block %i', (b) => {
    const f = new SparseFork(g, 0xffff_ffff);
    const pool = new BufferPool({ geometry: g, buffers: 16 });
    const id = pool.pinZeroed(f, b);
    expect([pool.block(id), pool.isResident(f, b)]).toEqual([b, true]);
    pool.unpin(id);
  });
});
