// The server's process. It must never outlive its owner, however that ends: a shell stands between, reads from a pipe
// that only the owner holds open, and stops the server when the pipe ends. On Linux the kernel is asked too (pdeathsig),
// should the shell itself be killed.
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { StorageError } from '@blockwright/base';
import { NOBODY } from './postgres-binaries.ts';

const READY_MS = 60_000;
const STOP_MS = 60_000;
const LOG_BYTES = 16384;

/**
 * $1 is the folder to remove at the end if the owner is gone by then; the rest is the server's command line. SIGINT asks
 * PostgreSQL for a fast shutdown, SIGQUIT for one at once, which leaves the work to recovery. The standard error output is given up, so that its end tells the owner of the
 * server's end.
 */
const SUPERVISOR = `
scratch=$1; shift
"$@" </dev/null &
server=$!
exec 2>/dev/null
word=
read -r word
signal=INT
[ "$word" = quit ] && signal=QUIT
kill -$signal $server 2>/dev/null
wait $server
case $word in keep|quit) ;; *) rm -rf "$scratch" ;; esac
`;

/** What runs as who: root hands the server to nobody. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The environment without what would lead PostgreSQL's programs elsewhere. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}

function asServerUser(options: SpawnOptions): SpawnOptions {
  const user = isRoot() ? { uid: NOBODY, gid: NOBODY } : {};
  return { ...options, ...user, env: cleanEnvironment() };
}

/** Runs one of PostgreSQL's programs to its end. @throws StorageError 58030 with what it said. */
export function runProgram(path: string, args: readonly string[], cwd: string): void {
  try {
    execFileSync(path, args, { ...asServerUser({ cwd }), stdio: ['ignore', 'pipe', 'pipe'] } as object);
  } catch (cause) {
    const said = String((cause as { stderr?: Buffer }).stderr ?? cause).trim();
    throw new StorageError('58030', `${path} failed`, { detail: said, cause });
  }
}

/** A server that runs. */
export class PostgresProcess {
  private readonly child: ChildProcess;
  private log = '';
  private ready = false;
  private readonly onReady: Promise<void>;
  private readonly onExit: Promise<void>;

  /** Starts the server; `scratch` is removed when the owner dies. */
  constructor(bin: string, args: readonly string[], scratch: string) {
    const command = [...deathSignal(), join(bin, 'postgres'), ...args];
    this.child =
      process.platform === 'win32'
        ? spawn(command[0], command.slice(1), { ...asServerUser({ cwd: scratch }), stdio: ['pipe', 'ignore', 'pipe'] })
        : spawn('/bin/sh', ['-c', SUPERVISOR, 'blockwright-postgres', scratch, ...command], {
            ...asServerUser({ cwd: scratch, detached: true }),
            stdio: ['pipe', 'ignore', 'pipe'],
          });
    // The owner may end without waiting for this child; the pipe's end is the message.
    this.child.unref();
    for (const pipe of [this.child.stdin, this.child.stderr]) (pipe as Socket | null)?.unref();
    this.child.stdin?.on('error', () => {}); // the supervisor is gone already
    let failed: (error: Error) => void = () => {};
    this.onReady = new Promise((resolve, reject) => {
      failed = reject;
      this.child.stderr?.on('data', (chunk: Buffer) => {
        this.log = (this.log + chunk.toString()).slice(-LOG_BYTES);
        if (!this.ready && this.log.includes('ready to accept connections')) {
          this.ready = true;
          resolve();
        }
      });
    });
    this.onReady.catch(() => {}); // heard by whoever waits
    this.onExit = new Promise((resolve) => {
      this.child.once('error', (error) => {
        failed(error);
        resolve();
      });
      this.child.stderr?.once('close', () => {
        failed(new StorageError('58030', 'PostgreSQL ended while it started', { detail: this.log.trim() }));
        resolve();
      });
    });
  }

  /** The end of the server's log. */
  get logTail(): string {
    return this.log;
  }

  async waitUntilReady(): Promise<void> {
    await within(this.onReady, READY_MS, () => {
      const detail = this.log.trim();
      return new StorageError('58030', `PostgreSQL was not ready within ${READY_MS / 1000} s`, { detail });
    });
  }

  /** Stops the server and waits for its end; `immediate`: at once, as a crash would, without a checkpoint. */
  async stop(how: 'fast' | 'immediate' = 'fast'): Promise<void> {
    if (this.child.pid === undefined) return; // it could not be started
    this.child.ref();
    if (process.platform === 'win32') this.child.kill();
    else this.child.stdin?.end(how === 'fast' ? 'keep\n' : 'quit\n');
    const error = () =>
      new StorageError('58030', `PostgreSQL did not stop within ${STOP_MS / 1000} s`, { detail: this.log.trim() });
    await within(this.onExit, STOP_MS, error);
    if (this.child.exitCode === null && this.child.signalCode === null) {
      await new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
    }
  }
}

async function within(promise: Promise<void>, ms: number, error: () => Error): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(error()), ms);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `setpriv --pdeathsig=INT --`, where there is such a program. */
function deathSignal(): string[] {
  if (process.platform !== 'linux') return [];
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      accessSync(join(folder, 'setpriv'), constants.X_OK);
      return [join(folder, 'setpriv'), '--pdeathsig=INT', '--'];
    } catch {
      // Not in this one.
    }
  }
  return [];
}
