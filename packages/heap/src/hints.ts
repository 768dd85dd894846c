// Hint bits: what the commit log said of a tuple's transactions, noted in the tuple's header so that it is asked once.
// Who may set them, when, and who has set some on the page at hand.
import type { Relation } from '@blockwright/access';
import type { BufferId, Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import type { Transactions } from '@blockwright/transam';

/** Byte of t_infomask in a tuple's header, as an index of 16-bit words. */
const INFOMASK_WORD = 10;

/**
 * Takes hint bits, and knows whether some were set since {@link clear}: one a relation that is read, used page after
 * page. PostgreSQL: `SetHintBits`, heapam_visibility.c.
 */
export class HintSink {
  /** Whether bits may be set at all: never in files that are read only, and not while the WAL is replayed. */
  readonly writable: boolean;
  /** Whether the relation outlives a crash: a commit must be on disk before a bit says so. */
  readonly permanent: boolean;
  /** Whether a bit was set since the last {@link clear}. */
  changed = false;

  constructor(writable: boolean, permanent: boolean) {
    this.writable = writable;
    this.permanent = permanent;
  }

  /** A sink for the pages of `relation`. */
  static for(relation: Relation): HintSink {
    return new HintSink(!relation.storage.readOnly && !relation.log.recovering, relation.isLogged);
  }

  /** Sets `bits` of the tuple at `pos`: those that say "aborted", "invalid", which are true whatever a crash takes away. */
  set(m: PageMemory, pos: number, bits: number): void {
    if (!this.writable) return;
    const at = (pos >>> 1) + INFOMASK_WORD;
    m.u16[at] = m.u16[at] | bits;
    this.changed = true;
  }

  /** Sets `bits`, which say that `xid` has committed, unless a crash could still undo its commit. */
  setCommitted(m: PageMemory, pos: number, bits: number, transactions: Transactions, xid: Xid): void {
    if (!this.writable) return;
    if (this.permanent && !transactions.hintAllowed(xid)) return;
    this.set(m, pos, bits);
  }

  /** Has what was set on the page in buffer `id` written some day: once a page, while it is pinned. */
  flush(relation: Relation, id: BufferId): void {
    if (!this.changed) return;
    this.changed = false;
    relation.log.hint(relation, relation.main, id);
  }
}

/** Takes no bits: for who only looks. */
export const NO_HINTS: HintSink = new HintSink(false, true);
