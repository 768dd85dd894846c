// The house on one page: which package stands on which floor, and who is exempt from what. The tests beside this file
// hold the sources against it; eslint.config.js holds the same exemptions as the lint applies them.

/** The floor of every workspace folder. A package imports only packages on lower floors. */
export const FLOORS: Readonly<Record<string, number>> = {
  'packages/base': 0,
  'packages/geometry': 0.5, // imports base; both count as floor 0
  'packages/page': 1,
  'packages/tuple': 1,
  'packages/vfs': 1,
  'packages/tpch': 1,
  'packages/benchmark': 1,
  'packages/tidstore': 1,
  'packages/smgr': 2,
  'packages/control': 2,
  'packages/wal': 2,
  'packages/bufmgr': 3,
  'packages/access': 4,
  'packages/freespacemap': 5,
  'packages/visibilitymap': 5,
  'packages/transam': 5,
  'packages/heap': 6,
  'packages/nbtree': 6,
  'packages/pageinspect': 7,
  'packages/amcheck': 8,
  'packages/catalog': 8,
  'packages/recovery': 8,
  'packages/engine': 9,
  'benchmarks/peers': 9,
  'benchmarks/index': 10,
  'benchmarks/tpcb': 10,
  'benchmarks/narrow': 10,
  'benchmarks/workloads': 9.5, // imports the engine; the benchmarks import it
  'benchmarks/commit': 10,
  'benchmarks/recovery': 10,
  'benchmarks/tidstore': 10,
  'benchmarks/checksum': 10,
  'benchmarks/compactify': 10,
  'benchmarks/geometry': 10,
  'benchmarks/scan': 10,
  'tools/cli': 11,
  'tools/lint': 11,
  'tests/fuzz': 11,
  'tests/golden': 11,
  'tests/house': 11,
  'tests/machine-code': 11,
  'tests/oracle': 11,
  'tests/simulation': 11,
};

/** Whether a package makes addresses, with shifts and masks only: floors 0 to 7, and amcheck above them. */
export function makesAddresses(folder: string): boolean {
  return (FLOORS[folder] as number) < 8 || folder === 'packages/amcheck';
}

/** Packages of those floors that may divide: their numbers are values, rows and times, not addresses. */
export const PACKAGES_THAT_DIVIDE = ['packages/benchmark', 'packages/tpch', 'packages/tuple'];

/** Files of the other packages of those floors that may divide, each because it runs rarely or for people. */
export const FILES_THAT_DIVIDE = [
  'packages/amcheck/src/file-bytes.cold.ts', // files above 4 GiB, once a file or once a run of blocks
  'packages/base/src/words.ts', // halving a safe integer into two words, by a multiplication
  'packages/geometry/src/constants.cold.ts', // six times in a process's life
  'packages/transam/src/multixact-members.cold.ts', // members lie in groups of 20 bytes: once a multixact
  'packages/vfs/src/contract.ts', // laws that tests run over every implementation
];

/** Packages that import nothing of Node.js and type-check without its types. */
export const PACKAGES_WITHOUT_NODE = [
  'packages/base',
  'packages/geometry',
  'packages/page',
  'packages/tidstore',
  'packages/tuple',
];

/** Product code that may make code: the decoder of a tuple, and the benchmarks' variants of a loop, each of its own code. */
export const FILES_THAT_GENERATE_CODE =
  /^packages\/tuple\/src\/|^benchmarks\/geometry\/src\/variants\.ts$|^benchmarks\/scan\/src\/index-variants\.ts$/;

/**
 * Where a number that looks like a constant of a block size is something else: digits of a numeric, the history that pglz
 * keeps, lengths in a law.
 */
export const FILES_WITH_NUMBERS_OF_THEIR_OWN =
  /^packages\/(?:tuple\/src\/(?:types\/|pglz[^/]*\.ts$)|vfs\/src\/contract\.ts$)/;
