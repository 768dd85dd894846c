// The WAL as the buffer pool sees it, over the whole life of a directory: at first what redo has read, which is on the disk
// already; then what the writer has put behind it.
import type { Lsn } from '@blockwright/base';

/** What a pool asks of the WAL before it writes a page: of a {@link WalWriter} too. */
export interface WalFlusher {
  readonly insertedUpTo: Lsn;
  flush(upTo: Lsn): void;
}

/** The {@link WalFlusher} of a pool that is made before the WAL can be written. */
export class WalGate implements WalFlusher {
  private end: Lsn = 0;
  private writer: WalFlusher | undefined = undefined;

  /** No page may have an LSN beyond this. */
  get insertedUpTo(): Lsn {
    return this.writer === undefined ? this.end : this.writer.insertedUpTo;
  }

  flush(upTo: Lsn): void {
    this.writer?.flush(upTo);
  }

  /** Says how far the WAL that is on the disk reaches, for as long as no writer is attached. */
  endsAt(end: Lsn): void {
    this.end = end;
  }

  /** From now on, what the writer says. */
  attach(writer: WalFlusher): void {
    this.writer = writer;
  }
}
