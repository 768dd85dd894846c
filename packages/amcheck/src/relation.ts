// Checks the files of one relation: every page of every fork, heap tuples, and the visibility map against the heap.
import { type BlockNumber, type Finding, type FindingSink, ForkNumber, type Steps } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import type { IndexTupleFormat, IndexTupleFormer, TupleDescriptor } from '@blockwright/tuple';
import { baseName, parentPath, type Vfs } from '@blockwright/vfs';
import { BlockReader } from './block-reader.ts';
import { checkBtree } from './btree.ts';
import type { Fates } from './fates.ts';
import { MapReader } from './map-reader.ts';
import { PageProver } from './page-prover.ts';
import { type ForkPremises, PageChecks } from './pages.ts';
import type { ProofThreads } from './proofs.ts';
import { type FileSummary, newSummary } from './summary.ts';
import type { ToastLookup } from './tuple-attributes.ts';
import type { XidRange } from './xids.ts';

/** What the catalogs say of a B-tree index. */
export interface IndexCheckOptions {
  readonly name: string;
  /** How its tuples compare; without it the structure alone is checked, which is said. */
  readonly format?: IndexTupleFormat;
  /** Why it has no format. */
  readonly refusal?: string;
  readonly isUnique?: boolean;
  readonly nullsNotDistinct?: boolean;
  /** Its table, to hold entries and rows against each other; without it the tree alone is checked. */
  readonly heap?: {
    readonly name: string;
    /** Path of its main fork's first segment. */
    readonly path: string;
    /** Makes the index's tuples from the table's; for this check alone. */
    readonly former: IndexTupleFormer;
  };
}

export interface RelationCheckOptions {
  readonly vfs: Vfs;
  readonly geometry: BlockGeometry;
  /** Path of the main fork's first segment. */
  readonly path: string;
  /** Names of files in the directory, the relation's own among them, where they were read already. */
  readonly names?: readonly string[];
  /** How a path is shown in findings and summaries; as it is by default. */
  readonly shown?: (path: string) => string;
  /** Blocks of a full segment file. */
  readonly segmentBlocks: number;
  /** Whether pages carry checksums. */
  readonly checksums: boolean;
  /** The table's columns, where known: tuples' attributes are walked then. */
  readonly descriptor?: TupleDescriptor;
  /** Of a B-tree index, where known: its tuples are compared then, and held against its table. */
  readonly index?: IndexCheckOptions;
  /** Whether text is known to be UTF-8, and verified as such. Default false. */
  readonly utf8?: boolean;
  /** Finds what rows store out of line: then each visible row's values are there, and whole. */
  readonly toast?: ToastLookup;
  /** Which xids can be in use. */
  readonly xids?: XidRange;
  /** What became of them, where nothing is in progress: hint bits, links and promises are held against it. */
  readonly fates?: Fates;
  /** The files are as a crash left them: what recovery may put right is a warning. */
  readonly beforeRecovery?: boolean;
  /** Where the WAL ends: no page can be newer. */
  readonly endOfWal?: { readonly high: number; readonly low: number };
  /** One for all relations of a directory; made anew by default. */
  readonly prover?: PageProver;
  /** Threads that help, to which the relation was added with these same options. */
  readonly threads?: ProofThreads;
}

/** The main fork comes first: its pages are what people ask about. */
const FORKS: readonly ForkNumber[] = [ForkNumber.main, ForkNumber.vm, ForkNumber.fsm, ForkNumber.init];

/**
 * Checks a relation's files, and gives a summary a file, in the order main, vm, fsm, init. What is wrong goes to `sink`;
 * nothing is thrown for damage, nor for a file that cannot be read.
 * @throws StorageError when the directory itself cannot be read.
 */
export function* checkRelation(options: RelationCheckOptions, sink: FindingSink): Steps<FileSummary[]> {
  const { vfs, geometry, path, segmentBlocks } = options;
  const readers = new Map<ForkNumber, BlockReader>();
  const summaries: FileSummary[] = [];
  try {
    const names = options.names ?? vfs.readdir(parentPath(path));
    for (const fork of FORKS) readers.set(fork, BlockReader.open(vfs, geometry, path, names, fork, segmentBlocks));
    const main = readers.get(ForkNumber.main) as BlockReader;
    const vm = readers.get(ForkNumber.vm) as BlockReader;
    const map = vm.segments.length === 0 ? undefined : new MapReader(geometry, vm, options.checksums);
    const prover = options.prover ?? new PageProver();
    for (const [fork, reader] of readers) {
      const premises = { fork, reader, heapBlocks: main.blockCount, map, prover };
      yield* checkFork(options, premises, main.segments.length > 0, sink, summaries);
      // As a crash left them, the pages of a tree are of different ages, and say nothing about each other.
      if (fork === ForkNumber.main && summaries[0]?.kind === 'btree' && options.beforeRecovery !== true)
        yield* checkTree(options, reader, sink, summaries);
    }
  } finally {
    for (const reader of readers.values()) reader.close();
  }
  return summaries;
}

