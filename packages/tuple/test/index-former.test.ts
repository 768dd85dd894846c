// Index tuples formed from heap tuples and from values: the bytes that PostgreSQL's index_form_tuple makes.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';
import { layOut } from './arbitraries.ts';
import { type FixtureTable, fixtureTable, relationPath, SIZES } from './fixtures.ts';
import { ASCENDING, formerOf, KEY_TYPES, kept } from './key-values.ts';

const BLOCK = 0x12345 as BlockNumber;
const OFFSET = 7 as OffsetNumber;

interface Shape {
  readonly heap: t.TupleDescriptor;
  /** Heap columns of the index, in its order. */
  readonly columns: number[];
  readonly keyCount: number;
  readonly rows: unknown[][];
}

const shapes: fc.Arbitrary<Shape> = fc
  .array(fc.tuple(fc.constantFrom(...KEY_TYPES), fc.constantFrom('kept', 'kept', 'kept', 'dropped')), {
    minLength: 1,
    maxLength: 8,
  })
  .filter((columns) => columns.some(([, kind]) => kind === 'kept'))
  .chain((columns) => {
    const live = columns.flatMap(([, kind], i) => (kind === 'kept' ? [i] : []));
    const cell = ([{ value }, kind]: (typeof columns)[number]): fc.Arbitrary<unknown> =>
      kind === 'dropped' ? fc.constant(null) : fc.option(value, { freq: 6 });
    return fc.record({
      heap: fc.constant(
        t.TupleDescriptor.of(
          columns.map(([{ type }, kind], i) =>
            kind === 'dropped'
              ? t.droppedColumn(i + 1, type.attlen, type.attalign)
              : { name: `c${i}`, type: type.nullable() as t.ColumnType },
          ),
        ),
      ),
      columns: fc.array(fc.constantFrom(...live), { minLength: 1, maxLength: 6 }),
      keyCount: fc.integer({ min: 1, max: 6 }),
      rows: fc.array(fc.tuple(...columns.map(cell)), { minLength: 1, maxLength: 4 }),
    });
  });

function formatOf({ heap, columns, keyCount }: Shape): t.IndexTupleFormat {
  const definitions = columns.map((column, i) => ({ ...heap.columns[column], name: `k${i}` }));
  const keys = columns.slice(0, keyCount).map(() => ASCENDING);
  return t.IndexTupleFormat.of(t.TupleDescriptor.of(definitions), keys);
}

test('from a heap tuple and from its values come the same bytes, which decode to the values', () => {
  fc.assert(
    fc.property(shapes, fc.constantFrom(undefined, 30, 62, 510), (shape, toastTarget) => {
      const { heap, columns, rows } = shape;
      const format = formatOf(shape);
      const former = new t.IndexTupleFormer(format, heap, columns, { toastTarget });
      const laid = layOut(heap, rows);
      const before = laid.memory.u8.slice();
      const heapRows = t.RowDecoder.for(heap);
      const indexRows = t.RowDecoder.for(format.descriptor, undefined, { layout: 'index' });
      const [memory] = [former.memory];
      memory.u8.fill(0xee); // what an earlier tuple left must not show
      rows.forEach((_, i) => {
        const values = heapRows.array(laid.memory, laid.positions[i], laid.lengths[i]);
        // Dropped columns are not in a row of the heap's decoder.
        const byColumn = new Map(heap.liveColumns().map((column, k) => [column, values[k]]));
        const wanted = columns.map((column) => byColumn.get(column));
        former.fromValues(wanted);
        const fromValues = kept(former);
        expect(t.indexTupleBlock(fromValues, 0) + t.indexTupleOffset(fromValues, 0)).toBe(0);
        former.memory.u8.fill(0xee);
        const length = former.fromHeap(laid.memory, laid.positions[i], laid.lengths[i], BLOCK, OFFSET);
        const tuple = kept(former);
        expect(length).toBe(former.length);
        expect([t.indexTupleBlock(tuple, 0), t.indexTupleOffset(tuple, 0)]).toEqual([BLOCK, OFFSET]);
        expect(t.indexTupleSize(tuple, 0)).toBe(length);
        expect(Buffer.from(tuple.u8.subarray(6)).toString('hex')).toBe(
          Buffer.from(fromValues.u8.subarray(6)).toString('hex'),
        );
        expect(indexRows.array(tuple, 0, length)).toEqual(wanted);
      });
      expect(laid.memory.u8).toEqual(before);
    }),
    { numRuns: 150 },
  );
});

