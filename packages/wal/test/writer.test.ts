// The writer against disks that are full, slow of wit, or dying: what it promises holds, and it says when it cannot.
import type { MemoryVfs } from '@blockwright/vfs/memory';
import { createWal, type WalWriter } from '@blockwright/wal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DIRECTORY,
  expected,
  Image,
  insert,
  newDirectory,
  newReader,
  newWriter,
  noise,
  PAGE,
  type RecordSpec,
  recordOfLength,
  recordSpec,
  SEGMENT,
  seen,
} from './support.ts';

const FIRST = '000000010000000000000001';

function readAll(vfs: MemoryVfs, from = SEGMENT): unknown[] {
  const reader = newReader(vfs, { incarnation: 1 });
  reader.seek(from);
  const all: unknown[] = [];
  while (reader.next()) all.push(seen(reader.record));
  expect(reader.endReason).toMatch(/got 0$|magic number 0000|no WAL segment|does not continue|checksum of the record/);
  return all;
}

function code(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as { code?: string }).code ?? (error as Error).name;
  }
  return '';
}

function isZeroSegment(bytes: Uint8Array): boolean {
  return bytes.length === SEGMENT && bytes.every((byte) => byte === 0);
}

describe('reserve', () => {
  test('after it inserts ask nothing of the file system', () => {
    fc.assert(
      fc.property(fc.array(recordSpec, { minLength: 1, maxLength: 10 }), fc.nat(3), (specs, before) => {
        const vfs = newDirectory();
        const wal = newWriter(vfs);
        for (let i = 0; i < before; i++) insert(wal, recordOfLength(30_000, i));
        // Lengths are known once records are built, so a writer of its own measures them.
        const scale = newWriter(newDirectory());
        let bytes = 0;
        for (const spec of specs) {
          insert(scale, spec);
          bytes = scale.stats.bytes + 8 * specs.length;
        }
        wal.reserve(bytes);
        vfs.journal.length = 0;
        vfs.recording = true;
        for (const spec of specs) insert(wal, spec);
        expect(vfs.journal).toEqual([]);
        vfs.recording = false;
        wal.flush(wal.insertedUpTo);
        expect(readAll(vfs).slice(before)).toEqual(specs.map(expected));
      }),
      { numRuns: 100 },
    );
  });

  test('on a full disk changes nothing, and goes through when there is room', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const specs: RecordSpec[] = [];
    const fill = (count: number) => {
      for (let i = 0; i < count; i++) {
        const spec = recordOfLength(5000, specs.length);
        wal.reserve(5000);
        insert(wal, spec);
        specs.push(spec);
      }
    };
    fill(200);
    vfs.freeBytes = SEGMENT >> 1;
    expect(code(() => fill(200))).toBe('53100');
    const files = vfs.readdir(DIRECTORY);
    const { insertedUpTo } = wal;
    expect(files).toEqual([FIRST]);
    expect(code(() => wal.reserve(5000))).toBe('53100');
    expect(wal.insertedUpTo).toBe(insertedUpTo);
    expect(vfs.readdir(DIRECTORY)).toEqual(files);
    expect(wal.failed).toBeUndefined();
    wal.flush(wal.insertedUpTo);
    expect(readAll(vfs)).toEqual(specs.map(expected));
    vfs.freeBytes = Number.POSITIVE_INFINITY;
    fill(100);
    wal.flush(wal.insertedUpTo);
    expect(readAll(vfs)).toEqual(specs.map(expected));
  });

  test('a record that found no room can be inserted later, as it was built', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const spec = { ...recordOfLength(24), main: noise(SEGMENT, 1) };
    vfs.freeBytes = 0;
    expect(code(() => insert(wal, spec))).toBe('53100');
    vfs.freeBytes = Number.POSITIVE_INFINITY;
    wal.insert(spec.xid);
    wal.flush(wal.insertedUpTo);
    expect(readAll(vfs)).toEqual([expected(spec)]);
  });

  test.each([-1, Number.NaN, 2 ** 27])('of %d bytes is a RangeError', (bytes) => {
    expect(() => newWriter(newDirectory()).reserve(bytes)).toThrow(RangeError);
  });

  test('makes a segment under another name, fills and syncs it, renames it, syncs the directory', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    insert(wal, recordOfLength(500_000));
    vfs.recording = true;
    wal.reserve(600_000);
    vfs.recording = false;
    const second = `${DIRECTORY}/000000010000000000000002`;
    const calls = vfs.journal.filter(({ operation, path }) => operation !== 'stat' && !path.endsWith(FIRST));
    expect([...new Set(calls.map(({ operation, path }) => `${operation} ${path}`))]).toEqual([
      `open ${DIRECTORY}/segment.tmp`,
      `truncate ${DIRECTORY}/segment.tmp`,
      `write ${DIRECTORY}/segment.tmp`,
      `sync ${DIRECTORY}/segment.tmp`,
      `rename ${second}`,
      `syncDirectory ${DIRECTORY}`,
    ]);
    expect(isZeroSegment(vfs.readFile(second))).toBe(true);
  });

  test('takes over what a crash left of a segment being made, and refuses one of another size', () => {
    const vfs = newDirectory();
    const left = vfs.open(`${DIRECTORY}/segment.tmp`, 'create');
    left.write(noise(2 * SEGMENT, 1), 0, 2 * SEGMENT, 0);
    const wal = newWriter(vfs);
    insert(wal, recordOfLength(500_000));
    wal.reserve(600_000);
    expect(vfs.readdir(DIRECTORY)).toEqual([FIRST, '000000010000000000000002']);
    const third = vfs.open(`${DIRECTORY}/000000010000000000000003`, 'create');
    third.write(noise(100, 1), 0, 100, 0);
    expect(code(() => insert(wal, recordOfLength(2_000_000)))).toBe('XX001');
  });
});

