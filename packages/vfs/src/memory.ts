// A file system in memory, sparse, with planted faults and a journal of its calls: for tests. It has no idea of what is
// durable; nothing is ever lost.
import { fileError, systemError } from './errors.ts';
import { type Fault, FaultPlan, type PlantedFault, type VfsOperation } from './faults.ts';
import { parentPath } from './files.ts';
import { SparseBytes } from './sparse.ts';
import type { OpenMode, Vfs, VfsFile, VfsStat } from './vfs.ts';

export type { Fault, PlantedFault, VfsOperation } from './faults.ts';

/** One call that was made. */
export interface JournalEntry {
  readonly operation: VfsOperation;
  readonly path: string;
  /** Of `read`, `write` (first byte) and `truncate` (the new size). */
  readonly position?: number;
  /** Of `read` and `write`: the bytes asked for. */
  readonly length?: number;
}

/** @internal A file, whatever names it has. */
export class Inode {
  readonly bytes: SparseBytes;
  /** Bytes that count against the room of the disk: those by which writes have lengthened the file. */
  charged: number = 0;
  modifiedMs: number = Date.now();

  constructor(bytes: SparseBytes = new SparseBytes()) {
    this.bytes = bytes;
  }
}

/** @internal What a name stands for. */
export type Entry = Inode | 'directory';

/** A file system in memory. Paths start at `/`, with or without saying so. */
export class MemoryVfs implements Vfs {
  /** Every call since the last `journal.length = 0`, in order, those that failed too. */
  readonly journal: JournalEntry[] = [];
  /** Whether calls go into the journal. */
  recording: boolean = true;
  /** A single read transfers at most so many bytes. */
  maxReadBytes: number = Number.POSITIVE_INFINITY;
  /** A single write transfers at most so many bytes. */
  maxWriteBytes: number = Number.POSITIVE_INFINITY;
  /**
   * Bytes by which writes may still lengthen files; then a write is cut short, and the next fails with ENOSPC. Removing
   * and truncating give room back. (Sparse bytes made by `truncate` take no room, and none is taken when they are
   * written later.)
   */
  freeBytes: number = Number.POSITIVE_INFINITY;
  /** @internal By path. */
  protected readonly entries: Map<string, Entry> = new Map([['/', 'directory']]);
  private readonly faults: FaultPlan = new FaultPlan();

  /** Makes calls to come fail, or transfer less. */
  plant(fault: Fault): PlantedFault {
    return this.faults.plant(fault);
  }

  /** Calls in the journal of one kind, to files whose path contains `path`. */
  calls(operation: VfsOperation, path: string = ''): JournalEntry[] {
    return this.journal.filter((entry) => entry.operation === operation && entry.path.includes(path));
  }

  /** @internal Notes a call; throws when a fault is planted for it. @returns the bytes it may transfer. */
  enter(operation: VfsOperation, what: string, path: string, position?: number, length?: number): number {
    const fault = this.note(operation, path, position, length);
    if (fault?.errno !== undefined) throw refusal(fault.errno, operation, what, path);
    return fault?.bytes ?? Number.POSITIVE_INFINITY;
  }

  /** @internal Notes a call. @returns the fault that is planted for it. */
  note(operation: VfsOperation, path: string, position?: number, length?: number): Fault | undefined {
    if (this.recording) this.journal.push({ operation, path, position, length });
    return this.faults.strike(operation, path);
  }

  open(path: string, mode: OpenMode): VfsFile {
    this.enter('open', 'open file', path);
    if (!['r', 'r+', 'create', 'createExclusive'].includes(mode)) {
      throw new TypeError(`"${String(mode)}" is no way to open a file: r, r+, create or createExclusive`);
    }
    const name = normal(path);
    let entry = this.entries.get(name);
    if (entry === undefined) {
      if (mode === 'r' || mode === 'r+') throw refusal('ENOENT', 'open', 'open file', path);
      this.needDirectory(parentPath(name), 'open', 'open file', path);
      entry = this.makeInode();
      this.entries.set(name, entry);
      this.nameAdded(name, entry);
    } else if (mode === 'createExclusive') {
      throw refusal('EEXIST', 'open', 'open file', path);
    }
    if (entry === 'directory') throw refusal('EISDIR', 'open', 'open file', path);
    return new MemoryFile(this, entry, path, mode !== 'r');
  }

  exists(path: string): boolean {
    return this.stat(path) !== undefined;
  }

  stat(path: string): VfsStat | undefined {
    this.enter('stat', 'stat file', path);
    const entry = this.entries.get(normal(path));
    if (entry === undefined) return undefined;
    if (entry === 'directory') return { size: 0, isDirectory: true, isFile: false, modifiedMs: 0 };
    return { size: entry.bytes.size, isDirectory: false, isFile: true, modifiedMs: entry.modifiedMs };
  }

  readdir(path: string): string[] {
    this.enter('readdir', 'read directory', path);
    this.needDirectory(path, 'readdir', 'read directory', path);
    return this.children(normal(path)).sort();
  }

