// The bytes of the control file: 512 of them, one sector, little-endian, CRC last.
//
//   0        8    12   16       24   28   32   36   40   44   48       56       64   68   72   76   80       88       96       104      112  116     508
//   +--------+----+----+--------+----+----+----+----+----+----+--------+--------+----+----+----+----+--------+--------+--------+--------+----+-------+----+
//   | magic  |vers|blck| system |inca|stat|sums|wseg|rseg|  0 | record |  redo  |nxid|epoc|oldx|noid| chkpt  |created |modified|durable |ckin| zeros |crc |
//   +--------+----+----+--------+----+----+----+----+----+----+--------+--------+----+----+----+----+--------+--------+--------+--------+----+-------+----+
//
// | byte | bytes | field                 | meaning                                                              |
// |-----:|------:|-----------------------|----------------------------------------------------------------------|
// |    0 |     8 | magic                 | `BWcontrl`: not PostgreSQL's, whose file starts with an identifier   |
// |    8 |     4 | version               | of this format                                                       |
// |   12 |     4 | blockSize             | one of the six                                                       |
// |   16 |     8 | systemIdentifier      | drawn by initdb                                                      |
// |   24 |     4 | walIncarnation        | raised by each recovery                                              |
// |   28 |     4 | state                 | PostgreSQL's DBState number                                          |
// |   32 |     4 | dataChecksums         | 1 on, 0 off                                                          |
// |   36 |     4 | walSegmentSize        | bytes                                                                |
// |   40 |     4 | segmentBlocks         | blocks of a relation's segment file                                  |
// |   44 |     4 | zero                  |                                                                      |
// |   48 |     8 | checkpoint.record     | position of the last checkpoint's record                             |
// |   56 |     8 | checkpoint.redo       | where redo starts                                                    |
// |   64 |     4 | nextXid               |                                                                      |
// |   68 |     4 | nextXidEpoch          |                                                                      |
// |   72 |     4 | oldestXid             |                                                                      |
// |   76 |     4 | nextOid               |                                                                      |
// |   80 |     8 | checkpoint.timeMs     | milliseconds since 1970                                              |
// |   88 |     8 | createdMs             | milliseconds since 1970                                              |
// |   96 |     8 | modifiedMs            | milliseconds since 1970                                              |
// |  104 |     8 | checkpoint.durable    | WAL position known synced when the checkpoint ended                  |
// |  112 |     4 | checkpoint.incarnation | of the WAL that the checkpoint's record is in; 0 before there is one |
// |  116 |   392 | zeros                 |                                                                      |
// |  508 |     4 | crc                   | CRC-32C of all bytes before it                                       |
//
// Magic, version, length and the place of the CRC stay in every version, so that another version is told from damage.
import { fromWords, highWord, lowWord, lsnText, StorageError } from '@blockwright/base';
import { type BlockSize, isBlockSize } from '@blockwright/geometry';
import type { ControlFile, ControlState } from './control-file.ts';
import { crc32c } from './crc32c.ts';

export const CONTROL_FILE_BYTES: number = 512;
/** The version of the format that this package writes, and the only one that it reads. */
export const CONTROL_VERSION: number = 3;

const MAGIC = Uint8Array.from('BWcontrl', (letter) => letter.charCodeAt(0));

/** First byte of each field. */
export const CONTROL_FIELDS: Readonly<Record<string, number>> = Object.freeze({
  magic: 0,
  version: 8,
  blockSize: 12,
  systemIdentifier: 16,
  walIncarnation: 24,
  state: 28,
  dataChecksums: 32,
  walSegmentSize: 36,
  segmentBlocks: 40,
  zero: 44,
  'checkpoint.record': 48,
  'checkpoint.redo': 56,
  nextXid: 64,
  nextXidEpoch: 68,
  oldestXid: 72,
  nextOid: 76,
  'checkpoint.timeMs': 80,
  createdMs: 88,
  modifiedMs: 96,
  'checkpoint.durable': 104,
  'checkpoint.incarnation': 112,
  zeros: 116,
  crc: 508,
});
const F = CONTROL_FIELDS as Readonly<Record<string, number>> & Readonly<{ crc: number; zeros: number }>;

/** PostgreSQL's numbers for the states. */
const STATES: ReadonlyMap<number, ControlState> = new Map([
  [0, 'starting up'],
  [1, 'shut down'],
  [3, 'shutting down'],
  [4, 'in crash recovery'],
  [6, 'in production'],
]);

