// Records as plain data, written through a writer and compared with what a reader gives.
import { createHash } from 'node:crypto';
import type { ForkNumber, RelationLocator } from '@blockwright/base';
import { MemoryVfs } from '@blockwright/vfs/memory';
import {
  createWal,
  WalReader as Reader,
  type WalReader,
  type WalRecord,
  WalWriter,
  type WalWriterOptions,
} from '@blockwright/wal';
import fc from 'fast-check';

interface BlockSpec {
  readonly id: number;
  readonly locator: RelationLocator;
  readonly fork: ForkNumber;
  readonly block: number;
  readonly willInit: boolean;
  readonly data: Uint8Array;
  readonly image?: {
    readonly bytes: Uint8Array;
    readonly at: number;
    readonly size: number;
    readonly holeOffset: number;
    readonly holeLength: number;
    readonly keepData: boolean;
  };
}

export interface RecordSpec {
  readonly rmgr: number;
  readonly info: number;
  readonly xid: number;
  readonly main: Uint8Array;
  readonly blocks: readonly BlockSpec[];
}

export const DIRECTORY = '/data/wal';
export const SEGMENT = 1 << 20;
export const SYSTEM = '7234017283807667300';
export const PAGE = 8192;

export function newDirectory(): MemoryVfs {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  vfs.mkdir('/data');
  createWal({ vfs, directory: DIRECTORY, segmentSize: SEGMENT });
  return vfs;
}

export function newWriter(vfs: MemoryVfs, more: Partial<WalWriterOptions> = {}): WalWriter {
  return new WalWriter({
    vfs,
    directory: DIRECTORY,
    segmentSize: SEGMENT,
    systemIdentifier: SYSTEM,
    incarnation: 1,
    start: SEGMENT,
    previous: 0,
    bufferBytes: 1 << 16,
    ...more,
  });
}

export function newReader(vfs: MemoryVfs, more: Partial<ConstructorParameters<typeof Reader>[0]> = {}): WalReader {
  return new Reader({ vfs, directory: DIRECTORY, segmentSize: SEGMENT, systemIdentifier: SYSTEM, ...more });
}

/** Puts a record together, main data half before and half after the blocks. */
function build(wal: WalWriter, spec: RecordSpec): void {
  const { record } = wal;
  record.begin(spec.rmgr, spec.info);
  const half = spec.main.length >> 1;
  record.bytes(spec.main, 0, half);
  for (const block of spec.blocks) {
    record.block(block.id, block.locator, block.fork, block.block, block.willInit);
    const { image } = block;
    if (image !== undefined)
      record.image(image.bytes, image.at, image.size, image.holeOffset, image.holeLength, image.keepData);
    record.bytes(block.data, 0, block.data.length);
  }
  record.main();
  for (let i = half; i < spec.main.length; i++) record.u8(spec.main[i] as number);
}

export function insert(wal: WalWriter, spec: RecordSpec): number {
  build(wal, spec);
  return wal.insert(spec.xid);
}

const EXPECTED = new WeakMap<RecordSpec, unknown>();

/** What a reader should say of the record. */
export function expected(spec: RecordSpec): unknown {
  let wanted = EXPECTED.get(spec);
  if (wanted === undefined) {
    wanted = expectedOf(spec);
    EXPECTED.set(spec, wanted);
  }
  return wanted;
}

function expectedOf(spec: RecordSpec): unknown {
  return {
    rmgr: spec.rmgr,
    info: spec.info,
    xid: spec.xid,
    main: hash([spec.main]),
    blocks: spec.blocks.map(({ id, locator, fork, block, willInit, data, image }) => ({
      id,
      locator: { ...locator },
      fork,
      block,
      willInit,
      data: image === undefined || image.keepData ? hash([data]) : hash([]),
      image:
        image === undefined
          ? undefined
          : {
              holeOffset: image.holeLength === 0 ? 0 : image.holeOffset,
              holeLength: image.holeLength,
              bytes: hash([
                image.bytes.subarray(image.at, image.at + image.holeOffset),
                image.bytes.subarray(image.at + image.holeOffset + image.holeLength, image.at + image.size),
              ]),
            },
    })),
  };
}

