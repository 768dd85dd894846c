export { Fates, type FatesOptions } from './fates.ts';
export { PageProver } from './page-prover.ts';
export { ProofThreads } from './proofs.ts';
export { checkRelation, type IndexCheckOptions, type RelationCheckOptions } from './relation.ts';
export type { FileSummary } from './summary.ts';
export type { ToastLookup } from './tuple-attributes.ts';
export type { MultiXactRange, XidRange } from './xids.ts';
