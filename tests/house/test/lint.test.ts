// The lint finds nothing, holds where house.ts says it holds, and finds what is planted, whatever a comment says.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BlockGeometry } from '@blockwright/geometry';
import { ESLint } from 'eslint';
import { describe, expect, test } from 'vitest';
import {
  FILES_THAT_DIVIDE,
  FILES_THAT_GENERATE_CODE,
  FILES_WITH_NUMBERS_OF_THEIR_OWN,
  FLOORS,
  makesAddresses,
  PACKAGES_THAT_DIVIDE,
  PACKAGES_WITHOUT_NODE,
} from './house.ts';
import { filesBelow, ROOT } from './workspace.ts';

// The rules are plain JavaScript, so that the lint needs no build.
const { BLOCK_SIZE_LITERALS } = (await import(pathToFileURL(join(ROOT, 'tools/lint/src/index.js')).href)) as {
  BLOCK_SIZE_LITERALS: ReadonlyMap<number, string>;
};
const eslint = new ESLint({ cwd: ROOT, allowInlineConfig: false });

const productFiles = (): string[] =>
  ['packages', 'benchmarks', 'tools'].flatMap((top) => filesBelow(top, (file) => /\/src\/.*\.ts$/.test(file)));
const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');
const divides = (file: string): boolean =>
  !makesAddresses(folderOf(file)) || PACKAGES_THAT_DIVIDE.includes(folderOf(file)) || FILES_THAT_DIVIDE.includes(file);

async function rulesFor(file: string): Promise<Set<string>> {
  const config = (await eslint.calculateConfigForFile(join(ROOT, file))) as { rules: Record<string, unknown[]> };
  return new Set(Object.keys(config.rules).filter((rule) => config.rules[rule]?.[0] === 2));
}

/** The rules that a text breaks when it stands in `file`. */
async function brokenRules(file: string, text: string): Promise<string[]> {
  const results = await eslint.lintText(text, { filePath: join(ROOT, file) });
  return results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => ruleId ?? message));
}

test('the lint finds nothing', async () => {
  const results = await eslint.lintFiles(['.']);
  const linted = results.map(({ filePath }) => filePath.slice(ROOT.length + 1).replaceAll('\\', '/'));
  expect(linted).toEqual(expect.arrayContaining(productFiles()));
  const formatter = await eslint.loadFormatter('stylish');
  expect(await formatter.format(results.filter(({ messages }) => messages.length > 0))).toBe('');
});

describe('which rule holds where', () => {
  test('the files that may divide are exactly those that house.ts lists', () => {
    const cold = productFiles().filter((file) => file.endsWith('.cold.ts'));
    const listed = FILES_THAT_DIVIDE.filter((file) => file.endsWith('.cold.ts'));
    expect(cold.filter((file) => makesAddresses(folderOf(file)))).toEqual(listed.sort());
    expect(productFiles()).toEqual(expect.arrayContaining(FILES_THAT_DIVIDE));
  });

  test('every file holds the rules of its floor', async () => {
    for (const file of productFiles()) {
      const rules = await rulesFor(file);
      const folder = folderOf(file);
      const holdsSizes = FLOORS[folder] as number;
      expect([file, rules.has('blockwright/no-division')]).toEqual([file, !divides(file)]);
      expect([file, rules.has('blockwright/no-block-size-multiplication')]).toEqual([file, !divides(file)]);
      expect([file, rules.has('blockwright/no-node-import')]).toEqual([file, PACKAGES_WITHOUT_NODE.includes(folder)]);
      expect([file, rules.has('no-new-func')]).toEqual([file, !FILES_THAT_GENERATE_CODE.test(file)]);
      const computesSizes = ['packages/geometry', 'packages/tpch', 'packages/benchmark'].includes(folder);
      expect([file, rules.has('blockwright/no-block-size-literal')]).toEqual([
        file,
        folder.startsWith('packages/') &&
          holdsSizes <= 9 &&
          !computesSizes &&
          !FILES_WITH_NUMBERS_OF_THEIR_OWN.test(file),
      ]);
    }
  });

  test('every constant of a page, a map or a segment is a suspicious literal, at every size', () => {
    const innocent = [256, 512, 1000, 1024, 4000, 65536, 1048576];
    for (const size of ['1kB', '2kB', '4kB', '8kB', '16kB', '32kB'] as const) {
      const { constants } = BlockGeometry.of(size);
      const { BLCKSZ, RELSEG_SIZE, MAPSIZE, HEAPBLOCKS_PER_PAGE, NodesPerPage, SlotsPerFSMPage } = constants;
      const { MaxHeapTupleSize, MaxHeapTuplesPerPage, MaxIndexTuplesPerPage, MaxTIDsPerBTreePage } = constants;
      const all = [BLCKSZ, RELSEG_SIZE, MAPSIZE, HEAPBLOCKS_PER_PAGE, NodesPerPage, SlotsPerFSMPage];
      all.push(MaxHeapTupleSize, MaxHeapTuplesPerPage, MaxIndexTuplesPerPage, MaxTIDsPerBTreePage);
      for (const value of all.filter((v) => v >= 100 && !innocent.includes(v)))
        expect([value, BLOCK_SIZE_LITERALS.has(value)]).toEqual([value, true]);
    }
  });
});

