// The text pool as the generator sees it: 300 MiB of bytes in a cache file, built anew when there is no such file or it
// is damaged.
//
// The cache file:
//
//   0                                            314572800                    314880000
//   | the pool, as drawn                         | CRC-32 of each 4 kB, LE    |
//
// What is right does not depend on the file: the CRC-32 of its table is a constant of this source, so that a run checks
// no more than the pieces that it reads. A scattered read takes about 3 µs; reading all takes from 0.15 s to 1.5 s,
// most of it the kernel's for 300 MiB of fresh memory. So small tables read piece by piece and need no memory, and
// after a number of reads the whole pool is brought in.
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { checkOptions, type Progress, runSync, type Steps } from '@blockwright/base';
import { POOL_BYTES, POOL_SLACK_BYTES, writePoolText } from './pool-text.ts';

const PIECE_SHIFT = 12;
const PIECE_BYTES = 1 << PIECE_SHIFT;
const PIECES = POOL_BYTES / PIECE_BYTES;
const TABLE_BYTES = PIECES * 4;
/** CRC-32 of the table of CRC-32s of the one right pool. */
const TABLE_CRC = 4228954425;
const FILE_NAME = 'tpch-text-pool-1.bin';
const LONG_READ_BYTES = 1 << 20;
const LONG_WRITE_BYTES = 1 << 23;
/** More than TPC-H at scale 0.01 needs. */
const SCATTERED_READS = 100000;
const STALE_MS = 60 * 60 * 1000;

export interface TextPoolOptions {
  /**
   * Where the cache file lies; made when missing. By default the environment's BLOCKWRIGHT_CACHE, else the platform's
   * directory for caches. `false` keeps the pool in memory alone.
   */
  readonly directory?: string | false;
  /** Called while the pool is being built, about every 10 ms. */
  readonly onProgress?: (progress: Progress) => void;
}

/** The directory that Blockwright keeps what can be made again in: BLOCKWRIGHT_CACHE, else the platform's own. */
export function cacheDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env.BLOCKWRIGHT_CACHE) return env.BLOCKWRIGHT_CACHE;
  if (env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME)) return join(env.XDG_CACHE_HOME, 'blockwright');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'blockwright');
  if (process.platform === 'win32') {
    return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'blockwright', 'cache');
  }
  return join(homedir(), '.cache', 'blockwright');
}

/** dbgen's text pool. Close it after use. */
export class TextPool implements Disposable {
  /** The pool's bytes once {@link complete}, and some to spare; empty before. */
  bytes: Uint8Array = new Uint8Array(0);
  /** Whether the whole pool is in memory. */
  complete = false;
  /** Why the cache file could not be written, if so; the pool works all the same. */
  cacheError: Error | undefined;
  /** Whether this pool had to be built, since no good cache file was there. */
  wasBuilt = false;
  private readonly path: string | undefined;
  private file = -1;
  private table: Uint32Array = new Uint32Array(0);
  private readonly piece: Uint8Array = new Uint8Array(PIECE_BYTES);
  private reads = 0;

  private constructor(directory: string | undefined) {
    this.path = directory === undefined ? undefined : join(directory, FILE_NAME);
  }

  /** Opens the cached pool in a few milliseconds, or builds it in a few seconds. */
  static open(options: TextPoolOptions = {}): TextPool {
    return runSync(TextPool.openSteps(options), throttled(options.onProgress));
  }

  /** As {@link open}, in steps; for `run` of `@blockwright/base`, which leaves the event loop room. */
  static *openSteps(options: TextPoolOptions = {}): Steps<TextPool> {
    checkOptions('TextPool.open', options, ['directory', 'onProgress']);
    const directory = options.directory === false ? undefined : (options.directory ?? cacheDirectory());
    const pool = new TextPool(directory);
    if (!pool.openFile()) yield* pool.build();
    return pool;
  }

  /**
   * Copies `length` bytes of the pool from `start` on into `dest` from `at` on. When the cache file turns out to be
   * damaged there, the pool is built anew.
   * @throws RangeError for bytes outside of the pool.
   */
  read(start: number, length: number, dest: Uint8Array, at: number): void {
    if (!(start >= 0 && length >= 0 && start + length <= POOL_BYTES)) {
      throw new RangeError(`bytes ${start} to ${start + length} are not in the text pool, which has ${POOL_BYTES}`);
    }
    let done = 0;
    while (done < length) {
      if (!this.complete && ++this.reads > SCATTERED_READS) this.loadAll();
      const from = start + done;
      if (this.complete || !this.readPiece(from >>> PIECE_SHIFT)) {
        if (!this.complete) this.rebuild();
        for (let i = done; i < length; i++) dest[at + i] = this.bytes[start + i];
        return;
      }
      const inPiece = from & (PIECE_BYTES - 1);
      const end = Math.min(length, done + PIECE_BYTES - inPiece);
      for (let i = inPiece; done < end; i++, done++) dest[at + done] = this.piece[i];
    }
  }

