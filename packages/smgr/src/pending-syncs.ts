// The fsync requests that writes leave behind: each file once, and the directories in which files came or went.
// PostgreSQL: sync.c.
//
// A failed sync is never tried again. The kernel drops the pages that it could not write and reports that once, so a
// second sync would succeed and prove nothing. From the first failure on, everything is refused, reading too: what the
// cache holds need not be what the disk holds.
import { runSync, type Steps, StorageError } from '@blockwright/base';
import type { Vfs, VfsFile } from '@blockwright/vfs';

interface Request {
  readonly file: VfsFile;
  /** The fork has closed its file; it stays open here, so that the sync sees the errors of its writes. */
  orphaned: boolean;
}

export class PendingSyncs {
  private readonly vfs: Vfs;
  private readonly requests: Map<string, Request> = new Map();
  private readonly directories: Set<string> = new Set();
  private failure: unknown = undefined;

  constructor(vfs: Vfs) {
    this.vfs = vfs;
  }

  /** Whether a sync has failed. */
  get poisoned(): boolean {
    return this.failure !== undefined;
  }

  /** @throws StorageError 58030 once a sync has failed. */
  refuseIfPoisoned(): void {
    if (this.failure === undefined) return;
    throw new StorageError('58030', 'an fsync has failed: nothing is read or written any more', {
      detail: this.failure instanceof Error ? this.failure.message : undefined,
      hint: 'Close the data directory and open it again: what reached the disk is decided then.',
      cause: this.failure,
    });
  }

  /** Asks for a sync of a file that was written, truncated or created. */
  request(file: VfsFile): void {
    if (!this.requests.has(file.path)) this.requests.set(file.path, { file, orphaned: false });
  }

  /** Asks for a sync of a directory in which a file was created or removed. */
  requestDirectory(directory: string): void {
    this.directories.add(directory);
  }

  /** Takes over a file that its fork is done with: closed now, or once it is synced. */
  release(file: VfsFile): void {
    const request = this.requests.get(file.path);
    if (request?.file === file) request.orphaned = true;
    else file.close();
  }

  /** Drops the request for a file that is removed. */
  forget(path: string): void {
    const request = this.requests.get(path);
    if (request === undefined) return;
    this.requests.delete(path);
    if (request.orphaned) request.file.close();
  }

  /** Syncs all that was asked for: files first, then the directories that name them. */
  syncAll(): void {
    runSync(this.steps());
  }

  /** The same, a file at a time: what is asked for meanwhile is left for the next time. @returns the files synced */
  *steps(): Steps<number> {
    this.refuseIfPoisoned();
    const paths = [...this.requests.keys()];
    let synced = 0;
    for (const path of paths) {
      const request = this.requests.get(path);
      if (request === undefined) continue; // removed meanwhile, or synced by somebody else
      this.refuseIfPoisoned();
      this.syncFile(path, request);
      yield { phase: 'syncing', done: ++synced, total: paths.length, unit: 'files' };
    }
    for (const directory of [...this.directories]) this.syncDirectory(directory);
    return synced;
  }

  /** Syncs the files of `which` for which that was asked. */
  syncFiles(which: (path: string) => boolean): void {
    this.refuseIfPoisoned();
    for (const [path, request] of [...this.requests]) if (which(path)) this.syncFile(path, request);
  }

  private syncFile(path: string, request: Request): void {
    this.poisonOnFailure(() => request.file.sync());
    this.requests.delete(path);
    if (request.orphaned) request.file.close();
  }

  /** Syncs a directory, if that was asked for. */
  syncDirectory(directory: string): void {
    this.refuseIfPoisoned();
    if (!this.directories.has(directory)) return;
    this.poisonOnFailure(() => this.vfs.syncDirectory(directory));
    this.directories.delete(directory);
  }

  /** Closes the files held here, synced or not. */
  close(): void {
    for (const request of this.requests.values()) {
      if (request.orphaned) request.file.close();
    }
    this.requests.clear();
    this.directories.clear();
  }

  private poisonOnFailure(sync: () => void): void {
    try {
      sync();
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
