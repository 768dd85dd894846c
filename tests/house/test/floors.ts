// The rules of the floors, as a function from packages to sentences that say what is wrong.
import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { PACKAGES_WITHOUT_NODE } from './house.ts';
import type { Module, WorkspacePackage } from './workspace.ts';

const BUILTIN = new Set(builtinModules);

/** The package that a specifier names: `@scope/name` or `name`, without a path inside it. */
function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
}

function isNode(specifier: string): boolean {
  return specifier.startsWith('node:') || BUILTIN.has(packageOf(specifier));
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join() === [...b].sort().join();
}

/** What breaks the rules of the floors, one sentence each; nothing when the house stands. */
export function floorFaults(packages: readonly WorkspacePackage[], rootDependencies: readonly string[]): string[] {
  const byName = new Map(packages.map((p) => [p.manifest.name, p]));
  const faults: string[] = [];
  for (const p of packages) {
    if (Number.isNaN(p.floor)) faults.push(`${p.folder} stands on no floor: add it to tests/house/test/house.ts`);
    const dependencies = Object.keys({ ...p.manifest.dependencies, ...p.manifest.peerDependencies });
    const devDependencies = Object.keys(p.manifest.devDependencies ?? {});
    const inWorkspace = (names: string[]): string[] =>
      names.flatMap((name) => (byName.has(name) ? [(byName.get(name) as WorkspacePackage).folder] : []));
    for (const name of [...dependencies, ...devDependencies]) {
      const other = byName.get(name);
      if (other !== undefined && !(other.floor < p.floor))
        faults.push(`${p.folder} depends on ${other.folder}, which is not on a lower floor`);
    }
    if (p.sources.length > 0 && p.references.length + inWorkspace(dependencies).length > 0) {
      if (!sameSet(p.references, inWorkspace(dependencies)))
        faults.push(
          `${p.folder}: tsconfig.json refers to [${p.references.join(', ')}], dependencies are [${inWorkspace(dependencies).join(', ')}]`,
        );
    }
    const testMayRefer = inWorkspace([...dependencies, ...devDependencies]);
    const others = p.testReferences.filter((folder) => folder !== p.folder);
    for (const folder of others)
      if (!testMayRefer.includes(folder))
        faults.push(`${p.folder}: test/tsconfig.json refers to ${folder}, which is no dependency`);
    for (const folder of inWorkspace(devDependencies))
      if (!others.includes(folder)) faults.push(`${p.folder}: test/tsconfig.json does not refer to ${folder}`);
    for (const module of p.sources) faults.push(...importFaults(p, module, dependencies, byName, false));
    for (const module of p.tests)
      faults.push(...importFaults(p, module, [...dependencies, ...devDependencies, ...rootDependencies], byName, true));
  }
  return faults;
}

function importFaults(
  p: WorkspacePackage,
  module: Module,
  allowed: readonly string[],
  byName: ReadonlyMap<string, WorkspacePackage>,
  isTest: boolean,
): string[] {
  const faults: string[] = [];
  for (const specifier of module.imports) {
    const where = `${module.file} imports ${specifier}`;
    if (specifier.startsWith('.')) {
      const target = posix.join(posix.dirname(module.file), specifier);
      if (!target.startsWith(`${p.folder}/`)) faults.push(`${where}, a file of another package`);
    } else if (isNode(specifier)) {
      if (!specifier.startsWith('node:')) faults.push(`${where} without "node:"`);
      if (!isTest && PACKAGES_WITHOUT_NODE.includes(p.folder)) faults.push(`${where}, but runs without Node.js`);
    } else {
      const name = packageOf(specifier);
      const other = byName.get(name);
      if (other !== undefined && other !== p && !(other.floor < p.floor))
        faults.push(`${where}, which is not on a lower floor`);
      if (!allowed.includes(name) && !(isTest && name === p.manifest.name)) faults.push(`${where}, no dependency`);
    }
  }
  return faults;
}