function* checkFork(
  options: RelationCheckOptions,
  premises: ForkPremises,
  hasMain: boolean,
  sink: FindingSink,
  summaries: FileSummary[],
): Steps<void> {
  const { fork, reader } = premises;
  if (reader.segments.length === 0) return;
  const shown = options.shown ?? ((path: string) => path);
  let current: FileSummary | undefined;
  const counted: FindingSink = (given) => {
    const finding = options.beforeRecovery === true ? leniently(given) : given;
    if (current !== undefined && finding.severity === 'error') current.errors++;
    else if (current !== undefined && finding.severity === 'warning') current.warnings++;
    sink(finding);
  };
  const pages = new PageChecks(options, premises, counted);
  for (const segment of reader.segments) {
    const summary = newSummary(shown(segment.path), fork, segment.number, FORK_KINDS[fork]);
    summaries.push(summary);
    current = summary;
    const where = { file: summary.file, fork: summary.fork, segment: summary.segment };
    for (const fault of segment.faults) counted({ ...fault, ...where });
    // An unlogged table's main file may be missing, to be made again from its init fork; its maps then are, too.
    if (!hasMain && segment.number === 0 && (fork === ForkNumber.vm || fork === ForkNumber.fsm)) {
      const message = 'there is no main file that this one could be the map of';
      counted({ code: 'file.missing_main', severity: 'error', message, ...where });
    }
    yield* pages.checkSegment(segment, summary);
  }
}

/** The tree that the pages of an index make, and what its entries lead to. */
function* checkTree(
  options: RelationCheckOptions,
  reader: BlockReader,
  sink: FindingSink,
  summaries: readonly FileSummary[],
): Steps<void> {
  const { vfs, geometry, segmentBlocks, fates, xids, index, shown = (path: string) => path } = options;
  const summaryOf = (segment: number): FileSummary => summaries.find((one) => one.segment === segment) ?? summaries[0];
  const counted: FindingSink = (finding) => {
    const summary = summaryOf(finding.segment ?? 0);
    if (finding.severity === 'error') summary.errors++;
    else if (finding.severity === 'warning') summary.warnings++;
    sink(finding);
  };
  const whereOf = (block: BlockNumber): Partial<Finding> => {
    const { path, number } = reader.segmentOf(block) ?? reader.segments[0];
    return { file: shown(path), fork: 'main', segment: number };
  };
  const { heap, refusal } = index ?? {};
  if (refusal !== undefined) {
    const message = `of index "${index?.name}" the structure alone is checked: ${refusal}`;
    sink({ code: 'btree.structure_only', severity: 'info', message, file: summaries[0].file, fork: 'main' });
  }
  const rows =
    heap &&
    BlockReader.open(vfs, geometry, heap.path, vfs.readdir(parentPath(heap.path)), ForkNumber.main, segmentBlocks);
  try {
    const counts = yield* checkBtree(
      {
        geometry,
        reader,
        name: index?.name ?? baseName(options.path),
        whereOf,
        format: index?.format,
        isUnique: index?.isUnique,
        nullsNotDistinct: index?.nullsNotDistinct,
        heap: heap && rows && { reader: rows, name: heap.name, former: heap.former },
        fates,
        xids,
      },
      counted,
    );
    summaries[0].indexTuples += counts.indexTuples;
    summaries[0].heldEntries += counts.heldEntries;
  } finally {
    rows?.close();
  }
}

/** What a crash can leave behind: a page half written, and a map that is ahead of its heap. */
const LEFT_BY_CRASHES = /\.checksum$|^heap\.map\.|^heap\.all_(visible|frozen)\.|^map\.beyond_heap$/;

function leniently(finding: Finding): Finding {
  const isError = finding.severity === 'error';
  return isError && LEFT_BY_CRASHES.test(finding.code) ? { ...finding, severity: 'warning' } : finding;
}

/** What the pages of a fork are, where the fork says it. */
const FORK_KINDS: Readonly<Partial<Record<ForkNumber, string>>> = {
  [ForkNumber.vm]: 'visibility map',
  [ForkNumber.fsm]: 'free space map',
};
