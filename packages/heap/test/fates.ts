// One transaction's view of a small world: a transaction of every fate, as seen from `me` with a snapshot taken while
// some were at work. For tests that hold the visibility rules against a model.
import type { Xid } from '@blockwright/base';
import { CommitLog, type MultiXacts, type Snapshot, type Transaction, Transactions } from '@blockwright/transam';
import { MemoryVfs } from '@blockwright/vfs/memory';

/** What became of who wrote: `own` is the snapshot's transaction, `child` a savepoint of it released, `undone` one rolled back. */
export type Fate = 'committed' | 'aborted' | 'running' | 'later' | 'newer' | 'own' | 'child' | 'undone';
/** committed and aborted before the snapshot; `later`: at work then, committed since; `newer`: begun after it, committed. */
export const FATES: readonly Fate[] = ['committed', 'aborted', 'running', 'later', 'newer', 'own', 'child', 'undone'];

export interface World {
  readonly transactions: Transactions;
  readonly me: Transaction;
  readonly snapshot: Snapshot;
  readonly xidOf: Readonly<Record<Fate, Xid>>;
  /** Makes a multixact of members, the updater last if there is one; gives its number. */
  multi(lockers: readonly Xid[], updater: Xid): number;
}

/** @param nextXid the first xid handed out; @param commandId of the snapshot, and of `me` */
export function makeWorld(nextXid: Xid, commandId: number): World {
  const vfs = new MemoryVfs();
  vfs.mkdir('/xact');
  const commitLog = new CommitLog({ vfs, directory: '/xact', pageBytes: 1024 });
  for (const xid of [nextXid, nextXid + 64]) commitLog.zeroPage(((xid >>> 0) - ((xid >>> 0) % 4096)) / 4096);
  const known = new Map<number, { members: { xid: Xid; status: string }[]; updater: Xid }>();
  const multixacts = {
    members: (multi: number) => known.get(multi)?.members,
    updateXid: (multi: number) => known.get(multi)?.updater,
  } as unknown as MultiXacts;
  const transactions = new Transactions({ commitLog, nextXid, nextXidEpoch: 0, oldestXid: nextXid, multixacts });
  const begin = (): Transaction => {
    const transaction = transactions.begin();
    transaction.writeXid();
    return transaction;
  };
  const committed = begin();
  const aborted = begin();
  const running = begin();
  const later = begin();
  const me = begin();
  const level = me.savepoint();
  const undone = me.writeXid();
  me.rollbackTo(level);
  me.releaseSavepoint(level);
  const second = me.savepoint();
  const child = me.writeXid();
  me.releaseSavepoint(second);
  committed.commit();
  aborted.abort();
  me.commandId = commandId;
  const snapshot = me.snapshot();
  const newer = begin();
  later.commit();
  newer.commit();
  const xidOf = {
    committed: committed.topXid,
    aborted: aborted.topXid,
    running: running.topXid,
    later: later.topXid,
    newer: newer.topXid,
    own: me.topXid,
    child,
    undone,
  };
  return {
    transactions,
    me,
    snapshot,
    xidOf,
    multi: (lockers, updater) => {
      const number = known.size + 1;
      const members = lockers.map((xid) => ({ xid, status: 'for key share' }));
      known.set(number, {
        members: updater === 0 ? members : [...members, { xid: updater, status: 'update' }],
        updater,
      });
      return number;
    },
  };
}
