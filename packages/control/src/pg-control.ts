// PostgreSQL's pg_control, read only, of versions 13 to 18 on little-endian machines with 8-byte alignment.
// PostgreSQL: pg_control.h; the labels are those of pg_controldata.
//
//   0        8    12   16   24       32       40                128      136  ...  172        204  208    216 ... 252  256   257   288  292
//   +--------+----+----+----+--------+--------+-----------------+--------+---------+----------+----+------+-------+----+-----+-----+----+
//   | system |vers|catv|stat|  time  | chkpnt | checkPointCopy  |unlogged| recovery| settings |algn|double| sizes |sums|(sig)|nonce|crc |
//   +--------+----+----+----+--------+--------+-----------------+--------+---------+----------+----+------+-------+----+-----+-----+----+
//
// Three formats are the same up to the checksum version at 252: 1300 (PostgreSQL 13 to 16), 1700 (17) and 1800 (18),
// which puts the signedness of char in front of the nonce and so moves the CRC from 288 to 292.
import { formatLsn, StorageError } from '@blockwright/base';
import { type BlockSize, isBlockSize } from '@blockwright/geometry';
import { crc32c } from './crc32c.ts';

/** Path of the control file below a PostgreSQL data directory. */
export const PG_CONTROL_PATH: string = 'global/pg_control';
/** Bytes of the whole file; those after the CRC are zeros and are not looked at. PostgreSQL: `PG_CONTROL_FILE_SIZE`. */
export const PG_CONTROL_FILE_BYTES: number = 1 << 13;

interface Layout {
  readonly servers: string;
  readonly charSignedness: number | undefined;
  readonly nonce: number;
  readonly crc: number;
}
const UP_TO_17: Omit<Layout, 'servers'> = { charSignedness: undefined, nonce: 256, crc: 288 };
const LAYOUTS: ReadonlyMap<number, Layout> = new Map([
  [1300, { servers: '13 to 16', ...UP_TO_17 }],
  [1700, { servers: '17', ...UP_TO_17 }],
  [1800, { servers: '18', charSignedness: 256, nonce: 257, crc: 292 }],
]);

/** What pg_control says. LSNs are in PostgreSQL's text form; times are milliseconds since 1970. */
export interface PgControl {
  readonly pgControlVersion: number;
  readonly catalogVersion: number;
  readonly systemIdentifier: string;
  readonly state: string;
  readonly modifiedMs: number;
  readonly checkpoint: PgCheckpoint;
  readonly unloggedLsn: string;
  readonly minRecoveryPoint: string;
  readonly minRecoveryPointTimeline: number;
  readonly backupStartPoint: string;
  readonly backupEndPoint: string;
  readonly backupEndRequired: boolean;
  readonly walLevel: string;
  readonly walLogHints: boolean;
  readonly maxConnections: number;
  readonly maxWorkerProcesses: number;
  readonly maxWalSenders: number;
  readonly maxPreparedTransactions: number;
  readonly maxLocksPerTransaction: number;
  readonly trackCommitTimestamp: boolean;
  readonly maxAlign: number;
  readonly blockSize: BlockSize;
  /** Blocks of a segment file of a relation. */
  readonly segmentBlocks: number;
  readonly walBlockSize: number;
  readonly walSegmentSize: number;
  readonly maxIdentifierLength: number;
  readonly maxIndexColumns: number;
  readonly toastMaxChunkSize: number;
  readonly largeObjectChunkSize: number;
  readonly float8ByValue: boolean;
  /** 0: no checksums. */
  readonly dataChecksumVersion: number;
  /** Whether char is signed where the directory was made; from PostgreSQL 18 on. */
  readonly charSigned: boolean | undefined;
  /** In hexadecimal. */
  readonly mockAuthenticationNonce: string;
}

/** The copy of the last checkpoint's record. PostgreSQL: `CheckPoint`. */
export interface PgCheckpoint {
  readonly location: string;
  readonly redo: string;
  readonly redoWalFile: string;
  readonly timeline: number;
  readonly previousTimeline: number;
  readonly fullPageWrites: boolean;
  readonly nextXid: number;
  readonly nextXidEpoch: number;
  readonly nextOid: number;
  readonly nextMultiXact: number;
  readonly nextMultiOffset: number;
  readonly oldestXid: number;
  readonly oldestXidDatabase: number;
  readonly oldestActiveXid: number;
  readonly oldestMultiXact: number;
  readonly oldestMultiXactDatabase: number;
  readonly oldestCommitTimestampXid: number;
  readonly newestCommitTimestampXid: number;
  readonly timeMs: number;
}

/** PostgreSQL: `dbState`, pg_controldata.c. */
const STATES: readonly string[] = [
  'starting up',
  'shut down',
  'shut down in recovery',
  'shutting down',
  'in crash recovery',
  'in archive recovery',
  'in production',
];
const WAL_LEVELS: readonly string[] = ['minimal', 'replica', 'logical'];
/** What `floatFormat` must be. PostgreSQL: `FLOATFORMAT_VALUE`. */
const FLOAT_FORMAT = 1_234_567;

