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
