// Which relations a data directory holds, by the names of its files alone: a relation is there when any of its forks'
// segments is. What a server keeps beside them (temporary files, caches, maps of file numbers) is left out.
import { type FindingSink, isStorageError } from '@blockwright/base';
import { parseRelationFileName } from '@blockwright/smgr';
import { baseName, parentPath, type Vfs } from '@blockwright/vfs';

/** A relation, by the files that it has. */
export interface FoundRelation {
  /** Path of its main file, which may be missing. */
  readonly path: string;
  /** Names of the files that are there. */
  readonly names: string[];
}

/**
 * All relations below `directory`, in order of directory and number. A directory that cannot be read, or that has a relation's name, is a finding.
 * @param tablespaceDirectory name of the directory in a tablespace that belongs to this cluster, where there are any
 */
export function relationsBelow(
  vfs: Vfs,
  directory: string,
  tablespaceDirectory: string | undefined,
  sink: FindingSink,
): FoundRelation[] {
  const names = (path: string): string[] => readNames(vfs, directory, path, sink);
  const found = new Map<string, FoundRelation>();
  const visit = (path: string): void => {
    for (const name of names(path)) {
      const relation = parseRelationFileName(`${path}/${name}`);
      if (relation === undefined) continue;
      const one = found.get(relation.relation);
      if (one === undefined) found.set(relation.relation, { path: relation.relation, names: [name] });
      else one.names.push(name);
    }
  };
  const visitDatabases = (path: string): void => {
    for (const name of names(path))
      if (/^\d+$/.test(name) && isDirectory(vfs, `${path}/${name}`)) visit(`${path}/${name}`);
  };
  visit(`${directory}/global`);
  if (isDirectory(vfs, `${directory}/base`)) visitDatabases(`${directory}/base`);
  if (tablespaceDirectory !== undefined && isDirectory(vfs, `${directory}/pg_tblspc`)) {
    for (const tablespace of names(`${directory}/pg_tblspc`)) {
      const path = `${directory}/pg_tblspc/${tablespace}/${tablespaceDirectory}`;
      if (isDirectory(vfs, path)) visitDatabases(path);
    }
  }
  return [...found.values()].sort((a, b) => byDirectoryAndNumber(a.path, b.path));
}

function byDirectoryAndNumber(a: string, b: string): number {
  const [inA, inB] = [parentPath(a), parentPath(b)];
  return inA === inB ? Number(baseName(a)) - Number(baseName(b)) : inA < inB ? -1 : 1;
}

function isDirectory(vfs: Vfs, path: string): boolean {
  return vfs.stat(path)?.isDirectory === true;
}

function readNames(vfs: Vfs, directory: string, path: string, sink: FindingSink): string[] {
  try {
    return vfs.readdir(path);
  } catch (error) {
    if (!isStorageError(error)) throw error;
    const message = `the directory cannot be read, and its files were not checked: ${error.message}`;
    sink({ code: 'directory.unreadable', severity: 'error', message, file: path.slice(directory.length + 1) });
    return [];
  }
}
