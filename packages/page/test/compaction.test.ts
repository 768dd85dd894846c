// The three compactions against a plain one, on pages laid out at random: every byte is compared, those around the page
// too. On damaged pages: refused before a byte moves, or every item keeps its bytes.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  COMPACTIONS,
  type Compaction,
  CompactionScratch,
  LP_NORMAL,
  LP_UNUSED,
  linePointer,
  lpLength,
  lpOffset,
  makeLinePointer,
  Page,
  type PageMemory,
  PageMemoryViews,
  pageIndexMultiDelete,
  pageLower,
  pageMaxOffset,
  pageRepairFragmentation,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  differenceOf,
  emptyPage,
  itemsOf,
  type Layout,
  lay,
  layouts,
  repairedPlainly,
  stored,
} from './compaction-model.ts';

const copyOf = (m: PageMemory): PageMemory => new PageMemoryViews(m.u8.slice().buffer);

/** @returns what was thrown; the memory must be as it was then. */
function failureOf(m: PageMemory, use: () => void): string | undefined {
  const before = copyOf(m);
  try {
    use();
  } catch (error) {
    expect(error).toMatchObject({ code: 'XX001' });
    expect(differenceOf(m, before), 'first byte changed').toBe(undefined);
    return (error as Error).message;
  }
  return undefined;
}