describe('write', () => {
  test('whatever part of it the system takes at once, the same bytes arrive', () => {
    fc.assert(
      fc.property(
        fc.array(recordSpec, { minLength: 3, maxLength: 8 }),
        fc.integer({ min: 1000, max: 50_000 }),
        (specs, most) => {
          const vfs = newDirectory();
          const wal = newWriter(vfs);
          vfs.maxWriteBytes = most;
          for (const spec of specs) wal.write(insert(wal, spec));
          expect(wal.writtenUpTo).toBe(wal.insertedUpTo);
          expect(readAll(vfs)).toEqual(specs.map(expected));
        },
      ),
      { numRuns: 30 },
    );
  });

  test('that finds the disk full may be tried again', () => {
    for (const errno of ['ENOSPC', 'EDQUOT']) {
      const vfs = newDirectory();
      const wal = newWriter(vfs);
      const specs = Array.from({ length: 60 }, (_, i) => recordOfLength(2000, i));
      for (const [i, spec] of specs.entries()) {
        wal.reserve(2000);
        insert(wal, spec);
        if (i % 7 === 0) {
          const before = wal.writtenUpTo;
          vfs.plant({ operation: 'write', errno });
          expect(code(() => wal.write(wal.insertedUpTo))).toBe('53100');
          expect(wal.writtenUpTo).toBe(before);
          expect(wal.failed).toBeUndefined();
        }
      }
      wal.flush(wal.insertedUpTo);
      expect(readAll(vfs)).toEqual(specs.map(expected));
    }
  });

  test.each(['EIO', 'EPERM'])('that fails with %s is the end: nobody knows what is in the file', (errno) => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    wal.flush(insert(wal, recordOfLength(100)));
    const mark = wal.mark();
    const end = insert(wal, recordOfLength(100, 2));
    vfs.plant({ operation: 'write', errno });
    expect(code(() => wal.flush(end))).toBe(errno === 'EIO' ? '58030' : '42501');
    expect(wal.failed).toMatchObject({ code: errno === 'EIO' ? '58030' : '42501' });
    expect(wal.rewind(mark)).toBe(false);
    for (const call of [() => wal.flush(end), () => wal.reserve(10), () => insert(wal, recordOfLength(100))]) {
      expect(code(call)).toBe('58030');
    }
    wal.close();
  });

  test('goes no farther than the WAL', () => {
    const wal = newWriter(newDirectory());
    insert(wal, recordOfLength(100));
    expect(code(() => wal.flush(wal.insertedUpTo + 8))).toBe('XX001');
    expect(code(() => wal.write(2 ** 52))).toBe('XX001');
    expect(wal.failed).toBeUndefined();
    wal.flush(wal.insertedUpTo);
  });
});

