// What every Vfs must do, as cases that any test runner can run: each throws when the law is broken.
import { isStorageError, type StorageErrorCode } from '@blockwright/base';
import { errnoOf } from './errors.ts';
import { createFile, joinPath, readFully, replaceFile, writeFully } from './files.ts';
import type { Vfs, VfsFile } from './vfs.ts';

/** A file system to be tried, and an existing, empty directory of it. */
export interface VfsUnderTest {
  readonly vfs: Vfs;
  readonly root: string;
}

/** One law. */
export interface ContractCase {
  readonly name: string;
  /** Tries it on a file system of its own. @throws Error when it does not hold. */
  run(): void;
}

type Law = (vfs: Vfs, path: (name: string) => string) => void;

/**
 * The laws, to be run one by one: `for (const law of vfsContract(make)) test(law.name, () => law.run())`.
 * `makeVfs` is called once a law.
 */
export function vfsContract(makeVfs: () => VfsUnderTest): ContractCase[] {
  return Object.entries(LAWS).map(([name, law]) => ({
    name,
    run: () => {
      const { vfs, root } = makeVfs();
      law(vfs, (below) => joinPath(root, below));
    },
  }));
}

const LAWS: Readonly<Record<string, Law>> = {
  'a file keeps what was written where it was written': (vfs, path) => {
    const file = vfs.open(path('f'), 'create');
    writeFully(file, bytes(1, 2, 3, 4, 5), 1, 3, 2);
    equal(file.size(), 5, 'size');
    equalBytes(content(file), bytes(0, 0, 2, 3, 4), 'content');
    writeFully(file, bytes(9), 0, 1, 3);
    equalBytes(content(file), bytes(0, 0, 2, 9, 4), 'content after an overwrite');
    file.close();
    equalBytes(vfs.readFile(path('f')), bytes(0, 0, 2, 9, 4), 'content by readFile');
  },
  'a read puts bytes at the index asked for and touches no others': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1, 2, 3, 4));
    const dest = bytes(8, 8, 8, 8, 8);
    equal(readFully(file, dest, 2, 2, 1), 2, 'bytes read');
    equalBytes(dest, bytes(8, 8, 2, 3, 8), 'destination');
  },
  'a read at the end gives what is there, past it nothing': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1, 2, 3));
    const dest = new Uint8Array(8);
    equal(readFully(file, dest, 0, 8, 1), 2, 'bytes read over the end');
    equal(file.read(dest, 0, 8, 3), 0, 'bytes read at the end');
    equal(file.read(dest, 0, 8, 2 ** 40), 0, 'bytes read far past the end');
  },
  'a gap left by a write past the end reads as zeros': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(7));
    const far = 5 * 4096 + 17;
    writeFully(file, bytes(6), 0, 1, far);
    equal(file.size(), far + 1, 'size');
    const all = content(file);
    equal(all[0], 7, 'first byte');
    equal(all[far], 6, 'last byte');
    equal(
      all.findIndex((byte, i) => byte !== 0 && i !== 0 && i !== far),
      -1,
      'byte of the gap that is not zero',
    );
  },
  'positions above 2 GiB and 4 GiB are right': (vfs, path) => {
    const file = vfs.open(path('f'), 'create');
    for (const position of [2 ** 31 - 1, 2 ** 32 - 1, 2 ** 32 + 5]) {
      writeFully(file, bytes(1, 2), 0, 2, position);
      equal(file.size(), position + 2, 'size');
      const dest = new Uint8Array(4);
      equal(readFully(file, dest, 0, 4, position - 1), 3, 'bytes read');
      equalBytes(dest, bytes(0, 1, 2, 0), `content around ${position}`);
    }
    file.truncate(0);
  },
  'truncate cuts, and lengthens with zeros': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1, 2, 3, 4));
    file.truncate(2);
    equalBytes(content(file), bytes(1, 2), 'cut');
    file.truncate(4);
    equalBytes(content(file), bytes(1, 2, 0, 0), 'lengthened');
    file.truncate(0);
    equal(file.size(), 0, 'size');
  },
  'nothing is read and nothing written for a length of 0': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1));
    equal(file.read(new Uint8Array(0), 0, 0, 0), 0, 'bytes read');
    equal(file.write(new Uint8Array(0), 0, 0, 100), 0, 'bytes written');
    equal(file.size(), 1, 'size');
  },
  'two opens of a file see each other at once': (vfs, path) => {
    const one = filled(vfs, path('f'), bytes(1, 2));
    const two = vfs.open(path('f'), 'r');
    writeFully(one, bytes(5), 0, 1, 1);
    equalBytes(content(two), bytes(1, 5), 'content');
  },
  'create keeps what is there, createExclusive refuses it': (vfs, path) => {
    filled(vfs, path('f'), bytes(1)).close();
    equalBytes(content(vfs.open(path('f'), 'create')), bytes(1), 'content');
    refused('58P02', path('f'), () => vfs.open(path('f'), 'createExclusive'));
    const fresh = vfs.open(path('g'), 'createExclusive');
    writeFully(fresh, bytes(2), 0, 1, 0);
    equalBytes(content(fresh), bytes(2), 'content of the new file');
  },
  'r and r+ create nothing': (vfs, path) => {
    refused('58P01', path('f'), () => vfs.open(path('f'), 'r'));
    refused('58P01', path('f'), () => vfs.open(path('f'), 'r+'));
    equal(vfs.exists(path('f')), false, 'exists');
    refused('58P01', path('d/f'), () => vfs.open(path('d/f'), 'create'));
  },
  'a file opened to read cannot be changed': (vfs, path) => {
    filled(vfs, path('f'), bytes(1)).close();
    const file = vfs.open(path('f'), 'r');
    refused(undefined, path('f'), () => file.write(bytes(2), 0, 1, 0));
    refused(undefined, path('f'), () => file.truncate(0));
    equalBytes(content(file), bytes(1), 'content');
  },
  'a directory cannot be opened as a file': (vfs, path) => {
    vfs.mkdir(path('d'));
    for (const mode of ['r', 'r+', 'create'] as const) refused(undefined, path('d'), () => vfs.open(path('d'), mode));
    refused(undefined, path('d'), () => vfs.readFile(path('d')));
    refused(undefined, path('d'), () => vfs.unlink(path('d')));
  },
  'a closed file refuses to be used, and may be closed twice': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1));
    file.close();
    file.close();
    throws(TypeError, () => file.read(new Uint8Array(1), 0, 1, 0));
    throws(TypeError, () => file.write(new Uint8Array(1), 0, 1, 0));
    throws(TypeError, () => file.size());
    throws(TypeError, () => file.truncate(0));
    throws(TypeError, () => file.sync());
  },
  'wrong arguments are the caller’s errors': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1));
    throws(RangeError, () => file.read(new Uint8Array(2), 1, 2, 0));
    throws(RangeError, () => file.write(new Uint8Array(2), 1, 2, 0));
    throws(RangeError, () => file.read(new Uint8Array(2), -1, 1, 0));
    throws(TypeError, () => vfs.open(path('f'), 'w' as 'r'));
    equalBytes(content(file), bytes(1), 'content');
  },
  'sync and datasync succeed on files and directories': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1));
    file.sync();
    file.datasync();
    vfs.syncDirectory(path(''));
    refused('58P01', path('no'), () => vfs.syncDirectory(path('no')));
  },
  'stat, exists and readdir say what there is': (vfs, path) => {
    vfs.mkdir(path('d'));
    filled(vfs, path('d/b'), bytes(1, 2)).close();
    filled(vfs, path('d/a'), bytes()).close();
    equal(vfs.stat(path('d/b'))?.size, 2, 'size');
    equal(vfs.stat(path('d/b'))?.isFile, true, 'isFile');
    equal(vfs.stat(path('d'))?.isDirectory, true, 'isDirectory');
    equal(vfs.stat(path('no')), undefined, 'stat of nothing');
    equal(vfs.stat(path('d/a/below')), undefined, 'stat below a file');
    equal(vfs.exists(path('d')), true, 'exists');
    equal(vfs.readdir(path('d')).join(), 'a,b', 'readdir');
    equal(vfs.readdir(path('')).join(), 'd', 'readdir of the root');
    refused('58P01', path('no'), () => vfs.readdir(path('no')));
    refused(undefined, path('d/a'), () => vfs.readdir(path('d/a')));
  },
  'mkdir refuses a name that is taken and a parent that is not there': (vfs, path) => {
    vfs.mkdir(path('d'));
    refused('58P02', path('d'), () => vfs.mkdir(path('d')));
    refused('58P01', path('no/d'), () => vfs.mkdir(path('no/d')));
    filled(vfs, path('f'), bytes()).close();
    refused('58P02', path('f'), () => vfs.mkdir(path('f')));
  },
  'rmdir removes only an empty directory': (vfs, path) => {
    vfs.mkdir(path('d'));
    filled(vfs, path('d/f'), bytes()).close();
    equal(
      refused(undefined, path('d'), () => vfs.rmdir(path('d'))),
      'ENOTEMPTY',
      'errno',
    );
    vfs.unlink(path('d/f'));
    vfs.rmdir(path('d'));
    equal(vfs.exists(path('d')), false, 'exists');
    refused('58P01', path('d'), () => vfs.rmdir(path('d')));
  },
  'unlink removes the name; an open file stays whole': (vfs, path) => {
    const file = filled(vfs, path('f'), bytes(1, 2));
    vfs.unlink(path('f'));
    equal(vfs.exists(path('f')), false, 'exists');
    equalBytes(content(file), bytes(1, 2), 'content');
    refused('58P01', path('f'), () => vfs.unlink(path('f')));
    filled(vfs, path('f'), bytes(3)).close();
    equalBytes(content(file), bytes(1, 2), 'content once the name is used again');
  },
  'rename replaces a file, and moves a directory with what is in it': (vfs, path) => {
    filled(vfs, path('a'), bytes(1)).close();
    filled(vfs, path('b'), bytes(2)).close();
    vfs.rename(path('a'), path('b'));
    equal(vfs.exists(path('a')), false, 'old name exists');
    equalBytes(vfs.readFile(path('b')), bytes(1), 'content');
    vfs.mkdir(path('d'));
    vfs.rename(path('b'), path('d/c'));
    vfs.rename(path('d'), path('e'));
    equalBytes(vfs.readFile(path('e/c')), bytes(1), 'content after the directory moved');
    equal(vfs.readdir(path('')).join(), 'e', 'names');
    refused('58P01', path('x'), () => vfs.rename(path('no'), path('x')));
  },
  'link gives a second name, and refuses one that is taken': (vfs, path) => {
    filled(vfs, path('a'), bytes(1)).close();
    filled(vfs, path('b'), bytes(2)).close();
    refused('58P02', path('b'), () => vfs.link(path('a'), path('b')));
    equalBytes(vfs.readFile(path('b')), bytes(2), 'content of the taken name');
    vfs.link(path('a'), path('c'));
    vfs.unlink(path('a'));
    equalBytes(vfs.readFile(path('c')), bytes(1), 'content by the second name');
    refused('58P01', path('x'), () => vfs.link(path('no'), path('x')));
  },
  'replaceFile leaves the new content and nothing beside it': (vfs, path) => {
    replaceFile(vfs, path('f'), bytes(1, 2, 3));
    filled(vfs, path('f.tmp'), bytes(9, 9, 9, 9, 9)).close(); // left by a crash, longer than the new content
    replaceFile(vfs, path('f'), bytes(4));
    equalBytes(vfs.readFile(path('f')), bytes(4), 'content');
    equal(vfs.readdir(path('')).join(), 'f', 'names');
  },
  'createFile makes a file once': (vfs, path) => {
    createFile(vfs, path('f'), bytes(1, 2));
    refused('58P02', path('f'), () => createFile(vfs, path('f'), bytes(3)));
    equalBytes(vfs.readFile(path('f')), bytes(1, 2), 'content');
  },
};

