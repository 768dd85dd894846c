// Positions of the WAL to which it can be taken back, and what has to be known for that.
import type { Lsn } from '@blockwright/base';

/** A position to go back to: see `WalWriter.mark`. */
export interface WalMark {
  readonly lsn: Lsn;
}

/** @internal */
export class Mark implements WalMark {
  /** Whose it is. */
  readonly writer: object;
  readonly lsn: Lsn;
  readonly lastStart: Lsn;
  readonly counts: Readonly<Counts>;
  /** Rewinds that the writer had done. */
  generation: number;
  /** Where the first record inserted after the mark ends; -1 while there is none. */
  firstEnd: Lsn = -1;

  constructor(writer: object, lsn: Lsn, lastStart: Lsn, counts: Counts, generation: number) {
    this.writer = writer;
    this.lsn = lsn;
    this.lastStart = lastStart;
    this.counts = { ...counts };
    this.generation = generation;
  }
}

/** @internal What was inserted. */
export interface Counts {
  records: number;
  bytes: number;
  images: number;
  imageBytes: number;
}
