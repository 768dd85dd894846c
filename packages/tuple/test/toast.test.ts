// Compressed and out-of-line values: those that PostgreSQL made come out, broken ones are refused, and pglz makes its bytes.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { isStorageError } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';
import { pglzCompress } from '../src/pglz-compress.ts';
import { expectedRows, fixtureTable, relationOid, SIZES } from './fixtures.ts';

interface Compressed {
  readonly method: t.CompressionMethod;
  readonly raw: Buffer;
  /** The attribute without its 4-byte header and the 4 bytes of raw size and method. */
  readonly stream: Buffer;
}
const compressed: Compressed[] = gunzipSync(readFileSync(new URL('golden/compressed.jsonl.gz', import.meta.url)))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map(({ method, raw, data }) => ({
    method,
    raw: Buffer.from(raw, 'hex'),
    stream: Buffer.from(data, 'hex').subarray(8),
  }));

const TOASTED = t.TupleDescriptor.of([
  { name: 'id', type: t.int4().nullable() as t.ColumnType },
  { name: 'ext', type: t.text().nullable() as t.ColumnType },
  { name: 'comp', type: t.text().nullable() as t.ColumnType },
]);
const CHUNKS = t.TupleDescriptor.of([
  { name: 'chunk_id', type: t.oid() },
  { name: 'chunk_seq', type: t.int4() },
  { name: 'chunk_data', type: t.bytea() },
]);

function fetcher(size: string): t.FetchToast {
  const { memory, tuples } = fixtureTable(size, `pg_toast_${relationOid(size, 'toasted')}`);
  const decoder = t.RowDecoder.for(CHUNKS);
  const rows = tuples.map(({ pos, length }) => decoder.array(memory, pos, length) as [number, number, Uint8Array]);
  return ({ valueId }) =>
    Buffer.concat(
      rows
        .filter(([id]) => id === valueId)
        .sort((a, b) => a[1] - b[1])
        .map(([, , data]) => data),
    );
}

