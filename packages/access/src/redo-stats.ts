// What redo counts, and where its time goes when that is asked for.

/** Counters of a redo. Times are taken only while {@link RedoStats.timing} is set: reading the clock costs, too. */
export class RedoStats {
  /** Whether the times below are taken. */
  timing = false;
  /** Compaction of pages, by the subjects that compact, in milliseconds. */
  compactionMs = 0;
  /** Looking pages up in the pool, and reading them. */
  lookupMs = 0;
  /** Opening, making and extending files. */
  openMs = 0;
  /** Pages asked for, images and new pages among them. */
  pages = 0;
  /** Pages that an image replaced, unread. */
  restored = 0;
  /** Pages whose LSN said that the change is there already. */
  done = 0;
  /** Pages that were not there. */
  missing = 0;
  /** Compactions, by the subjects that compact. */
  compactions = 0;
}