describe('flush', () => {
  test('syncs once, and not at all when that was done', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const first = insert(wal, recordOfLength(100));
    const second = insert(wal, recordOfLength(100));
    vfs.recording = true;
    wal.flush(first);
    wal.flush(second);
    wal.flush(first);
    expect(vfs.calls('datasync')).toHaveLength(1);
    expect(wal.flushedUpTo).toBe(second);
    expect(wal.stats).toEqual({ records: 2, bytes: 200, images: 0, imageBytes: 0, writes: 1, syncs: 1 });
  });

  test('a full segment is synced before the next gets a byte', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    vfs.recording = true;
    for (let i = 0; wal.insertedUpTo < 4 * SEGMENT; i++) insert(wal, recordOfLength(3000, i));
    wal.flush(wal.insertedUpTo);
    let current = '';
    const synced = new Set<string>();
    for (const { operation, path } of vfs.journal) {
      if (path.endsWith('.tmp')) continue;
      if (operation === 'datasync') synced.add(path);
      if (operation === 'write' && path !== current) {
        if (current !== '') expect(synced).toContain(current);
        current = path;
      }
      if (operation === 'write') synced.delete(path);
    }
    expect(synced).toContain(current);
  });

  test('off: nothing is synced', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs, { syncMethod: 'off' });
    vfs.recording = true;
    for (let i = 0; wal.insertedUpTo < 3 * SEGMENT; i++) wal.flush(insert(wal, recordOfLength(30_000, i)));
    expect(vfs.journal.filter(({ operation }) => /sync/i.test(operation))).toEqual([]);
    expect(wal.stats.syncs).toBe(0);
    expect(wal.flushedUpTo).toBe(wal.insertedUpTo);
  });

  test.each<[string, 'datasync' | 'sync' | 'syncDirectory']>([
    ['of a segment', 'datasync'],
    ['of a new segment', 'sync'],
    ['of the directory', 'syncDirectory'],
  ])('a sync that fails, %s, is the end: nothing is tried again', async (_what, operation) => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    insert(wal, recordOfLength(500_000));
    const { flushedUpTo } = wal;
    vfs.plant({ operation, errno: 'EIO' });
    expect(
      code(() => {
        if (operation === 'datasync') wal.flush(wal.insertedUpTo);
        else wal.reserve(600_000);
      }),
    ).toBe('58030');
    expect(wal.failed).toMatchObject({ code: '58030' });
    expect(wal.flushedUpTo).toBe(flushedUpTo);
    vfs.journal.length = 0;
    vfs.recording = true;
    const calls: (() => unknown)[] = [
      () => wal.flush(wal.insertedUpTo),
      () => wal.flush(0),
      () => wal.write(0),
      () => wal.reserve(10),
      () => insert(wal, recordOfLength(100)),
      () => wal.recycle(SEGMENT, 1),
    ];
    for (const call of calls) expect(code(call)).toBe('58030');
    await expect(wal.flushAsync(0)).rejects.toMatchObject({ code: '58030' });
    expect(wal.rewind(wal.mark())).toBe(true);
    expect(vfs.journal).toEqual([]);
    wal.close();
  });

  test('each page says how far the WAL was synced when it was written: a record’s end', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const ends = new Set([SEGMENT]);
    const image = new Image(vfs);
    for (let i = 0; i < 300; i++) {
      ends.add(insert(wal, recordOfLength(300 + 11 * i, i)));
      if (i % 3 === 0) wal.write(wal.insertedUpTo);
      if (i % 5 === 0) {
        const before = wal.flushedUpTo;
        const page = wal.insertedUpTo - (wal.insertedUpTo % PAGE || PAGE);
        const isNew = wal.writtenUpTo < wal.insertedUpTo;
        wal.flush(wal.insertedUpTo);
        if (isNew) expect(image.u32(page + 24)).toBe(before);
      }
    }
    for (let page = SEGMENT; page < wal.writtenUpTo; page += PAGE) expect(ends).toContain(image.u32(page + 24));
  });
});

