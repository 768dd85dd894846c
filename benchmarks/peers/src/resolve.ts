// Finds the packages of the peers at run time. None of them is a dependency: who asks for a peer that is not installed is
// told what to install.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { StorageError } from '@blockwright/base';

/** Where to look: beside this package, then in the project that the process was started in. */
function resolvers(): NodeJS.Require[] {
  return [createRequire(import.meta.url), createRequire(join(process.cwd(), 'package.json'))];
}

/** The file that a package's name stands for, or undefined when it is not installed. */
export function resolvePackage(name: string): string | undefined {
  for (const from of resolvers()) {
    try {
      return from.resolve(name);
    } catch {
      // Not there, or no entry for require(): a package of ES modules alone is found below its folder.
    }
    for (const folder of from.resolve.paths(name) ?? []) {
      try {
        return from.resolve(join(folder, name, 'package.json'));
      } catch {
        // Not there either.
      }
    }
  }
  return undefined;
}

/** Imports a package that may not be installed. @throws StorageError 58P01 that names it. */
export async function importPeer(name: string, peer: string): Promise<Record<string, unknown>> {
  const path = resolvePackage(name);
  if (path === undefined) throw notInstalled(name, peer);
  return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
}

export function notInstalled(name: string, peer: string): StorageError {
  return new StorageError('58P01', `${peer} is not installed: the package ${name} is missing`, {
    hint: `Install it beside Blockwright: npm install --save-dev ${name}`,
  });
}
