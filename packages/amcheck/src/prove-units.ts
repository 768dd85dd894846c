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

export class UnitProver {
  private readonly vfs: Vfs;
  private readonly plan: ProofPlan;
  private readonly board: ProofBoard;
  private readonly prover: PageProver;
  private readonly proof: Proof = { clean: 0, linePointers: 0, tuples: 0, mapBits: 0 };
  private open: { readonly index: number; readonly relation: RelationProver } | undefined = undefined;

  constructor(vfs: Vfs, plan: ProofPlan, board: ProofBoard, prover: PageProver) {
    this.vfs = vfs;
    this.plan = plan;
    this.board = board;
    this.prover = prover;
  }

  /** Proves one more unit; false when none is left. */
  step(): boolean {
    const unit = this.board.claim();
    if (unit < 0) return false;
    try {
      this.prove(unit);
    } catch (error) {
      this.board.fail(unit);
      if (!isStorageError(error)) throw error;
    }
    return true;
  }

  close(): void {
    this.open?.relation.close();
    this.open = undefined;
  }

  private prove(unit: number): void {
    const { board, proof } = this;
    const at = unit << UNIT_FIELDS_SHIFT;
    const [index, segment, first, count] = this.plan.units.subarray(at, at + (1 << UNIT_FIELDS_SHIFT));
    const isDone = this.relation(index).prove(
      segment,
      first,
      count,
      proof,
      (block) => board.markUnproven(unit, block),
      () => board.isStopped,
    );
    if (isDone) board.settle(unit, proof);
    else board.fail(unit);
  }

  private relation(index: number): RelationProver {
    if (this.open?.index !== index) {
      this.close();
      this.open = { index, relation: new RelationProver(this.vfs, this.plan.relations[index], this.prover) };
    }
    return this.open.relation;
  }
}
