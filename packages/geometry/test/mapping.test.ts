// Every mapping against plain division, and back again, at every block size.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fsmPhysical, LAST_BLOCK, MODELS, numbersNear, quotient, UINT32_MAX } from './model.ts';

const RUNS = { numRuns: 2000 };

describe.each(MODELS)('at $size bytes', (model) => {
  const { size, g, segmentBlocks, vm, slots, depth, clog } = model;
  const blocks = numbersNear(LAST_BLOCK, [segmentBlocks, vm, slots, slots * slots]);

  it('a block is in a segment, at a byte', () => {
    fc.assert(
      fc.property(blocks, (block) => {
        expect(g.segmentOf(block)).toBe(quotient(block, segmentBlocks));
        expect(g.byteInSegment(block)).toBe((block % segmentBlocks) * size);
        expect(g.blockOfSegment(g.segmentOf(block), g.byteInSegment(block))).toBe(block);
      }),
      RUNS,
    );
  });

  it('a byte inside a block belongs to that block', () => {
    fc.assert(
      fc.property(blocks, fc.integer({ min: 0, max: size - 1 }), (block, inside) => {
        expect(g.blockOfSegment(g.segmentOf(block), g.byteInSegment(block) + inside)).toBe(block);
      }),
    );
  });

  it('a heap block has two bits in the visibility map', () => {
    fc.assert(
      fc.property(blocks, (block) => {
        expect(g.vmBlockOf(block)).toBe(quotient(block, vm));
        expect(g.vmByteOf(block)).toBe(quotient(block % vm, 4));
        expect(g.vmShiftOf(block)).toBe((block % 4) * 2);
        expect(g.heapBlockOfVm(g.vmBlockOf(block), g.vmByteOf(block), g.vmShiftOf(block))).toBe(block);
        expect(g.vmByteOf(block)).toBeLessThan(size - 24);
      }),
      RUNS,
    );
  });

  it('a map page has a first heap block', () => {
    fc.assert(
      fc.property(numbersNear(quotient(LAST_BLOCK, vm), [1]), (page) => {
        expect(g.firstHeapBlockOf(page)).toBe(page * vm);
        expect(g.vmBlockOf(page * vm)).toBe(page);
      }),
      RUNS,
    );
  });

  it('a heap block has a slot in the free space map', () => {
    fc.assert(
      fc.property(blocks, (block) => {
        expect(g.fsmLeafOf(block)).toBe(quotient(block, slots));
        expect(g.fsmSlotOf(block)).toBe(block % slots);
        expect(g.heapBlockOfFsm(g.fsmLeafOf(block), g.fsmSlotOf(block))).toBe(block);
      }),
      RUNS,
    );
  });

  it('a page of the free space map has a physical block', () => {
    const address = fc
      .integer({ min: 0, max: depth - 1 })
      .chain((level) =>
        fc.tuple(fc.constant(level), numbersNear(quotient(LAST_BLOCK, slots ** (level + 1)), [1, slots])),
      );
    fc.assert(
      fc.property(address, ([level, logical]) => {
        const physical = fsmPhysical(model, level, logical);
        expect(g.fsmPhysicalOf(level, logical)).toBe(physical);
        expect([g.fsmLevelOf(physical), g.fsmLogicalOf(physical)]).toEqual([level, logical]);
      }),
      RUNS,
    );
  });

  it('every physical block of the free space map is one page of its tree', () => {
    const last = fsmPhysical(model, 0, quotient(LAST_BLOCK, slots));
    fc.assert(
      fc.property(numbersNear(last, [slots + 1, slots * (slots + 1) + 1]), (physical) => {
        const level = g.fsmLevelOf(physical);
        const logical = g.fsmLogicalOf(physical);
        expect(level).toBeGreaterThanOrEqual(0);
        expect(level).toBeLessThan(depth);
        expect(g.fsmPhysicalOf(level, logical)).toBe(physical);
      }),
      RUNS,
    );
  });

  it('the free space map begins with one page a level, and its root reaches every heap block', () => {
    for (let level = 0; level < depth; level++) {
      expect(g.fsmPhysicalOf(level, 0)).toBe(depth - 1 - level);
      expect([g.fsmLevelOf(depth - 1 - level), g.fsmLogicalOf(depth - 1 - level)]).toEqual([level, 0]);
    }
    expect(slots ** depth).toBeGreaterThanOrEqual(LAST_BLOCK + 1);
    expect(g.fsmTreeDepth).toBe(depth);
  });

  it('a page of a level stands in a slot of the page above', () => {
    fc.assert(
      fc.property(numbersNear(quotient(LAST_BLOCK, slots), [slots]), (leaf) => {
        // pages are laid down depth first: between a page and its child k are the k subtrees before it
        const above = g.fsmLeafOf(leaf);
        expect(g.fsmPhysicalOf(0, leaf) - g.fsmPhysicalOf(1, above)).toBe(g.fsmSlotOf(leaf) + 1);
      }),
    );
  });

  it('a transaction has two bits in the commit log', () => {
    fc.assert(
      fc.property(numbersNear(UINT32_MAX, [clog]), (xid) => {
        expect(g.clogPageOf(xid)).toBe(quotient(xid, clog));
        expect(g.clogByteOf(xid)).toBe(quotient(xid % clog, 4));
        expect(g.clogShiftOf(xid)).toBe((xid % 4) * 2);
        expect(g.xidOfClog(g.clogPageOf(xid), g.clogByteOf(xid), g.clogShiftOf(xid))).toBe(xid);
      }),
      RUNS,
    );
  });
});

describe('block numbers at the ends of the signed and unsigned range', () => {
  // What PostgreSQL's macros give, worked out by hand.
  it.each([
    [1024, 2 ** 31 - 1, 2047, 1073740800, 536870, 911, 4427801],
    [8192, 2 ** 31 - 1, 16383, 1073733632, 65728, 4607, 527766],
    [8192, 2 ** 31, 16384, 0, 65728, 4608, 527766],
    [8192, 2 ** 32 - 2, 32767, 1073725440, 131457, 1047, 1055533],
    [32768, 2 ** 32 - 2, 131071, 1073676288, 32792, 575, 262576],
  ] as const)('%i bytes, block %i', (size, block, segment, byte, vmBlock, vmByte, leaf) => {
    const { g } = MODELS.find((model) => model.size === size)!;
    expect({
      segment: g.segmentOf(block),
      byte: g.byteInSegment(block),
      vmBlock: g.vmBlockOf(block),
      vmByte: g.vmByteOf(block),
      leaf: g.fsmLeafOf(block),
    }).toEqual({ segment, byte, vmBlock, vmByte, leaf });
  });
});
