// PostgreSQL's own programs on this machine: where they are, and how they are run. They refuse root, so root runs those
// that write as another user.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { StorageError } from '@blockwright/base';

/** The user "nobody": any that the system knows, and that owns nothing else here. */
const NOBODY = 65534;
/** Where Debian's packages put the programs, by major version. */
const DEBIAN = '/usr/lib/postgresql';
const NEEDED = ['initdb', 'postgres', 'pg_checksums'] as const;
const PROGRAM_SUFFIX = process.platform === 'win32' ? '.exe' : '';

export interface PostgresTools {
  /** The folder of the programs: all of one version. */
  readonly bin: string;
  /** What pg_checksums says of itself: `pg_checksums (PostgreSQL) 15.18`. */
  readonly version: string;
}

/** What a program did. */
export interface ProgramResult {
  readonly status: number;
  readonly output: string;
}

/** The programs in `given`, or else in the first of the usual places; undefined when they are nowhere. */
export function findTools(given: string | undefined): PostgresTools | undefined {
  const places = given === undefined ? [...usualPlaces()] : [given];
  const bin = places.find((place) => NEEDED.every((name) => existsSync(join(place, name + PROGRAM_SUFFIX))));
  if (bin === undefined) {
    if (given === undefined) return undefined;
    throw new StorageError('58P01', `"${given}" does not have all of ${NEEDED.join(', ')}`);
  }
  const version = execFileSync(join(bin, 'pg_checksums'), ['--version'], { encoding: 'utf8' }).trim();
  return { bin, version };
}

/** What to say when there are none. */
export const TOOLS_MISSING: string =
  'PostgreSQL is not installed, so that pg_checksums was not run: on Debian and Ubuntu the package is "postgresql", ' +
  'elsewhere give the folder of its programs with --pg-bin';

function* usualPlaces(): Generator<string> {
  yield* (process.env['PATH'] ?? '').split(delimiter).filter((place) => place !== '');
  try {
    yield execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    // there is no pg_config
  }
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).filter((name) => /^\d+$/.test(name)) : [];
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) yield join(DEBIAN, version, 'bin');
}

export interface RunOptions {
  readonly input?: string;
  /** Whether root hands it to a user who is not. */
  readonly asServerUser?: boolean;
  readonly signal?: AbortSignal;
}

/** Runs a program to its end, whatever its exit status is; rejects with the signal's reason when it is stopped. */
export function runProgram(path: string, args: readonly string[], options: RunOptions = {}): Promise<ProgramResult> {
  const { input, asServerUser = false, signal } = options;
  signal?.throwIfAborted();
  const user = asServerUser && process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  const env = { ...Object.fromEntries(environment), LC_ALL: 'C', TZ: 'UTC' };
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(path, args, { ...user, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const stop = (): void => {
      child.kill('SIGTERM');
    };
    signal?.addEventListener('abort', stop, { once: true });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.stdin?.on('error', () => {}); // it ended without reading all
    child.stdin?.end(input ?? '');
    child.on('error', (error) => {
      signal?.removeEventListener('abort', stop);
      reject(error);
    });
    child.on('close', (status) => {
      signal?.removeEventListener('abort', stop);
      if (signal?.aborted === true) reject(signal.reason as Error);
      else resolve({ status: status ?? -1, output });
    });
  });
}

/** Runs one that must succeed. @throws StorageError 58030 with what it said. */
export async function runOrThrow(path: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { status, output } = await runProgram(path, args, options);
  if (status !== 0) throw new StorageError('58030', `${path} failed with status ${status}`, { detail: output.trim() });
  return output;
}

/** The user and group that the server's files must have, when they are not this process's own. */
export function serverUser(): number | undefined {
  return process.getuid?.() === 0 ? NOBODY : undefined;
}