  mkdir(path: string): void {
    this.enter('mkdir', 'create directory', path);
    const name = normal(path);
    if (this.entries.has(name)) throw refusal('EEXIST', 'mkdir', 'create directory', path);
    this.needDirectory(parentPath(name), 'mkdir', 'create directory', path);
    this.entries.set(name, 'directory');
    this.nameAdded(name, 'directory');
  }

  rmdir(path: string): void {
    this.enter('rmdir', 'remove directory', path);
    this.needDirectory(path, 'rmdir', 'remove directory', path);
    const name = normal(path);
    if (this.children(name).length > 0) throw refusal('ENOTEMPTY', 'rmdir', 'remove directory', path);
    this.entries.delete(name);
    this.nameRemoved(name);
  }

  unlink(path: string): void {
    this.enter('unlink', 'remove file', path);
    const inode = this.needFile(path, 'unlink', 'remove file');
    this.entries.delete(normal(path));
    this.nameRemoved(normal(path));
    this.release(inode);
  }

  rename(from: string, to: string): void {
    const what = `rename file "${from}" to`;
    this.enter('rename', what, to);
    const source = normal(from);
    const target = normal(to);
    const entry = this.entries.get(source);
    if (entry === undefined) throw refusal('ENOENT', 'rename', what, to);
    this.needDirectory(parentPath(target), 'rename', what, to);
    if (source === target) return;
    const replaced = this.entries.get(target);
    if (replaced === 'directory' && entry !== 'directory') throw refusal('EISDIR', 'rename', what, to);
    if (entry === 'directory') {
      if (target.startsWith(`${source}/`)) throw refusal('EINVAL', 'rename', what, to);
      if (replaced !== undefined && replaced !== 'directory') throw refusal('ENOTDIR', 'rename', what, to);
      if (this.children(target).length > 0) throw refusal('ENOTEMPTY', 'rename', what, to);
      for (const [name, below] of [...this.entries]) {
        if (!name.startsWith(`${source}/`)) continue;
        this.entries.delete(name);
        this.entries.set(`${target}${name.slice(source.length)}`, below);
      }
    }
    if (entry === replaced) return; // two names of one file: both stay, as POSIX has it
    this.entries.delete(source);
    this.entries.set(target, entry);
    this.nameMoved(source, target);
    if (replaced !== undefined && replaced !== 'directory') this.release(replaced);
  }

  link(existing: string, path: string): void {
    const what = `link file "${existing}" to`;
    this.enter('link', what, path);
    const entry = this.entries.get(normal(existing));
    if (entry === undefined) throw refusal('ENOENT', 'link', what, path);
    if (entry === 'directory') throw refusal('EPERM', 'link', what, path);
    const name = normal(path);
    this.needDirectory(parentPath(name), 'link', what, path);
    if (this.entries.has(name)) throw refusal('EEXIST', 'link', what, path);
    this.entries.set(name, entry);
    this.nameAdded(name, entry);
  }

  syncDirectory(path: string): void {
    this.enter('syncDirectory', 'fsync directory', path);
    this.needDirectory(path, 'syncDirectory', 'open directory', path);
    this.directorySynced(normal(path));
  }

  readFile(path: string): Uint8Array {
    this.enter('readFile', 'read file', path);
    const inode = this.needFile(path, 'readFile', 'read file');
    const bytes = new Uint8Array(inode.bytes.size);
    inode.bytes.read(bytes, 0, bytes.length, 0);
    return bytes;
  }

  // What follows is for a disk that knows what is durable: told of each change once it is made.

  /** @internal */
  protected makeInode(): Inode {
    return new Inode();
  }
  /** @internal */
  protected nameAdded(_name: string, _entry: Entry): void {}
  /** @internal */
  protected nameRemoved(_name: string): void {}
  /** @internal */
  protected nameMoved(_from: string, _to: string): void {}
  /** @internal */
  protected directorySynced(_name: string): void {}
  /** @internal */
  wrote(_inode: Inode, _src: Uint8Array, _at: number, _length: number, _position: number): void {}
  /** @internal */
  truncated(_inode: Inode, _size: number): void {}
  /** @internal What a sync that begins now covers; `syncEnded` is told of it. */
  syncBegun(_inode: Inode): unknown {
    return undefined;
  }
  /** @internal */
  syncEnded(_inode: Inode, _covered: unknown, _failed: boolean): void {}

  private needDirectory(directory: string, syscall: string, what: string, path: string): void {
    const entry = this.entries.get(normal(directory));
    if (entry === undefined) throw refusal('ENOENT', syscall, what, path);
    if (entry !== 'directory') throw refusal('ENOTDIR', syscall, what, path);
  }

  private needFile(path: string, syscall: string, what: string): Inode {
    const entry = this.entries.get(normal(path));
    if (entry === undefined) throw refusal('ENOENT', syscall, what, path);
    if (entry === 'directory') throw refusal('EISDIR', syscall, what, path);
    return entry;
  }

