// The permutation: each item once, whatever the size; and as random as it must be for a shuffle.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Permutation } from '../src/permutation.ts';

const all = (size: number, seed: number): number[] => {
  const permutation = new Permutation(size, seed);
  return Array.from({ length: size }, (_, i) => permutation.at(i));
};

describe('a permutation', () => {
  it('has each item once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }), (size, seed) => {
        expect(all(size, seed).sort((a, b) => a - b)).toEqual(Array.from({ length: size }, (_, i) => i));
      }),
      { examples: [1, 2, 3, 4, 5, 255, 256, 257, 1023, 1024, 1025].map((size) => [size, size]) },
    );
  });

  it('is the same for the same seed, and another one for another', () => {
    expect(all(1000, 5)).toEqual(all(1000, 5));
    expect(all(1000, 5)).not.toEqual(all(1000, 6));
  });

  it('has half of its neighbours ascending, and as few items in place as chance has', () => {
    const items = all(100_000, 7);
    const ascending = items.filter((item, i) => i > 0 && (items[i - 1] as number) < item).length;
    expect(Math.abs(ascending - 50_000)).toBeLessThan(6 * Math.sqrt(100_000 / 12));
    expect(items.filter((item, i) => item === i).length).toBeLessThan(15);
  });

  it('sends every part of its items to every part alike', () => {
    // 16 × 16 cells of about 400: chi-squared with 225 degrees of freedom stays below 340 but once in a million.
    const parts = 16;
    const cells = new Array<number>(parts * parts).fill(0);
    const size = 102_400;
    const permutation = new Permutation(size, 3);
    for (let i = 0; i < size; i++) {
      const cell = Math.floor((i * parts) / size) * parts + Math.floor((permutation.at(i) * parts) / size);
      cells[cell] = (cells[cell] as number) + 1;
    }
    const expected = size / cells.length;
    expect(cells.reduce((sum, found) => sum + (found - expected) ** 2 / expected, 0)).toBeLessThan(340);
  });

  it.each([2 ** 32, 2 ** 32 + 1, 30 * (2 ** 32 - 1), 2 ** 45, 2 ** 52])('reaches all of %i items', (size) => {
    const permutation = new Permutation(size, 11);
    const found = new Set<number>();
    const quarters = new Set<number>();
    for (let i = 0; i < 1000; i++) {
      const item = permutation.at(i % 2 === 0 ? i : size - i);
      expect(Number.isInteger(item) && item >= 0 && item < size).toBe(true);
      found.add(item);
      quarters.add(Math.floor((4 * item) / size));
    }
    expect(found.size).toBe(1000);
    expect(quarters.size).toBe(4);
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 53])('of %d items is refused', (size) => {
    expect(() => new Permutation(size, 1)).toThrow(RangeError);
  });
});