test('the memory grows, and is the same while it need not', () => {
  const heap = t.TupleDescriptor.of([{ name: 'a', type: t.text() as t.ColumnType }]);
  const format = t.IndexTupleFormat.of(heap, [ASCENDING]);
  const former = formerOf(format, heap);
  const first = former.memory;
  former.fromValues(['a'.repeat(900)]);
  expect(former.memory).toBe(first);
  former.fromValues(['b'.repeat(5000)]);
  const second = former.memory;
  expect(second).not.toBe(first);
  former.fromValues(['c']);
  expect(former.memory).toBe(second);
  expect(format.toText(former.memory, 0, 1)).toBe('(a)=(c)');
});

describe('PostgreSQL’s layout, byte by byte', () => {
  const row = (types: t.ColumnType[], values: unknown[], toastTarget?: number): string => {
    const heap = t.TupleDescriptor.of(
      types.map((type, i) => ({ name: `c${i}`, type: type.nullable() as t.ColumnType })),
    );
    const former = formerOf(
      t.IndexTupleFormat.of(
        heap,
        types.map(() => ASCENDING),
      ),
      heap,
      { toastTarget },
    );
    const laid = layOut(heap, [values]);
    former.fromHeap(laid.memory, laid.positions[0], laid.lengths[0], BLOCK, OFFSET);
    return Buffer.from(kept(former).u8)
      .toString('hex')
      .replace(/(.{16})/g, '$1 ')
      .trim();
  };
  const [int4, int2, int8, text, name, bool] = [
    t.int4(),
    t.int2(),
    t.int8(),
    t.text(),
    t.name(),
    t.bool(),
  ] as t.ColumnType[];

  test.each([
    ['one integer', [int4], [5], '0100452307001000 0500000000000000'],
    ['padding before an int8', [int2, int8], [1, 2n], '0100452307001800 0100000000000000 0200000000000000'],
    ['a short text has no padding', [bool, text], [true, 'ab'], '0100452307001040 0107616200000000'],
    ['nulls: a bitmap of 8 bytes', [int4, int4], [null, 1], '0100452307001880 0200000000000000 0100000000000000'],
    ['nothing but nulls', [text, int4], [null, null], '0100452307001080 0000000000000000'],
    [
      'a text that is null is no variable width',
      [int4, text],
      [3, null],
      '0100452307001880 0100000000000000 0300000000000000',
    ],
    ['a name is cut at its end', [name, int2], ['pg', 4], '0100452307001040 7067000004000000'],
  ])('%s', (_, types, values, wanted) => expect(row(types, values)).toBe(wanted));

  test('126 bytes have a 1-byte header, 127 an aligned one of 4, which is compressed beyond the target', () => {
    expect(row([bool, text], [true, 'x'.repeat(126)], 62).slice(17, 23)).toBe('01ff78');
    expect(row([bool, text], [true, 'x'.repeat(127)]).slice(17, 42)).toBe('010000000c020000 78787878');
    // pglz: raw size 127; a literal, then a match of 126 bytes at distance 1: 5 bytes and 8 before them.
    expect(row([bool, text], [true, 'x'.repeat(127)], 130)).toBe(
      '0100452307002040 0100000036000000 7f00000002780f01 6c00000000000000',
    );
    expect(row([bool, text], [true, 'x'.repeat(127)], 131).slice(17, 42)).toBe('010000000c020000 78787878');
  });
});

