// Checks whole data directories, ours and PostgreSQL's, and lone relation files: finds what there is to check, hands it
// to the checker with what is known about it, and adds up what was verified.
import { resolve } from 'node:path';
import {
  checkRelation,
  type FileSummary,
  PageProver,
  type ProofThreads,
  type RelationCheckOptions,
} from '@blockwright/amcheck';
import { checkOptions, type FindingSink, isStorageError, type Steps, StorageError } from '@blockwright/base';
import { directoryKind } from '@blockwright/control';
import { BlockGeometry, type BlockSize, parseBlockSize } from '@blockwright/geometry';
import { parseRelationFileName } from '@blockwright/smgr';
import { NodeVfs, parentPath, type Vfs } from '@blockwright/vfs';
import { type CheckPremises, directoryPremises } from './check-premises.ts';
import { planProofs, startThreads } from './check-threads.ts';
import { detectPages } from './detect.ts';
import { relationsBelow } from './relations-below.ts';

export interface CheckOptions {
  /** For relation files whose pages do not say it; elsewhere it must be the size that the control file says. */
  readonly blockSize?: BlockSize | `${number}kB` | (string & {}) | number;
  readonly vfs?: Vfs;
  /**
   * Threads that work at once, this one included; 1 by default. Another one is only started for each 64 MB of large
   * relations in a directory, on the machine's own files. What is found does not depend on it.
   */
  readonly jobs?: number;
}

/** What was verified below one path. */
export interface CheckReport {
  readonly path: string;
  /** `blockwright` or `postgresql` directory, or a `relation` file by itself. */
  readonly kind: 'blockwright' | 'postgresql' | 'relation';
  readonly blockSize: BlockSize;
  readonly dataChecksums: boolean;
  /** Whether the directory was shut down: else it was checked as it lies, before recovery. False for a lone file. */
  readonly isShutDown: boolean;
  readonly files: readonly FileSummary[];
  /** Findings of severity `error`, those about no file in particular included. */
  readonly errors: number;
  readonly warnings: number;
}

const KNOWN_OPTIONS = ['blockSize', 'vfs', 'jobs'];

/**
 * Checks a data directory, or one relation with its forks and segments, named by any of its files. Findings go to
 * `sink` as they are made; a file that cannot be read is a finding, and the others are checked all the same. Not one
 * byte is written.
 * @throws StorageError 58P01 when there is nothing at `path`, 55000 when it is nothing that can be checked or its block
 *   size cannot be told or is not the one asked for, XX001 when the control file of a directory is damaged: without it
 *   the block size would be a guess. RangeError for a number of jobs that is none.
 */
export function* checkPath(path: string, sink: FindingSink, options: CheckOptions = {}): Steps<CheckReport> {
  checkOptions('checkPath', options, KNOWN_OPTIONS);
  const { jobs = 1, vfs = new NodeVfs() } = options;
  if (!Number.isSafeInteger(jobs) || jobs < 1) throw new RangeError(`jobs ${String(jobs)} is not a positive integer`);
  const stat = vfs.stat(path);
  if (stat === undefined) throw new StorageError('58P01', `"${path}" does not exist`);
  const full = resolve(path);
  const counts = { errors: 0, warnings: 0 };
  const counted: FindingSink = (finding) => {
    if (finding.severity === 'error') counts.errors++;
    else if (finding.severity === 'warning') counts.warnings++;
    sink(finding);
  };
  const subject = stat.isDirectory ? directorySubject(vfs, full, counted) : fileSubject(vfs, full, options, counted);
  const { premises } = subject;
  const files: FileSummary[] = [];
  const prover = new PageProver();
  let threads: ProofThreads | undefined;
  try {
    refuseOtherSize(path, options, premises.geometry.size);
    threads = startThreads(vfs, subject, prover, jobs);
    const tables = premises.readTables(); // while the threads start
    const relations = subject.relations.map((relation) => relationOptions(vfs, subject, relation, tables, prover));
    if (threads !== undefined) planProofs(threads, relations);
    for (const relation of relations) files.push(...(yield* checkOne({ ...relation, threads }, counted)));
  } finally {
    threads?.close();
    premises.close();
  }
  const { kind, geometry, checksums, isShutDown } = premises;
  return { path, kind, blockSize: geometry.size, dataChecksums: checksums, isShutDown, files, ...counts };
}

/** What is to be checked. */
export interface Subject {
  readonly premises: CheckPremises;
  /** Paths are shown below it. */
  readonly directory: string;
  readonly relations: readonly { readonly path: string; readonly names?: readonly string[] }[];
}

function directorySubject(vfs: Vfs, directory: string, sink: FindingSink): Subject {
  const kind = directoryKind(vfs, directory);
  if (kind !== 'blockwright' && kind !== 'postgresql') {
    throw new StorageError('55000', `"${directory}" is not a data directory`, {
      hint: 'Name a data directory, ours or PostgreSQL’s, or single relation files.',
    });
  }
  const premises = directoryPremises(vfs, directory, kind, sink);
  return { premises, directory, relations: relationsBelow(vfs, directory, premises.tablespaceDirectory, sink) };
}

