// Out-of-line values: put together from their chunks wherever those lie, and never made up when chunks are missing,
// doubled or of another size.
import { frozenEncoder, HeapInserter } from '@blockwright/heap';
import { bytea, type FetchToast, int4, oid, TupleDescriptor } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PostgresDirectory, type PostgresRelation } from '../src/index.ts';
import { toastReader } from '../src/toast.ts';
import { catalogBench, postgresFiles, postgresVfs } from './bench.ts';

const TOAST = TupleDescriptor.of([
  { name: 'chunk_id', type: oid() },
  { name: 'chunk_seq', type: int4() },
  { name: 'chunk_data', type: bytea() },
]);

type Chunk = readonly [valueId: number, sequence: number, data: Uint8Array];

/** A reader of a TOAST table that holds these chunks, in this order. */
function readerOf(chunks: readonly Chunk[]): FetchToast {
  const relation = catalogBench(8192).open(16400, 'pg_toast_16384');
  const inserter = new HeapInserter(relation, frozenEncoder(TOAST, relation.geometry));
  for (const chunk of chunks) inserter.insert(chunk);
  return toastReader(relation);
}

const pointer = (valueId: number, externalSize: number): Parameters<FetchToast>[0] => ({
  rawSize: externalSize + 4,
  externalSize,
  compression: undefined,
  valueId,
  toastRelationId: 16400,
});

function split(valueId: number, value: Uint8Array, size: number): Chunk[] {
  return Array.from({ length: Math.ceil(value.length / size) }, (_, i) => [
    valueId,
    i,
    value.slice(i * size, (i + 1) * size),
  ]);
}

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31) & 0xff);

describe('values of a TOAST table', () => {
  it('come back from chunks in any order among those of others', () => {
    const values = fc.uniqueArray(fc.tuple(fc.nat(0xffffffff), fc.uint8Array({ minLength: 1, maxLength: 5000 })), {
      selector: ([id]) => id,
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(
        values.chain((list) => {
          const chunks = list.flatMap(([id, value]) => split(id, value, 700));
          return fc.tuple(fc.constant(list), fc.shuffledSubarray(chunks, { minLength: chunks.length }));
        }),
        ([list, chunks]) => {
          const fetch = readerOf(chunks);
          for (const [id, value] of list) expect(Buffer.compare(fetch(pointer(id, value.length)), value)).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  });

  const value = bytes(2500);
  const [first, second, third] = split(7, value, 1000);
  it.each([
    ['no chunk at all', [], 2500, 'It has 0 chunks for 2500 bytes.'],
    ['the first missing', [second, third], 2500, 'Chunk 0 is missing.'],
    ['one in the middle missing', [first, third], 2500, 'Chunk 1 is missing.'],
    ['the last missing', [first, second], 2500, 'Its chunks hold 2000 bytes where its pointer says 2500.'],
    ['one there twice', [first, second, second, third], 2500, 'Chunk 2 is missing.'],
    ['one too many', [first, second, third, [7, 3, bytes(9)] as Chunk], 2500, 'Chunk 3 is not what its pointer says.'],
    ['more bytes than chunks could hold', [first, second, third], 0x3fffffff, 'It has 3 chunks for 1073741823 bytes.'],
    ['fewer bytes than there are', [first, second, third], 2499, 'Chunk 2 is not what its pointer says.'],
  ] as const)('with %s are damaged', (_, chunks, size, detail) => {
    expect(() => readerOf(chunks)(pointer(7, size))).toThrow(
      expect.objectContaining({ code: 'XX001', message: 'TOAST table "pg_toast_16384": value 7 is damaged', detail }),
    );
  });

  it('are found for a table of PostgreSQL’s that has them, and not for one that has none', () => {
    const postgres = PostgresDirectory.open('/pg', { vfs: postgresVfs(postgresFiles(15)), database: 'postgres' });
    expect(postgres.toastReader(postgres.table('toasted'))).toBeDefined();
    const { toastOid, ...others } = postgres.table('s.dropped');
    expect(postgres.toastReader({ ...others, toastOid: 0 } as PostgresRelation)).toBeUndefined();
    expect(toastOid).not.toBe(0);
    postgres.close();
  });
});
