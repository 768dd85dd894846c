// Runs the house's tools (formatter, dead-export finder, compiler) as a person would, from node_modules.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './workspace.ts';

export interface ToolResult {
  status: number | null;
  /** Standard output and standard error together. */
  output: string;
}

const TOOLS = {
  biome: 'node_modules/@biomejs/biome/bin/biome',
  changeset: 'node_modules/@changesets/cli/bin.js',
  knip: 'node_modules/knip/bin/knip.js',
  pnpm: 'node_modules/pnpm/bin/pnpm.cjs',
  tsc: 'node_modules/typescript-7/bin/tsc',
  tsc6: 'node_modules/typescript/bin/tsc6',
};

export function tool(name: keyof typeof TOOLS, args: readonly string[], cwd: string = ROOT): ToolResult {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [join(ROOT, TOOLS[name]), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '', NODE_PATH: undefined, FORCE_COLOR: undefined },
    maxBuffer: 1 << 26,
  });
  if (error !== undefined) throw error;
  return { status, output: stdout + stderr };
}