/** What a reader says of the record. */
export function seen(record: WalRecord): unknown {
  const slice = (at: number, length: number) => record.bytes.subarray(at, at + length);
  const blocks: unknown[] = [];
  for (let i = 0; i < record.blockCount; i++) {
    blocks.push({
      id: record.blockId[i],
      locator: { tablespace: record.tablespace[i], database: record.database[i], relfilenode: record.relfilenode[i] },
      fork: record.fork[i],
      block: record.block[i],
      willInit: record.willInit[i] === 1,
      data: hash([slice(record.blockDataAt[i] as number, record.blockDataLength[i] as number)]),
      image:
        record.hasImage[i] === 1
          ? {
              holeOffset: record.holeOffset[i],
              holeLength: record.holeLength[i],
              bytes: hash([slice(record.imageAt[i] as number, record.imageLength[i] as number)]),
            }
          : undefined,
    });
  }
  return {
    rmgr: record.rmgr,
    info: record.info,
    xid: record.xid,
    main: hash([slice(record.dataAt, record.dataLength)]),
    blocks,
  };
}

/** Length and a hash of bytes that come in parts. */
function hash(parts: readonly Uint8Array[]): string {
  const digest = createHash('md5');
  let length = 0;
  for (const part of parts) {
    length += part.length;
    digest.update(part);
  }
  return `${length}:${digest.digest('hex')}`;
}

/** Bytes that look random; the same for the same seed. */
export function noise(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed | 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

const word = fc.oneof(
  fc.constantFrom(0, 1, 5, 1663, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
  fc.integer({ min: 0, max: 0xffff_ffff }),
);
const locator = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      { tablespace: 1663, database: 5, relfilenode: 16384 },
      { tablespace: 1663, database: 5, relfilenode: 16385 },
      { tablespace: 1663, database: 6, relfilenode: 16385 },
      { tablespace: 1664, database: 6, relfilenode: 16385 },
    ),
  },
  { weight: 1, arbitrary: fc.record({ tablespace: word, database: word, relfilenode: word }) },
);

const image = fc
  .record({
    shift: fc.integer({ min: 10, max: 15 }),
    at: fc.integer({ min: 0, max: 100 }),
    hole: fc.tuple(fc.integer({ min: 0, max: 0x7fff }), fc.integer({ min: 0, max: 0x7fff })),
    noHole: fc.boolean(),
    keepData: fc.boolean(),
    seed: fc.integer(),
  })
  .map(({ shift, at, hole: [a, b], noHole, keepData, seed }) => {
    const size = 1 << shift;
    const holeOffset = a & (size - 1);
    const holeLength = noHole ? 0 : Math.min(b, size - holeOffset, size - 1);
    return { bytes: noise(at + size + 3, seed), at, size, holeOffset, holeLength, keepData };
  });

/** Lengths around those at which the header changes, and any. */
const dataLength = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 2, arbitrary: fc.constantFrom(0, 1, 31, 32, 39, 40, 255, 256, 257) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 30000 }) },
);
const data = fc.tuple(dataLength, fc.integer()).map(([length, seed]) => noise(length, seed));

export const recordSpec: fc.Arbitrary<RecordSpec> = fc
  .record({
    rmgr: fc.integer({ min: 0, max: 255 }),
    info: fc.integer({ min: 0, max: 255 }),
    xid: word,
    main: data,
    ids: fc.uniqueArray(fc.integer({ min: 0, max: 32 }), { maxLength: 5 }),
    blocks: fc.array(
      fc.record({
        locator,
        fork: fc.constantFrom<ForkNumber>(0, 1, 2, 3),
        block: fc.oneof(fc.constantFrom(0, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe), fc.integer({ min: 0, max: 100000 })),
        willInit: fc.boolean(),
        data,
        image: fc.option(image, { nil: undefined, freq: 3 }),
      }),
      { minLength: 5, maxLength: 5 },
    ),
  })
  .map(({ rmgr, info, xid, main, ids, blocks }) => ({
    rmgr,
    info,
    xid,
    main,
    blocks: ids.sort((a, b) => a - b).map((id, i) => ({ id, ...(blocks[i] as (typeof blocks)[number]) })),
  }));