test('a tuple longer than its size field can say is an error from the heap, and a search key of any length is none', () => {
  const heap = t.TupleDescriptor.of([{ name: 'a', type: t.bytea() as t.ColumnType }]);
  const format = t.IndexTupleFormat.of(heap, [ASCENDING]);
  const former = formerOf(format, heap);
  const bytes = (n: number, last: number): Uint8Array => new Uint8Array(n).fill(last, n - 1);
  const encoder = t.TupleEncoder.for(heap);
  const memory = t.tupleMemory(new Uint8Array(16384));
  const form = (n: number): number =>
    former.fromHeap(memory, 0, encoder.encode([bytes(n, 1)], memory.u8, 0), BLOCK, OFFSET);
  expect(form(8184 - 12)).toBe(8184);
  expect(() => form(8184 - 11)).toThrowError(
    expect.objectContaining({ code: '54000', message: 'index row requires 8192 bytes, maximum size is 8191' }),
  );
  expect(former.fromValues([bytes(20000, 1)])).toBe(20016);
  const long = kept(former);
  expect(t.indexTupleSize(long, 0)).toBe(8191);
  former.fromValues([bytes(20000, 2)]);
  expect(format.compare(long, 0, former.memory, 0, 1)).toBe(-1);
});

describe('values for a search', () => {
  const heap = t.TupleDescriptor.of([
    { name: 'n', type: t.numeric(6, 2) as t.ColumnType },
    { name: 'v', type: t.varchar(2) as t.ColumnType },
    { name: 'c', type: t.char(3) as t.ColumnType },
  ]);
  const format = t.IndexTupleFormat.of(heap, [ASCENDING, ASCENDING, ASCENDING]);
  const former = formerOf(format, heap);
  const order = (stored: unknown[], wanted: unknown[]): number => {
    former.fromValues(stored);
    const m = kept(former);
    former.fromSearchValues(wanted);
    return format.compare(m, 0, former.memory, 0, wanted.length);
  };
  test('are not rounded, cut or refused', () => {
    expect(order(['1.23'], ['1.234'])).toBe(-1);
    expect(order(['1.23'], ['1.230'])).toBe(0);
    expect(order(['9999.99'], ['1e9'])).toBe(-1);
    expect(order(['1', 'ab'], ['1', 'abc'])).toBe(-2);
    expect(order(['1', 'ab', 'a'], ['1', 'ab', 'a'])).toBe(0);
    expect(order(['1', 'ab', 'abc'], ['1', 'ab', 'abcd'])).toBe(-3);
    expect(order(['1'], [null])).toBe(-1);
  });
  test('that are stored must fit, and are of the right kind', () => {
    const code = (code: string): unknown => expect.objectContaining({ code });
    expect(() => former.fromValues(['1e9'])).toThrowError(code('22003'));
    expect(() => former.fromValues(['1', 'abc'])).toThrowError(code('22001'));
    expect(() => former.fromValues([null])).toThrowError(code('23502'));
    expect(() => former.fromValues(['1', 2])).toThrow('column "v": a value of type varchar is a string, not number');
    expect(() => former.fromValues(['1', '2', '3', '4'])).toThrow(TypeError);
    expect(() => former.fromSearchValues(['x'])).toThrowError(code('22P02'));
  });
});

test('a former takes columns that the table has, as the index has them', () => {
  const heap = t.TupleDescriptor.of([
    { name: 'a', type: t.int4() as t.ColumnType },
    { name: 'b', type: t.int8() as t.ColumnType },
    t.droppedColumn(3, 4, 'i'),
  ]);
  const format = t.IndexTupleFormat.of(t.TupleDescriptor.of([{ name: 'a', type: t.int4() as t.ColumnType }]), [
    ASCENDING,
  ]);
  for (const columns of [[], [0, 0], [1], [2], [3], [-1]])
    expect(() => new t.IndexTupleFormer(format, heap, columns)).toThrow(RangeError);
});

