// The process: its streams, its signals, its exit status. bin/blockwright.js calls main(); run from source, this file
// is the program itself.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Io } from './io.ts';
import { ExitStatus } from './output/errors.ts';
import { runCli } from './program.ts';

const IMPATIENCE_MS = 500;

/** Runs the process's command line and sets its exit status. */
export async function main(): Promise<void> {
  const interrupt = new AbortController();
  let abortedAt = Number.POSITIVE_INFINITY;
  const onSignal = (): void => {
    // A second Ctrl-C does not wait for a block boundary. At once it is not a second one: npm passes on the signal
    // that the terminal has sent to the whole group already.
    if (performance.now() - abortedAt > IMPATIENCE_MS) process.exit(ExitStatus.interrupted);
    if (interrupt.signal.aborted) return;
    abortedAt = performance.now();
    interrupt.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', onSignal);
  const io: Io = { stdout: process.stdout, stderr: process.stderr, env: process.env, signal: interrupt.signal };
  try {
    process.exitCode = await runCli(process.argv.slice(2), io);
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    process.off('SIGHUP', onSignal);
  }
}

if (process.argv[1] !== undefined && isThisFile(process.argv[1])) await main();

function isThisFile(path: string): boolean {
  try {
    return realpathSync(path) === realpathSync(fileURLToPath(import.meta.url));
  } catch {
    return false;
  }
}
