// Incarnations: what a crash left behind is never taken for what came after it (J3, J14), and a reader can follow them.
import { walPageBoundary } from '@blockwright/wal';
import { describe, expect, test } from 'vitest';
import {
  expected,
  Image,
  insert,
  newDirectory,
  newReader,
  newWriter,
  PAGE,
  type RecordSpec,
  recordOfLength,
  SEGMENT,
  seen,
} from './support.ts';

/**
 * J14: incarnation 1 writes a page's worth, then a victim that begins a page and a successor. The victim is torn;
 * recovery ends before it, and incarnation `next` writes a record of the same length in its place, of which only the
 * first sectors reach the disk: behind it lies the old successor, whose back link fits.
 */
function torn(next: number): { image: Image; page: number; fresh: RecordSpec; old: RecordSpec } {
  const vfs = newDirectory();
  const first = newWriter(vfs);
  insert(first, recordOfLength(PAGE - 48, 1));
  const page = first.insertedUpTo;
  expect(page % PAGE).toBe(0);
  const length = 512 - 32;
  insert(first, recordOfLength(length, 2));
  const old = recordOfLength(700, 3);
  insert(first, old);
  first.flush(first.insertedUpTo);
  const image = new Image(vfs);
  const successor = image.read(page + 512, PAGE - 512);
  image.set(page + 200, 4, 0); // the victim is torn
  const reader = newReader(vfs);
  reader.seek(SEGMENT);
  expect(reader.next()).toBe(true);
  expect(reader.next()).toBe(false);
  expect(reader.endLsn).toBe(page);
  const second = newWriter(vfs, {
    incarnation: next,
    start: walPageBoundary(reader.endLsn),
    previous: reader.record.lsn,
  });
  const fresh = recordOfLength(length, 4);
  insert(second, fresh);
  second.flush(second.insertedUpTo);
  image.write(page + 512, successor);
  return { image, page, fresh, old };
}

test('a successor left from before a recovery is not replayed', () => {
  const { image, page, fresh } = torn(2);
  const reader = newReader(image.vfs, { incarnation: 2 });
  reader.seek(page);
  expect(reader.next()).toBe(true);
  expect(seen(reader.record)).toEqual(expected(fresh));
  expect(reader.next()).toBe(false);
  expect(reader.endReason).toMatch(/incorrect checksum of the record at 0\/102200/);
});

test('with one incarnation for both it would be: the canary', () => {
  const { image, page, old } = torn(1);
  const reader = newReader(image.vfs, { incarnation: 1 });
  reader.seek(page);
  expect(reader.next()).toBe(true);
  expect(reader.next()).toBe(true);
  expect(seen(reader.record)).toEqual(expected(old));
});

describe('a WAL of three incarnations', () => {
  const vfs = newDirectory();
  const specs: RecordSpec[][] = [];
  const begins: number[] = [];
  const ends: number[] = [];
  let start = SEGMENT;
  let previous = 0;
  for (let incarnation = 1; incarnation <= 3; incarnation++) {
    const wal = newWriter(vfs, { incarnation, start, previous });
    const written = Array.from({ length: 100 }, (_, i) => recordOfLength(300 + 7 * i, incarnation * 1000 + i));
    for (const spec of written) insert(wal, spec);
    previous = wal.lastStart;
    const end = wal.insertedUpTo;
    insert(wal, recordOfLength(3 * PAGE, 5)); // cut by the crash
    const cut = wal.lastStart;
    wal.write(wal.insertedUpTo);
    new Image(vfs).setInRecord(cut, 20, 4, 0);
    specs.push(written);
    begins.push(start);
    ends.push(end);
    start = walPageBoundary(end);
  }

  test('is read one by one', () => {
    for (let i = 0; i < 3; i++) {
      const reader = newReader(vfs, { incarnation: i + 1 });
      reader.seek(begins[i] as number);
      for (const spec of specs[i] as RecordSpec[]) {
        expect(reader.next(), reader.endReason).toBe(true);
        expect(seen(reader.record)).toEqual(expected(spec));
        expect(reader.record.incarnation).toBe(i + 1);
      }
      expect(reader.next()).toBe(false);
      expect(reader.endLsn).toBe(ends[i]);
      expect(reader.incarnationEnd).toBeUndefined();
    }
  });

  test('is followed through, and says where each ends', () => {
    const reader = newReader(vfs, { followIncarnations: true });
    expect(reader.find(SEGMENT)).toBe(SEGMENT + 48);
    for (const [i, written] of specs.entries()) {
      for (const spec of written) {
        expect(reader.next(), reader.endReason).toBe(true);
        expect(seen(reader.record)).toEqual(expected(spec));
        expect(reader.record.incarnation).toBe(i + 1);
      }
      if (i > 0) {
        const { incarnation, lsn, reason } = reader.incarnationEnd as NonNullable<typeof reader.incarnationEnd>;
        expect([incarnation, lsn]).toEqual([i, ends[i - 1]]);
        expect(reason).toMatch(/checksum|incarnation/);
      }
    }
    expect(reader.next()).toBe(false);
    expect(reader.endLsn).toBe(ends[2]);
  });

  test('is not read on with a wrong one', () => {
    const reader = newReader(vfs, { incarnation: 2 });
    reader.seek(begins[0] as number);
    expect(reader.next()).toBe(false);
    expect(reader.endReason).toMatch(/^incarnation 1 instead of 2 in WAL segment/);
  });

  test('a lower one is never followed', () => {
    // A recovery began its incarnation before the end of the one before: older pages lie behind its end, and records of
    // theirs begin right there.
    const older = newDirectory();
    const first = newWriter(older);
    for (let i = 0; i < 6; i++) insert(first, recordOfLength(i === 0 ? PAGE - 48 : PAGE - 32, i));
    first.flush(first.insertedUpTo);
    const begin = SEGMENT + PAGE;
    const second = newWriter(older, { incarnation: 2, start: begin, previous: SEGMENT + 48 });
    const spec = recordOfLength(PAGE - 32, 99);
    insert(second, spec);
    second.flush(second.insertedUpTo);
    const reader = newReader(older, { followIncarnations: true });
    reader.seek(begin);
    expect(reader.next()).toBe(true);
    expect(seen(reader.record)).toEqual(expected(spec));
    expect(reader.next()).toBe(false);
    expect(reader.endReason).toMatch(/^incarnation 1 instead of 2 in WAL segment/);
    expect(reader.endLsn).toBe(begin + PAGE);
  });
});
