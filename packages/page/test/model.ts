// A page as plain objects: what the real one is compared with after every step. It knows rules, no byte layout but the
// three bounds.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  PageMemoryViews,
  pageExactFreeSpace,
  pageFreeSpace,
  pageFreeSpaceForMultipleTuples,
  pageHasFreeLines,
  pageHeapFreeSpace,
  pageInit,
  pageLower,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import { expect } from 'vitest';

export type ModelItem =
  | { state: 'unused' }
  | { state: 'redirect'; target: number }
  | { state: 'normal' | 'dead'; bytes: Uint8Array | null };

export const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8;
export const UNUSED: ModelItem = { state: 'unused' };

/** A real page between guard bytes, and its model. */
export class Subject {
  readonly m: PageMemory;
  readonly base: number;
  readonly g: BlockGeometry;
  readonly special: number;
  items: ModelItem[] = [];
  upper: number;
  hint = false;

  constructor(g: BlockGeometry, specialBytes = 0) {
    this.g = g;
    this.base = g.size;
    this.m = new PageMemoryViews(new ArrayBuffer(g.size * 3));
    this.m.u8.fill(0xa5);
    pageInit(this.m, this.base, g, specialBytes);
    this.special = g.size - aligned(specialBytes);
    this.m.u8.fill(0x5b, this.base + this.special, this.base + g.size);
    this.upper = this.special;
  }

  get lower(): number {
    return 24 + 4 * this.items.length;
  }

  get storedBytes(): number {
    return this.items.reduce((sum, item) => sum + ('bytes' in item ? aligned(item.bytes?.length ?? 0) : 0), 0);
  }

  /** Numbers, from 1, of the items in one of the states. */
  numbers(...states: ModelItem['state'][]): number[] {
    return this.items.flatMap((item, i) => (states.includes(item.state) ? [i + 1] : []));
  }

  /** What PageAddItem must give, and the model's step with it. */
  add(bytes: Uint8Array, isHeap: boolean): number {
    const free = this.items.findIndex((item) => item.state === 'unused');
    const at = this.hint && free >= 0 ? free + 1 : this.items.length + 1;
    if (isHeap && at > this.g.maxHeapTuplesPerPage) return 0;
    if (!this.fits(bytes.length, at > this.items.length)) return 0;
    if (this.hint && free < 0) this.hint = false;
    this.items[at - 1] = { state: 'normal', bytes };
    this.upper -= aligned(bytes.length);
    return at;
  }

  insertAt(at: number, bytes: Uint8Array): number {
    if (!this.fits(bytes.length, true)) return 0;
    this.items.splice(at - 1, 0, { state: 'normal', bytes });
    this.upper -= aligned(bytes.length);
    return at;
  }

  fits(length: number, newLinePointer: boolean): boolean {
    return this.lower + (newLinePointer ? 4 : 0) + aligned(length) <= this.upper;
  }

  repair(): void {
    while (this.items.at(-1)?.state === 'unused') this.items.pop();
    this.hint = this.items.some((item) => item.state === 'unused');
    this.upper = this.special - this.storedBytes;
  }

  truncate(): void {
    while (this.items.length > 1 && this.items.at(-1)?.state === 'unused') this.items.pop();
    this.hint = this.items.some((item) => item.state === 'unused');
  }

  /** The real page is the model, in every view of it. */
  check(): void {
    const { m, base } = this;
    expect([pageLower(m, base), pageUpper(m, base), pageSpecial(m, base)]).toEqual([
      this.lower,
      this.upper,
      this.special,
    ]);
    expect(pageMaxOffset(m, base)).toBe(this.items.length);
    expect(pageHasFreeLines(m, base)).toBe(this.hint);
    this.checkFreeSpace();
    const taken: [number, number, number][] = [];
    this.items.forEach((item, i) => {
      const lp = linePointer(m, base, i + 1);
      const bytes = 'bytes' in item ? item.bytes : null;
      const flags = { unused: LP_UNUSED, normal: LP_NORMAL, redirect: LP_REDIRECT, dead: LP_DEAD }[item.state];
      expect([i + 1, lpFlags(lp), lpLength(lp)]).toEqual([i + 1, flags, bytes?.length ?? 0]);
      if (item.state === 'redirect') expect(lpOffset(lp)).toBe(item.target);
      if (bytes === null || bytes.length === 0) return;
      const at = lpOffset(lp);
      expect(at % 8).toBe(0);
      taken.push([at, at + bytes.length, i + 1]);
      const same = Buffer.compare(m.u8.subarray(base + at, base + at + bytes.length), bytes) === 0;
      if (!same) expect.fail(`the bytes of item ${i + 1} were changed`);
    });
    this.checkPlaces(taken);
    this.checkSurroundings();
  }

  private checkFreeSpace(): void {
    const { m, base, g } = this;
    const exact = this.upper - this.lower;
    const full = this.items.length >= g.maxHeapTuplesPerPage && !(this.hint && this.numbers('unused').length > 0);
    expect([
      pageExactFreeSpace(m, base),
      pageFreeSpace(m, base),
      pageFreeSpaceForMultipleTuples(m, base, 3),
      pageHeapFreeSpace(m, base, g),
    ]).toEqual([exact, Math.max(exact - 4, 0), Math.max(exact - 12, 0), full ? 0 : Math.max(exact - 4, 0)]);
  }

  private checkPlaces(taken: [number, number, number][]): void {
    taken.sort((a, b) => a[0] - b[0]);
    let end = this.upper;
    for (const [from, to, o] of taken) {
      if (from < end) expect.fail(`item ${o} at ${from} begins before ${end}`);
      end = to;
    }
    expect(end).toBeLessThanOrEqual(this.special);
  }

  private checkSurroundings(): void {
    const { m, base, g } = this;
    const is = (from: number, to: number, value: number): boolean =>
      Buffer.compare(m.u8.subarray(from, to), Buffer.alloc(to - from, value)) === 0;
    expect(is(0, base, 0xa5) && is(base + g.size, base + g.size * 2, 0xa5), 'bytes around the page').toBe(true);
    expect(is(base + this.special, base + g.size, 0x5b), 'the special space').toBe(true);
  }
}
