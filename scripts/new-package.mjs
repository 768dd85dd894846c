// Makes a package with the shape of the house: `node scripts/new-package.mjs NAME --floor=N [--depends=base,page]
// [--description=TEXT]`. It writes packages/NAME and enters it in the root tsconfig.json and in the map of floors.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { fail, isMain, root } from './setup.mjs';

const HOUSE = 'tests/house/test/house.ts';

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

function manifestOf({ name, version, description, depends, node }) {
  const conditions = { types: './dist/index.d.ts', default: './dist/index.js' };
  return {
    name: `@blockwright/${name}`,
    version,
    description,
    license: 'Apache-2.0',
    type: 'module',
    sideEffects: false,
    engines: { node },
    files: ['dist', 'src', '!**/*.tsbuildinfo*'],
    exports: {
      '.': { '@blockwright/source': './src/index.ts', ...conditions },
      './package.json': './package.json',
    },
    publishConfig: { access: 'public', exports: { '.': conditions, './package.json': './package.json' } },
    scripts: { build: 'tsc -b', test: 'vitest run' },
    dependencies: Object.fromEntries(depends.map((other) => [`@blockwright/${other}`, 'workspace:*'])),
  };
}

function filesOf(options) {
  const { name, description, depends } = options;
  const testOptions = {
    types: ['node'],
    noEmit: true,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    isolatedDeclarations: false,
    rootDir: '../../..',
    tsBuildInfoFile: '../dist/.tsbuildinfo-test',
  };
  return {
    'package.json': json(manifestOf(options)),
    'tsconfig.json': json({
      extends: '../../tsconfig.base.json',
      compilerOptions: { rootDir: 'src', outDir: 'dist', tsBuildInfoFile: 'dist/.tsbuildinfo' },
      include: ['src/**/*.ts'],
      references: depends.map((other) => ({ path: `../${other}` })),
    }),
    'vitest.config.ts': "export { default } from '../../vitest.shared.ts';\n",
    'src/index.ts': "// Every export of the package, by hand.\nexport { twice } from './twice.ts';\n",
    'src/twice.ts': `// What this file is for, in one to five lines.

/** What it does, with units, ranges, errors thrown, and the PostgreSQL source it corresponds to. */
export function twice(n: number): number {
  return n + n;
}
`,
    'test/tsconfig.json': json({
      extends: '../../../tsconfig.base.json',
      compilerOptions: testOptions,
      include: ['**/*.ts'],
      references: [{ path: '..' }],
    }),
    'test/twice.test.ts': `import fc from 'fast-check';
import { expect, test } from 'vitest';
import { twice } from '../src/index.ts';

test('agrees with a naive model', () => {
  fc.assert(
    fc.property(fc.integer(), (n) => {
      expect(twice(n)).toBe(2 * n);
    }),
  );
});
`,
    'README.md': `# @blockwright/${name}

${description}.

\`\`\`js
import { twice } from '@blockwright/${name}';

console.log(twice(21));
\`\`\`

\`\`\`text
42
\`\`\`

## Rules

1. …

## What it does not promise

## Where it departs from PostgreSQL
`,
  };
}

/** The text of house.ts with the package on its floor, after the last one that stands there. */
function withFloor(house, name, floor) {
  const lines = house.split('\n');
  const entry = /^ {2}'([^']+)': ([\d.]+),/;
  let at = -1;
  lines.forEach((line, i) => {
    const match = entry.exec(line);
    if (match !== null && Number(match[2]) <= floor) at = i;
  });
  if (at === -1) throw new Error(`no map of floors in ${HOUSE}`);
  lines.splice(at + 1, 0, `  'packages/${name}': ${floor},`);
  return lines.join('\n');
}

/** Writes the package below `directory`, the root of the repository. Throws when it exists or its name is no name. */
export function newPackage(directory, { name, floor, depends = [], description }) {
  if (!/^[a-z][a-z0-9-]*$/.test(name))
    throw new Error(`"${name}" is not a package name: lower-case letters and digits`);
  if (!Number.isInteger(floor) || floor < 0 || floor > 9) throw new Error('--floor is a whole number from 0 to 9');
  const folder = join(directory, 'packages', name);
  if (existsSync(folder)) throw new Error(`packages/${name} exists`);
  for (const other of depends)
    if (!existsSync(join(directory, 'packages', other))) throw new Error(`there is no packages/${other} to depend on`);
  const { version, engines } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const files = filesOf({ name, version, node: engines.node, depends, description });
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const house = join(directory, HOUSE);
  writeFileSync(house, withFloor(readFileSync(house, 'utf8'), name, floor));
  const tsconfigFile = join(directory, 'tsconfig.json');
  const tsconfig = JSON.parse(readFileSync(tsconfigFile, 'utf8'));
  const paths = [...tsconfig.references.map(({ path }) => path), `packages/${name}`, `packages/${name}/test`];
  writeFileSync(tsconfigFile, json({ ...tsconfig, references: paths.map((path) => ({ path })) }));
}

if (isMain(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { floor: { type: 'string' }, depends: { type: 'string' }, description: { type: 'string' } },
  });
  const [name] = positionals;
  if (name === undefined || values.floor === undefined)
    fail('usage: node scripts/new-package.mjs NAME --floor=N [--depends=base,page] [--description=TEXT]', undefined, 2);
  try {
    newPackage(root, {
      name,
      floor: Number(values.floor),
      depends: values.depends?.split(',') ?? [],
      description: values.description ?? `The ${name} of Blockwright`,
    });
  } catch (error) {
    fail(error.message);
  }
  process.stdout.write(`packages/${name} is made. Next: npx pnpm install, then npm run format\n`);
}
