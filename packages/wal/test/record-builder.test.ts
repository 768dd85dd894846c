// What the builder refuses, and that what it lays out are PostgreSQL's bytes.
import { RecordBuilder, WalRecord, WalWriter } from '@blockwright/wal';
import { describe, expect, test } from 'vitest';
import { decodeRecord } from '../src/record.ts';
import { insert, newDirectory, newReader, newWriter, noise, recordOfLength, SEGMENT } from './support.ts';

const relation = { tablespace: 1663, database: 5, relfilenode: 16384 };

describe('misuse is a TypeError', () => {
  const builder = () => new RecordBuilder();
  test.each<[string, () => void]>([
    ['a byte before a record', () => builder().u8(1)],
    ['two bytes before a record', () => builder().u16(1)],
    ['four bytes before a record', () => builder().u32(1)],
    ['bytes before a record', () => builder().bytes(noise(9, 1), 0, 9)],
    ['a block before a record', () => builder().block(0, relation, 0, 1, false)],
    ['main data before a record', () => builder().main()],
    ['an image before a record', () => builder().image(noise(1024, 1), 0, 1024, 0, 0, false)],
    [
      'an image without a block',
      () => {
        const b = builder();
        b.begin(1, 2);
        b.image(noise(1024, 1), 0, 1024, 0, 0, false);
      },
    ],
    [
      'an image when main data is being put',
      () => {
        const b = builder();
        b.begin(1, 2);
        b.block(0, relation, 0, 1, false);
        b.main();
        b.image(noise(1024, 1), 0, 1024, 0, 0, false);
      },
    ],
    [
      'a block id that does not rise',
      () => {
        const b = builder();
        b.begin(1, 2);
        b.block(3, relation, 0, 1, false);
        b.block(3, relation, 0, 1, false);
      },
    ],
    ['an insert of nothing', () => newWriter(newDirectory()).insert(1)],
    [
      'an insert of a record that was inserted',
      () => {
        const wal = newWriter(newDirectory());
        insert(wal, recordOfLength(100));
        wal.insert(1);
      },
    ],
    [
      'a put to a record that was inserted',
      () => {
        const wal = newWriter(newDirectory());
        insert(wal, recordOfLength(100));
        wal.record.u8(1);
      },
    ],
  ])('%s', (_name, run) => expect(run).toThrow(TypeError));

  test.each([33, -1, 0.5, Number.NaN])('a block id of %d', (id) => {
    const b = builder();
    b.begin(1, 2);
    expect(() => b.block(id, relation, 0, 1, false)).toThrow(TypeError);
  });
});

