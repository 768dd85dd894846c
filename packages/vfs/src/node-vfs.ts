// The file system of the machine, through node:fs's synchronous calls, with a cap on open descriptors.
import * as fs from 'node:fs';
import { checkOptions, StorageError } from '@blockwright/base';
import { type CachedDescriptor, DescriptorCache } from './descriptors.ts';
import { fileError, isSystemError, systemError } from './errors.ts';
import type { OpenMode, Vfs, VfsFile, VfsStat } from './vfs.ts';

export interface NodeVfsOptions {
  /**
   * How many descriptors may be open at once, 1000 by default. Files beyond that stay usable: the one used least
   * recently gives its descriptor up and gets a new one when it is used again. PostgreSQL: `max_files_per_process`.
   */
  readonly maxOpenFiles?: number;
}

// Data is for the owner alone, as PostgreSQL's is (file_perm.h).
const FILE_PERMISSIONS = 0o600;
const DIRECTORY_PERMISSIONS = 0o700;

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = fs.constants;
/** To open a pipe without O_NONBLOCK (which Windows has not) would wait for its other end, deaf to every signal. */
const O_READING = O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);
const FLAGS: Readonly<Record<OpenMode, number>> = {
  r: O_READING,
  'r+': O_RDWR,
  create: O_RDWR | O_CREAT,
  createExclusive: O_RDWR | O_CREAT | O_EXCL,
};

/** The machine's own files. PostgreSQL: fd.c. */
export class NodeVfs implements Vfs {
  private readonly descriptors: DescriptorCache;

  /** @throws RangeError when `maxOpenFiles` is no positive integer. */
  constructor(options: NodeVfsOptions = {}) {
    checkOptions('NodeVfs', options, ['maxOpenFiles']);
    const { maxOpenFiles = 1000 } = options;
    if (!Number.isSafeInteger(maxOpenFiles) || maxOpenFiles < 1) {
      throw new RangeError(`maxOpenFiles ${String(maxOpenFiles)} is not a positive integer`);
    }
    this.descriptors = new DescriptorCache(maxOpenFiles);
  }

  /** Descriptors open now: never more than `maxOpenFiles`. */
  get openDescriptors(): number {
    return this.descriptors.open;
  }

  open(path: string, mode: OpenMode): VfsFile {
    const flags = FLAGS[mode];
    if (flags === undefined) {
      throw new TypeError(`"${String(mode)}" is no way to open a file: r, r+, create or createExclusive`);
    }
    return new NodeFile(this.descriptors, path, flags);
  }

  exists(path: string): boolean {
    return this.stat(path) !== undefined;
  }

  stat(path: string): VfsStat | undefined {
    let found: fs.Stats | undefined;
    try {
      found = fs.statSync(path, { throwIfNoEntry: false });
    } catch (error) {
      // A file where a directory should be: nothing can have that name.
      if (isSystemError(error) && error.code === 'ENOTDIR') return undefined;
      throw fileError('stat file', path, error);
    }
    if (found === undefined) return undefined;
    return {
      size: found.size,
      isDirectory: found.isDirectory(),
      isFile: found.isFile(),
      modifiedMs: found.mtimeMs,
    };
  }

  readdir(path: string): string[] {
    return attempt('read directory', path, () => fs.readdirSync(path).sort());
  }

  mkdir(path: string): void {
    attempt('create directory', path, () => fs.mkdirSync(path, { mode: DIRECTORY_PERMISSIONS }));
  }

  rmdir(path: string): void {
    attempt('remove directory', path, () => fs.rmdirSync(path));
  }

  unlink(path: string): void {
    attempt('remove file', path, () => fs.unlinkSync(path));
  }

  rename(from: string, to: string): void {
    attempt(`rename file "${from}" to`, to, () => fs.renameSync(from, to));
  }

  link(existing: string, path: string): void {
    attempt(`link file "${existing}" to`, path, () => fs.linkSync(existing, path));
  }

  syncDirectory(path: string): void {
    const fd = attempt('open directory', path, () => {
      try {
        return this.withDescriptor(() => fs.openSync(path, O_RDONLY));
      } catch (error) {
        // Windows has no descriptor of a directory; its metadata is journalled.
        if (process.platform === 'win32' && isSystemError(error) && error.code !== 'ENOENT') return -1;
        throw error;
      }
    });
    if (fd < 0) return;
    try {
      fs.fsyncSync(fd);
    } catch (error) {
      // Some file systems cannot sync a directory and say so with EINVAL or EBADF, as PostgreSQL's fsync_fname knows.
      if (isSystemError(error) && (error.code === 'EINVAL' || error.code === 'EBADF')) return;
      if (process.platform === 'win32') return;
      throw fileError('fsync directory', path, error);
    } finally {
      fs.closeSync(fd);
    }
  }

  readFile(path: string): Uint8Array {
    const fd = attempt('read file', path, () => this.withDescriptor(() => fs.openSync(path, O_READING)));
    try {
      const bytes = attempt('read file', path, () => {
        refuseOddFile(path, fs.fstatSync(fd));
        return fs.readFileSync(fd);
      });
      return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } finally {
      fs.closeSync(fd);
    }
  }

  private withDescriptor<T>(use: () => T): T {
    return withDescriptor(this.descriptors, use);
  }
}

/** Runs `use`, which opens a descriptor; when the system has none left, gives one back and tries again. */
function withDescriptor<T>(descriptors: DescriptorCache, use: () => T): T {
  for (;;) {
    try {
      return use();
    } catch (error) {
      const none = isSystemError(error) && (error.code === 'EMFILE' || error.code === 'ENFILE');
      if (!none || !descriptors.evictOne()) throw error;
    }
  }
}

