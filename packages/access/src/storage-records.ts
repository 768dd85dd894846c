// Records of files that came and shrank, in words and replayed. PostgreSQL: smgrdesc.c, and `smgr_redo`, storage.c.
//
// CREATE    tablespace u32, database u32, relfilenode u32, fork u32; the transaction is the record's
// TRUNCATE  tablespace u32, database u32, relfilenode u32, blocks u32, 0 u32; map pages with a tail are block references
import {
  type ForkNumber,
  ForkNumber as Forks,
  forkSuffix,
  type RelationLocator,
  relationPath,
} from '@blockwright/base';
import type { Fork } from '@blockwright/smgr';
import { type RecordDescriber, type ResourceManager, RM_SMGR, type WalRecord } from '@blockwright/wal';
import type { PendingCreates } from './pending-creates.ts';
import { REDO_MISSING, REDO_NEEDED, type RedoPages } from './redo-pages.ts';
import { type MapTruncation, XLOG_SMGR_CREATE, XLOG_SMGR_TRUNCATE } from './storage-files.ts';

/** Puts storage records into words, as pg_waldump does. */
export const storageRecords: RecordDescriber = {
  id: RM_SMGR,
  name: 'Storage',
  identify,
  describe,
};

/**
 * Replays storage records.
 * @param created gets what open transactions made: recovery removes what is left of it at its end
 * @param maps how maps follow their heaps; a map that none of them speaks of is cut to nothing
 */
export function storageResourceManager(
  pages: RedoPages,
  created: PendingCreates,
  maps: readonly MapTruncation[],
): ResourceManager {
  return {
    id: RM_SMGR,
    name: storageRecords.name,
    identify,
    describe,
    redo(record): void {
      const kind = record.info & 0xf0;
      if (kind === XLOG_SMGR_CREATE) redoCreate(pages, created, record);
      else if (kind === XLOG_SMGR_TRUNCATE) redoTruncate(pages, maps, record);
      else throw new RangeError(`storage records have no kind 0x${kind.toString(16)}`);
    },
  };
}

function identify(info: number): string {
  const kind = info & 0xf0;
  if (kind === XLOG_SMGR_CREATE) return 'CREATE';
  if (kind === XLOG_SMGR_TRUNCATE) return 'TRUNCATE';
  return `UNKNOWN (${kind.toString(16)})`;
}

function describe(record: WalRecord): string {
  const path = relationPath(locatorIn(record), Forks.main);
  const number = record.u32(record.dataAt + 12);
  if ((record.info & 0xf0) === XLOG_SMGR_CREATE) return `${path}${forkSuffix(number as ForkNumber)}`;
  return `${path} to ${number} blocks`;
}

function locatorIn(record: WalRecord): RelationLocator {
  const at = record.dataAt;
  return { tablespace: record.u32(at), database: record.u32(at + 4), relfilenode: record.u32(at + 8) };
}

function redoCreate(pages: RedoPages, created: PendingCreates, record: WalRecord): void {
  const locator = locatorIn(record);
  const fork = pages.storage.open(locator).fork(record.u32(record.dataAt + 12) as ForkNumber);
  if (!fork.exists()) fork.create();
  if (record.xid !== 0) created.add(record.xid, locator);
}

function redoTruncate(pages: RedoPages, maps: readonly MapTruncation[], record: WalRecord): void {
  const locator = locatorIn(record);
  const blocks = record.u32(record.dataAt + 12);
  const { geometry } = pages.pool;
  const relation = pages.storage.open(locator);
  for (let i = 0; i < record.blockCount; i++) {
    const result = pages.fetch(record, i);
    if (result === REDO_MISSING) continue;
    if (result === REDO_NEEDED) {
      const map = maps.find((one) => one.fork === record.fork[i]);
      map?.clearTail(pages.memory, pages.base, geometry, blocks);
      pages.changed(pages.buffer, record);
    }
    pages.release(pages.buffer);
  }
  for (const number of [Forks.fsm, Forks.vm]) {
    const keep = maps.find((one) => one.fork === number)?.blocksFor(geometry, blocks) ?? 0;
    cutInRedo(pages, relation.fork(number), keep);
  }
  cutInRedo(pages, relation.fork(Forks.main), blocks);
  pages.missing.forgetFrom(locator, Forks.main, blocks);
}

/** As at the time itself; a file that is shorter already, or not there, stays so. */
function cutInRedo(pages: RedoPages, fork: Fork, blocks: number): void {
  pages.pool.dropFork(fork, blocks);
  if (fork.hasBlockInRedo(blocks)) fork.truncate(blocks);
}
