// Relation files as they lie: PostgreSQL's own at every block size, and every file that is none or not the right one.
import { createHash } from 'node:crypto';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';
import { RelationFile } from '../src/index.ts';
import { churn, expected, inMemory, lineitem, pgFile, put, toasted, vacuumed } from './postgres-files.ts';

interface Visibility {
  readonly all_visible: boolean;
}

/** A row as PostgreSQL writes a record as text: what is empty or has a separator in it is quoted. */
function recordText(values: readonly unknown[]): string {
  const quoted = values.map((value) => {
    const text = String(value);
    return /^$|[\s,()"\\]/.test(text) ? `"${text.replace(/["\\]/g, '$&$&')}"` : text;
  });
  return `(${quoted.join(',')})`;
}

function md5OfRows(rows: Iterable<object>): string {
  const lines = [...rows].map((row) => Buffer.from(recordText(Object.values(row))));
  return createHash('md5').update(lines.sort(Buffer.compare).join('\n')).digest('hex');
}

interface Tuple {
  readonly at: number;
  readonly length: number;
  readonly infomask: number;
}

/** PostgreSQL: HEAP_XMIN_COMMITTED, HEAP_XMAX_INVALID. */
const XMIN_COMMITTED = 0x0100;
const XMAX_INVALID = 0x0800;

/** The first tuple of block 1 that is as wanted. */
function someTuple(bytes: Uint8Array, size: number, isWanted: (tuple: Tuple) => boolean): Tuple {
  const view = new DataView(bytes.buffer, size, size);
  const lower = view.getUint16(12, true);
  for (let line = 24; line < lower; line += 4) {
    const lp = view.getUint32(line, true);
    if (((lp >>> 15) & 3) !== 1) continue;
    const from = lp & 0x7fff;
    const tuple = { at: size + from, length: lp >>> 17, infomask: view.getUint16(from + 20, true) };
    if (isWanted(tuple)) return tuple;
  }
  throw new Error('block 1 has no such tuple');
}

const columns = Object.keys(lineitem.columns) as (keyof typeof lineitem.columns)[];

describe.each(BLOCK_SIZES)("PostgreSQL's files of %i-byte blocks", (size) => {
  const theirs = new Map(
    expected<{ table: string; rows: number; md5: string }>(size, 'tables.jsonl').map((one) => [one.table, one]),
  );

  it('have their block size found, and exactly the rows that PostgreSQL saw', () => {
    using file = RelationFile.open(pgFile(size, 'lineitem'), lineitem);
    expect(file.geometry.size).toBe(size);
    expect(file.blocks).toBe(expected(size, 'lineitem.visibility.jsonl').length);
    expect(md5OfRows(file.scan(lineitem, { columns }).rows())).toBe(theirs.get('lineitem')?.md5);
    expect(theirs.get('lineitem')?.rows).toBe(3000);
  });

  it('are counted alike with and without the map beside them, which spares the pages that it marks', () => {
    for (const table of [lineitem, vacuumed]) {
      using file = RelationFile.open(pgFile(size, table.name), table);
      const rows = theirs.get(table.name)?.rows;
      const marked = expected<Visibility>(size, `${table.name}.visibility.jsonl`).filter((page) => page.all_visible);
      expect(marked.length).toBeGreaterThan(0);
      expect(file.count(table)).toMatchObject({ rows, pages: file.blocks, pagesByMap: marked.length, unknown: 0 });
      expect(file.count(table, { map: false })).toMatchObject({ rows, pagesByMap: 0 });
    }
  });

  it('are refused when a bit of a page is flipped, and read when checksums are not to be verified', () => {
    const flipped = inMemory(pgFile(size, 'vacuumed'), '/flipped', (bytes) => {
      const { at, length } = someTuple(bytes, size, (tuple) => tuple.length > 100);
      bytes[at + length - 1] ^= 1; // the last letter of its last column
    });
    const pads = (file: RelationFile<typeof vacuumed>): unknown[] =>
      [...file.scan(vacuumed, { columns: ['pad'] }).rows()].map(({ pad }) => pad);
    using file = RelationFile.open('/flipped', vacuumed, { vfs: flipped });
    for (const read of [() => pads(file), () => file.count(vacuumed, { map: false })]) {
      expect(read).toThrow(expect.objectContaining({ code: 'XX001', message: expect.stringMatching(/block 1\b/) }));
    }
    using trusting = RelationFile.open('/flipped', vacuumed, { vfs: flipped, verifyChecksums: false });
    using right = RelationFile.open(pgFile(size, 'vacuumed'), vacuumed);
    const [got, wanted] = [pads(trusting), pads(right)];
    expect(got).toHaveLength(3202);
    expect(got.filter((pad, i) => pad !== wanted[i])).toHaveLength(1);
  });

  it('without checksums are not held against any, unless that is asked for', () => {
    const without = inMemory(pgFile(size, 'vacuumed'), '/plain', (bytes) => {
      for (let page = 0; page < bytes.length; page += size) bytes.fill(0, page + 8, page + 10);
    });
    using file = RelationFile.open('/plain', vacuumed, { vfs: without });
    expect(file.count(vacuumed).rows).toBe(3202);
    using strict = RelationFile.open('/plain', vacuumed, { vfs: without, verifyChecksums: true });
    expect(() => strict.count(vacuumed)).toThrow(expect.objectContaining({ code: 'XX001' }));
  });

  it('take the block size that they have, and no other', () => {
    using given = RelationFile.open(pgFile(size, 'lineitem'), lineitem, { blockSize: size });
    expect(given.count(lineitem).rows).toBe(3000);
    for (const other of BLOCK_SIZES.filter((one) => one !== size)) {
      expect(() => RelationFile.open(pgFile(size, 'lineitem'), lineitem, { blockSize: other })).toThrow(
        expect.objectContaining({ code: '55000', message: expect.stringContaining(`blocks of ${size} bytes`) }),
      );
    }
  });

  it('have a pool of as many bytes as asked', () => {
    for (const [sharedBuffers, bytes] of [
      [undefined, 2 ** 27],
      ['4MB', 2 ** 22],
      [1, 16 * size],
    ] as const) {
      using file = RelationFile.open(pgFile(size, 'lineitem'), lineitem, { sharedBuffers });
      const { pool } = file as unknown as { pool: { buffers: number } };
      expect(pool.buffers * size).toBe(bytes);
    }
  });

  it('with rows of unknown visibility are read as asked', () => {
    const doubtful = inMemory(pgFile(size, 'churn'), '/doubtful', (bytes) => {
      const isPlain = ({ infomask }: Tuple): boolean => (infomask & 0x0f00) === (XMIN_COMMITTED | XMAX_INVALID);
      bytes[someTuple(bytes, size, isPlain).at + 21] ^= XMIN_COMMITTED >>> 8;
    });
    using file = RelationFile.open('/doubtful', churn, { vfs: doubtful, verifyChecksums: false });
    const counted = (unknown: 'skip' | 'include'): number => file.count(churn, { unknown }).rows;
    const scanned = (unknown: 'skip' | 'include'): number =>
      [...file.scan(churn, { columns: ['id'], unknown }).rows()].length;
    for (const read of [() => file.count(churn), () => [...file.scan(churn, { columns: ['id'] })]]) {
      expect(read).toThrow(expect.objectContaining({ code: '0A000' }));
    }
    expect(scanned('skip')).toBe(counted('skip'));
    expect(scanned('include')).toBe(counted('include'));
    expect(counted('include') - counted('skip')).toBe(file.count(churn, { unknown: 'skip' }).unknown);
    expect(counted('include')).toBeGreaterThan(counted('skip'));
  });

  it('with values stored out of line say so, as there is no TOAST table to look in', () => {
    using file = RelationFile.open(pgFile(size, 'toasted'), toasted);
    expect(() => [...file.scan(toasted, { columns: ['ext'] }).rows()]).toThrow(
      expect.objectContaining({ code: '0A000', message: expect.stringContaining('stored out of line (TOAST)') }),
    );
    expect([...file.scan(toasted, { columns: ['id'] }).rows()]).toHaveLength(8);
  });
});

describe('a path', () => {
  it.each([
    ['base/5/16384_vm', 'the visibility map', 'base/5/16384'],
    ['/d/16384_fsm', 'the free space map', '/d/16384'],
    ['16384_init', 'the init fork', '16384'],
    ['/x.1/777.1', 'segment 1', '/x.1/777'],
    ['/x/777_vm.12', 'the visibility map', '/x/777'],
  ])('%s is refused, and the main file named', (path, part, main) => {
    // Refused by its name, before anything is opened.
    const vfs = new MemoryVfs();
    expect(() => RelationFile.open(path, lineitem, { vfs })).toThrow(
      expect.objectContaining({
        code: '55000',
        message: expect.stringContaining(`"${path}" is ${part}`),
        hint: expect.stringContaining(`"${main}"`),
      }),
    );
    expect(vfs.journal).toEqual([]);
  });

  it.each(['/lineitem.bin', '/lineitem.1', '/_vm', '/4294967296_vm', '/16384'])('%s is taken as it is', (path) => {
    using file = RelationFile.open(path, lineitem, { vfs: inMemory(pgFile(8192, 'lineitem'), path) });
    expect(file.count(lineitem).rows).toBe(3000);
  });

  it('of any name has its map and further segments beside it', () => {
    const vfs = inMemory(pgFile(8192, 'lineitem'), '/rows');
    put(vfs, '/rows_vm', inMemory(`${pgFile(8192, 'lineitem')}_vm`, '/x').readFile('/x'));
    using file = RelationFile.open('/rows', lineitem, { vfs });
    expect(file.count(lineitem)).toMatchObject({ rows: 3000, pagesByMap: file.blocks });
  });

  it.each(['/nothing-here', ''])('where no file is is refused: "%s"', (path) => {
    expect(() => RelationFile.open(path, lineitem)).toThrow(expect.objectContaining({ code: '58P01' }));
  });

  it('of a directory is refused', () => {
    expect(() => RelationFile.open(process.cwd(), lineitem)).toThrow(
      expect.objectContaining({ name: 'StorageError', message: expect.stringContaining(process.cwd()) }),
    );
  });
});

describe('a file', () => {
  it('of no bytes has no block size of its own, and no rows when it is given one', () => {
    const vfs = new MemoryVfs();
    put(vfs, '/empty', new Uint8Array(0));
    expect(() => RelationFile.open('/empty', lineitem, { vfs })).toThrow(
      expect.objectContaining({ code: '55000', hint: expect.stringContaining('blockSize') }),
    );
    using file = RelationFile.open('/empty', lineitem, { vfs, blockSize: '8kB' });
    expect([file.blocks, file.count(lineitem).rows, [...file.scan(lineitem, { columns })]]).toEqual([0, 0, []]);
  });

  it('of pages that are all zero has no rows', () => {
    const vfs = new MemoryVfs();
    put(vfs, '/zero', new Uint8Array(3 * 8192));
    expect(() => RelationFile.open('/zero', lineitem, { vfs })).toThrow(expect.objectContaining({ code: '55000' }));
    using file = RelationFile.open('/zero', lineitem, { vfs, blockSize: 8192, verifyChecksums: true });
    expect([file.blocks, file.count(lineitem).rows]).toEqual([3, 0]);
  });

  it('of anything else is refused, with a block size given too', () => {
    const garbage = Uint8Array.from({ length: 65536 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 24);
    for (const bytes of [garbage, new TextEncoder().encode('l_orderkey|l_partkey\n'.repeat(5000))]) {
      const vfs = new MemoryVfs();
      put(vfs, '/other', bytes);
      expect(() => RelationFile.open('/other', lineitem, { vfs })).toThrow(expect.objectContaining({ code: '55000' }));
      using file = RelationFile.open('/other', lineitem, { vfs, blockSize: 8192 });
      for (const read of [() => file.count(lineitem), () => [...file.scan(lineitem, { columns })]]) {
        expect(read).toThrow(expect.objectContaining({ code: 'XX001' }));
      }
    }
  });
});

describe('options', () => {
  const path = pgFile(8192, 'lineitem');

  it('that are misspelt are refused, and the right one named', () => {
    expect(() => RelationFile.open(path, lineitem, { blocksize: 8192 } as never)).toThrow(/did you mean "blockSize"/);
    using file = RelationFile.open(path, lineitem);
    expect(() => file.count(lineitem, { maps: false } as never)).toThrow(/did you mean "map"/);
    expect(() => file.scan(lineitem, { columns: ['l_tax'], unknwon: 'skip' } as never)).toThrow(/mean "unknown"/);
  });

  it('of no block size or no size of memory are refused', () => {
    expect(() => RelationFile.open(path, lineitem, { blockSize: '3kB' })).toThrow(RangeError);
    expect(() => RelationFile.open(path, lineitem, { sharedBuffers: 'huge' })).toThrow(RangeError);
    expect(() => RelationFile.open(path, lineitem, { sharedBuffers: '100000GB' })).toThrow(RangeError);
  });
});

it('is never written, and closes twice', () => {
  const vfs = inMemory(pgFile(8192, 'lineitem'), '/rows');
  vfs.journal.length = 0;
  const file = RelationFile.open('/rows', lineitem, { vfs });
  expect(file.count(lineitem).rows).toBe(3000);
  expect(file.pageStats(lineitem).pages).toBe(file.blocks);
  expect(file.bufferStats.reads).toBeGreaterThan(0);
  file.close();
  file.close();
  const reading = ['open', 'close', 'read', 'size', 'stat', 'exists', 'readdir'];
  expect(vfs.journal.map(({ operation }) => operation as string).filter((one) => !reading.includes(one))).toEqual([]);
});
