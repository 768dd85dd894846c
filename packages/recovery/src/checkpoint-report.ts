// What a checkpoint did, and the line that says so. PostgreSQL: `CheckpointStatsData`, xlog.h.
import { type Lsn, lsnText } from '@blockwright/base';

/**
 * `shutdown`: the last thing before the directory is given back. `end-of-recovery`: the first record of a new incarnation
 * of the WAL. `immediate`: as fast as it goes, while others work. `spread`: slowly, so as not to disturb them.
 */
export type CheckpointKind = 'shutdown' | 'end-of-recovery' | 'immediate' | 'spread';

export interface CheckpointReport {
  readonly kind: CheckpointKind;
  /** Where the checkpoint's record starts and ends. */
  readonly record: Lsn;
  readonly recordEnd: Lsn;
  /** Where a redo from this checkpoint starts. */
  readonly redo: Lsn;
  readonly buffersWritten: number;
  /** Of all buffers of the pool, from 0 to 1. */
  readonly buffersShare: number;
  readonly writeSeconds: number;
  readonly syncSeconds: number;
  readonly totalSeconds: number;
  readonly segmentsRemoved: number;
  readonly segmentsRecycled: number;
  /** Bytes of WAL from the redo point before to this one. */
  readonly distanceBytes: number;
}

/** `checkpoint complete (spread): …`: for the log. */
export function checkpointText(report: CheckpointReport): string {
  const seconds = (value: number) => `${value.toFixed(3)} s`;
  const { buffersWritten, buffersShare, segmentsRemoved, segmentsRecycled } = report;
  return [
    `checkpoint complete (${report.kind}): wrote ${buffersWritten} buffers (${(buffersShare * 100).toFixed(1)}%)`,
    `, WAL files: ${segmentsRemoved} removed, ${segmentsRecycled} recycled`,
    `; write=${seconds(report.writeSeconds)}, sync=${seconds(report.syncSeconds)}, total=${seconds(report.totalSeconds)}`,
    `; distance=${Math.round(report.distanceBytes / 1024)} kB`,
    `; lsn=${lsnText(report.record)}, redo lsn=${lsnText(report.redo)}`,
  ].join('');
}
