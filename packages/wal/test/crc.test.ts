// The CRC, three ways: zlib's, by tables, and bit by bit.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crc32, crc32ByTables, crc32ByZlib } from '../src/crc.ts';
import { noise, slowCrc } from './support.ts';

const bytes = noise(20_000, 42);
const view = new DataView(bytes.buffer);

describe('CRC-32', () => {
  test('is the one that everybody knows', () => {
    const check = new TextEncoder().encode('123456789');
    expect(slowCrc(check)).toBe(0xcbf43926);
    expect(crc32ByTables(new DataView(check.buffer), 0, 9, 0) >>> 0).toBe(0xcbf43926);
    expect(crc32ByZlib(check, 0, 9, 0) >>> 0).toBe(0xcbf43926);
    expect(crc32(check, new DataView(check.buffer), 0, 9, 0) >>> 0).toBe(0xcbf43926);
  });
  test('is the same all ways, at every alignment, for every short length', () => {
    for (let at = 0; at < 9; at++) {
      for (let length = 0; length < 80; length++) {
        const wanted = slowCrc(bytes.subarray(at, at + length), 7) | 0;
        expect(crc32ByTables(view, at, length, 7)).toBe(wanted);
        expect(crc32ByZlib(bytes, at, length, 7)).toBe(wanted);
      }
    }
  });
  test('is the same all ways, whatever its start', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(9000), fc.integer(), (at, length, start) => {
        const wanted = slowCrc(bytes.subarray(at, at + length), start) | 0;
        expect(crc32ByTables(view, at, length, start)).toBe(wanted);
        expect(crc32ByZlib(bytes, at, length, start)).toBe(wanted);
        expect(crc32(bytes, view, at, length, start)).toBe(wanted);
      }),
      { numRuns: 200 },
    );
  });
  test('goes on from one span to the next', () => {
    fc.assert(
      fc.property(fc.nat(3000), fc.nat(3000), fc.integer(), (a, b, start) => {
        expect(crc32(bytes, view, a, b, crc32(bytes, view, 0, a, start))).toBe(crc32(bytes, view, 0, a + b, start));
      }),
    );
  });
  test('differs for every start: a salt cannot be lost', () => {
    const seen = new Set<number>();
    for (let start = 0; start < 5000; start++) seen.add(crc32(bytes, view, 0, 60, start));
    expect(seen.size).toBe(5000);
  });
});
