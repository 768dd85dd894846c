// A plain model of rows and their versions, of transactions with savepoints, snapshots and row locks: what PostgreSQL's
// rules say must be seen, refused and kept. No page, no xid, no bit of a header.
import type { RowLockMode } from '@blockwright/transam';

export const MODES: readonly RowLockMode[] = ['key share', 'share', 'no key update', 'update'];

/** A savepoint level of a transaction. */
export class ModelLevel {
  readonly transaction: ModelTransaction;
  readonly parent: ModelLevel | undefined;
  rolledBack = false;

  constructor(transaction: ModelTransaction, parent: ModelLevel | undefined) {
    this.transaction = transaction;
    this.parent = parent;
  }

  get aborted(): boolean {
    if (this.rolledBack || this.transaction.state === 'aborted') return true;
    return this.parent?.aborted ?? false;
  }

  get open(): boolean {
    return this.transaction.state === 'open' && !this.aborted;
  }

  get committed(): boolean {
    return this.transaction.state === 'committed' && !this.aborted;
  }
}

export class ModelTransaction {
  state: 'open' | 'committed' | 'aborted' = 'open';
  readonly repeatable: boolean;
  levels: ModelLevel[];
  /** Commands so far. */
  command = 0;
  /** Of repeatable read: the transactions that had committed at its first statement. */
  first: ReadonlySet<ModelTransaction> | undefined = undefined;

  constructor(repeatable: boolean) {
    this.repeatable = repeatable;
    this.levels = [new ModelLevel(this, undefined)];
  }

  get level(): ModelLevel {
    return this.levels[this.levels.length - 1];
  }
}

/** One version of a row. */
export interface Version {
  readonly id: number;
  readonly n: number;
  block: number;
  offset: number;
  readonly inserted: { readonly level: ModelLevel; readonly command: number };
  /** Every update and deletion of it that was not refused; all but the last were rolled back. */
  readonly ends: {
    readonly level: ModelLevel;
    readonly command: number;
    readonly key: boolean;
    readonly next: Version | undefined;
  }[];
  readonly locks: { readonly level: ModelLevel; readonly mode: number }[];
}

export interface View {
  readonly transaction: ModelTransaction | undefined;
  readonly committed: ReadonlySet<ModelTransaction>;
}

export class VersionModel {
  readonly versions: Version[] = [];
  readonly committed: Set<ModelTransaction> = new Set();

  /** What a statement of `transaction` sees; of a reader without one, when it is undefined. */
  view(transaction: ModelTransaction | undefined): View {
    if (transaction === undefined || !transaction.repeatable) {
      return { transaction, committed: new Set(this.committed) };
    }
    transaction.first ??= new Set(this.committed);
    return { transaction, committed: transaction.first };
  }

  private sees(view: View, by: { readonly level: ModelLevel; readonly command: number }): boolean {
    const { level } = by;
    if (level.transaction === view.transaction) return !level.aborted && by.command < view.transaction.command;
    return level.committed && view.committed.has(level.transaction);
  }

  /** The last end that was not rolled back. */
  end(version: Version): Version['ends'][number] | undefined {
    return version.ends.findLast(({ level }) => !level.aborted);
  }

  visible(view: View): Version[] {
    return this.versions.filter((version) => {
      if (!this.sees(view, version.inserted)) return false;
      return !version.ends.some((end) => this.sees(view, end));
    });
  }

  rows(view: View): [number, number][] {
    return this.visible(view)
      .map(({ id, n }): [number, number] => [id, n])
      .sort(([a, x], [b, y]) => a - b || x - y);
  }

  /** What an update, deletion or lock of a version that the statement sees must come to. */
  verdict(version: Version, transaction: ModelTransaction, mode: number): 'ok' | 'gone' | '40001' | '55P03' {
    const end = this.end(version);
    if (end !== undefined) {
      if (end.level.committed) return transaction.repeatable ? '40001' : 'gone';
      // Its own end is seen by the next command: only others' are met.
      const held = end.key ? 3 : 2;
      if (mode + held >= 3) return '55P03';
    }
    for (const lock of version.locks) {
      if (lock.level.open && lock.level.transaction !== transaction && lock.mode + mode >= 3) return '55P03';
    }
    // A newer version of an update that is not decided yet: what is done to it is in the way, too.
    if (end?.next !== undefined && end.level.transaction !== transaction) {
      return this.verdict(end.next, transaction, mode);
    }
    return 'ok';
  }

  insert(transaction: ModelTransaction, id: number, n: number, block: number, offset: number): Version {
    const inserted = { level: transaction.level, command: transaction.command };
    const version: Version = { id, n, block, offset, inserted, ends: [], locks: [] };
    this.versions.push(version);
    return version;
  }

  finish(version: Version, transaction: ModelTransaction, key: boolean, next: Version | undefined): void {
    version.ends.push({ level: transaction.level, command: transaction.command, key, next });
    if (next === undefined) return;
    for (const lock of version.locks) {
      if (lock.level.open && lock.level.transaction !== transaction) next.locks.push(lock);
    }
  }

  lock(version: Version, transaction: ModelTransaction, mode: number): void {
    const lock = { level: transaction.level, mode };
    let at: Version | undefined = version;
    while (at !== undefined) {
      at.locks.push(lock);
      const end: Version['ends'][number] | undefined = this.end(at);
      at = end?.level.open === true ? end.next : undefined;
    }
  }
}
