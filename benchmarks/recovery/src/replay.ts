// One recovery: the crashed directory is copied, opened with a compaction strategy, its answer checked, and removed.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { WrongAnswerError } from '@blockwright/benchmark';
import { Database } from '@blockwright/engine';
import type { Compaction } from '@blockwright/page';
import type { RecoveryReport } from '@blockwright/recovery';
import type { CrashedDirectory } from './crashed.ts';

export interface ReplayOptions {
  readonly folder: string;
  readonly buffers: string;
  readonly compaction: Compaction;
  /** Whether the shares of compaction, buffer look-up and file opening are measured, which takes time itself. */
  readonly timing: boolean;
}

/** Recovers a copy of a crashed directory. @throws WrongAnswerError when a row or an update is missing afterwards. */
export function replay(crashed: CrashedDirectory, options: ReplayOptions): RecoveryReport {
  const { folder, buffers, compaction, timing } = options;
  const directory = mkdtempSync(join(folder, 'blockwright-replay-'));
  try {
    cpSync(crashed.path, directory, { recursive: true });
    const database = Database.open(directory, { sharedBuffers: buffers, compaction, recoveryTiming: timing });
    try {
      const { recovery } = database;
      if (recovery === undefined) throw new WrongAnswerError('the crashed directory needed no recovery');
      crashed.workload.verify(database, crashed.transactions);
      return recovery;
    } finally {
      database.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}
