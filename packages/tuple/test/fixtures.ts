// The fixtures that real PostgreSQL servers wrote, read with a few lines: tuples of a table at one block size.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  bool,
  bytea,
  type ColumnDefinition,
  char,
  date,
  float4,
  float8,
  int2,
  int4,
  int8,
  numeric,
  TupleDescriptor,
  type TupleMemory,
  text,
  timestamptz,
  tupleMemory,
  uuid,
  varchar,
} from '../src/index.ts';

export const SIZES = ['1k', '2k', '4k', '8k', '16k', '32k'] as const;
const ROOT = new URL('../../../fixtures/pg/', import.meta.url);

interface FixtureTuple {
  readonly pos: number;
  readonly length: number;
  readonly block: number;
  readonly offset: number;
}
export interface FixtureTable {
  readonly memory: TupleMemory;
  readonly tuples: FixtureTuple[];
}

function relation(size: string, name: string): string[] {
  const relations = readFileSync(new URL(`${size}/expect/relations.txt`, ROOT), 'utf8')
    .trim()
    .split('\n');
  return relations.map((line) => line.split(' ')).find((fields) => fields[0] === name) ?? [];
}

export function relationOid(size: string, name: string): string {
  return relation(size, name)[3];
}

/** The first file of a relation's main fork. */
export function relationPath(size: string, name: string): URL {
  return new URL(`${size}/pgdata/${relation(size, name)[2]}`, ROOT);
}

export function fixtureTable(size: string, table: string): FixtureTable {
  const bytes = new Uint8Array(readFileSync(relationPath(size, table)));
  const memory = tupleMemory(Uint8Array.from(bytes));
  const blockSize = Number.parseInt(size, 10) * 1024;
  const tuples: FixtureTuple[] = [];
  for (let page = 0; page < bytes.length; page += blockSize) {
    const lower = memory.u16[(page + 12) >> 1];
    for (let offset = 1; 24 + (offset - 1) * 4 < lower; offset++) {
      const lp = memory.u32[(page + 24) / 4 + offset - 1];
      if (((lp >>> 15) & 3) !== 1) continue;
      tuples.push({ pos: page + (lp & 0x7fff), length: lp >>> 17, block: page / blockSize, offset });
    }
  }
  return { memory, tuples };
}

export function expectedRows(size: string, table: string): Record<string, unknown>[] {
  // numeric values stand unquoted: keep their digits.
  const lines = gunzipSync(readFileSync(new URL(`${size}/expect/${table}.rows.jsonl.gz`, ROOT)))
    .toString()
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line.replace(/"n":(-?[0-9.]+)/, '"n":"$1"').replace(/:-0([,}])/g, ':"-0"$1')));
}

const columns = (definitions: Record<string, ColumnDefinition['type']>): TupleDescriptor =>
  TupleDescriptor.of(Object.entries(definitions).map(([name, type]) => ({ name, type })));

export const TYPES: TupleDescriptor = columns({
  id: int8().nullable(),
  b: bool().nullable(),
  i2: int2().nullable(),
  i4: int4().nullable(),
  f4: float4().nullable(),
  f8: float8().nullable(),
  n: numeric(12, 2).nullable(),
  d: date().nullable(),
  ts: timestamptz().nullable(),
  c1: char(1).nullable(),
  vc: varchar(40).nullable(),
  t: text().nullable(),
  bs: bytea().nullable(),
  u: uuid().nullable(),
});

export const LINEITEM: TupleDescriptor = columns({
  l_orderkey: int8(),
  l_partkey: int4(),
  l_suppkey: int4(),
  l_linenumber: int4(),
  l_quantity: numeric(15, 2),
  l_extendedprice: numeric(15, 2),
  l_discount: numeric(15, 2),
  l_tax: numeric(15, 2),
  l_returnflag: char(1),
  l_linestatus: char(1),
  l_shipdate: date(),
  l_commitdate: date(),
  l_receiptdate: date(),
  l_shipinstruct: char(25),
  l_shipmode: char(10),
  l_comment: varchar(44),
});