test('what no record fills is zero on the disk: padding, and the rest of the last page', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs); // a ring of eight pages, so that each is used again and again
  const image = new Image(vfs);
  for (let i = 0; i < 300; i++) {
    // Full of ones, so that what is left over shows.
    const main = new Uint8Array(1 + ((i * 977) % 12_000)).fill(0xff);
    const mark = wal.mark();
    insert(wal, { ...recordOfLength(24, 0xffffffff), main });
    if (i % 3 === 1) {
      wal.rewind(mark);
      insert(wal, { ...recordOfLength(24, 0xffffffff), main: main.subarray(0, main.length >> 2) });
    }
    if (i % 2 === 0) continue;
    wal.write(wal.insertedUpTo);
    const rest = (PAGE - (wal.insertedUpTo % PAGE)) % PAGE;
    expect(image.read(wal.insertedUpTo, rest).every((byte) => byte === 0)).toBe(true);
  }
  const reader = newReader(vfs);
  reader.seek(SEGMENT);
  while (reader.next()) {
    const { lsn, endLsn, totalLength } = reader.record;
    const last = [...image.places(lsn, totalLength)].at(-1) as number;
    const padding = endLsn - last - 1;
    expect(padding).toBeLessThan(8);
    if (padding > 0) expect(image.read(last + 1, padding).every((byte) => byte === 0)).toBe(true);
  }
  expect(reader.endLsn).toBe(wal.writtenUpTo);
});

describe('a new writer goes on where the last one ended', () => {
  test('wherever that was', () => {
    fc.assert(
      fc.property(fc.array(fc.array(recordSpec, { maxLength: 3 }), { minLength: 2, maxLength: 6 }), (runs) => {
        const vfs = newDirectory();
        let start = SEGMENT;
        let previous = 0;
        for (const specs of runs) {
          const wal = newWriter(vfs, { start, previous });
          for (const spec of specs) insert(wal, spec);
          wal.flush(wal.insertedUpTo);
          start = wal.insertedUpTo;
          previous = wal.lastStart;
          wal.close();
        }
        expect(readAll(vfs)).toEqual(runs.flat().map(expected));
      }),
      { numRuns: 60 },
    );
  });

  test('right behind a page header is the page itself', () => {
    const vfs = newDirectory();
    for (const start of [SEGMENT + 48, SEGMENT]) {
      const wal = newWriter(vfs, { start });
      expect(wal.insertedUpTo).toBe(SEGMENT);
      insert(wal, recordOfLength(100));
      expect(wal.lastStart).toBe(SEGMENT + 48);
    }
  });

  test('but not in the middle of a page that is not its own', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    insert(wal, recordOfLength(100));
    wal.flush(wal.insertedUpTo);
    const start = wal.insertedUpTo;
    expect(code(() => newWriter(vfs, { start, incarnation: 2 }))).toBe('XX001');
    expect(code(() => newWriter(vfs, { start: start + PAGE }))).toBe('XX001');
    expect(code(() => newWriter(vfs, { start: start + SEGMENT }))).toBe('58P01');
    new Image(vfs).set(SEGMENT + 24, 1, 5);
    expect(code(() => newWriter(vfs, { start }))).toBe('XX001');
  });

  test.each([
    { start: 0 },
    { start: SEGMENT + 4 },
    { start: Number.NaN },
    { segmentSize: 3 << 20 },
    { segmentSize: 1 << 19 },
    { systemIdentifier: '' },
    { systemIdentifier: '18446744073709551616' },
    { systemIdentifier: '-1' },
    { incarnation: -1 },
  ])('%j is a RangeError', (options) => expect(() => newWriter(newDirectory(), options)).toThrow(RangeError));
  test('the greatest system identifier is one', () => {
    const vfs = newDirectory();
    const systemIdentifier = '18446744073709551615';
    const wal = newWriter(vfs, { systemIdentifier });
    insert(wal, recordOfLength(100));
    wal.write(wal.insertedUpTo);
    const reader = newReader(vfs, { systemIdentifier });
    reader.seek(SEGMENT);
    expect(reader.next()).toBe(true);
  });
});