/** A lone file: what its data directory says of it, where it lies in one whose control file can be read. */
function fileSubject(vfs: Vfs, path: string, options: CheckOptions, sink: FindingSink): Subject {
  const relations = [{ path: parseRelationFileName(path)?.relation ?? path }];
  const enclosing = enclosingDirectory(vfs, path);
  if (enclosing !== undefined) {
    const { directory, kind } = enclosing;
    try {
      return { premises: directoryPremises(vfs, directory, kind, sink), directory, relations };
    } catch (error) {
      if (!isStorageError(error)) throw error;
      const message = `the control file cannot be read, so the pages themselves are asked: ${error.message}`;
      sink({ code: 'control.unreadable', severity: 'warning', message });
    }
  }
  const detected = detectPages(vfs, path);
  if (detected.blockSize !== undefined) refuseOtherSize(path, options, detected.blockSize);
  const blockSize = options.blockSize === undefined ? detected.blockSize : parseBlockSize(options.blockSize);
  if (blockSize === undefined) {
    throw new StorageError('55000', `"${path}": the block size cannot be told from its pages`, {
      hint: 'Give it with --block-size.',
    });
  }
  const geometry = BlockGeometry.of(blockSize);
  const premises: CheckPremises = {
    kind: 'relation',
    geometry,
    segmentBlocks: geometry.constants.RELSEG_SIZE,
    checksums: detected.hasChecksums,
    isShutDown: false,
    xids: undefined,
    fates: undefined,
    endOfWal: undefined,
    readTables: () => new Map(),
    tablespaceDirectory: undefined,
    close: () => {},
  };
  return { premises, directory: parentPath(path), relations };
}

function refuseOtherSize(path: string, options: CheckOptions, actual: BlockSize): void {
  if (options.blockSize === undefined) return;
  const given = parseBlockSize(options.blockSize);
  if (given !== actual)
    throw new StorageError('55000', `"${path}" has blocks of ${actual} bytes, not of ${given} as asked`);
}

/** The data directory that a relation file lies in: two levels up (global/N) or three (base/M/N). */
function enclosingDirectory(
  vfs: Vfs,
  path: string,
): { directory: string; kind: 'blockwright' | 'postgresql' } | undefined {
  let directory = parentPath(path);
  for (let level = 0; level < 2; level++) {
    directory = parentPath(directory);
    const hasControl = vfs.exists(`${directory}/global/control`) || vfs.exists(`${directory}/global/pg_control`);
    const kind = hasControl ? directoryKind(vfs, directory) : 'other';
    if (kind === 'blockwright' || kind === 'postgresql') return { directory, kind };
  }
  return undefined;
}

/** A path as it stands below a directory, with `/` between names on every system; the path itself when it does not. */
export function pathBelow(directory: string, path: string): string {
  const separator = path.charAt(directory.length);
  if (!path.startsWith(directory) || (separator !== '/' && separator !== '\\')) return path;
  return path.slice(directory.length + 1).replaceAll('\\', '/');
}

function relationOptions(
  vfs: Vfs,
  { premises, directory }: Subject,
  relation: Subject['relations'][number],
  tables: ReturnType<CheckPremises['readTables']>,
  prover: PageProver,
): RelationCheckOptions {
  const shown = (path: string): string => pathBelow(directory, path);
  const table = tables.get(shown(relation.path));
  return {
    vfs,
    geometry: premises.geometry,
    path: relation.path,
    names: relation.names,
    shown,
    segmentBlocks: premises.segmentBlocks,
    checksums: premises.checksums,
    descriptor: table?.descriptor,
    index: indexBelow(directory, table?.index),
    utf8: table?.isUtf8,
    xids: table?.xids ?? premises.xids,
    fates: premises.fates,
    beforeRecovery: premises.kind !== 'relation' && !premises.isShutDown,
    toast: table?.toast,
    endOfWal: premises.endOfWal,
    prover,
  };
}

/** What is known of an index, its table's path made whole. */
function indexBelow(directory: string, index: RelationCheckOptions['index']): RelationCheckOptions['index'] {
  const heap = index?.heap;
  return index && heap ? { ...index, heap: { ...heap, path: `${directory}/${heap.path}` } } : index;
}

function* checkOne(options: RelationCheckOptions, sink: FindingSink): Steps<FileSummary[]> {
  try {
    return yield* checkRelation(options, sink);
  } catch (error) {
    if (!isStorageError(error)) throw error;
    const message = `it could not be checked: ${error.message}`;
    sink({ code: 'file.unreadable', severity: 'error', message, file: options.shown?.(options.path) });
    return [];
  }
}
