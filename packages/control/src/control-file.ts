// The control file's meaning: what it says, what a new one says, and how it is read and replaced on disk.
// Its bytes are in control-format.ts. PostgreSQL: pg_control.h, controldata_utils.c.
import { randomFillSync } from 'node:crypto';
import { checkOptions, FIRST_NORMAL_XID, type Lsn, type Oid, StorageError, type Xid } from '@blockwright/base';
import {
  BlockGeometry,
  type BlockSize,
  DEFAULT_BLOCK_SIZE,
  formatBlockSize,
  parseBlockSize,
} from '@blockwright/geometry';
import { joinPath, readFully, replaceFile, type Vfs } from '@blockwright/vfs';
import { CONTROL_FILE_BYTES, CONTROL_VERSION, decodeControlFile, encodeControlFile } from './control-format.ts';

/** Path of the control file below the data directory. PostgreSQL: `XLOG_CONTROL_FILE`. */
export const CONTROL_FILE_PATH: string = 'global/control';

/** What the data directory is doing, in the words of pg_controldata. PostgreSQL: `DBState`. */
export type ControlState = 'starting up' | 'shut down' | 'shutting down' | 'in crash recovery' | 'in production';

/** Where the last checkpoint is in the WAL: all zero before there is one. */
export interface CheckpointPosition {
  /** Where its record starts. PostgreSQL: `checkPoint`. */
  readonly record: Lsn;
  /** Where redo starts: at the record, or before it. */
  readonly redo: Lsn;
  /** How far the WAL of {@link incarnation} was known to be synced when this was written: behind the record's end. */
  readonly durable: Lsn;
  /** Of the WAL that the record is in. Smaller than the control file's own while a recovery has not ended. */
  readonly incarnation: number;
  /** Milliseconds since 1970; 0 before there is one. */
  readonly timeMs: number;
}

/** All that the control file says. */
export interface ControlFile {
  /** Of the format of this file. */
  readonly version: number;
  readonly blockSize: BlockSize;
  /** Blocks of a segment file of a relation. PostgreSQL: `relseg_size`. */
  readonly segmentBlocks: number;
  readonly dataChecksums: boolean;
  /** A number below 2^64 in decimal, drawn once by initdb. */
  readonly systemIdentifier: string;
  /** Of the WAL that is written now, or would be: raised by each recovery before it writes any. */
  readonly walIncarnation: number;
  readonly state: ControlState;
  /** Bytes of a WAL segment file: a power of two from 1 MiB to 1 GiB. */
  readonly walSegmentSize: number;
  readonly checkpoint: CheckpointPosition;
  readonly nextXid: Xid;
  readonly nextXidEpoch: number;
  readonly oldestXid: Xid;
  readonly nextOid: Oid;
  /** Milliseconds since 1970, as the two below. */
  readonly createdMs: number;
  /** When the file was written last. */
  readonly modifiedMs: number;
}

export interface InitialControlOptions {
  /** 8 kB by default. */
  readonly blockSize?: BlockSize | `${number}kB` | (string & {}) | number;
  /** On by default. */
  readonly dataChecksums?: boolean;
  /** 16 MiB by default. */
  readonly walSegmentSize?: number;
  /** Those of 1 GiB by default. */
  readonly segmentBlocks?: number;
  /** Drawn at random by default. */
  readonly systemIdentifier?: string;
  /** Milliseconds since 1970; now by default. */
  readonly nowMs?: number;
}

/** The first object id that is not of the catalogs. PostgreSQL: `FirstNormalObjectId`. */
const FIRST_NORMAL_OID = 0x4000;
const DEFAULT_WAL_SEGMENT_SIZE = 1 << 24;
const NO_CHECKPOINT: CheckpointPosition = { record: 0, redo: 0, durable: 0, incarnation: 0, timeMs: 0 };

/**
 * What the control file of a new data directory says: shut down, no checkpoint yet, the first incarnation of the WAL.
 * @throws RangeError for a block size that is none of the six, or another value that the file cannot say.
 */
