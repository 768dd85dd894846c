// Whether a check is worth more threads than one, and what they are given to do: the large relations of a directory.
import { type PageProver, ProofThreads, type RelationCheckOptions } from '@blockwright/amcheck';
import { isStorageError } from '@blockwright/base';
import { baseName, NodeVfs, type Vfs } from '@blockwright/vfs';
import type { Subject } from './check.ts';

/** Bytes of large relations from which on threads are started: below, to start one takes longer than it helps. */
const LEAST_BYTES = 1 << 26;
/** Bytes from which on a relation is large. */
const LARGE_BYTES = 1 << 23;

/** Starts the threads beside this one, if there is enough for them to do. */
export function startThreads(
  vfs: Vfs,
  { relations, premises: { geometry } }: Subject,
  prover: PageProver,
  jobs: number,
): ProofThreads | undefined {
  if (jobs === 1 || !(vfs instanceof NodeVfs)) return undefined;
  let bytes = 0;
  for (const { path, names } of relations) bytes += largeBytes(vfs, path, names);
  return bytes < LEAST_BYTES ? undefined : new ProofThreads(vfs, geometry, prover, jobs - 1);
}

/** Gives the threads their work. */
export function planProofs(threads: ProofThreads, relations: readonly RelationCheckOptions[]): void {
  for (const relation of relations) {
    const { vfs, path, names } = relation;
    try {
      if (names !== undefined && largeBytes(vfs, path, names) > 0) threads.add({ ...relation, names });
    } catch (error) {
      if (!isStorageError(error)) throw error; // said when the relation is checked
    }
  }
  threads.start();
}

/** Bytes of a large relation's first segment; 0 for a small relation. */
function largeBytes(vfs: Vfs, path: string, names: readonly string[] | undefined): number {
  const name = baseName(path);
  if (names?.includes(name) !== true) return 0;
  let bytes = 0;
  try {
    bytes = vfs.stat(path)?.size ?? 0;
  } catch (error) {
    if (!isStorageError(error)) throw error;
  }
  return bytes < LARGE_BYTES ? 0 : bytes;
}
