// Checking with several threads. Helpers prove units of blocks clean, ahead of the thread that checks; that one goes
// through everything in order, looks only at what was not proven, and alone makes findings: so they are the same, in the
// same order, however many threads there are. While the unit that it needs is not ready, it proves another itself.
// Nothing depends on a helper: a unit that one never ends is done again.
import { Worker } from 'node:worker_threads';
import { ForkNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import type { PageKind } from '@blockwright/pageinspect';
import type { Vfs } from '@blockwright/vfs';
import { BlockReader } from './block-reader.ts';
import { kindOfPages } from './page-kinds.ts';
import { type PageProver, type ProvenKind, RUN_BYTES } from './page-prover.ts';
import { CLAIMED, ProofBoard, SETTLED, UNIT_SHIFT } from './proof-board.ts';
import { type ProofPlan, UNIT_FIELDS_SHIFT, UnitProver } from './prove-units.ts';
import type { ProofOrder } from './prove-worker.ts';
import { provenColumns } from './proven-columns.ts';
import type { RelationCheckOptions } from './relation.ts';
import type { Proof, ProofRelation } from './relation-prover.ts';

/** So long it is waited for a helper's unit at once, when all else is done. */
const WAIT_MS = 5;
/** So often, before the unit is given up. */
const MOST_WAITS = 10;

/** The units of one segment file. Blocks are counted from its first. */
export interface SegmentProofs {
  readonly kind: ProvenKind;
  readonly unitBlocks: number;
  /**
   * Whether the unit of a block has ended, or is given up. When not, a run of another's blocks was proven meanwhile, or a
   * moment was waited; in both cases not for longer than a check may go on without a step.
   */
  isReady(block: number): boolean;
  /** What came of the unit of a block; undefined when it must be checked without. */
  proof(block: number): Proof | undefined;
  /** Of a unit of which something came: whether the block is known to be clean. */
  isProven(block: number): boolean;
}

/** A segment file that is planned. */
interface PlannedSegment {
  readonly kind: ProvenKind;
  readonly firstUnit: number;
  readonly blocks: number;
}

/** Threads that help one check. */
export class ProofThreads {
  private readonly workers: readonly Worker[];
  private readonly relations: ProofRelation[] = [];
  private readonly units: number[] = [];
  private readonly segments = new Map<string, PlannedSegment>();
  private readonly vfs: Vfs;
  private readonly geometry: BlockGeometry;
  private readonly prover: PageProver;
  private readonly unitShift: number;
  private own: UnitProver | undefined = undefined;
  private board: ProofBoard | undefined = undefined;

  /**
   * Starts `helpers` threads, which read the machine's own files.
   * @param prover for what is proven on this thread
   * @param unitShift log2 of the bytes of a unit
   */
  constructor(vfs: Vfs, geometry: BlockGeometry, prover: PageProver, helpers: number, unitShift: number = UNIT_SHIFT) {
    this.vfs = vfs;
    this.geometry = geometry;
    this.prover = prover;
    this.unitShift = unitShift - geometry.shift;
    this.workers = Array.from({ length: helpers }, startWorker);
  }

  /**
   * Adds a relation, in the order in which they will be checked, with the options that it will be checked with. One whose
   * pages cannot be proven is left out.
   * @throws StorageError when its files cannot be read.
   */
  add(options: RelationCheckOptions & { readonly names: readonly string[] }): void {
    const { path, names, segmentBlocks, checksums, descriptor, utf8 = false, xids, fates, endOfWal } = options;
    const reader = BlockReader.open(this.vfs, this.geometry, path, names, ForkNumber.main, segmentBlocks);
    try {
      const kind = descriptor === undefined ? this.tellKind(reader) : 'heap';
      if (kind !== 'heap' && kind !== 'btree') return;
      const columns = descriptor === undefined ? undefined : provenColumns(descriptor, utf8);
      if (descriptor !== undefined && columns === undefined) return;
      const blockSize = this.geometry.size;
      const committed = kind === 'heap' ? fates?.committedXids() : undefined;
      const known = { checksums, columns, xids, committed, endOfWal };
      const index = this.relations.push({ path, names, blockSize, segmentBlocks, kind, ...known }) - 1;
      for (const [i, { path: file, blocks }] of reader.segments.entries()) {
        this.segments.set(file, { kind, firstUnit: this.units.length >>> UNIT_FIELDS_SHIFT, blocks });
        const unitBlocks = 1 << this.unitShift;
        for (let first = 0; first < blocks; first += unitBlocks)
          this.units.push(index, i, first, Math.min(unitBlocks, blocks - first));
      }
    } finally {
      reader.close();
    }
  }

  /** Sets all threads to work. */
  start(): void {
    const unitBlocks = 1 << this.unitShift;
    const plan: ProofPlan = { relations: this.relations, unitBlocks, units: Uint32Array.from(this.units) };
    this.board = new ProofBoard(plan.units.length >>> UNIT_FIELDS_SHIFT, unitBlocks);
    this.own = new UnitProver(this.vfs, plan, this.board, this.prover);
    const order: ProofOrder = { plan, board: this.board.buffer };
    for (const worker of this.workers) worker.postMessage(order);
  }

  /** The proofs of a segment file that was planned and is as long as it was then. */
  ofSegment(path: string, blocks: number): SegmentProofs | undefined {
    const segment = this.segments.get(path);
    const { board, own, unitShift } = this;
    if (segment?.blocks !== blocks || board === undefined || own === undefined) return undefined;
    const unitBlocks = 1 << unitShift;
    const unitOf = (block: number): number => segment.firstUnit + (block >>> unitShift);
    let awaited = -1;
    let waits = 0;
    return {
      kind: segment.kind,
      unitBlocks,
      isReady: (block) => {
        const unit = unitOf(block);
        if (board.state(unit) > CLAIMED) return true;
        if (own.step()) return false;
        if (unit !== awaited) waits = 0;
        awaited = unit;
        if (++waits > MOST_WAITS) return true;
        board.wait(unit, WAIT_MS);
        return false;
      },
      proof: (block) => (board.state(unitOf(block)) === SETTLED ? board.proof(unitOf(block)) : undefined),
      isProven: (block) => board.isProven(unitOf(block), block & (unitBlocks - 1)),
    };
  }

  /** Ends the threads. */
  close(): void {
    this.board?.stop();
    this.own?.close();
    for (const worker of this.workers) void worker.terminate();
  }

  private tellKind(reader: BlockReader): PageKind | undefined {
    const [first] = reader.segments;
    if (first === undefined) return undefined;
    const most = RUN_BYTES >>> this.geometry.shift;
    const count = reader.read(first, 0, Math.min(most, first.blocks), this.prover.memory.u8);
    return kindOfPages(this.prover.memory, count, this.geometry);
  }
}

/** What runs TypeScript, where these files are run from source: of the repository, and no dependency of the package. */
const SOURCE_LOADER = 'tsx/esm/api';

/** From source, the thread needs what its owner had to be started with. */
const BOOT = `
const { workerData } = require('node:worker_threads');
import(workerData.loader).then(({ register }) => { register(); return import(workerData.entry); });
`;

function startWorker(): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  const entry = new URL(isSource ? './prove-worker.ts' : './prove-worker.js', import.meta.url);
  const worker = isSource
    ? new Worker(BOOT, { eval: true, workerData: { loader: import.meta.resolve(SOURCE_LOADER), entry: entry.href } })
    : new Worker(entry);
  worker.on('error', () => {}); // what it has not done, its owner does
  worker.unref();
  return worker;
}
