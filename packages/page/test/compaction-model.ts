// Pages with items at chosen places, and a compaction that is obviously right: a list of items, copied one by one.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  type Compaction,
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  PageMemoryViews,
  pageInit,
  pageMaxOffset,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  setLinePointer,
} from '@blockwright/page';
import fc from 'fast-check';

export interface Layout {
  /** Lengths of the items, by line pointer; 0 for a line pointer without one. */
  readonly lengths: readonly number[];
  /** Numbers that give the order in which the items lie. */
  readonly ranks: readonly number[];
  /** Bytes of the gap above each item, and below the lowest, in multiples of 8. */
  readonly gaps: readonly number[];
  readonly states: readonly number[];
  readonly specialBytes: number;
}

type Order = 'sorted' | 'reversed' | 'shuffled' | 'nearly sorted';

/** Layouts of up to `most` line pointers, of items short, long, or both; they need not fit: see {@link lay}. */
export function layouts(most: number): fc.Arbitrary<Layout> {
  const short = fc.integer({ min: 1, max: 40 });
  const lengths = fc.oneof(
    fc.integer({ min: 1, max: 230 }).map((one) => fc.constant(one)),
    fc.constant(short),
    fc.constant(fc.oneof(short, fc.integer({ min: 60, max: 90 }), fc.integer({ min: 1, max: 700 }))),
  );
  return fc
    .tuple(lengths, fc.constantFrom<Order>('sorted', 'reversed', 'shuffled', 'nearly sorted'), fc.nat(4), fc.nat(3))
    .chain(([length, order, gapShare, emptyShare]) =>
      fc.record({
        lengths: fc.array(length, { minLength: 0, maxLength: most, size: 'max' }),
        ranks: fc.infiniteStream(fc.nat(1 << 20)).map((stream) => ranks(order, most, stream)),
        gaps: fc.array(fc.nat(gapShare === 0 ? 0 : 40), { minLength: most + 1, maxLength: most + 1, size: 'max' }),
        states: fc.array(fc.nat(9 + emptyShare * 4), { minLength: most, maxLength: most, size: 'max' }),
        specialBytes: fc.constantFrom(0, 8, 16, 40),
      }),
    );
}

function ranks(order: Order, most: number, stream: Iterator<number>): number[] {
  return Array.from({ length: most }, (_, i) => {
    const drawn = stream.next().value as number;
    if (order === 'shuffled') return drawn;
    if (order === 'reversed') return -i;
    return order === 'sorted' || (drawn & 7) !== 0 ? i : drawn % most;
  });
}

const noise = Uint8Array.from({ length: 3 * 32768 }, (_, i) => (i * 13 + (i >>> 5) * 11) & 0xff);

/** A page without line pointers at base `g.size`, every byte of it and around it another, but for its header. */
export function emptyPage(g: BlockGeometry, specialBytes = 0): PageMemory {
  const m = new PageMemoryViews(noise.slice(0, 3 * g.size).buffer);
  pageInit(m, g.size, g, specialBytes);
  m.u8.set(noise.subarray(0, g.size - 24), g.size + 24);
  return m;
}

/** A page between guard bytes, laid out; what has no room is left out. */
export function lay(g: BlockGeometry, layout: Layout): { m: PageMemory; base: number } {
  const base = g.size;
  const m = emptyPage(g, layout.specialBytes);
  const count = Math.min(layout.lengths.length, g.maxOffsetNumber - 20);
  const wanted = layout.lengths.slice(0, count);
  const byPlace = wanted.map((_, i) => i).sort((a, b) => (layout.ranks[a] as number) - (layout.ranks[b] as number));
  const lower = 24 + 4 * count;
  let upper = pageSpecial(m, base);
  for (let i = 0; i < count; i++) setLinePointer(m, base, i + 1, 0);
  for (const i of byPlace) {
    const state = layout.states[i] as number;
    const length = wanted[i] as number;
    // One of a few is short on purpose: a gap of what others have is a hole no item fits.
    const place = upper - (((layout.gaps[i] as number) >>> 3) << 3) * ((layout.gaps[i] as number) & 1);
    const at = (place - length) & ~7;
    if (state === 9) setLinePointer(m, base, i + 1, makeLinePointer(1 + (i >>> 1), LP_REDIRECT, 0));
    else if (state === 8) setLinePointer(m, base, i + 1, makeLinePointer(0, LP_DEAD, 0));
    else if (state < 8 && at >= lower) {
      setLinePointer(m, base, i + 1, makeLinePointer(at, state === 7 ? LP_DEAD : LP_NORMAL, length));
      upper = at;
    }
  }
  pageSetLower(m, base, lower);
  pageSetUpper(m, base, Math.max(lower, (upper - (layout.gaps[count] as number)) & ~7));
  return { m, base };
}

/** Offset numbers of the line pointers with an item that counts, in the order in which `how` leaves the items. */
function orderOf(m: PageMemory, base: number, how: Compaction): number[] {
  const numbers = stored(m, base);
  const place = (o: number): number => lpOffset(linePointer(m, base, o));
  return how === 'sort' ? numbers.sort((a, b) => place(b) - place(a)) : numbers;
}

export function stored(m: PageMemory, base: number): number[] {
  return Array.from({ length: pageMaxOffset(m, base) }, (_, i) => i + 1).filter((o) => {
    const lp = linePointer(m, base, o);
    return lpLength(lp) > 0 && lpFlags(lp) !== LP_UNUSED;
  });
}

/** Compacts a heap page plainly, and gives all bytes that must be there then. */
export function repairedPlainly(m: PageMemory, base: number, how: Compaction): PageMemory {
  const to = new PageMemoryViews(m.u8.slice().buffer);
  let upper = pageSpecial(m, base);
  for (const o of orderOf(m, base, how)) {
    const lp = linePointer(m, base, o);
    const padded = (lpLength(lp) + 7) & ~7;
    upper -= padded;
    to.u8.set(m.u8.subarray(base + lpOffset(lp), base + lpOffset(lp) + padded), base + upper);
    setLinePointer(to, base, o, makeLinePointer(upper, lpFlags(lp), lpLength(lp)));
  }
  let last = pageMaxOffset(m, base);
  while (last > 0 && lpFlags(linePointer(m, base, last)) === LP_UNUSED) last--;
  let unused = 0;
  for (let o = 1; o <= last; o++) {
    if (lpFlags(linePointer(m, base, o)) !== LP_UNUSED) continue;
    setLinePointer(to, base, o, 0);
    unused = 1;
  }
  const flags = (m.u16[(base >>> 1) + 5] as number) & ~1;
  to.u16[(base >>> 1) + 5] = flags | unused;
  pageSetLower(to, base, 24 + 4 * last);
  pageSetUpper(to, base, upper);
  return to;
}

/** Bytes of every item, by offset number. */
export function itemsOf(m: PageMemory, base: number): string[] {
  return stored(m, base).map((o) => {
    const lp = linePointer(m, base, o);
    const bytes = m.u8.subarray(base + lpOffset(lp), base + lpOffset(lp) + lpLength(lp));
    return `${o} ${lpFlags(lp)} ${Buffer.from(bytes).toString('base64')}`;
  });
}

/** Where two memories differ first, by byte; undefined where they are the same. */
export function differenceOf(a: PageMemory, b: PageMemory): number | undefined {
  if (Buffer.compare(a.u8, b.u8) === 0) return undefined;
  return a.u8.findIndex((byte, i) => byte !== b.u8[i]);
}
