// Has V8 optimise one function at a time and print its machine code into a file, between lines that say which it is.
// Needs --allow-natives-syntax, --no-concurrent-recompilation and --no-use-osr.
import { appendFileSync } from 'node:fs';

const prepare = new Function('f', '%PrepareFunctionForOptimization(f)');
const deoptimize = new Function('f', '%DeoptimizeFunction(f)');
const optimizeNext = new Function('f', '%OptimizeFunctionOnNextCall(f)');
const neverOptimize = new Function('f', '%NeverOptimizeFunction(f)');

/** How often a target is called before it is optimised, beside the workload. */
const TRAINING_CALLS = 50;
const RETRAINING_CALLS = 12;

/**
 * @typedef {object} Target
 * @property {string} id what reports call it, such as `BlockGeometry.vmBlockOf`
 * @property {Function} fn the function whose machine code is wanted
 * @property {(round: number) => unknown} call calls it, directly, at least once
 * @property {readonly Function[]} [through] what `call` calls it through, if it does not directly
 */

/** @param {readonly Target[]} targets @param {string} file */
export function traceTargets(targets, file) {
  for (const { fn, call, through = [] } of targets) {
    prepare(fn);
    // Else they might inline the target, and no longer call it.
    for (const caller of [call, ...through]) {
      deoptimize(caller);
      neverOptimize(caller);
    }
  }
  for (const { call } of targets) for (let round = 0; round < TRAINING_CALLS; round++) call(round);
  for (const { id, fn, call } of targets) {
    appendFileSync(file, `\n### begin ${id} ${fn.name}\n`);
    // Once more just before: a garbage collection may have dropped what V8 learned of objects that are gone.
    for (let round = 0; round < RETRAINING_CALLS; round++) call(round);
    deoptimize(fn); // V8 may have optimised it during the workload; what it learned stays
    optimizeNext(fn);
    call(TRAINING_CALLS);
    appendFileSync(file, `\n### end ${id}\n`);
  }
}