describe('rewind', () => {
  test('takes back what was inserted since the mark, unless that reached the files', () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: recordSpec.map((spec) => ({ kind: 'insert' as const, spec })) },
      { weight: 2, arbitrary: fc.constant({ kind: 'mark' as const }) },
      { weight: 2, arbitrary: fc.constant({ kind: 'rewind' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'write' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'flush' as const }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(1 << 16, 1 << 22), (steps, bufferBytes) => {
        const vfs = newDirectory();
        const wal = newWriter(vfs, { bufferBytes });
        let model: RecordSpec[] = [];
        let mark: { mark: ReturnType<WalWriter['mark']>; model: RecordSpec[]; start: number } | undefined;
        for (const next of steps) {
          if (next.kind === 'insert') {
            insert(wal, next.spec);
            model.push(next.spec);
          } else if (next.kind === 'mark') {
            mark = { mark: wal.mark(), model: [...model], start: wal.lastStart };
          } else if (next.kind === 'rewind' && mark !== undefined) {
            const possible = model.length === mark.model.length || wal.writtenUpTo <= mark.mark.lsn;
            expect(wal.rewind(mark.mark)).toBe(possible);
            if (possible) {
              model = mark.model;
              expect([wal.insertedUpTo, wal.lastStart]).toEqual([mark.mark.lsn, mark.start]);
              expect(wal.stats.records).toBe(model.length);
            }
            mark = undefined;
          } else if (next.kind === 'write') wal.write(wal.insertedUpTo);
          else if (next.kind === 'flush') wal.flush(wal.insertedUpTo);
        }
        wal.flush(wal.insertedUpTo);
        expect(readAll(vfs)).toEqual(model.map(expected));
      }),
      { numRuns: process.env.BLOCKWRIGHT_SLOW ? 2000 : 150 },
    );
  });

  test('after a write that failed half-way: only while the record’s end is not in a file', () => {
    for (let bytes = 0; bytes <= 4 * PAGE; bytes += 512) {
      const vfs = newDirectory();
      const wal = newWriter(vfs);
      const kept = recordOfLength(3000, 1);
      wal.flush(insert(wal, kept));
      const mark = wal.mark();
      const lost = { ...recordOfLength(24, 2), main: noise(2 * PAGE, 2) };
      insert(wal, lost);
      const endAt = wal.insertedUpTo - SEGMENT;
      if (bytes > 0) vfs.plant({ operation: 'write', bytes });
      vfs.plant({ operation: 'write', errno: 'ENOSPC', nth: bytes > 0 ? 2 : 1 });
      const failed = code(() => wal.flush(wal.insertedUpTo));
      if (bytes >= 3 * PAGE) {
        expect(failed).toBe('');
        continue;
      }
      expect(failed).toBe('53100');
      const rewound = wal.rewind(mark);
      expect(rewound).toBe(bytes < endAt);
      if (rewound) {
        // What the files got of the lost one says nothing of what is inserted in its place.
        insert(wal, recordOfLength(60, 4));
        expect(wal.rewind(mark)).toBe(true);
      }
      const next = recordOfLength(rewound ? 100 : 200, 3);
      insert(wal, next);
      wal.flush(wal.insertedUpTo);
      expect(readAll(vfs)).toEqual((rewound ? [kept, next] : [kept, lost, next]).map(expected));
    }
  });

  test('after a write whose bytes arrived though it said that the disk is full: never of a record that is there', () => {
    let back = 0;
    let kept = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 40, max: 3 * PAGE }),
        fc.integer({ min: 40, max: 3 * PAGE }),
        fc.option(fc.nat(6 * 16), { nil: 6 * 16 }),
        fc.nat(2 * 16),
        fc.boolean(),
        (before, length, arriving, shortened, zeros) => {
          // Sectors arrive whole: half a page header would be the end of all before it.
          const reached = 512 * arriving;
          const short = 512 * shortened;
          const vfs = newDirectory();
          const wal = newWriter(vfs);
          const first = recordOfLength(before, 1);
          wal.flush(insert(wal, first));
          const mark = wal.mark();
          // A record that ends in zeros is whole without its end: the file has zeros there.
          const lost = zeros
            ? { ...recordOfLength(24, 2), main: new Uint8Array(length) }
            : { ...recordOfLength(24, 2), main: noise(length, 2) };
          insert(wal, lost);
          if (short > 0) vfs.plant({ operation: 'write', bytes: short });
          const nth = short > 0 ? 2 : 1;
          vfs.plant({ operation: 'write', errno: 'ENOSPC', bytes: reached, nth });
          const failure = code(() => wal.flush(wal.insertedUpTo));
          if (failure === '') return; // the short write had it all
          expect(failure).toBe('53100');
          expect(wal.failed).toBeUndefined();
          const inFile = readAll(vfs); // what a killed process leaves
          const rewound = wal.rewind(mark);
          expect(inFile).toEqual((inFile.length === 1 ? [first] : [first, lost]).map(expected));
          expect(rewound).toBe(inFile.length === 1);
          if (rewound) back++;
          else kept++;
          const next = recordOfLength(100, 3);
          wal.flush(insert(wal, next));
          expect(readAll(vfs)).toEqual((rewound ? [first, next] : [first, lost, next]).map(expected));
        },
      ),
      { numRuns: process.env.BLOCKWRIGHT_SLOW ? 3000 : 150 },
    );
    expect(Math.min(back, kept)).toBeGreaterThan(10);
  });

  test('needs a mark of this writer that has not ended', () => {
    const wal = newWriter(newDirectory());
    const other = newWriter(newDirectory());
    insert(other, recordOfLength(100));
    expect(() => wal.rewind(other.mark())).toThrow(TypeError);
    expect(() => wal.rewind({ lsn: SEGMENT })).toThrow(TypeError);
    const early = wal.mark();
    insert(wal, recordOfLength(100));
    const late = wal.mark();
    insert(wal, recordOfLength(100));
    expect(wal.rewind(early)).toBe(true);
    expect(() => wal.rewind(late)).toThrow(TypeError);
    insert(wal, recordOfLength(100));
    expect(wal.rewind(early)).toBe(true);
    expect(wal.insertedUpTo).toBe(SEGMENT);
  });
});

