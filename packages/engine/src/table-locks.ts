// Who uses which table, so that a table is dropped or replaced only while nobody else does. Nothing waits: what cannot be
// had is refused at once. PostgreSQL: lock.c, of whose eight modes two are needed here.
import { type Oid, StorageError } from '@blockwright/base';
import type { CatalogEntry } from '@blockwright/catalog';

/** Who uses a table: a transaction, or a scan outside of any. Compared by identity. */
export type TableUser = object;

interface Exclusion {
  readonly owner: TableUser;
  /** What the owner does, for messages: `dropped`, `loaded`. */
  readonly doing: string;
}

export class TableLocks {
  private readonly users = new Map<Oid, Set<TableUser>>();
  private readonly exclusions = new Map<Oid, Exclusion>();
  /** Names that open transactions have given or taken away. */
  private readonly names = new Map<string, TableUser>();

  /**
   * Notes that `owner` uses a table, until {@link release}.
   * @throws StorageError 55006 while another transaction loads the table, 55P03 while it has dropped or replaced it.
   */
  share(entry: CatalogEntry, owner: TableUser): void {
    const { oid } = entry;
    this.refuseExcluded(entry, owner);
    let users = this.users.get(oid);
    if (users === undefined) {
      users = new Set();
      this.users.set(oid, users);
    }
    users.add(owner);
  }

  /** As {@link share}, for a look that is over when the call returns. */
  refuseExcluded({ oid, name }: CatalogEntry, asker?: TableUser): void {
    if (this.exclusions.size === 0) return;
    const exclusion = this.exclusions.get(oid);
    if (exclusion !== undefined && exclusion.owner !== asker) throw refusal(name, exclusion.doing);
  }

  /**
   * Keeps everybody else from a table until {@link release}, or {@link readmit}.
   * @throws StorageError 55006 when somebody else uses it, 55P03 when another transaction keeps it already.
   */
  exclude(entry: CatalogEntry, owner: TableUser, doing: string): void {
    const { oid, name } = entry;
    const held = this.exclusions.get(oid);
    if (held !== undefined && held.owner !== owner) throw refusal(name, held.doing);
    for (const user of this.users.get(oid) ?? []) {
      if (user === owner) continue;
      throw new StorageError('55006', `table "${name}" cannot be ${doing}: another transaction or scan uses it`, {
        hint: 'End the transaction, or close the scan, and try again.',
      });
    }
    this.exclusions.set(oid, { owner, doing });
  }

  /** Lets others use a table again: the savepoint in which it was kept from them was rolled back. */
  readmit(oid: Oid, owner: TableUser): void {
    if (this.exclusions.get(oid)?.owner === owner) this.exclusions.delete(oid);
  }

  /**
   * Notes that `owner` gives or takes away a table's name.
   * @throws StorageError 55P03 when another open transaction has done so.
   */
  takeName(name: string, owner: TableUser): void {
    const holder = this.names.get(name);
    if (holder !== undefined && holder !== owner) {
      throw new StorageError('55P03', `another open transaction has created or dropped a table "${name}"`, {
        hint: 'Try again when it has ended.',
      });
    }
    this.names.set(name, owner);
  }

  /** Gives a name free whose change was rolled back. */
  giveName(name: string, owner: TableUser): void {
    if (this.names.get(name) === owner) this.names.delete(name);
  }

  /** Notes that `owner` uses nothing any more. */
  release(owner: TableUser): void {
    for (const [oid, users] of this.users) {
      if (users.delete(owner) && users.size === 0) this.users.delete(oid);
    }
    for (const [oid, exclusion] of this.exclusions) {
      if (exclusion.owner === owner) this.exclusions.delete(oid);
    }
    for (const [name, holder] of this.names) if (holder === owner) this.names.delete(name);
  }
}

function refusal(name: string, doing: string): StorageError {
  return doing === 'loaded'
    ? new StorageError('55006', `table "${name}" is being loaded`)
    : new StorageError('55P03', `table "${name}" is being ${doing} by another open transaction`, {
        hint: 'Try again when that has ended.',
      });
}
