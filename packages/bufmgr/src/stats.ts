// What a pool counts. Plain numbers, since the pool was made; take a copy to see what one piece of work did.

/** Counters of a pool. PostgreSQL: `pg_stat_io` and `BufferUsage`, instrument.h. */
export class BufferStats {
  /** Pins that found their page in the pool (a page that read-ahead brought is one). PostgreSQL: `shared_blks_hit`. */
  hits = 0;
  /** Pins that did not, and read their page. */
  misses = 0;
  /** Blocks read from files, by pins and by read-ahead. PostgreSQL: `shared_blks_read`. */
  reads = 0;
  /** Reads of runs of blocks that read-ahead issued: one a run. */
  readAheads = 0;
  /** Pages that gave up their buffer to another page. */
  evictions = 0;
  /** Blocks written to files. PostgreSQL: `shared_blks_written`. */
  writes = 0;
  /** Write calls: neighbouring dirty blocks go out in one. */
  writeRuns = 0;
  /** Blocks added to files. */
  extends = 0;
  /** Invalid pages that `pinZeroOnError` gave as zeros. */
  zeroed = 0;

  /** The counters now, as a plain object that changes no more. */
  snapshot(): BufferCounts {
    return { ...this };
  }
}

/** The counters of {@link BufferStats} at one moment. */
export type BufferCounts = Omit<Readonly<BufferStats>, 'snapshot'>;