/**
 * The bytes of a control file.
 * @throws RangeError for a value that the file cannot say.
 */
export function encodeControlFile(control: ControlFile): Uint8Array {
  const wrong = faultOf(control);
  if (wrong !== undefined) throw new RangeError(`a control file cannot say ${wrong}`);
  const bytes = new Uint8Array(CONTROL_FILE_BYTES);
  const view = new DataView(bytes.buffer);
  const u32 = (field: string, value: number) => view.setUint32(F[field] as number, value, true);
  const u64 = (field: string, high: number, low: number) => setWords(view, F[field] as number, high, low);
  bytes.set(MAGIC, F.magic);
  u32('version', control.version);
  u32('blockSize', control.blockSize);
  const identifier = parseUint64(control.systemIdentifier) as { high: number; low: number };
  u64('systemIdentifier', identifier.high, identifier.low);
  u32('walIncarnation', control.walIncarnation);
  u32('state', stateNumber(control.state) as number);
  u32('dataChecksums', control.dataChecksums ? 1 : 0);
  u32('walSegmentSize', control.walSegmentSize);
  u32('segmentBlocks', control.segmentBlocks);
  const { checkpoint } = control;
  u64('checkpoint.record', highWord(checkpoint.record), lowWord(checkpoint.record));
  u64('checkpoint.redo', highWord(checkpoint.redo), lowWord(checkpoint.redo));
  u64('checkpoint.durable', highWord(checkpoint.durable), lowWord(checkpoint.durable));
  u32('checkpoint.incarnation', checkpoint.incarnation);
  u32('nextXid', control.nextXid);
  u32('nextXidEpoch', control.nextXidEpoch);
  u32('oldestXid', control.oldestXid);
  u32('nextOid', control.nextOid);
  u64('checkpoint.timeMs', highWord(checkpoint.timeMs), lowWord(checkpoint.timeMs));
  u64('createdMs', highWord(control.createdMs), lowWord(control.createdMs));
  u64('modifiedMs', highWord(control.modifiedMs), lowWord(control.modifiedMs));
  u32('crc', crc32c(bytes, 0, F.crc));
  return bytes;
}

/**
 * What the bytes of a control file say. `path` is for messages.
 * @throws StorageError XX001 when they are damaged, or are no control file; 0A000 for another version.
 */
