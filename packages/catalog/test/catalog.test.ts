// Our catalogs: they describe themselves, remember what was added, and say so when they contradict each other.
import { BLOCK_SIZES } from '@blockwright/geometry';
import {
  bool,
  bytea,
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
import { BW_ATTRIBUTE, BW_CLASS, BW_INDEX, CATALOG_TABLES, Catalog, FIRST_NORMAL_OID } from '../src/index.ts';
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
const tables = fc.uniqueArray(fc.record({ name: fc.string({ minLength: 1, maxLength: 30 }), columns }), {
  selector: ({ name }) => name,
  maxLength: 6,
});

const shape = (descriptor: TupleDescriptor) =>
  descriptor.columns.map(({ name, type }) => [name, type.oid, type.typmod, type.isNullable]);
const shapes = (catalog: Catalog) =>
  catalog.entries().map(({ oid, name, kind, relfilenode, descriptor }) => ({
    oid,
    name,
    kind,
    relfilenode,
    columns: shape(descriptor),
  }));

describe.each(BLOCK_SIZES)('catalogs of %i-byte blocks', (size) => {
  it('describe themselves', () => {
    const { open } = catalogBench(size);
    const made = Catalog.bootstrap(open);
    const read = Catalog.read(open);
    expect(shapes(read)).toEqual(shapes(made));
    expect(read.entries().map(({ name }) => name)).toEqual(['bw_attribute', 'bw_class', 'bw_index']);
    for (const { name, oid, descriptor } of CATALOG_TABLES) {
      expect(read.find(name)).toMatchObject({ oid, relfilenode: oid, kind: 'r' });
      expect(shape(read.find(name)?.descriptor as TupleDescriptor)).toEqual(shape(descriptor));
      expect(oid).toBeLessThan(FIRST_NORMAL_OID);
    }
  });

  it('remember every table with its columns, in any order of reading', () => {
    fc.assert(
      fc.property(tables, (added) => {
        const { open } = catalogBench(size);
        const catalog = Catalog.bootstrap(open);
        added.forEach((table, i) => {
          const entry = catalog.add(FIRST_NORMAL_OID + i, table.name, TupleDescriptor.of(table.columns));
          expect(entry).toBe(catalog.find(table.name));
        });
        const read = Catalog.read(open);
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
  it('takes no name twice, a catalog’s included, and knows no name that nobody gave', () => {
    const catalog = Catalog.bootstrap(catalogBench(8192).open);
    const none = TupleDescriptor.of([]);
    catalog.add(FIRST_NORMAL_OID, 'part', none);
    for (const name of ['part', 'bw_class']) {
      expect(() => catalog.add(FIRST_NORMAL_OID + 1, name, none)).toThrow(expect.objectContaining({ code: '42P07' }));
    }
    expect(catalog.find('Part')).toBeUndefined();
    expect(catalog.entries()).toHaveLength(4);
  });

  const damages: readonly (readonly [what: string, damage: (bench: CatalogBench) => void, message: RegExp])[] = [
    [
      'fewer columns in bw_attribute than bw_class says',
      ({ insert }) => insert(BW_CLASS, [20000, 't', 'r', 20000, 1]),
      /table "t" has 1 columns in bw_class and 0 in bw_attribute/,
    ],
    [
      'more columns',
      ({ insert }) => {
        insert(BW_CLASS, [20000, 't', 'r', 20000, 0]);
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
            insert(BW_CLASS, [20000, 't', 'r', 20000, attributes.length]);
            for (const values of attributes) insert(BW_ATTRIBUTE, values);
          },
          message,
        ] as const,
    ),
    ...(
      [
        ['a name twice', [20001, 't', 'r', 20001, 0]],
        ['an object id twice', [20000, 'u', 'r', 20001, 0]],
        ['a file number twice', [20001, 'u', 'r', 20000, 0]],
      ] as const
    ).map(
      ([what, values]) =>
        [
          what,
          ({ insert }: CatalogBench) => {
            insert(BW_CLASS, [20000, 't', 'r', 20000, 0]);
            insert(BW_CLASS, values);
          },
          /is there twice in bw_class/,
        ] as const,
    ),
  ];

  it.each(damages)('with %s is damaged', (_, damage, message) => {
    const bench = catalogBench(8192);
    Catalog.bootstrap(bench.open);
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
      for (const { oid, name, descriptor } of [BW_CLASS, BW_ATTRIBUTE, BW_INDEX]) {
        descriptor.columns.forEach((c, i) => {
          bench.insert(BW_ATTRIBUTE, [oid, i + 1, c.name, c.type.oid, c.type.typmod, true]);
        });
        bench.insert(BW_CLASS, [oid, name, 'r', oid === 2610 ? relfilenode : oid, descriptor.columns.length]);
      }
      if (relfilenode === 2610) expect(shapes(Catalog.read(bench.open))).toHaveLength(3);
      else expect(() => Catalog.read(bench.open)).toThrow(/does not list "bw_index" as it should/);
    }
  });
});
