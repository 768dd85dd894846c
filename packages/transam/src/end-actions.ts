// What is to be done when a transaction, or a savepoint, ends. PostgreSQL: `PendingRelDelete`, storage.c; the call-backs of xact.c.
import type { RelationLocator } from '@blockwright/base';

/**
 * What is to be done when a transaction ends. It belongs to the savepoint in which it was asked for: released, it goes
 * over to the one around it; rolled back, `abort` is called at once.
 */
export interface EndAction {
  /** Before the commit record: work that can still fail, such as a load's sync. A throw aborts the transaction. */
  beforeCommit?(): void;
  /** After the commit, in the order asked for; what it throws is a warning. */
  commit?(): void;
  /** After the abort, last first; what it throws is a warning. */
  abort?(): void;
}

interface FileAction extends EndAction {
  readonly file: RelationLocator;
  readonly atCommit: boolean;
}

/** The relation's files go when the transaction commits, or when it, or the savepoint, does not. */
export function fileAction(file: RelationLocator, atCommit: boolean): EndAction {
  const action: FileAction = { file, atCommit };
  return action;
}

/** Relations whose files go with the commit, or with the rollback. */
export function filesOf(actions: readonly EndAction[], atCommit: boolean): RelationLocator[] {
  const files: RelationLocator[] = [];
  for (const action of actions) {
    if ('file' in action && (action as FileAction).atCommit === atCommit) files.push((action as FileAction).file);
  }
  return files;
}
