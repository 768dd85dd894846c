// What statements say of wrong arguments and of failures: which table, which row, which cause.
import { isStorageError, StorageError } from '@blockwright/base';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database, initdb, type Tid, table } from '../src/index.ts';

const notes = table('notes', { id: int4(), note: text() });
let db: Database;
let tids: Tid[];

beforeEach(() => {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs });
  db.createTable(notes);
  tids = [];
  db.insert(
    notes,
    [0, 1, 2].map((id) => ({ id, note: 'x' })),
    { tids },
  );
});
afterEach(() => db.close());

function errorOf(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}
const codeOf = (call: () => unknown): string => (errorOf(call) as StorageError).code;

describe('a wrong value', () => {
  const good = { id: 9, note: 'y' };
  it.each([
    ['of another type', { id: 'nine', note: 'y' }, TypeError, /"id"/],
    ['out of range', { id: 2 ** 40, note: 'y' }, StorageError, /"id"/],
    ['of no column', { id: 9, note: 'y', nots: 1 }, TypeError, /"nots".*did you mean "note"/],
  ])('%s is of the same class, and says which row of which table it is in', (_, bad, kind, what) => {
    const error = errorOf(() => db.insert(notes, [good, good, bad as never]));
    expect(error.constructor).toBe(kind);
    expect(error.message).toMatch(/^table "notes", rows\[2\]: /);
    expect(error.message).toMatch(what);
    expect(db.count(notes).rows).toBe(3);
  });

  it('that the storage refuses says so, too', () => {
    expect(errorOf(() => db.insert(notes, [good, { id: 1, note: null as never }]))).toMatchObject({
      code: '23502',
      message: expect.stringMatching(/"notes", rows\[1\]: .*"note"/),
    });
  });

  it('of an update names the table; what the caller throws is passed on as it is', () => {
    const [{ block, offset }] = tids;
    const error = errorOf(() => db.update(notes, block, offset, { id: 'nine' as never }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/^table "notes": .*"id"/);
    const own = new TypeError('mine');
    expect(
      errorOf(() =>
        db.update(notes, block, offset, () => {
          throw own;
        }),
      ),
    ).toBe(own);
    const rows = function* () {
      yield good;
      throw own;
    };
    expect(errorOf(() => db.insert(notes, rows()))).toBe(own);
  });
});

describe('a TID', () => {
  it.each([
    [0.5, 1],
    [-1, 1],
    [Number.NaN, 1],
    [0xffff_ffff, 1],
    [2 ** 33, 1],
    ['0' as never, 1],
    [0, 0],
    [0, 1.5],
    [0, -1],
    [0, 70_000],
    [0, Number.NaN],
  ])('(%s, %s) is none: a RangeError that names the table', (block, offset) => {
    for (const call of [
      () => db.fetch(notes, block, offset),
      () => db.update(notes, block, offset, { id: 1 }),
      () => db.delete(notes, block, offset),
      () => db.transaction((tx) => tx.lock(notes, block, offset)),
      () => db.transaction((tx) => tx.fetch(notes, block, offset)),
    ]) {
      const error = errorOf(call);
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toContain('table "notes"');
    }
    expect(db.count(notes).rows).toBe(3);
  });

  it('where nothing stands is no mistake', () => {
    expect(db.fetch(notes, 0xffff_fffe, 1)).toBeUndefined();
    expect(db.delete(notes, 0, 65_535)).toBe(false);
  });

  it('that was asked for is named with that of the version which is held, where they differ', () => {
    const [{ block, offset }] = tids;
    db.update(notes, block, offset, { note: 'later' });
    const holder = db.begin();
    holder.lock(notes, block, offset);
    const held = errorOf(() => db.update(notes, block, offset, { note: 'z' })) as StorageError;
    expect(held).toMatchObject({ code: '55P03', message: expect.stringMatching(/"notes", block 0, offset 4/) });
    expect(held.detail).toContain('block 0, offset 1');
    holder.lock(notes, tids[1].block, tids[1].offset);
    const plain = errorOf(() => db.delete(notes, tids[1].block, tids[1].offset)) as StorageError;
    expect(plain.message).toContain('block 0, offset 2');
    expect(plain.detail).not.toContain('offset 2');
    holder.rollback();
  });
});

describe('a transaction that has failed', () => {
  it('keeps saying why', () => {
    const why = { detail: expect.stringContaining('"note"'), cause: expect.objectContaining({ code: '23502' }) };
    const tx = db.begin();
    expect(
      codeOf(() =>
        tx.insert(notes, [
          { id: 1, note: 'a' },
          { id: 2, note: null as never },
        ]),
      ),
    ).toBe('23502');
    expect(errorOf(() => tx.count(notes))).toMatchObject({ code: '25P02', ...why });
    expect(errorOf(() => tx.commit())).toMatchObject({ code: '25P02', ...why });
    expect(tx.isOpen).toBe(false);
  });
});

describe('while a statement runs', () => {
  it('its function cannot roll back half of it, nor commit it', () => {
    const tx = db.begin();
    tx.savepoint();
    for (const call of [
      () => tx.savepoint(),
      () => tx.savepoint(() => 0),
      () => tx.rollbackTo(1),
      () => tx.releaseSavepoint(1),
      () => tx.commit(),
    ]) {
      const rows = function* () {
        yield { id: 7, note: 'a' };
        expect(codeOf(call)).toBe('55006');
        yield { id: 8, note: 'b' };
      };
      expect(tx.insert(notes, rows())).toBe(2);
      expect(tx.update(notes, tids[0].block, tids[0].offset, () => ({ id: codeOf(call) === '55006' ? 0 : 1 }))).toBe(
        true,
      );
    }
    expect(tx.count(notes).rows).toBe(13);
    tx.rollbackTo(1);
    expect(tx.count(notes).rows).toBe(3);
    tx.commit();
  });

  it('a rollback ends both', () => {
    const tx = db.begin();
    const rows = function* () {
      yield { id: 7, note: 'a' };
      tx.rollback();
      yield { id: 8, note: 'b' };
    };
    const error = errorOf(() => tx.insert(notes, rows()));
    expect(isStorageError(error) && error.code).toBe('25P01');
    expect(db.count(notes).rows).toBe(3);
  });
});
