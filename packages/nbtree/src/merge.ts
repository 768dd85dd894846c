// Sorted runs in files, for builds whose tuples do not fit the memory they may use: written one after the other to one
// file, and merged by a tree of losers. When there are more runs than can be read side by side, runs are merged to longer
// ones in a second file first.
import { type Steps, StorageError } from '@blockwright/base';
import { type PageMemory, pageMemory } from '@blockwright/page';
import {
  INDEX_SIZE_MASK,
  INDEX_TUPLE_HEADER_BYTES,
  type IndexTupleFormat,
  indexTupleBlock,
  indexTupleOffset,
  indexTupleSize,
  type TupleMemory,
} from '@blockwright/tuple';
import type { Vfs, VfsFile } from '@blockwright/vfs';
import { sortingProgress } from './build-progress.ts';
import { decisiveBelow, KEY_DIFFERS, KEY_EQUALS, KEY_MAY_EQUAL, type SortedTuples } from './sort.ts';
import { copyTuple } from './tuple-arena.ts';
import { compareTids } from './tuples.ts';

/** Bytes of a run that are read or written at once. */
const BUFFER_SHIFT = 16;
const BUFFER_BYTES = 1 << BUFFER_SHIFT;
/** No tuple is longer. */
const MOST_TUPLE_BYTES: number = INDEX_SIZE_MASK + 1;
/** However little memory there is, as many runs are read side by side. PostgreSQL: `MINORDER`, tuplesort.c. */
const FEWEST_SIDE_BY_SIDE = 6;
const MOST_SIDE_BY_SIDE = 500;
/** Tuples that are merged between two steps. */
const STEP_TUPLES = 0x4000;

/** Where a run lies in its file. */
interface Run {
  readonly start: number;
  readonly end: number;
  readonly tuples: number;
}

/** The runs of one build. What it creates in the directory is gone after {@link close}. */
export class SortRuns {
  /** Runs that were written, those of merges not counted. */
  written = 0;
  private readonly format: IndexTupleFormat;
  private readonly vfs: Vfs;
  private readonly directory: string;
  private readonly sideBySide: number;
  private file: RunFile | undefined = undefined;
  private spare: RunFile | undefined = undefined;
  private runs: Run[] = [];

  /** @param memoryBytes that the buffers of a merge may take */
  constructor(format: IndexTupleFormat, vfs: Vfs, directory: string, memoryBytes: number) {
    this.format = format;
    this.vfs = vfs;
    this.directory = directory;
    this.sideBySide = Math.min(Math.max(memoryBytes >>> BUFFER_SHIFT, FEWEST_SIDE_BY_SIDE), MOST_SIDE_BY_SIDE);
  }

  /** Writes tuples, which are in order, as one more run. */
  *write(tuples: SortedTuples): Steps<void> {
    this.file ??= new RunFile(this.vfs, this.directory);
    this.runs.push(yield* writeRun(this.file, tuples));
    this.written++;
  }

  /** All tuples of all runs in order, in one go over the files. */
  *merge(): Steps<SortedTuples> {
    while (this.runs.length > this.sideBySide) yield* this.mergeOnce();
    return new MergedTuples(this.format, this.fileOfRuns(), this.runs);
  }

  /** Removes the files. It throws nothing, so that an error before it is the one that is seen. */
  close(): void {
    this.file?.remove();
    this.spare?.remove();
    this.file = undefined;
    this.spare = undefined;
    this.runs = [];
  }

  /** As many runs as can be read side by side become one, all of them once. */
  private *mergeOnce(): Steps<void> {
    const from = this.fileOfRuns();
    const to = this.spare ?? new RunFile(this.vfs, this.directory);
    this.spare = to;
    const merged: Run[] = [];
    for (let first = 0; first < this.runs.length; first += this.sideBySide) {
      const some = this.runs.slice(first, first + this.sideBySide);
      merged.push(yield* writeRun(to, new MergedTuples(this.format, from, some)));
    }
    from.clear();
    this.file = to;
    this.spare = from;
    this.runs = merged;
  }

  private fileOfRuns(): RunFile {
    if (this.file === undefined) throw new RangeError('nothing was written to merge');
    return this.file;
  }
}