describe('what is out of range is a RangeError', () => {
  const begun = () => {
    const b = new RecordBuilder();
    b.begin(1, 2);
    b.block(0, relation, 0, 1, false);
    return b;
  };
  test.each<[string, () => void]>([
    ['resource manager', () => new RecordBuilder().begin(256, 0)],
    ['info', () => new RecordBuilder().begin(0, -1)],
    ['block number', () => begun().block(1, relation, 0, 0xffff_ffff, false)],
    ['block number below 0', () => begun().block(1, relation, 0, -1, false)],
    ['image of a size that is none', () => begun().image(noise(3000, 1), 0, 3000, 0, 0, false)],
    ['image of 512 bytes', () => begun().image(noise(3000, 1), 0, 512, 0, 0, false)],
    ['image of 64 kB', () => begun().image(noise(65536, 1), 0, 65536, 0, 0, false)],
    ['image beyond its bytes', () => begun().image(noise(8192, 1), 1, 8192, 0, 0, false)],
    ['hole beyond the image', () => begun().image(noise(8192, 1), 0, 8192, 8000, 200, false)],
    ['hole that is all', () => begun().image(noise(8192, 1), 0, 8192, 0, 8192, false)],
    ['bytes beyond the source', () => begun().bytes(noise(10, 1), 5, 6)],
    ['bytes before the source', () => begun().bytes(noise(10, 1), -1, 6)],
    [
      'data of a block above 65535 bytes',
      () => {
        const wal = newWriter(newDirectory());
        wal.record.begin(1, 2);
        wal.record.block(0, relation, 0, 1, false);
        wal.record.bytes(noise(65536, 1), 0, 65536);
        wal.insert(1);
      },
    ],
    [
      'a record above 64 MB',
      () => {
        const wal = newWriter(newDirectory());
        wal.record.begin(1, 2);
        const chunk = new Uint8Array(1 << 20);
        for (let i = 0; i < 65; i++) wal.record.bytes(chunk, 0, chunk.length);
      },
    ],
    [
      'a record above 64 MB by its header',
      () => {
        const wal = newWriter(newDirectory());
        wal.record.begin(1, 2);
        const chunk = new Uint8Array(1 << 20);
        for (let i = 0; i < 64; i++) wal.record.bytes(chunk, 0, chunk.length);
        wal.insert(1);
      },
    ],
  ])('%s', (_name, run) => expect(run).toThrow(RangeError));

  test('the most that fits does', () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs);
    wal.record.begin(1, 2);
    for (let id = 0; id <= 32; id++) {
      wal.record.block(id, relation, 0, id, false);
      wal.record.bytes(noise(65535, id), 0, 65535);
      wal.record.image(noise(32768, id), 0, 32768, 0, 0, true);
    }
    wal.insert(1);
    wal.write(wal.insertedUpTo);
    const reader = newReader(vfs);
    reader.seek(SEGMENT);
    expect(reader.next(), reader.endReason).toBe(true);
    const { record } = reader;
    expect(record.blockCount).toBe(33);
    for (let i = 0; i <= 32; i++) {
      const at = record.blockDataAt[i] as number;
      expect(Buffer.compare(record.bytes.subarray(at, at + 65535), noise(65535, i))).toBe(0);
      expect(record.imageLength[i]).toBe(32768);
      expect(record.indexOf(i)).toBe(i);
    }
    expect(record.indexOf(33)).toBe(-1);
  });
});

test('a record begun again forgets what was put before', () => {
  const vfs = newDirectory();
  const wal = newWriter(vfs);
  wal.record.begin(1, 2);
  wal.record.u32(7);
  wal.record.block(0, relation, 0, 1, false);
  wal.record.u32(8);
  wal.record.begin(3, 4);
  wal.record.u8(9);
  wal.insert(5);
  wal.write(wal.insertedUpTo);
  const reader = newReader(vfs);
  reader.seek(SEGMENT);
  expect(reader.next()).toBe(true);
  const { record } = reader;
  expect([record.rmgr, record.info, record.xid, record.blockCount, record.dataLength]).toEqual([3, 4, 5, 0, 1]);
  expect(record.u8(record.dataAt)).toBe(9);
});

test("the bytes are those of PostgreSQL's XLogRecordAssemble", () => {
  const vfs = newDirectory();
  const wal: WalWriter = newWriter(vfs);
  const { record } = wal;
  record.begin(10, 0x20);
  record.u16(0x0201);
  record.block(0, relation, 0, 0x01020304, false);
  record.bytes(Uint8Array.of(0xaa, 0xbb, 0xcc), 0, 3);
  record.block(2, relation, 2, 5, true);
  record.block(7, { ...relation, relfilenode: 16385 }, 1, 0xfffffffe, false);
  const page = noise(1024, 1);
  record.image(page, 0, 1024, 8, 1012, false);
  record.u32(0xdeadbeef); // dropped: there is an image
  record.main();
  record.u8(3);
  wal.insert(731);
  wal.write(wal.insertedUpTo);
  const file = vfs.readFile('/data/wal/000000010000000000000001');
  const hex = (from: number, length: number) => Buffer.from(file.subarray(from, from + length)).toString('hex');
  const length = 24 + 20 + 8 + 25 + 2 + 3 + 12 + 3;
  expect(hex(48, 20)).toBe(`${length.toString(16)}000000db0200000000000000000000200a0000`);
  expect(hex(48 + 24, length - 24)).toBe(
    [
      '00200300',
      '7f060000',
      '05000000',
      '00400000',
      '04030201', // block 0: main fork, data
      '02c20000',
      '05000000', // block 2: vm, will init, same relation
      '07110000',
      '0c0008000000'.slice(0, 8),
      'a3',
      '7f060000',
      '05000000',
      '01400000',
      'feffffff', // block 7: fsm, image
      'ff03', // main data
      'aabbcc',
      Buffer.from([...page.subarray(0, 8), ...page.subarray(1020)]).toString('hex'),
      '010203',
    ].join(''),
  );
  const reader = newReader(vfs);
  reader.seek(SEGMENT);
  expect(reader.next()).toBe(true);
  expect(reader.record.holeLength[2]).toBe(1012);
});

