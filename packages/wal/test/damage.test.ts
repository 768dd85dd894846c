// Damage of any kind: the reader ends, or errs, and never gives a record that was not written. What was durable and is
// damaged is told from what a crash left.
import { StorageError } from '@blockwright/base';
import { WalReader } from '@blockwright/wal';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { decodeRecord } from '../src/record.ts';
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

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const RUNS = process.env.BLOCKWRIGHT_SLOW ? 100_000 : 1500;

/** A WAL of records of many kinds, flushed now and then, the last time before its end. */
function written(): { image: Image; specs: RecordSpec[]; starts: number[]; ends: number[] } {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  const specs = [
    ...fc.sample(recordSpec, { seed: 20261130, numRuns: 24 }),
    recordOfLength(24),
    recordOfLength(60),
    recordOfLength(3 * PAGE),
  ];
  const starts: number[] = [];
  const ends: number[] = [];
  for (const [i, spec] of specs.entries()) {
    ends.push(insert(wal, spec));
    starts.push(wal.lastStart);
    if (i % 4 === 0) wal.flush(wal.insertedUpTo);
  }
  wal.write(wal.insertedUpTo);
  return { image: new Image(vfs), specs, starts, ends };
}

const whole = written();
const WANTED = whole.specs.map((spec) => JSON.stringify(expected(spec)));

/** Reads all that there is. @throws Error when a record comes that was not written. */
function readAll(): { count: number; end: number; durable: number; reason: string } {
  const reader = newReader(whole.image.vfs, { incarnation: 1 });
  reader.seek(SEGMENT);
  let count = 0;
  while (reader.next()) {
    if (JSON.stringify(seen(reader.record)) !== WANTED[count]) throw new Error(`record ${count} was never written`);
    count++;
  }
  const result = { count, end: reader.endLsn, durable: reader.durableBeyondEnd(), reason: reader.endReason };
  reader.close();
  return result;
}

/** The greatest `durableUpTo` of the pages from that of `from` on, one left out. */
function durableFrom(from: number, except: number): number {
  let greatest = 0;
  const last = whole.ends.at(-1) as number;
  for (let page = from - (from % PAGE); page < last; page += PAGE) {
    if (page !== except) greatest = Math.max(greatest, whole.image.u32(page + 24));
  }
  return greatest;
}

/** Flips bits of single bytes anywhere in the WAL, and reads it each time. */
function flipBytes(runs: number): { ended: number; damagedDurable: number } {
  let ended = 0;
  let damagedDurable = 0;
  const last = whole.ends.at(-1) as number;
  fc.assert(
    fc.property(fc.integer({ min: SEGMENT, max: last - 1 }), fc.integer({ min: 1, max: 255 }), (lsn, bits) => {
      const { image, starts, ends } = whole;
      const before = image.read(lsn, 1);
      image.set(lsn, 1, (before[0] as number) ^ bits);
      try {
        const { count, end, durable, reason } = readAll();
        expect(reason).not.toBe('');
        expect(end).toBe(count === 0 ? SEGMENT : ends[count - 1]);
        // The record that has the byte does not come, nor one after it; those before do. (Padding is nobody's.)
        const hit = starts.findIndex((start, i) => start <= lsn && lsn < (ends[i] as number));
        const page = lsn - (lsn % PAGE);
        const isHeader = lsn - page < (page % SEGMENT === 0 ? 48 : 32);
        if (hit >= 0 && count <= hit) ended++;
        if (hit >= 0) expect(count).toBeGreaterThanOrEqual(hit);
        if (hit >= 0 && count > hit) expect(count).toBe(ends.length); // padding
        const claimed = durableFrom(end, isHeader ? page : -1);
        expect(durable).toBe(count < ends.length && claimed > end ? claimed : 0);
        if (durable > 0) damagedDurable++;
      } finally {
        image.write(lsn, before);
      }
    }),
    { numRuns: runs },
  );
  return { ended, damagedDurable };
}

describe('a byte flipped anywhere', () => {
  test('undamaged, all comes back', () => {
    const { count, end } = readAll();
    expect(count).toBe(whole.specs.length);
    expect(end).toBe(whole.ends.at(-1));
  });

  test('ends the WAL there, and damage of what was durable is known as such', () => {
    const { ended, damagedDurable } = flipBytes(RUNS);
    expect(ended).toBeGreaterThan(RUNS * 0.7);
    expect(damagedDurable).toBeGreaterThan(RUNS * 0.5);
  }, 600_000);

  test('is found out where the checksum is not looked at: the canary', () => {
    vi.spyOn(WalReader.prototype as any, 'accept').mockImplementation(function (this: any, ...args: any[]) {
      const [bytes, view, at, total] = args;
      return decodeRecord(this.record, bytes, view, at, total);
    });
    expect(readAll().count).toBe(whole.specs.length);
    let found: unknown;
    try {
      flipBytes(200);
    } catch (error) {
      found = (error as Error).cause;
    }
    expect(String(found)).toMatch(/was never written/);
  });
});

