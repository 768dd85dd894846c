// Our catalogs: they describe themselves, remember what was added, and say so when they contradict each other.
import { BLOCK_SIZES } from '@blockwright/geometry';
import {
  bool,
  bytea,
  type ColumnDefinition,
  type ColumnType,
  char,
  date,
  float4,
  float8,
  int2,
  int4,
  int8,
  numeric,
  TupleDescriptor,
  text,
  timestamptz,
  uuid,
  varchar,
} from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BW_ATTRIBUTE,
  BW_CLASS,
  BW_INDEX,
  CATALOG_INDEXES,
  CATALOG_TABLES,
  Catalog,
  FIRST_NORMAL_OID,
  type IndexShape,
  indexDescriptor,
  type TableShape,
} from '../src/index.ts';
import { type CatalogBench, catalogBench } from './bench.ts';

const TYPES: readonly ColumnType[] = [
  bool(), int2(), int4(), int8(), float4(), float8(), numeric(), numeric(15, 2), numeric(3, -2), date(), timestamptz(),
  char(1), char(25), varchar(), varchar(44), text(), bytea(), uuid(),
] as ColumnType[]; // biome-ignore format: a list

const column = fc.record({
  name: fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }).map((s) => s.replaceAll('\0', '0')),
  type: fc
    .tuple(fc.constantFrom(...TYPES), fc.boolean())
    .map(([type, nullable]) => (nullable ? type.nullable() : type)),
});
const columns = fc.uniqueArray(column, { selector: ({ name }) => name, maxLength: 30 });
const tables = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, maxLength: 30 }),
    columns,
    persistence: fc.constantFrom('p' as const, 'u' as const),
    fillfactor: fc.integer({ min: 10, max: 100 }),
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);

function shapeAt(
  oid: number,
  {
    columns,
    ...table
  }: { name: string; columns: readonly ColumnDefinition[]; persistence: 'p' | 'u'; fillfactor: number },
): TableShape {
  return { ...table, oid, relfilenode: oid, descriptor: TupleDescriptor.of(columns) };
}

const shape = (descriptor: TupleDescriptor) =>
  descriptor.columns.map(({ name, type }) => [name, type.oid, type.typmod, type.isNullable]);
const shapes = (catalog: Catalog) =>
  catalog.entries().map(({ descriptor, indexes, ...entry }) => ({
    ...entry,
    columns: shape(descriptor),
    indexes: indexes.map(({ descriptor, ...index }) => ({ ...index, columns: index.columns, of: shape(descriptor) })),
  }));