describe('a malformed record', () => {
  /** A record's bytes at index 3, with nothing good behind them. */
  function decode(parts: readonly number[], total = 24 + parts.length): string {
    const bytes = new Uint8Array(3 + total + 40).fill(0xff);
    bytes.fill(0, 3, 27);
    bytes.set(parts, 27);
    return decodeRecord(new WalRecord(), bytes, new DataView(bytes.buffer), 3, total);
  }
  const located = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0];
  test.each<[string, number[], RegExp]>([
    ['main data header cut', [255], /its main data header is cut short/],
    ['long main data header cut', [254, 1, 0, 0], /its main data header is cut short/],
    ['main data longer than the record', [255, 5, 1, 1], /its parts have 5 bytes where 2 are left/],
    ['main data shorter than the record', [255, 1, 1, 1], /its parts have 1 bytes where 2 are left/],
    ['block id 33', [33, 0, 0, 0], /invalid block id 33/],
    ['block id 253', [253, 0, 0], /invalid block id 253/],
    ['block ids that fall', [1, 0, 0, 0, ...located, 0, 0x80, 0, 0, 9, 0, 0, 0], /block id 0 after 1/],
    ['a block header cut', [1, 0, 0], /block 1: its header is cut short/],
    ['a locator cut', [1, 0, 0, 0, 1, 2], /block 1: its header is cut short/],
    ['a block number cut', [1, 0, 0, 0, ...located.slice(0, 14)], /block 1: its header is cut short/],
    ['an image header cut', [1, 0x10, 0, 0, 1, 0, 0], /block 1: its header is cut short/],
    ['data without its flag', [1, 0, 2, 0, ...located, 7, 7], /block 1: it has no data, but a length/],
    ['a flag of data without any', [1, 0x20, 0, 0, ...located], /block 1: it has no data, but a length/],
    ['a fork that there is not', [1, 4, 0, 0, ...located], /block 1: it has a fork that there is not/],
    ['the same relation as none', [1, 0x80, 0, 0, 1, 0, 0, 0], /block 1: it is of the same relation as a block before/],
    ['an image of no page size', [1, 0x10, 0, 0, 1, 0, 0, 0, 0x92, ...located, 1], /block 1: its image has no size/],
    ['an image of no bytes', [1, 0x10, 0, 0, 0, 0, 0, 0, 0xa3, ...located], /block 1: its image has no size/],
    [
      'an image longer than its page',
      [1, 0x10, 0, 0, 1, 4, 0, 0, 0xa2, ...located],
      /block 1: the hole of its image does not fit/,
    ],
    [
      'a hole without its flag',
      [1, 0x10, 0, 0, 1, 0, 0, 0, 0xa2, ...located, 1],
      /block 1: the hole of its image does not fit/,
    ],
    [
      'a hole beyond the page',
      [1, 0x10, 0, 0, 1, 0, 2, 0, 0xa3, ...located, 1],
      /block 1: the hole of its image does not fit/,
    ],
    ['nothing at all', [], /^$/],
  ])('%s', (_name, parts, reason) => expect(decode(parts)).toMatch(reason));
});
