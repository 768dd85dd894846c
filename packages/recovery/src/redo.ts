// Redo: every record from the redo point on, applied in order. PostgreSQL: `PerformWalRecovery`, xlogrecovery.c.
import { type Lsn, lsnText, type Steps, StorageError } from '@blockwright/base';
import type { ResourceManager, ResourceManagers, WalReader, WalRecord } from '@blockwright/wal';
import type { NextXid } from './next-xid.ts';
import { RedoCounts } from './redo-counts.ts';
import type { ResourceManagerCounts, ResourceUsage } from './report.ts';
import type { WalExtent } from './wal-extent.ts';

export interface RedoOptions {
  readonly reader: WalReader;
  readonly redo: Lsn;
  readonly extent: WalExtent;
  readonly managers: ResourceManagers<ResourceManager>;
  readonly nextXid: NextXid;
  readonly clock: () => number;
}

export interface Redone {
  readonly counts: RedoCounts;
  readonly byResourceManager: readonly ResourceManagerCounts[];
  readonly usage: ResourceUsage;
}

/** Records between two steps: some tenths of a millisecond, unless they miss the pool. */
const RECORDS_A_STEP = 256;

/**
 * Applies the WAL between the redo point and the end that was found before.
 * @throws StorageError XX001 when it ends anywhere else now, or a record is of a subject that nobody knows.
 */
export function* redoSteps(options: RedoOptions): Steps<Redone> {
  const { reader, redo, extent, managers, nextXid, clock } = options;
  const counts = new RedoCounts();
  const usage = usageSince(clock);
  const byId: (ResourceManager | undefined)[] = Array.from({ length: 256 }, (_, id) => managers.get(id));
  const total = extent.end - redo;
  reader.seek(redo);
  for (let more = true; more; ) {
    more = redoRun(reader, byId, nextXid, counts, extent.end);
    yield { phase: 'redo', done: reader.record.endLsn - redo, total, unit: 'bytes' };
  }
  if (reader.record.endLsn !== extent.end) {
    throw new StorageError(
      'XX001',
      `the WAL ended at ${lsnText(reader.endLsn)}, and before at ${lsnText(extent.end)}`,
      {
        detail: `${reader.endReason}. Redo has applied what came before.`,
        hint: 'The disk gives other bytes than it gave a moment ago. Open again; redo starts anew.',
      },
    );
  }
  return { counts, byResourceManager: counts.of(managers), usage: usage() };
}

/** Some records. @returns whether more may follow */
function redoRun(
  reader: WalReader,
  managers: readonly (ResourceManager | undefined)[],
  nextXid: NextXid,
  counts: RedoCounts,
  end: Lsn,
): boolean {
  const { record } = reader;
  for (let i = 0; i < RECORDS_A_STEP; i++) {
    if (!reader.next()) return false;
    const manager = managers[record.rmgr];
    if (manager === undefined) throw unknownManager(record);
    nextXid.pass(record.xid);
    counts.note(record);
    manager.redo(record);
    if (record.endLsn >= end) return false;
  }
  return true;
}

function unknownManager(record: WalRecord): StorageError {
  return new StorageError('XX001', `the record at ${lsnText(record.lsn)} is of resource manager ${record.rmgr}`, {
    detail: 'No such resource manager is registered.',
    hint: 'The WAL was written by a release that knows more. Open the directory with that one.',
  });
}

/** What the process has used when the result is called, since it was made. */
function usageSince(clock: () => number): () => ResourceUsage {
  const startedMs = clock();
  const started = process.resourceUsage();
  return () => {
    const now = process.resourceUsage();
    return {
      userSeconds: (now.userCPUTime - started.userCPUTime) / 1e6,
      systemSeconds: (now.systemCPUTime - started.systemCPUTime) / 1e6,
      elapsedSeconds: (clock() - startedMs) / 1000,
    };
  };
}