describe.each(BLOCK_SIZES)('catalogs of %i-byte blocks', (size) => {
  it('describe themselves', () => {
    const { open, bootstrap } = catalogBench(size);
    const made = bootstrap();
    const read = Catalog.read(open);
    expect(shapes(read)).toEqual(shapes(made));
    expect(read.entries().map(({ name }) => name)).toEqual(['bw_attribute', 'bw_class', 'bw_index']);
    for (const { name, oid, descriptor } of CATALOG_TABLES) {
      expect(read.find(name)).toMatchObject({ oid, relfilenode: oid });
      expect(shape(read.find(name)?.descriptor as TupleDescriptor)).toEqual(shape(descriptor));
      expect(oid).toBeLessThan(FIRST_NORMAL_OID);
    }
  });

  it('remember every table with its columns, in any order of reading', () => {
    fc.assert(
      fc.property(tables, (added) => {
        const bench = catalogBench(size);
        const { open, transactions } = bench;
        const catalog = bench.bootstrap();
        const tx = transactions.begin();
        added.forEach((table, i) => {
          catalog.put(bench.writer.add(tx, shapeAt(FIRST_NORMAL_OID + i, table)));
          expect(catalog.find(table.name)).toMatchObject({ name: table.name, fillfactor: table.fillfactor });
        });
        const before = transactions.snapshot();
        tx.commit();
        expect(Catalog.read(open, before).entries()).toHaveLength(CATALOG_TABLES.length);
        before.release();
        const now = transactions.snapshot();
        const read = Catalog.read(open, now);
        now.release();
        expect(shapes(read)).toEqual(shapes(catalog));
        expect(read.entries()).toHaveLength(CATALOG_TABLES.length + added.length);
        for (const table of added) {
          expect(shape(read.find(table.name)?.descriptor as TupleDescriptor)).toEqual(
            shape(TupleDescriptor.of(table.columns)),
          );
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe('a catalog', () => {
  it('follows what transactions do, and forgets what they take back', () => {
    const { open, bootstrap, transactions, writer } = catalogBench(8192);
    const catalog = bootstrap();
    const readNow = () => {
      const snapshot = transactions.snapshot();
      try {
        return Catalog.read(open, snapshot);
      } finally {
        snapshot.release();
      }
    };
    const table = (name: string, oid: number): TableShape =>
      shapeAt(oid, { name, columns: [{ name: 'a', type: int4() }], persistence: 'p', fillfactor: 85 });
    const first = transactions.begin();
    const part = writer.add(first, table('part', 20000));
    const gone = writer.add(first, table('gone', 20001));
    first.commit();
    catalog.put(part);
    catalog.put(gone);
    expect(shapes(readNow())).toEqual(shapes(catalog));
    expect(catalog.find('Part')).toBeUndefined();

    const undone = transactions.begin();
    writer.drop(undone, part);
    writer.add(undone, table('never', 20002));
    undone.nextCommand();
    writer.moveTo(undone, gone, { table: 20003, indexes: [] });
    undone.abort();
    expect(shapes(readNow())).toEqual(shapes(catalog));

    const second = transactions.begin();
    const moved = writer.moveTo(second, part, { table: 20004, indexes: [] });
    second.nextCommand();
    const twice = writer.moveTo(second, moved, { table: 20005, indexes: [] });
    writer.drop(second, gone);
    second.commit();
    catalog.put(twice);
    catalog.remove('gone');
    expect(catalog.find('part')).toMatchObject({ oid: 20000, relfilenode: 20005, attributeRows: part.attributeRows });
    expect(shapes(readNow())).toEqual(shapes(catalog));

    const third = transactions.begin();
    expect(() => writer.drop(third, part)).toThrow(expect.objectContaining({ code: 'XX000' })); // its row has moved on
    third.abort();
  });

  const damages: readonly (readonly [what: string, damage: (bench: CatalogBench) => void, message: RegExp])[] = [
    [
      'fewer columns in bw_attribute than bw_class says',
      ({ insert }) => insert(BW_CLASS, [20000, 't', 'r', 20000, 1, 'p', null]),
      /table "t" has 1 columns in bw_class and 0 in bw_attribute/,
    ],
    [
      'more columns',
      ({ insert }) => {
        insert(BW_CLASS, [20000, 't', 'r', 20000, 0, 'p', null]);
        insert(BW_ATTRIBUTE, [20000, 1, 'a', 23, -1, true]);
      },
      /table "t" has 0 columns in bw_class and 1 in bw_attribute/,
    ],
    ...(
      [
        ['a type that does not exist', [[20000, 1, 'a', 4711, -1, true]], /column 1 .* type 4711/],
        ['a modifier that does not', [[20000, 1, 'a', 1700, 0x7fff_ffff, true]], /column 1 .* type 1700/],
        ['a column without the one before', [[20000, 2, 'a', 23, -1, true]], /column 1 .* has number 2/],
        [
          'a column number twice',
          [
            [20000, 1, 'a', 23, -1, true],
            [20000, 1, 'b', 23, -1, true],
          ],
          /column 2 .* has number 1/,
        ],
        [
          'a column name twice',
          [
            [20000, 1, 'a', 23, -1, true],
            [20000, 2, 'a', 23, -1, true],
          ],
          /column 2 .* name "a"/,
        ],
      ] as const
    ).map(
      ([what, attributes, message]) =>
        [
          what,
          ({ insert }: CatalogBench) => {
            insert(BW_CLASS, [20000, 't', 'r', 20000, attributes.length, 'p', null]);
            for (const values of attributes) insert(BW_ATTRIBUTE, values);
          },
          message,
        ] as const,
    ),
    ...(
      [
        ['a persistence that there is not', ['x', null], /relpersistence "x"/],
        ['a fillfactor that cannot be', ['p', 'fillfactor=9'], /reloptions "fillfactor=9"/],
        ['an option that nobody knows', ['p', 'autovacuum=off'], /reloptions "autovacuum=off"/],
      ] as const
    ).map(
      ([what, end, message]) =>
        [what, ({ insert }: CatalogBench) => insert(BW_CLASS, [20000, 't', 'r', 20000, 0, ...end]), message] as const,
    ),
    ...(
      [
        ['a name twice', [20001, 't', 'r', 20001, 0, 'p', null]],
        ['an object id twice', [20000, 'u', 'r', 20001, 0, 'p', null]],
        ['a file number twice', [20001, 'u', 'r', 20000, 0, 'p', null]],
      ] as const
    ).map(
      ([what, values]) =>
        [
          what,
          ({ insert }: CatalogBench) => {
            insert(BW_CLASS, [20000, 't', 'r', 20000, 0, 'p', null]);
            insert(BW_CLASS, values);
          },
          /is there twice in bw_class/,
        ] as const,
    ),
  ];

  const TABLE = [20000, 't', 'r', 20000, 2, 'p', null];
  const INDEX = [20001, 'i', 'i', 20001, 2, 'p', null];
  const INDEX_ROW = [20001, 20000, 2, 1, true, false, true, '2 1', '3'];
  /** Table t (a int4, b text) with an index on b, descending, that carries a; each row may be another. */
  function indexed(bench: CatalogBench, other: { index?: unknown[]; row?: unknown[]; type?: number } = {}): void {
    const { insert } = bench;
    insert(BW_CLASS, TABLE);
    insert(BW_ATTRIBUTE, [20000, 1, 'a', 23, -1, true]);
    insert(BW_ATTRIBUTE, [20000, 2, 'b', 25, -1, false]);
    insert(BW_CLASS, other.index ?? INDEX);
    insert(BW_ATTRIBUTE, [20001, 1, 'b', other.type ?? 25, -1, false]);
    insert(BW_ATTRIBUTE, [20001, 2, 'a', 23, -1, true]);
    if (other.row?.length !== 0) insert(BW_INDEX, other.row ?? INDEX_ROW);
  }
  const changed = (values: readonly unknown[], at: number, value: unknown): unknown[] => values.with(at, value);

  it('knows the indexes of a table, in the order of their numbers, with what is special about them', () => {
    const bench = catalogBench(8192);
    bench.bootstrap();
    indexed(bench, { index: changed(INDEX, 6, 'fillfactor=70,deduplicate_items=off') });
    const catalog = Catalog.read(bench.open);
    expect(catalog.find('t')?.indexes).toMatchObject([
      {
        oid: 20001,
        name: 'i',
        relfilenode: 20001,
        table: 20000,
        columns: [1, 0],
        keys: [{ descending: true, nullsFirst: true }],
        isUnique: true,
        isPrimary: true,
        nullsNotDistinct: false,
        fillfactor: 70,
        deduplicate: false,
      },
    ]);
    expect(catalog.findIndex('i')?.table.name).toBe('t');
    expect(catalog.find('i')).toBeUndefined();
    expect(catalog.findIndex('t')).toBeUndefined();
    catalog.remove('t');
    expect(catalog.findIndex('i')).toBeUndefined();
  });

  const indexDamages: readonly (readonly [what: string, other: Parameters<typeof indexed>[1], message: RegExp])[] = [
    ['no row of bw_index', { row: [] }, /index "i" is in bw_class and not in bw_index/],
    ['another table', { row: changed(INDEX_ROW, 1, 4711) }, /index "i" is of table 4711, which is not there/],
    ['a row of bw_index alone', { row: changed(INDEX_ROW, 0, 4711) }, /index "i" is in bw_class and not in bw_index/],
    ['other counts of columns', { row: changed(INDEX_ROW, 2, 1) }, /index "i" has 2, 1, 2, 2 columns/],
    ['a column that there is not', { row: changed(INDEX_ROW, 7, '3 1') }, /indkey "3 1" in bw_index, beyond/],
    ['column numbers that are none', { row: changed(INDEX_ROW, 7, '2,1') }, /index "i" has 2, 2, 0, 2 columns/],
    ['column 0', { row: changed(INDEX_ROW, 7, '0 1') }, /indkey "0 1" in bw_index, beyond/],
    ['more key columns than columns', { row: changed(INDEX_ROW, 3, 3) }, /indnkeyatts 3 and indoption "3"/],
    ['an order that there is not', { row: changed(INDEX_ROW, 8, '4') }, /indoption "4"/],
    ['a type of its own', { type: 1043 }, /the columns of index "i" in bw_attribute are not those of table "t"/],
    ['a persistence of its own', { index: changed(INDEX, 5, 'u') }, /relpersistence "u" and its table "p"/],
    ['a fillfactor that cannot be', { index: changed(INDEX, 6, 'fillfactor=9') }, /index "i" has reloptions/],
    ['an option that nobody knows', { index: changed(INDEX, 6, 'fastupdate=off') }, /index "i" has reloptions/],
    ['the name of its table', { index: changed(INDEX, 1, 't') }, /index "t" is there twice in bw_class/],
    ['a kind that there is not', { index: changed(INDEX, 2, 'S') }, /"i" has relkind "S"/],
  ];

  it.each(indexDamages)('with an index that has %s is damaged', (_, other, message) => {
    const bench = catalogBench(8192);
    bench.bootstrap();
    indexed(bench, other);
    expect(() => Catalog.read(bench.open)).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringMatching(message) }),
    );
  });

  it('follows indexes that come and go, and their files', () => {
    const { open, bootstrap, transactions, writer } = catalogBench(1024);
    const catalog = bootstrap();
    const readNow = () => {
      const snapshot = transactions.snapshot();
      try {
        return Catalog.read(open, snapshot);
      } finally {
        snapshot.release();
      }
    };
    const first = transactions.begin();
    const columns = [
      { name: 'a', type: int4() },
      { name: 'b', type: text().nullable() },
    ];
    let entry = writer.add(first, shapeAt(20000, { name: 'part', columns, persistence: 'p', fillfactor: 100 }));
    const index = (oid: number, columns: readonly number[], descending: boolean): IndexShape => ({
      oid,
      name: `index ${oid}`,
      relfilenode: oid,
      table: 20000,
      columns,
      keys: [{ descending, nullsFirst: !descending }],
      isUnique: descending,
      isPrimary: false,
      nullsNotDistinct: descending,
      descriptor: indexDescriptor(entry.descriptor, columns),
      persistence: 'p',
      fillfactor: descending ? 90 : 50,
      deduplicate: !descending,
    });
    entry = writer.addIndex(first, entry, index(20001, [1, 0], true));
    entry = writer.addIndex(first, entry, index(20002, [0], false));
    first.commit();
    catalog.put(entry);
    expect(shapes(readNow())).toEqual(shapes(catalog));
    expect(catalog.findIndex('index 20002')?.index.columns).toEqual([0]);

    const second = transactions.begin();
    entry = writer.moveTo(second, entry, { table: 20003, indexes: [20004, 20005] });
    second.nextCommand();
    entry = writer.dropIndex(second, entry, entry.indexes[0]);
    second.nextCommand();
    entry = writer.moveIndexes(second, entry, [20006]);
    second.commit();
    catalog.put(entry);
    expect(shapes(readNow())).toEqual(shapes(catalog));
    expect(entry.indexes.map(({ oid, relfilenode }) => [oid, relfilenode])).toEqual([[20002, 20006]]);
    expect(catalog.findIndex('index 20001')).toBeUndefined();

    const third = transactions.begin();
    writer.drop(third, entry);
    third.commit();
    catalog.remove('part');
    expect(shapes(readNow())).toEqual(shapes(catalog));
  });

  it.each(damages)('with %s is damaged', (_, damage, message) => {
    const bench = catalogBench(8192);
    bench.bootstrap();
    expect(() => Catalog.read(bench.open)).not.toThrow();
    damage(bench);
    expect(() => Catalog.read(bench.open)).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringMatching(message) }),
    );
  });

  it('without one of the catalogs, or with another file for it, is damaged', () => {
    const empty = catalogBench(8192);
    expect(() => Catalog.read(empty.open)).toThrow(expect.objectContaining({ code: 'XX001' })); // not even made
    for (const relfilenode of [2610, 2611]) {
      const bench = catalogBench(8192);
      const file = (oid: number) => (oid === 2610 ? relfilenode : oid);
      const columnsOf = (oid: number, of: TupleDescriptor) =>
        of.columns.forEach((c, i) => {
          bench.insert(BW_ATTRIBUTE, [oid, i + 1, c.name, c.type.oid, c.type.typmod, !c.type.isNullable]);
        });
      for (const { oid, name, descriptor } of [BW_CLASS, BW_ATTRIBUTE, BW_INDEX]) {
        columnsOf(oid, descriptor);
        bench.insert(BW_CLASS, [oid, name, 'r', file(oid), descriptor.columns.length, 'p', null]);
      }
      for (const { oid, name, table, columns, isUnique, isPrimary } of CATALOG_INDEXES) {
        const numbers = columns.map((column) => table.descriptor.indexOf(column));
        columnsOf(oid, indexDescriptor(table.descriptor, numbers));
        const count = columns.length;
        bench.insert(BW_CLASS, [oid, name, 'i', oid, count, 'p', null]);
        const [keys, orders] = [numbers.map((number) => number + 1).join(' '), numbers.map(() => 0).join(' ')];
        bench.insert(BW_INDEX, [oid, table.oid, count, count, isUnique, false, isPrimary, keys, orders]);
      }
      if (relfilenode === 2610) expect(shapes(Catalog.read(bench.open))).toHaveLength(3);
      else expect(() => Catalog.read(bench.open)).toThrow(/does not list "bw_index" as it should/);
    }
  });
});