  private children(directory: string): string[] {
    const prefix = directory === '/' ? '/' : `${directory}/`;
    const names: string[] = [];
    for (const name of this.entries.keys()) {
      const rest = name.slice(prefix.length);
      if (name.startsWith(prefix) && rest !== '' && !rest.includes('/')) names.push(rest);
    }
    return names;
  }

  /** Gives room back when the last name is gone. */
  private release(inode: Inode): void {
    for (const entry of this.entries.values()) {
      if (entry === inode) return;
    }
    this.freeBytes += inode.charged;
    inode.charged = 0;
  }
}

/** @internal Absolute, no empty or `.` parts, `..` resolved, no slash at the end. */
export function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function refusal(errno: string, syscall: string, what: string, path: string): unknown {
  return fileError(what, path, systemError(errno, syscall));
}

class MemoryFile implements VfsFile {
  readonly path: string;
  private readonly vfs: MemoryVfs;
  private readonly inode: Inode;
  private readonly writable: boolean;
  private closed: boolean = false;

  constructor(vfs: MemoryVfs, inode: Inode, path: string, writable: boolean) {
    this.vfs = vfs;
    this.inode = inode;
    this.path = path;
    this.writable = writable;
  }

  read(dest: Uint8Array, at: number, length: number, position: number): number {
    this.check('read', dest, at, length, position);
    const most = this.vfs.enter('read', 'read file', this.path, position, length);
    return this.inode.bytes.read(dest, at, Math.min(length, most, this.vfs.maxReadBytes), position);
  }

  write(src: Uint8Array, at: number, length: number, position: number): number {
    this.check('write', src, at, length, position);
    const fault = this.vfs.note('write', this.path, position, length);
    const { errno, bytes: most = errno === undefined ? Number.POSITIVE_INFINITY : 0 } = fault ?? {};
    if (!this.writable) throw refusal('EBADF', 'write', 'write file', this.path);
    const count = this.put(src, at, Math.min(length, most, this.vfs.maxWriteBytes), position);
    if (errno !== undefined) throw refusal(errno, 'write', 'write file', this.path);
    if (count === 0 && length > 0 && most > 0) throw refusal('ENOSPC', 'write', 'write file', this.path);
    return count;
  }

  /** Puts as many of the bytes into the file as the disk has room for. @returns their number. */
  private put(src: Uint8Array, at: number, length: number, position: number): number {
    const longer = position + length - Math.max(this.inode.bytes.size, position);
    const count = longer > this.vfs.freeBytes ? length - (longer - this.vfs.freeBytes) : length;
    if (count === 0) return 0;
    const growth = Math.max(0, position + count - Math.max(this.inode.bytes.size, position));
    this.vfs.freeBytes -= growth;
    this.inode.charged += growth;
    this.inode.bytes.write(src, at, count, position);
    this.inode.modifiedMs = Date.now();
    this.vfs.wrote(this.inode, src, at, count, position);
    return count;
  }

  size(): number {
    this.needOpen();
    this.vfs.enter('size', 'stat file', this.path);
    return this.inode.bytes.size;
  }

  truncate(size: number): void {
    this.needOpen();
    needSize('size', size);
    this.vfs.enter('truncate', 'truncate file', this.path, size);
    if (!this.writable) throw refusal('EINVAL', 'truncate', 'truncate file', this.path);
    const { inode } = this;
    const refund = Math.min(inode.charged, Math.max(0, inode.bytes.size - size));
    inode.charged -= refund;
    this.vfs.freeBytes += refund;
    inode.bytes.truncate(size);
    inode.modifiedMs = Date.now();
    this.vfs.truncated(inode, size);
  }

  sync(): void {
    this.needOpen();
    this.syncAs('sync', this.vfs.syncBegun(this.inode));
  }

  datasync(): void {
    this.needOpen();
    this.syncAs('datasync', this.vfs.syncBegun(this.inode));
  }

  async datasyncAsync(): Promise<void> {
    this.needOpen();
    const covered = this.vfs.syncBegun(this.inode);
    await undefined; // as on a disk, the caller goes on first
    this.syncAs('datasync', covered);
  }

  private syncAs(operation: 'sync' | 'datasync', covered: unknown): void {
    let failed = true;
    try {
      this.vfs.enter(operation, 'fsync file', this.path);
      failed = false;
    } finally {
      this.vfs.syncEnded(this.inode, covered, failed);
    }
  }

  close(): void {
    this.closed = true;
  }

  private check(what: string, bytes: Uint8Array, at: number, length: number, position: number): void {
    this.needOpen();
    needSize('position', position);
    if (!Number.isSafeInteger(at) || !Number.isSafeInteger(length) || at < 0 || length < 0) {
      throw new RangeError(`cannot ${what} ${length} bytes at index ${at}`);
    }
    if (at + length > bytes.length) {
      throw new RangeError(`cannot ${what} ${length} bytes at index ${at} of an array of ${bytes.length}`);
    }
  }

  private needOpen(): void {
    if (this.closed) throw new TypeError(`file "${this.path}" is closed`);
  }
}

function needSize(what: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${what} ${String(value)} is not a whole number`);
}
