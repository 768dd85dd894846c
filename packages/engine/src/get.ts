// One row by its key: the key encoded, one way down the index, one look at the table, one row decoded. What it takes is made
// once an index and used again: a look-up is over when the call returns, and calls nobody.
import type { OffsetNumber } from '@blockwright/base';
import { HeapTableAccess } from '@blockwright/heap';
import { BtreeLookup } from '@blockwright/nbtree';
import type { PageMemory } from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import { type FetchToast, RowDecoder } from '@blockwright/tuple';
import { KeyMaker } from './key.ts';
import type { QueryIndex } from './query-index.ts';

/** Looks rows up by a unique index. */
export class KeyLookup {
  readonly index: QueryIndex;
  private readonly keys: KeyMaker;
  private readonly entries: BtreeLookup;
  private readonly access: HeapTableAccess;
  private readonly decoder: RowDecoder;

  /** @throws TypeError for an index that is not unique */
  constructor(index: QueryIndex, fetchToast?: FetchToast) {
    if (!index.isUnique) {
      throw new TypeError(
        `index "${index.name}" of table "${index.table}" is not unique: several rows may have a key. Scan it from and to the key`,
      );
    }
    this.index = index;
    this.keys = new KeyMaker(index);
    this.entries = new BtreeLookup(index.btree);
    this.access = new HeapTableAccess(index.heap, index.transactions);
    this.decoder = RowDecoder.for(index.descriptor, undefined, { fetchToast });
  }

  /** Where {@link find} or {@link get} found the row: the TID by which the index knows it. */
  get block(): number {
    return this.entries.block;
  }

  get offset(): number {
    return this.entries.offset;
  }

  /** The version of it that the snapshot sees: on the same block. */
  version: OffsetNumber = 0;

  /** The row with this key that `snapshot` sees, or undefined. @throws TypeError or RangeError for what is no key. */
  get(key: unknown, snapshot: Snapshot, decoder: RowDecoder = this.decoder): Record<string, unknown> | undefined {
    const { access } = this;
    try {
      if (!this.search(key, snapshot)) return undefined;
      return decoder.object(access.memory as PageMemory, access.position, access.length);
    } finally {
      this.release();
    }
  }

  /** Whether there is such a row; {@link block} and {@link offset} say where. */
  find(key: unknown, snapshot: Snapshot): boolean {
    try {
      return this.search(key, snapshot);
    } finally {
      this.release();
    }
  }

  private search(key: unknown, snapshot: Snapshot): boolean {
    const { keys, entries, access } = this;
    keys.whole(key);
    entries.start(keys.memory, 0);
    while (entries.next()) {
      this.version = access.fetch(entries.block, entries.offset, snapshot);
      if (this.version !== 0) return true;
      if (access.allDead) entries.dead();
    }
    return false;
  }

  private release(): void {
    this.access.release();
    this.entries.end();
  }
}
