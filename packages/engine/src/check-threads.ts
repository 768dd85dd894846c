// Whether a check is worth more threads than one, and what they are given to do: the large relations of a directory.
import { type PageProver, ProofThreads, type RelationCheckOptions } from '@blockwright/amcheck';
import { isStorageError } from '@blockwright/base';
import { segmentOfName } from '@blockwright/smgr';
import { baseName, NodeVfs, parentPath, type Vfs } from '@blockwright/vfs';
import type { Subject } from './check.ts';

/** Bytes of large relations for each thread that is started: with fewer, to start it takes longer than it helps. */
const LEAST_BYTES = 1 << 26;
/** However many are asked for: beyond, they are in each other's way. */
const MOST_HELPERS = 255;
/** Bytes from which on a relation is large. */
const LARGE_BYTES = 1 << 23;

/** Starts as many threads beside this one as there is enough to do for, at most `jobs` with this one. */
export function startThreads(
  vfs: Vfs,
  { relations, premises: { geometry } }: Subject,
  prover: PageProver,
  jobs: number,
): ProofThreads | undefined {
  if (jobs === 1 || !(vfs instanceof NodeVfs)) return undefined;
  let bytes = 0;
  for (const { path, names } of relations) bytes += largeBytes(vfs, path, names);
  const helpers = Math.min(jobs - 1, Math.floor(bytes / LEAST_BYTES), MOST_HELPERS);
  return helpers === 0 ? undefined : new ProofThreads(vfs, geometry, prover, helpers);
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

/** Bytes of a large relation's main fork, all segments together; 0 for a small relation, and one without its first. */
function largeBytes(vfs: Vfs, path: string, names: readonly string[] | undefined): number {
  const first = baseName(path);
  if (names?.includes(first) !== true) return 0;
  let bytes = 0;
  for (const name of names) if (segmentOfName(first, name) >= 0) bytes += bytesOf(vfs, `${parentPath(path)}/${name}`);
  return bytes < LARGE_BYTES ? 0 : bytes;
}

function bytesOf(vfs: Vfs, path: string): number {
  try {
    return vfs.stat(path)?.size ?? 0;
  } catch (error) {
    if (!isStorageError(error)) throw error;
    return 0; // said when the relation is checked
  }
}
