// What is written is read back: records of any size, through small segments and a small ring, whatever their position.
import { lsnText } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  expected,
  insert,
  newDirectory,
  newReader,
  newWriter,
  noise,
  PAGE,
  recordOfLength,
  recordSpec,
  SEGMENT,
  seen,
} from './support.ts';

describe('records', () => {
  test('come back as they were written, in order, with their positions', () => {
    fc.assert(
      fc.property(
        fc.array(recordSpec, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(1 << 16, 1 << 22),
        fc.array(fc.nat(11), { maxLength: 3 }),
        (specs, bufferBytes, flushes) => {
          const vfs = newDirectory();
          const wal = newWriter(vfs, { bufferBytes });
          const positions = specs.map((spec, i) => {
            const end = insert(wal, spec);
            if (flushes.includes(i)) wal.flush(end);
            return { start: wal.lastStart, end };
          });
          wal.flush(wal.insertedUpTo);
          const reader = newReader(vfs);
          reader.seek(SEGMENT);
          let previous = 0;
          for (const [i, spec] of specs.entries()) {
            const where = positions[i] as (typeof positions)[number];
            expect(reader.next(), reader.endReason).toBe(true);
            const { record } = reader;
            expect(seen(record)).toEqual(expected(spec));
            expect([record.lsn, record.endLsn, record.previous]).toEqual([where.start, where.end, previous]);
            expect([record.endHigh, record.endLow]).toEqual([0, where.end | 0]);
            expect(record.incarnation).toBe(1);
            expect(reader.endLsn).toBe(where.end);
            previous = where.start;
          }
          expect(reader.next()).toBe(false);
          expect(reader.endReason).toMatch(/invalid record length|magic number 0000|no WAL segment/);
          expect(reader.endLsn).toBe(wal.insertedUpTo);
          expect(reader.durableBeyondEnd()).toBe(0);
          for (const [i, { start }] of positions.entries()) {
            reader.seek(start);
            expect(reader.next()).toBe(true);
            expect(seen(reader.record)).toEqual(expected(specs[i] as (typeof specs)[number]));
          }
          reader.close();
          wal.close();
        },
      ),
      { numRuns: process.env.BLOCKWRIGHT_SLOW ? 3000 : 120 },
    );
  }, 120_000);

  test('of every length end and begin at every place of a page', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const lengths: number[] = [];
    lengths.push(24);
    for (let total = 27; total <= 281; total++) lengths.push(total);
    // The last place of a page that a record can begin at is its last eight bytes.
    for (let rest = 8; rest <= 64; rest += 8) {
      for (const total of [24, 27, 60, 400, PAGE, 3 * PAGE]) lengths.push(-rest, total);
    }
    const written: [spec: ReturnType<typeof recordOfLength>, start: number, end: number][] = [];
    const add = (total: number) => {
      const spec = recordOfLength(total, total * 31 + written.length);
      const end = insert(wal, spec);
      written.push([spec, wal.lastStart, end]);
    };
    for (const total of lengths) {
      if (total > 0) add(total);
      else {
        // Fill the page but for that many bytes.
        const inPage = wal.insertedUpTo % PAGE;
        let fill = PAGE - inPage + total;
        if (inPage === 0) fill -= wal.insertedUpTo % SEGMENT === 0 ? 48 : 32;
        if (fill < 32) {
          add(PAGE - inPage === 8 ? 400 : 1000);
          fill = PAGE - (wal.insertedUpTo % PAGE) + total;
        }
        add(fill);
        expect(PAGE - (wal.insertedUpTo % PAGE)).toBe(-total);
      }
    }
    wal.flush(wal.insertedUpTo);
    const reader = newReader(vfs);
    reader.seek(SEGMENT);
    for (const [spec, start, end] of written) {
      expect(reader.next(), reader.endReason).toBe(true);
      expect([reader.record.lsn, reader.record.endLsn]).toEqual([start, end]);
      expect(seen(reader.record)).toEqual(expected(spec));
    }
    expect(reader.next()).toBe(false);
  });

  test('longer than the ring make it grow, over several segments', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    const small = recordOfLength(100);
    const large = { ...recordOfLength(24), main: noise(5 * SEGMENT + 77, 3) };
    const specs = [small, large, small, large];
    for (const spec of specs) insert(wal, spec);
    wal.flush(wal.insertedUpTo);
    const reader = newReader(vfs);
    reader.seek(SEGMENT);
    for (const spec of specs) {
      expect(reader.next(), reader.endReason).toBe(true);
      const { record } = reader;
      const main = record.bytes.subarray(record.dataAt, record.dataAt + record.dataLength);
      expect(Buffer.compare(main, spec.main)).toBe(0);
    }
    expect(reader.next()).toBe(false);
  });

  test('beyond 2 GB, 4 GB and where the high word is large', () => {
    for (const at of [2 ** 31, 2 ** 32, 2 ** 40 + 3 * SEGMENT, 2 ** 52]) {
      const vfs = newDirectory();
      const start = at - 2 * PAGE;
      const wal = newWriter(vfs, { start, previous: start - 400 });
      const specs = Array.from({ length: 400 }, (_, i) => recordOfLength(100 + (i % 50), i));
      const ends = specs.map((spec) => insert(wal, spec));
      wal.flush(wal.insertedUpTo);
      expect(wal.insertedUpTo).toBeGreaterThan(at);
      const reader = newReader(vfs);
      reader.seek(start);
      for (const [i, spec] of specs.entries()) {
        expect(reader.next(), reader.endReason).toBe(true);
        const { record } = reader;
        expect(seen(record)).toEqual(expected(spec));
        expect(lsnText(record.endLsn)).toBe(lsnText(ends[i] as number));
        expect((record.endHigh >>> 0) * 2 ** 32 + (record.endLow >>> 0)).toBe(ends[i]);
        if (i === 0) expect(record.previous).toBe(start - 400);
      }
      expect(reader.next()).toBe(false);
    }
  });
});

describe('find', () => {
  test('seeks the first record at or after any position', () => {
    fc.assert(
      fc.property(
        fc.array(recordSpec, { minLength: 1, maxLength: 8 }),
        fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
        (specs, picks) => {
          const vfs = newDirectory();
          const wal = newWriter(vfs);
          const starts = specs.map((spec) => {
            insert(wal, spec);
            return wal.lastStart;
          });
          wal.flush(wal.insertedUpTo);
          const reader = newReader(vfs);
          for (const pick of picks) {
            const lsn = SEGMENT + (pick % (wal.insertedUpTo - SEGMENT + PAGE));
            const wanted = starts.find((start) => start >= lsn) ?? 0;
            expect(reader.find(lsn)).toBe(wanted);
            if (wanted === 0) {
              expect(reader.endReason).not.toBe('');
              expect(reader.next()).toBe(false);
            } else {
              expect(reader.next()).toBe(true);
              expect(reader.record.lsn).toBe(wanted);
              expect(seen(reader.record)).toEqual(expected(specs[starts.indexOf(wanted)] as (typeof specs)[number]));
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

test('a WAL that grows is read on where it ended', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  const reader = newReader(vfs);
  let at = SEGMENT;
  for (let i = 0; i < 40; i++) {
    const spec = recordOfLength(500 + i * 29, i);
    insert(wal, spec);
    wal.write(wal.insertedUpTo);
    reader.seek(at);
    expect(reader.next(), reader.endReason).toBe(true);
    expect(seen(reader.record)).toEqual(expected(spec));
    expect(reader.next()).toBe(false);
    at = reader.endLsn;
    expect(at).toBe(wal.insertedUpTo);
  }
});