describe.each(SIZES)('toasted, %s', (size) => {
  const { memory, tuples } = fixtureTable(size, 'toasted');
  const md5 = (text: unknown): string => createHash('md5').update(String(text)).digest('hex');

  test('out-of-line and compressed values come out', () => {
    const fetchToast = fetcher(size);
    const listed = expectedRows(size, 'toasted');
    const summary = (row: unknown[]): unknown => ({
      id: row[0],
      ext_len: String(row[1]).length,
      ext_md5: md5(row[1]),
      comp_len: String(row[2]).length,
      comp_md5: md5(row[2]),
    });
    const decoder = t.RowDecoder.for(TOASTED, undefined, { fetchToast });
    expect(tuples.map(({ pos, length }) => summary(decoder.array(memory, pos, length)))).toEqual(listed);
    for (const generateCode of [true, false]) {
      const batch = t.BatchDecoder.for(TOASTED, undefined, { fetchToast, generateCode });
      const vectors = batch.createVectors(tuples.length);
      batch.decode(
        memory,
        tuples.map((x) => x.pos),
        tuples.map((x) => x.length),
        tuples.length,
        vectors,
        0,
      );
      const rows = tuples.map((_, i) => TOASTED.columns.map((c, k) => t.vectorValue(c.type, vectors[k], i)));
      expect(rows.map(summary)).toEqual(listed);
    }
  });

  test('a column that is asked for twice comes out twice', () => {
    const options = { fetchToast: fetcher(size) };
    const [twice, once] = [
      [2, 1, 2, 1],
      [1, 2],
    ].map((columns) => t.RowDecoder.for(TOASTED, columns, options));
    for (const { pos, length } of tuples) {
      const [ext, comp] = once.array(memory, pos, length);
      expect(twice.array(memory, pos, length)).toEqual([comp, ext, comp, ext]);
    }
  });

  test('without a way to fetch, the column is named', () => {
    const decoder = t.RowDecoder.for(TOASTED);
    const errors = tuples.map(({ pos, length }) => attempt(() => decoder.array(memory, pos, length)));
    const refused = errors.filter(isStorageError);
    expect(refused.length).toBeGreaterThan(0);
    for (const { code, message, hint } of refused) {
      expect(code).toBe('0A000');
      expect(message).toMatch(/^attribute [23] \("(ext|comp)"\): .*out of line/);
      expect(hint).toMatch(/fetchToast/);
    }
    // Columns that are not out of line are read all the same.
    const ids = t.BatchDecoder.for(TOASTED, [0]);
    const vectors = ids.createVectors(tuples.length);
    ids.decode(
      memory,
      tuples.map((x) => x.pos),
      tuples.map((x) => x.length),
      tuples.length,
      vectors,
      0,
    );
    expect(Array.from((vectors[0] as t.IntVector).values)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('chunks that do not fit their pointer are refused', () => {
    const fetch = fetcher(size);
    for (const wrong of [
      (p: t.ToastPointer) => fetch(p).subarray(1),
      () => new Uint8Array(0),
      (p: t.ToastPointer) => (p.compression === undefined ? fetch(p).subarray(1) : fetch(p).fill(0xff)),
    ]) {
      const decoder = t.RowDecoder.for(TOASTED, undefined, { fetchToast: wrong });
      const { pos, length } = tuples[7];
      expect(attempt(() => decoder.array(memory, pos, length))).toMatchObject({ code: 'XX001' });
    }
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** LZ4 of literals and of matches found by brute force: a model that makes every form of length. */
function lz4Model(data: Uint8Array): Uint8Array {
  const out: number[] = [];
  const lengthBytes = (n: number): void => {
    for (n -= 15; n >= 255; n -= 255) out.push(255);
    out.push(n);
  };
  let from = 0;
  let at = 0;
  const sequence = (offset: number, size: number): void => {
    const literals = at - from;
    out.push((Math.min(15, literals) << 4) | (offset === 0 ? 0 : Math.min(15, size - 4)));
    if (literals >= 15) lengthBytes(literals);
    out.push(...data.subarray(from, at));
    if (offset === 0) return;
    out.push(offset & 255, offset >> 8);
    if (size - 4 >= 15) lengthBytes(size - 4);
  };
  while (at < data.length - 5) {
    let best = 0;
    let offset = 0;
    for (let back = 1; back <= Math.min(at, 300); back++) {
      let size = 0;
      while (at + size < data.length - 5 && data[at + size] === data[at + size - back]) size++;
      if (size > best) [best, offset] = [size, back];
    }
    if (best < 4) at++;
    else {
      sequence(offset, best);
      at += best;
      from = at;
    }
  }
  at = data.length;
  sequence(0, 0);
  return Uint8Array.from(out);
}

const repetitive = fc
  .array(fc.tuple(fc.uint8Array({ maxLength: 12 }), fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 30 })
  .map((parts) =>
    Uint8Array.from(parts.flatMap(([bytes, times]) => Array.from({ length: times }, () => [...bytes]).flat())),
  );

describe('compressed streams', () => {
  test('those of PostgreSQL, by both methods', () => {
    expect(new Set(compressed.map((c) => c.method))).toEqual(new Set(['pglz', 'lz4']));
    for (const { method, raw, stream } of compressed)
      expect(Buffer.from(t.decompress(method, stream, 0, stream.length, raw.length)).equals(raw)).toBe(true);
  });

  test('pglz makes the bytes that PostgreSQL makes', () => {
    const mine = compressed.filter((c) => c.method === 'pglz');
    expect(mine.length).toBeGreaterThan(5);
    for (const { raw, stream } of mine)
      expect(Buffer.from(pglzCompress(raw) ?? []).toString('hex')).toBe(stream.toString('hex'));
  });

  test('what is compressed comes back', () => {
    fc.assert(
      fc.property(repetitive, (data) => {
        const packed = pglzCompress(data);
        if (packed !== undefined) {
          expect(packed.length).toBeLessThan(data.length * 0.75);
          expect(t.decompress('pglz', packed, 0, packed.length, data.length)).toEqual(data);
        }
        const lz4 = lz4Model(data);
        expect(t.decompress('lz4', lz4, 0, lz4.length, data.length)).toEqual(data);
      }),
      { numRuns: 100 },
    );
  });

  test('broken ones are refused, and nothing beyond them is read', () => {
    let refused = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...compressed.filter((c) => c.raw.length < 10_000)),
        fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.nat(30),
        fc.integer({ min: -20, max: 20 }),
        ({ method, raw, stream }, changes, cut, more) => {
          const bytes = Uint8Array.from(stream.subarray(0, stream.length - Math.min(cut, stream.length)));
          for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          const results = [0x00, 0xff, 0x17].map((filler) => {
            const memory = new Uint8Array(bytes.length + 600).fill(filler);
            memory.set(bytes, 300);
            return attempt(() => t.decompress(method, memory, 300, bytes.length, raw.length + more));
          });
          for (const result of results) {
            if (isStorageError(result)) expect(result.code).toBe('XX001');
            else expect((result as Uint8Array).length).toBe(raw.length + more);
          }
          if (isStorageError(results[0])) refused++;
          expect(results[1]).toEqual(results[0]);
          expect(results[2]).toEqual(results[0]);
        },
      ),
      { numRuns: 1500 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  test('a claim of a gigabyte is refused before memory is taken', () => {
    for (const method of ['pglz', 'lz4'] as const)
      expect(() => t.decompress(method, new Uint8Array(100), 0, 100, 0x3fffffff)).toThrow(/claims to hold 1073741823/);
  });
});