export function initialControlFile(options: InitialControlOptions = {}): ControlFile {
  checkOptions('initialControlFile', options, [
    'blockSize',
    'dataChecksums',
    'walSegmentSize',
    'segmentBlocks',
    'systemIdentifier',
    'nowMs',
  ]);
  const geometry = BlockGeometry.of(parseBlockSize(options.blockSize ?? DEFAULT_BLOCK_SIZE));
  const nowMs = options.nowMs ?? Date.now();
  const control: ControlFile = {
    version: CONTROL_VERSION,
    blockSize: geometry.size,
    segmentBlocks: options.segmentBlocks ?? 1 << geometry.segmentShift,
    dataChecksums: options.dataChecksums ?? true,
    systemIdentifier: options.systemIdentifier ?? randomIdentifier(),
    walIncarnation: 1,
    state: 'shut down',
    walSegmentSize: options.walSegmentSize ?? DEFAULT_WAL_SEGMENT_SIZE,
    checkpoint: NO_CHECKPOINT,
    nextXid: FIRST_NORMAL_XID,
    nextXidEpoch: 0,
    oldestXid: FIRST_NORMAL_XID,
    nextOid: FIRST_NORMAL_OID,
    createdMs: nowMs,
    modifiedMs: nowMs,
  };
  encodeControlFile(control); // refuses what the file cannot say
  return control;
}

/** 63 random bits, as PostgreSQL's identifiers have the top bit clear in our time. */
function randomIdentifier(): string {
  const bytes = randomFillSync(new Uint8Array(8));
  const view = new DataView(bytes.buffer);
  view.setUint32(4, view.getUint32(4, true) & 0x7fff_ffff, true);
  return view.getBigUint64(0, true).toString();
}

/**
 * Reads and verifies the control file of a data directory.
 * @param options.blockSize the size that the caller goes by: another one in the file is refused.
 * @throws StorageError 58P01 when there is none, XX001 when it is damaged or is another kind of file, 0A000 for another
 * version of the format, 55000 for another block size than the caller's.
 */
export function readControlFile(vfs: Vfs, directory: string, options: { blockSize?: BlockSize } = {}): ControlFile {
  checkOptions('readControlFile', options, ['blockSize']);
  const path = joinPath(directory, CONTROL_FILE_PATH);
  const control = decodeControlFile(readHead(vfs, path, CONTROL_FILE_BYTES + 1), path);
  if (options.blockSize !== undefined) refuseOtherBlockSize(path, control.blockSize, options.blockSize);
  return control;
}

/**
 * Replaces the control file, atomically and durably, and stamps it with the time.
 * @returns what was written.
 * @throws RangeError for values that the file cannot say; StorageError when the disk refuses: then the old file stands.
 */
export function writeControlFile(vfs: Vfs, directory: string, control: ControlFile): ControlFile {
  const written = { ...control, modifiedMs: Date.now() };
  replaceFile(vfs, joinPath(directory, CONTROL_FILE_PATH), encodeControlFile(written));
  return written;
}

/** @throws StorageError 55000 that names both, when a directory's block size is not the one asked for. */
export function refuseOtherBlockSize(path: string, found: BlockSize, asked: BlockSize): void {
  if (found === asked) return;
  throw new StorageError(
    '55000',
    `"${path}" says that the block size is ${formatBlockSize(found)}, not ${formatBlockSize(asked)}`,
    { hint: 'The block size of a data directory is chosen once, when it is made; leave the option out.' },
  );
}

/** The first bytes of a file, at most `most`. */
export function readHead(vfs: Vfs, path: string, most: number): Uint8Array {
  const file = vfs.open(path, 'r');
  try {
    const bytes = new Uint8Array(most);
    return bytes.subarray(0, readFully(file, bytes, 0, most, 0));
  } finally {
    file.close();
  }
}