  /** Brings the whole pool into memory, every byte checked. */
  loadAll(): void {
    if (this.complete) return;
    if (this.file < 0) throw closedError();
    const bytes = new Uint8Array(POOL_BYTES + POOL_SLACK_BYTES);
    for (let at = 0; at < POOL_BYTES; at += LONG_READ_BYTES) {
      if (!this.readAndCheck(bytes, at, LONG_READ_BYTES, at)) return this.rebuild();
    }
    this.bytes = bytes;
    this.complete = true;
    this.closeFile();
  }

  /** Closes the cache file, and lets go of the memory. */
  close(): void {
    this.closeFile();
    this.complete = false;
    this.bytes = new Uint8Array(0);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private closeFile(): void {
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  /** Opens the cache file and reads its table; false when there is none, or it is not the right one. */
  private openFile(): boolean {
    if (this.path === undefined) return false;
    try {
      this.file = openSync(this.path, 'r');
      const table = new Uint8Array(TABLE_BYTES);
      const sizeIsRight = fstatSync(this.file).size === POOL_BYTES + TABLE_BYTES;
      if (sizeIsRight && readFully(this.file, table, 0, TABLE_BYTES, POOL_BYTES) && crc32(table) === TABLE_CRC) {
        this.table = new Uint32Array(table.buffer);
        return true;
      }
    } catch {
      // Unreadable is as good as missing: the pool is built.
    }
    this.closeFile();
    return false;
  }

  private readPiece(piece: number): boolean {
    if (this.file < 0) throw closedError();
    return this.readAndCheck(this.piece, 0, PIECE_BYTES, piece << PIECE_SHIFT);
  }

  /** Whole pieces of the file, from `position` on; false when they are not what they should be. */
  private readAndCheck(dest: Uint8Array, at: number, length: number, position: number): boolean {
    try {
      if (!readFully(this.file, dest, at, length, position)) return false;
    } catch {
      return false;
    }
    for (let done = 0; done < length; done += PIECE_BYTES) {
      const piece = dest.subarray(at + done, at + done + PIECE_BYTES);
      if (crc32(piece) !== this.table[(position + done) >>> PIECE_SHIFT]) return false;
    }
    return true;
  }

  private rebuild(): void {
    this.closeFile();
    runSync(this.build());
  }

  private *build(): Steps<void> {
    const bytes = new Uint8Array(POOL_BYTES + POOL_SLACK_BYTES);
    yield* writePoolText(bytes);
    const table = pieceChecksums(bytes);
    if (crc32(table) !== TABLE_CRC) throw new Error('the text pool came out wrong: this is a bug');
    this.bytes = bytes;
    this.complete = true;
    this.wasBuilt = true;
    if (this.path === undefined) return;
    try {
      yield* writeCacheFile(this.path, bytes, table);
    } catch (error) {
      this.cacheError = error as Error;
    }
  }
}

function closedError(): Error {
  return new Error('the text pool is closed');
}

function pieceChecksums(bytes: Uint8Array): Uint32Array {
  const table = new Uint32Array(PIECES);
  for (let piece = 0; piece < PIECES; piece++) {
    table[piece] = crc32(bytes.subarray(piece << PIECE_SHIFT, (piece + 1) << PIECE_SHIFT));
  }
  return table;
}

/** Writes beside the file and renames, so that a reader, or another writer at the same time, never meets a half one. */
function* writeCacheFile(path: string, bytes: Uint8Array, table: Uint32Array): Steps<void> {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true });
  removeStale(directory);
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2, 10)}.tmp`;
  let written = false;
  try {
    const file = openSync(temporary, 'wx');
    try {
      for (let at = 0; at < POOL_BYTES; at += LONG_WRITE_BYTES) {
        writeFully(file, bytes.subarray(at, Math.min(at + LONG_WRITE_BYTES, POOL_BYTES)), at);
        yield { phase: 'writing the text pool to its cache', done: at, total: POOL_BYTES, unit: 'bytes' };
      }
      writeFully(file, new Uint8Array(table.buffer), POOL_BYTES);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    written = true;
  } finally {
    // In a finally block, since a generator may also be stopped half-way.
    if (!written) rmSync(temporary, { force: true });
  }
}

/** Removes what writers that were killed left behind: 300 MiB each. */
function removeStale(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(`${FILE_NAME}.`) || !name.endsWith('.tmp')) continue;
    try {
      const path = join(directory, name);
      if (Date.now() - statSync(path).mtimeMs > STALE_MS) unlinkSync(path);
    } catch {
      // Another process was quicker.
    }
  }
}

function readFully(file: number, dest: Uint8Array, at: number, length: number, position: number): boolean {
  let done = 0;
  while (done < length) {
    const count = readSync(file, dest, at + done, length - done, position + done);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

function writeFully(file: number, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

/** At most one call every 10 ms. */
function throttled(onProgress: TextPoolOptions['onProgress']): TextPoolOptions['onProgress'] {
  if (onProgress === undefined) return undefined;
  let next = 0;
  return (progress) => {
    const now = performance.now();
    if (now < next) return;
    next = now + 10;
    onProgress(progress);
  };
}
