// Multixacts in xmax: who among the members updated the row, and whether any of them is still at work. They come with
// PostgreSQL's files; this engine reads them everywhere and writes none.
import { INVALID_XID, StorageError, type Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import type { MultiXacts, Transactions } from '@blockwright/transam';
import { HEAP_LOCK_MASK, HEAP_XMAX_IS_MULTI, HEAP_XMAX_LOCK_ONLY, isXmaxLockOnly, tupleXmax } from '@blockwright/tuple';

/**
 * The transaction that updated or deleted the tuple at `pos`, or 0 when xmax only locks it. PostgreSQL:
 * `HeapTupleHeaderGetUpdateXid`.
 * @throws StorageError when the members of a multixact cannot be read.
 */
export function tupleUpdateXid(m: PageMemory, pos: number, infomask: number, transactions: Transactions): Xid {
  if (isXmaxLockOnly(infomask)) return INVALID_XID;
  const xmax = tupleXmax(m, pos);
  return (infomask & HEAP_XMAX_IS_MULTI) === 0 ? xmax : multixactsOf(transactions, xmax).updateXid(xmax);
}

/**
 * Whether a member of the multixact in the xmax of the tuple at `pos` is in progress. One that came along from PostgreSQL
 * 9.2 or older has lockers only, which are long gone, and no members to be read. PostgreSQL: `MultiXactIdIsRunning`.
 */
export function multixactIsRunning(m: PageMemory, pos: number, infomask: number, transactions: Transactions): boolean {
  if ((infomask & (HEAP_XMAX_LOCK_ONLY | HEAP_LOCK_MASK)) === HEAP_XMAX_LOCK_ONLY) return false;
  const multi = tupleXmax(m, pos);
  for (const member of multixactsOf(transactions, multi).members(multi)) {
    if (transactions.isInProgress(member.xid)) return true;
  }
  return false;
}

function multixactsOf(transactions: Transactions, multi: number): MultiXacts {
  const { multixacts } = transactions;
  if (multixacts === undefined) {
    throw new StorageError('XX001', `multixact ${multi} is in a tuple's xmax, and this directory has no multixacts`, {
      hint: 'Run "blockwright check" on the directory to see all that is damaged.',
    });
  }
  return multixacts;
}