describe.each(BLOCK_SIZES)('compaction of a page of %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  const scratch = new CompactionScratch(g);
  const repair = (m: PageMemory, base: number, how: Compaction): void => {
    scratch.words.fill(0xd7d7_d7d7); // what an earlier page left may be what is wanted
    pageRepairFragmentation(m, base, g, scratch, how);
  };
  const most = Math.min(g.maxOffsetNumber, 200);

  it.each(COMPACTIONS)('leaves byte for byte what the plain one leaves: %s', (how) => {
    fc.assert(
      fc.property(layouts(most), (layout) => {
        const { m, base } = lay(g, layout);
        const wanted = repairedPlainly(m, base, how);
        const items = itemsOf(m, base);
        repair(m, base, how);
        expect(differenceOf(m, wanted)).toBe(undefined);
        expect(itemsOf(m, base)).toEqual(items);
        repair(m, base, how);
        expect(differenceOf(m, wanted), 'once more').toBe(undefined);
      }),
      { numRuns: 80 },
    );
  });

  it('leaves what the plain one leaves at every count around the thresholds, for every length', () => {
    for (const length of [8, 16, 24, 40, 64, 72, 80, 136, 200, 208]) {
      for (const count of [0, 1, 2, 3, 7, 8, 9, 23, 24, 25, 39, 40, 41, 42, 64, 65]) {
        for (const step of [0, 1, 3]) {
          const layout: Layout = {
            lengths: Array.from({ length: count }, () => length),
            ranks: Array.from({ length: count }, (_, i) => (step === 0 ? i : (i * step * 7) % 13)),
            gaps: Array.from({ length: count + 1 }, (_, i) => (i % 5 === step ? 9 : 0)),
            states: Array.from({ length: count }, (_, i) => (i % 11 === 10 ? 10 : 0)),
            specialBytes: 16,
          };
          for (const how of COMPACTIONS) {
            const { m, base } = lay(g, layout);
            const wanted = repairedPlainly(m, base, how);
            repair(m, base, how);
            const at = differenceOf(m, wanted);
            if (at !== undefined) expect.fail(`${how}, ${count} of ${length} bytes, step ${step}: byte ${at}`);
          }
        }
      }
    }
  });

  it('deletes index items, the others in the order of their line pointers or, sorted, as they lay', () => {
    fc.assert(
      fc.property(layouts(most), fc.nat(6), fc.nat(100), (layout, share, start) => {
        for (const how of COMPACTIONS) {
          const { m, base } = lay(g, { ...layout, states: layout.states.map((state) => state & 7) });
          const before = copyOf(m);
          const all = stored(m, base);
          const doomed = all.filter((_, i) => (i + start) % (share + 1) === 0).slice(0, share === 6 ? start & 3 : most);
          const isRetail = doomed.length <= 2;
          pageIndexMultiDelete(m, base, g, Uint16Array.from(doomed), doomed.length, scratch, how);
          const kept = Array.from({ length: pageMaxOffset(before, base) }, (_, i) => i + 1).filter(
            (o) => !doomed.includes(o),
          );
          expect(pageMaxOffset(m, base)).toBe(kept.length);
          let end = pageSpecial(m, base);
          kept.forEach((o, i) => {
            const [was, is] = [linePointer(before, base, o), linePointer(m, base, i + 1)];
            expect(is >>> 15).toBe(was >>> 15);
            const bytes = (from: PageMemory, lp: number): Uint8Array =>
              from.u8.subarray(base + lpOffset(lp), base + lpOffset(lp) + lpLength(lp));
            expect(Buffer.compare(bytes(m, is), bytes(before, was))).toBe(0);
            if (lpLength(is) === 0 || isRetail || how === 'sort') return;
            end -= (lpLength(is) + 7) & ~7;
            expect([how, o, lpOffset(is)]).toEqual([how, o, end]);
          });
          if (how === 'sort' && !isRetail) {
            const place = (from: PageMemory, o: number): number => lpOffset(linePointer(from, base, o));
            const items = kept
              .map((o, i) => [o, i + 1] as const)
              .filter(([, n]) => lpLength(linePointer(m, base, n)) > 0);
            const byOld = [...items].sort((a, b) => place(before, b[0]) - place(before, a[0]));
            const byNew = [...items].sort((a, b) => place(m, b[1]) - place(m, a[1]));
            expect(byNew).toEqual(byOld);
          }
          const around = (from: PageMemory): Buffer =>
            Buffer.concat([from.u8.subarray(0, base), from.u8.subarray(base + pageSpecial(before, base))]);
          expect(around(m).equals(around(before)), 'bytes around').toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('refuses one bad line pointer of each kind, wherever it stands, the page as it was', () => {
    const bad: [string, (upper: number, special: number) => number][] = [
      ['below upper', (upper) => makeLinePointer(upper - 8, LP_NORMAL, 8)],
      ['among line pointers', () => makeLinePointer(24, LP_NORMAL, 8)],
      ['at 0', () => makeLinePointer(0, LP_NORMAL, 8)],
      ['beyond special', (_, special) => makeLinePointer(special - 8, LP_NORMAL, 9)],
      ['at special', (_, special) => makeLinePointer(special & 0x7fff, LP_NORMAL, 8)],
      ['as long as can be', (upper) => makeLinePointer(upper, LP_NORMAL, 0x7fff)],
      ...[1, 2, 4, 7].map((by): [string, (upper: number) => number] => [
        `misaligned by ${by}`,
        (upper) => makeLinePointer(upper + by, LP_NORMAL, 1),
      ]),
    ];
    for (const [name, make] of bad) {
      for (const how of COMPACTIONS) {
        for (const o of [1, 2, 9, 10]) {
          const { m, base } = sound(g);
          const lp = make(pageUpper(m, base), pageSpecial(m, base));
          setLinePointer(m, base, o, lp);
          const message = `line pointer ${o} is corrupted: lp_off ${lpOffset(lp)}, lp_flags 1, lp_len ${lpLength(lp)}`;
          expect([name, failureOf(m, () => repair(m, base, how))]).toEqual([name, message]);
          const rest = Uint16Array.from([3, 4, 5, 6]);
          const remove = (): void => pageIndexMultiDelete(m, base, g, rest, 4, scratch, how);
          expect([name, failureOf(m, remove)]).toEqual([name, message]);
          const it = Uint16Array.from([...new Set([3, 4, 5, o])].sort((a, b) => a - b));
          const removeIt = (): void => pageIndexMultiDelete(m, base, g, it, it.length, scratch, how);
          expect([name, failureOf(m, removeIt)]).toEqual([name, message]);
        }
      }
    }
  });

  it('does not mind a pd_upper that is no multiple of 8', () => {
    for (const how of COMPACTIONS) {
      for (const length of [8, 72, 80]) {
        const m = emptyPage(g);
        const base = g.size;
        [3, 1, 2].forEach((o, i) => {
          setLinePointer(m, base, o, makeLinePointer(size - (i + 1) * length, LP_NORMAL, length));
        });
        for (let o = 4; o <= 12; o++)
          setLinePointer(m, base, o, makeLinePointer(size - 3 * length - 8 * (o - 3), LP_NORMAL, 5));
        pageSetLower(m, base, 24 + 4 * 12);
        pageSetUpper(m, base, size - 3 * length - 76);
        const wanted = repairedPlainly(m, base, how);
        repair(m, base, how);
        expect([how, length, differenceOf(m, wanted)]).toEqual([how, length, undefined]);
      }
    }
  });

  it('refuses items that abut down to below upper', () => {
    for (const how of COMPACTIONS) {
      for (const deleted of [0, 2]) {
        const { m, base } = sound(g);
        for (let o = 1; o <= 10; o++) setLinePointer(m, base, o, makeLinePointer(g.size - 16 * o, LP_NORMAL, 16));
        pageSetUpper(m, base, pageUpper(m, base) + 8);
        if (deleted > 0) setLinePointer(m, base, deleted, 0);
        expect(failureOf(m, () => repair(m, base, how))).toMatch(/^line pointer 10 is corrupted/);
      }
    }
  });

  it('refuses items that add up to more than has room, and an item that is not there', () => {
    for (const how of COMPACTIONS) {
      const { m, base } = sound(g);
      const long = pageSpecial(m, base) - pageUpper(m, base);
      const count = 2 + Math.floor((pageSpecial(m, base) - 64) / long);
      for (let o = 1; o <= Math.min(count, 10); o++) {
        setLinePointer(m, base, o, makeLinePointer(pageUpper(m, base), LP_NORMAL, long));
      }
      pageSetUpper(m, base, pageUpper(m, base));
      const failure = failureOf(m, () => repair(m, base, how));
      if (count > 10) expect(failure).toBe(undefined);
      else expect(failure).toMatch(/^items are corrupted: \d+ bytes in all where \d+ have room$/);
      const other = sound(g);
      setLinePointer(other.m, other.base, 5, makeLinePointer(0, LP_UNUSED, 0));
      const remove = (): void => pageIndexMultiDelete(other.m, other.base, g, Uint16Array.of(3, 4, 5), 3, scratch, how);
      expect(failureOf(other.m, remove)).toBe('line pointer 5 is corrupted: lp_off 0, lp_flags 0, lp_len 0');
    }
  });

  it('deletes the same by every strategy, also few items, beside gaps and items that overlap', () => {
    const place = fc.record({ at: fc.nat(14), length: fc.integer({ min: 1, max: 24 }) });
    let apart = 0;
    let overlapped = 0;
    fc.assert(
      fc.property(fc.array(place, { minLength: 4, maxLength: 7 }), fc.nat(3), fc.nat(3), (places, count, first) => {
        const doomed = Uint16Array.from({ length: Math.min(count, places.length - first) }, (_, i) => first + 1 + i);
        const left = COMPACTIONS.map((how) => {
          const { m, base } = sound(g, places.length);
          const special = pageSpecial(m, base);
          pageSetUpper(m, base, special - 20 * 8);
          places.forEach(({ at, length }, i) => {
            setLinePointer(m, base, i + 1, makeLinePointer(special - (at + 4) * 8, LP_NORMAL, length));
          });
          const before = copyOf(m);
          const failure = failureOf(m, () => pageIndexMultiDelete(m, base, g, doomed, doomed.length, scratch, how));
          const kept = places.map((_, i) => i + 1).filter((o) => !doomed.includes(o));
          const bytes = (of: PageMemory, o: number): string => {
            const lp = linePointer(of, base, o);
            return Buffer.from(of.u8.subarray(base + lpOffset(lp), base + lpOffset(lp) + lpLength(lp))).toString('hex');
          };
          if (failure === undefined)
            expect(kept.map((_, i) => bytes(m, i + 1))).toEqual(kept.map((o) => bytes(before, o)));
          return { failure, upper: pageUpper(m, base), lower: pageLower(m, base) };
        });
        for (const one of left) expect(one).toEqual(left[0]);
        const ends = places.map(({ at, length }) => [(at + 4) * 8 - length, (at + 4) * 8]);
        const overlaps = ends.some(([from, to], i) => ends.some(([a, b], j) => j !== i && a < to && b > from));
        if (overlaps) overlapped++;
        else apart++;
      }),
    );
    expect(Math.min(apart, overlapped)).toBeGreaterThan(0);
  });

  it('gives each of overlapping items the bytes that it had, by every strategy', () => {
    const place = fc.record({ at: fc.nat(20), length: fc.integer({ min: 1, max: 30 }) });
    let overlapping = 0;
    fc.assert(
      fc.property(fc.array(place, { minLength: 2, maxLength: 9 }), fc.boolean(), (places, long) => {
        const one = sound(g, places.length);
        const { base } = one;
        const special = pageSpecial(one.m, base);
        const unit = long && size > 1024 ? 40 : 8;
        pageSetUpper(one.m, base, special - 25 * unit);
        places.forEach(({ at, length }, i) => {
          const position = special - (at + 5) * unit;
          setLinePointer(
            one.m,
            base,
            i + 1,
            makeLinePointer(position, LP_NORMAL, Math.min(length * (unit >>> 3), 5 * unit)),
          );
        });
        const items = itemsOf(one.m, base);
        if (new Set(places.map(({ at }) => at)).size < places.length) overlapping++;
        for (const how of COMPACTIONS) {
          const m = copyOf(one.m);
          if (failureOf(m, () => repair(m, base, how)) !== undefined) continue;
          expect([how, ...itemsOf(m, base)]).toEqual([how, ...items]);
        }
      }),
      { numRuns: 100 },
    );
    expect(overlapping).toBeGreaterThan(20);
  });

  it('cleans unused line pointers, and does not take what they show for an item', () => {
    for (const how of COMPACTIONS) {
      const { m, base } = sound(g);
      setLinePointer(m, base, 3, makeLinePointer(77, LP_UNUSED, 0));
      setLinePointer(m, base, 5, makeLinePointer(pageUpper(m, base), LP_UNUSED, 40));
      const wanted = repairedPlainly(m, base, how);
      repair(m, base, how);
      expect(differenceOf(m, wanted)).toBe(undefined);
      expect([linePointer(m, base, 3), linePointer(m, base, 5)]).toEqual([0, 0]);
    }
  });

  it('takes a page full of the most line pointers, and one without any', () => {
    const count = (size - 24) >>> 2;
    for (const how of COMPACTIONS) {
      for (const items of [0, 1, Math.floor((size - 24) / 12)]) {
        const { m, base } = sound(g, 0);
        const total = items > 1 ? items : count - 2 * items;
        let upper = size;
        for (let o = 1; o <= total; o++) {
          const isItem = o <= items;
          if (isItem) upper -= 8;
          setLinePointer(m, base, o, isItem ? makeLinePointer(upper, LP_NORMAL, 8) : makeLinePointer(0, 3, 0));
        }
        pageSetLower(m, base, 24 + 4 * total);
        pageSetUpper(m, base, Math.max(upper, 24 + 4 * total));
        // Reversed, so that they must move.
        for (let o = 1; o <= items; o++) setLinePointer(m, base, o, makeLinePointer(upper + (o - 1) * 8, LP_NORMAL, 8));
        const wanted = repairedPlainly(m, base, how);
        repair(m, base, how);
        expect(differenceOf(m, wanted)).toBe(undefined);
      }
    }
  });

  it('works in a scratch that a larger page has used, and in one that holds anything', () => {
    const large = new CompactionScratch(BlockGeometry.of(32768));
    fc.assert(
      fc.property(layouts(40), fc.constantFrom(...COMPACTIONS), (layout, how) => {
        for (const field of Object.values(large)) {
          if (ArrayBuffer.isView(field) && !(field instanceof Uint8Array)) new Uint8Array(field.buffer).fill(0xd7);
        }
        const { m, base } = lay(g, layout);
        const wanted = repairedPlainly(m, base, how);
        pageRepairFragmentation(m, base, g, large, how);
        expect(differenceOf(m, wanted)).toBe(undefined);
      }),
      { numRuns: 30 },
    );
  });
});

/** A page with `count` items of 8 to 16 bytes that abut, the first at the end, and free space of a quarter. */
function sound(g: BlockGeometry, count = 10): { m: PageMemory; base: number } {
  const base = g.size;
  const m = emptyPage(g);
  let upper = g.size;
  for (let o = 1; o <= count; o++) {
    upper -= 16;
    setLinePointer(m, base, o, makeLinePointer(upper, LP_NORMAL, 8 + (o & 7)));
  }
  pageSetLower(m, base, 24 + 4 * count);
  pageSetUpper(m, base, upper);
  return { m, base };
}

describe('the comparison', () => {
  const g = BlockGeometry.of(8192);

  it('finds items in another order, and one byte changed anywhere', () => {
    let found = 0;
    fc.assert(
      fc.property(layouts(60), fc.nat(3 * g.size - 1), (layout, at) => {
        const { m, base } = lay(g, layout);
        const [sorted, lined] = [repairedPlainly(m, base, 'sort'), repairedPlainly(m, base, 'adaptive')];
        pageRepairFragmentation(m, base, g, new CompactionScratch(g), 'sort');
        if (differenceOf(sorted, lined) !== undefined && differenceOf(m, lined) !== undefined) found++;
        sorted.u8[at] = (sorted.u8[at] as number) ^ 1;
        expect(differenceOf(m, sorted)).toBe(at);
      }),
      { numRuns: 40 },
    );
    expect(found).toBeGreaterThan(5);
  });
});

describe('items of 9, 17 and 25 bytes, the middle one deleted', () => {
  it.each(COMPACTIONS)('the others are intact, and free space grows by the aligned size: %s', (how) => {
    const page = Page.create(8192);
    const items = [9, 17, 25].map((length) => Uint8Array.from({ length }, (_, i) => length + i));
    for (const item of items) page.add(item);
    const free = page.freeSpace;
    page.delete(2);
    page.compact(how);
    expect(page.freeSpace).toBe(free + 24);
    expect([page.item(1), page.item(3)]).toEqual([items[0], items[2]]);
    expect(page.verify()).toEqual([]);
  });
});

describe('a strategy', () => {
  it('is one of three, adaptive where none is named', () => {
    expect(COMPACTIONS).toEqual(['sort', 'workspace', 'adaptive']);
    const shuffled = (): Page => {
      const page = Page.create(1024);
      for (const length of [30, 20, 10]) page.add(Uint8Array.from({ length }, (_, i) => length + i));
      page.delete(1);
      page.add(Uint8Array.of(1, 2, 3));
      return page;
    };
    const [plain, adaptive, sorted] = [shuffled(), shuffled(), shuffled()];
    plain.compact();
    adaptive.compact('adaptive');
    sorted.compact('sort');
    expect(plain.bytes).toEqual(adaptive.bytes);
    expect(Buffer.compare(sorted.bytes, adaptive.bytes)).not.toBe(0);
  });

  it('that nobody knows is a TypeError that names the nearest', () => {
    const page = Page.create(1024);
    page.add(Uint8Array.of(1));
    const before = page.bytes.slice();
    expect(() => page.compact('adaptiv' as Compaction)).toThrow(
      new TypeError('"adaptiv" is no way to compact a page; did you mean "adaptive"?'),
    );
    expect(() => page.compact('toString' as Compaction)).toThrow(TypeError);
    expect(Buffer.compare(page.bytes, before)).toBe(0);
  });
});
