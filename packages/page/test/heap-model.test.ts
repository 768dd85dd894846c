// Random histories of heap pages (add, prune, repair, truncate) against the plain model, at all six sizes.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  CompactionScratch,
  findPageFaults,
  LP_DEAD,
  LP_NORMAL,
  makeLinePointer,
  markLinePointerDead,
  markLinePointerRedirect,
  markLinePointerUnused,
  PAI_ALLOW_FAR_OFFSET,
  PAI_IS_HEAP,
  PAI_OVERWRITE,
  pageAddItem,
  pageRepairFragmentation,
  pageTruncateLinePointerArray,
  setLinePointer,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ModelItem, Subject, UNUSED } from './model.ts';

type Step =
  | { kind: 'add'; length: number; seed: number; repeat: number }
  | { kind: 'overwrite' | 'far'; which: number; length: number; seed: number }
  | { kind: 'unuse' | 'die' | 'redirect'; which: number; share: number }
  | { kind: 'repair' | 'truncate' | 'repair of the tail' };

const steps = (blockSize: number): fc.Arbitrary<Step[]> => {
  const length = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 24, max: blockSize >>> 3 }));
  const seed = fc.nat(255);
  const which = fc.nat(10_000);
  return fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), length, seed, repeat: fc.nat(40) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('overwrite' as const, 'far' as const), which, length, seed }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom('unuse' as const, 'die' as const, 'redirect' as const),
          which,
          share: fc.integer({ min: 1, max: 12 }),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constantFrom('repair' as const, 'truncate' as const, 'repair of the tail' as const),
        }),
      },
    ),
    { maxLength: 40 },
  );
};

const bytesOf = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (seed + i * 7 + (i >>> 5)) & 0xff);

/** Takes item `o` away as pruning does; whoever redirected to it is dead then. */
function remove(s: Subject, o: number, now: ModelItem): void {
  s.items[o - 1] = now;
  if (now.state === 'unused') markLinePointerUnused(s.m, s.base, o);
  else if (now.state === 'dead') markLinePointerDead(s.m, s.base, o);
  s.items.forEach((item, i) => {
    if (item.state === 'redirect' && item.target === o) remove(s, i + 1, { state: 'dead', bytes: null });
  });
}

function apply(s: Subject, step: Step, scratch: CompactionScratch): void {
  switch (step.kind) {
    case 'add':
      for (let i = 0; i <= step.repeat; i++) {
        const bytes = bytesOf(step.length + (i & 7), step.seed + i);
        const got = pageAddItem(s.m, s.base, s.g, bytes, 0, bytes.length, 0, PAI_IS_HEAP);
        expect(got).toBe(s.add(bytes, true));
      }
      return;
    case 'overwrite': {
      const free = [...s.numbers('unused'), s.items.length + 1];
      const at = free[step.which % free.length] as number;
      const bytes = bytesOf(step.length, step.seed);
      const room = at <= s.g.maxHeapTuplesPerPage && s.fits(bytes.length, at > s.items.length);
      const got = pageAddItem(s.m, s.base, s.g, bytes, 0, bytes.length, at, PAI_OVERWRITE | PAI_IS_HEAP);
      expect(got).toBe(room ? at : 0);
      if (!room) return;
      s.items[at - 1] = { state: 'normal', bytes };
      s.upper -= (bytes.length + 7) & ~7;
      return;
    }
    case 'far': {
      const at = s.items.length + 2 + (step.which & 3);
      const bytes = bytesOf(step.length, step.seed);
      const add = (flags: number) => pageAddItem(s.m, s.base, s.g, bytes, 0, bytes.length, at, flags);
      if (at > s.g.maxOffsetNumber) return;
      expect(() => add(PAI_OVERWRITE)).toThrow(RangeError);
      const room = 24 + 4 * at + ((bytes.length + 7) & ~7) <= s.upper;
      expect(add(PAI_OVERWRITE | PAI_ALLOW_FAR_OFFSET)).toBe(room ? at : 0);
      if (!room) return;
      while (s.items.length < at - 1) s.items.push(UNUSED);
      s.items.push({ state: 'normal', bytes });
      s.upper -= (bytes.length + 7) & ~7;
      s.hint = true;
      return;
    }
    case 'unuse':
    case 'die': {
      const live = s.numbers('normal', 'dead', 'redirect');
      live.forEach((o, i) => {
        if ((i + step.which) % step.share !== 0) return;
        if (s.items[o - 1]?.state === 'unused') return;
        remove(s, o, step.kind === 'unuse' ? UNUSED : { state: 'dead', bytes: null });
      });
      return;
    }
    case 'redirect': {
      const normal = s.numbers('normal');
      if (normal.length < 2) return;
      const from = normal[step.which % normal.length] as number;
      const target = normal[(step.which + step.share) % normal.length] as number;
      if (from === target) return;
      remove(s, from, { state: 'redirect', target });
      markLinePointerRedirect(s.m, s.base, from, target);
      return;
    }
    case 'repair':
      pageRepairFragmentation(s.m, s.base, s.g, scratch);
      s.repair();
      return;
    case 'repair of the tail':
      for (let o = (s.items.length >>> 1) + 1; o <= s.items.length; o++) remove(s, o, UNUSED);
      pageRepairFragmentation(s.m, s.base, s.g, scratch);
      s.repair();
      return;
    case 'truncate':
      pageTruncateLinePointerArray(s.m, s.base, s.g);
      s.truncate();
  }
}

