// Builds the packages and runs the workload in a process of its own, under the flags that make V8 print its code.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CodeBlock, readTrace } from './disassembly.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const WORKLOAD = fileURLToPath(new URL('workload/main.mjs', import.meta.url));
/** Everything that the workload imports follows from these by project references. */
const PROJECTS = ['packages/engine', 'packages/tidstore', 'benchmarks/geometry'];

interface Target {
  readonly id: string;
  readonly name: string;
}

export interface Run {
  readonly targets: readonly Target[];
  /** Names of the functions that geometry exports. */
  readonly functions: readonly string[];
  /** Names of the methods of some classes, private ones included. */
  readonly prototypes: Readonly<Record<string, readonly string[]>>;
  /** Where the workload's packages came from. */
  readonly resolved: string;
  /** Blocks by target id. */
  readonly printed: ReadonlyMap<string, readonly CodeBlock[]>;
}

/** Compiles what has changed since the last build, and nothing when nothing has. */
export function build(): void {
  const compiler = createRequire(import.meta.url).resolve('typescript-7/package.json', { paths: [ROOT] });
  execFileSync(process.execPath, [join(compiler, '../bin/tsc'), '-b', ...PROJECTS], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

export function runWorkload(): Run {
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-trace-'));
  try {
    const file = join(directory, 'code.txt');
    const flags = [
      '--allow-natives-syntax',
      '--no-maglev',
      '--no-concurrent-recompilation',
      '--no-use-osr',
      '--no-flush-bytecode',
      '--print-opt-code',
      '--redirect-code-traces',
      `--redirect-code-traces-to=${file}`,
    ];
    const output = execFileSync(process.execPath, [...flags, WORKLOAD, file], {
      encoding: 'utf8',
      // Without the source condition that the tests run under: what ships is what is looked at.
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    return { ...(JSON.parse(output) as Omit<Run, 'printed'>), printed: readTrace(readFileSync(file, 'utf8')) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
