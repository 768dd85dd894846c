// J1: every way in which a WAL can end. Replay ends at the last good record and says why, and where; each also with the
// record's header cut by a page's end.
import { lsnText } from '@blockwright/base';
import { describe, expect, test } from 'vitest';
import {
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
  SEGMENT,
  seen,
} from './support.ts';

interface Scene {
  readonly image: Image;
  /** The good records before the one that is damaged. */
  readonly good: readonly RecordSpec[];
  /** Where the damaged one begins, and the page that it goes on to. */
  readonly start: number;
  readonly length: number;
  readonly page: number;
  readonly end: number;
}

/** Bytes of the victim on its first page. */
const PLACES = { 'header whole': 400, 'header cut after 8 bytes': 8, 'header cut after 16 bytes': 16 } as const;

/** A WAL whose victim has `rest` bytes on its first page, crosses two more, and is followed by good records. */
function scene(rest: number): Scene {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  const good: RecordSpec[] = [];
  const add = (spec: RecordSpec) => {
    good.push(spec);
    insert(wal, spec);
  };
  for (let i = 0; i < 30; i++) add(recordOfLength(200 + i, i));
  add(recordOfLength(2 * PAGE - rest - (wal.insertedUpTo % PAGE) + 32 - 64, 77));
  const room = PAGE - (wal.insertedUpTo % PAGE) - rest;
  if (room > 0) add(recordOfLength(room, 78));
  const victim: RecordSpec = { rmgr: 10, info: 0x20, xid: 731, main: noise(2 * PAGE, 9), blocks: [] };
  insert(wal, victim);
  const start = wal.lastStart;
  expect(PAGE - (start % PAGE)).toBe(rest);
  const end = wal.insertedUpTo;
  for (let i = 0; i < 30; i++) insert(wal, recordOfLength(300 + i, i));
  wal.write(wal.insertedUpTo);
  return { image: new Image(vfs), good, start, length: 24 + 5 + 2 * PAGE, page: start - (start % PAGE) + PAGE, end };
}

type Damage = (scene: Scene) => void;

const page =
  (change: (image: Image, page: number) => void): Damage =>
  (s) => {
    change(s.image, s.page);
    s.image.fixPage(s.page);
  };

