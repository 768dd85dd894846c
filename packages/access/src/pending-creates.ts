// Files made by transactions that have not ended: they are in every checkpoint record, so that a recovery that starts there
// removes those of transactions that a crash ended.
import type { RelationLocator, Xid } from '@blockwright/base';

/** A relation whose files a transaction made. */
export interface PendingCreate {
  readonly xid: Xid;
  readonly locator: RelationLocator;
}

/** The relations made by open transactions. PostgreSQL: `pendingDeletes`, storage.c, which is in no checkpoint. */
export class PendingCreates {
  private readonly byXid: Map<Xid, RelationLocator[]> = new Map();

  add(xid: Xid, locator: RelationLocator): void {
    const locators = this.byXid.get(xid);
    if (locators === undefined) this.byXid.set(xid, [locator]);
    else if (!locators.some((known) => isSame(known, locator))) locators.push(locator);
  }

  /** These transactions have ended: what they made stays, or was removed. */
  forget(xids: Iterable<Xid>): void {
    for (const xid of xids) this.byXid.delete(xid);
  }

  entries(): readonly PendingCreate[] {
    const found: PendingCreate[] = [];
    for (const [xid, locators] of this.byXid) for (const locator of locators) found.push({ xid, locator });
    return found;
  }
}

function isSame(a: RelationLocator, b: RelationLocator): boolean {
  return a.relfilenode === b.relfilenode && a.database === b.database && a.tablespace === b.tablespace;
}