function* writeRun(file: RunFile, tuples: SortedTuples): Steps<Run> {
  const start = file.end;
  let count = 0;
  while (tuples.next()) {
    file.append(tuples.memory, tuples.position, tuples.length);
    count++;
    if ((count & (STEP_TUPLES - 1)) === 0) yield sortingProgress(count, tuples.count);
  }
  file.flush();
  return { start, end: file.end, tuples: count };
}

/** A file of runs. */
class RunFile {
  /** Byte after the last tuple appended. */
  end = 0;
  private readonly vfs: Vfs;
  private readonly file: VfsFile;
  private readonly buffer: PageMemory = pageMemory(new ArrayBuffer(BUFFER_BYTES));
  private filled = 0;

  constructor(vfs: Vfs, directory: string) {
    this.vfs = vfs;
    this.file = openNew(vfs, directory);
  }

  append(m: TupleMemory, pos: number, length: number): void {
    if (this.filled + length > BUFFER_BYTES) this.flush();
    copyTuple(m, pos, length, this.buffer, this.filled);
    this.filled += length;
    this.end += length;
  }

  flush(): void {
    const from = this.end - this.filled;
    for (let done = 0; done < this.filled; ) {
      done += this.file.write(this.buffer.u8, done, this.filled - done, from + done);
    }
    this.filled = 0;
  }

  /** Reads all of `length` bytes. */
  read(dest: Uint8Array, at: number, length: number, position: number): void {
    for (let done = 0; done < length; ) {
      const got = this.file.read(dest, at + done, length - done, position + done);
      if (got === 0) throw this.damaged(position + done);
      done += got;
    }
  }

  damaged(position: number): StorageError {
    return new StorageError('58030', `"${this.file.path}", before byte ${position}: the tuples written there are not`, {
      hint: 'The index was not built. Something else writes to the files of a sort that is under way; build it again.',
    });
  }

  clear(): void {
    this.file.truncate(0);
    this.end = 0;
  }

  remove(): void {
    try {
      this.file.close();
      this.vfs.unlink(this.file.path);
    } catch {
      // The disk fails: an error that led here is the one to be seen, and a file that stays harms nobody.
    }
  }
}

/** Creates a file under the first free name. */
function openNew(vfs: Vfs, directory: string): VfsFile {
  if (!vfs.exists(directory)) vfs.mkdir(directory);
  for (let number = 1; ; number++) {
    const path = `${directory}/build.${number}`;
    if (!vfs.exists(path)) return vfs.open(path, 'createExclusive');
  }
}

/** Runs merged: a tree of losers, in which the winner of each match goes up, and the loser stays. */
class MergedTuples implements SortedTuples {
  readonly count: number;
  memory: TupleMemory;
  position = 0;
  length = 0;
  likeness = KEY_DIFFERS;
  previousMemory: TupleMemory;
  previousPosition = 0;
  private readonly format: IndexTupleFormat;
  private readonly readers: readonly RunReader[];
  /** Of the tuple at which each run is; Infinity at its end. */
  private readonly prefixes: Float64Array;
  /** Entry 0 is the winner; entry `i` the loser of the match of entries `2 i` and `2 i + 1`; runs stand from `runs` on. */
  private readonly losers: Int32Array;
  /** Equal prefixes of a smaller magnitude mean equal keys. */
  private readonly below: number;
  private readonly saved: PageMemory = pageMemory(new ArrayBuffer(MOST_TUPLE_BYTES));
  private lastPrefix = Number.NEGATIVE_INFINITY;
  private started = false;

  constructor(format: IndexTupleFormat, file: RunFile, runs: readonly Run[]) {
    this.format = format;
    this.below = decisiveBelow(format);
    this.readers = runs.map((run) => new RunReader(file, run));
    this.prefixes = new Float64Array(runs.length);
    this.losers = new Int32Array(runs.length);
    this.memory = this.saved;
    this.previousMemory = this.saved;
    let count = 0;
    for (const run of runs) count += run.tuples;
    this.count = count;
  }

  next(): boolean {
    this.previousMemory = this.memory;
    this.previousPosition = this.position;
    if (this.started) this.goOn();
    else this.start();
    const winner = this.losers[0];
    const prefix = this.prefixes[winner];
    if (prefix === Number.POSITIVE_INFINITY) return false;
    const reader = this.readers[winner];
    this.memory = reader.memory;
    this.position = reader.position;
    this.length = reader.length;
    this.likeness = prefix === this.lastPrefix ? this.alike(prefix) : KEY_DIFFERS;
    this.lastPrefix = prefix;
    return true;
  }

