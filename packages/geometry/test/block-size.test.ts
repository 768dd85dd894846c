import {
  BLOCK_SIZES,
  BlockGeometry,
  DEFAULT_BLOCK_SIZE,
  formatBlockSize,
  isBlockSize,
  parseBlockSize,
} from '@blockwright/geometry';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const SIX = '1kB, 2kB, 4kB, 8kB, 16kB, 32kB (1024, 2048, 4096, 8192, 16384, 32768 bytes)';

describe('block sizes', () => {
  it('are six', () => {
    expect(BLOCK_SIZES).toEqual([10, 11, 12, 13, 14, 15].map((b) => 2 ** b));
    expect(DEFAULT_BLOCK_SIZE).toBe(8192);
    const accepted = Array.from({ length: 70_000 }, (_, n) => n).filter(isBlockSize);
    expect(accepted).toEqual(BLOCK_SIZES);
  });
  it.each(BLOCK_SIZES)('%i is read from digits, kB and k, and printed as it is read', (size) => {
    for (const text of [size, `${size}`, `${size / 1024}kB`, `${size / 1024}k`])
      expect(parseBlockSize(text)).toBe(size);
    expect(formatBlockSize(size)).toBe(`${size / 1024}kB`);
    expect(parseBlockSize(formatBlockSize(size))).toBe(size);
  });
  it.each([
    '',
    ' ',
    '8',
    '8192B',
    '8 kB',
    ' 8kB',
    '8kB ',
    '8KB',
    '8K',
    '8kb',
    '8kiB',
    '08kB',
    '+8kB',
    '8.0kB',
    '8e3',
    '0x2000',
    '8192.0',
    '8192k',
    '64kB',
    '512',
    '3kB',
    '0',
    '-8192',
    '8kB\n',
    '١kB',
    'kB',
    'eight',
    '1MB',
    0,
    -8192,
    512,
    65536,
    3000,
    8192.5,
    Number.NaN,
    Infinity,
  ])('%j is refused, with the six listed', (text) => {
    expect(() => parseBlockSize(text)).toThrow(new RangeError(`"${text}" is not a block size: it must be ${SIX}`));
  });
  it('nothing else is let through', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.integer(), fc.double(), fc.stringMatching(/^\d{1,6}[kKB]{0,2}$/)),
        (text) => {
          const accepted = BLOCK_SIZES.some((size) =>
            ([size, `${size}`, `${size / 1024}kB`, `${size / 1024}k`] as unknown[]).includes(text),
          );
          if (accepted) expect(isBlockSize(parseBlockSize(text))).toBe(true);
          else expect(() => parseBlockSize(text)).toThrow(RangeError);
        },
      ),
      { numRuns: 1000 },
    );
  });
  it.each([undefined, null, {}, [8192], 8192n, true])('a caller without types gets a RangeError for %o', (value) => {
    expect(() => parseBlockSize(value as never)).toThrow(RangeError);
  });
});

describe('BlockGeometry.of', () => {
  it('gives the same frozen instance for a size, however it is written', () => {
    for (const size of BLOCK_SIZES) {
      const g = BlockGeometry.of(size);
      expect([g.size, g.shift, g.mask]).toEqual([size, Math.log2(size), size - 1]);
      expect(BlockGeometry.of(`${size / 1024}kB`)).toBe(g);
      expect(BlockGeometry.of(`${size}`)).toBe(g);
      expect(Object.isFrozen(g)).toBe(true);
      expect(Object.isFrozen(g.constants)).toBe(true);
    }
  });
  it('has one shape for all sizes, so that code that meets two stays monomorphic', () => {
    const shapes = new Set(BLOCK_SIZES.map((size) => Object.keys(BlockGeometry.of(size)).join()));
    expect(shapes.size).toBe(1);
  });
  it('refuses what is no block size', () => {
    expect(() => BlockGeometry.of(3000)).toThrow(RangeError);
    expect(() => BlockGeometry.of('8 kB')).toThrow(SIX);
  });
});
