// Damaged pages: whatever the bytes are, functions end well or in a StorageError, leave the page as it was when they
// refuse, and neither read nor write outside it.
import { type Finding, isStorageError, StorageError } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  CompactionScratch,
  findPageFaults,
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  PAI_IS_HEAP,
  PAI_OVERWRITE,
  Page,
  PageFault,
  type PageMemory,
  PageMemoryViews,
  pageAddItem,
  pageHeapFreeSpace,
  pageIndexMultiDelete,
  pageIndexTupleDelete,
  pageIndexTupleDeleteNoCompact,
  pageIndexTupleOverwrite,
  pageInit,
  pageMaxOffset,
  pageRepairFragmentation,
  pageSetLower,
  pageSetUpper,
  pageTruncateLinePointerArray,
  pageVerify,
  setLinePointer,
  tempPageCopySpecial,
  withPageContext,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const item = Uint8Array.from({ length: 60 }, (_, i) => i + 1);

/** Every function that changes or judges a page, with arguments that a caller may well give. */
function operations(g: BlockGeometry, o: number): Record<string, (m: PageMemory, base: number) => unknown> {
  const scratch = new CompactionScratch(g);
  const three = Uint16Array.of(o, o + 1, o + 3);
  return {
    add: (m, base) => pageAddItem(m, base, g, item, 0, 31),
    'add to a heap': (m, base) => pageAddItem(m, base, g, item, 0, 31, 0, PAI_IS_HEAP),
    insert: (m, base) => pageAddItem(m, base, g, item, 0, 31, o),
    'overwrite unused': (m, base) => pageAddItem(m, base, g, item, 0, 31, o, PAI_OVERWRITE),
    repair: (m, base) => pageRepairFragmentation(m, base, g, scratch),
    truncate: (m, base) => pageTruncateLinePointerArray(m, base, g),
    delete: (m, base) => pageIndexTupleDelete(m, base, g, o),
    'delete, keeping numbers': (m, base) => pageIndexTupleDeleteNoCompact(m, base, g, o),
    'overwrite by a longer one': (m, base) => pageIndexTupleOverwrite(m, base, g, o, item, 0, 60),
    'overwrite by a shorter one': (m, base) => pageIndexTupleOverwrite(m, base, g, o, item, 0, 3),
    'delete two': (m, base) => pageIndexMultiDelete(m, base, g, three, 2, scratch),
    'delete three': (m, base) => pageIndexMultiDelete(m, base, g, three, 3, scratch),
    'free space': (m, base) => pageHeapFreeSpace(m, base, g),
    'empty copy': (m, base) => Buffer.from(tempPageCopySpecial(m, base, g).u8).toString('base64'),
    verify: (m, base) => pageVerify(m, base, g, 7, true),
    find: (m, base) => findings(m, base, g),
  };
}

function findings(m: PageMemory, base: number, g: BlockGeometry): Finding[] {
  const found: Finding[] = [];
  findPageFaults(m, base, g, { block: 7, checksum: true, blockCount: 20, leastItemBytes: 24 }, (f) => found.push(f));
  return found;
}

/** Runs `use` on a copy of the page that lies between bytes of value `guard`; gives all that came of it. */
function between(guard: number, page: Uint8Array, use: (m: PageMemory, base: number) => unknown) {
  const size = page.length;
  const m = new PageMemoryViews(new ArrayBuffer(size * 3));
  m.u8.fill(guard);
  m.u8.set(page, size);
  let result: unknown;
  try {
    result = use(m, size);
  } catch (error) {
    if (!isStorageError(error) && !(error instanceof RangeError)) throw error;
    result = error.message;
    if (isStorageError(error)) expect(error.code).toBe('XX001');
    if (Buffer.compare(m.u8.subarray(size, size * 2), page) !== 0)
      expect.fail(`${error.message}, but bytes were changed`);
  }
  const around = Buffer.alloc(size, guard);
  const isWhole = around.equals(m.u8.subarray(0, size)) && around.equals(m.u8.subarray(size * 2));
  if (!isWhole) expect.fail('bytes around the page were changed');
  return { result: JSON.stringify(result), page: Buffer.from(m.u8.subarray(size, size * 2)) };
}

