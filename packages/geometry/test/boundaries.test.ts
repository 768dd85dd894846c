// Every multiple of a divisor in the whole range of block numbers, with its neighbours: where a fold that is off by one
// shows. BLOCKWRIGHT_SLOW=1 takes them all; otherwise the free space map's 20 million boundaries are thinned out,
// from a different start each run (printed on failure).
import { describe, expect, it } from 'vitest';
import { fsmPhysical, LAST_BLOCK, MODELS, quotient } from './model.ts';

const SLOW = process.env['BLOCKWRIGHT_SLOW'] === '1';
const FSM_STRIDE = SLOW ? 1 : 23;
const START = SLOW ? 0 : Math.floor(Math.random() * FSM_STRIDE);

describe.each(MODELS)('at $size bytes', ({ g, vm, slots, segmentBlocks, ...model }) => {
  it('visibility map: every boundary', () => {
    let pages = 0;
    for (let first = 0, page = 0; first <= LAST_BLOCK; first += vm, page++) {
      const from = Math.max(first - 2, 0);
      for (let block = from; block <= Math.min(first + 2, LAST_BLOCK); block++) {
        const expected = block < first ? page - 1 : page;
        const byte = quotient(block - expected * vm, 4);
        if (g.vmBlockOf(block) !== expected || g.vmByteOf(block) !== byte || g.firstHeapBlockOf(page) !== first) {
          expect.fail(
            `block ${block}: map page ${g.vmBlockOf(block)}, byte ${g.vmByteOf(block)}, not ${expected}, ${byte}`,
          );
        }
      }
      pages++;
    }
    expect(pages).toBe(quotient(LAST_BLOCK, vm) + 1);
  });

  it(`free space map: every ${FSM_STRIDE === 1 ? '' : `${FSM_STRIDE}rd `}boundary`, () => {
    let seen = 0;
    for (let page = START; page * slots <= LAST_BLOCK; page += FSM_STRIDE) {
      const first = page * slots;
      for (let block = Math.max(first - 2, 0); block <= Math.min(first + 2, LAST_BLOCK); block++) {
        const expected = block < first ? page - 1 : page;
        if (g.fsmLeafOf(block) !== expected || g.fsmSlotOf(block) !== block - expected * slots) {
          expect.fail(
            `start ${START}, block ${block}: leaf ${g.fsmLeafOf(block)}, slot ${g.fsmSlotOf(block)}, not ${expected}`,
          );
        }
      }
      seen++;
    }
    expect(seen).toBe(quotient(quotient(LAST_BLOCK, slots) - START, FSM_STRIDE) + 1);
  });

  it('free space map: every page around the first of each level, and the last pages', () => {
    // Walks the tree depth first, as it is laid down, and counts: no formula at all.
    const { depth } = model;
    const last = fsmPhysical({ g, vm, slots, segmentBlocks, ...model }, 0, quotient(LAST_BLOCK, slots));
    const walked = Math.min(last, SLOW ? Infinity : 2 * (slots * slots + slots + 1) + 5, SLOW ? Infinity : 500_000);
    const next = new Array<number>(depth).fill(0); // next page of each level
    let physical = 0;
    const visit = (level: number): void => {
      const logical = next[level]!++;
      if (
        g.fsmLevelOf(physical) !== level ||
        g.fsmLogicalOf(physical) !== logical ||
        g.fsmPhysicalOf(level, logical) !== physical
      ) {
        expect.fail(
          `physical ${physical} is page ${logical} of level ${level}, not ${g.fsmLogicalOf(physical)} of ${g.fsmLevelOf(physical)}`,
        );
      }
      physical++;
      for (let child = 0; level > 0 && child < slots && physical <= walked; child++) visit(level - 1);
    };
    visit(depth - 1);
    expect(physical).toBe(walked + 1);
  });

  it('segments: every boundary', () => {
    for (let first = 0, segment = 0; first <= LAST_BLOCK; first += segmentBlocks, segment++) {
      const last = Math.min(first + segmentBlocks - 1, LAST_BLOCK);
      if (g.segmentOf(first) !== segment || g.byteInSegment(first) !== 0 || g.segmentOf(last) !== segment) {
        expect.fail(
          `segment ${segment}: block ${first} is in ${g.segmentOf(first)}, block ${last} in ${g.segmentOf(last)}`,
        );
      }
    }
  });
});
