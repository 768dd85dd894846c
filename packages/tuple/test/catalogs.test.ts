// PostgreSQL's own catalogs and odd tables read through columnTypeOf: pg_class, pg_attribute, a dropped column, none.
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';
import { expectedRows, fixtureTable, SIZES } from './fixtures.ts';

const fixed = (...columns: [string, t.ColumnType][]): t.TupleDescriptor =>
  t.TupleDescriptor.of(columns.map(([name, type]) => ({ name, type })));

// PostgreSQL 15: the columns up to the last one needed, in order.
const PG_CLASS = fixed(
  ['oid', t.oid()],
  ['relname', t.name()],
  ['relnamespace', t.oid()],
  ['reltype', t.oid()],
  ['reloftype', t.oid()],
  ['relowner', t.oid()],
  ['relam', t.oid()],
  ['relfilenode', t.oid()],
  ['reltablespace', t.oid()],
  ['relpages', t.int4()],
  ['reltuples', t.float4()],
  ['relallvisible', t.int4()],
  ['reltoastrelid', t.oid()],
  ['relhasindex', t.bool()],
  ['relisshared', t.bool()],
  ['relpersistence', t.quotedChar()],
  ['relkind', t.quotedChar()],
  ['relnatts', t.int2()],
  ['relchecks', t.int2()],
  ['relhasrules', t.bool()],
  ['relhastriggers', t.bool()],
  ['relhassubclass', t.bool()],
  ['relrowsecurity', t.bool()],
  ['relforcerowsecurity', t.bool()],
  ['relispopulated', t.bool()],
  ['relreplident', t.quotedChar()],
  ['relispartition', t.bool()],
  ['relrewrite', t.oid()],
  ['relfrozenxid', t.xid()],
  ['relminmxid', t.xid()],
  ['relacl', t.opaque(-1, 'i').nullable() as t.ColumnType],
  ['reloptions', t.opaque(-1, 'i').nullable() as t.ColumnType],
  ['relpartbound', t.opaque(-1, 'i').nullable() as t.ColumnType],
);
const PG_ATTRIBUTE = fixed(
  ['attrelid', t.oid()],
  ['attname', t.name()],
  ['atttypid', t.oid()],
  ['attstattarget', t.int4()],
  ['attlen', t.int2()],
  ['attnum', t.int2()],
  ['attndims', t.int4()],
  ['attcacheoff', t.int4()],
  ['atttypmod', t.int4()],
  ['attbyval', t.bool()],
  ['attalign', t.quotedChar()],
  ['attstorage', t.quotedChar()],
  ['attcompression', t.quotedChar()],
  ['attnotnull', t.bool()],
  ['atthasdef', t.bool()],
  ['atthasmissing', t.bool()],
  ['attidentity', t.quotedChar()],
  ['attgenerated', t.quotedChar()],
  ['attisdropped', t.bool()],
  ['attislocal', t.bool()],
  ['attinhcount', t.int4()],
  ['attcollation', t.oid()],
  ['attacl', t.opaque(-1, 'i').nullable() as t.ColumnType],
  ['attoptions', t.opaque(-1, 'i').nullable() as t.ColumnType],
  ['attfdwoptions', t.opaque(-1, 'i').nullable() as t.ColumnType],
  ['attmissingval', t.opaque(-1, 'd').nullable() as t.ColumnType],
);

type Row = Record<string, unknown>;

/** The rows of a catalog whose inserting transaction is frozen or committed and which nobody deleted. */
function liveRows(size: string, table: string, descriptor: t.TupleDescriptor): Row[] {
  const { memory, tuples } = fixtureTable(size, table);
  const decoder = t.RowDecoder.for(descriptor);
  return tuples
    .filter(({ pos }) => (t.tupleInfomask(memory, pos) & t.HEAP_XMAX_INVALID) !== 0)
    .map(({ pos, length }) => decoder.object(memory, pos, length));
}

function describeTable(size: string, relation: Row): t.TupleDescriptor {
  const attributes = liveRows(size, 'pg_attribute', PG_ATTRIBUTE)
    .filter((a) => a.attrelid === relation.oid && (a.attnum as number) > 0)
    .sort((a, b) => (a.attnum as number) - (b.attnum as number));
  return t.TupleDescriptor.of(
    attributes.map((a) => {
      const align = a.attalign as t.AttAlign;
      if (a.attisdropped === true) return t.droppedColumn(a.attnum as number, a.attlen as number, align);
      const type = t.columnTypeOf(a.atttypid as number, a.atttypmod as number, a.attnotnull !== true);
      return { name: a.attname as string, type: type ?? (t.opaque(a.attlen as number, align) as t.ColumnType) };
    }),
  );
}