/** Random bytes; or a sane header with random line pointers; or a sane page with a few words changed. */
function anyPage(size: number): fc.Arbitrary<{ page: Uint8Array }> {
  const g = BlockGeometry.of(size);
  const word = fc.integer({ min: 0, max: 0xffff_ffff });
  const random = fc.tuple(fc.uint8Array({ minLength: 64, maxLength: 256 }), fc.nat(255)).map(([bytes, step]) => {
    const page = new Uint8Array(size);
    for (let i = 0; i < size; i++) page[i] = (bytes[i % bytes.length] as number) + step * (i >>> 6);
    return page;
  });
  const header = fc
    .tuple(
      random,
      fc.nat(60),
      fc.array(fc.record({ at: fc.nat(size), length: fc.nat(90), flags: fc.nat(3), aligned: fc.boolean() }), {
        maxLength: 60,
      }),
      fc.nat(40),
    )
    .map(([page, gap, pointers, far]) => {
      const m = new PageMemoryViews(page.buffer);
      const keep = page.slice();
      pageInit(m, 0, g, 16);
      page.set(keep.subarray(24), 24);
      pageSetLower(m, 0, 24 + 4 * pointers.length);
      pageSetUpper(m, 0, Math.min((24 + 4 * pointers.length + gap * 8 + 7) & ~7, size - 16));
      pointers.forEach(({ at, length, flags, aligned }, i) => {
        const lowest = m.u16[7] as number;
        const offset = lowest + (at % (size - lowest + far)) - (far >>> 2);
        const placed = aligned ? offset & ~7 : offset;
        setLinePointer(m, 0, i + 1, makeLinePointer(Math.max(placed, 0) & 0x7fff, flags, length));
      });
      return page;
    });
  const changed = fc
    .tuple(
      fc.array(fc.integer({ min: 8, max: 50 }), { maxLength: 40 }),
      fc.array(fc.tuple(fc.nat(50), word), { minLength: 1, maxLength: 4 }),
    )
    .map(([lengths, changes]) => {
      const page = new Uint8Array(size);
      const m = new PageMemoryViews(page.buffer);
      pageInit(m, 0, g);
      for (const length of lengths) pageAddItem(m, 0, g, item, 0, length);
      for (const [at, value] of changes) m.u32[at] = value;
      return page;
    });
  const overlapping = fc
    .tuple(random, fc.array(fc.tuple(fc.nat(19), fc.integer({ min: 1, max: 24 })), { maxLength: 7 }))
    .map(([page, places]) => {
      const m = new PageMemoryViews(page.buffer);
      const keep = page.slice();
      pageInit(m, 0, g);
      page.set(keep.subarray(24), 24);
      pageSetLower(m, 0, 24 + 4 * places.length);
      pageSetUpper(m, 0, size - 256);
      places.forEach(([at, length], i) => {
        const isLast = i === 0 && (at & 1) === 0; // one that need not move, with others lying over it
        const lp = isLast
          ? makeLinePointer(size - 8, LP_NORMAL, 8)
          : makeLinePointer(size - 168 + at * 8, LP_NORMAL, length);
        setLinePointer(m, 0, i + 1, lp);
      });
      return page;
    });
  return fc.oneof(random, header, changed, overlapping).map((page) => ({
    page,
    [fc.toStringMethod]: () => `${size} bytes from ${Buffer.from(page.subarray(0, 128)).toString('hex')}`,
  }));
}

