// Checks whole data directories, ours and PostgreSQL's, and lone relation files: finds what there is to check, what is
// known about each file, and hands it to the checker.
import { resolve } from 'node:path';
import { checkRelation, type FileSummary, type RelationCheckOptions, type XidRange } from '@blockwright/amcheck';
import {
  checkOptions,
  type Finding,
  type FindingSink,
  ForkNumber,
  isStorageError,
  parseLsn,
  type Steps,
  StorageError,
} from '@blockwright/base';
import { PostgresDirectory } from '@blockwright/catalog';
import { directoryKind, readControlFile, readPgControlFile } from '@blockwright/control';
import { BlockGeometry, type BlockSize, parseBlockSize } from '@blockwright/geometry';
import { parseRelationFileName } from '@blockwright/smgr';
import type { TupleDescriptor } from '@blockwright/tuple';
import { baseName, NodeVfs, parentPath, type Vfs } from '@blockwright/vfs';
import { Database } from './database.ts';
import { detectPages } from './detect.ts';

export interface CheckOptions {
  /** For relation files whose pages do not say it. */
  readonly blockSize?: BlockSize | `${number}kB` | (string & {}) | number;
  readonly vfs?: Vfs;
}

/** What was verified below one path. */
export interface CheckReport {
  readonly path: string;
  /** `blockwright` or `postgresql` directory, or a `relation` file. */
  readonly kind: 'blockwright' | 'postgresql' | 'relation';
  readonly blockSize: BlockSize;
  readonly dataChecksums: boolean;
  readonly files: readonly FileSummary[];
  readonly errors: number;
  readonly warnings: number;
}

/** What is known of a directory before its files are looked at. */
interface Premises {
  readonly kind: CheckReport['kind'];
  readonly geometry: BlockGeometry;
  readonly segmentBlocks: number;
  readonly checksums: boolean;
  readonly xids: XidRange | undefined;
  readonly endOfWal: { high: number; low: number } | undefined;
  /** Columns by the path of a relation's first file, where the catalogs could be read. */
  readonly descriptors: ReadonlyMap<string, TupleDescriptor>;
}

const KNOWN_OPTIONS = ['blockSize', 'vfs'];

/**
 * Checks a data directory (of a stopped server) or one relation file with its forks and segments. Findings go to `sink`
 * as they are made; not one byte is written.
 * @throws StorageError 58P01 when there is nothing at `path`, 55000 when it is no directory or file that can be checked,
 *   XX001 when the control file is damaged: without it the block size would be a guess.
 */
export function* checkPath(path: string, sink: FindingSink, options: CheckOptions = {}): Steps<CheckReport> {
  checkOptions('checkPath', options, KNOWN_OPTIONS);
  const vfs = options.vfs ?? new NodeVfs();
  const stat = vfs.stat(path);
  if (stat === undefined) throw new StorageError('58P01', `"${path}" does not exist`);
  const full = resolve(path);
  if (!stat.isDirectory) return yield* checkFile(vfs, full, sink, options);
  const kind = directoryKind(vfs, full);
  if (kind !== 'blockwright' && kind !== 'postgresql') {
    throw new StorageError('55000', `"${path}" is not a data directory`, {
      hint: 'Name a data directory, ours or PostgreSQL’s, or single relation files.',
    });
  }
  const premises = kind === 'blockwright' ? ourPremises(vfs, full, sink) : postgresPremises(vfs, full, sink);
  const files: FileSummary[] = [];
  for (const relation of relationFiles(vfs, full)) {
    files.push(...(yield* checkOne(vfs, full, relation, premises, sink)));
  }
  return report(path, premises, files);
}

function* checkFile(vfs: Vfs, path: string, sink: FindingSink, options: CheckOptions): Steps<CheckReport> {
  const name = parseRelationFileName(path);
  const relation = name?.relation ?? path;
  const directory = enclosingDirectory(vfs, path);
  if (directory !== undefined) {
    const premises =
      directory.kind === 'blockwright'
        ? ourPremises(vfs, directory.path, sink)
        : postgresPremises(vfs, directory.path, sink);
    refuseOtherSize(path, options, premises.geometry.size);
    return report(path, premises, yield* checkOne(vfs, directory.path, relation, premises, sink));
  }
  const detected = detectPages(vfs, path);
  const given = options.blockSize === undefined ? undefined : parseBlockSize(options.blockSize);
  if (detected.blockSize !== undefined) refuseOtherSize(path, options, detected.blockSize);
  const blockSize = given ?? detected.blockSize;
  if (blockSize === undefined) {
    throw new StorageError('55000', `"${path}": the block size cannot be told from its pages`, {
      hint: 'Give it with --block-size.',
    });
  }
  const geometry = BlockGeometry.of(blockSize);
  const premises: Premises = {
    kind: 'relation',
    geometry,
    segmentBlocks: geometry.constants.RELSEG_SIZE,
    checksums: detected.hasChecksums,
    xids: undefined,
    endOfWal: undefined,
    descriptors: new Map(),
  };
  return report(path, premises, yield* checkOne(vfs, parentPath(path), relation, premises, sink));
}

function refuseOtherSize(path: string, options: CheckOptions, actual: BlockSize): void {
  if (options.blockSize === undefined) return;
  const given = parseBlockSize(options.blockSize);
  if (given !== actual)
    throw new StorageError('55000', `"${path}" has blocks of ${actual} bytes, not of ${given} as asked`);
}

