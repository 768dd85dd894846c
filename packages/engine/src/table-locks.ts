// Who uses which table, so that a table is dropped or replaced only while nobody else does. Nothing waits: what cannot be
// had is refused at once. What a savepoint took goes with it. PostgreSQL: lock.c, of whose eight modes two are needed here.
import { type Oid, StorageError } from '@blockwright/base';
import type { CatalogEntry } from '@blockwright/catalog';

/** Who uses a table: a transaction, or a scan outside of any. Compared by identity. */
export type TableUser = object;

/** What somebody keeps to himself. */
interface Held {
  readonly owner: TableUser;
  /** Of the savepoint in which it was taken, 0 outside of any. */
  level: number;
}

interface Exclusion extends Held {
  /** What the owner does, for messages: `dropped`, `loaded`, `indexed`. */
  readonly doing: string;
}

export class TableLocks {
  /** Of each table its users, and the level at which each began to use it. */
  private readonly users = new Map<Oid, Map<TableUser, number>>();
  private readonly exclusions = new Map<Oid, Exclusion>();
  /** Names of tables and indexes that open transactions have given or taken away. */
  private readonly names = new Map<string, Held>();

  /**
   * Notes that `owner` uses a table, until {@link release}, or {@link rollbackTo} a savepoint around `level`.
   * @throws StorageError 55006 while another transaction loads the table, 55P03 while it has dropped or replaced it.
   */
  share(entry: CatalogEntry, owner: TableUser, level: number): void {
    const { oid } = entry;
    this.refuseExcluded(entry, owner);
    let users = this.users.get(oid);
    if (users === undefined) {
      users = new Map();
      this.users.set(oid, users);
    }
    if (!users.has(owner)) users.set(owner, level);
  }

  /** As {@link share}, for a look that is over when the call returns. */
  refuseExcluded({ oid, name }: CatalogEntry, asker?: TableUser): void {
    if (this.exclusions.size === 0) return;
    const exclusion = this.exclusions.get(oid);
    if (exclusion !== undefined && exclusion.owner !== asker) throw refusal(name, exclusion.doing);
  }

  /**
   * Refuses what {@link exclude} would refuse, and notes nothing.
   * @throws StorageError 55006 when somebody else uses the table, 55P03 when another transaction keeps it already.
   */
  refuseUsed(entry: CatalogEntry, owner: TableUser, doing: string): void {
    const { oid, name } = entry;
    this.refuseExcluded(entry, owner);
    for (const user of this.users.get(oid)?.keys() ?? []) {
      if (user === owner) continue;
      throw new StorageError('55006', `table "${name}" cannot be ${doing}: another transaction or scan uses it`, {
        hint: 'End the transaction, or close the scan, and try again.',
      });
    }
  }

  /** Keeps everybody else from a table, as long as {@link share} would note it. @throws StorageError as {@link refuseUsed}. */
  exclude(entry: CatalogEntry, owner: TableUser, level: number, doing: string): void {
    this.refuseUsed(entry, owner, doing);
    if (!this.exclusions.has(entry.oid)) this.exclusions.set(entry.oid, { owner, level, doing });
  }

  /**
   * Notes that `owner` gives or takes away the name of a table or an index.
   * @throws StorageError 55P03 when another open transaction has done so.
   */
  takeName(name: string, owner: TableUser, level: number): void {
    const held = this.names.get(name);
    if (held === undefined) this.names.set(name, { owner, level });
    else if (held.owner !== owner) {
      throw new StorageError('55P03', `another open transaction has created or dropped a table or index "${name}"`, {
        hint: 'Try again when it has ended.',
      });
    }
  }

  /** A savepoint was rolled back: what `owner` took at `level` and deeper is everybody's again. */
  rollbackTo(owner: TableUser, level: number): void {
    for (const [oid, users] of this.users) {
      if ((users.get(owner) ?? -1) < level) continue;
      users.delete(owner);
      if (users.size === 0) this.users.delete(oid);
    }
    if (this.exclusions.size === 0 && this.names.size === 0) return;
    for (const held of [this.exclusions, this.names] as Map<unknown, Held>[]) {
      for (const [key, { owner: holder, level: taken }] of held) {
        if (holder === owner && taken >= level) held.delete(key);
      }
    }
  }

  /** A savepoint has ended well: what `owner` took at `level` and deeper belongs to the one around it. */
  releaseSavepoint(owner: TableUser, level: number): void {
    for (const users of this.users.values()) {
      if ((users.get(owner) ?? -1) >= level) users.set(owner, level - 1);
    }
    for (const held of [this.exclusions, this.names] as Map<unknown, Held>[]) {
      for (const one of held.values()) if (one.owner === owner && one.level >= level) one.level = level - 1;
    }
  }

  /** Notes that `owner` uses nothing any more. */
  release(owner: TableUser): void {
    this.rollbackTo(owner, 0);
  }
}

function refusal(name: string, doing: string): StorageError {
  return doing === 'loaded'
    ? new StorageError('55006', `table "${name}" is being loaded`)
    : new StorageError('55P03', `table "${name}" is being ${doing} by another open transaction`, {
        hint: 'Try again when that has ended.',
      });
}
