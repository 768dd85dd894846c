// Our control file: what is written is read back, and whatever is wrong with the bytes is refused in words.
import { readFileSync } from 'node:fs';
import { isStorageError, type StorageError } from '@blockwright/base';
import {
  CONTROL_FIELDS,
  CONTROL_FILE_BYTES,
  CONTROL_VERSION,
  type ControlFile,
  type ControlState,
  crc32c,
  decodeControlFile,
  encodeControlFile,
  initialControlFile,
  readControlFile,
  writeControlFile,
} from '@blockwright/control';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const uint32 = fc.oneof(
  fc.integer({ min: 0, max: 0xffff_ffff }),
  fc.constantFrom(0, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
);
const timeMs = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const longest = Number.MAX_SAFE_INTEGER;
const checkpoints = fc
  .record({ redo: fc.nat({ max: longest - 2 }), ahead: fc.nat(1 << 30), behind: fc.nat(1 << 30), timeMs })
  .map(({ redo, ahead, behind, timeMs }) => {
    const record = Math.min(redo + ahead, longest - 1);
    return { redo, record, durable: Math.min(record + 1 + behind, longest), timeMs };
  });
const incarnations = fc.tuple(uint32, uint32).map((both) => both.sort((a, b) => a - b) as [number, number]);
const controls: fc.Arbitrary<ControlFile> = fc
  .record({
    version: fc.constant(CONTROL_VERSION),
    blockSize: fc.constantFrom(...BLOCK_SIZES),
    segmentBlocks: fc.integer({ min: 0, max: 15 }).map((shift) => 1 << shift),
    dataChecksums: fc.boolean(),
    systemIdentifier: fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }).map(String),
    state: fc.constantFrom<ControlState>(
      'starting up',
      'shut down',
      'shutting down',
      'in crash recovery',
      'in production',
    ),
    walSegmentSize: fc.integer({ min: 20, max: 30 }).map((shift) => 1 << shift),
    checkpoint: checkpoints,
    incarnations,
    nextXid: uint32,
    nextXidEpoch: uint32,
    oldestXid: uint32,
    nextOid: uint32,
    createdMs: timeMs,
    modifiedMs: timeMs,
  })
  .map(({ incarnations: [older, newer], checkpoint, ...rest }) => {
    return { ...rest, walIncarnation: newer, checkpoint: { ...checkpoint, incarnation: older } };
  });

function refusal(bytes: Uint8Array): StorageError {
  try {
    decodeControlFile(bytes, '/data/global/control');
  } catch (error) {
    if (isStorageError(error)) return error;
    throw error;
  }
  throw new Error('the bytes were taken for a control file');
}

/** A file with bytes changed and the CRC made right again. */
function forged(change: (view: DataView) => void): Uint8Array {
  const bytes = encodeControlFile(initialControlFile({ blockSize: 4096, nowMs: 1_000_000 }));
  const view = new DataView(bytes.buffer);
  change(view);
  view.setUint32(CONTROL_FIELDS.crc as number, crc32c(bytes, 0, CONTROL_FIELDS.crc), true);
  return bytes;
}
const at = (field: string): number => CONTROL_FIELDS[field] as number;

