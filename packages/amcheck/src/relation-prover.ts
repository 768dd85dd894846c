// Proves blocks of one relation's main fork clean, by its own readers: the same on the thread that checks and on those
// that help it. What is not proven is left to the one that checks, which says what is wrong.
import { ForkNumber } from '@blockwright/base';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import type { Vfs } from '@blockwright/vfs';
import { BlockReader } from './block-reader.ts';
import type { CommittedXids } from './committed-xids.ts';
import { MapReader } from './map-reader.ts';
import { NO_MAP, type PageProver, type ProvenKind, type ProverPremises, RUN_BYTES } from './page-prover.ts';
import type { ProvenColumns } from './proven-columns.ts';
import type { XidRange } from './xids.ts';

/** All that a proof needs to know of a relation, in a form that can be sent to another thread. */
export interface ProofRelation {
  /** Path of the main fork's first segment. */
  readonly path: string;
  /** Names of its files. */
  readonly names: readonly string[];
  readonly blockSize: BlockSize;
  readonly segmentBlocks: number;
  readonly kind: ProvenKind;
  readonly checksums: boolean;
  readonly columns: ProvenColumns | undefined;
  readonly xids: XidRange | undefined;
  /** Where there is a commit log to hold tuples against: which xids have committed. */
  readonly committed: CommittedXids | undefined;
  readonly endOfWal: { readonly high: number; readonly low: number } | undefined;
}

/** What was found out about some blocks. */
export interface Proof {
  /** Of the clean pages, as their number in {@link FileSummary}. */
  clean: number;
  linePointers: number;
  tuples: number;
  mapBits: number;
}

export class RelationProver {
  readonly main: BlockReader;
  private readonly vm: BlockReader;
  private readonly map: MapReader | undefined;
  private readonly prover: PageProver;
  private readonly geometry: BlockGeometry;
  private readonly premises: ProverPremises;

  /** @throws StorageError when the files cannot be opened. */
  constructor(vfs: Vfs, relation: ProofRelation, prover: PageProver) {
    const { path, names, segmentBlocks, checksums } = relation;
    const geometry = BlockGeometry.of(relation.blockSize);
    this.prover = prover;
    this.geometry = geometry;
    this.premises = { ...relation, geometry };
    this.main = BlockReader.open(vfs, geometry, path, names, ForkNumber.main, segmentBlocks);
    this.vm = BlockReader.open(vfs, geometry, path, names, ForkNumber.vm, segmentBlocks);
    const hasMap = relation.kind === 'heap' && this.vm.segments.length > 0;
    this.map = hasMap ? new MapReader(geometry, this.vm, checksums) : undefined;
  }

  /** Blocks of a run. */
  get runBlocks(): number {
    return RUN_BYTES >>> this.geometry.shift;
  }

  /**
   * Proves `count` blocks of a segment from its block `first` on, a run at most, and adds what it counts to `proof`;
   * `unproven` is told of each that was not proven, counted from `first`. False when the file is shorter than it was.
   * @throws StorageError when the file cannot be read.
   */
  proveRun(segment: number, first: number, count: number, proof: Proof, unproven: (block: number) => void): boolean {
    const { prover, map } = this;
    const from = this.main.segments[segment];
    if (this.main.read(from, first, count, prover.memory.u8) < count) return false;
    prover.setPremises(this.premises);
    const block = from.firstBlock + first;
    if (map === undefined) prover.mapBits.fill(NO_MAP, 0, count);
    else for (let i = 0; i < count; i++) prover.mapBits[i] = map.bits(block + i);
    const clean = prover.prove(block, count);
    if (clean > 0) {
      proof.clean += clean;
      proof.linePointers += prover.linePointers;
      proof.tuples += prover.tuples;
      proof.mapBits += prover.setMapBits;
    }
    if (clean < count) for (let i = 0; i < count; i++) if (clean === 0 || !prover.isClean(i)) unproven(i);
    return true;
  }

  close(): void {
    this.main.close();
    this.vm.close();
  }
}