test('bad bytes of a heap tuple name the attribute', () => {
  const heap = t.TupleDescriptor.of([{ name: 'a', type: t.text() as t.ColumnType }]);
  const former = formerOf(t.IndexTupleFormat.of(heap, [ASCENDING]), heap);
  const laid = layOut(heap, [['abc']]);
  laid.memory.u8[laid.positions[0] + 24] = 0xff;
  expect(() => former.fromHeap(laid.memory, laid.positions[0], laid.lengths[0], BLOCK, OFFSET)).toThrowError(
    expect.objectContaining({ code: 'XX001', attributeNumber: 1 }),
  );
});

test('a column added with a default has it, and one without a default is null', () => {
  const old = t.TupleDescriptor.of([{ name: 'a', type: t.int4() as t.ColumnType }]);
  const laid = layOut(old, [[1]]);
  const heap = t.TupleDescriptor.of([
    ...old.columns,
    { name: 'd', type: t.text().nullable() as t.ColumnType, missing: Uint8Array.from(Buffer.from('filled')) },
    { name: 'e', type: t.int8().nullable() as t.ColumnType, missing: Uint8Array.of(42, 0, 0, 0, 0, 0, 0, 0) },
    { name: 'f', type: t.int4().nullable() as t.ColumnType },
  ]);
  const format = t.IndexTupleFormat.of(
    heap,
    heap.columns.map(() => ASCENDING),
  );
  const former = formerOf(format, heap);
  former.fromHeap(laid.memory, laid.positions[0], laid.lengths[0], BLOCK, OFFSET);
  expect(format.toText(former.memory, 0, 4)).toBe('(a, d, e, f)=(1, filled, 42, null)');
});

interface Compressed {
  readonly method: t.CompressionMethod;
  readonly raw: Buffer;
  /** The whole attribute, its 4-byte header included. */
  readonly data: Buffer;
}
const compressed: Compressed[] = gunzipSync(readFileSync(new URL('golden/compressed.jsonl.gz', import.meta.url)))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map(({ method, raw, data }) => ({ method, raw: Buffer.from(raw, 'hex'), data: Buffer.from(data, 'hex') }))
  .filter(({ data }) => data.length < 8000);

