// What queries through indexes refuse, and what their types allow.
import { Database, initdb, PostgresDatabase, table } from '@blockwright/engine';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postgresCopy } from './directories.ts';

const parts = table('parts', { id: int4(), size: int4().nullable(), name: text() }, { primaryKey: ['id'] });
let db: Database;

beforeEach(() => {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs });
  db.createTable(parts);
  db.createIndexSync(parts, { columns: ['size', 'name'], name: 'parts_size' });
  db.insert(
    parts,
    Array.from({ length: 20 }, (_, id) => ({ id, size: id % 4 === 0 ? null : id % 5, name: `part ${id}` })),
  );
});
afterEach(() => db.close());

describe('what cannot be is refused, naming index and column', () => {
  const columns = ['id'] as const;
  it.each([
    ['a key of another type', () => db.get(parts, 'x'), TypeError, /index "parts_pkey".*"id".*int4/],
    ['null as key', () => db.get(parts, null), TypeError, /index "parts_pkey".*null for column "id"/],
    ['too many values', () => db.get(parts, [1, 2]), RangeError, /1 key column \("id"\), the key has 2 values/],
    [
      'an index that is not unique',
      () => db.get(parts, [1, 'a'], { index: 'parts_size' }),
      TypeError,
      /"parts_size".*not unique/,
    ],
    [
      'too long a prefix',
      () => db.scan(parts, { index: 'parts_size', from: [1, 'a', 2], columns }),
      RangeError,
      /2 key columns \("size", "name"\), "from" has 3/,
    ],
    ['an empty one', () => db.scan(parts, { index: 'parts_size', to: [], columns }), RangeError, /"to" has 0 values/],
    [
      'a bound of another type',
      () => db.scan(parts, { index: 'parts_size', to: 'x', columns }),
      TypeError,
      /"parts_size": "to": column "size"/,
    ],
    [
      'values beside a range',
      () => db.scan(parts, { index: 'parts_size', in: [1], from: 2, columns }),
      TypeError,
      /"in" says/,
    ],
    ['an order', () => db.scan(parts, { index: 'parts_size', order: 'down' as never, columns }), RangeError, /"down"/],
    [
      'a range without an index',
      () => db.scan(parts, { from: 1, columns } as never),
      TypeError,
      /has no option "from"/,
    ],
  ])('%s', (_, call, kind, message) => {
    expect(call).toThrow(kind);
    expect(call).toThrow(message);
  });

  it('an index and a column that there are not, with what was probably meant', () => {
    expect(() => db.scan(parts, { index: 'part_size', columns })).toThrow(
      expect.objectContaining({ code: '42704', hint: 'Perhaps "parts_size" was meant.' }),
    );
    expect(() => db.count(parts, { index: 'nothing' })).toThrow(
      expect.objectContaining({ detail: 'It has "parts_pkey", "parts_size".' }),
    );
    // @ts-expect-error a column that the table has not
    expect(() => db.scan(parts, { index: 'parts_size', columns: ['ids'] })).toThrow('has no column "ids"');
    // @ts-expect-error a value that no column of the table can have
    expect(() => db.get(parts, true)).toThrow(TypeError);
  });
});

describe('a range', () => {
  const sizes = (options: object): unknown[] =>
    [...db.scan(parts, { index: 'parts_size', columns: ['size'], ...options }).rows()].map(({ size }) => size);

  it('takes a prefix of the key, null as a value at its place, and several values in the order of the index', () => {
    expect(sizes({ from: 3, to: 3 })).toEqual([3, 3, 3]);
    expect(sizes({ from: null })).toEqual([null, null, null, null, null]);
    expect(sizes({ from: 4, toExclusive: true, to: null })).toEqual([4, 4, 4]);
    expect(sizes({ in: [null, 0, 4, 4], order: 'desc' })).toEqual([null, null, null, null, null, 4, 4, 4, 0, 0, 0]);
    expect(sizes({ in: [] })).toEqual([]);
    expect(sizes({ from: 4, to: 3 })).toEqual([]);
    expect(sizes({ from: [3, 'part 18'], to: [3, 'part 3'], fromExclusive: true })).toEqual([3]);
  });

  it('gives typed rows of the columns asked for', () => {
    const row = db.get(parts, 3, { columns: ['name'] });
    const name: string | undefined = row?.name;
    expect(name).toBe('part 3');
    // @ts-expect-error it was not asked for
    expect(row?.size).toBeUndefined();
    const first = db
      .scan(parts, { index: 'parts_pkey', columns: ['size'] })
      .rows()
      .next().value;
    const size: number | null | undefined = (first as { size: number | null } | undefined)?.size;
    expect(size).toBeNull();
  });
});

describe('a repeatable read transaction', () => {
  it('does not read by an index that is newer than its snapshot', () => {
    const other = table('other', { id: int4() });
    db.createTable(other);
    using old = db.begin({ isolation: 'repeatable read' });
    expect(old.count(other).rows).toBe(0); // fixes the snapshot, and uses no parts
    db.createIndexSync(parts, { columns: ['name'], name: 'parts_name', unique: true });
    expect(old.get(parts, 3)?.name).toBe('part 3');
    const newer = expect.objectContaining({ code: '40001', message: expect.stringContaining('"parts_name"') });
    expect(() => old.get(parts, 'part 3', { index: 'parts_name' })).toThrow(newer);
    expect(() => old.scan(parts, { index: 'parts_name', columns: ['id'] })).toThrow(newer);
    expect(() => old.count(parts, { index: 'parts_name' })).toThrow(newer);
    expect(() => old.updateByKey(parts, 'part 3', { size: 1 }, { index: 'parts_name' })).toThrow(newer);
    expect(db.get(parts, 'part 3', { index: 'parts_name' })?.id).toBe(3);
    old.rollback();
  });
});

describe("PostgreSQL's indexes", () => {
  it('are listed, and read by the same calls; those of no known order say why they are not', () => {
    using postgres = PostgresDatabase.open('/pg', { vfs: postgresCopy(8192) });
    expect(
      postgres.indexes('churn').map(({ name, isPrimary, method, refusal }) => [name, isPrimary, method, refusal]),
    ).toEqual([
      ['churn_k', false, 'btree', undefined],
      ['churn_pkey', true, 'btree', undefined],
    ]);
    expect(postgres.indexes('words').find(({ name }) => name === 'words_desc')?.columns).toEqual([
      { column: 'n', descending: true, nullsFirst: false },
    ]);
    const churn = postgres.table('churn');
    expect(postgres.get(churn, 5, { columns: ['val'] })).toEqual({ val: '!5+' });
    expect(postgres.find(churn, 7)).toBeUndefined();
    const byName = postgres.indexes('pg_class').find(({ name }) => name === 'pg_class_relname_nsp_index');
    expect(byName?.refusal).toContain('the order of column "relname" is not known');
    expect(() =>
      postgres.scan(postgres.table('pg_class'), { index: 'pg_class_relname_nsp_index', columns: ['oid'] }),
    ).toThrow(expect.objectContaining({ code: '0A000', detail: expect.stringContaining('operator class') }));
  });
});
