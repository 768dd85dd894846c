// A data directory with the narrow table, unlogged, and one way to compact its pages.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '@blockwright/benchmark';
import { createNarrow, narrowTable, scanNarrow, updateNarrow } from '@blockwright/benchmark-workloads';
import { Database, initdb } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import type { Compaction } from '@blockwright/page';

export interface NarrowOptions {
  readonly folder: string;
  readonly blockSize: BlockSize;
  readonly compaction: Compaction;
  readonly rows: number;
  readonly buffers: string;
  readonly seed: number;
}

/** One open database. */
export interface NarrowSubject {
  readonly blockSize: BlockSize;
  readonly compaction: Compaction;
  /** Updates so far. */
  readonly updates: number;
  /** Of these, how many stayed on their page. */
  readonly hot: number;
  /** Looks `count` random rows up and updates them, each in a transaction; gives how many there have been. */
  update(count: number): number;
  /** Reads the table: rows, and the updates that they say they had. */
  scan(): { readonly rows: number; readonly updates: number };
  tableBytes(): number;
  close(): void;
}

/** Makes a data directory, fills the table, and opens it. */
export function openNarrow(options: NarrowOptions): NarrowSubject {
  const { folder, blockSize, compaction, rows, buffers, seed } = options;
  const directory = mkdtempSync(join(folder, 'blockwright-narrow-'));
  let database: Database | undefined;
  const close = (): void => {
    try {
      database?.close();
    } finally {
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    }
  };
  try {
    initdb(directory, { blockSize });
    const db = Database.open(directory, { sharedBuffers: buffers, compaction, synchronousCommit: false });
    database = db;
    const narrow = narrowTable(true);
    createNarrow(db, narrow, rows);
    const random = seededRandom(seed);
    let updates = 0;
    let hot = 0;
    return {
      blockSize,
      compaction,
      get updates() {
        return updates;
      },
      get hot() {
        return hot;
      },
      update: (count) => {
        for (let i = 0; i < count; i++) {
          const id = Math.floor(random() * rows);
          if (db.transaction((tx) => updateNarrow(tx, narrow, id))) hot++;
        }
        updates += count;
        return updates;
      },
      scan: () => scanNarrow(db, narrow),
      tableBytes: () => db.tables().find(({ name }) => name === narrow.name)?.bytes ?? 0,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
