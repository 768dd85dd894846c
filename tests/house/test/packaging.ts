// Packs the packages as they would be published and lays them out so that each sees exactly what it declares: one folder
// a package, its own files in node_modules/<name>, beside them links to its dependencies and to nothing else.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { tool } from './tools.ts';
import { type Manifest, ROOT, readJson, type WorkspacePackage } from './workspace.ts';

export interface Packed {
  name: string;
  tarball: string;
  /** The unpacked package. */
  directory: string;
  manifest: Manifest;
  /** Where dependencies from the registry are found. */
  folder: string;
}

/** Runs a program to its end; throws with its output unless it succeeds. */
export function runProgram(command: string, args: readonly string[], cwd: string): string {
  const shell = process.platform === 'win32' && command === 'npm';
  const env = { ...process.env, NODE_OPTIONS: '', NODE_PATH: undefined, NO_COLOR: '1', FORCE_COLOR: undefined };
  const result = spawnSync(command, args, { cwd, encoding: 'utf8', shell, env, maxBuffer: 1 << 26 });
  if (result.error !== undefined) throw result.error;
  if (result.status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${result.status}\n${result.stdout}${result.stderr}`);
  return result.stdout;
}

/** Packs `packages` into `target`, as `pnpm publish` would. */
export function packAll(packages: readonly WorkspacePackage[], target: string): Packed[] {
  const filters = packages.flatMap((p) => ['--filter', p.manifest.name]);
  const { status, output } = tool('pnpm', [...filters, '-r', 'pack', '--pack-destination', target]);
  if (status !== 0) throw new Error(output);
  return packages.map((p) => {
    const { name, version } = p.manifest;
    const tarball = join(target, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
    return unpack(name, tarball, join(target, 'store'), p.folder);
  });
}

/** Unpacks a tarball into a folder of its own below `store`. */
export function unpack(name: string, tarball: string, store: string, folder: string): Packed {
  const directory = join(store, name.replace('/', '+'), 'node_modules', name);
  mkdirSync(directory, { recursive: true });
  runProgram('tar', ['-xzf', tarball, '-C', directory, '--strip-components=1'], directory);
  return { name, tarball, directory, manifest: readJson<Manifest>(join(directory, 'package.json')), folder };
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, 'junction');
}

/** Links each package to the dependencies that it declares: ours from the same packing, others as pnpm installed them. */
export function linkDependencies(all: readonly Packed[]): void {
  const byName = new Map(all.map((p) => [p.name, p.directory]));
  for (const p of all)
    for (const name of Object.keys({ ...p.manifest.dependencies })) {
      const installed = join(ROOT, p.folder, 'node_modules', name);
      const target = byName.get(name) ?? (existsSync(installed) ? realpathSync(installed) : undefined);
      if (target === undefined) throw new Error(`${p.name} depends on ${name}, which is neither packed nor installed`);
      link(target, join(nodeModulesOf(p), name));
    }
}

/** The node_modules that holds the package and, once linked, its dependencies. */
function nodeModulesOf(p: Packed): string {
  return p.directory.slice(0, -p.name.length - 1);
}

/** An empty project in which `packages` alone are installed, with the types of Node.js if asked for. */
export function emptyProject(directory: string, packages: readonly Packed[], withNodeTypes: boolean): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }\n');
  for (const p of packages) link(p.directory, join(directory, 'node_modules', p.name));
  if (withNodeTypes) {
    const types = realpathSync(join(ROOT, 'node_modules', '@types', 'node'));
    link(types, join(directory, 'node_modules', '@types', 'node'));
  }
  return directory;
}

/** A package and all that it needs, directly or not, among `all`. */
export function closureOf(p: Packed, all: readonly Packed[]): Packed[] {
  const found = new Set([p]);
  for (const q of found) for (const other of all) if (other.name in (q.manifest.dependencies ?? {})) found.add(other);
  return [...found];
}

/** The paths by which a package can be imported: its name, and its name with each subpath. */
export function entryPoints({ name, manifest }: Packed): string[] {
  return Object.keys(manifest.exports ?? {})
    .filter((path) => path !== './package.json')
    .map((path) => name + path.slice(1));
}

const REQUIRED_FILES = ['package.json', 'README.md', 'LICENSE'];

/** What is wrong with a tarball, one sentence each. */
export async function tarballFaults({ tarball, directory, manifest }: Packed): Promise<string[]> {
  const faults = REQUIRED_FILES.filter((file) => !existsSync(join(directory, file))).map((file) => `no ${file}`);
  if (existsSync(join(directory, 'LICENSE')) && readText(directory, 'LICENSE') !== readText(ROOT, 'LICENSE'))
    faults.push('LICENSE is not that of the project');
  const text = readText(directory, 'package.json');
  if (text.includes('workspace:')) faults.push('package.json still says workspace:');
  if (text.includes('@blockwright/source')) faults.push('package.json still has the source condition');
  const data = readFileSync(tarball);
  const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const { messages } = await publint({ level: 'suggestion', strict: true, pack: { tarball: buffer } });
  faults.push(...messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`));
  if (manifest.exports?.['.'] !== undefined) {
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(buffer)));
    if (!analysis.types) faults.push('attw: no types');
    else
      for (const problem of analysis.problems)
        if (!('resolutionKind' in problem) || !/^node10$|^node16-cjs$/.test(problem.resolutionKind))
          faults.push(`attw: ${problem.kind} ${'entrypoint' in problem ? problem.entrypoint : ''}`);
  }
  return faults;
}

function readText(directory: string, file: string): string {
  return readFileSync(join(directory, file), 'utf8');
}

/** Type errors of a project that imports `entries` and nothing else; nothing when it checks. */
export function typeFaults(
  project: string,
  entries: readonly string[],
  types: readonly string[],
  compiler: 'tsc' | 'tsc6' = 'tsc',
  resolution: 'nodenext' | 'bundler' = 'nodenext',
): string {
  const lines = entries.map(
    (entry, i) => `import * as m${i} from '${entry}';\nexport type T${i} = keyof typeof m${i};`,
  );
  writeFileSync(join(project, 'consumer.ts'), `${lines.join('\n')}\n`);
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023'],
    module: resolution === 'bundler' ? 'esnext' : 'nodenext',
    moduleResolution: resolution,
    types,
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const { status, output } = tool(compiler, ['-p', '.'], project);
  return status === 0 ? '' : output || `${compiler} ended with ${status}`;
}

export interface Example {
  code: string;
  /** What it prints, as the text shows it; undefined when no ```text block follows. */
  shown: string | undefined;
}

/** The ```js blocks of a README, each with the ```text block that follows it. */
export function examplesOf(readme: string): Example[] {
  const blocks = [...readme.matchAll(/^```(\w*)[^\n]*\n([\s\S]*?)^```$/gm)].map(([, language, body]) => ({
    language,
    body,
  }));
  return blocks.flatMap(({ language, body }, i) => {
    if (language !== 'js') return [];
    const next = blocks[i + 1];
    return [{ code: body as string, shown: next?.language === 'text' ? next.body : undefined }];
  });
}

/** Runs an example as a plain JavaScript module of `project` and returns what it printed. */
export function runExample(project: string, { code }: Example): string {
  writeFileSync(join(project, 'example.mjs'), code);
  return runProgram(process.execPath, ['example.mjs'], project);
}