/**
 * What the bytes of a pg_control file say. `path` is for messages.
 * @throws StorageError 0A000 for a version that is not of PostgreSQL 13 to 18, or a machine of another kind; XX001 when
 * the bytes are damaged: too few, a wrong CRC, a block size that does not exist.
 */
export function readPgControl(bytes: Uint8Array, path: string = PG_CONTROL_PATH): PgControl {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const layout = layoutOf(view, path);
  const damaged = (what: string, detail?: string) => new StorageError('XX001', `"${path}" ${what}`, { detail });
  if (bytes.length < layout.crc + 4) throw damaged(`is cut short: it has ${bytes.length} bytes`);
  const u32 = (at: number) => view.getUint32(at, true);
  const i32 = (at: number) => view.getInt32(at, true);
  const crc = crc32c(bytes, 0, layout.crc);
  if (crc !== u32(layout.crc)) {
    throw damaged(
      'is damaged: its CRC is wrong',
      `Stored ${u32(layout.crc).toString(16)}, computed ${crc.toString(16)}.`,
    );
  }
  if (view.getFloat64(208, true) !== FLOAT_FORMAT || u32(204) !== 8) {
    throw new StorageError('0A000', `"${path}" is of a machine with another alignment or another form of floats`, {
      detail: `Alignment ${u32(204)}, float check ${view.getFloat64(208, true)}; 8 and ${FLOAT_FORMAT} can be read.`,
    });
  }
  if (!isBlockSize(u32(216))) throw damaged(`cannot be right: it says a block size of ${u32(216)}`);
  if (u32(220) === 0) throw damaged('cannot be right: it says segments of 0 blocks');
  const walSegmentSize = u32(228);
  if (walSegmentSize < 1 << 20 || walSegmentSize > 1 << 30 || (walSegmentSize & (walSegmentSize - 1)) !== 0) {
    throw damaged(`cannot be right: it says WAL segments of ${walSegmentSize} bytes`);
  }
  const flag = (at: number) => bytes[at] !== 0;
  const lsn = (at: number) => formatLsn(u32(at + 4), u32(at));
  const ms = (at: number) => Number(view.getBigInt64(at, true)) * 1000;
  return {
    systemIdentifier: view.getBigUint64(0, true).toString(),
    pgControlVersion: u32(8),
    catalogVersion: u32(12),
    state: STATES[u32(16)] ?? 'unrecognized status code',
    modifiedMs: ms(24),
    checkpoint: {
      location: lsn(32),
      redo: lsn(40),
      redoWalFile: walFileName(u32(48), u32(44), u32(40), walSegmentSize),
      timeline: u32(48),
      previousTimeline: u32(52),
      fullPageWrites: flag(56),
      nextXid: u32(64),
      nextXidEpoch: u32(68),
      nextOid: u32(72),
      nextMultiXact: u32(76),
      nextMultiOffset: u32(80),
      oldestXid: u32(84),
      oldestXidDatabase: u32(88),
      oldestMultiXact: u32(92),
      oldestMultiXactDatabase: u32(96),
      timeMs: ms(104),
      oldestCommitTimestampXid: u32(112),
      newestCommitTimestampXid: u32(116),
      oldestActiveXid: u32(120),
    },
    unloggedLsn: lsn(128),
    minRecoveryPoint: lsn(136),
    minRecoveryPointTimeline: u32(144),
    backupStartPoint: lsn(152),
    backupEndPoint: lsn(160),
    backupEndRequired: flag(168),
    walLevel: WAL_LEVELS[u32(172)] ?? 'unrecognized "wal_level"',
    walLogHints: flag(176),
    maxConnections: i32(180),
    maxWorkerProcesses: i32(184),
    maxWalSenders: i32(188),
    maxPreparedTransactions: i32(192),
    maxLocksPerTransaction: i32(196),
    trackCommitTimestamp: flag(200),
    maxAlign: u32(204),
    blockSize: u32(216) as BlockSize,
    segmentBlocks: u32(220),
    walBlockSize: u32(224),
    walSegmentSize,
    maxIdentifierLength: u32(232),
    maxIndexColumns: u32(236),
    toastMaxChunkSize: u32(240),
    largeObjectChunkSize: u32(244),
    float8ByValue: flag(248),
    dataChecksumVersion: u32(252),
    charSigned: layout.charSignedness === undefined ? undefined : flag(layout.charSignedness),
    mockAuthenticationNonce: hex(bytes.subarray(layout.nonce, layout.nonce + 32)),
  };
}

/** The version stands at the same place in every PostgreSQL, so it is looked at before all else. */
function layoutOf(view: DataView, path: string): Layout {
  if (view.byteLength < 12) throw new StorageError('XX001', `"${path}" is cut short: it has ${view.byteLength} bytes`);
  const version = view.getUint32(8, true);
  const layout = LAYOUTS.get(version);
  if (layout !== undefined) return layout;
  const swapped = LAYOUTS.has(view.getUint32(8, false));
  const known = [...LAYOUTS].map(([number, { servers }]) => `${number} (PostgreSQL ${servers})`).join(', ');
  throw new StorageError('0A000', `"${path}" has pg_control version ${version}`, {
    detail: `Versions that can be read: ${known}.`,
    hint: swapped ? 'The file is of a big-endian machine.' : undefined,
  });
}