const ENDS: Readonly<Record<string, readonly [damage: Damage, reason: (s: Scene) => string]>> = {
  'total length 0': [
    (s) => s.image.set(s.start, 4, 0),
    (s) => `invalid record length at ${lsnText(s.start)}: expected at least 24, got 0`,
  ],
  'total length 23': [
    (s) => s.image.set(s.start, 4, 23),
    (s) => `invalid record length at ${lsnText(s.start)}: expected at least 24, got 23`,
  ],
  'total length huge': [
    (s) => s.image.set(s.start, 4, 0xffff_fff0),
    (s) => `invalid record length at ${lsnText(s.start)}: expected at most 67108864, got 4294967280`,
  ],
  'total length larger than it is': [
    (s) => s.image.set(s.start, 4, s.length + 8),
    (s) =>
      `invalid remaining length ${s.length - (s.page - s.start)} (expected ${s.length + 8 - (s.page - s.start)}) at ${lsnText(s.page)}`,
  ],
  'wrong back link': [
    (s) => {
      s.image.setInRecord(s.start, 8, 8, s.start - 8);
      s.image.fixRecord(s.start, s.length);
    },
    (s) => `record with incorrect back link ${lsnText(s.start - 8)} at ${lsnText(s.start)}`,
  ],
  'back link beyond all numbers': [
    (s) => {
      s.image.setInRecord(s.start, 8, 8, 0xffffffff_fffffffen);
      s.image.fixRecord(s.start, s.length);
    },
    (s) => `record with incorrect back link FFFFFFFF/FFFFFFFE at ${lsnText(s.start)}`,
  ],
  'wrong CRC': [
    (s) => s.image.setInRecord(s.start, 20, 4, 0x12345678),
    (s) => `incorrect checksum of the record at ${lsnText(s.start)}`,
  ],
  'wrong xid': [
    (s) => s.image.setInRecord(s.start, 4, 1, 0),
    (s) => `incorrect checksum of the record at ${lsnText(s.start)}`,
  ],
  'one wrong byte of data on the last page': [
    (s) => s.image.set(s.page + PAGE + 40, 1, (s.image.read(s.page + PAGE + 40, 1)[0] as number) ^ 4),
    (s) => `incorrect checksum of the record at ${lsnText(s.start)}`,
  ],
  'a block reference under a right CRC that is none': [
    (s) => {
      s.image.setInRecord(s.start, 24, 1, 40);
      s.image.fixRecord(s.start, s.length);
    },
    (s) => `the record at ${lsnText(s.start)} is malformed: invalid block id 40`,
  ],
  'a main data length under a right CRC that is wrong': [
    (s) => {
      s.image.setInRecord(s.start, 25, 4, 2 * PAGE - 1);
      s.image.fixRecord(s.start, s.length);
    },
    (s) =>
      `the record at ${lsnText(s.start)} is malformed: its parts have ${2 * PAGE - 1} bytes where ${2 * PAGE} are left`,
  ],
  'the CRC of another incarnation': [
    (s) => s.image.fixRecord(s.start, s.length, 2),
    (s) => `incorrect checksum of the record at ${lsnText(s.start)}`,
  ],
  'next page with magic 0': [
    page((image, lsn) => image.set(lsn, 2, 0)),
    (s) =>
      `invalid magic number 0000 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  "next page with PostgreSQL's magic": [
    page((image, lsn) => image.set(lsn, 2, 0xd110)),
    (s) =>
      `invalid magic number D110 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page all zero': [
    (s) => s.image.write(s.page, new Uint8Array(PAGE)),
    (s) =>
      `invalid magic number 0000 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page with an old address': [
    page((image, lsn) => image.set(lsn + 8, 8, lsn - SEGMENT)),
    (s) =>
      `unexpected page address ${lsnText(s.page - SEGMENT)} in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page with an address beyond all numbers': [
    page((image, lsn) => image.set(lsn + 8, 8, 0xffffffff_ffffe000n)),
    (s) =>
      `unexpected page address FFFFFFFF/FFFFE000 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page with unknown flags': [
    page((image, lsn) => image.set(lsn + 2, 2, 0x0005)),
    (s) =>
      `invalid info bits 0005 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page with a long header where none belongs': [
    (s) => s.image.set(s.page + 2, 2, 0x0003),
    (s) =>
      `invalid info bits 0003: a long header in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page without continuation flag': [
    page((image, lsn) => image.set(lsn + 2, 2, 0)),
    (s) => `the record at ${lsnText(s.start)} does not continue at ${lsnText(s.page)}`,
  ],
  'next page with a wrong remaining length': [
    page((image, lsn) => image.set(lsn + 16, 4, 99)),
    (s) => `invalid remaining length 99 (expected ${s.length - (s.page - s.start)}) at ${lsnText(s.page)}`,
  ],
  'next page with remaining length 0': [
    page((image, lsn) => image.set(lsn + 16, 4, 0)),
    (s) => `invalid remaining length 0 (expected ${s.length - (s.page - s.start)}) at ${lsnText(s.page)}`,
  ],
  'next page with a wrong header checksum': [
    (s) => s.image.set(s.page + 24, 1, 0xff),
    (s) =>
      `incorrect page header checksum in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page of an older incarnation': [
    page((image, lsn) => image.set(lsn + 4, 4, 0)),
    (s) =>
      `incarnation 0 instead of 1 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
  'next page of a newer incarnation': [
    page((image, lsn) => image.set(lsn + 4, 4, 2)),
    (s) =>
      `incarnation 2 instead of 1 in WAL segment 000000010000000000000001, LSN ${lsnText(s.page)}, offset ${s.page % SEGMENT}`,
  ],
};

describe.each(Object.entries(PLACES))('with the %s', (_name, rest) => {
  test.each(Object.keys(ENDS))('%s', (name) => {
    const [damage, reason] = ENDS[name] as (typeof ENDS)[string];
    const s = scene(rest);
    damage(s);
    for (const followIncarnations of [false, true]) {
      const reader = newReader(s.image.vfs, { followIncarnations });
      reader.seek(SEGMENT);
      for (const spec of s.good) {
        expect(reader.next(), reader.endReason).toBe(true);
        expect(seen(reader.record)).toEqual(expected(spec));
      }
      expect(reader.next()).toBe(false);
      expect(reader.endReason).toBe(reason(s));
      expect(reader.endLsn).toBe(s.start);
      expect(reader.next(), 'ended it stays').toBe(false);
      expect(reader.endLsn).toBe(s.start);
      expect(reader.durableBeyondEnd(), 'nothing was ever synced').toBe(0);
      reader.close();
    }
  });

  test('undamaged, it goes on: the canary of this file', () => {
    const s = scene(rest);
    const reader = newReader(s.image.vfs);
    reader.seek(SEGMENT);
    for (const spec of s.good) {
      expect(reader.next()).toBe(true);
      expect(seen(reader.record)).toEqual(expected(spec));
    }
    for (let i = 0; i < 31; i++) expect(reader.next()).toBe(true);
    expect(reader.next()).toBe(false);
  });
});

describe('the page on which a record begins', () => {
  /** Records that end with a page, so that the next begins one. */
  function atBoundary(): { image: Image; page: number; good: number } {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    insert(wal, recordOfLength(PAGE - 48, 1));
    expect(wal.insertedUpTo).toBe(SEGMENT + PAGE);
    insert(wal, recordOfLength(100, 2));
    wal.write(wal.insertedUpTo);
    return { image: new Image(vfs), page: SEGMENT + PAGE, good: 1 };
  }

  test.each<[string, (image: Image, page: number) => void, RegExp]>([
    [
      'says that it continues one',
      (image, lsn) => image.set(lsn + 2, 2, 1),
      /a record should begin where one continues, at 0\/102020/,
    ],
    [
      'is of another incarnation',
      (image, lsn) => image.set(lsn + 4, 4, 9),
      /incarnation 9 instead of 1 in WAL segment/,
    ],
    ['has an old address', (image, lsn) => image.set(lsn + 8, 8, lsn - SEGMENT), /unexpected page address 0\/2000 in/],
  ])('%s', (_name, damage, reason) => {
    const { image, page: lsn } = atBoundary();
    damage(image, lsn);
    image.fixPage(lsn);
    const reader = newReader(image.vfs);
    reader.seek(SEGMENT);
    expect(reader.next()).toBe(true);
    expect(reader.next()).toBe(false);
    expect(reader.endReason).toMatch(reason);
    expect(reader.endLsn).toBe(lsn);
  });

  test('is in a segment that is not there, or cut', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    for (let i = 0; wal.insertedUpTo < 2 * SEGMENT + 100; i++) insert(wal, recordOfLength(1000, i));
    wal.write(wal.insertedUpTo);
    const reader = newReader(vfs);
    const second = new Image(vfs).path(2 * SEGMENT);
    const end = () => {
      const again = newReader(vfs);
      again.seek(SEGMENT);
      let count = 0;
      while (again.next()) count++;
      expect(count).toBeGreaterThan(1000);
      return again.endReason;
    };
    const file = vfs.open(second, 'r+');
    file.truncate(5000);
    expect(end()).toBe(
      'the file ends after 5000 bytes of a page in WAL segment 000000010000000000000002, LSN 0/200000, offset 0',
    );
    file.truncate(0);
    expect(end()).toBe(
      'the file ends after 0 bytes of a page in WAL segment 000000010000000000000002, LSN 0/200000, offset 0',
    );
    vfs.unlink(second);
    expect(end()).toBe('there is no WAL segment 000000010000000000000002');
    reader.close();
  });
});

describe('positions that are none', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  for (let i = 0; i < 20; i++) insert(wal, recordOfLength(1000, i));
  wal.write(wal.insertedUpTo);

  test.each([SEGMENT + 8, SEGMENT + 40, SEGMENT + PAGE + 24, SEGMENT + 49, SEGMENT + 51])('%i', (lsn) => {
    const reader = newReader(vfs);
    reader.seek(lsn);
    expect(reader.next()).toBe(false);
    expect(reader.endReason).toBe(`no record can begin at ${lsnText(lsn)}`);
  });
  test('in the middle of a record', () => {
    const reader = newReader(vfs);
    reader.seek(SEGMENT + 56);
    expect(reader.next()).toBe(false);
    expect(reader.endReason).not.toBe('');
  });
  test.each([-8, 0.5, Number.NaN, 2 ** 53])('%d is a RangeError', (lsn) => {
    expect(() => newReader(vfs).seek(lsn)).toThrow(RangeError);
    expect(() => newReader(vfs).find(lsn)).toThrow(RangeError);
  });
  test('nothing was sought', () => {
    const reader = newReader(vfs);
    expect(reader.next()).toBe(false);
    expect(reader.endReason).toBe('no position was sought');
    expect(reader.durableBeyondEnd()).toBe(0);
  });
});