  private alike(prefix: number): number {
    return prefix < this.below && prefix > 0 - this.below ? KEY_EQUALS : KEY_MAY_EQUAL;
  }

  /** The winner's run goes on by a tuple, which plays against the losers on its way up. */
  private goOn(): void {
    const { losers } = this;
    let winner = losers[0];
    this.advance(winner);
    for (let node = (winner + losers.length) >>> 1; node > 0; node >>>= 1) {
      const other = losers[node];
      if (this.isBefore(other, winner)) {
        losers[node] = winner;
        winner = other;
      }
    }
    losers[0] = winner;
  }

  private start(): void {
    const { losers, readers } = this;
    this.started = true;
    for (let run = 0; run < readers.length; run++) this.advance(run);
    losers[0] = this.play(1);
  }

  /** Plays the matches at and below a node. @returns the winner */
  private play(node: number): number {
    const { losers } = this;
    if (node >= losers.length) return node - losers.length;
    const left = this.play(node << 1);
    const right = this.play((node << 1) + 1);
    const leftWins = !this.isBefore(right, left);
    losers[node] = leftWins ? right : left;
    return leftWins ? left : right;
  }

  private advance(run: number): void {
    const reader = this.readers[run];
    if (reader.needsMore && reader.memory === this.previousMemory) {
      // What is read next lies over the tuple that was just given out.
      copyTuple(this.previousMemory, this.previousPosition, this.length, this.saved, 0);
      this.previousMemory = this.saved;
      this.previousPosition = 0;
    }
    this.prefixes[run] = reader.next()
      ? this.format.prefix(reader.memory, reader.position) + 0
      : Number.POSITIVE_INFINITY;
  }

  private isBefore(a: number, b: number): boolean {
    const aPrefix = this.prefixes[a];
    const bPrefix = this.prefixes[b];
    if (aPrefix !== bPrefix) return aPrefix < bPrefix;
    if (aPrefix === Number.POSITIVE_INFINITY) return a < b;
    const am = this.readers[a].memory;
    const bm = this.readers[b].memory;
    const aPos = this.readers[a].position;
    const bPos = this.readers[b].position;
    const byKey = this.format.compare(am, aPos, bm, bPos, this.format.keyCount);
    if (byKey !== 0) return byKey < 0;
    const aBlock = indexTupleBlock(am, aPos);
    const bBlock = indexTupleBlock(bm, bPos);
    return compareTids(aBlock, indexTupleOffset(am, aPos), bBlock, indexTupleOffset(bm, bPos)) < 0;
  }
}

/** Reads a run, buffer by buffer. */
class RunReader {
  readonly memory: PageMemory = pageMemory(new ArrayBuffer(BUFFER_BYTES));
  position = 0;
  length = 0;
  private readonly file: RunFile;
  private readonly end: number;
  /** Byte of the file after what the buffer holds. */
  private readTo: number;
  private filled = 0;

  constructor(file: RunFile, run: Run) {
    this.file = file;
    this.end = run.end;
    this.readTo = run.start;
  }

  /** Whether the next tuple is not all in the buffer, and {@link next} will move what is there. */
  get needsMore(): boolean {
    const at = this.position + this.length;
    if (at + INDEX_TUPLE_HEADER_BYTES > this.filled) return true;
    return at + indexTupleSize(this.memory, at) > this.filled;
  }

  next(): boolean {
    let at = this.position + this.length;
    if (this.needsMore) {
      const rest = this.filled - at;
      if (rest === 0 && this.readTo === this.end) return false;
      this.memory.u8.copyWithin(0, at, this.filled);
      const more = Math.min(BUFFER_BYTES - rest, this.end - this.readTo);
      this.file.read(this.memory.u8, rest, more, this.readTo);
      this.readTo += more;
      this.filled = rest + more;
      at = 0;
    }
    const length = indexTupleSize(this.memory, at);
    if (length < INDEX_TUPLE_HEADER_BYTES || at + length > this.filled) throw this.file.damaged(this.readTo);
    this.position = at;
    this.length = length;
    return true;
  }
}