describe('format', () => {
  test('what is written is read back', () => {
    fc.assert(
      fc.property(controls, (control) => {
        const bytes = encodeControlFile(control);
        expect(bytes.length).toBe(CONTROL_FILE_BYTES);
        expect(decodeControlFile(bytes)).toEqual(control);
      }),
      { numRuns: 300 },
    );
  });

  test('the table and the picture in the source say the places that the code uses', () => {
    const source = readFileSync(new URL('../src/control-format.ts', import.meta.url), 'utf8');
    const rows = [...source.matchAll(/^\/\/ \|\s+(\d+) \|\s+(\d+) \| (\S+)/gm)].map((row) => ({
      byte: Number(row[1]),
      bytes: Number(row[2]),
      field: row[3] as string,
    }));
    expect(Object.fromEntries(rows.map(({ field, byte }) => [field, byte]))).toEqual(CONTROL_FIELDS);
    rows.forEach(({ byte, bytes }, i) => {
      expect(byte + bytes).toBe(rows[i + 1]?.byte ?? CONTROL_FILE_BYTES);
    });
    const picture = source.split('\n').find((line) => /^\/\/ +0 +8 /.test(line)) as string;
    const numbers = picture.match(/\d+/g)?.map(Number);
    expect(numbers).toEqual(rows.map(({ byte }) => byte));
  });

  test('the bytes of a known file', () => {
    const bytes = encodeControlFile({
      ...initialControlFile({ blockSize: '16kB', systemIdentifier: '72623859790382856', nowMs: 0x0102030405 }),
      walIncarnation: 7,
      checkpoint: { record: 0x1_ffff_fffe, redo: 0x1_0000_0003, durable: 0x2_0000_0004, incarnation: 6, timeMs: 9 },
    });
    const words = Array.from(new Uint32Array(bytes.buffer.slice(0, 120)), (word) => word.toString(16)).join(' ');
    expect(new TextDecoder().decode(bytes.subarray(0, 8))).toBe('BWcontrl');
    expect(words.split(' ').slice(2).join(' ')).toBe(
      '3 4000 5060708 1020304 7 1 1 1000000 10000 0 fffffffe 1 3 1 3 0 3 4000 9 0 2030405 1 2030405 1 4 2 6 0',
    );
  });
});

