// How a data directory is opened.
import { checkOptions } from '@blockwright/base';
import { COMPACTIONS, type Compaction } from '@blockwright/page';
import { NodeVfs, type Vfs } from '@blockwright/vfs';
import { guarded } from './callbacks.ts';
import { parseMemorySize } from './sizes.ts';

export interface OpenOptions {
  /** Refuse every change; not one byte of the directory's files is written. */
  readonly readOnly?: boolean;
  /** Size of the buffer pool in bytes, or text such as `128MB`, the default. */
  readonly sharedBuffers?: number | string;
  /** false: commits do not wait for the disk, unless a transaction asks otherwise. True by default. */
  readonly synchronousCommit?: boolean;
  /** How pages are compacted, here and in recovery; `adaptive` by default. */
  readonly compaction?: Compaction;
  /** false: no full-page images, so that a torn page is not healed. For measuring only; true by default. */
  readonly fullPageImages?: boolean;
  /** Bytes that building an index may take before it sorts in files, or text; 64MB by default. PostgreSQL: `maintenance_work_mem`. */
  readonly maintenanceWorkMem?: number | string;
  /** Milliseconds between checkpoints; 5 minutes by default. PostgreSQL: `checkpoint_timeout`. */
  readonly checkpointTimeoutMs?: number;
  /** About so many bytes of WAL are kept for recovery, or text; 1GB by default. PostgreSQL: `max_wal_size`. */
  readonly maxWalBytes?: number | string;
  /** Bytes of the WAL's buffers, or text. PostgreSQL: `wal_buffers`. */
  readonly walBufferBytes?: number | string;
  /**
   * Commits that do not wait for the disk are synced about so many milliseconds later, off the thread; 200 by default.
   * Infinity: not before something else syncs. PostgreSQL: `wal_writer_delay`.
   */
  readonly walWriterDelayMs?: number;
  /**
   * Gets the lines that a server would write to its log: of recovery, of checkpoints. What it throws becomes a warning, and
   * has no effect.
   */
  readonly onLog?: (line: string) => void;
  /** Measure in recovery what compaction, buffer look-up and file opening take: a few per cent slower. */
  readonly recoveryTiming?: boolean;
  /** Told of what is wrong and was passed over, such as a damaged map page. What it throws is a warning of the process. */
  readonly onWarning?: (message: string) => void;
  /** For tests: what is lent (pages, batches) reads as nonsense once it was given back. Slow. */
  readonly debugPoison?: boolean;
  /** The file system; node:fs by default. */
  readonly vfs?: Vfs;
}

/** The options with their defaults, sizes in bytes. */
export interface OpenSettings {
  readonly readOnly: boolean;
  readonly sharedBytes: number;
  readonly maintenanceBytes: number;
  readonly synchronousCommit: boolean;
  readonly compaction: Compaction;
  readonly fullPageImages: boolean;
  readonly checkpointTimeoutMs: number | undefined;
  readonly maxWalBytes: number | undefined;
  readonly walBufferBytes: number | undefined;
  readonly walWriterDelayMs: number;
  readonly onLog: ((line: string) => void) | undefined;
  readonly recoveryTiming: boolean;
  readonly onWarning: ((message: string) => void) | undefined;
  readonly debugPoison: boolean;
  readonly vfs: Vfs;
}

const KNOWN_OPTIONS: readonly (keyof OpenOptions)[] = [
  'readOnly',
  'sharedBuffers',
  'maintenanceWorkMem',
  'synchronousCommit',
  'compaction',
  'fullPageImages',
  'checkpointTimeoutMs',
  'maxWalBytes',
  'walBufferBytes',
  'walWriterDelayMs',
  'onLog',
  'recoveryTiming',
  'onWarning',
  'debugPoison',
  'vfs',
];
const DEFAULT_SHARED_BUFFERS = '128MB';
const DEFAULT_MAINTENANCE_WORK_MEM = '64MB';
const DEFAULT_WAL_WRITER_DELAY_MS = 200;

/** @throws TypeError for an option that nobody knows, RangeError for a value that cannot be. */
export function openSettings(options: OpenOptions): OpenSettings {
  checkOptions('Database.open', options, KNOWN_OPTIONS);
  const { compaction = 'adaptive', checkpointTimeoutMs, walWriterDelayMs = DEFAULT_WAL_WRITER_DELAY_MS } = options;
  if (!COMPACTIONS.includes(compaction)) {
    throw new RangeError(`compaction "${String(compaction)}" is not one of ${COMPACTIONS.join(', ')}`);
  }
  if (checkpointTimeoutMs !== undefined && !(checkpointTimeoutMs > 0)) {
    throw new RangeError(`checkpointTimeoutMs ${String(checkpointTimeoutMs)} is not a positive number`);
  }
  if (!(walWriterDelayMs > 0)) {
    throw new RangeError(`walWriterDelayMs ${String(walWriterDelayMs)} is not a positive number`);
  }
  const onWarning = guarded('onWarning', options.onWarning);
  return {
    readOnly: options.readOnly ?? false,
    sharedBytes: parseMemorySize('sharedBuffers', options.sharedBuffers ?? DEFAULT_SHARED_BUFFERS),
    maintenanceBytes: parseMemorySize('maintenanceWorkMem', options.maintenanceWorkMem ?? DEFAULT_MAINTENANCE_WORK_MEM),
    synchronousCommit: options.synchronousCommit ?? true,
    compaction,
    fullPageImages: options.fullPageImages ?? true,
    checkpointTimeoutMs,
    maxWalBytes: optionalSize('maxWalBytes', options.maxWalBytes),
    walBufferBytes: optionalSize('walBufferBytes', options.walBufferBytes),
    walWriterDelayMs,
    onLog: guarded('onLog', options.onLog, onWarning),
    recoveryTiming: options.recoveryTiming ?? false,
    onWarning,
    debugPoison: options.debugPoison ?? false,
    vfs: options.vfs ?? new NodeVfs(),
  };
}

function optionalSize(what: string, size: number | string | undefined): number | undefined {
  return size === undefined ? undefined : parseMemorySize(what, size);
}