function bytes(...values: number[]): Uint8Array {
  return Uint8Array.of(...values);
}

function filled(vfs: Vfs, path: string, what: Uint8Array): VfsFile {
  const file = vfs.open(path, 'create');
  writeFully(file, what, 0, what.length, 0);
  return file;
}

function content(file: VfsFile): Uint8Array {
  const all = new Uint8Array(file.size());
  equal(readFully(file, all, 0, all.length, 0), all.length, 'bytes read');
  return all;
}

function equal(actual: unknown, expected: unknown, what: string): void {
  if (!Object.is(actual, expected)) throw new Error(`${what}: ${String(actual)}, expected ${String(expected)}`);
}

function equalBytes(actual: Uint8Array, expected: Uint8Array, what: string): void {
  equal(Array.from(actual).join(), Array.from(expected).join(), what);
}

function throws(kind: ErrorConstructor | TypeErrorConstructor | RangeErrorConstructor, run: () => void): void {
  try {
    run();
  } catch (error) {
    if (error instanceof kind) return;
    throw new Error(`a ${kind.name} was expected, not ${String(error)}`);
  }
  throw new Error(`a ${kind.name} was expected, and nothing was thrown`);
}

/** Expects a StorageError with `code` (any when undefined) that names `path`. @returns the system's own code. */
function refused(code: StorageErrorCode | undefined, path: string, run: () => void): string | undefined {
  try {
    run();
  } catch (error) {
    if (!isStorageError(error)) throw new Error(`a StorageError was expected, not ${String(error)}`);
    if (code !== undefined) equal(error.code, code, `code of "${error.message}"`);
    if (!error.message.includes(path)) throw new Error(`"${error.message}" does not name ${path}`);
    return errnoOf(error);
  }
  throw new Error('a StorageError was expected, and nothing was thrown');
}
