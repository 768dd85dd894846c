// What kind of directory this is: ours, PostgreSQL's, or neither, by the version file that each has at its top.
import { StorageError } from '@blockwright/base';
import { errnoOf, joinPath, replaceFile, type Vfs } from '@blockwright/vfs';
import { CONTROL_FILE_PATH, readHead } from './control-file.ts';
import { PG_CONTROL_FILE_BYTES, PG_CONTROL_PATH, type PgControl, readPgControl } from './pg-control.ts';

/** Name of the file that says the version of a data directory of ours. */
export const VERSION_FILE: string = 'BLOCKWRIGHT_VERSION';
/** The version of the data directories that this release makes, and the only one that it opens. */
export const DATA_VERSION: number = 3;
/** Name of PostgreSQL's. */
export const PG_VERSION_FILE: string = 'PG_VERSION';

const LONGEST_VERSION_FILE = 64;

/** `missing`: nothing has that name. `file`: it is no directory. `other`: something is in it that neither made. */
export type DirectoryKind = 'blockwright' | 'postgresql' | 'empty' | 'other' | 'file' | 'missing';

/**
 * What `directory` is. A directory with one of our files and without the version file is `other`.
 * @throws StorageError when it cannot be looked into.
 */
export function directoryKind(vfs: Vfs, directory: string): DirectoryKind {
  const found = vfs.stat(directory);
  if (found === undefined) return 'missing';
  if (!found.isDirectory) return 'file';
  const names = vfs.readdir(directory);
  if (names.includes(VERSION_FILE)) return 'blockwright';
  if (names.includes(PG_VERSION_FILE)) return 'postgresql';
  return names.length === 0 ? 'empty' : 'other';
}

/**
 * Checks that `directory` is a data directory of ours, of this version.
 * @throws StorageError 58P01 when it is missing, 55000 when it is something else (and says what), 0A000 for another
 * version, with both numbers; XX001 when its version file holds no number.
 */
export function checkDataDirectory(vfs: Vfs, directory: string): void {
  const kind = directoryKind(vfs, directory);
  if (kind === 'missing') throw new StorageError('58P01', `data directory "${directory}" does not exist`);
  if (kind !== 'blockwright') {
    const what = {
      postgresql: "It is PostgreSQL's.",
      empty: 'It is empty.',
      other: `It has no ${VERSION_FILE}.`,
      file: 'It is a file.',
    }[kind];
    throw new StorageError('55000', `"${directory}" is not a Blockwright data directory`, {
      detail: what,
      hint:
        kind === 'postgresql'
          ? 'Its files can be read and checked by their paths; they are never written.'
          : 'Make one with "blockwright initdb -D DIR".',
    });
  }
  const path = joinPath(directory, VERSION_FILE);
  const text = readVersionText(vfs, path);
  if (!/^\d{1,9}$/.test(text)) throw new StorageError('XX001', `"${path}" holds no version number`);
  if (Number(text) !== DATA_VERSION) {
    throw new StorageError(
      '0A000',
      `data directory "${directory}" has version ${text}, this release opens ${DATA_VERSION}`,
      {
        hint: 'Use the release that made it; there is no upgrade but dump and load.',
      },
    );
  }
}

/** Writes the version file of a new data directory. */
export function writeVersionFile(vfs: Vfs, directory: string): void {
  const text = `${DATA_VERSION}\n`;
  replaceFile(
    vfs,
    joinPath(directory, VERSION_FILE),
    Uint8Array.from(text, (letter) => letter.charCodeAt(0)),
  );
}

/**
 * The major version of the PostgreSQL that made a directory (of a database, too): 13 to 18.
 * @throws StorageError 58P01 when there is no PG_VERSION, XX001 when it holds no version, 0A000 for another one.
 */
export function readPgVersion(vfs: Vfs, directory: string): number {
  const path = joinPath(directory, PG_VERSION_FILE);
  const text = readVersionText(vfs, path);
  if (!/^\d{1,3}(\.\d{1,3})?$/.test(text)) throw new StorageError('XX001', `"${path}" holds no version number`);
  const major = Number.parseInt(text, 10);
  if (text.includes('.') || major < 13 || major > 18) {
    throw new StorageError('0A000', `"${path}" says PostgreSQL ${text}, 13 to 18 can be read`);
  }
  return major;
}

/** Reads and verifies the pg_control of a PostgreSQL data directory. @throws StorageError as {@link readPgControl}. */
export function readPgControlFile(vfs: Vfs, directory: string): PgControl {
  const path = joinPath(directory, PG_CONTROL_PATH);
  return readPgControl(readHead(vfs, path, PG_CONTROL_FILE_BYTES), path);
}

/** Whether the control file of ours is there: initdb writes it last, so without it the directory is half made. */
export function hasControlFile(vfs: Vfs, directory: string): boolean {
  return vfs.exists(joinPath(directory, CONTROL_FILE_PATH));
}

function readVersionText(vfs: Vfs, path: string): string {
  try {
    return String.fromCharCode(...readHead(vfs, path, LONGEST_VERSION_FILE)).trim();
  } catch (error) {
    if (errnoOf(error) !== 'EISDIR') throw error;
    throw new StorageError('XX001', `"${path}" is a directory`, { cause: error });
  }
}