describe('compressed and out-of-line values', () => {
  const heap = t.TupleDescriptor.of([{ name: 'a', type: t.bytea() as t.ColumnType }]);
  const format = t.IndexTupleFormat.of(heap, [ASCENDING]);
  /** A heap tuple of these bytes. */
  const tuple = (data: Uint8Array): { memory: t.TupleMemory; length: number } => {
    const bytes = new Uint8Array(((24 + data.length + 7) & ~7) + 16);
    t.TupleEncoder.for(heap).encode([new Uint8Array(0)], bytes, 0);
    bytes.set(data, 24);
    return { memory: t.tupleMemory(bytes), length: 24 + data.length };
  };

  test('what PostgreSQL compressed stays as it is, and compares as what it was', () => {
    const former = formerOf(format, heap, { toastTarget: 62 });
    const plain = formerOf(format, heap);
    const images: t.TupleMemory[] = [];
    for (const { raw, data } of compressed) {
      const { memory, length } = tuple(data);
      former.fromHeap(memory, 0, length, BLOCK, OFFSET);
      expect(Buffer.from(former.memory.u8.subarray(8, 8 + data.length)).equals(data)).toBe(true);
      plain.fromSearchValues([Uint8Array.from(raw)]);
      expect(format.compare(former.memory, 0, plain.memory, 0, 1)).toBe(0);
      expect(format.firstDifferentImage(plain.memory, 0, former.memory, 0, 1)).toBe(2);
      images.push(kept(former));
    }
    expect(images.length).toBeGreaterThan(10);
    expect(new Set(compressed.map(({ method }) => method))).toEqual(new Set(['pglz', 'lz4']));
    for (let i = 1; i < images.length; i++)
      expect(Math.sign(format.compare(images[i - 1], 0, images[i], 0, 1))).toBe(
        Buffer.compare(compressed[i - 1].raw, compressed[i].raw),
      );
  });

  test('a value out of line is fetched: compressed it stays so, plain it may be compressed', () => {
    const raw = Buffer.from('abcdefgh'.repeat(400));
    const pointer = (external: number): Uint8Array => {
      const bytes = Buffer.alloc(18);
      bytes[0] = 1;
      bytes[1] = t.VARTAG_ONDISK;
      bytes.writeUInt32LE(raw.length + 4, 2);
      bytes.writeUInt32LE(external, 6);
      bytes.writeUInt32LE(4711, 10);
      return bytes;
    };
    const stream = t.pglzCompress(raw) as Uint8Array;
    const stored = Buffer.concat([Buffer.from(Uint32Array.of(raw.length).buffer), stream]);
    const tuples = [stored, raw].map((chunks) => {
      const { memory, length } = tuple(pointer(chunks.length));
      const former = formerOf(format, heap, { toastTarget: 62, fetchToast: () => chunks });
      former.fromHeap(memory, 0, length, BLOCK, OFFSET);
      return kept(former).u8;
    });
    expect(tuples[0]).toEqual(tuples[1]);
    expect(Buffer.from(tuples[0].subarray(12, 12 + stored.length)).equals(stored)).toBe(true);
    const { memory, length } = tuple(pointer(raw.length));
    const without = formerOf(format, heap);
    expect(() => without.fromHeap(memory, 0, length, BLOCK, OFFSET)).toThrowError(
      expect.objectContaining({ code: '0A000' }),
    );
    const long = formerOf(format, heap, { fetchToast: () => raw });
    expect(long.fromHeap(memory, 0, length, BLOCK, OFFSET)).toBe((8 + 4 + raw.length + 7) & ~7);
    const cut = formerOf(format, heap, { fetchToast: () => raw.subarray(1) });
    expect(() => cut.fromHeap(memory, 0, length, BLOCK, OFFSET)).toThrowError(
      expect.objectContaining({ code: 'XX001' }),
    );
  });
});

interface FixtureIndex {
  readonly name: string;
  readonly table: string;
  readonly heap: t.TupleDescriptor;
  readonly columns: number[];
  readonly key: t.KeyOrder;
  /** Leaf entries whose heap tuples are still there, at least. */
  readonly least: number;
}
const nullable = (columns: Record<string, t.ColumnType>): t.TupleDescriptor =>
  t.TupleDescriptor.of(
    Object.entries(columns).map(([name, type]) => ({ name, type: type.nullable() as t.ColumnType })),
  );
const [int4, int8, text] = [t.int4(), t.int8(), t.text()] as t.ColumnType[];
const CHURN = nullable({ id: int4, k: int4, val: text });
const VACUUMED = nullable({ id: int8, grp: int4, pad: text });
const WORDS = nullable({ w: text, n: int4 });
const INDEXES: FixtureIndex[] = [
  { name: 'churn_pkey', table: 'churn', heap: CHURN, columns: [0], key: ASCENDING, least: 1000 },
  { name: 'churn_k', table: 'churn', heap: CHURN, columns: [1], key: ASCENDING, least: 1000 },
  { name: 'vacuumed_id', table: 'vacuumed', heap: VACUUMED, columns: [0], key: ASCENDING, least: 3000 },
  { name: 'vacuumed_grp', table: 'vacuumed', heap: VACUUMED, columns: [1], key: ASCENDING, least: 3000 },
  { name: 'words_w', table: 'words', heap: WORDS, columns: [0], key: ASCENDING, least: 1500 },
  {
    name: 'words_desc',
    table: 'words',
    heap: WORDS,
    columns: [1],
    key: { descending: true, nullsFirst: false },
    least: 1500,
  },
];

interface Leaf {
  readonly pos: number;
  /** Bytes without a posting list. */
  readonly keyBytes: number;
  readonly tids: [block: number, offset: number][];
}

