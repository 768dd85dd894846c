// Object ids, given once each: logged ahead in portions, so that a crash skips some and repeats none.
// PostgreSQL: `GetNewObjectId`, varsup.c.
import { type Lsn, type Oid, StorageError } from '@blockwright/base';
import { RM_XLOG, type WalWriter } from '@blockwright/wal';
import { XLOG_NEXTOID } from './xlog-records.ts';

/** Ids of one portion. PostgreSQL: `VAR_OID_PREFETCH`. */
const PORTION = 0x2000;
/** The first id that is no catalog's. PostgreSQL: `FirstNormalObjectId`. */
const FIRST_NORMAL_OID = 0x4000;
const MAX_OID = 0xffff_ffff;
const RECORD_BYTES = 64;

/** The counter of object ids of an open data directory. */
export class ObjectIds {
  private readonly wal: WalWriter;
  private next_: Oid;
  /** Ids that may be given without logging more. */
  private logged = 0;

  /** @param nextOid from the last checkpoint, or from what redo found. */
  constructor(wal: WalWriter, nextOid: Oid) {
    this.wal = wal;
    this.next_ = Math.max(nextOid, FIRST_NORMAL_OID);
  }

  /** The id that {@link take} would give. */
  get next(): Oid {
    return this.next_;
  }

  /** No id from this on has been given, nor will be without a record in the WAL that says so: for a checkpoint. */
  get loggedUpTo(): Oid {
    return this.next_ + this.logged;
  }

  /**
   * An id that was never given before.
   * @throws StorageError 54000 when all were; 53100 when the WAL cannot grow: none is given then.
   */
  take(): Oid {
    if (this.next_ >= MAX_OID) {
      throw new StorageError('54000', 'there are no object ids left', {
        hint: 'Dump the tables and load them into a new data directory.',
      });
    }
    if (this.logged === 0) this.logPortion();
    this.logged--;
    return this.next_++;
  }

  private logPortion(): Lsn {
    const { wal } = this;
    const count = Math.min(PORTION, MAX_OID - this.next_);
    wal.reserve(RECORD_BYTES);
    wal.record.begin(RM_XLOG, XLOG_NEXTOID);
    wal.record.u32(this.next_ + count);
    const end = wal.insert(0);
    this.logged = count;
    return end;
  }
}
