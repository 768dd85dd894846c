// Random histories of index pages (insert in the middle, delete, multi-delete, overwrite) against the plain model.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  CompactionScratch,
  findPageFaults,
  markItemDead,
  pageAddItem,
  pageIndexMultiDelete,
  pageIndexTupleDelete,
  pageIndexTupleDeleteNoCompact,
  pageIndexTupleOverwrite,
  restoreTempPage,
  tempPageCopy,
  tempPageCopySpecial,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aligned, Subject, UNUSED } from './model.ts';

type Step =
  | { kind: 'insert'; which: number; length: number; seed: number; repeat: number }
  | { kind: 'overwrite'; which: number; length: number; seed: number }
  | { kind: 'delete' | 'delete and keep numbers' | 'mark dead'; which: number }
  | { kind: 'multi-delete'; which: number; share: number; most: number }
  | { kind: 'there and back' };

const steps = (blockSize: number): fc.Arbitrary<Step[]> => {
  const length = fc.oneof(fc.integer({ min: 1, max: 48 }), fc.integer({ min: 8, max: blockSize >>> 3 }));
  const which = fc.nat(10_000);
  const seed = fc.nat(255);
  return fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('insert' as const), which, length, seed, repeat: fc.nat(30) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('overwrite' as const), which, length, seed }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constantFrom('delete' as const, 'delete and keep numbers' as const, 'mark dead' as const),
          which,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('multi-delete' as const),
          which,
          share: fc.integer({ min: 1, max: 6 }),
          most: fc.oneof(fc.constant(10_000), fc.nat(4)),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('there and back' as const) }) },
    ),
    { maxLength: 40 },
  );
};

const bytesOf = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (seed + i * 5 + (i >>> 4)) & 0xff);

function apply(s: Subject, step: Step, scratch: CompactionScratch): void {
  const stored = s.numbers('normal', 'dead');
  const pick = (which: number): number => stored[which % stored.length] as number;
  const sizeOf = (o: number): number => aligned((s.items[o - 1] as { bytes: Uint8Array }).bytes.length);
  switch (step.kind) {
    case 'insert':
      for (let i = 0; i <= step.repeat; i++) {
        const bytes = bytesOf(step.length + (i & 3), step.seed + i);
        const at = ((step.which + i * 3) % (s.items.length + 1)) + 1;
        expect(pageAddItem(s.m, s.base, s.g, bytes, 0, bytes.length, at)).toBe(s.insertAt(at, bytes));
      }
      return;
    case 'overwrite': {
      if (stored.length === 0) return;
      const o = pick(step.which);
      const source = bytesOf(step.length + 3, step.seed);
      const growth = aligned(step.length) - sizeOf(o);
      const room = growth <= s.upper - s.lower;
      expect(pageIndexTupleOverwrite(s.m, s.base, s.g, o, source, 3, step.length)).toBe(room);
      if (!room) return;
      (s.items[o - 1] as { bytes: Uint8Array }).bytes = source.slice(3);
      s.upper -= growth;
      return;
    }
    case 'delete':
    case 'delete and keep numbers': {
      if (stored.length === 0) return;
      const o = pick(step.which);
      s.upper += sizeOf(o);
      if (step.kind === 'delete') {
        pageIndexTupleDelete(s.m, s.base, s.g, o);
        s.items.splice(o - 1, 1);
      } else {
        pageIndexTupleDeleteNoCompact(s.m, s.base, s.g, o);
        if (o === s.items.length) s.items.pop();
        else s.items[o - 1] = UNUSED;
      }
      return;
    }
    case 'mark dead': {
      if (stored.length === 0) return;
      const o = pick(step.which);
      markItemDead(s.m, s.base, o);
      s.items[o - 1] = { ...(s.items[o - 1] as { bytes: Uint8Array }), state: 'dead' };
      return;
    }
    case 'multi-delete': {
      const doomed = stored.filter((_, i) => (i + step.which) % step.share === 0).slice(0, step.most);
      pageIndexMultiDelete(s.m, s.base, s.g, Uint16Array.from(doomed), doomed.length, scratch);
      // Two or fewer leave the gaps as they are where unused line pointers had left none; both close all of them.
      for (const o of doomed) s.upper += sizeOf(o);
      s.items = s.items.filter((_, i) => !doomed.includes(i + 1));
      return;
    }
    case 'there and back': {
      const copy = tempPageCopy(s.m, s.base, s.g);
      const empty = tempPageCopySpecial(s.m, s.base, s.g);
      s.m.u8.fill(0xee, s.base, s.base + s.special);
      restoreTempPage(copy, s.m, s.base, s.g);
      const special = (bytes: Uint8Array, base: number) => [...bytes.subarray(base + s.special, base + s.g.size)];
      expect(special(empty.u8, 0)).toEqual(special(s.m.u8, s.base));
    }
  }
}

describe.each(BLOCK_SIZES)('an index page of %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  it('is what the model says after every step', () => {
    const scratch = new CompactionScratch(g);
    fc.assert(
      fc.property(steps(size), fc.constantFrom(16, 13, 0), (history, specialBytes) => {
        const s = new Subject(g, specialBytes);
        for (const step of history) {
          apply(s, step, scratch);
          s.check();
        }
        findPageFaults(s.m, s.base, g, {}, (f) => expect.fail(`${f.code}: ${f.message}`));
      }),
      { numRuns: 60 },
    );
  });

  it('gives the same items by one multi-delete and by deleting one by one', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 16 }), fc.nat(), (lengths, mask) => {
        const one = new Subject(g, 16);
        const all = new Subject(g, 16);
        lengths.forEach((length, i) => {
          for (const s of [one, all])
            expect(pageAddItem(s.m, s.base, g, bytesOf(length, i), 0, length)).toBe(
              s.insertAt(i + 1, bytesOf(length, i)),
            );
        });
        const doomed = lengths.flatMap((_, i) => (((mask >>> i) & 1) === 1 ? [i + 1] : []));
        for (const o of [...doomed].reverse()) pageIndexTupleDelete(one.m, one.base, g, o);
        pageIndexMultiDelete(all.m, all.base, g, Uint16Array.from(doomed), doomed.length, new CompactionScratch(g));
        for (const s of [one, all]) {
          s.items = s.items.filter((_, i) => !doomed.includes(i + 1));
          s.upper = s.special - s.storedBytes;
          s.check();
        }
        expect(one.m.u32.subarray(one.base >>> 2, (one.base >>> 2) + 6)).toEqual(
          all.m.u32.subarray(all.base >>> 2, (all.base >>> 2) + 6),
        );
      }),
      { numRuns: 60 },
    );
  });
});
