// Dirty pages on their way to the files: checksums set, neighbours in one write, everything else in block order.
import { type BlockNumber, type BufferId, fromWords, highWord, type Lsn, lowWord, type Steps } from '@blockwright/base';
import { pageLsnHigh, pageLsnLow, pageSetChecksum } from '@blockwright/page';
import { pageFromFuture } from './errors.ts';
import type { BufferedFork, WalFlusher } from './fork.ts';
import { type BufferFrames, STATE_DIRTY, USAGE_MASK, WORD_FORK, WORD_PINS, WORD_STATE } from './frames.ts';
import type { PagePoison } from './poison.ts';
import type { BufferStats } from './stats.ts';
import type { BufferTable } from './table.ts';

/** The most bytes of one write or read of several blocks. PostgreSQL: `io_combine_limit`, and `checkpoint_flush_after`. */
export const RUN_BYTES = 0x4_0000;

/** What the parts of a pool share. */
export interface PoolParts {
  readonly frames: BufferFrames;
  readonly table: BufferTable;
  /** The forks that have, or had, pages here, by their id. */
  readonly forks: Map<number, BufferedFork>;
  readonly stats: BufferStats;
  readonly poison: PagePoison | undefined;
  /** Room for a run whose buffers do not lie side by side. */
  readonly scratch: () => Uint8Array;
}

/** Writes pages of a pool. */
export class WriteBack {
  wal: WalFlusher | undefined = undefined;
  private readonly parts: PoolParts;
  private readonly checksums: boolean;
  private readonly run: Int32Array;

  constructor(parts: PoolParts, checksums: boolean) {
    this.parts = parts;
    this.checksums = checksums;
    this.run = new Int32Array(RUN_BYTES >>> parts.frames.blockShift);
  }

  /**
   * Writes a dirty page that is to give up its buffer, and with it those that follow it in the file, as long as they
   * are dirty and as little used: a bulk load's ring is written in runs and not block by block.
   */
  writeVictim(id: BufferId): void {
    const { frames, table } = this.parts;
    const { words } = frames;
    const { run } = this;
    const forkId = words[(id << 2) + WORD_FORK];
    const first = frames.block(id);
    run[0] = id;
    let count = 1;
    while (count < run.length) {
      const next = table.find(forkId, first + count);
      if (next < 0) break;
      const at = next << 2;
      const state = words[at + WORD_STATE];
      if ((state & STATE_DIRTY) === 0 || (state & USAGE_MASK) > 1 || words[at + WORD_PINS] !== 0) break;
      if (this.isFromFuture(next)) break;
      run[count++] = next;
    }
    this.writeRun(forkId, first, count);
  }

  /**
   * Writes the dirty pages of one fork, or of all (-1), sorted by fork and block.
   * @returns the blocks written. PostgreSQL: `BufferSync`, bufmgr.c.
   */
  *flush(onlyFork: number): Steps<number> {
    const keys = this.dirtyKeys(onlyFork);
    const { frames, table } = this.parts;
    const { words } = frames;
    const { run } = this;
    let written = 0;
    for (let i = 0; i < keys.length; ) {
      const forkId = highWord(keys[i]);
      const first = lowWord(keys[i]);
      let count = 0;
      // Between two steps anything may have happened to a page, so each is looked up when its turn comes.
      while (count < run.length && i < keys.length && keys[i] === fromWords(forkId, 0) + first + count) {
        const id = table.find(forkId, first + count);
        if (id < 0 || (words[(id << 2) + WORD_STATE] & STATE_DIRTY) === 0) break;
        if (count > 0 && this.isFromFuture(id)) break;
        run[count++] = id;
        i++;
      }
      if (count === 0) i++;
      else this.writeRun(forkId, first, count);
      written += count;
      yield { phase: 'writing', done: i, total: keys.length, unit: 'blocks' };
    }
    return written;
  }