function attempt<T>(what: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw fileError(what, path, error);
  }
}

/** Pipes, sockets and devices cannot be read by position, and may never end. A directory says so itself. */
function refuseOddFile(path: string, stats: fs.Stats | fs.BigIntStats): void {
  if (stats.isFile() || stats.isDirectory()) return;
  throw new StorageError('58030', `could not open file "${path}": it is a pipe, socket or device`, {
    hint: 'Name a regular file: copy to one what is to be read.',
  });
}

class NodeFile implements VfsFile, CachedDescriptor {
  readonly path: string;
  newer: CachedDescriptor | undefined = undefined;
  older: CachedDescriptor | undefined = undefined;
  dirty: boolean = false;
  held: boolean = false;
  private readonly descriptors: DescriptorCache;
  private readonly writable: boolean;
  private readonly device: bigint;
  private readonly inode: bigint;
  private fd: number = -1;
  private closed: boolean = false;
  /** Syncs that run off the thread. */
  private syncing: number = 0;
  /** The first sync that failed. A later one would succeed and prove nothing, so none is made. */
  private syncFailure: unknown = undefined;

  constructor(descriptors: DescriptorCache, path: string, flags: number) {
    this.path = path;
    this.descriptors = descriptors;
    this.writable = flags !== O_READING;
    this.openDescriptor(flags);
    try {
      const stats = fs.fstatSync(this.fd, { bigint: true });
      if (stats.isDirectory()) throw systemError('EISDIR', 'open');
      if (!this.writable) refuseOddFile(path, stats);
      this.device = stats.dev;
      this.inode = stats.ino;
    } catch (error) {
      this.close();
      throw fileError('open file', path, error);
    }
  }

  private openDescriptor(flags: number): void {
    this.descriptors.makeRoom();
    this.fd = attempt('open file', this.path, () =>
      withDescriptor(this.descriptors, () => fs.openSync(this.path, flags, FILE_PERMISSIONS)),
    );
    this.descriptors.add(this);
  }

  /** The descriptor, opened again when it was given up. */
  private descriptor(): number {
    if (this.fd >= 0 && !this.closed) {
      this.descriptors.touch(this);
      return this.fd;
    }
    if (this.closed) throw new TypeError(`file "${this.path}" is closed`);
    // Never with O_CREAT or O_EXCL: the file exists, and one that was removed must not come back empty.
    this.openDescriptor(this.writable ? O_RDWR : O_READING);
    const { dev, ino } = attempt('stat file', this.path, () => fs.fstatSync(this.fd, { bigint: true }));
    if (dev !== this.device || ino !== this.inode) {
      this.closeDescriptor();
      throw new StorageError('58030', `could not reopen file "${this.path}": another file has its name now`);
    }
    return this.fd;
  }

  read(dest: Uint8Array, at: number, length: number, position: number): number {
    const fd = this.descriptor();
    if (length === 0) return 0;
    try {
      return fs.readSync(fd, dest, at, length, position);
    } catch (error) {
      throw fileError('read file', this.path, error);
    }
  }

  write(src: Uint8Array, at: number, length: number, position: number): number {
    const fd = this.descriptor();
    if (length === 0) return 0;
    try {
      const count = fs.writeSync(fd, src, at, length, position);
      this.descriptors.setDirty(this, true);
      return count;
    } catch (error) {
      throw fileError('write file', this.path, error);
    }
  }

  size(): number {
    const fd = this.descriptor();
    return attempt('stat file', this.path, () => fs.fstatSync(fd).size);
  }

  truncate(size: number): void {
    const fd = this.descriptor();
    attempt('truncate file', this.path, () => fs.ftruncateSync(fd, size));
    this.descriptors.setDirty(this, true);
  }

  sync(): void {
    this.syncWith(fs.fsyncSync);
  }

  datasync(): void {
    this.syncWith(fs.fdatasyncSync);
  }

  private syncWith(sync: (fd: number) => void): void {
    if (this.syncFailure !== undefined) throw this.syncFailure;
    const fd = this.descriptor();
    // Cleared in both cases: after a failure the kernel has dropped the data, and the error is remembered here.
    this.descriptors.setDirty(this, false);
    try {
      sync(fd);
    } catch (error) {
      this.syncFailure = fileError('fsync file', this.path, error);
      throw this.syncFailure;
    }
  }

  async datasyncAsync(): Promise<void> {
    if (this.syncFailure !== undefined) throw this.syncFailure;
    const fd = this.descriptor();
    this.descriptors.hold(this);
    this.descriptors.setDirty(this, false);
    this.syncing++;
    try {
      await new Promise<void>((done, failed) => {
        fs.fdatasync(fd, (error) => (error === null ? done() : failed(error)));
      });
    } catch (error) {
      this.syncFailure ??= fileError('fsync file', this.path, error);
      throw this.syncFailure;
    } finally {
      if (--this.syncing === 0) {
        if (this.closed) this.closeDescriptor();
        else this.descriptors.release(this);
      }
    }
  }

  evict(): void {
    if (this.dirty) {
      try {
        this.sync();
      } catch {
        // Kept in syncFailure: it is this file's own next sync that must report it, not whoever needed a descriptor.
      }
    }
    this.closeDescriptor();
  }

  close(): void {
    this.closed = true;
    if (this.fd >= 0 && this.syncing === 0) this.closeDescriptor();
  }

  private closeDescriptor(): void {
    const fd = this.fd;
    this.fd = -1;
    this.descriptors.remove(this);
    this.dirty = false;
    try {
      fs.closeSync(fd);
    } catch {
      // Only a descriptor that is not open fails here; a failed write-back is sync's to report.
    }
  }
}
