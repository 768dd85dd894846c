// Surroundings of a run that a test can look into: streams that collect, a signal to abort, an environment.
import { Writable } from 'node:stream';
import { type ExitStatus, type Io, type OutputStream, runCli } from '../src/index.ts';

class Collected extends Writable {
  text = '';
  isTTY: boolean | undefined;
  columns: number | undefined;
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.text += chunk.toString();
    done();
  }
  // What cli-progress asks of a terminal.
  cursorTo(): void {}
  clearLine(): void {}
  moveCursor(): void {}
}

export interface Surroundings {
  readonly env?: Record<string, string>;
  /** The terminal's width; not given, the streams are pipes. */
  readonly terminal?: number;
  readonly signal?: AbortSignal;
  readonly stdout?: OutputStream;
}

export interface Ran {
  readonly status: ExitStatus;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function cli(args: readonly string[], around: Surroundings = {}): Promise<Ran> {
  const stdout = new Collected();
  const stderr = new Collected();
  if (around.terminal !== undefined) {
    stdout.isTTY = stderr.isTTY = true;
    stdout.columns = stderr.columns = around.terminal;
  }
  const io: Io = {
    stdout: around.stdout ?? stdout,
    stderr,
    env: around.env ?? {},
    signal: around.signal ?? new AbortController().signal,
  };
  const status = await runCli(args, io);
  return { status, stdout: stdout.text, stderr: stderr.text };
}
