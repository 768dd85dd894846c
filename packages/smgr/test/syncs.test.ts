// Which files are synced, how often, in what order; and what happens after a sync that failed.
import { describe, expect, test } from 'vitest';
import { blocks, DIRECTORY, disk, filled, LOCATOR, managerOf, PATH, readAll, refused, same } from './support.ts';

/** What was synced since the journal was emptied, in order. */
function synced(vfs: ReturnType<typeof disk>): string[] {
  return vfs.journal
    .filter(({ operation }) => /sync/i.test(operation))
    .map(({ operation, path }) => `${operation} ${path}`);
}

describe('requests are gathered', () => {
  test('each file once, however often it was written, then the directory if files were made', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = manager.open(LOCATOR).fork(0);
    fork.create();
    for (let i = 0; i < 6; i++) fork.extend(i, 1, blocks(i, 1), 0);
    for (let i = 0; i < 6; i++) fork.write(i, 1, blocks(i, 1), 0);
    expect(synced(vfs)).toEqual([]);
    manager.syncPending();
    expect(synced(vfs)).toEqual([`sync ${PATH}`, `sync ${PATH}.1`, `syncDirectory ${DIRECTORY}`]);
    vfs.journal.length = 0;
    manager.syncPending();
    expect(synced(vfs)).toEqual([]); // nothing since
    fork.write(5, 1, blocks(5, 1), 0);
    manager.syncPending();
    expect(synced(vfs)).toEqual([`sync ${PATH}.1`]); // no file came or went
  });

  test('truncation and removal ask too', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 10, manager);
    fork.truncate(5);
    manager.syncPending();
    expect(synced(vfs)).toEqual([`sync ${PATH}.2`, `sync ${PATH}.1`]);
    vfs.journal.length = 0;
    fork.write(0, 1, blocks(0, 1), 0);
    fork.unlink();
    manager.syncPending();
    expect(synced(vfs)).toEqual([`syncDirectory ${DIRECTORY}`]); // no sync of a file that is gone
  });

  test('a fork is synced by itself, now', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 6, manager);
    const fsm = fork.relation.fork(1);
    fsm.create();
    fsm.extend(0, 1, blocks(0, 1), 0);
    fork.write(0, 6, blocks(0, 6), 0);
    fork.sync();
    expect(synced(vfs)).toEqual([`sync ${PATH}`, `sync ${PATH}.1`, `syncDirectory ${DIRECTORY}`]);
    vfs.journal.length = 0;
    manager.syncPending();
    expect(synced(vfs)).toEqual([`sync ${PATH}_fsm`]);
  });

  test('a relation that was closed in between is synced, through the descriptor that saw its writes', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 6, manager);
    fork.write(0, 1, blocks(9, 1), 0);
    manager.forget(fork.relation);
    const opened = vfs.calls('open').length;
    manager.syncPending();
    expect(synced(vfs)).toEqual([`sync ${PATH}`]);
    expect(vfs.calls('open')).toHaveLength(opened);
    // Opened again before the sync: still one request.
    const second = manager.open(LOCATOR).fork(0);
    second.write(0, 1, blocks(8, 1), 0);
    second.relation.close();
    manager.open(LOCATOR).fork(0).write(0, 1, blocks(7, 1), 0);
    vfs.journal.length = 0;
    manager.syncPending();
    expect(synced(vfs)).toEqual([`sync ${PATH}`]);
  });

  test('closing the manager syncs what is pending', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 2, manager);
    fork.write(0, 1, blocks(0, 1), 0);
    manager.close();
    manager.close();
    expect(synced(vfs)).toEqual([`sync ${PATH}`]);
    refused(() => fork.blockCount(), '55000', 'the relation is closed');
    refused(() => manager.open(LOCATOR), '55000', 'the storage of "/data" is closed');
    refused(() => manager.openPath('/x'), '55000', 'is closed');
    refused(() => manager.syncPending(), '55000', 'is closed');
  });
});

describe('a sync that fails', () => {
  test.each([
    ['sync', '16384.1'],
    ['syncDirectory', ''],
  ] as const)('%s: is not tried again, and everything is refused from then on', (operation, path) => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 3, manager);
    fork.extend(3, 4, blocks(3, 4), 0);
    const fault = vfs.plant({ operation, path, errno: 'EIO' });
    refused(() => manager.syncPending(), '58030', 'EIO');
    expect(fault.hits).toBe(1);
    vfs.journal.length = 0;
    const page = new Uint8Array(1024);
    for (const use of [
      () => manager.syncPending(),
      () => fork.sync(),
      () => fork.read(0, 1, page, 0),
      () => fork.write(0, 1, page, 0),
      () => fork.extend(7, 1, page, 0),
      () => fork.zeroExtend(7, 1),
      () => fork.truncate(0),
      () => fork.blockCount(),
      () => fork.exists(),
      () => fork.unlink(),
      () => fork.relation.fork(1).create(),
      () =>
        manager
          .open({ ...LOCATOR, relfilenode: 1 })
          .fork(0)
          .create(),
    ]) {
      refused(use, '58030', 'an fsync has failed: nothing is read or written any more');
    }
    expect(vfs.journal).toEqual([]); // not one call was made
    manager.close(); // still possible, and makes no sync either
    expect(synced(vfs)).toEqual([]);
  });

  test('fork.sync poisons too, and names the file', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 3, manager);
    fork.write(0, 1, blocks(0, 1), 0);
    vfs.plant({ operation: 'sync', errno: 'EIO' });
    refused(() => fork.sync(), '58030', `"${PATH}"`);
    refused(() => manager.syncPending(), '58030', 'an fsync has failed');
  });

  test('another directory’s manager goes on', () => {
    const vfs = disk();
    const fork = filled(vfs, 3);
    fork.write(0, 1, blocks(0, 1), 0);
    vfs.plant({ operation: 'sync', errno: 'EIO' });
    refused(() => fork.sync(), '58030');
    same(readAll(managerOf(vfs).open(LOCATOR).fork(0), 0, 3), blocks(0, 3));
  });
});