describe.each(BLOCK_SIZES)('a heap page of %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  it('is what the model says after every step', () => {
    const scratch = new CompactionScratch(g);
    fc.assert(
      fc.property(steps(size), (history) => {
        const s = new Subject(g);
        for (const step of history) {
          apply(s, step, scratch);
          s.check();
        }
        findPageFaults(s.m, s.base, g, { prefix: 'heap' }, (f) => expect.fail(`${f.code}: ${f.message}`));
      }),
      { numRuns: 60 },
    );
  });

  it('lays items in the order of their line pointers, the first at the end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        (lengths, seed) => {
          const s = new Subject(g);
          // Placed in another order than numbered, as after updates.
          const order = lengths.map((_, i) => i).sort((a, b) => ((a * 7 + seed) % 5) - ((b * 7 + seed) % 5) || a - b);
          s.items = lengths.map(() => UNUSED);
          let upper = s.special;
          for (const i of order) {
            const bytes = bytesOf(lengths[i] as number, seed + i);
            upper -= ((bytes.length + 7) & ~7) + 8 * ((i + seed) % 3);
            if (upper < 24 + 4 * lengths.length) return;
            s.m.u8.set(bytes, s.base + upper);
            setLinePointer(s.m, s.base, i + 1, makeLinePointer(upper, i % 4 === 3 ? LP_DEAD : LP_NORMAL, bytes.length));
            s.items[i] = { state: i % 4 === 3 ? 'dead' : 'normal', bytes };
          }
          s.m.u16[(s.base >>> 1) + 6] = s.lower;
          s.m.u16[(s.base >>> 1) + 7] = upper;
          pageRepairFragmentation(s.m, s.base, g, new CompactionScratch(g));
          s.repair();
          s.check();
          let end = s.special;
          lengths.forEach((length, i) => {
            end -= (length + 7) & ~7;
            expect((s.m.u32[(s.base >>> 2) + 6 + i] as number) & 0x7fff, `item ${i + 1}`).toBe(end);
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('never has more line pointers than a heap page may have', () => {
    const s = new Subject(g);
    const scratch = new CompactionScratch(g);
    const tuple = bytesOf(24, 1);
    for (;;) {
      const o = pageAddItem(s.m, s.base, g, tuple, 0, 24, 0, PAI_IS_HEAP);
      expect(o).toBe(s.add(tuple, true));
      if (o === 0) break;
    }
    for (let o = 1; o <= s.items.length; o++) remove(s, o, { state: 'dead', bytes: null });
    pageRepairFragmentation(s.m, s.base, g, scratch);
    s.repair();
    while (pageAddItem(s.m, s.base, g, tuple, 0, 24, 0, PAI_IS_HEAP) !== 0) s.add(tuple, true);
    expect(s.items.length).toBe(g.maxHeapTuplesPerPage);
    expect(s.add(tuple, true)).toBe(0);
    s.check();
    remove(s, 3, UNUSED);
    s.check(); // the hint is not set: an unused line pointer that nobody knows of
    pageRepairFragmentation(s.m, s.base, g, scratch);
    s.repair();
    expect(pageAddItem(s.m, s.base, g, tuple, 0, 24, 0, PAI_IS_HEAP)).toBe(3);
    expect(s.add(tuple, true)).toBe(3);
    s.check();
  });
});
