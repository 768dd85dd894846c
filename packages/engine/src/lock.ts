// The lock file that keeps a second process out of a data directory. It is taken by link, which fails when the name
// exists, so two processes never both succeed; a lock whose process is gone is replaced, by rename, by one process at a time.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isStorageError, StorageError } from '@blockwright/base';
import { NodeVfs, type Vfs, writeFully } from '@blockwright/vfs';

/** Name of the lock file below the data directory. */
const LOCK_FILE = 'blockwright.pid';

/** Directories that this process holds: its own pid in a lock file means nothing across two opens in one process. */
const heldHere = new Set<string>();
/** The same for file systems that are not the machine's: each has directories of its own. */
const heldElsewhere = new WeakMap<Vfs, Set<string>>();

function heldOn(vfs: Vfs): Set<string> {
  if (vfs instanceof NodeVfs) return heldHere;
  let held = heldElsewhere.get(vfs);
  if (held === undefined) {
    held = new Set();
    heldElsewhere.set(vfs, held);
  }
  return held;
}

/** A held lock: {@link release} gives it up. */
export class DirectoryLock {
  private readonly vfs: Vfs;
  private readonly path: string;
  private readonly key: string;
  private held = true;

  private constructor(vfs: Vfs, path: string, key: string) {
    this.vfs = vfs;
    this.path = path;
    this.key = key;
  }

  /**
   * Takes the lock of `directory`; `realDirectory` is the same with links resolved.
   * @throws StorageError F0001 naming the process that holds it.
   */
  static take(vfs: Vfs, directory: string, realDirectory: string): DirectoryLock {
    const path = `${directory}/${LOCK_FILE}`;
    if (heldOn(vfs).has(realDirectory)) throw inUse(path, `It is open in this process (pid ${process.pid}) already.`);
    const mine = `${path}.${process.pid}.${process.hrtime.bigint().toString(36)}`;
    const file = vfs.open(mine, 'createExclusive');
    try {
      try {
        const text = new TextEncoder().encode(lockText());
        writeFully(file, text, 0, text.length, 0);
        file.sync();
      } finally {
        file.close();
      }
      linkOrTakeOver(vfs, mine, path);
    } finally {
      vfs.unlink(mine);
    }
    heldOn(vfs).add(realDirectory);
    return new DirectoryLock(vfs, path, realDirectory);
  }

  /**
   * For a read-only opening, which takes no lock so that not one byte changes: refuses a directory that is being written.
   * @throws StorageError F0001 naming the process that holds it.
   */
  static refuseWhenHeld(vfs: Vfs, directory: string): void {
    const path = `${directory}/${LOCK_FILE}`;
    const text = readText(vfs, path);
    if (text !== undefined) refuseLiving(path, text);
  }

  /** Gives the lock up; again is fine. */
  release(): void {
    if (!this.held) return;
    this.held = false;
    heldOn(this.vfs).delete(this.key);
    try {
      this.vfs.unlink(this.path);
    } catch (error) {
      if (!isStorageError(error) || error.code !== '58P01') throw error;
    }
  }
}

interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: string;
}

function lockText(): string {
  return `${process.pid}\n${hostname()}\n${processStart(process.pid)}\n${new Date().toISOString()}\n`;
}

function parseLock(text: string): LockHolder | undefined {
  const [pid, host, startedAt] = text.split('\n');
  return pid !== undefined && /^\d+$/.test(pid)
    ? { pid: Number(pid), host: host ?? '', startedAt: startedAt ?? '' }
    : undefined;
}

function linkOrTakeOver(vfs: Vfs, mine: string, path: string): void {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      vfs.link(mine, path);
      return;
    } catch (error) {
      if (!isStorageError(error) || error.code !== '58P02') throw error;
    }
    const text = readText(vfs, path);
    if (text === undefined) continue; // given up between the two calls
    refuseLiving(path, text);
    if (replaceStale(vfs, mine, path, text)) return;
  }
  throw inUse(path, 'Other processes took it again and again.');
}

/** @throws StorageError F0001 when the process that a lock file's text names is alive, or nobody can tell. */
function refuseLiving(path: string, text: string): void {
  const holder = parseLock(text);
  if (holder === undefined) {
    throw inUse(
      path,
      'Its content is not that of a lock file.',
      'If no process uses the directory, remove the file and try again.',
    );
  }
  if (!isAlive(holder)) return;
  throw inUse(path, `Process ${holder.pid}${holder.host === hostname() ? '' : ` on host ${holder.host}`} has it open.`);
}

/**
 * Puts `mine` in the place of a stale lock, whose name is free at no moment. Whoever wants to do so holds a second lock,
 * beside the first, and looks again: another may have been quicker. (The second one may be stale as well.)
 * @returns whether it did
 */
function replaceStale(vfs: Vfs, mine: string, path: string, staleText: string): boolean {
  const claim = `${path}.claim`;
  linkOrTakeOver(vfs, mine, claim);
  try {
    if (readText(vfs, path) !== staleText) return false;
    const inPlace = `${mine}.new`;
    vfs.link(mine, inPlace);
    try {
      vfs.rename(inPlace, path);
    } catch (error) {
      vfs.unlink(inPlace);
      throw error;
    }
    return true;
  } finally {
    vfs.unlink(claim);
  }
}

function readText(vfs: Vfs, path: string): string | undefined {
  try {
    return new TextDecoder().decode(vfs.readFile(path));
  } catch (error) {
    if (isStorageError(error) && error.code === '58P01') return undefined;
    throw error;
  }
}

function isAlive(holder: LockHolder): boolean {
  if (holder.host !== hostname()) return true; // it cannot be asked from here
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
  // A reused pid (our own too: what this process holds is known without the file) shows in the start time.
  const start = processStart(holder.pid);
  return start === '' || holder.startedAt === '' || start === holder.startedAt;
}

/**
 * When a process started, in clock ticks since boot, so that another process with a reused pid is not taken for it; ''
 * where the system does not tell. Read from the system itself: /proc is no file of the data directory.
 */
function processStart(pid: number): string {
  if (process.platform !== 'linux') return '';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field, the command in parentheses, may hold spaces; the start time is the 22nd.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function inUse(
  path: string,
  detail: string,
  hint = 'Close it there first. A lock of a process that is gone is taken over by itself.',
): StorageError {
  return new StorageError('F0001', `data directory is in use: lock file "${path}" exists`, { detail, hint });
}