describe('recycle', () => {
  /** A WAL of five segments, the last one with a little in it. */
  function long(): { vfs: MemoryVfs; wal: WalWriter; specs: RecordSpec[]; starts: number[] } {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const specs: RecordSpec[] = [];
    const starts: number[] = [];
    for (let i = 0; wal.insertedUpTo < 5 * SEGMENT + 100; i++) {
      const spec = recordOfLength(20_000, i);
      insert(wal, spec);
      specs.push(spec);
      starts.push(wal.lastStart);
    }
    wal.flush(wal.insertedUpTo);
    return { vfs, wal, specs, starts };
  }
  const names = (...numbers: number[]) =>
    numbers.map((n) => `0000000100000000${n.toString(16).toUpperCase().padStart(8, '0')}`);

  test('renames as many as are to be spare, removes the others, keeps what is needed', () => {
    const { vfs, wal, specs, starts } = long();
    expect(vfs.readdir(DIRECTORY)).toEqual(names(1, 2, 3, 4, 5));
    const keep = starts.find((start) => start > 4 * SEGMENT) as number;
    vfs.recording = true;
    expect(wal.recycle(keep, 2)).toEqual({ removed: 1, recycled: 2 });
    expect(vfs.calls('syncDirectory')).toHaveLength(1);
    vfs.recording = false;
    expect(vfs.readdir(DIRECTORY)).toEqual(names(4, 5, 6, 7));
    expect(wal.recycle(keep, 2)).toEqual({ removed: 0, recycled: 0 });
    const wanted = specs.slice(starts.indexOf(keep)).map(expected);
    const reader = newReader(vfs, { incarnation: 1 });
    reader.seek(keep);
    for (const spec of wanted) {
      expect(reader.next(), reader.endReason).toBe(true);
      expect(seen(reader.record)).toEqual(spec);
    }
    expect(reader.next()).toBe(false);
    // What lies ahead holds old pages: their addresses give them away, and they are overwritten in time.
    for (let i = 0; wal.insertedUpTo < 7 * SEGMENT + 200_000; i++) {
      const spec = recordOfLength(20_000, 1000 + i);
      insert(wal, spec);
      wanted.push(expected(spec));
    }
    wal.flush(wal.insertedUpTo);
    expect(vfs.readdir(DIRECTORY)).toEqual(names(4, 5, 6, 7));
    const again = newReader(vfs, { incarnation: 1 });
    again.seek(keep);
    for (const spec of wanted) {
      expect(again.next(), again.endReason).toBe(true);
      expect(seen(again.record)).toEqual(spec);
    }
    expect(again.next()).toBe(false);
    expect(again.endReason).toMatch(/got 0$|unexpected page address/);
    expect(again.durableBeyondEnd()).toBe(0);
  });

  test('what is not written yet keeps its segment', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs, { bufferBytes: 1 << 23 });
    const specs = Array.from({ length: 150 }, (_, i) => recordOfLength(20_000, i));
    for (const spec of specs) insert(wal, spec);
    expect(wal.insertedUpTo).toBeGreaterThan(3 * SEGMENT);
    expect(wal.recycle(wal.insertedUpTo, 0)).toEqual({ removed: 0, recycled: 0 });
    wal.flush(wal.insertedUpTo);
    expect(readAll(vfs)).toEqual(specs.map(expected));
  });

  test('where a rename fails, those done before it are durable, and the rest can be done later', () => {
    const { vfs, wal } = long();
    vfs.recording = true;
    vfs.plant({ operation: 'rename', errno: 'EIO', nth: 2 });
    expect(code(() => wal.recycle(5 * SEGMENT, 9))).toBe('58030');
    expect(vfs.calls('syncDirectory')).toHaveLength(1);
    expect(wal.failed).toBeUndefined();
    vfs.recording = false;
    expect(vfs.readdir(DIRECTORY)).toEqual(names(2, 3, 4, 5, 6));
    expect(wal.recycle(5 * SEGMENT, 9)).toEqual({ removed: 0, recycled: 3 });
    expect(vfs.readdir(DIRECTORY)).toEqual(names(5, 6, 7, 8, 9));
  });

  test('without spare ones it removes all before', () => {
    const { vfs, wal } = long();
    expect(wal.recycle(3 * SEGMENT, 0)).toEqual({ removed: 2, recycled: 0 });
    expect(vfs.readdir(DIRECTORY)).toEqual(names(3, 4, 5));
  });

  test('never touches the segment being written, nor one of another size, nor other files', () => {
    const { vfs, wal } = long();
    vfs.open(`${DIRECTORY}/README`, 'create').close();
    vfs.open(`${DIRECTORY}/${names(1)[0]}`, 'r+').truncate(99);
    expect(wal.recycle(100 * SEGMENT, 9)).toEqual({ removed: 1, recycled: 3 });
    expect(vfs.readdir(DIRECTORY)).toEqual([...names(5, 6, 7, 8), 'README']);
    wal.flush(insert(wal, recordOfLength(100)));
  });
});

test('createWal makes the directory and the first segment, and refuses what is there', () => {
  const vfs = newDirectory();
  expect(vfs.readdir(DIRECTORY)).toEqual([FIRST]);
  expect(isZeroSegment(vfs.readFile(`${DIRECTORY}/${FIRST}`))).toBe(true);
  expect(code(() => createWal({ vfs, directory: DIRECTORY, segmentSize: SEGMENT }))).toBe('58P02');
  expect(() => createWal({ vfs, directory: '/data/w', segmentSize: 1000 })).toThrow(RangeError);
  expect(createWal({ vfs, directory: '/data/w', segmentSize: 2 * SEGMENT })).toBe(2 * SEGMENT);
});

test('closed, it does nothing more; closing twice is fine', () => {
  const wal = newWriter(newDirectory());
  insert(wal, recordOfLength(100));
  wal.close();
  wal.close();
  expect(code(() => wal.flush(wal.insertedUpTo))).toBe('TypeError');
  expect(code(() => insert(wal, recordOfLength(100)))).toBe('TypeError');
  expect(wal.failed).toBeUndefined();
});
