// The keys that doubles become, and sorting by them, against a plain stable sort.
import { runSync } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DOUBLES_SHIFT, keysOfDoubles, radixSort } from '../src/radix-sort.ts';

/** Finite, and no -0: what a prefix is. */
const wide = fc.double({ noNaN: true, noDefaultInfinity: true }).map((d) => d + 0);
const narrow = fc.integer({ min: -3, max: 3 });
const near = fc.tuple(fc.integer(), fc.constantFrom(0, 0.5, 2 ** 20)).map(([i, d]) => i + d);
const doubles = fc.oneof(
  fc.array(wide, { minLength: 1 }),
  fc.array(narrow, { minLength: 1, maxLength: 300 }),
  fc.array(near, { minLength: 1 }),
  fc.array(fc.oneof(narrow, wide, fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE)), { minLength: 1 }),
);

describe('keysOfDoubles', () => {
  it('keeps the order, and says whether it keeps differences', () => {
    fc.assert(
      fc.property(doubles, (values) => {
        const { keys, isExact, greatest } = keysOfDoubles([Float64Array.from(values)], values.length);
        expect(Math.max(...keys)).toBeLessThanOrEqual(greatest);
        for (let i = 0; i < values.length; i++) {
          for (let j = 0; j < i; j++) {
            if (keys[i] < keys[j]) expect(values[i]).toBeLessThan(values[j]);
            if (keys[i] > keys[j]) expect(values[i]).toBeGreaterThan(values[j]);
            if (isExact && keys[i] === keys[j]) expect(values[i]).toBe(values[j]);
          }
        }
      }),
    );
  });

  it('is exact for whole numbers within 2^32, wherever they lie, and not by rounding', () => {
    const exact = (...values: number[]): boolean => keysOfDoubles([Float64Array.from(values)], values.length).isExact;
    expect(exact(5, -(2 ** 31), 2 ** 31 - 1)).toBe(true);
    expect(exact(2 ** 52 + 1, 2 ** 52)).toBe(true);
    expect(exact(0.5, 1.5)).toBe(true);
    expect(exact(0, 2 ** 32)).toBe(false);
    expect(exact(0, 0.5, 2 ** 33)).toBe(false);
    expect(exact(2 ** 33, 0, Number.MAX_VALUE)).toBe(false);
  });

  it('takes no more of an array than is asked', () => {
    const { keys } = keysOfDoubles([Float64Array.of(3, 1, Number.NaN)], 2);
    expect([...keys]).toEqual([2, 0]);
  });
});

it('keysOfDoubles goes over its chunks', () => {
  const length = 1 << DOUBLES_SHIFT;
  const chunks = [0, 1, 2].map((n) =>
    Float64Array.from({ length }, (_, i) => (n * length + i) * 3 + (n === 2 ? 0.25 : 0)),
  );
  for (const count of [length - 1, length, length + 1, 2 * length, 2 * length + 9]) {
    const { keys, isExact } = keysOfDoubles(chunks, count);
    expect(keys.length).toBe(count);
    expect(isExact).toBe(count <= 2 * length);
    expect(keys.every((key, i) => i === 0 || key > keys[i - 1])).toBe(true);
  }
});

describe('radixSort', () => {
  it('sorts, and keeps equal keys in their order', () => {
    const key = fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: 0xffff_ffff }), fc.constantFrom(0x7ff, 0x800, 0xffff_ffff));
    fc.assert(
      fc.property(fc.array(key, { maxLength: 400 }), (values) => {
        const places = Uint32Array.from(values, (_, i) => i);
        const greatest = values.reduce((most, value) => Math.max(most, value), 0);
        const sorted = runSync(radixSort(Uint32Array.from(values), places, values.length, greatest));
        const expected = values.map((value, i) => ({ value, i })).sort((a, b) => a.value - b.value || a.i - b.i);
        expect([...sorted.keys]).toEqual(expected.map(({ value }) => value));
        expect([...sorted.places]).toEqual(expected.map(({ i }) => i));
      }),
    );
  });

  it('gives way to others while it sorts many', () => {
    const keys = Uint32Array.from({ length: 600_000 }, (_, i) => (i * 7919) % 600_000);
    const steps = radixSort(keys, Uint32Array.from(keys), keys.length, 599_999);
    let count = 0;
    for (let step = steps.next(); ; step = steps.next(), count++) {
      if (step.done !== true) continue;
      expect([...step.value.places.subarray(0, 5)]).toEqual([0, 1, 2, 3, 4]);
      break;
    }
    expect(count).toBeGreaterThanOrEqual(4);
  });
});
