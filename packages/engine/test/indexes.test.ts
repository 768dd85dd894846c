// Indexes within transactions: made with their tables and by themselves, kept by every write, gone with what they are of.
import { isStorageError } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { int4, int8, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { Database, initdb, type LoadBatch, table } from '../src/index.ts';
import { checkIndexes, crashed } from './indexed-tables.ts';

const parts = table(
  'parts',
  { id: int8(), size: int4(), name: text().nullable() },
  { fillfactor: 80, primaryKey: ['id'], unique: [{ columns: ['name', 'size'], include: ['id'], deduplicate: false }] },
);

let vfs: MemoryVfs;

function directory(blockSize: BlockSize = 8192): void {
  vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, blockSize, walSegmentSize: '1MB' });
}

beforeEach(() => directory());

const open = (): Database => Database.open('/data', { vfs });
const row = (id: number) => ({ id: BigInt(id), size: id % 10, name: id % 7 === 0 ? null : `part ${id}` });
const rows = (count: number, from = 0) => Array.from({ length: count }, (_, i) => row(from + i));
const batch = (from: number, count: number): LoadBatch => {
  const ids = Int32Array.from({ length: count }, (_, i) => from + i);
  return {
    length: count,
    columns: [
      { kind: 'int', values: ids, nulls: new Uint8Array(count) },
      { kind: 'int', values: ids.map((id) => id % 10), nulls: new Uint8Array(count) },
    ],
  } as unknown as LoadBatch;
};
const numbers = table('numbers', { id: int4(), size: int4() }, { primaryKey: ['id'] });
/** Files of tables and indexes that hold anything. */
const files = (): string[] =>
  vfs
    .readdir('/data/base/5')
    .filter((name) => /^\d+$/.test(name) && Number(name) >= 16384 && (vfs.stat(`/data/base/5/${name}`)?.size ?? 0) > 0);

function refusal(call: () => unknown): { code: string; message: string; detail: string | undefined } {
  try {
    call();
  } catch (error) {
    if (!isStorageError(error)) throw error;
    return { code: error.code, message: error.message, detail: error.detail };
  }
  throw new Error('nothing was refused');
}

describe('a table with keys', () => {
  it('has an index for each, named as PostgreSQL names them, and its definition says so again', () => {
    let db = open();
    db.createTable(parts);
    db.close();
    db = open();
    expect(db.indexes('parts')).toMatchObject([
      { name: 'parts_pkey', columns: [{ column: 'id' }], include: [], isUnique: true, isPrimary: true, levels: 0 },
      {
        name: 'parts_name_size_id_key',
        columns: [{ column: 'name' }, { column: 'size', descending: false, nullsFirst: false }],
        include: ['id'],
        isUnique: true,
        isPrimary: false,
        deduplicate: false,
        fillfactor: 90,
      },
    ]);
    expect(db.table('parts')).toMatchObject({
      primaryKey: { columns: ['id'], name: 'parts_pkey' },
      unique: [{ columns: ['name', 'size'], include: ['id'], deduplicate: false }],
    });
    expect(db.tables().find(({ name }) => name === 'parts')?.indexes).toEqual(db.indexes(parts));
    db.close();
  });

  it('refuses a key twice, by whoever and whenever it was taken, as long as it is', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(10));
    expect(refusal(() => db.insert(parts, [row(20), row(7)]))).toEqual({
      code: '23505',
      message: 'duplicate key value violates unique constraint "parts_pkey"',
      detail: 'Key (id)=(7) already exists.',
    });
    expect(db.count(parts).rows).toBe(10);
    const dark = (id: number) => ({ id: BigInt(id), size: 1, name: 'part 1' });
    expect(refusal(() => db.insert(parts, [dark(30)])).detail).toBe('Key (name, size)=(part 1, 1) already exists.');
    // Nulls are different from each other.
    db.insert(parts, [
      { id: 40n, size: 1, name: null },
      { id: 41n, size: 1, name: null },
    ]);

    const tx = db.begin();
    tx.insert(parts, [row(50)]);
    const failed = refusal(() => db.insert(parts, [row(50)]));
    expect(failed.code).toBe('55P03');
    expect(refusal(() => tx.insert(parts, [row(50)])).code).toBe('23505'); // its own
    expect(refusal(() => tx.insert(parts, [row(60)])).code).toBe('25P02');
    tx.rollback();
    db.insert(parts, [row(50)]);

    const deleting = db.begin();
    deleting.deleteByKey(parts, 50n);
    expect(refusal(() => db.insert(parts, [row(50)])).code).toBe('55P03'); // it may come back
    deleting.insert(parts, [row(50)]); // and is free for who has deleted it
    deleting.commit();
    expect(refusal(() => db.insert(parts, [row(50)])).code).toBe('23505');
    db.deleteByKey(parts, 50n);
    db.insert(parts, [row(50)]);
    checkIndexes(db, parts);
    db.close();
  });

  it('that cannot be is refused when it is declared', () => {
    const columns = { a: int4(), b: int4().nullable() };
    expect(() => table('t', columns, { primaryKey: ['b'] })).toThrow(/column "b" is nullable, and in the primary key/);
    expect(() => table('t', columns, { primaryKey: [] })).toThrow(/has no columns/);
    expect(() => table('t', columns, { unique: [['a', 'a']] })).toThrow(/has column "a" twice/);
    expect(() => table('t', columns, { unique: [{ columns: ['a'], fillfactor: 9 }] })).toThrow(/fillfactor 9/);
    expect(() => table('t', columns, { unique: [['c' as 'a']] })).toThrow(/no column "c"/);
    expect(() => table('t', columns, { unique: ['a'] as never })).toThrow(/not a list of keys/);
    expect(() => table('t', columns, { primaryKey: { columns: ['a'], includ: ['b'] } as never })).toThrow(/include/);
  });
});

