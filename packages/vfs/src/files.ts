// Whole files and paths, written over any Vfs: read to the end, write all, create once, replace at once.
import { StorageError } from '@blockwright/base';
import type { Vfs, VfsFile } from './vfs.ts';

/** What a file being replaced is called until it is whole. */
export const TEMPORARY_SUFFIX: string = '.tmp';

/** `directory` and `name` as one path. */
export function joinPath(directory: string, name: string): string {
  if (directory === '') return name;
  return directory.endsWith('/') || directory.endsWith('\\') ? `${directory}${name}` : `${directory}/${name}`;
}

/** The directory that `path` lies in: `.` for a name alone, `/` for one at the top. */
export function parentPath(path: string): string {
  const cut = lastSeparator(path);
  return cut < 0 ? '.' : cut === 0 ? path.slice(0, 1) : path.slice(0, cut);
}

/** The last name of `path`. */
export function baseName(path: string): string {
  return path.slice(lastSeparator(path) + 1);
}

function lastSeparator(path: string): number {
  return Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
}

/**
 * Reads until `length` bytes are there or the file ends, however short each single read is.
 * @returns the bytes read: fewer than `length` only at the end of the file.
 */
export function readFully(file: VfsFile, dest: Uint8Array, at: number, length: number, position: number): number {
  let done = 0;
  while (done < length) {
    const count = file.read(dest, at + done, length - done, position + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/**
 * Writes all `length` bytes, however short each single write is.
 * @throws StorageError 53100 when the system takes no more bytes and says nothing else.
 */
export function writeFully(file: VfsFile, src: Uint8Array, at: number, length: number, position: number): void {
  let done = 0;
  while (done < length) {
    const count = file.write(src, at + done, length - done, position + done);
    if (count === 0) {
      // A short write without an error means a full disk, as PostgreSQL takes it too.
      throw new StorageError('53100', `could not write file "${file.path}": wrote only ${done} of ${length} bytes`, {
        hint: 'Free some disk space.',
      });
    }
    done += count;
  }
}

/**
 * Makes a file that must not exist yet, with `bytes` in it, synced. Its directory is not synced: call
 * `vfs.syncDirectory` when the name must survive too. When it fails half-way, the file is removed.
 * @throws StorageError 58P02 when the name is taken; that file is left alone.
 */
export function createFile(vfs: Vfs, path: string, bytes: Uint8Array): void {
  const file = vfs.open(path, 'createExclusive');
  fill(vfs, file, bytes);
}

/**
 * Replaces a file, or makes it, so that after a crash at any moment there is the old content or the new, whole:
 * written under another name, synced, renamed, and the directory synced. When it fails before the rename, the old file
 * stays and nothing is left beside it. PostgreSQL: `durable_rename`, fd.c.
 */
export function replaceFile(vfs: Vfs, path: string, bytes: Uint8Array): void {
  const temporary = `${path}${TEMPORARY_SUFFIX}`;
  // One left over from a crash is taken over, so it is emptied first.
  fill(vfs, vfs.open(temporary, 'create'), bytes);
  try {
    vfs.rename(temporary, path);
  } catch (error) {
    unlinkQuietly(vfs, temporary);
    throw error;
  }
  vfs.syncDirectory(parentPath(path));
}

function fill(vfs: Vfs, file: VfsFile, bytes: Uint8Array): void {
  try {
    file.truncate(0);
    writeFully(file, bytes, 0, bytes.length, 0);
    file.sync();
    file.close();
  } catch (error) {
    closeQuietly(file);
    unlinkQuietly(vfs, file.path);
    throw error;
  }
}

function closeQuietly(file: VfsFile): void {
  try {
    file.close();
  } catch {
    // The error that brought us here is the one to report.
  }
}

function unlinkQuietly(vfs: Vfs, path: string): void {
  try {
    vfs.unlink(path);
  } catch {
    // As above.
  }
}
