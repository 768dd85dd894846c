// The ways to verify a data directory: pg_checksums and `blockwright check` as commands, from start to exit, and check
// within this process. Each gives what it verified and found.
import { join } from 'node:path';
import { run } from '@blockwright/base';
import { type Variant, WrongAnswerError } from '@blockwright/benchmark';
import { checkPath } from '@blockwright/engine';
import { type PostgresTools, runProgram } from './postgres-tools.ts';

export interface Verified {
  readonly blocks: number;
  /** Whether damage was found. */
  readonly isDamaged: boolean;
}

/** Verifies a directory once. */
export type Verify = (directory: string, signal: AbortSignal) => Promise<Verified>;

export const PG_CHECKSUMS = 'pg_checksums, command';
export const CHECK_COMMAND = 'check, command';

/** The command that runs this process: node, its options, and the program; undefined when this is another program. */
export function ownCommand(argv: readonly string[] = process.argv): readonly string[] | undefined {
  const program = argv[1];
  if (program === undefined || !/(^|[\\/])(blockwright(\.js)?|cli[\\/](src|dist)[\\/]main\.[jt]s)$/.test(program))
    return;
  return [process.execPath, ...process.execArgv, program];
}

export interface Ways {
  readonly tools: PostgresTools | undefined;
  readonly command: readonly string[] | undefined;
  readonly jobs: number;
}

/** Those that there are here, by name, the one to compare with first. */
export function verifications({ tools, command, jobs }: Ways): Map<string, Verify> {
  const ways = new Map<string, Verify>();
  if (tools !== undefined) ways.set(PG_CHECKSUMS, (directory, signal) => pgChecksums(tools, directory, signal));
  if (command !== undefined)
    ways.set(CHECK_COMMAND, (directory, signal) => checkCommand(command, jobs, directory, signal));
  for (const threads of new Set([jobs, 1]))
    ways.set(`check in process, ${threads} ${threads === 1 ? 'thread' : 'threads'}`, (directory, signal) =>
      checkInProcess(threads, directory, signal),
    );
  return ways;
}

async function pgChecksums({ bin }: PostgresTools, directory: string, signal: AbortSignal): Promise<Verified> {
  const { status, output } = await runProgram(join(bin, 'pg_checksums'), ['--check', '-D', directory], { signal });
  const blocks = /^Blocks scanned: +(\d+)$/m.exec(output)?.[1];
  const bad = /^Bad checksums: +(\d+)$/m.exec(output)?.[1];
  if (blocks === undefined || bad === undefined || (status === 0) !== (bad === '0'))
    throw new WrongAnswerError(`pg_checksums ended with status ${status} and said: ${output.trim()}`);
  return { blocks: Number(blocks), isDamaged: bad !== '0' };
}

async function checkCommand(
  [program, ...args]: readonly string[],
  jobs: number,
  directory: string,
  signal: AbortSignal,
): Promise<Verified> {
  const all = [...args, 'check', directory, `--jobs=${jobs}`, '--no-progress'];
  const { status, output } = await runProgram(program as string, all, { signal });
  const blocks = /([\d,]+) pages?,/.exec(output.replaceAll(/\s+/g, ' '))?.[1];
  if (blocks === undefined || (status !== 0 && status !== 3))
    throw new WrongAnswerError(`blockwright check ended with status ${status} and said: ${output.trim()}`);
  return { blocks: Number(blocks.replaceAll(',', '')), isDamaged: status === 3 };
}

async function checkInProcess(jobs: number, directory: string, signal: AbortSignal): Promise<Verified> {
  const { files, errors } = await run(
    checkPath(directory, () => {}, { jobs }),
    { signal },
  );
  return { blocks: files.reduce((sum, { pages }) => sum + pages, 0), isDamaged: errors > 0 };
}

/** A way as a variant to be measured over a clean directory of so many blocks. */
export function variantOf(
  name: string,
  verify: Verify,
  directory: string,
  blocks: number,
  signal: AbortSignal,
): Variant<Verified> {
  return {
    name,
    units: blocks,
    run: () => verify(directory, signal),
    check: (verified) => {
      if (verified.isDamaged || verified.blocks !== blocks)
        throw new WrongAnswerError(disagreement(name, verified, blocks));
    },
  };
}

function disagreement(name: string, { blocks, isDamaged }: Verified, right: number): string {
  return `${name} verified ${blocks} blocks and found ${isDamaged ? 'damage' : 'none damaged'}, where ${right} are all clean`;
}
