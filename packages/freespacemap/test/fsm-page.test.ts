// One page of the map against an array of slots.
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { type PageMemory, pageInit, pageMemory } from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largestValue, rebuildPage, searchSlot, setSlotValue, slotValue } from '../src/index.ts';

/** A page in the middle of a buffer whose other bytes must not change. */
function emptyPage(size: BlockSize): { m: PageMemory; base: number; g: BlockGeometry; guardsIntact: () => boolean } {
  const m = pageMemory(new ArrayBuffer(3 * size));
  m.u8.fill(0xa5);
  const g = BlockGeometry.of(size);
  pageInit(m, size, g);
  return {
    m,
    base: size,
    g,
    guardsIntact: () => m.u8.every((byte, i) => (i >= size && i < 2 * size) || byte === 0xa5),
  };
}

/** The first slot from `start` on, around the end, whose value is `least` or more. */
function naiveSearch(slots: Uint8Array, start: number, least: number): number {
  for (let i = 0; i < slots.length; i++) {
    const slot = (start + i) % slots.length;
    if (slots[slot] >= least) return slot;
  }
  return -1;
}

describe.each(BLOCK_SIZES)('a map page of %i bytes', (size) => {
  const slotCount = BlockGeometry.of(size).slotsPerFsmPage;
  // The edges of the slots, where the tree's right side is cut off, come up as often as all others together.
  const slot = fc.oneof(fc.nat(slotCount - 1), fc.integer({ min: slotCount - 4, max: slotCount - 1 }), fc.constant(0));

  it('holds what was set, knows its maximum, and finds the next slot with room', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            slot,
            value: fc.integer({ min: 0, max: 255 }),
            least: fc.integer({ min: 1, max: 255 }),
            advance: fc.boolean(),
          }),
          { maxLength: 60 },
        ),
        (steps) => {
          const { m, base, g, guardsIntact } = emptyPage(size);
          const model = new Uint8Array(slotCount);
          let next = 0;
          for (const { slot, value, least, advance } of steps) {
            setSlotValue(m, base, g, slot, value);
            model[slot] = value;
            expect(largestValue(m, base)).toBe(Math.max(...model));
            const expected = naiveSearch(model, next < slotCount ? next : 0, least);
            expect(searchSlot(m, base, g, least, advance)).toBe(expected);
            if (expected >= 0) next = advance ? expected + 1 : expected;
          }
          expect(model.findIndex((value, i) => slotValue(m, base, g, i) !== value)).toBe(-1);
          expect(guardsIntact()).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('is never led astray by a torn tree: what is found has room, and a slot with room is found after the repair', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(size - 25), fc.nat(255)), { maxLength: 40 }),
        fc.integer({ min: 1, max: 255 }),
        (bytes, least) => {
          const { m, base, g, guardsIntact } = emptyPage(size);
          for (const [at, byte] of bytes) m.u8[base + 24 + at] = byte;
          const found = searchSlot(m, base, g, least, true);
          if (found >= 0) expect(slotValue(m, base, g, found)).toBeGreaterThanOrEqual(least);
          rebuildPage(m, base, g);
          const any = Array.from({ length: slotCount }, (_, i) => slotValue(m, base, g, i)).some(
            (value) => value >= least,
          );
          expect(searchSlot(m, base, g, least, false) >= 0).toBe(any);
          expect(guardsIntact()).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });
});
