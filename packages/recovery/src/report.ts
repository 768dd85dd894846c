// What a recovery did, in numbers, and the lines that say so as PostgreSQL's log does.
import { type Lsn, lsnText } from '@blockwright/base';
import type { CheckpointReport } from './checkpoint-report.ts';

/** Processor and wall time of a piece of work. PostgreSQL: `pg_rusage_show`. */
export interface ResourceUsage {
  readonly userSeconds: number;
  readonly systemSeconds: number;
  readonly elapsedSeconds: number;
}

/** What was replayed of one kind of record, or of all kinds of one resource manager. */
export interface RecordCounts {
  /** As `waldump` prints it, such as `Heap` or `HOT_UPDATE`. */
  readonly name: string;
  readonly records: number;
  /** Whole records, headers and images included. */
  readonly bytes: number;
  /** Full-page images. */
  readonly images: number;
  readonly imageBytes: number;
}

export interface ResourceManagerCounts extends RecordCounts {
  /** Kinds of record that there were, by their number. */
  readonly kinds: readonly RecordCounts[];
}

/** Where the time of redo went, in seconds; measured only when timing was asked for. */
export interface RedoShares {
  /** Moving tuples together: `repairFragmentation`. */
  readonly compactionSeconds: number;
  /** Finding a record's page in the pool, or reading it. */
  readonly lookupSeconds: number;
  /** Opening relations and their files. */
  readonly openSeconds: number;
}

/** What a recovery did. */
export interface RecoveryReport {
  /** Where the first record that was replayed starts: at the last checkpoint's redo point. */
  readonly redoStart: Lsn;
  /** Where the last record that was replayed starts, and where it ends. */
  readonly lastRecord: Lsn;
  readonly redoEnd: Lsn;
  /** Nothing followed the last checkpoint. */
  readonly isRequired: boolean;
  /** Why the WAL ends there, in words. */
  readonly endReason: string;
  /** Of the WAL written from now on. */
  readonly incarnation: number;
  readonly records: number;
  readonly bytes: number;
  readonly images: number;
  readonly imageBytes: number;
  readonly byResourceManager: readonly ResourceManagerCounts[];
  /** Reading the WAL to its end and verifying it, before anything is changed. */
  readonly verifySeconds: number;
  /** Of redo alone. */
  readonly usage: ResourceUsage;
  readonly shares: RedoShares | undefined;
  /** Pages that were compacted. */
  readonly compactions: number;
  /** Relations whose files were removed because the transaction that made them did not end. */
  readonly filesRemoved: number;
  /** Unlogged relations that were made empty. */
  readonly unloggedReset: number;
  readonly checkpoint: CheckpointReport;
  readonly checkpointSeconds: number;
}

/** `redo done at X/X system usage: CPU: …`, as PostgreSQL says it: the position is where the last record starts. */
export function redoDoneText(report: Pick<RecoveryReport, 'lastRecord' | 'usage'>): string {
  return `redo done at ${lsnText(report.lastRecord)} system usage: ${usageText(report.usage)}`;
}

/** `CPU: user: 1.23 s, system: 0.04 s, elapsed: 1.30 s`. */
export function usageText(usage: ResourceUsage): string {
  const two = (seconds: number) => `${seconds.toFixed(2)} s`;
  return `CPU: user: ${two(usage.userSeconds)}, system: ${two(usage.systemSeconds)}, elapsed: ${two(usage.elapsedSeconds)}`;
}