describe.each(SIZES)('catalogs of %s', (size) => {
  const relation = (name: string): Row => {
    const found = liveRows(size, 'pg_class', PG_CLASS).filter((r) => r.relname === name);
    expect(found.length).toBe(1);
    return found[0];
  };

  test('pg_class says what kind a relation is, and its trailing columns are stepped over', () => {
    expect(relation('lineitem')).toMatchObject({ relkind: 'r', relnatts: 16, relpersistence: 'p', relam: 2 });
    expect(relation('words_w')).toMatchObject({ relkind: 'i', relam: 403 });
    expect(relation('churn').reloptions).toBeInstanceOf(Uint8Array);
  });

  test('lineitem is described by pg_attribute as seed.sql declares it', () => {
    const columns = describeTable(size, relation('lineitem')).columns;
    expect(columns.map((c) => `${c.name} ${c.type.sqlName}${c.type.isNullable ? '' : ' not null'}`)).toEqual([
      'l_orderkey int8 not null',
      ...['l_partkey', 'l_suppkey', 'l_linenumber'].map((n) => `${n} int4 not null`),
      ...['l_quantity', 'l_extendedprice', 'l_discount', 'l_tax'].map((n) => `${n} numeric(15,2) not null`),
      ...['l_returnflag', 'l_linestatus'].map((n) => `${n} character(1) not null`),
      ...['l_shipdate', 'l_commitdate', 'l_receiptdate'].map((n) => `${n} date not null`),
      'l_shipinstruct character(25) not null',
      'l_shipmode character(10) not null',
      'l_comment character varying(44) not null',
    ]);
  });

  test('altered: a dropped column is stepped over, added ones are null in old tuples', () => {
    const descriptor = describeTable(size, relation('altered'));
    expect(descriptor.columns.map((c) => c.isDropped)).toEqual([false, true, false, false, false]);
    const { memory, tuples } = fixtureTable(size, 'altered');
    const rows = RowsOf(descriptor, memory, tuples);
    const wanted = expectedRows(size, 'altered').map(({ ctid: _, ...row }, i) =>
      i < 50 ? { ...row, d: null, e: null } : { ...row, e: BigInt(row.e as number) },
    );
    expect(rows).toEqual(wanted);
    expect(() => descriptor.indexOf('b')).toThrow(/no column "b"/);
    // The dropped column itself is null, whatever bytes it left.
    const { pos, length } = tuples[0];
    expect(t.RowDecoder.for(descriptor, [1]).array(memory, pos, length)).toEqual([null]);
    const decoder = t.BatchDecoder.for(descriptor, [0, 1, 2]);
    const vectors = decoder.createVectors(1);
    decoder.decode(memory, [pos], [length], 1, vectors, 0);
    expect(vectors.map((v, i) => t.vectorValue(descriptor.columns[i].type, v, 0))).toEqual([1, null, 2]);
  });

  test('nocols: rows without columns', () => {
    const { memory, tuples } = fixtureTable(size, 'nocols');
    const descriptor = describeTable(size, relation('nocols'));
    expect(RowsOf(descriptor, memory, tuples)).toEqual(Array.from({ length: 30 }, () => ({})));
    const decoder = t.BatchDecoder.for(descriptor);
    decoder.decode(
      memory,
      tuples.map((x) => x.pos),
      tuples.map((x) => x.length),
      30,
      [],
      0,
    );
  });
});

function RowsOf(
  descriptor: t.TupleDescriptor,
  memory: t.TupleMemory,
  tuples: readonly { pos: number; length: number }[],
): Record<string, unknown>[] {
  const decoder = t.RowDecoder.for(descriptor);
  return tuples.map(({ pos, length }) => decoder.object(memory, pos, length));
}

test('types by oid and typmod, there and back', () => {
  const types = [
    t.bool(), t.int2(), t.int4(), t.int8(), t.float4(), t.float8(), t.numeric(), t.numeric(15, 2), t.numeric(5, -2),
    t.numeric(3, 5), t.numeric(1000, -1000), t.date(), t.timestamptz(), t.char(1), t.char(25), t.varchar(), t.varchar(44), t.text(),
    t.bytea(), t.uuid(), t.name(), t.oid(), t.xid(), t.quotedChar(),
  ] as t.ColumnType[]; // biome-ignore format: a list
  for (const type of types) {
    const again = t.columnTypeOf(type.oid, type.typmod, false);
    expect([again?.name, again?.sqlName, again?.typmod, again?.isNullable]).toEqual([
      type.name,
      type.sqlName,
      type.typmod,
      false,
    ]);
    expect(t.columnTypeOf(type.oid, type.typmod, true)?.isNullable).toBe(true);
  }
  expect(t.numeric(15, 2).typmod).toBe(983046);
  expect(t.varchar(44).typmod).toBe(48);
  expect(t.columnTypeOf(1033, -1, true)).toBeUndefined();
  expect(t.columnTypeOf(1042, -1, false)?.compare('a  ', 'a')).toBe(0);
});
