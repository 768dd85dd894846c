// What a transaction says when it cannot do what it is asked for.
import { StorageError } from '@blockwright/base';

export function ended(): StorageError {
  return new StorageError('25P01', 'the transaction has ended');
}

/** The database was closed under it. */
export function closedUnder(directory: string): StorageError {
  return new StorageError('57P01', `data directory "${directory}" was closed: the transaction was rolled back`, {
    hint: 'closeAsync waits for functions that go on in transactionAsync, and for commits.',
  });
}

/** @param cause what the statement threw that failed half-way */
export function hasFailed(cause: unknown): StorageError {
  return new StorageError('25P02', 'a statement of this transaction has failed: it can only be rolled back', {
    detail: messageOf(cause),
    hint: 'Roll it back, or back to a savepoint that was begun before that statement.',
    cause,
  });
}

/** {@link hasFailed}, to somebody who wants to commit. */
export function hadFailed(cause: unknown): StorageError {
  return new StorageError('25P02', 'the transaction was rolled back: one of its statements had failed', {
    detail: messageOf(cause),
    cause,
  });
}

/** A statement was returned from between two steps. @param what such as `a load` */
export function interrupted(what: string): StorageError {
  return new StorageError('57014', `${what} was stopped`);
}

/** @param work what fills it, such as `a load` */
export function indexIsUnfilled(index: string, work: string): StorageError {
  return new StorageError('55006', `index "${index}" cannot be read: ${work} is going on in this transaction`, {
    detail: 'It is filled at the end of that.',
    hint: 'Scan the table without an index until then.',
  });
}

/** A snapshot that is older than a table's files. */
export function indexIsNewer(index: string): StorageError {
  return new StorageError('40001', `index "${index}" was created after the transaction's snapshot was taken`, {
    detail: 'Rows that only a repeatable read transaction of before still sees may not be in it.',
    hint: 'Scan the table instead, or roll back and run the whole transaction again.',
  });
}

export function filesAreNewer(table: string): StorageError {
  return new StorageError(
    '40001',
    `table "${table}" was created, or loaded, after the transaction's snapshot was taken`,
    {
      detail: 'What a repeatable read transaction would see there is not what was there then.',
      hint: 'Roll back and run the whole transaction again.',
    },
  );
}

/** What a transaction lends is of no use once its function has returned: one that goes on afterwards is a mistake. */
export function refusePromise(method: string, result: unknown): void {
  if (typeof (result as { then?: unknown } | undefined)?.then !== 'function') return;
  throw new TypeError(
    `the function given to ${method} returned a promise, which would go on after the end: use transactionAsync`,
  );
}

function messageOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  return cause instanceof Error ? cause.message : String(cause);
}
