// Unlogged relations after a crash: nobody knows what their files hold, so each is made again as its init fork says.
// PostgreSQL: reinit.c.
import { DEFAULT_TABLESPACE, ForkNumber, type RelationLocator } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import { parseRelationFileName, type StorageManager } from '@blockwright/smgr';
import { joinPath } from '@blockwright/vfs';

const RESET: readonly ForkNumber[] = [ForkNumber.vm, ForkNumber.fsm, ForkNumber.main];

/** Relations of the directory that have an init fork. */
function unloggedRelations(storage: StorageManager): RelationLocator[] {
  const { vfs } = storage;
  const base = joinPath(storage.directory, 'base');
  const found: RelationLocator[] = [];
  for (const database of vfs.readdir(base)) {
    const directory = joinPath(base, database);
    if (!/^[1-9]\d{0,9}$/.test(database) || vfs.stat(directory)?.isDirectory !== true) continue;
    for (const name of vfs.readdir(directory)) {
      const parsed = parseRelationFileName(name);
      if (parsed === undefined || parsed.fork !== ForkNumber.init || parsed.segment !== 0) continue;
      found.push({
        tablespace: DEFAULT_TABLESPACE,
        database: Number(database),
        relfilenode: Number(parsed.relation),
      });
    }
  }
  return found;
}

/** Before redo: every fork but the init fork goes, so that nothing reads what is in them. */
export function removeUnlogged(pool: BufferPool, storage: StorageManager): number {
  const found = unloggedRelations(storage);
  for (const locator of found) {
    const relation = storage.open(locator);
    for (const number of RESET) {
      const fork = relation.fork(number);
      pool.dropFork(fork);
      if (fork.exists()) fork.unlink();
    }
  }
  return found.length;
}

/** After redo: the main fork is a copy of the init fork, which redo may have made. */
export function initUnlogged(pool: BufferPool, storage: StorageManager): number {
  const { geometry } = storage;
  const found = unloggedRelations(storage);
  for (const locator of found) {
    const relation = storage.open(locator);
    const init = relation.fork(ForkNumber.init);
    pool.flushFork(init);
    for (const number of RESET) {
      const fork = relation.fork(number);
      pool.dropFork(fork);
      if (fork.exists()) fork.unlink();
    }
    const main = relation.fork(ForkNumber.main);
    main.create();
    const page = new Uint8Array(geometry.size);
    const blocks = init.blockCount();
    for (let block = 0; block < blocks; block++) {
      init.read(block, 1, page, 0);
      main.extend(block, 1, page, 0);
    }
  }
  return found.length;
}
