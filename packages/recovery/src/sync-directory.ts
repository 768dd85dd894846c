// Before redo, everything of the directory is forced to the disk: a process that was killed leaves files whose last writes
// only the system's cache has. Redo takes what it reads for durable, and replays nothing over a page that is new enough.
// PostgreSQL: `SyncDataDirectory`, fd.c.
import type { Steps } from '@blockwright/base';
import { errnoOf, joinPath, type Vfs } from '@blockwright/vfs';

/**
 * Syncs every file below a directory, and every directory.
 * @param before files synced already
 * @returns the number of files.
 * @throws StorageError 58030 when the disk refuses.
 */
export function* syncDirectorySteps(vfs: Vfs, directory: string, before: number = 0): Steps<number> {
  let files = before;
  for (const name of vfs.readdir(directory)) {
    const path = joinPath(directory, name);
    const stat = vfs.stat(path);
    if (stat?.isDirectory === true) {
      files = yield* syncDirectorySteps(vfs, path, files);
    } else if (stat?.isFile === true && syncFile(vfs, path)) {
      files++;
      yield { phase: 'syncing the data directory', done: files, total: 0, unit: 'files' };
    }
  }
  vfs.syncDirectory(directory);
  return files;
}

/** @returns false when there is no such file any more, or it may not be written: then nobody has written to it. */
function syncFile(vfs: Vfs, path: string): boolean {
  let file: ReturnType<Vfs['open']>;
  try {
    file = vfs.open(path, 'r+');
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS') return false;
    throw error;
  }
  try {
    file.sync();
  } finally {
    file.close();
  }
  return true;
}
