// The workspace as it lies on disk: packages with their manifests, references, and the imports of every module.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { FLOORS } from './house.ts';

export const ROOT: string = resolve(fileURLToPath(import.meta.url), '../../../..');

/** What npm reads of a package.json, as far as the house has rules about it. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  description?: string;
  license?: string;
  type?: string;
  sideEffects?: unknown;
  engines?: { node?: string };
  files?: string[];
  exports?: Record<string, unknown>;
  bin?: Record<string, string>;
  scripts?: Record<string, string>;
  publishConfig?: { access?: string; exports?: Record<string, unknown> };
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export interface Module {
  /** Path below the root, with forward slashes. */
  file: string;
  /** Module specifiers of every import, export-from, dynamic import and import type. */
  imports: string[];
}

export interface WorkspacePackage {
  /** Path below the root, such as `packages/page`. */
  folder: string;
  floor: number;
  manifest: Manifest;
  /** Folders that the tsconfig.json of `src` refers to. */
  references: string[];
  /** Folders that test/tsconfig.json refers to. */
  testReferences: string[];
  sources: Module[];
  tests: Module[];
}

export function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

/** Every file below `folder` (a path below the root) for which `wanted` holds, as sorted paths below the root. */
export function filesBelow(folder: string, wanted: (file: string) => boolean, skip = SKIPPED): string[] {
  const found: string[] = [];
  const walk = (directory: string): void => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      const file = relative(ROOT, path).split(sep).join('/');
      if (entry.isDirectory()) {
        if (!skip.has(entry.name)) walk(path);
      } else if (wanted(file)) found.push(file);
    }
  };
  if (existsSync(join(ROOT, folder))) walk(join(ROOT, folder));
  return found.sort();
}

const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.turbo', '.cache', 'coverage']);

/** The folders that pnpm takes for packages. */
export function workspaceFolders(): string[] {
  const yaml = readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8');
  return [...yaml.matchAll(/^\s+- "([^"*]+)\/\*"/gm)]
    .map((match) => match[1] as string)
    .flatMap((top) => readdirSync(join(ROOT, top)).map((name) => `${top}/${name}`))
    .filter((folder) => existsSync(join(ROOT, folder, 'package.json')))
    .sort();
}

/** The module specifiers that occur in a source text. */
export function importsOf(file: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined)
      add(node.moduleSpecifier);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal);
    else if (ts.isCallExpression(node) && isLoader(node.expression) && node.arguments[0] !== undefined)
      add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  const add = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) found.push(node.text);
  };
  const kind = file.endsWith('.ts') ? ts.ScriptKind.TS : ts.ScriptKind.JS;
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, kind));
  return found;
}

/** `import(…)`, `require(…)`, `createRequire(…).resolve(…)` and `import.meta.resolve(…)` all reach another module. */
function isLoader(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true;
  if (ts.isIdentifier(callee)) return callee.text === 'require';
  return (
    ts.isPropertyAccessExpression(callee) && callee.name.text === 'resolve' && ts.isMetaProperty(callee.expression)
  );
}

function modulesBelow(folder: string): Module[] {
  return filesBelow(folder, (file) => /\.(?:ts|mts|js|mjs)$/.test(file)).map((file) => ({
    file,
    imports: importsOf(file, readFileSync(join(ROOT, file), 'utf8')),
  }));
}

function referencesOf(tsconfig: string): string[] {
  if (!existsSync(join(ROOT, tsconfig))) return [];
  const { references = [] } = readJson<{ references?: { path: string }[] }>(join(ROOT, tsconfig));
  return references
    .map(({ path }) =>
      relative(ROOT, resolve(ROOT, dirname(tsconfig), path))
        .split(sep)
        .join('/'),
    )
    .sort();
}

function readPackage(folder: string): WorkspacePackage {
  return {
    folder,
    floor: FLOORS[folder] ?? Number.NaN,
    manifest: readJson<Manifest>(join(ROOT, folder, 'package.json')),
    references: referencesOf(`${folder}/tsconfig.json`),
    testReferences: referencesOf(`${folder}/test/tsconfig.json`),
    sources: [...modulesBelow(`${folder}/src`), ...modulesBelow(`${folder}/bin`)],
    tests: modulesBelow(`${folder}/test`),
  };
}

export function readWorkspace(): WorkspacePackage[] {
  return workspaceFolders().map(readPackage);
}