describe('damage', () => {
  test('any byte changed is noticed', () => {
    const good = encodeControlFile(initialControlFile());
    for (let i = 0; i < good.length; i++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const bytes = good.slice();
        bytes[i] = (bytes[i] as number) ^ flip;
        expect(refusal(bytes).code).toBe('XX001');
      }
    }
  });

  test('any other length is noticed', () => {
    const good = encodeControlFile(initialControlFile());
    for (let length = 0; length < good.length; length++) expect(refusal(good.subarray(0, length)).code).toBe('XX001');
    const longer = new Uint8Array(good.length + 1);
    longer.set(good);
    expect(refusal(longer).message).toContain('more than 512 bytes');
    expect(refusal(good.subarray(0, 100)).message).toBe('control file "/data/global/control" has 100 bytes, not 512');
    expect(refusal(new Uint8Array(0)).message).toContain('does not begin as a control file does');
  });

  test('half old and half new is noticed, wherever it was cut', () => {
    const old = encodeControlFile(initialControlFile({ systemIdentifier: '1', nowMs: 1 }));
    const fresh = encodeControlFile({
      ...initialControlFile({ systemIdentifier: '1', nowMs: 1 }),
      state: 'in production',
      walIncarnation: 2,
      nextXid: 99,
      modifiedMs: 2,
    });
    let mixed = 0;
    for (let cut = 0; cut <= old.length; cut++) {
      const bytes = old.slice();
      bytes.set(fresh.subarray(0, cut));
      const isWhole = [old, fresh].some((whole) => Buffer.compare(whole, bytes) === 0);
      if (isWhole) continue;
      mixed++;
      expect(refusal(bytes).message).toContain('its CRC is wrong');
    }
    expect(mixed).toBeGreaterThan(400);
  });

  test('random bytes are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        expect(refusal(bytes).code).toBe('XX001');
      }),
    );
  });

  test('pg_control is not taken for ours', () => {
    const bytes = readFileSync(new URL('../../../fixtures/pg/8k/pgdata/global/pg_control', import.meta.url));
    expect(refusal(bytes.subarray(0, 512)).message).toContain('is not one');
  });

  test.each([3000, 0, 512, 65536, 8191])('a block size of %i under a right CRC is refused', (blockSize) => {
    const error = refusal(forged((view) => view.setUint32(at('blockSize'), blockSize, true)));
    expect(error.code).toBe('XX001');
    expect(error.message).toContain(`a block size of ${blockSize}`);
  });

  test('another version is refused with both numbers', () => {
    const error = refusal(forged((view) => view.setUint32(at('version'), 7, true)));
    expect(error.code).toBe('0A000');
    expect(error.message).toBe('control file "/data/global/control" has version 7, this is 3');
  });

  test.each<[string, (view: DataView) => void, string]>([
    ['state', (view) => view.setUint32(at('state'), 2, true), 'a state 2'],
    ['checksums', (view) => view.setUint32(at('dataChecksums'), 2, true), '2 for data checksums'],
    ['WAL segments', (view) => view.setUint32(at('walSegmentSize'), 12345678, true), 'WAL segments of 12345678 bytes'],
    ['small WAL segments', (view) => view.setUint32(at('walSegmentSize'), 1 << 19, true), 'WAL segments of 524288'],
    ['segments', (view) => view.setUint32(at('segmentBlocks'), 3, true), 'segments of 3 blocks'],
    ['no segments', (view) => view.setUint32(at('segmentBlocks'), 0, true), 'segments of 0 blocks'],
    ['large segments', (view) => view.setUint32(at('segmentBlocks'), 1 << 19, true), 'segments of 524288 blocks'],
    ['time', (view) => view.setBigUint64(at('createdMs'), 1n << 60n, true), 'createdMs 11529215046068'],
    [
      'checkpoint',
      (view) => view.setUint32(at('checkpoint.record') + 4, 1 << 21, true),
      'checkpoint.record 9007199254740992',
    ],
    [
      'redo point',
      (view) => view.setUint32(at('checkpoint.redo'), 1, true),
      'a redo point 0/1 behind its checkpoint 0/0',
    ],
    [
      'durable position',
      (view) => view.setUint32(at('checkpoint.record'), 9, true),
      'durable up to 0/0 and a checkpoint at 0/9',
    ],
    ['incarnation', (view) => view.setUint32(at('checkpoint.incarnation'), 2, true), 'of WAL incarnation 2 of 1'],
    ['reserved word', (view) => view.setUint32(at('zero'), 1, true), 'not zero where no field is'],
    ['reserved bytes', (view) => view.setUint8(at('crc') - 1, 1), 'not zero where no field is'],
  ])('a wrong %s under a right CRC is refused', (_, change, words) => {
    const error = refusal(forged(change));
    expect(error.code).toBe('XX001');
    expect(error.message).toContain(words);
  });

  test('the canary: an unchanged forgery is a good file', () => {
    expect(decodeControlFile(forged(() => {})).blockSize).toBe(4096);
  });
});

describe('a new file', () => {
  test('says what initdb chose', () => {
    const control = initialControlFile({ blockSize: '2kB', dataChecksums: false, walSegmentSize: 1 << 20 });
    expect(control).toMatchObject({
      blockSize: 2048,
      segmentBlocks: 1 << 19,
      dataChecksums: false,
      walSegmentSize: 1 << 20,
      state: 'shut down',
      walIncarnation: 1,
    });
    expect(initialControlFile().dataChecksums).toBe(true);
    expect(initialControlFile().systemIdentifier).not.toBe(initialControlFile().systemIdentifier);
  });

  test('refuses what it cannot say', () => {
    expect(() => initialControlFile({ blockSize: 3000 })).toThrow(/1kB.*32kB/);
    expect(() => initialControlFile({ walSegmentSize: 3 << 20 })).toThrow(RangeError);
    expect(() => initialControlFile({ walSegmentSize: 1 << 19 })).toThrow(RangeError);
    expect(() => initialControlFile({ segmentBlocks: 3 })).toThrow(RangeError);
    expect(() => initialControlFile({ systemIdentifier: '-1' })).toThrow(RangeError);
    expect(() => initialControlFile({ systemIdentifier: '18446744073709551616' })).toThrow(RangeError);
    expect(() => initialControlFile({ blocksize: 4096 } as object)).toThrow(/did you mean "blockSize"/);
    const good = initialControlFile();
    expect(() => encodeControlFile({ ...good, nextXid: -1 })).toThrow(/nextXid -1/);
    expect(() => encodeControlFile({ ...good, state: 'asleep' as 'shut down' })).toThrow(/the state asleep/);
    expect(() => encodeControlFile({ ...good, version: 1 })).toThrow(/version 1/);
  });
});

