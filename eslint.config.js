// Which rule holds where. Comments switch nothing off: `noInlineConfig` here, `--no-inline-config` on the command line.
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import blockwright from './tools/lint/src/index.js';

const SOURCES = ['packages/*/src/**/*.ts', 'tools/*/src/**/*.ts', 'benchmarks/*/src/**/*.ts'];
/** AssemblyScript is TypeScript to the linter: its kernels make addresses too. */
const PACKAGES = ['packages/*/src/**/*.ts', 'packages/*/assembly/**/*.ts'];
const sources = (...names) => names.map((name) => `packages/${name}/src/**/*.ts`);

// Floors 0 to 7 and amcheck make addresses with shifts and masks only; above them, and in packages whose numbers are no addresses
// (values of rows, TPC-H's rows, times), division is arithmetic as usual.
const MAY_DIVIDE = [
  ...sources('tuple', 'tpch', 'benchmark', 'catalog', 'engine', 'recovery'),
  '**/*.cold.ts',
  'packages/base/src/words.ts',
];

/** The package that computes what follows from a block size, and what knows of no block and has numbers of its own. */
const MAY_SPELL_SIZES = [
  ...sources('geometry', 'tpch', 'benchmark'),
  'packages/tuple/src/types/**',
  'packages/tuple/src/pglz*.ts',
];

/** What runs in a browser too. */
const WITHOUT_NODE = sources('base', 'geometry', 'page', 'tidstore', 'tuple');

/** Laws that tests run over every implementation: published, but no part of the engine. */
const CONTRACT = 'packages/vfs/src/contract.ts';

export default defineConfig(
  { ignores: ['**/dist/**', '**/node_modules/**', 'fixtures/**', '**/.turbo/**', '**/coverage/**'] },
  { linterOptions: { noInlineConfig: true } },
  js.configs.recommended,
  tseslint.configs.recommended,
  {
    rules: {
      eqeqeq: 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-control-regex': 'off', // what comes from a file is escaped before it is printed
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly', URL: 'readonly' } },
  },
  {
    files: ['**/test/**', CONTRACT],
    rules: { '@typescript-eslint/no-explicit-any': 'off', 'preserve-caught-error': 'off' },
  },
  // A promise that nobody awaits is an error that nobody sees, in a test a check that cannot fail. This needs types.
  {
    files: [
      'packages/{base,engine}/src/**/*.ts',
      'benchmarks/*/src/**/*.ts',
      'tools/cli/src/**/*.ts',
      '**/test/**/*.ts',
    ],
    languageOptions: {
      parserOptions: {
        project: 'tsconfig.lint.json',
        tsconfigRootDir: import.meta.dirname,
        disallowAutomaticSingleRunInference: true, // else, where CI is set, a text given to the linter is not what it lints
      },
    },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
    },
  },
  // The decoder of a tuple is generated code, and so are the loops that two benchmarks compare with; nothing else that
  // ships is.
  {
    files: SOURCES,
    ignores: ['packages/tuple/src/**', 'benchmarks/geometry/src/variants.ts', 'benchmarks/scan/src/index-variants.ts'],
    rules: { 'no-new-func': 'error' },
  },
  {
    files: PACKAGES,
    ignores: [...MAY_DIVIDE, CONTRACT],
    plugins: { blockwright },
    rules: { 'blockwright/no-division': 'error', 'blockwright/no-block-size-multiplication': 'error' },
  },
  {
    files: PACKAGES,
    ignores: [...MAY_SPELL_SIZES, CONTRACT],
    plugins: { blockwright },
    rules: { 'blockwright/no-block-size-literal': 'error' },
  },
  { files: WITHOUT_NODE, plugins: { blockwright }, rules: { 'blockwright/no-node-import': 'error' } },
);