export function decodeControlFile(bytes: Uint8Array, path: string = 'control'): ControlFile {
  const damaged = (what: string, detail?: string) =>
    new StorageError('XX001', `control file "${path}" ${what}`, {
      detail,
      hint: 'It is replaced whole, so a crash does not explain this. Restore it from a backup.',
    });
  if (!MAGIC.every((byte, i) => bytes[i] === byte)) {
    throw damaged('is not one: it does not begin as a control file does', `It has ${bytes.length} bytes.`);
  }
  if (bytes.length !== CONTROL_FILE_BYTES) {
    const length =
      bytes.length < CONTROL_FILE_BYTES ? `${bytes.length} bytes` : `more than ${CONTROL_FILE_BYTES} bytes`;
    throw damaged(`has ${length}, not ${CONTROL_FILE_BYTES}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const u32 = (field: string) => view.getUint32(F[field] as number, true);
  const high = (field: string) => view.getUint32((F[field] as number) + 4, true);
  const long = (field: string) => fromWords(high(field), u32(field));
  const crc = crc32c(bytes, 0, F.crc);
  if (crc !== u32('crc'))
    throw damaged('is damaged: its CRC is wrong', `Stored ${hex(u32('crc'))}, computed ${hex(crc)}.`);
  if (u32('version') !== CONTROL_VERSION) {
    throw new StorageError(
      '0A000',
      `control file "${path}" has version ${u32('version')}, this is ${CONTROL_VERSION}`,
      {
        hint: 'Use the release that made the directory; there is no upgrade but dump and load.',
      },
    );
  }
  const state = STATES.get(u32('state'));
  if (state === undefined) throw damaged(`says a state ${u32('state')} that does not exist`);
  if (u32('dataChecksums') > 1) throw damaged(`says ${u32('dataChecksums')} for data checksums, not 0 or 1`);
  if (u32('zero') !== 0 || bytes.subarray(F.zeros, F.crc).some((byte) => byte !== 0)) {
    throw damaged('has bytes that are not zero where no field is');
  }
  const control: ControlFile = {
    version: u32('version'),
    blockSize: u32('blockSize') as BlockSize,
    segmentBlocks: u32('segmentBlocks'),
    dataChecksums: u32('dataChecksums') === 1,
    systemIdentifier: view.getBigUint64(F.systemIdentifier as number, true).toString(),
    walIncarnation: u32('walIncarnation'),
    state,
    walSegmentSize: u32('walSegmentSize'),
    checkpoint: {
      record: long('checkpoint.record'),
      redo: long('checkpoint.redo'),
      durable: long('checkpoint.durable'),
      incarnation: u32('checkpoint.incarnation'),
      timeMs: long('checkpoint.timeMs'),
    },
    nextXid: u32('nextXid'),
    nextXidEpoch: u32('nextXidEpoch'),
    oldestXid: u32('oldestXid'),
    nextOid: u32('nextOid'),
    createdMs: long('createdMs'),
    modifiedMs: long('modifiedMs'),
  };
  const wrong = faultOf(control);
  if (wrong !== undefined) throw damaged(`cannot be right: it says ${wrong}`);
  return control;
}

/** The first value that a control file must not have, in words. */
function faultOf(control: ControlFile): string | undefined {
  const { blockSize, segmentBlocks, walSegmentSize, systemIdentifier, checkpoint } = control;
  if (control.version !== CONTROL_VERSION) return `version ${control.version}`;
  if (!isBlockSize(blockSize)) return `a block size of ${String(blockSize)}`;
  const blockShift = 31 - Math.clz32(blockSize);
  if (!isPowerOfTwo(segmentBlocks, 0, 30 - blockShift)) return `segments of ${String(segmentBlocks)} blocks`;
  if (!isPowerOfTwo(walSegmentSize, 20, 30)) return `WAL segments of ${String(walSegmentSize)} bytes`;
  if (typeof systemIdentifier !== 'string' || parseUint64(systemIdentifier) === undefined) {
    return `the system identifier ${String(systemIdentifier)}`;
  }
  if (stateNumber(control.state) === undefined) return `the state ${String(control.state)}`;
  const words = {
    walIncarnation: control.walIncarnation,
    nextXid: control.nextXid,
    nextXidEpoch: control.nextXidEpoch,
    oldestXid: control.oldestXid,
    nextOid: control.nextOid,
    'checkpoint.incarnation': checkpoint.incarnation,
  };
  for (const [name, value] of Object.entries(words)) {
    if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) return `${name} ${String(value)}`;
  }
  const longs = {
    createdMs: control.createdMs,
    modifiedMs: control.modifiedMs,
    'checkpoint.timeMs': checkpoint.timeMs,
    'checkpoint.record': checkpoint.record,
    'checkpoint.redo': checkpoint.redo,
    'checkpoint.durable': checkpoint.durable,
  };
  for (const [name, value] of Object.entries(longs)) {
    if (!Number.isSafeInteger(value) || value < 0) return `${name} ${String(value)}`;
  }
  return faultOfCheckpoint(control);
}

/** Positions that contradict each other. A checkpoint that is none yet has zeros throughout. */
function faultOfCheckpoint({ checkpoint, walIncarnation }: ControlFile): string | undefined {
  const { record, redo, durable, incarnation } = checkpoint;
  if (redo > record) return `a redo point ${lsnText(redo)} behind its checkpoint ${lsnText(record)}`;
  if (record !== 0 && durable <= record) {
    return `WAL durable up to ${lsnText(durable)} and a checkpoint at ${lsnText(record)}`;
  }
  if (incarnation > walIncarnation) return `a checkpoint of WAL incarnation ${incarnation} of ${walIncarnation}`;
  return undefined;
}

function stateNumber(state: ControlState): number | undefined {
  for (const [number, name] of STATES) if (name === state) return number;
  return undefined;
}

function isPowerOfTwo(value: number, leastShift: number, mostShift: number): boolean {
  if (!Number.isInteger(value) || value < 1 << leastShift || value > 1 << mostShift) return false;
  return (value & (value - 1)) === 0;
}

/** The words of a decimal number below 2^64. */
function parseUint64(text: string): { high: number; low: number } | undefined {
  if (!/^(0|[1-9]\d{0,19})$/.test(text)) return undefined;
  let high = 0;
  let low = 0;
  for (const digit of text) {
    const next = low * 10 + Number(digit);
    high = high * 10 + highWord(next);
    low = lowWord(next);
  }
  return high > 0xffff_ffff ? undefined : { high, low };
}

function setWords(view: DataView, at: number, high: number, low: number): void {
  view.setUint32(at, low, true);
  view.setUint32(at + 4, high, true);
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}
