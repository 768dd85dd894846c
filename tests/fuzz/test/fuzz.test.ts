// Mutated pages into every reader: rows, findings or an error of ours come out, and nothing else. A run prints its seed;
// BLOCKWRIGHT_SEED runs it again, BLOCKWRIGHT_INPUT one input of it, BLOCKWRIGHT_SLOW=1 a hundred times as many.
import { randomInt } from 'node:crypto';
import { StorageError } from '@blockwright/base';
import { linePointer, lpLength, lpOffset } from '@blockwright/page';
import { tupleNatts } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { readCorpus } from './corpus.ts';
import { fuzzOurDirectories, fuzzPostgresDirectories, fuzzSmallFiles } from './directory.ts';
import { FILE_READERS } from './file-readers.ts';
import { fuzz, type Reader } from './harness.ts';
import { fuzzIndexPages } from './index-pages.ts';
import { fuzzIndexTrees } from './index-trees.ts';
import { insideThePage, PAGE_READERS } from './page-readers.ts';

const seed = Number(process.env.BLOCKWRIGHT_SEED ?? randomInt(2 ** 32));
const isSlow = process.env.BLOCKWRIGHT_SLOW === '1';
const inputs = isSlow ? 1_000_000 : 10_000;
const onlyInput = process.env.BLOCKWRIGHT_INPUT;
const SLOW_MS = 8 * 3_600_000;

console.log(`fuzz: seed ${seed}; again with BLOCKWRIGHT_SEED=${seed}, one input with BLOCKWRIGHT_INPUT=N beside it`);

// Most refusals are errors whose stack nobody looks at, and a deep one costs more than what is tested.
Error.stackTraceLimit = 4;

const corpus = readCorpus();

describe('mutated pages', () => {
  it('end in rows, findings or an error of ours, in every reader', { timeout: isSlow ? SLOW_MS : 300_000 }, () => {
    const [from, count] = onlyInput === undefined ? [0, inputs] : [Number(onlyInput), 1];
    const report = fuzz(corpus, [...PAGE_READERS, ...FILE_READERS], seed, count, from);
    expect(report.faults).toEqual([]);
    const percent = ((100 * report.reached) / report.inputs).toFixed(1);
    console.log(`fuzz: ${report.inputs} inputs, ${report.reached} (${percent} %) reached the innermost decoder`);
    for (const [name, refused] of report.refused) console.log(`fuzz: ${name} refused ${refused}`);
    if (onlyInput === undefined) expect(report.reached).toBeGreaterThanOrEqual(count / 2);
  });

  it('are many kinds of pages, at all six sizes', () => {
    expect(new Set(corpus.map(({ geometry }) => geometry.size)).size).toBe(6);
    expect(corpus.reduce((sum, { pages }) => sum + pages.length, 0)).toBeGreaterThan(150);
    expect(corpus.filter(({ map }) => map !== undefined).length).toBeGreaterThan(12);
  });
});

describe('mutated pages of indexes', () => {
  it('end in records, findings or an error of ours', { timeout: SLOW_MS }, () => {
    const { faults, files } = fuzzIndexPages(seed, isSlow ? 50_000 : 1000);
    expect(faults).toEqual([]);
    expect(files).toBeGreaterThan(12);
  });

  it('are checked to the end as whole trees, with their tables', { timeout: SLOW_MS }, () => {
    const [from, count] = onlyInput === undefined ? [0, isSlow ? 100_000 : 3000] : [Number(onlyInput), 1];
    const { faults, changed, found } = fuzzIndexTrees(seed, count, from);
    expect(faults).toEqual([]);
    console.log(`fuzz: a byte of ${changed} indexes was changed, and found in ${found}`);
    // Not in what nobody reads: hints, which transaction split a page, what follows a posting list.
    if (count > 1) expect(found).toBeGreaterThan(changed / 2);
  });
});

describe('damaged directories', () => {
  const many = isSlow ? 100 : 1;
  it('are refused or read: control files, relation maps, compressed values', { timeout: SLOW_MS }, () => {
    expect(fuzzSmallFiles(seed, 2000 * many)).toEqual([]);
  });

  it("are refused or read: PostgreSQL's, with damaged catalogs", { timeout: SLOW_MS }, () => {
    expect(fuzzPostgresDirectories(seed, 24 * many)).toEqual([]);
  });

  it('are refused or read: ours', { timeout: SLOW_MS }, () => {
    expect(fuzzOurDirectories(seed, 10 * many)).toEqual([]);
  });
});

describe('the harness', () => {
  /** Reads as a careless program would: it believes the tuple header. */
  const careless = (fault: (natts: number) => void): Reader => ({
    name: 'careless',
    read: ({ memory: m, base }) => {
      const tuple = base + lpOffset(linePointer(m, base, 1));
      if (tuple + 24 <= m.u8.length) fault(tupleNatts(m, tuple & ~7));
      return false;
    },
  });

  it('finds a planted fault, and names the seed and input', () => {
    const reader = careless((natts) => {
      if (natts > 64) (undefined as unknown as string).trim();
    });
    const { faults } = fuzz(corpus, [reader], seed, 2000);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults[0]).toMatch(new RegExp(`^careless at input \\d+ of seed ${seed} .*TypeError`, 's'));
  });

  it('finds a reader that looks beside the page', () => {
    const nosy = insideThePage('nosy', ({ memory: m, base, geometry }) => {
      const lp = linePointer(m, base, 1);
      return lpOffset(lp) < geometry.size ? m.u8[base + lpOffset(lp) + lpLength(lp) - 1] : 0;
    });
    const { faults } = fuzz(corpus, [nosy], seed, 2000);
    expect(faults[0]).toMatch(/^nosy at input .* depends on bytes outside the page/);
  });

  it('counts only what reached the decoder, and a refusal is no fault', () => {
    const refusing: Reader = {
      name: 'refusing',
      read: ({ index }) => {
        if (index % 2 === 0) throw new StorageError('XX001', 'no');
        return index % 4 === 1;
      },
    };
    const report = fuzz(corpus, [refusing], seed, 8);
    expect(report).toMatchObject({ inputs: 8, reached: 2, faults: [] });
    expect(report.refused.get('refusing')).toBe(4);
  });

  it('makes the same input from the same seed and number', () => {
    const shown: string[] = [];
    const reader: Reader = {
      name: 'recorder',
      read: ({ memory, base, geometry, changes }) => {
        shown.push(
          `${changes.words.join()} ${Buffer.from(memory.u8.subarray(base, base + geometry.size)).toString('base64')}`,
        );
        return false;
      },
    };
    fuzz(corpus, [reader], seed, 10);
    fuzz(corpus, [reader], seed, 1, 7);
    expect(shown[10]).toBe(shown[7]);
    expect(new Set(shown).size).toBe(10);
  });
});
