import fc from 'fast-check';
import { expect, test } from 'vitest';
import { twice } from '../src/index.ts';

test('agrees with a naive model', () => {
  fc.assert(
    fc.property(fc.integer(), (n) => {
      expect(twice(n)).toBe(2 * n);
    }),
  );
});
