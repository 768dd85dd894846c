// Makes a data directory.
import { resolve } from 'node:path';
import { Relation } from '@blockwright/access';
import { checkOptions, StorageError } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { CATALOG_INDEXES, CATALOG_TABLES, Catalog } from '@blockwright/catalog';
import {
  type ControlFile,
  initialControlFile,
  PG_VERSION_FILE,
  VERSION_FILE,
  writeControlFile,
  writeVersionFile,
} from '@blockwright/control';
import { BlockGeometry, type BlockSize, parseBlockSize } from '@blockwright/geometry';
import { bootstrapWal } from '@blockwright/recovery';
import { StorageManager } from '@blockwright/smgr';
import { baseName, NodeVfs, parentPath, type Vfs } from '@blockwright/vfs';
import { DIRECTORIES, locatorOf, TEMPORARY_DIRECTORY, WAL_DIRECTORY } from './layout.ts';
import { parseMemorySize } from './sizes.ts';

export interface InitdbOptions {
  /** 1 to 32 kB, a power of two; 8 kB by default. */
  readonly blockSize?: BlockSize | `${number}kB` | (string & {}) | number;
  /** Checksum every page; true by default. */
  readonly dataChecksums?: boolean;
  /** Bytes of a WAL segment, a power of two from 1 MB to 1 GB, or text such as `16MB`, the default. */
  readonly walSegmentSize?: number | string;
  /** The file system; node:fs by default. */
  readonly vfs?: Vfs;
}

const KNOWN_OPTIONS = ['blockSize', 'dataChecksums', 'walSegmentSize', 'vfs'];

/**
 * Creates a data directory: everything is written and synced, the control file last. When it fails, what it made is
 * removed, and nothing else. PostgreSQL: `initdb`.
 * @throws StorageError 58P02 when the directory exists and is not empty; RangeError for a wrong size.
 */
export function initdb(directory: string, options: InitdbOptions = {}): ControlFile {
  checkOptions('initdb', options, KNOWN_OPTIONS);
  const blockSize = parseBlockSize(options.blockSize ?? '8kB');
  const walSegmentSize = parseWalSegmentSize(options.walSegmentSize ?? '16MB');
  const dataChecksums = options.dataChecksums ?? true;
  const vfs = options.vfs ?? new NodeVfs();
  const path = resolve(directory);
  const made = new Made(vfs);
  try {
    makeRoot(vfs, path, made);
    for (const name of DIRECTORIES) made.directory(`${path}/${name}`);
    made.file(`${path}/${VERSION_FILE}`);
    writeVersionFile(vfs, path);
    bootstrap(vfs, path, BlockGeometry.of(blockSize), dataChecksums, made);
    for (const name of DIRECTORIES) vfs.syncDirectory(`${path}/${name}`);
    made.wal(`${path}/${WAL_DIRECTORY}`);
    const control = bootstrapWal(vfs, path, initialControlFile({ blockSize, dataChecksums, walSegmentSize }));
    vfs.syncDirectory(path);
    made.file(`${path}/global/control`);
    return writeControlFile(vfs, path, control);
  } catch (error) {
    made.remove();
    throw error;
  }
}

/** What initdb has made so far, so that a failure removes it and nothing else. */
class Made {
  private readonly vfs: Vfs;
  private readonly paths: { path: string; isDirectory: boolean }[] = [];

  constructor(vfs: Vfs) {
    this.vfs = vfs;
  }

  directory(path: string): void {
    this.vfs.mkdir(path);
    this.paths.push({ path, isDirectory: true });
  }

  /** Notes a file that is about to be made. */
  file(path: string): string {
    this.paths.push({ path, isDirectory: false });
    return path;
  }

  /** Notes the directory of the WAL, which is about to be made with its first segment. */
  wal(path: string): void {
    this.paths.push({ path, isDirectory: true });
  }

  remove(): void {
    for (const { path, isDirectory } of this.paths.reverse()) {
      try {
        if (isDirectory) this.removeDirectory(path);
        else if (this.vfs.exists(path)) this.vfs.unlink(path);
      } catch {
        // the error that stopped initdb is the one to report
      }
    }
  }

  /** A directory of relations or of the WAL, made here, may hold maps and segments that nobody noted. */
  private removeDirectory(path: string): void {
    const [parent, own] = [baseName(parentPath(path)), baseName(path)];
    if (parent === 'base' || own === WAL_DIRECTORY) {
      for (const name of this.vfs.readdir(path)) this.vfs.unlink(`${path}/${name}`);
    }
    this.vfs.rmdir(path);
  }
}

function makeRoot(vfs: Vfs, path: string, made: Made): void {
  const stat = vfs.stat(path);
  if (stat === undefined) {
    const missing: string[] = [];
    for (let parent = path; vfs.stat(parent) === undefined; parent = parentPath(parent)) missing.push(parent);
    for (const name of missing.reverse()) made.directory(name);
    vfs.syncDirectory(parentPath(missing[0] as string));
    return;
  }
  if (!stat.isDirectory) throw new StorageError('58P02', `"${path}" exists and is not a directory`);
  const names = vfs.readdir(path);
  if (names.length === 0) return;
  const isMountPoint = names.includes('lost+found');
  throw new StorageError('58P02', `directory "${path}" exists and is not empty`, {
    detail: isMountPoint
      ? 'It holds "lost+found": it is probably a mount point.'
      : names.includes(VERSION_FILE)
        ? 'It is a data directory already.'
        : names.includes(PG_VERSION_FILE)
          ? "It is PostgreSQL's."
          : `It holds ${names.length === 1 ? `"${names[0]}"` : `${names.length} files or directories`}.`,
    hint: isMountPoint
      ? 'Make a directory below the mount point and use that.'
      : 'Name a directory that does not exist yet, or an empty one.',
  });
}

function bootstrap(vfs: Vfs, directory: string, geometry: BlockGeometry, dataChecksums: boolean, made: Made): void {
  const storage = new StorageManager({ vfs, directory, geometry });
  try {
    const pool = new BufferPool({
      geometry,
      buffers: 64,
      verifyChecksums: dataChecksums,
      writeChecksums: dataChecksums,
    });
    const relations = new Map<number, Relation>();
    for (const { oid, name } of [...CATALOG_TABLES, ...CATALOG_INDEXES]) {
      const stored = storage.open(locatorOf(oid));
      made.file(`${directory}/${stored.name}`);
      const relation = new Relation({ pool, storage: stored, name });
      relation.main.create();
      relations.set(oid, relation);
    }
    const tempDirectory = `${directory}/${TEMPORARY_DIRECTORY}`;
    Catalog.bootstrap((relfilenode) => relations.get(relfilenode) as Relation, { vfs, tempDirectory });
    pool.flushAll();
    storage.syncPending();
    pool.close();
  } finally {
    storage.close();
  }
}

function parseWalSegmentSize(size: number | string): number {
  const bytes = parseMemorySize('walSegmentSize', size);
  if (bytes < 2 ** 20 || bytes > 2 ** 30 || (bytes & (bytes - 1)) !== 0) {
    throw new RangeError(`walSegmentSize "${String(size)}" is not a power of two from 1MB to 1GB`);
  }
  return bytes;
}