describe('an update', () => {
  it('is HOT when no indexed column changes, and adds no entry', () => {
    const db = open();
    const plain = table(
      'plain',
      { id: int4(), a: int4(), b: text(), c: text().nullable() },
      { fillfactor: 50, primaryKey: ['id'], unique: [['a']] },
    );
    db.createTable(plain);
    db.createIndexSync(plain, { columns: ['c'], include: ['b'] });
    db.insert(plain, [{ id: 1, a: 1, b: 'x', c: null }]);
    const update = (changes: Partial<{ id: number; a: number; b: string; c: string | null }>): boolean =>
      db.transaction((tx) => {
        const { block, offset } = tx.find(plain, changes.id ?? 1) ?? tx.find(plain, 1) ?? { block: 0, offset: 1 };
        expect(tx.update(plain, block, offset, changes)).toBe(true);
        return tx.lastWasHot;
      });
    expect(update({ id: 1, a: 1, b: 'x', c: null })).toBe(true);
    expect(update({ b: 'y' })).toBe(false); // only carried along, and an entry has it
    expect(update({ c: 'z' })).toBe(false);
    expect(update({ c: 'z' })).toBe(true);
    expect(update({ c: null })).toBe(false);
    expect(update({ a: 2 })).toBe(false);
    expect(update({ id: 2 })).toBe(false);
    expect(db.get(plain, 1)).toBeUndefined();
    expect(db.get(plain, 2)).toEqual({ id: 2, a: 2, b: 'y', c: null });
    checkIndexes(db, plain);
    db.close();
  });

  it('of another column leaves the key to those who hold it for share; of a unique key it does not', () => {
    const db = open();
    db.createTable(parts);
    db.createIndexSync(parts, { columns: ['size'], name: 'by_size' });
    db.insert(parts, [row(7)]);
    const holder = db.begin();
    const tid = holder.find(parts, 7n) ?? { block: 0, offset: 0 };
    expect(holder.lock(parts, tid.block, tid.offset, 'key share')).toBe(true);
    expect(refusal(() => db.updateByKey(parts, 7n, { id: 8n })).code).toBe('55P03');
    expect(refusal(() => db.updateByKey(parts, 7n, { size: 1 })).code).toBe('55P03'); // in a unique key, too
    holder.commit();
    expect(db.updateByKey(parts, 7n, { size: 1 })).toBe(true);
    checkIndexes(db, parts);
    db.close();
  });

  it('by a key gets the row as it is now, whatever the function that changes it does meanwhile', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(50));
    for (const key of ['size', 'name'] as const) {
      const seen: unknown[] = [];
      const tx = db.begin();
      const isUpdated = tx.updateByKey(parts, 7n, (part) => {
        seen.push(part.size);
        for (let id = 20n; id < 25n; id++) tx.get(parts, id); // the same index, asked for others
        // Another one commits first, at the first call: on the page, or with new entries.
        if (seen.length === 1) db.updateByKey(parts, 7n, key === 'size' ? { size: 70 } : { size: 71, name: 'seven' });
        return { size: part.size + 1 };
      });
      expect(isUpdated).toBe(true);
      tx.commit();
      expect(seen).toEqual(key === 'size' ? [7, 70] : [71, 71]);
      expect(db.get(parts, 7n)?.size).toBe(key === 'size' ? 71 : 72);
      checkIndexes(db, parts);
    }
    expect(db.get(parts, 20n)).toEqual(row(20));
    db.close();
  });
});

