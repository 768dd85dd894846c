// `npm start`: installs, builds, and runs the main job. At every block size it initialises a data directory, loads
// TPC-H lineitem, checks the answers of Q1 and Q6 digit for digit, and prints the scan benchmark as one table.
// What follows `--` goes to `blockwright bench scan`, for example `npm start -- --scale=0.1`.
import { join } from 'node:path';
import { build, checkNode, fail, install, isMain, root, run } from './setup.mjs';

const SCALES_WITH_ANSWERS = [0.001, 0.01, 0.1, 1];
const MAIN_JOB = ['bench', 'scan'];
const DEFAULTS = [
  ['--block-sizes', '1kB,2kB,4kB,8kB,16kB,32kB'],
  ['--scale', '0.01'],
  ['--queries', 'count,judged,q6,q1,keys,keysum'],
];

/** The value given to `--name` in either spelling, `--name=x` or `--name x`; undefined when it is not there. */
function optionValue(args, name) {
  let value;
  args.forEach((arg, i) => {
    if (arg.startsWith(`${name}=`)) value = arg.slice(name.length + 1);
    else if (arg === name) value = args[i + 1] ?? '';
  });
  return value;
}

/** The arguments of the command, from those of `npm start`. Ends the process at a scale that has no known answer. */
export function mainJobArguments(args) {
  const scale = optionValue(args, '--scale');
  if (scale !== undefined && !SCALES_WITH_ANSWERS.includes(scale.trim() === '' ? Number.NaN : Number(scale)))
    fail(
      `no known answer at scale "${scale}"`,
      `npm start compares every digit, which it can at scale ${SCALES_WITH_ANSWERS.join(', ')}; for another, run: npx blockwright bench scan --scale=…`,
      2,
    );
  const defaults = DEFAULTS.filter(([name]) => optionValue(args, name) === undefined);
  return [...MAIN_JOB, ...defaults.map(([name, value]) => `${name}=${value}`), ...args];
}

if (isMain(import.meta.url)) {
  checkNode();
  const args = mainJobArguments(process.argv.slice(2));
  await install();
  if ((await build('tools/cli')) !== 0) fail('the build failed', 'the lines above say where');
  process.exitCode = await run(process.execPath, [join(root, 'tools', 'cli', 'bin', 'blockwright.js'), ...args]);
}
