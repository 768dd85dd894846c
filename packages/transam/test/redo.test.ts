// Redo: a commit log rebuilt from the WAL alone equals the one that was written, at every block size.
import type { RelationLocator, Xid } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { MemoryVfs } from '@blockwright/vfs/memory';
import type { ResourceManager } from '@blockwright/wal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CommitLog, commitLogRecords, transactionRecords, transactionResourceManagers } from '../src/index.ts';
import { codeOf } from './engine.ts';
import { loggedEngine, readerOf } from './wal.ts';

function replay(from: MemoryVfs, managers: readonly ResourceManager[]): void {
  const reader = readerOf(from);
  while (reader.next()) managers.find(({ id }) => id === reader.record.rmgr)?.redo(reader.record);
  reader.close();
}

describe.each(BLOCK_SIZES)('pages of %i bytes', (pageBytes) => {
  test('what the WAL says is what was', () => {
    const perPage = pageBytes * 4;
    fc.assert(
      fc.property(
        fc.constantFrom(3, perPage - 9, perPage * 32 - 9, 2 ** 31 - 9, 2 ** 32 - 9),
        fc.array(fc.tuple(fc.nat(3), fc.nat(4)), { maxLength: 20, size: 'max' }),
        (nextXid, transactionsToDo) => {
          const ended: [readonly Xid[], boolean, readonly RelationLocator[]][] = [];
          const live: typeof ended = [];
          const { vfs, wal, commitLog, transactions } = loggedEngine({
            pageBytes,
            nextXid,
            nextXidEpoch: 1,
            oldestXid: nextXid,
            pagesAt: [nextXid],
            removeFiles: (files) => (live.at(-1) as (typeof live)[number]).splice(2, 1, files),
            ended: (xids, committed) => live.push([xids, committed, []]),
          });
          for (const [fate, savepoints] of transactionsToDo) {
            const tx = transactions.begin({ synchronousCommit: fate !== 0 });
            for (let i = 0; i < savepoints; i++) {
              tx.savepoint();
              if (i % 2 === 0) tx.removeAtAbort({ tablespace: 1663, database: 5, relfilenode: 100 + i });
              else tx.removeAtCommit({ tablespace: 1663, database: 5, relfilenode: 200 + i });
              if (i === 3) tx.rollbackTo(2);
            }
            tx.writeXid();
            if (fate === 3) tx.abort();
            else tx.commit();
          }
          wal.flush(wal.insertedUpTo);

          const other = new MemoryVfs();
          other.mkdir('/xact');
          const rebuilt = new CommitLog({ vfs: other, directory: '/xact', pageBytes });
          const managers = transactionResourceManagers({
            commitLog: rebuilt,
            ended: (xids, committed, files) => ended.push([[...xids], committed, [...files]]),
          });
          rebuilt.recovering = true;
          // Twice: a crash during the replay begins it anew.
          replay(vfs, managers);
          ended.length = 0;
          replay(vfs, managers);
          expect(ended).toEqual(live);
          for (let xid = nextXid; xid !== transactions.nextXid; xid = xid === 0xffff_ffff ? 3 : xid + 1) {
            if (rebuilt.status(xid) !== commitLog.status(xid)) expect.fail(`${xid}: ${rebuilt.status(xid)}`);
          }
          rebuilt.flush();
          commitLog.flush();
          for (const name of other.readdir('/xact')) {
            const a = other.readFile(`/xact/${name}`);
            expect(Buffer.compare(a, vfs.readFile(`/xact/${name}`).subarray(0, a.length))).toBe(0);
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});

test('a truncation is replayed, and commits before it are no error', () => {
  const { vfs, wal, commitLog, transactions } = loggedEngine({ pageBytes: 1024 });
  for (let i = 0; i < 4096 * 32; i++) {
    const tx = transactions.begin({ synchronousCommit: false });
    tx.writeXid();
    if (i % 1000 === 0) tx.commit();
    else tx.abort();
  }
  expect(transactions.advanceOldestXid(4096 * 32 + 1)).toBe(1);
  wal.flush(wal.insertedUpTo);
  expect(vfs.readdir('/xact')).toEqual(['0001']);
  const managers = (log: CommitLog, told: Xid[]): ResourceManager[] =>
    transactionResourceManagers({ commitLog: log, truncated: (oldest) => told.push(oldest) });
  const again = new CommitLog({ vfs, directory: '/xact', pageBytes: 1024 });
  again.recovering = true;
  const told: Xid[] = [];
  replay(vfs, managers(again, told));
  again.flush();
  expect(told).toEqual([4096 * 32 + 1]);
  expect(vfs.readdir('/xact')).toEqual(['0001']);
  expect(commitLog.truncate(4096 * 32 + 1)).toBe(0);
});

test('kinds that nobody knows are named, and refused by redo', () => {
  expect([transactionRecords.identify(0x80), transactionRecords.identify(0x50)]).toEqual(['COMMIT', 'UNKNOWN (50)']);
  expect(commitLogRecords.identify(0x70)).toBe('UNKNOWN (70)');
  const { vfs, wal, commitLog } = loggedEngine();
  wal.reserve(100);
  wal.record.begin(3, 0x70);
  wal.insert(0);
  wal.flush(wal.insertedUpTo);
  expect(codeOf(() => replay(vfs, transactionResourceManagers({ commitLog })), 'XX001').message).toContain(
    'unknown kind',
  );
});