/** The data directory that a relation file lies in: two levels up (global/N) or three (base/M/N). */
function enclosingDirectory(vfs: Vfs, path: string): { path: string; kind: 'blockwright' | 'postgresql' } | undefined {
  let directory = parentPath(path);
  for (let level = 0; level < 2; level++) {
    directory = parentPath(directory);
    const kind = vfs.stat(directory) === undefined ? 'missing' : directoryKind(vfs, directory);
    if (kind === 'blockwright' || kind === 'postgresql') return { path: directory, kind };
  }
  return undefined;
}

function* checkOne(
  vfs: Vfs,
  directory: string,
  relation: string,
  premises: Premises,
  sink: FindingSink,
): Steps<FileSummary[]> {
  const shown = (path: string): string => (path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path);
  const options: RelationCheckOptions = {
    vfs,
    geometry: premises.geometry,
    path: relation,
    shown,
    segmentBlocks: premises.segmentBlocks,
    checksums: premises.checksums,
    descriptor: premises.descriptors.get(shown(relation)),
    xids: premises.xids,
    endOfWal: premises.endOfWal,
  };
  return yield* checkRelation(options, sink);
}

/** Paths of the relations below a data directory: those that have any file of a relation's name. */
function relationFiles(vfs: Vfs, directory: string): string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    for (const name of vfs.readdir(path)) {
      const full = `${path}/${name}`;
      if (vfs.stat(full)?.isFile !== true) continue;
      const relation = parseRelationFileName(full);
      if (relation !== undefined && relation.fork !== undefined) found.add(relation.relation);
    }
  };
  visit(`${directory}/global`);
  for (const database of vfs.stat(`${directory}/base`)?.isDirectory === true ? vfs.readdir(`${directory}/base`) : []) {
    const path = `${directory}/base/${database}`;
    if (/^\d+$/.test(database) && vfs.stat(path)?.isDirectory === true) visit(path);
  }
  const number = (path: string): number => Number(baseName(path));
  return [...found].sort((a, b) => {
    const [inA, inB] = [parentPath(a), parentPath(b)];
    return inA === inB ? number(a) - number(b) : inA < inB ? -1 : 1;
  });
}

function ourPremises(vfs: Vfs, directory: string, sink: FindingSink): Premises {
  const control = readControlFile(vfs, directory);
  const geometry = BlockGeometry.of(control.blockSize);
  const descriptors = readDescriptors(sink, () => {
    using database = Database.open(directory, { readOnly: true, vfs });
    return new Map(database.tables().map(({ name, path }) => [path, database.table(name).descriptor]));
  });
  return {
    kind: 'blockwright',
    geometry,
    segmentBlocks: control.segmentBlocks,
    checksums: control.dataChecksums,
    xids: { next: control.nextXid + 1, nextEpoch: control.nextXidEpoch, oldest: control.oldestXid },
    endOfWal: { high: control.checkpoint.recordHigh, low: control.checkpoint.recordLow },
    descriptors,
  };
}

function postgresPremises(vfs: Vfs, directory: string, sink: FindingSink): Premises {
  const control = readPgControlFile(vfs, directory);
  const descriptors = readDescriptors(sink, () => postgresDescriptors(vfs, directory));
  const { nextXid, nextXidEpoch, oldestXid, location } = control.checkpoint;
  const isShutDown = control.state.startsWith('shut down');
  return {
    kind: 'postgresql',
    geometry: BlockGeometry.of(control.blockSize),
    segmentBlocks: control.segmentBlocks,
    checksums: control.dataChecksumVersion !== 0,
    xids: isShutDown ? { next: nextXid, nextEpoch: nextXidEpoch, oldest: oldestXid } : undefined,
    endOfWal: isShutDown ? parseLsn(location) : undefined,
    descriptors,
  };
}

/** Every database's tables; those without columns of a type that is not known are decoded. */
function postgresDescriptors(vfs: Vfs, directory: string): Map<string, TupleDescriptor> {
  const descriptors = new Map<string, TupleDescriptor>();
  for (const database of PostgresDirectory.databases(directory, { vfs })) {
    using postgres = PostgresDirectory.open(directory, { database, vfs });
    for (const relation of postgres.relations()) {
      if (!'rm'.includes(relation.kind)) continue;
      const { storage } = postgres.relation(relation);
      if (storage.fork(ForkNumber.main).exists())
        descriptors.set(storage.name, postgres.table(`${relation.schema}.${relation.name}`).descriptor);
    }
  }
  return descriptors;
}

/** Without catalogs the files are checked all the same, tuples less deeply; that is said. */
function readDescriptors(sink: FindingSink, read: () => Map<string, TupleDescriptor>): Map<string, TupleDescriptor> {
  try {
    return read();
  } catch (error) {
    if (!isStorageError(error)) throw error;
    const message = `the catalogs cannot be read, so that attributes are not checked: ${error.message}`;
    const finding: Finding = {
      code: 'catalog.unreadable',
      severity: error.code === 'F0001' || error.code === '55006' ? 'warning' : 'error',
      message,
    };
    sink(finding);
    return new Map();
  }
}

function report(path: string, premises: Premises, files: readonly FileSummary[]): CheckReport {
  const sum = (pick: (file: FileSummary) => number): number => files.reduce((total, file) => total + pick(file), 0);
  return {
    path,
    kind: premises.kind,
    blockSize: premises.geometry.size,
    dataChecksums: premises.checksums,
    files,
    errors: sum((file) => file.errors),
    warnings: sum((file) => file.warnings),
  };
}