describe('an index that is created', () => {
  it('has the rows that are there, and gets those that come', async () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(900));
    for (let id = 0; id < 900; id += 3) db.updateByKey(parts, BigInt(id), { size: id }); // HOT chains for by_name
    for (let id = 1; id < 900; id += 9) db.deleteByKey(parts, BigInt(id));
    const phases = new Set<string>();
    const made = await db.createIndex(
      parts,
      { columns: [{ column: 'size', descending: true }, 'name'], include: ['id'] },
      { onProgress: ({ phase }) => phases.add(phase) },
    );
    expect(made).toMatchObject({
      name: 'parts_size_name_id_idx',
      columns: [
        { column: 'size', descending: true, nullsFirst: true },
        { column: 'name', descending: false, nullsFirst: false },
      ],
      include: ['id'],
      isUnique: false,
    });
    checkIndexes(db, parts);
    db.insert(parts, rows(200, 3000));
    db.createIndexSync(parts, { columns: ['size', 'name'], include: ['id'] });
    expect(db.indexes(parts).map(({ name }) => name)).toContain('parts_size_name_id_idx1');
    checkIndexes(db, parts);
    db.close();
    vfs = crashed(vfs);
    const again = open();
    checkIndexes(again, parts);
    again.close();
  });

  it('is its transaction’s alone until that commits, and gone when it does not', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(100));
    const before = files();
    const tx = db.begin();
    tx.createIndexSync(parts, { columns: ['size'] });
    tx.insert(parts, rows(100, 100));
    expect(tx.indexes(parts)).toHaveLength(3);
    expect(db.indexes(parts)).toHaveLength(2);
    expect(refusal(() => db.insert(parts, [row(300)])).code).toBe('55P03');
    expect(refusal(() => db.createTable(table('parts_size_idx', { a: int4() }))).code).toBe('55P03');
    tx.rollback();
    expect(files()).toEqual(before);
    expect(db.indexes(parts)).toHaveLength(2);
    db.insert(parts, [row(300)]);
    checkIndexes(db, parts);

    db.transaction((tx) => {
      tx.savepoint();
      tx.createIndexSync(parts, { columns: ['size'] });
      tx.insert(parts, [row(301)]);
      tx.rollbackTo();
      tx.insert(parts, [row(301)]);
      tx.createIndexSync(parts, { columns: ['size'], name: 'second' });
    });
    expect(db.indexes(parts).map(({ name }) => name)).toEqual(['parts_pkey', 'parts_name_size_id_key', 'second']);
    checkIndexes(db, parts);
    db.close();
  });

  it('needs a name, columns and rows that fit, and a table that nobody uses', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(20));
    db.insert(parts, [{ id: 100n, size: 3, name: 'x'.repeat(3) }]);
    const code = (options: object): string => refusal(() => db.createIndexSync(parts, options as never)).code;
    expect(code({ columns: ['size'], name: 'parts' })).toBe('42P07');
    expect(code({ columns: ['size'], name: 'parts_pkey' })).toBe('42P07');
    expect(code({ columns: ['sise'] })).toBe('42703');
    expect(refusal(() => db.createIndexSync(parts, { columns: ['size'], unique: true }))).toMatchObject({
      code: '23505',
      detail: expect.stringMatching(/^Key \(size\)=\(\d+\) is duplicated\.$/),
    });
    expect(() => db.createIndexSync(parts, { columns: [] })).toThrow(RangeError);
    expect(() => db.createIndexSync(parts, { colums: ['id'] } as never)).toThrow(/columns/);
    expect(refusal(() => db.createIndexSync(db.table('bw_class'), { columns: ['relname'] })).code).toBe('42501');
    expect(refusal(() => db.createTable(table('parts_pkey', { a: int4() })))).toMatchObject({
      code: '42P07',
      message: 'index "parts_pkey" already exists',
    });
    const reader = db.begin();
    reader.count(parts);
    expect(code({ columns: ['size'] })).toBe('55006');
    expect(refusal(() => db.dropIndex('parts_pkey')).code).toBe('55006');
    reader.commit();
    expect(db.indexes(parts)).toHaveLength(2);
    checkIndexes(db, parts);
    db.close();
  });

  it('in repeatable read is refused where its snapshot would miss rows', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(20));
    const old = db.begin({ isolation: 'repeatable read' });
    expect(old.tables().length).toBeGreaterThan(0);
    old.count(db.table('bw_class')); // the snapshot
    db.updateByKey(parts, 3n, (row) => ({ ...row }));
    expect(refusal(() => old.createIndexSync(parts, { columns: ['size'] })).code).toBe('40001');
    old.rollback();
    const fresh = db.begin({ isolation: 'repeatable read' });
    fresh.createIndexSync(parts, { columns: ['size'] });
    fresh.commit();
    checkIndexes(db, parts);
    db.close();
  });
});

