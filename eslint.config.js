// Which rule holds where. Comments switch nothing off: `noInlineConfig` here, `--no-inline-config` on the command line.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import blockwright from './tools/lint/src/index.js';

const SOURCES = ['packages/*/src/**/*.ts', 'tools/*/src/**/*.ts', 'benchmarks/*/src/**/*.ts'];

/** Floors 0 to 7, where an address is made with shifts and masks only. */
const ADDRESSING = [
  'access',
  'amcheck',
  'base',
  'bufmgr',
  'control',
  'geometry',
  'heap',
  'page',
  'pageinspect',
  'smgr',
];
ADDRESSING.push('vfs', 'visibilitymap');

/** What runs in a browser too. */
const WITHOUT_NODE = ['base', 'geometry', 'page', 'tuple'];

/** Floors 0 to 9 that hold block sizes: all but the one that computes them, and the two that know of no block. */
const WITHOUT_SIZES = [...ADDRESSING.filter((name) => name !== 'geometry'), 'catalog', 'engine', 'tuple'];

/** Laws that tests run over every implementation: published, but no part of the engine. */
const CONTRACT = 'packages/vfs/src/contract.ts';

const sources = (names) => names.map((name) => `packages/${name}/src/**/*.ts`);

export default tseslint.config(
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
  // The decoder of a tuple is generated code; nothing else that ships is.
  { files: SOURCES, ignores: ['packages/tuple/src/**'], rules: { 'no-new-func': 'error' } },
  {
    files: sources(ADDRESSING),
    ignores: ['**/*.cold.ts', 'packages/base/src/words.ts', CONTRACT],
    plugins: { blockwright },
    rules: { 'blockwright/no-division': 'error', 'blockwright/no-block-size-multiplication': 'error' },
  },
  {
    files: sources(WITHOUT_SIZES),
    ignores: ['packages/tuple/src/types/**', CONTRACT],
    plugins: { blockwright },
    rules: { 'blockwright/no-block-size-literal': 'error' },
  },
  { files: sources(WITHOUT_NODE), plugins: { blockwright }, rules: { 'blockwright/no-node-import': 'error' } },
);