test('kernels in AssemblyScript are linted as the packages are that they belong to', async () => {
  const divides = 'export function f(a: usize, b: usize): usize {\n  return a / b;\n}\n';
  expect(await brokenRules('packages/page/assembly/canary.ts', divides)).toEqual(['blockwright/no-division']);
  expect(await brokenRules('packages/page/assembly/canary.ts', divides.replace('/', '-'))).toEqual([]);
});

describe('canaries', () => {
  const file = 'packages/heap/src/canary.ts';
  const division = 'blockwright/no-division';
  const multiplication = 'blockwright/no-block-size-multiplication';
  const literal = 'blockwright/no-block-size-literal';

  test.each([
    ['export const f = (a: number, b: number): number => a / b;', division],
    ['export const f = (a: number, b: number): number => a % b;', division],
    ['export const f = (a: number, b: number): number => a ** b;', division],
    ['export let x = 8;\nx /= 2;', division],
    ['export let x = 8;\nx %= 2;', division],
    ['export let x = 8;\nx **= 2;', division],
    [`export const s = (a: number): string => \`\${a % 3}\`;`, division],
    ['export const f = (a: number): number => Math.floor(a);', division],
    ['export const f = (a: number): number => Math.trunc(a);', division],
    ['export const f = (a: number): number => Math.round(a);', division],
    ["export const f = (a: number): number => Math['floor'](a);", division],
    ['export const { floor } = Math;', division],
    ['const M = Math;\nexport const f = (a: number): number => M.floor(a);', division],
    ['export const f = (a: number): number => globalThis.Math.floor(a);', division],
    ['export const f = [1].map(Math.trunc);', division],
    ['export const f = (a: bigint): bigint => a >> 8n;', division],
    ['export const f = (a: number): bigint => BigInt(a);', division],
    ['export const f = (b: number, g: { size: number }): number => b * g.size;', multiplication],
    ['export const f = (b: number, g: { size: number }): number => Math.imul(g.size, b);', multiplication],
    [
      'export const f = (b: number, g: { size: number }): number => {\n  const s = g.size;\n  return b * s;\n};',
      multiplication,
    ],
    [
      'export const f = (b: number, g: { size: number }): number => {\n  const { size: s } = g;\n  return s * b;\n};',
      multiplication,
    ],
    ['export let f = (b: number, BLCKSZ: number): number => {\n  b *= BLCKSZ;\n  return b;\n};', multiplication],
    ['export const f = (b: number, g: { size: number }): number => b * (g.size as number);', multiplication],
    ['export const x = 8192;', literal],
    ['export const x = 8168;', literal],
    ['export const x = 291;', literal],
    ['export const x = 131072;', literal],
    ['export const x = 131_072;', literal],
    ['export const x = [32672, 4069];', literal],
    ["export const f = new Function('return 1');", 'no-new-func'],
    ['export const f = (a: string): unknown => eval(a);', 'no-eval'],
  ])('%s', async (text, rule) => {
    expect(await brokenRules(file, text)).toContain(rule);
    for (const comment of [`/* eslint-disable */`, `/* eslint-disable ${rule} */`, `/* eslint ${rule}: 0 */`])
      expect(await brokenRules(file, `${comment}\n${text}`)).toContain(rule);
    const lines = text.split('\n');
    const hushed = lines.map((line) => `// eslint-disable-next-line\n${line} // eslint-disable-line`).join('\n');
    expect(await brokenRules(file, hushed)).toContain(rule);
  });

  test.each([
    "import fs from 'node:fs';\nexport const x = fs;",
    "import fs from 'fs';\nexport const x = fs;",
    "export type B = import('node:buffer').Blob;",
    "export const fs = await import('node:fs/promises');",
    "export * from 'node:path';",
  ])('without Node.js: %s', async (text) => {
    expect(await brokenRules('packages/page/src/canary.ts', text)).toContain('blockwright/no-node-import');
  });

  test('what is no fault is not found', async () => {
    const text = [
      '// a / b, a % b, 8192',
      "export const s = 'a / b % 8192';",
      'export const r = /8192\\/x/;',
      'export const flag = 0x2000;',
      'export const f = (b: number, g: { shift: number; mask: number }): number => ((b & g.mask) << g.shift) * 4;',
      'export const most = (a: number, b: number): number => Math.max(a, Math.imul(a, b));',
      '',
    ].join('\n');
    expect(await brokenRules(file, text)).toEqual([]);
  });

  test.each(['tools/cli/src/main.ts', 'tests/house/test/tools.ts'])('a promise without await in %s', async (at) => {
    const text = 'const f = async (): Promise<void> => {};\nf();\n';
    expect(await brokenRules(at, text)).toEqual(['@typescript-eslint/no-floating-promises']);
    expect(await brokenRules(at, text.replace('f();', 'await f();'))).toEqual([]);
  });

  test('a file on an exempt list may divide, a test may too', async () => {
    const text = 'export const f = (a: number, b: number): number => a / b;\n';
    for (const exempt of ['packages/tuple/src/x.ts', 'packages/heap/src/x.cold.ts', 'tests/house/test/tools.ts'])
      expect(await brokenRules(exempt, text)).toEqual([]);
  });
});