describe.each(BLOCK_SIZES)('any bytes as a page of %i', (size) => {
  const g = BlockGeometry.of(size);

  it('end in a result or a StorageError, with nothing read or written outside', () => {
    fc.assert(
      fc.property(anyPage(size), fc.nat(12), ({ page }, o) => {
        for (const [name, use] of Object.entries(operations(g, o + 1))) {
          const low = between(0x00, page, use);
          const high = between(0xff, page, use);
          const isSame = high.result === low.result && high.page.equals(low.page);
          if (!isSame) expect.fail(`${name} saw bytes outside the page`);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('are refused when an item lies outside the item area, else keep every byte of every item, overlapping or not', () => {
    let refused = 0;
    let repaired = 0;
    const dirty = new CompactionScratch(g);
    fc.assert(
      fc.property(anyPage(size), ({ page }) => {
        const bytes = page.slice();
        const m = new PageMemoryViews(bytes.buffer);
        const isOutside = findings(m, 0, g).some((f) => /pointer\.(misaligned|beyond|below|overlaps_)/.test(f.code));
        dirty.words.fill(0xdeadbeef);
        try {
          pageRepairFragmentation(m, 0, g, dirty);
        } catch (error) {
          expect(error).toBeInstanceOf(StorageError);
          refused++;
          return;
        }
        repaired++;
        expect(isOutside, 'an item outside the item area').toBe(false);
        const before = new PageMemoryViews(page.buffer);
        for (let o = 1; o <= pageMaxOffset(m, 0); o++) {
          const [was, is] = [linePointer(before, 0, o), linePointer(m, 0, o)];
          if (lpFlags(was) === LP_UNUSED || lpLength(was) === 0) continue;
          const bytesOf = (from: PageMemory, lp: number) => from.u8.subarray(lpOffset(lp), lpOffset(lp) + lpLength(lp));
          expect([o, Buffer.compare(bytesOf(m, is), bytesOf(before, was))]).toEqual([o, 0]);
        }
      }),
      { numRuns: 300 },
    );
    expect(Math.min(refused, repaired)).toBeGreaterThan(20);
  });

  it('can be looked at as a Page without any other error', () => {
    fc.assert(
      fc.property(anyPage(size), (any) => {
        const page = Page.view(any.page);
        expect(page.header.pageSize & 0xff).toBe(0);
        expect(Array.isArray(page.verify({ block: 3 }))).toBe(true);
        for (let n = 1; n <= page.itemCount; n++) {
          try {
            expect(page.item(n)?.length ?? 0).toBeLessThanOrEqual(size);
          } catch (error) {
            expect(error).toBeInstanceOf(StorageError);
          }
        }
        expect(page.special.length + page.freeSpace).toBeLessThanOrEqual(size);
      }),
      { numRuns: 80 },
    );
  });

  it('gives one finding a line pointer of each bad kind', () => {
    const page = Page.create(size, { specialBytes: 16 });
    for (let i = 0; i < 16; i++) page.add(item.subarray(0, 24));
    const m = page.memory;
    const special = size - 16;
    const place = (n: number): number => (m.u32[5 + n] as number) & 0x7fff;
    const bad: [number, number, string][] = [
      [2, makeLinePointer(0, LP_REDIRECT, 0), 'redirect_out_of_range'],
      [3, makeLinePointer(17, LP_REDIRECT, 0), 'redirect_out_of_range'],
      [4, makeLinePointer(place(4) + 4, LP_NORMAL, 20), 'misaligned'],
      [5, makeLinePointer(place(5), LP_NORMAL, 23), 'too_short'],
      [6, makeLinePointer(special - 8, LP_NORMAL, 24), 'beyond_special'],
      [7, makeLinePointer(32, LP_NORMAL, 24), 'overlaps_line_pointers'],
      [8, makeLinePointer(place(16) - 24, LP_NORMAL, 24), 'below_upper'],
      [9, makeLinePointer(place(1), LP_NORMAL, 24), 'overlap'],
      [10, makeLinePointer(10, LP_REDIRECT, 0), 'redirect_to_itself'],
      [11, makeLinePointer(2, LP_REDIRECT, 0), 'redirect_to_redirect'],
      [12, makeLinePointer(1, LP_REDIRECT, 24), 'redirect_with_item'],
      [13, makeLinePointer(place(13), LP_NORMAL, 0), 'length_zero'],
      [14, makeLinePointer(16, 0, 0), 'unused_not_zero'],
      [15, makeLinePointer(16, LP_DEAD, 0), 'dead_not_zero'],
      [16, makeLinePointer(14, LP_REDIRECT, 0), 'redirect_to_unused'],
    ];
    for (const [n, lp] of bad) setLinePointer(m, 0, n, lp);
    const found: Finding[] = [];
    findPageFaults(m, 0, g, { block: 9, prefix: 'heap', leastItemBytes: 24 }, (f) => found.push(f));
    expect(found.map((f) => [f.offsetNumber, f.code, f.block])).toEqual(
      bad.map(([n, , code]) => [n, `heap.line_pointer.${code}`, 9]),
    );
  });

  it('names what is wrong with a header, and refuses to work on it', () => {
    const wrong: [number, number, PageFault, string | undefined][] = [
      [5, 8, PageFault.flags, 'header.flags'],
      [6, 23, PageFault.none, 'header.lower_too_small'],
      [6, 30, PageFault.none, 'header.lower_misaligned'],
      [6, size - 8, PageFault.lowerBeyondUpper, 'header.lower_beyond_upper'],
      [7, 0, PageFault.newButNotZero, 'header.new_but_not_zero'],
      [7, size - 12, PageFault.none, 'header.upper_misaligned'],
      [8, size - 24, PageFault.upperBeyondSpecial, 'header.upper_beyond_special'],
      [8, size + 8, PageFault.specialBeyondPage, 'header.special_beyond_page'],
      [8, size - 4, PageFault.specialMisaligned, 'header.special_misaligned'],
      [9, size | 3, PageFault.sizeOrVersion, 'header.version'],
      [9, (size ^ 0x300) | 4, PageFault.sizeOrVersion, 'header.block_size'],
    ];
    for (const [index, value, fault, code] of wrong) {
      const page = Page.create(size);
      page.add(item.subarray(0, 16));
      page.memory.u16[index] = value;
      const before = page.bytes.slice();
      expect([index, value, pageVerify(page.memory, 0, g, 0, false)]).toEqual([index, value, fault]);
      expect(
        page.verify().map((f) => f.code),
        `${index} ${value}`,
      ).toContain(`page.${code}`);
      const isBound = index >= 6 && index <= 8 && code !== 'header.upper_misaligned';
      if (!isBound) continue;
      expect(() => page.add(item)).toThrow(StorageError);
      expect(() => page.compact()).toThrow(/page header is corrupted: pd_lower \d+, pd_upper \d+, pd_special \d+/);
      expect(Buffer.compare(page.bytes, before)).toBe(0);
    }
  });
});

describe('a StorageError of a page', () => {
  it('gets relation and block from whoever knows them', () => {
    const page = Page.create(1024);
    page.add(item);
    setLinePointer(page.memory, 0, 1, makeLinePointer(4, LP_NORMAL, 60));
    try {
      page.compact();
      expect.unreachable();
    } catch (error) {
      const told = withPageContext(error, 'base/5/16384, fork main, block 7') as StorageError;
      expect(told).toBeInstanceOf(StorageError);
      expect(told.message).toBe(
        'base/5/16384, fork main, block 7: line pointer 1 is corrupted: lp_off 4, lp_flags 1, lp_len 60',
      );
      expect([told.code, told.cause]).toEqual(['XX001', error]);
      expect(told.detail).toMatch(/Offset number 1/);
    }
    expect(withPageContext('something else', 'here')).toBe('something else');
  });

  it('comes when items add up to more than the page holds', () => {
    const page = Page.create(1024);
    for (let i = 0; i < 8; i++) page.add(item);
    for (let n = 1; n <= 8; n++) setLinePointer(page.memory, 0, n, makeLinePointer(512, LP_NORMAL, 512));
    const before = page.bytes.slice();
    expect(() => page.compact()).toThrow('items are corrupted: 4096 bytes in all where 968 have room');
    expect(Buffer.compare(page.bytes, before)).toBe(0);
    expect(pageMaxOffset(page.memory, 0)).toBe(8);
  });
});
