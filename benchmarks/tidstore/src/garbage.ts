// The garbage collector on request: the stores of an earlier round hold gigabytes that would else be given back, or not,
// while a later round is timed.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** Collects all that is garbage, and waits until its array buffers are given back too. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
  collect(); // ends the sweeping of array buffers that the first one began on another thread
}