describe('several bytes made up, checksums or not', () => {
  test('end it too: no crash, no hang, no other record', () => {
    const last = whole.ends.at(-1) as number;
    const change = fc.record({
      lsn: fc.integer({ min: SEGMENT, max: last - 9 }),
      width: fc.constantFrom(1 as const, 2 as const, 4 as const, 8 as const),
      value: fc.oneof(
        fc.constantFrom(0n, 1n, 23n, 24n, 0x7fffffffn, 0xffffffffn, 0xffffffff_fffffffen),
        fc.bigInt(0n, 0xffffffff_ffffffffn),
      ),
      fixPage: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const undo = changes
          .map(({ lsn }) => lsn - (lsn % PAGE))
          .map((page) => [page, whole.image.read(page, PAGE)] as const);
        // A change over a page's end has its second page undone, too.
        const more = changes
          .map(({ lsn }) => lsn + 8 - ((lsn + 8) % PAGE))
          .map((page) => [page, whole.image.read(page, PAGE)] as const);
        try {
          for (const { lsn, width, value, fixPage } of changes) {
            whole.image.set(lsn, width, value);
            if (fixPage) whole.image.fixPage(lsn - (lsn % PAGE));
          }
          const { reason } = readAll();
          expect(reason).not.toBe('');
        } catch (error) {
          // A header made up whole, checksum and all, may say that the segment is another WAL's.
          if (!(error instanceof StorageError && error.code === 'XX001')) throw error;
        } finally {
          for (const [page, bytes] of [...undo, ...more]) whole.image.write(page, bytes);
        }
      }),
      { numRuns: RUNS / 5 },
    );
    expect(readAll().count).toBe(whole.specs.length);
  }, 600_000);
});

describe('a length that is made up (J2)', () => {
  /** The bytes that the reader put aside for records over pages. */
  const held = (reader: WalReader): number => (reader as any).whole.length;

  test('takes no memory beyond what pages hold', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    insert(wal, recordOfLength(100));
    insert(wal, { ...recordOfLength(24), main: noise(30 * PAGE, 5) });
    const start = wal.lastStart;
    wal.write(wal.insertedUpTo);
    const image = new Image(vfs);
    const length = 64 * 1024 * 1024;
    image.set(start, 4, length);
    const read = () => {
      const reader = newReader(vfs);
      reader.seek(SEGMENT);
      expect(reader.next()).toBe(true);
      expect(reader.next()).toBe(false);
      return reader;
    };
    const reader = read();
    expect(reader.endReason).toMatch(/invalid remaining length/);
    expect(held(reader)).toBeLessThanOrEqual(1 << 17);
    // Pages that bear the length out, one after another: what is held grows with them.
    let page = start - (start % PAGE) + PAGE;
    let got = page - start;
    for (let i = 0; i < 20; i++, page += PAGE, got += PAGE - 32) {
      image.set(page + 16, 4, length - got);
      image.fixPage(page);
    }
    const longer = read();
    expect(longer.endReason).toMatch(/invalid remaining length/);
    expect(held(longer)).toBe(1 << 18);
  });

  test('without memory for a record it is an error, not the end of the WAL', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    insert(wal, { ...recordOfLength(24), main: noise(30 * PAGE, 5) });
    wal.write(wal.insertedUpTo);
    const reader = newReader(vfs);
    reader.seek(SEGMENT);
    const { Uint8Array: Real } = globalThis;
    vi.stubGlobal(
      'Uint8Array',
      new Proxy(Real, {
        construct(target, args) {
          if (args[0] >= 1 << 17) throw new RangeError('Array buffer allocation failed');
          return Reflect.construct(target, args);
        },
      }),
    );
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: '53200' }));
    expect(reader.endReason).toBe('');
  });
});

describe('a segment of another WAL', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  for (let i = 0; i < 20; i++) insert(wal, recordOfLength(1000, i));
  wal.write(wal.insertedUpTo);

  test.each([
    [
      'system identifier',
      { systemIdentifier: '7' },
      /is of another WAL: system identifier 7234017283807667300 instead of 7$/,
    ],
    [
      'segment size',
      { segmentSize: SEGMENT * 2, directory: '/data/other' },
      /is of another WAL: segment size 1048576 instead of 2097152$/,
    ],
  ])(
    'by its %s is refused with a message',
    (_what, options: { systemIdentifier?: string; segmentSize?: number; directory?: string }, message) => {
      if (!vfs.exists('/data/other')) {
        vfs.mkdir('/data/other');
        vfs.link(`${DIRECTORY}/000000010000000000000001`, '/data/other/000000010000000000000001');
      }
      const reader = newReader(vfs, options);
      reader.seek(options.segmentSize ?? SEGMENT);
      expect(() => reader.next()).toThrow(
        expect.objectContaining({ code: 'XX001', message: expect.stringMatching(message) }),
      );
      expect(reader.endReason).toBe('');
    },
  );
  test('is read when no identifier is asked for', () => {
    const reader = newReader(vfs, { systemIdentifier: undefined });
    reader.seek(SEGMENT);
    expect(reader.next()).toBe(true);
  });
});

test('reading asks the file system for nothing but to read', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  for (let i = 0; i < 2000; i++) insert(wal, recordOfLength(1000, i));
  wal.write(wal.insertedUpTo);
  vfs.journal.length = 0;
  vfs.recording = true;
  const opened: string[] = [];
  const open = vfs.open.bind(vfs);
  vfs.open = (path, mode) => {
    opened.push(mode);
    return open(path, mode);
  };
  const reader = newReader(vfs);
  reader.seek(SEGMENT);
  let count = 0;
  while (reader.next()) count++;
  reader.durableBeyondEnd();
  reader.find(SEGMENT + 5000);
  reader.close();
  expect(count).toBe(2000);
  expect(new Set(vfs.journal.map((entry) => entry.operation))).toEqual(new Set(['open', 'read']));
  expect(new Set(opened)).toEqual(new Set(['r']));
});

test('an error of the disk is an error, not the end of the WAL', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  for (let i = 0; i < 2000; i++) insert(wal, recordOfLength(1000, i));
  wal.write(wal.insertedUpTo);
  const reader = newReader(vfs);
  reader.seek(SEGMENT);
  expect(reader.next()).toBe(true);
  vfs.plant({ operation: 'read', path: '000000010000000000000002', errno: 'EIO' });
  expect(() => {
    while (reader.next());
  }).toThrow(expect.objectContaining({ code: '58030' }));
  expect(reader.endReason).toBe('');
});
