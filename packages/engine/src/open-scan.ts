// What a scan of a table that others change holds until it ends: its snapshot, and its use of the table. It is kept apart
// from the scan that the user has, so that one that nobody has any more is noticed.
import type { Oid } from '@blockwright/base';
import type { CatalogEntry } from '@blockwright/catalog';
import type { Snapshot } from '@blockwright/transam';

export class OpenScan {
  readonly snapshot: Snapshot;
  /** Name and file number of its table. */
  readonly table: string;
  readonly relfilenode: Oid;
  /** The transaction whose statement it is; undefined outside of any. */
  readonly owner: object | undefined;
  /** Of the savepoint that it goes with, 0 outside of any. */
  level: number;
  /** Why it was ended by somebody else. */
  stopped: string | undefined = undefined;
  private readonly released: (scan: OpenScan) => void;

  constructor(
    snapshot: Snapshot,
    { name, relfilenode }: CatalogEntry,
    owner: object | undefined,
    level: number,
    released: (scan: OpenScan) => void,
  ) {
    this.snapshot = snapshot;
    this.table = name;
    this.relfilenode = relfilenode;
    this.owner = owner;
    this.level = level;
    this.released = released;
  }

  /** Gives everything back; again is fine. */
  release(): void {
    this.snapshot.release();
    this.released(this);
  }

  /** Ends it, because what it reads from goes: whoever asks for more is told so. */
  stop(why: string): void {
    this.stopped ??= why;
    this.release();
  }
}
