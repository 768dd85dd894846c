// Against files that PostgreSQL wrote: the rows it listed come out, and the bytes it wrote go in again.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  BatchDecoder,
  HEAP_HASEXTERNAL,
  HEAP_HASNULL,
  HEAP_HASVARWIDTH,
  RowDecoder,
  type TupleDescriptor,
  TupleEncoder,
  tupleCommandId,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
  vectorValue,
} from '../src/index.ts';
import { expectedRows, type FixtureTable, fixtureTable, LINEITEM, SIZES, TYPES } from './fixtures.ts';

// heaptoast.h: a quarter of what a page has for tuples
const TOAST_TUPLE_THRESHOLD: Record<string, number> = {
  '1k': 240,
  '2k': 496,
  '4k': 1008,
  '8k': 2032,
  '16k': 4080,
  '32k': 8176,
};
const PRINTED_BITS = HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL;

function asListed(descriptor: TupleDescriptor, row: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const { name, type } of descriptor.columns) {
    const value = row[name];
    if (value === null) out[name] = null;
    else if (type.name === 'bool') out[name] = value;
    else if (type.name === 'timestamptz') out[name] = String(value).replace(/ (.*?)\+00/, 'T$1+00:00');
    else if (['int2', 'int4', 'int8', 'float4', 'float8'].includes(type.name)) {
      const text = type.toText(value);
      out[name] = /^-?[\d.]+(e[-+]\d+)?$/.test(text) && text !== '-0' ? Number(text) : text;
    } else out[name] = type.toText(value);
  }
  return out;
}

/** The tuple again from its values, with the visibility fields of the original; t_ctid is not the encoder's. */
function checkReencoded(table: FixtureTable, descriptor: TupleDescriptor, size: string): void {
  const { memory, tuples } = table;
  const rows = RowDecoder.for(descriptor);
  const batch = BatchDecoder.for(descriptor);
  const vectors = batch.createVectors(tuples.length);
  batch.decode(
    memory,
    tuples.map((t) => t.pos),
    tuples.map((t) => t.length),
    tuples.length,
    vectors,
    0,
  );
  const encoder = TupleEncoder.for(descriptor, { toastTarget: TOAST_TUPLE_THRESHOLD[size] });
  const out = new Uint8Array(4096);
  tuples.forEach(({ pos, length }, i) => {
    encoder.setHeader({
      xmin: tupleXmin(memory, pos),
      xmax: tupleXmax(memory, pos),
      commandId: tupleCommandId(memory, pos),
      infomask: tupleInfomask(memory, pos) & ~PRINTED_BITS,
      infomask2: tupleInfomask2(memory, pos),
    });
    const original = memory.u8.slice(pos, pos + length);
    original.fill(0, 12, 18);
    const values = rows.array(memory, pos, length);
    for (const write of [() => encoder.encode(values, out, 8), () => encoder.encodeVectors(vectors, i, out, 8)]) {
      out.fill(0xee, 0, length + 16);
      if (write() !== length) expect.fail(`a tuple of ${length} bytes came out with another length`);
      const written = Buffer.from(out.subarray(8, 8 + length));
      if (!written.equals(original)) expect(written.toString('hex')).toBe(Buffer.from(original).toString('hex'));
      if (out[8 + length] !== 0xee) expect.fail('a byte after the tuple was written');
    }
    if (i % 10 === 0) expect(descriptor.columns.map((c, k) => vectorValue(c.type, vectors[k], i))).toEqual(values);
  });
}

function md5OfRows(descriptor: TupleDescriptor, table: FixtureTable): string {
  const decoder = RowDecoder.for(descriptor);
  const lines = table.tuples.map(({ pos, length }) => {
    const texts = decoder.array(table.memory, pos, length).map((value, i) => {
      if (value === null) return '';
      const text = descriptor.columns[i].type.toText(value);
      return /[(),"\\ ]/.test(text) || text === '' ? `"${text.replace(/["\\]/g, '$&$&')}"` : text;
    });
    return `(${texts.join(',')})`;
  });
  return createHash('md5')
    .update(
      lines
        .map((l) => Buffer.from(l))
        .sort(Buffer.compare)
        .map(String)
        .join('\n'),
    )
    .digest('hex');
}

describe.each(SIZES)('PostgreSQL files of %s', (size) => {
  const listed = readFileSync(new URL(`../../../fixtures/pg/${size}/expect/tables.jsonl`, import.meta.url), 'utf8');
  const md5 = (table: string): string =>
    listed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .find((t) => t.table === table).md5;

  test('types: the rows that PostgreSQL lists', () => {
    const table = fixtureTable(size, 'types');
    const decoder = RowDecoder.for(TYPES);
    const rows = table.tuples.map(({ pos, length }) => asListed(TYPES, decoder.object(table.memory, pos, length)));
    rows.sort((a, b) => Number(a.id) - Number(b.id));
    expect(rows).toEqual(expectedRows(size, 'types'));
    expect(md5OfRows(TYPES, table)).toBe(md5('types'));
  });

  test('types: the same bytes from the values', () => checkReencoded(fixtureTable(size, 'types'), TYPES, size));

  test('lineitem: the md5 of its rows, and the same bytes from the values', () => {
    const table = fixtureTable(size, 'lineitem');
    expect(table.tuples.length).toBe(3000);
    expect(md5OfRows(LINEITEM, table)).toBe(md5('lineitem'));
    checkReencoded(table, LINEITEM, size);
  });
});
