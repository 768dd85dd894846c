import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RadixTidStore, RadixTree, SortedArrayTidStore } from '../src/index.ts';

test('tree agrees with a map', () => {
  const word = fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 0, max: 0xffff_ffff }));
  const key = fc.tuple(fc.oneof(fc.constant(0), word), word);
  const op = fc.tuple(fc.constantFrom('set', 'set', 'delete'), key, word);
  fc.assert(
    fc.property(fc.array(op, { maxLength: 600, size: 'max' }), (ops) => {
      const tree = new RadixTree();
      const model = new Map<bigint, number>();
      for (const [what, [high, low], value] of ops) {
        const k = (BigInt(high) << 32n) | BigInt(low);
        if (what === 'set') {
          expect(tree.set(high, low, value)).toBe(model.has(k));
          model.set(k, value);
        } else expect(tree.delete(high, low)).toBe(model.delete(k));
        expect(tree.get(high, low)).toBe(model.get(k));
      }
      expect(tree.numKeys).toBe(model.size);
      const got: [bigint, number][] = [];
      const c = tree.cursor();
      while (c.next()) got.push([(BigInt(c.keyHigh) << 32n) | BigInt(c.keyLow), c.value]);
      expect(got).toEqual([...model].sort(([a], [b]) => (a < b ? -1 : 1)));
      for (const [k, v] of model) {
        expect(tree.get(Number(k >> 32n), Number(k & 0xffff_ffffn))).toBe(v);
      }
      for (const k of model.keys()) tree.delete(Number(k >> 32n), Number(k & 0xffff_ffffn));
      expect(tree.stats()).toEqual({ numKeys: 0, height: 0, n4: 0, n16: 0, n32: 0, n128: 0, n256: 0 });
    }),
    { numRuns: 200 },
  );
});

test.each(BLOCK_SIZES)('stores agree at %i', (size) => {
  const g = BlockGeometry.of(size);
  const offset = fc.oneof(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: g.maxOffsetNumber }));
  const block = fc.oneof(fc.integer({ min: 0, max: 700 }), fc.integer({ min: 0, max: 0xffff_fffe }));
  const entry = fc.tuple(block, fc.uniqueArray(offset, { minLength: 1, maxLength: 40, size: 'max' }));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 300, size: 'max' }), (entries) => {
      const stores = [new RadixTidStore(g), new SortedArrayTidStore(g, { maxTids: 20_000 })];
      const model = new Map<number, number[]>();
      for (const [b, o] of entries) {
        const sorted = o.sort((x, y) => x - y);
        model.set(b, sorted);
        for (const s of stores) s.add(b, Uint16Array.from(sorted), sorted.length);
      }
      const expected = [...model].sort(([a], [b]) => a - b);
      for (const s of stores) {
        const got: [number, number[]][] = [];
        const c = s.cursor();
        while (c.next()) got.push([c.block, [...c.offsets.subarray(0, c.count)]]);
        expect(got).toEqual(expected);
        expect(s.blockCount).toBe(model.size);
        expect(s.tidCount).toBe(expected.reduce((n, [, o]) => n + o.length, 0));
        for (const [b, o] of expected.slice(0, 30)) {
          for (let i = 0; i <= g.maxOffsetNumber; i += 1 + (i >>> 6)) expect(s.has(b, i)).toBe(o.includes(i));
        }
      }
    }),
    { numRuns: 30 },
  );
});