  /** Whether a page is dirty and cannot be written before the WAL is flushed. PostgreSQL: `XLogNeedsFlush`. */
  waitsForWal(id: BufferId): boolean {
    if (this.wal === undefined) return false;
    const { frames } = this.parts;
    if ((frames.words[(id << 2) + WORD_STATE] & STATE_DIRTY) === 0) return false;
    const m = frames.memory(id);
    const base = frames.base(id);
    return fromWords(pageLsnHigh(m, base), pageLsnLow(m, base)) > (this.wal.flushedUpTo ?? this.wal.insertedUpTo);
  }

  /**
   * WAL before data: makes it durable up to the largest LSN of the run's pages. The WAL is asked for nothing that it does
   * not have: a page from the future is no reason to move it.
   */
  private flushWal(wal: WalFlusher, fork: BufferedFork, first: BlockNumber, count: number): void {
    const { frames } = this.parts;
    const { run } = this;
    const end = wal.insertedUpTo;
    let largest: Lsn = 0;
    for (let i = 0; i < count; i++) {
      const m = frames.memory(run[i]);
      const base = frames.base(run[i]);
      // 53 bits tell an LSN of ours from one beyond the WAL's end.
      const lsn = fromWords(pageLsnHigh(m, base), pageLsnLow(m, base));
      if (lsn > end) throw pageFromFuture(fork, first + i, pageLsnHigh(m, base), pageLsnLow(m, base), end);
      if (lsn > largest) largest = lsn;
    }
    if (largest > 0) wal.flush(largest);
  }

  private isFromFuture(id: BufferId): boolean {
    if (this.wal === undefined) return false;
    const m = this.parts.frames.memory(id);
    const base = this.parts.frames.base(id);
    return fromWords(pageLsnHigh(m, base), pageLsnLow(m, base)) > this.wal.insertedUpTo;
  }

  private dirtyKeys(onlyFork: number): Float64Array {
    const { frames } = this.parts;
    const { words, used } = frames;
    const chosen = (at: number): boolean =>
      (words[at + WORD_STATE] & STATE_DIRTY) !== 0 && (onlyFork < 0 || words[at + WORD_FORK] === onlyFork);
    let count = 0;
    for (let id = 0; id < used; id++) if (chosen(id << 2)) count++;
    const keys = new Float64Array(count);
    count = 0;
    for (let id = 0; id < used; id++) {
      if (chosen(id << 2)) keys[count++] = fromWords(words[(id << 2) + WORD_FORK], frames.block(id));
    }
    return keys.sort();
  }

  /** Writes the first `count` buffers of `run`, which hold blocks `first` on of one fork. */
  private writeRun(forkId: number, first: BlockNumber, count: number): void {
    const { frames, forks, stats, poison, scratch } = this.parts;
    const { words, geometry, blockShift } = frames;
    const { run } = this;
    const fork = forks.get(forkId) as BufferedFork;
    for (let i = 0; i < count; i++) {
      const id = run[i];
      poison?.reveal(id, fork.name);
    }
    if (this.wal !== undefined) this.flushWal(this.wal, fork, first, count);
    for (let i = 0; i < count; i++) {
      const id = run[i];
      if (this.checksums) pageSetChecksum(frames.memory(id), frames.base(id), geometry, first + i);
    }
    if (sideBySide(frames, run, count)) {
      fork.write(first, count, frames.memory(run[0]).u8, frames.base(run[0]));
    } else {
      const bytes = scratch();
      for (let i = 0; i < count; i++) {
        const base = frames.base(run[i]);
        bytes.set(frames.memory(run[i]).u8.subarray(base, base + geometry.size), i << blockShift);
      }
      fork.write(first, count, bytes, 0);
    }
    for (let i = 0; i < count; i++) {
      const at = run[i] << 2;
      words[at + WORD_STATE] &= ~STATE_DIRTY;
      if (words[at + WORD_PINS] === 0) poison?.conceal(run[i]);
    }
    stats.writes += count;
    stats.writeRuns++;
  }
}

/** Whether buffers follow each other in one chunk of memory. */
export function sideBySide(frames: BufferFrames, ids: Int32Array, count: number): boolean {
  const first = ids[0];
  for (let i = 1; i < count; i++) if (ids[i] !== first + i) return false;
  return first >>> frames.chunkShift === ids[count - 1] >>> frames.chunkShift;
}