/** The entries of an index's leaf pages, in order on each page; `null` between pages. */
function leaves(size: string, name: string): { memory: t.TupleMemory; entries: (Leaf | null)[] } {
  const memory = t.tupleMemory(Uint8Array.from(readFileSync(relationPath(size, name))));
  const { u8, u16, u32 } = memory;
  const blockSize = Number.parseInt(size, 10) * 1024;
  const entries: (Leaf | null)[] = [];
  for (let page = blockSize; page < u8.length; page += blockSize) {
    const special = page + blockSize - 16;
    if ((u16[(special + 12) >> 1] & 0x0f) !== 1 && (u16[(special + 12) >> 1] & 0x0f) !== 3) continue; // live leaves
    const first = u32[(special + 4) >> 2] === 0 ? 0 : 1; // after the high key
    for (let i = first; 24 + i * 4 < u16[(page + 12) >> 1]; i++) {
      const pos = page + (u32[(page + 24) / 4 + i] & 0x7fff);
      const isPosting = (t.indexTupleInfo(memory, pos) & t.INDEX_AM_RESERVED_BIT) !== 0;
      const count = isPosting ? t.indexTupleOffset(memory, pos) & 0xfff : 1;
      const from = isPosting ? pos + t.indexTupleBlock(memory, pos) : pos;
      const tids = Array.from({ length: count }, (_, k): [number, number] => {
        const at = (from >> 1) + k * 3;
        return [((u16[at] << 16) | u16[at + 1]) >>> 0, u16[at + 2]];
      });
      entries.push({ pos, keyBytes: isPosting ? from - pos : t.indexTupleSize(memory, pos), tids });
    }
    entries.push(null);
  }
  return { memory, entries };
}

describe.each(SIZES)('PostgreSQL’s index files of %s', (size) => {
  const heaps = new Map<string, FixtureTable>();
  test.each(INDEXES)('$name: the bytes of each entry, from its row and from its values; in order', (index) => {
    const heap = heaps.get(index.table) ?? fixtureTable(size, index.table);
    heaps.set(index.table, heap);
    const places = new Map(heap.tuples.map((tuple) => [`${tuple.block},${tuple.offset}`, tuple]));
    const columns = t.TupleDescriptor.of(index.columns.map((column) => index.heap.columns[column]));
    const format = t.IndexTupleFormat.of(columns, [index.key]);
    const former = new t.IndexTupleFormer(format, index.heap, index.columns, { toastTarget: 62 });
    const rows = t.RowDecoder.for(format.descriptor, undefined, { layout: 'index' });
    const { memory, entries } = leaves(size, index.name);
    const data = (m: t.TupleMemory, pos: number, bytes: number): string =>
      Buffer.from(m.u8.subarray(pos + 8, pos + bytes)).toString('hex');
    let found = 0;
    entries.forEach((entry, i) => {
      if (entry === null) return;
      const { pos, keyBytes, tids } = entry;
      const mask = t.INDEX_NULL_MASK | t.INDEX_VAR_MASK;
      former.fromValues(rows.array(memory, pos, keyBytes));
      expect(data(former.memory, 0, former.length)).toBe(data(memory, pos, keyBytes));
      expect(t.indexTupleInfo(former.memory, 0) & mask).toBe(t.indexTupleInfo(memory, pos) & mask);
      for (const [block, offset] of tids) {
        const tuple = places.get(`${block},${offset}`);
        if (tuple === undefined) continue;
        found++;
        former.fromHeap(heap.memory, tuple.pos, tuple.length, block as BlockNumber, offset as OffsetNumber);
        expect(data(former.memory, 0, former.length)).toBe(data(memory, pos, keyBytes));
        if (tids.length === 1) expect(former.memory.u8.subarray(0, 6)).toEqual(memory.u8.subarray(pos, pos + 6));
      }
      const next = entries[i + 1];
      if (next) expect(format.compare(memory, pos, memory, next.pos, 1)).toBeLessThanOrEqual(0);
    });
    expect(found).toBeGreaterThan(index.least);
  });
});