describe('an index that is dropped', () => {
  it('is back when its transaction is rolled back, and its file goes at the commit', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(50));
    const before = files();
    const tx = db.begin();
    tx.dropIndex('parts_pkey');
    expect(tx.insert(parts, [{ id: 1n, size: 77, name: 'another' }])).toBe(1);
    tx.rollback();
    expect(refusal(() => db.insert(parts, [{ id: 1n, size: 77, name: 'another' }])).code).toBe('23505');
    expect(files()).toEqual(before);
    db.dropIndex('parts_pkey');
    expect(files()).toHaveLength(before.length - 1);
    expect(db.insert(parts, [{ id: 1n, size: 77, name: 'another' }])).toBe(1);
    expect(refusal(() => db.dropIndex('parts_pkey'))).toMatchObject({ code: '42704' });
    expect(refusal(() => db.dropIndex('bw_class_oid_index'))).toMatchObject({ code: '42501' });
    db.dropTable('parts');
    expect(files()).toEqual([]);
    db.close();
  });
});

describe('a load', () => {
  it.each([true, false])('with freeze: %s fills the indexes', (freeze) => {
    const db = open();
    db.createTable(numbers);
    db.createIndexSync(numbers, { columns: ['size'] });
    expect(db.loadSync(numbers, [batch(0, 2000), batch(2000, 3000)], { freeze })).toBe(5000);
    checkIndexes(db, numbers);
    expect(db.get(numbers, 4321)).toEqual({ id: 4321, size: 1 });
    expect(refusal(() => db.loadSync(numbers, [batch(4999, 10)], { freeze: false })).code).toBe('23505');
    db.insert(numbers, [{ id: -1, size: 5 }]);
    checkIndexes(db, numbers);
    vfs = crashed(vfs);
    const again = open();
    expect(again.count(numbers).rows).toBe(5001);
    checkIndexes(again, numbers);
    again.close();
  });

  it('in the transaction that made the table, and over an empty one that was there', () => {
    const db = open();
    db.transaction((tx) => {
      tx.createTable(numbers);
      tx.loadSync(numbers, [batch(0, 500)]);
      tx.insert(numbers, [{ id: 1000, size: 1 }]);
    });
    checkIndexes(db, numbers);
    vfs = crashed(vfs);
    const again = open();
    checkIndexes(again, numbers);
    expect(again.count(numbers).rows).toBe(501);
    const [before] = again.indexes(numbers);
    again.dropTable(numbers);
    again.createTable(numbers);
    expect(refusal(() => again.loadSync(numbers, [batch(0, 500), batch(499, 1)])).code).toBe('23505');
    expect(again.count(numbers).rows).toBe(0);
    again.insert(numbers, [{ id: 1, size: 1 }]);
    checkIndexes(again, numbers);
    expect(again.indexes(numbers)[0].path).not.toBe(before.path);
    again.close();
  });
});

describe.each(BLOCK_SIZES)('at %i bytes', (blockSize) => {
  it('a crash between transactions loses no entry, one within takes all of them back', () => {
    directory(blockSize);
    let db = open();
    db.createTable(parts);
    db.createIndexSync(parts, { columns: ['size'] });
    db.insert(parts, rows(600));
    db.checkpoint();
    for (let id = 0; id < 600; id += 5) db.updateByKey(parts, BigInt(id), { name: `renamed ${id}` });
    for (let id = 3; id < 600; id += 11) db.deleteByKey(parts, BigInt(id));
    const seen = db.count(parts).rows;
    const tx = db.begin();
    tx.insert(parts, rows(300, 1000));
    tx.deleteByKey(parts, 4n);
    vfs = crashed(vfs);
    db = open();
    expect(db.recovery).toBeDefined();
    expect(db.count(parts).rows).toBe(seen);
    checkIndexes(db, parts);
    expect(db.get(parts, 5n)).toEqual({ id: 5n, size: 5, name: 'renamed 5' });
    expect(db.get(parts, 4n)).toEqual(row(4));
    expect(db.get(parts, 3n)).toBeUndefined();
    expect(db.insert(parts, rows(300, 1000))).toBe(300);
    checkIndexes(db, parts);
    db.close();
  });

  it('an unlogged table’s indexes are empty after a crash, and whole after a shutdown', () => {
    directory(blockSize);
    const hasty = table('hasty', { id: int4(), size: int4() }, { unlogged: true, primaryKey: ['id'] });
    let db = open();
    db.createTable(hasty);
    db.insert(
      hasty,
      [...Array(300).keys()].map((id) => ({ id, size: id })),
    );
    db.createIndexSync(hasty, { columns: ['size'] });
    db.close();
    db = open();
    checkIndexes(db, hasty);
    expect(db.get(hasty, 299)).toEqual({ id: 299, size: 299 });
    db.checkpoint();
    vfs = crashed(vfs);
    db = open();
    expect(db.count(hasty).rows).toBe(0);
    expect(db.get(hasty, 299)).toBeUndefined();
    db.insert(hasty, [{ id: 299, size: 1 }]);
    checkIndexes(db, hasty);
    db.close();
  });
});