/** A record of exactly so many bytes: 24, 27 to 281, or 285 and more. */
export function recordOfLength(total: number, seed: number = total): RecordSpec {
  const rest = total - 24;
  const main = rest === 0 ? 0 : rest < 258 ? rest - 2 : rest - 5;
  if (main < 0 || (rest !== 0 && main === 0) || (rest > 257 && main < 256)) {
    throw new Error(`no record has ${total} bytes`);
  }
  return { rmgr: seed & 255, info: (seed >> 3) & 255, xid: seed >>> 0, main: noise(main, seed), blocks: [] };
}

/** CRC-32 bit by bit, as the textbook has it. */
export function slowCrc(bytes: Uint8Array, start = 0): number {
  let crc = ~start;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** The bytes of the WAL's files, to be changed. */
export class Image {
  readonly vfs: MemoryVfs;
  constructor(vfs: MemoryVfs) {
    this.vfs = vfs;
  }

  path(lsn: number): string {
    const low = (lsn % 2 ** 32) / SEGMENT;
    return `${DIRECTORY}/00000001${hex8(Math.floor(lsn / 2 ** 32))}${hex8(Math.floor(low))}`;
  }

  read(lsn: number, length: number): Uint8Array {
    const file = this.vfs.open(this.path(lsn), 'r');
    const bytes = new Uint8Array(length);
    file.read(bytes, 0, length, lsn % SEGMENT);
    file.close();
    return bytes;
  }

  write(lsn: number, bytes: Uint8Array): void {
    const file = this.vfs.open(this.path(lsn), 'r+');
    file.write(bytes, 0, bytes.length, lsn % SEGMENT);
    file.close();
  }

  /** Changes numbers of `width` bytes at byte positions of a record's or page's header. */
  set(lsn: number, width: 1 | 2 | 4 | 8, value: number | bigint): void {
    const bytes = new Uint8Array(width);
    let rest = BigInt(value);
    for (let i = 0; i < width; i++, rest >>= 8n) bytes[i] = Number(rest & 255n);
    this.write(lsn, bytes);
  }

  u32(lsn: number): number {
    return new DataView(this.read(lsn, 4).buffer).getUint32(0, true);
  }

  /** Puts the right checksum into the page header at `lsn`. */
  fixPage(lsn: number): void {
    const header = this.read(lsn, lsn % SEGMENT === 0 ? 48 : 32);
    const rest = Uint8Array.from([...header.subarray(0, 20), ...header.subarray(24)]);
    this.set(lsn + 20, 4, slowCrc(rest));
  }

  /** Positions of a record's bytes: page headers lie between. */
  *places(start: number, length: number): Generator<number> {
    let lsn = start;
    for (let i = 0; i < length; i++, lsn++) {
      if (lsn % PAGE === 0) lsn += lsn % SEGMENT === 0 ? 48 : 32;
      yield lsn;
    }
  }

  /** A record's bytes. */
  record(start: number, length: number): Uint8Array {
    return Uint8Array.from([...this.places(start, length)], (lsn) => this.read(lsn, 1)[0] as number);
  }

  /** Changes a number in a record, wherever pages cut it. */
  setInRecord(start: number, at: number, width: number, value: number | bigint): void {
    let rest = BigInt(value);
    for (const lsn of [...this.places(start, at + width)].slice(at)) {
      this.set(lsn, 1, rest & 255n);
      rest >>= 8n;
    }
  }

  /** Puts the right checksum into the record at `start`, for an incarnation. */
  fixRecord(start: number, length: number, incarnation = 1): void {
    const bytes = this.record(start, length);
    this.setInRecord(start, 20, 4, slowCrc(bytes.subarray(0, 20), slowCrc(bytes.subarray(24), incarnation)));
  }
}

function hex8(value: number): string {
  return value.toString(16).toUpperCase().padStart(8, '0');
}
