// `npm run notebook`: runs the benchmarks of docs/notebook.md and writes the notebook from what they printed. Their JSON is
// kept in docs/figures, so that `npm run notebook -- --render` writes the same notebook again without measuring, and
// `npm run notebook -- --only=geometry` measures one anew.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, checkNode, fail, install, isMain, root, say } from './setup.mjs';

const DOCS = join(root, 'docs');

/** What is run, and with which options: about half an hour on two cores. */
const RUNS = [
  { name: 'geometry', args: ['geometry'] },
  { name: 'compactify', args: ['compactify'] },
  { name: 'recovery', args: ['recovery', '--rows=100000', '--updates=100000', '--peers=postgres'] },
  {
    name: 'recovery-transactions',
    args: ['recovery', '--workload=tpcb,narrow', '--rows=100000', '--updates=40000', '--block-sizes=1kB,8kB,32kB'],
  },
  { name: 'narrow', args: ['narrow'] },
  { name: 'commit', args: ['commit'] },
  { name: 'index', args: ['index', '--rows=100000'] },
  { name: 'tpcb', args: ['tpcb', '--seconds=2'] },
  { name: 'checksum', args: ['checksum'] },
  { name: 'tidstore', args: ['tidstore'] },
  {
    name: 'tidstore-10m',
    args: ['tidstore', '--max-block=10000000', '--rounds=9'],
    // The run before may hold that case among others.
    isIn: ({ tidstore }) => tidstore?.results.some(({ ntids }) => ntids === 300_000_000) ?? false,
  },
];

const figuresFile = (name) => join(DOCS, 'figures', `${name}.json`);

/** The command that a reader types, by the name of its JSON. */
export const commands = Object.fromEntries(
  RUNS.map(({ name, args }) => [name, `npx blockwright bench ${args.join(' ')}`]),
);

/** The reports that are kept, by name. */
export function keptReports() {
  return Object.fromEntries(
    RUNS.filter(({ name }) => existsSync(figuresFile(name))).map(({ name }) => [
      name,
      JSON.parse(readFileSync(figuresFile(name), 'utf8')),
    ]),
  );
}

/** A report as JSON with one line a cell, aim and note: what changes between two runs can be seen. */
export function reportText(report) {
  const fields = Object.entries(report).map(([key, value]) => {
    if (!Array.isArray(value) || value.length === 0) return `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    return `${JSON.stringify(key)}: [\n${value.map((one) => JSON.stringify(one)).join(',\n')}\n]`;
  });
  return `{\n${fields.join(',\n')}\n}\n`;
}

/** Runs one benchmark; its progress goes to the terminal. Resolves to its report. */
function measure({ args }) {
  return new Promise((resolve, reject) => {
    const cli = join(root, 'tools', 'cli', 'bin', 'blockwright.js');
    const child = spawn(process.execPath, [cli, 'bench', ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (printed += chunk));
    child.on('error', reject);
    child.on('close', (status, signal) => {
      if (status !== 0) reject(new Error(`it ended with ${signal ?? `status ${status}`}`));
      else resolve(JSON.parse(printed));
    });
  });
}

async function measureAll(runs) {
  const failed = [];
  for (const run of runs) {
    if (run.isIn?.(keptReports())) {
      rmSync(figuresFile(run.name), { force: true });
      say(`${commands[run.name]}: not needed, what it measures was measured already`);
      continue;
    }
    const started = Date.now();
    say(`${commands[run.name]}  (${runs.indexOf(run) + 1} of ${runs.length})`);
    try {
      writeFileSync(figuresFile(run.name), reportText(await measure(run)));
      say(`measured in ${((Date.now() - started) / 1000).toFixed(0)} s`);
    } catch (error) {
      failed.push(run.name);
      say(`not measured: ${error.message}; what was kept of it stays`);
    }
  }
  return failed;
}

/** Writes the notebook, and takes away charts that it no longer has. */
async function write() {
  const { renderNotebook } = await import('./notebook/render.mjs');
  const files = renderNotebook(keptReports(), commands);
  mkdirSync(join(DOCS, 'figures'), { recursive: true });
  for (const name of staleCharts(files)) rmSync(join(DOCS, name));
  for (const [name, text] of files) {
    mkdirSync(dirname(join(DOCS, name)), { recursive: true });
    writeFileSync(join(DOCS, name), text);
  }
  say(`wrote docs/notebook.md, docs/index.html and ${files.size - 2} charts`);
}

function staleCharts(files) {
  const folder = join(DOCS, 'figures');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.svg'))
    .map((name) => `figures/${name}`)
    .filter((name) => !files.has(name));
}

function runsOf(args) {
  let runs = RUNS;
  for (const arg of args) {
    const only = /^--only=(.+)$/.exec(arg)?.[1]?.split(',');
    if (arg === '--render') runs = [];
    else if (only?.every((name) => RUNS.some((run) => run.name === name))) {
      runs = RUNS.filter(({ name }) => only.includes(name));
    } else {
      fail(
        `"${arg}" is not known`,
        `npm run notebook -- [--render | --only=${RUNS.map(({ name }) => name).join(',')}]`,
        2,
      );
    }
  }
  return runs;
}

if (isMain(import.meta.url)) {
  checkNode();
  const runs = runsOf(process.argv.slice(2));
  await install();
  if (runs.length > 0 && (await build('tools/cli')) !== 0) fail('the build failed', 'the lines above say where');
  mkdirSync(join(DOCS, 'figures'), { recursive: true });
  const failed = await measureAll(runs);
  await write();
  if (failed.length > 0) fail(`not measured: ${failed.join(', ')}`, 'the lines above say why');
}
