// A thread that helps a check: it is sent the plan and the board, proves units until none is left, and ends.
import { parentPort } from 'node:worker_threads';
import { NodeVfs } from '@blockwright/vfs';
import { PageProver } from './page-prover.ts';
import { ProofBoard } from './proof-board.ts';
import { type ProofPlan, UNIT_FIELDS_SHIFT, UnitProver } from './prove-units.ts';

/** What the thread is sent. */
export interface ProofOrder {
  readonly plan: ProofPlan;
  readonly board: SharedArrayBuffer;
}

const prover = new PageProver();

parentPort?.once('message', ({ plan, board }: ProofOrder) => {
  const units = new UnitProver(
    new NodeVfs(),
    plan,
    new ProofBoard(plan.units.length >>> UNIT_FIELDS_SHIFT, plan.unitBlocks, board),
    prover,
  );
  try {
    while (units.step());
  } finally {
    units.close();
  }
});
