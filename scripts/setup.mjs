// What `npm start` and `npm test` do first: check Node.js, install with the pinned pnpm, compile. Plain Node.js without
// a dependency, because it runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const STAMP = join(root, 'node_modules', '.blockwright-install');
const OLDEST_NODE = [20, 19];

/** Prints what went wrong and what to do about it, and ends the process. */
export function fail(message, hint, status = 1) {
  process.stderr.write(`blockwright: error: ${message}\n`);
  if (hint !== undefined) process.stderr.write(`hint: ${hint}\n`);
  process.exit(status);
}

/** Progress is for people; results go to standard output, this does not. */
export function say(message) {
  process.stderr.write(`blockwright: ${message}\n`);
}

export function checkNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  fail(`Node.js ${version} is too old: ${OLDEST_NODE.join('.')} or later is needed`, 'see https://nodejs.org/');
}

/**
 * Runs a command with the terminal handed through and resolves to its exit status. A signal that we receive goes on to
 * the child, and its end is awaited, so that it can clean up.
 */
export function run(command, args, { env = {}, quiet = false } = {}) {
  return new Promise((resolve, reject) => {
    const needsShell = process.platform === 'win32' && command.endsWith('.cmd');
    const child = spawn(needsShell ? [command, ...args].map(quoteForCmd).join(' ') : command, needsShell ? [] : args, {
      cwd: root,
      env: { ...process.env, ...env },
      shell: needsShell,
      stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    const forward = (signal) => child.kill(signal);
    // On a terminal Ctrl-C reaches the whole group by itself: sending it again would interrupt the child's cleaning up.
    const onInterrupt = () => {
      if (!process.stdin.isTTY) forward('SIGINT');
    };
    const onTerminate = () => forward('SIGTERM');
    const onHangup = () => forward('SIGHUP');
    const listeners = [
      ['SIGINT', onInterrupt],
      ['SIGTERM', onTerminate],
      ['SIGHUP', onHangup],
    ];
    for (const [signal, listener] of listeners) process.on(signal, listener);
    const done = () => {
      for (const [signal, listener] of listeners) process.off(signal, listener);
    };
    child.on('error', (error) => {
      done();
      reject(error);
    });
    child.on('close', (code, signal) => {
      done();
      const status = code ?? 128 + (constants.signals[signal] ?? 0);
      if (quiet && status !== 0) process.stderr.write(output);
      resolve(status);
    });
  });
}

function quoteForCmd(word) {
  return /^[\w@.:/\\=-]+$/.test(word) ? word : `"${word.replaceAll('"', '""')}"`;
}

function pinnedPnpm() {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return /^pnpm@([^+]+)/.exec(packageManager)[1];
}

/** The folders that pnpm-workspace.yaml names, each of which has a package.json. */
export function workspaceFolders() {
  const globs = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8').matchAll(/^\s+- "([^"*]+)\/\*"/gm);
  return [...globs]
    .flatMap(([, top]) =>
      existsSync(join(root, top)) ? readdirSync(join(root, top)).map((name) => `${top}/${name}`) : [],
    )
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .sort();
}

/** A digest of all that decides what an install puts into node_modules. */
function installFingerprint() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${pinnedPnpm()}\n`);
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc', 'package.json'];
  for (const folder of workspaceFolders()) files.push(`${folder}/package.json`);
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function isInstalled(fingerprint) {
  if (!existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== fingerprint) return false;
  return workspaceFolders().every((folder) => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    );
    const needed = Object.keys({ ...dependencies, ...devDependencies });
    return needed.every((name) => existsSync(join(root, folder, 'node_modules', name, 'package.json')));
  });
}

/** The pinned pnpm: the one that an earlier install left in node_modules, else fetched through npx. */
function pnpmCommand() {
  const local = join(root, 'node_modules', 'pnpm');
  if (existsSync(join(local, 'package.json'))) {
    const { version } = JSON.parse(readFileSync(join(local, 'package.json'), 'utf8'));
    if (version === pinnedPnpm()) return [process.execPath, [join(local, 'bin', 'pnpm.cjs')]];
  }
  return [process.platform === 'win32' ? 'npx.cmd' : 'npx', ['--yes', `pnpm@${pinnedPnpm()}`]];
}

/** Installs every package and tool, unless node_modules is already in step with the lock file. */
export async function install() {
  if (isInstalled(installFingerprint())) return say('dependencies are up to date');
  say('installing dependencies (once)');
  const started = Date.now();
  const [command, args] = pnpmCommand();
  const flags = ['install', '--frozen-lockfile', '--prefer-offline'];
  // Without a terminal pnpm would ask before it replaces a node_modules that it did not make; CI tells it not to.
  const options = { env: { CI: 'true', npm_config_update_notifier: 'false' }, quiet: !process.stderr.isTTY };
  let status;
  try {
    status = await run(command, [...args, ...flags], options);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    fail('npx was not found', 'npx comes with npm: install Node.js together with npm, see https://nodejs.org/');
  }
  if (status !== 0)
    fail(
      `the install failed with status ${status}`,
      'the lines above say why; a first install needs the network',
      status,
    );
  writeFileSync(STAMP, installFingerprint());
  say(`installed in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** Compiles the named projects and what they refer to; everything, tests included, when none is named. */
export async function build(...projects) {
  const started = Date.now();
  const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc');
  const status = await run(process.execPath, [compiler, '-b', ...projects.map((project) => join(root, project))]);
  if (status === 0) say(`built in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return status;
}

/** Whether the module at `url` is the one that node was started with. */
export function isMain(url) {
  return process.argv[1] !== undefined && relative(fileURLToPath(url), process.argv[1]) === '';
}