describe('on disk', () => {
  function disk(): MemoryVfs {
    const vfs = new MemoryVfs();
    vfs.mkdir('/data');
    vfs.mkdir('/data/global');
    return vfs;
  }

  test('is replaced whole, and synced before and after the rename', () => {
    const vfs = disk();
    const first = writeControlFile(vfs, '/data', initialControlFile({ nowMs: 5 }));
    expect(first.createdMs).toBe(5);
    expect(first.modifiedMs).toBeGreaterThan(5);
    expect(readControlFile(vfs, '/data')).toEqual(first);
    vfs.journal.length = 0;
    const second = writeControlFile(vfs, '/data', { ...first, state: 'in production' });
    const steps = vfs.journal.map(({ operation, path }) => `${operation} ${path}`);
    expect(steps).toEqual([
      'open /data/global/control.tmp',
      'truncate /data/global/control.tmp',
      'write /data/global/control.tmp',
      'sync /data/global/control.tmp',
      'rename /data/global/control',
      'syncDirectory /data/global',
    ]);
    expect(readControlFile(vfs, '/data')).toEqual(second);
  });

  test.each(['open', 'truncate', 'write', 'sync', 'rename'] as const)('stays as it was when %s fails', (operation) => {
    const vfs = disk();
    const first = writeControlFile(vfs, '/data', initialControlFile());
    const fault = vfs.plant({ operation, errno: operation === 'write' ? 'ENOSPC' : 'EIO' });
    expect(() => writeControlFile(vfs, '/data', { ...first, state: 'in production' })).toThrow(/global\/control/);
    expect(fault.hits).toBe(1);
    expect(readControlFile(vfs, '/data')).toEqual(first);
    expect(vfs.readdir('/data/global')).toEqual(['control']);
  });

  test('a missing one is said to be', () => {
    expect(() => readControlFile(disk(), '/data')).toThrow(
      expect.objectContaining({ code: '58P01', message: expect.stringContaining('/data/global/control') }),
    );
  });

  test('a block size that the caller has wrong is refused, with both', () => {
    const vfs = disk();
    writeControlFile(vfs, '/data', initialControlFile({ blockSize: 16384 }));
    expect(readControlFile(vfs, '/data', { blockSize: 16384 }).blockSize).toBe(16384);
    expect(() => readControlFile(vfs, '/data', { blockSize: 8192 })).toThrow(
      expect.objectContaining({
        code: '55000',
        message: expect.stringMatching(/global.control" says that the block size is 16 ?kB, not 8 ?kB/),
      }),
    );
  });

  test('a file cut short on disk, or with bytes after it, is refused', () => {
    const vfs = disk();
    writeControlFile(vfs, '/data', initialControlFile());
    const file = vfs.open('/data/global/control', 'r+');
    file.truncate(511);
    expect(() => readControlFile(vfs, '/data')).toThrow(/has 511 bytes, not 512/);
    file.truncate(100_000);
    expect(() => readControlFile(vfs, '/data')).toThrow(/has more than 512 bytes, not 512/);
    expect(vfs.calls('read').every(({ length = 0 }) => length <= 513)).toBe(true);
  });
});

test('CRC-32C of the usual test strings', () => {
  const ascii = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  expect(crc32c(ascii('123456789'))).toBe(0xe306_9283);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a91_36aa); // RFC 3720, B.4
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8_ab43);
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd_794e);
  expect(crc32c(ascii('6789'), 0, 4, crc32c(ascii('12345')))).toBe(0xe306_9283);
  expect(crc32c(ascii('xx123456789'), 2)).toBe(0xe306_9283);
});