/** Name of the WAL segment file that holds a position. PostgreSQL: `XLogFileName`, xlog_internal.h. */
function walFileName(timeline: number, high: number, low: number, segmentSize: number): string {
  const segment = low >>> (31 - Math.clz32(segmentSize));
  return [timeline, high, segment].map((word) => word.toString(16).toUpperCase().padStart(8, '0')).join('');
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** pg_controldata's lines, as label and value in its own words and order; times are UTC. */
export function pgControlLabels(control: PgControl): [label: string, value: string][] {
  const c = control.checkpoint;
  const onOff = (on: boolean) => (on ? 'on' : 'off');
  const lines: [string, string | number][] = [
    ['pg_control version number', control.pgControlVersion],
    ['Catalog version number', control.catalogVersion],
    ['Database system identifier', control.systemIdentifier],
    ['Database cluster state', control.state],
    ['pg_control last modified', formatTime(control.modifiedMs)],
    ['Latest checkpoint location', c.location],
    ["Latest checkpoint's REDO location", c.redo],
    ["Latest checkpoint's REDO WAL file", c.redoWalFile],
    ["Latest checkpoint's TimeLineID", c.timeline],
    ["Latest checkpoint's PrevTimeLineID", c.previousTimeline],
    ["Latest checkpoint's full_page_writes", onOff(c.fullPageWrites)],
    ["Latest checkpoint's NextXID", `${c.nextXidEpoch}:${c.nextXid}`],
    ["Latest checkpoint's NextOID", c.nextOid],
    ["Latest checkpoint's NextMultiXactId", c.nextMultiXact],
    ["Latest checkpoint's NextMultiOffset", c.nextMultiOffset],
    ["Latest checkpoint's oldestXID", c.oldestXid],
    ["Latest checkpoint's oldestXID's DB", c.oldestXidDatabase],
    ["Latest checkpoint's oldestActiveXID", c.oldestActiveXid],
    ["Latest checkpoint's oldestMultiXid", c.oldestMultiXact],
    ["Latest checkpoint's oldestMulti's DB", c.oldestMultiXactDatabase],
    ["Latest checkpoint's oldestCommitTsXid", c.oldestCommitTimestampXid],
    ["Latest checkpoint's newestCommitTsXid", c.newestCommitTimestampXid],
    ['Time of latest checkpoint', formatTime(c.timeMs)],
    ['Fake LSN counter for unlogged rels', control.unloggedLsn],
    ['Minimum recovery ending location', control.minRecoveryPoint],
    ["Min recovery ending loc's timeline", control.minRecoveryPointTimeline],
    ['Backup start location', control.backupStartPoint],
    ['Backup end location', control.backupEndPoint],
    ['End-of-backup record required', control.backupEndRequired ? 'yes' : 'no'],
    ['wal_level setting', control.walLevel],
    ['wal_log_hints setting', onOff(control.walLogHints)],
    ['max_connections setting', control.maxConnections],
    ['max_worker_processes setting', control.maxWorkerProcesses],
    ['max_wal_senders setting', control.maxWalSenders],
    ['max_prepared_xacts setting', control.maxPreparedTransactions],
    ['max_locks_per_xact setting', control.maxLocksPerTransaction],
    ['track_commit_timestamp setting', onOff(control.trackCommitTimestamp)],
    ['Maximum data alignment', control.maxAlign],
    ['Database block size', control.blockSize],
    ['Blocks per segment of large relation', control.segmentBlocks],
    ['WAL block size', control.walBlockSize],
    ['Bytes per WAL segment', control.walSegmentSize],
    ['Maximum length of identifiers', control.maxIdentifierLength],
    ['Maximum columns in an index', control.maxIndexColumns],
    ['Maximum size of a TOAST chunk', control.toastMaxChunkSize],
    ['Size of a large-object chunk', control.largeObjectChunkSize],
    ['Date/time type storage', '64-bit integers'],
    ['Float8 argument passing', control.float8ByValue ? 'by value' : 'by reference'],
    ['Data page checksum version', control.dataChecksumVersion],
  ];
  if (control.charSigned !== undefined) {
    lines.push(['Default char data signedness', control.charSigned ? 'signed' : 'unsigned']);
  }
  lines.push(['Mock authentication nonce', control.mockAuthenticationNonce]);
  return lines.map(([label, value]) => [label, String(value)]);
}

/** A time as C's `%c` prints it in the C locale, in UTC: `Mon Nov 30 15:27:26 2026`, the day padded with a space. */
export function formatTime(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return '???';
  // toUTCString: Mon, 30 Nov 2026 15:27:26 GMT
  const [weekday, day, month, year, time] = date.toUTCString().replace(',', '').split(' ') as string[];
  return `${weekday} ${month} ${(day as string).replace(/^0/, ' ')} ${time} ${year}`;
}
