// Directories that real servers wrote, damaged field by field with the checksum made right again: checked with the
// kernel that proves pages clean, and without it, the same is found and counted.

import { PageProver } from '@blockwright/amcheck';
import { type Finding, runSync } from '@blockwright/base';
import { type CheckReport, checkPath } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageMemory, pageSetChecksum } from '@blockwright/page';
import type { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { postgresCopy, writeFile } from './directories.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function check(vfs: MemoryVfs): { report: CheckReport; findings: Finding[] } {
  const findings: Finding[] = [];
  return { report: runSync(checkPath('/pg', (finding) => findings.push(finding), { vfs })), findings };
}

const field = fc.record({
  file: fc.nat(1 << 16),
  block: fc.nat(1 << 16),
  word: fc.oneof(fc.nat(11), fc.integer({ min: 12, max: 40 }), fc.nat(1 << 14)),
  bits: fc.integer({ min: 1, max: 0xffff }),
});

describe.each(BLOCK_SIZES)('a PostgreSQL directory of %i-byte blocks', (size) => {
  it('is checked alike with the kernel and without, and most pages are proven', { timeout: 120_000 }, () => {
    const vfs = postgresCopy(size);
    const prove = vi.spyOn(PageProver.prototype, 'prove');
    const { report } = check(vfs);
    const asked = prove.mock.calls.reduce((sum, [, count]) => sum + count, 0);
    const proven = prove.mock.results.reduce((sum, { value }) => sum + Number(value), 0);
    prove.mockRestore();
    expect(proven / asked).toBeGreaterThan(0.5);
    const main = report.files.filter(({ fork, pages }) => fork === 'main' && pages > 0);
    let found = 0;
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 40 }), (fields) => {
        const before = new Map<string, Uint8Array>();
        for (const { file, block, word, bits } of fields) {
          const { file: name, pages } = main[file % main.length];
          const path = `/pg/${name}`;
          const bytes = vfs.readFile(path);
          if (!before.has(path)) before.set(path, bytes.slice());
          const at = (block % pages) * size;
          const m = pageMemory(bytes.slice(at, at + size).buffer as ArrayBuffer);
          m.u16[word & (size / 2 - 1)] ^= bits;
          pageSetChecksum(m, 0, BlockGeometry.of(size), block % pages);
          writeFile(vfs, path, m.u8, at);
        }
        try {
          const withKernel = check(vfs);
          vi.stubGlobal('WebAssembly', undefined);
          const without = check(vfs);
          expect(withKernel).toEqual(without);
          found += withKernel.findings.length;
        } finally {
          vi.unstubAllGlobals();
          for (const [path, bytes] of before) writeFile(vfs, path, bytes);
        }
      }),
      { numRuns: 6 },
    );
    expect(found).toBeGreaterThan(0);
  });
});

describe('the number of jobs', () => {
  it('is a positive integer, and without a disk of the machine makes no difference', () => {
    const vfs = postgresCopy(8192);
    for (const jobs of [0, -1, 1.5, Number.NaN])
      expect(() => runSync(checkPath('/pg', () => {}, { vfs, jobs }))).toThrow(RangeError);
    expect(runSync(checkPath('/pg', () => {}, { vfs, jobs: 3 }))).toEqual(check(vfs).report);
  });
});
