// The text pool as its users see it: 300 MiB of bytes that are read from a cache file piece by piece, when they are
// first asked for, and built anew when there is no such file or it is damaged.
//
// The cache file:
//
//   0                                            314572800                    314880000
//   | the pool, as drawn                         | CRC-32 of each 4 kB, LE    |
//
// What is right does not depend on the file: the CRC-32 of its table is a constant of this source. A run reads and
// checks only the pieces that it meets; scattered reads cost more each than one long one, so that after a number of
// them the whole rest is read at once.
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
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
/** So many scattered reads take about half as long as reading everything. */
const SCATTERED_READS = 24000;
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

/** dbgen's text pool. Needs 300 MiB of address space; of memory, what has been read. Close it after use. */
export class TextPool implements Disposable {
  /** The pool's bytes; valid where {@link require} was called, everywhere when {@link complete}. */
  readonly bytes: Uint8Array;
  /** Whether every byte is in memory. */
  complete = false;
  /** Why the cache file could not be written, if so; the pool works all the same. */
  cacheError: Error | undefined;
  /** Whether this pool had to be built, since no good cache file was there. */
  wasBuilt = false;
  private readonly path: string | undefined;
  private file = -1;
  private table: Uint32Array = new Uint32Array(0);
  private readonly present: Uint8Array = new Uint8Array(PIECES);
  private reads = 0;

  private constructor(directory: string | undefined) {
    this.bytes = new Uint8Array(POOL_BYTES + POOL_SLACK_BYTES);
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
   * Sees to it that `length` bytes from `start` on are in {@link bytes}. When the cache file turns out to be damaged
   * there, the pool is built anew.
   */
  require(start: number, length: number): void {
    if (this.complete) return;
    const last = (start + length - 1) >>> PIECE_SHIFT;
    for (let piece = start >>> PIECE_SHIFT; piece <= last; piece++) {
      if (this.present[piece] !== 0) continue;
      if (this.reads++ >= SCATTERED_READS) return this.requireAll();
      if (!this.readPiece(piece)) return this.rebuild();
    }
  }

  /** Reads and checks whatever is not yet in memory. */
  requireAll(): void {
    if (this.complete) return;
    if (this.file < 0) throw closedError();
    for (let at = 0; at < POOL_BYTES; at += LONG_READ_BYTES) {
      if (!this.readAndCheck(at, LONG_READ_BYTES)) return this.rebuild();
    }
    this.complete = true;
    this.closeFile();
  }

  close(): void {
    this.closeFile();
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
      if (statSync(this.path).size !== POOL_BYTES + TABLE_BYTES) return false;
      this.file = openSync(this.path, 'r');
      const table = new Uint8Array(TABLE_BYTES);
      if (readFully(this.file, table, 0, TABLE_BYTES, POOL_BYTES) && crc32(table) === TABLE_CRC) {
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
    return this.readAndCheck(piece << PIECE_SHIFT, PIECE_BYTES);
  }

  private readAndCheck(at: number, length: number): boolean {
    try {
      if (!readFully(this.file, this.bytes, at, length, at)) return false;
    } catch {
      return false;
    }
    for (let start = at; start < at + length; start += PIECE_BYTES) {
      if (crc32(this.bytes.subarray(start, start + PIECE_BYTES)) !== this.table[start >>> PIECE_SHIFT]) return false;
      this.present[start >>> PIECE_SHIFT] = 1;
    }
    return true;
  }

  private rebuild(): void {
    this.closeFile();
    runSync(this.build());
  }

  private *build(): Steps<void> {
    yield* writePoolText(this.bytes);
    const table = pieceChecksums(this.bytes);
    if (crc32(table) !== TABLE_CRC) throw new Error('the text pool came out wrong: this is a bug');
    this.complete = true;
    this.wasBuilt = true;
    if (this.path === undefined) return;
    yield { phase: 'writing the text pool to the cache', done: 0, total: 0, unit: 'bytes' };
    try {
      writeCacheFile(this.path, this.bytes, table);
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
function writeCacheFile(path: string, bytes: Uint8Array, table: Uint32Array): void {
  const directory = join(path, '..');
  mkdirSync(directory, { recursive: true });
  removeStale(directory);
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2, 10)}.tmp`;
  try {
    const file = openSync(temporary, 'wx');
    try {
      writeFully(file, bytes.subarray(0, POOL_BYTES), 0);
      writeFully(file, new Uint8Array(table.buffer), POOL_BYTES);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // It was never made.
    }
    throw error;
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
    const length = Math.min(bytes.length - done, 1 << 23);
    done += writeSync(file, bytes, done, length, position + done);
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
