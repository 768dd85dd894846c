// One thread's part in proving: it claims unit after unit from the board, and notes what came of each.
import { isStorageError } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import type { PageProver } from './page-prover.ts';
import type { ProofBoard } from './proof-board.ts';
import { type Proof, type ProofRelation, RelationProver } from './relation-prover.ts';

/** Which blocks the units are. */
export interface ProofPlan {
  readonly relations: readonly ProofRelation[];
  /** Blocks of a unit; the last of a segment may have fewer. */
  readonly unitBlocks: number;
  /** By unit: index of its relation, index of its segment, its first block in that, its blocks. */
  readonly units: Uint32Array;
}

export const UNIT_FIELDS_SHIFT = 2;

/** A unit that is being proven. */
interface UnitInHand {
  readonly unit: number;
  readonly relation: number;
  readonly segment: number;
  readonly first: number;
  readonly blocks: number;
  /** Blocks of it that are behind. */
  done: number;
}

export class UnitProver {
  private readonly vfs: Vfs;
  private readonly plan: ProofPlan;
  private readonly board: ProofBoard;
  private readonly prover: PageProver;
  /** Of the unit in hand, as far as it is. */
  private readonly proof: Proof = { clean: 0, linePointers: 0, tuples: 0, mapBits: 0 };
  private inHand: UnitInHand | undefined = undefined;
  private open: { readonly index: number; readonly relation: RelationProver } | undefined = undefined;

  constructor(vfs: Vfs, plan: ProofPlan, board: ProofBoard, prover: PageProver) {
    this.vfs = vfs;
    this.plan = plan;
    this.board = board;
    this.prover = prover;
  }

  /** Proves one more run of blocks, no longer than a check's own; false when no unit is left. */
  step(): boolean {
    const inHand = this.inHand ?? this.claim();
    if (inHand === undefined) return false;
    const { board, proof } = this;
    try {
      if (board.isStopped || !this.prove(inHand)) this.end(inHand.unit, undefined);
      else if (inHand.done === inHand.blocks) this.end(inHand.unit, proof);
    } catch (error) {
      this.end(inHand.unit, undefined);
      if (!isStorageError(error)) throw error;
    }
    return true;
  }

  close(): void {
    this.open?.relation.close();
    this.open = undefined;
  }

  private claim(): UnitInHand | undefined {
    const { proof } = this;
    const unit = this.board.claim();
    if (unit < 0) return undefined;
    const at = unit << UNIT_FIELDS_SHIFT;
    const [relation, segment, first, blocks] = this.plan.units.subarray(at, at + (1 << UNIT_FIELDS_SHIFT));
    proof.clean = proof.linePointers = proof.tuples = proof.mapBits = 0;
    this.inHand = { unit, relation, segment, first, blocks, done: 0 };
    return this.inHand;
  }

  /** Proves the next run of the unit; false when the file is shorter than it was. */
  private prove(inHand: UnitInHand): boolean {
    const { unit, segment, first, blocks, done } = inHand;
    const relation = this.relation(inHand.relation);
    const count = Math.min(relation.runBlocks, blocks - done);
    inHand.done += count;
    return relation.proveRun(segment, first + done, count, this.proof, (block) =>
      this.board.markUnproven(unit, done + block),
    );
  }

  /** Lets go of the unit: with its proof, or as one that failed. */
  private end(unit: number, proof: Proof | undefined): void {
    this.inHand = undefined;
    if (proof === undefined) this.board.fail(unit);
    else this.board.settle(unit, proof);
  }

  private relation(index: number): RelationProver {
    if (this.open?.index !== index) {
      this.close();
      this.open = { index, relation: new RelationProver(this.vfs, this.plan.relations[index], this.prover) };
    }
    return this.open.relation;
  }
}
