// The Page class, the header's fields byte by byte, and the small rules of pages.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  CompactionScratch,
  itemPosition,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  PAGE_LAYOUT_VERSION,
  PAI_ALLOW_FAR_OFFSET,
  PAI_OVERWRITE,
  Page,
  PageFault,
  PageMemoryViews,
  PD_ALL_VISIBLE,
  PD_HAS_FREE_LINES,
  PD_PAGE_FULL,
  PD_VALID_FLAG_BITS,
  pageAddItem,
  pageClearAllVisible,
  pageClearFull,
  pageFlags,
  pageInit,
  pageIsAllVisible,
  pageIsEmpty,
  pageIsFull,
  pageIsZero,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pageMemory,
  pagePruneXid,
  pageRepairFragmentation,
  pageReserveItem,
  pageSetAllVisible,
  pageSetFull,
  pageSetLsn,
  pageSetPrunable,
  pageSizeOf,
  pageSizeWord,
  pageSpecial,
  pageUpper,
  pageVerify,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const text = (s: string): Uint8Array => new TextEncoder().encode(s);

describe.each(BLOCK_SIZES)('a page of %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  it('is laid out as PostgreSQL lays it out', () => {
    const page = Page.create(size, { specialBytes: 13 });
    page.add(text('first'));
    page.add(text('second item'));
    pageSetLsn(page.memory, 0, 0xffff_ffff, 0xffff_fffe);
    page.memory.u16[4] = 0xbeef;
    page.memory.u32[5] = 0xfedc_ba98;
    const view = new DataView(page.bytes.buffer);
    const header = Array.from({ length: 8 }, (_, i) => view.getUint16(8 + 2 * i, true));
    const special = size - 16;
    expect(header).toEqual([0xbeef, 0, 32, special - 24, special, size + 4, 0xba98, 0xfedc]);
    expect([view.getUint32(0, true), view.getUint32(4, true)]).toEqual([0xffff_ffff, 0xffff_fffe]);
    expect(view.getUint32(24, true)).toBe(special - 8 + 1 * 2 ** 15 + 5 * 2 ** 17);
    expect(view.getUint32(28, true)).toBe(special - 24 + 1 * 2 ** 15 + 11 * 2 ** 17);
    expect(page.header).toEqual({
      lsn: 'FFFFFFFF/FFFFFFFE',
      checksum: 0xbeef,
      flags: 0,
      lower: 32,
      upper: special - 24,
      special,
      pageSize: size,
      version: 4,
      pruneXid: 0xfedc_ba98,
    });
    expect([pageLsnHigh(page.memory, 0), pageLsnLow(page.memory, 0)]).toEqual([0xffff_ffff, 0xffff_fffe]);
    expect(page.special.length).toBe(16);
  });

  it('has a size word that is never negative', () => {
    const { memory } = Page.create(size);
    expect(pageSizeWord(memory, 0)).toBe(size + PAGE_LAYOUT_VERSION);
    expect([pageSizeOf(memory, 0), pageUpper(memory, 0), pageSpecial(memory, 0)]).toEqual([size, size, size]);
  });

  it('frees the aligned size when the middle of three items goes', () => {
    const page = Page.create(size);
    const items = [9, 17, 25].map((length, n) => Uint8Array.from({ length }, (_, i) => n * 60 + i + 1));
    expect(items.map((bytes) => page.add(bytes))).toEqual([1, 2, 3]);
    const before = page.freeBytes;
    page.delete(2);
    expect(page.freeBytes).toBe(before + 24);
    expect([page.item(1), page.item(2), page.item(3)]).toEqual([items[0], null, items[2]]);
    expect(page.itemCount).toBe(3);
    expect(page.add(text('again'))).toBe(2);
    expect(page.verify()).toEqual([]);
  });

  it('refuses an offset beyond the next one, unless far offsets are allowed', () => {
    const page = Page.create(size);
    const before = page.bytes.slice();
    const add = (flags: number): number => pageAddItem(page.memory, 0, g, text('far'), 0, 3, 3, flags);
    expect(() => add(PAI_OVERWRITE)).toThrow(
      'offset number 3 lies too far: the page has 0 line pointers, so the next is 1',
    );
    expect(() => add(0)).toThrow(RangeError);
    expect(page.bytes).toEqual(before);
    expect(add(PAI_OVERWRITE | PAI_ALLOW_FAR_OFFSET)).toBe(3);
    expect([...page.items()].map((i) => i.state)).toEqual(['unused', 'unused', 'normal']);
    expect(page.header.flags).toBe(PD_HAS_FREE_LINES);
    expect(page.add(text('near'))).toBe(1);
  });

  it('does not overwrite a line pointer in use, nor take offsets that no page has', () => {
    const page = Page.create(size);
    page.add(text('one'));
    const before = page.bytes.slice();
    const add = (at: number): number =>
      pageAddItem(page.memory, 0, g, text('two'), 0, 3, at, PAI_OVERWRITE | PAI_ALLOW_FAR_OFFSET);
    expect(() => add(1)).toThrow('line pointer 1 is in use and cannot be overwritten');
    for (const at of [-1, g.maxOffsetNumber + 1, 2 ** 30, 2 ** 31]) expect(() => add(at)).toThrow(RangeError);
    expect(add(g.maxOffsetNumber)).toBe(0);
    expect(() => pageAddItem(page.memory, 0, g, text('two'), 2, 3)).toThrow(RangeError);
    expect(() => pageAddItem(page.memory, 0, g, text('two'), 0, -1)).toThrow(RangeError);
    expect(pageReserveItem(page.memory, 0, g, -1)).toBe(0);
    expect(pageReserveItem(page.memory, 0, g, 2 ** 32 - 8)).toBe(0);
    expect(page.bytes).toEqual(before);
  });

  it('takes an item as large as its room, and none larger', () => {
    const page = Page.create(size);
    expect(page.freeSpace).toBe(g.maxHeapTupleSize & ~7);
    expect(page.add(new Uint8Array(page.freeSpace + 1))).toBe(0);
    expect(page.add(new Uint8Array(page.freeSpace).fill(7))).toBe(1);
    expect(page.freeSpace).toBe(0);
    expect(page.verify()).toEqual([]);
  });

  it('reserves room for an item whose bytes the caller writes', () => {
    const page = Page.create(size);
    const o = pageReserveItem(page.memory, 0, g, 4);
    page.bytes.set(text('here'), itemPosition(page.memory, 0, o));
    expect(page.item(o)).toEqual(text('here'));
  });

  it('takes an item from its own memory', () => {
    const page = Page.create(size);
    page.add(text('to be copied'));
    const at = itemPosition(page.memory, 0, 1);
    expect(pageAddItem(page.memory, 0, g, page.bytes, at, 12)).toBe(2);
    expect(page.item(2)).toEqual(text('to be copied'));
  });

  it('is new when all zero, and damaged when it only says so', () => {
    const bytes = new Uint8Array(size);
    const page = Page.view(bytes);
    expect([page.isNew, page.itemCount, pageIsZero(page.memory, 0, g)]).toEqual([true, 0, true]);
    expect(pageVerify(page.memory, 0, g, 0, true)).toBe(PageFault.none);
    expect(page.verify().map((f) => [f.code, f.severity])).toEqual([['page.zero', 'info']]);
    bytes[size - 1] = 1;
    expect(pageVerify(page.memory, 0, g, 0, true)).toBe(PageFault.newButNotZero);
    expect(page.verify().map((f) => [f.code, f.severity])).toEqual([['page.header.new_but_not_zero', 'error']]);
    pageInit(page.memory, 0, g);
    expect([page.isNew, pageIsEmpty(page.memory, 0), pageMaxOffset(page.memory, 0)]).toEqual([false, true, 0]);
    expect(bytes[size - 1]).toBe(0);
  });

  it('works at the last base of a chunk of many pages as at the first', () => {
    const many = new PageMemoryViews(new ArrayBuffer(size * 4));
    pageInit(many, size * 3, g);
    pageAddItem(many, size * 3, g, text('there'), 0, 5);
    const alone = Page.create(size);
    alone.add(text('there'));
    expect(many.u8.slice(size * 3)).toEqual(alone.bytes);
    expect(many.u8.subarray(0, size * 3).every((byte) => byte === 0)).toBe(true);
  });
});

describe('a line pointer', () => {
  it('is made of its three fields, and gives them back', () => {
    const field = fc.nat(0x7fff);
    fc.assert(
      fc.property(field, fc.nat(3), field, (offset, flags, length) => {
        const lp = makeLinePointer(offset, flags, length);
        expect(lp).toBe(offset + flags * 2 ** 15 + length * 2 ** 17);
        expect([lpOffset(lp), lpFlags(lp), lpLength(lp)]).toEqual([offset, flags, length]);
        const page = Page.create(1024);
        page.memory.u32[6] = lp;
        expect(linePointer(page.memory, 0, 1)).toBe(lp);
      }),
    );
  });
});

describe('the flags', () => {
  it('are set and cleared one by one', () => {
    const { memory: m } = Page.create(2048);
    pageSetAllVisible(m, 0);
    pageSetFull(m, 0);
    expect([pageFlags(m, 0), pageIsAllVisible(m, 0), pageIsFull(m, 0)]).toEqual([6, true, true]);
    pageClearAllVisible(m, 0);
    expect([pageFlags(m, 0), pageIsAllVisible(m, 0)]).toEqual([PD_PAGE_FULL, false]);
    pageClearFull(m, 0);
    expect(pageFlags(m, 0)).toBe(0);
    expect(PD_HAS_FREE_LINES | PD_PAGE_FULL | PD_ALL_VISIBLE).toBe(PD_VALID_FLAG_BITS);
  });

  it('remember the oldest xid that may leave something to prune, across the wrap', () => {
    const { memory: m } = Page.create(2048);
    const after = (xid: number): number => {
      pageSetPrunable(m, 0, xid);
      return pagePruneXid(m, 0);
    };
    expect([after(700), after(800), after(600), after(4294967290), after(5)]).toEqual([
      700, 700, 600, 4294967290, 4294967290,
    ]);
  });
});

describe('Page.view', () => {
  it('writes through, and refuses where it could not', () => {
    const buffer = new ArrayBuffer(1024 * 2 + 8);
    const page = Page.view(new Uint8Array(buffer, 4, 1024));
    pageInit(page.memory, 0, page.geometry);
    page.add(text('seen'));
    expect(new TextDecoder().decode(new Uint8Array(buffer, 4 + 1024 - 8, 4))).toBe('seen');
    expect(() => Page.view(new Uint8Array(buffer, 2, 1024))).toThrow('use Page.copyOf');
    const copy = Page.copyOf(new Uint8Array(buffer, 2, 1024));
    copy.bytes.fill(9);
    expect(new Uint8Array(buffer)[2]).toBe(0);
  });

  it('wants exactly a page', () => {
    expect(() => Page.view(new Uint8Array(1000))).toThrow(/1kB, 2kB, 4kB, 8kB, 16kB/);
    expect(() => Page.view(new Uint8Array(1024), { blockSize: '2kB' })).toThrow('1024 bytes are not one page of 2048');
    expect(() => Page.copyOf(new Uint8Array(1024), { blocksize: 1024 } as never)).toThrow('did you mean "blockSize"?');
    expect(() => Page.create(1024, { specialBytes: 1000 })).toThrow(RangeError);
    expect(() => Page.create(1024, { specialBytes: Number.NaN })).toThrow(RangeError);
  });

  it('works in a buffer whose length is no multiple of 4, as a file may have', () => {
    const page = Page.view(new Uint8Array(new ArrayBuffer(1024 * 3 + 3), 1024, 1024));
    expect(page.isNew).toBe(true);
    expect(() => pageMemory(new ArrayBuffer(1027))).toThrow(RangeError);
    expect(() => pageMemory(new Uint8Array(1024) as never)).toThrow(TypeError);
  });
});

describe('the items of a Page', () => {
  const page = Page.create(4096);
  for (const word of ['a', 'bb', 'ccc']) page.add(text(word));
  page.delete(2);

  it('come in order with their states', () => {
    expect([...page.items()]).toEqual([
      { offsetNumber: 1, state: 'normal', offset: 4088, length: 1, bytes: text('a') },
      { offsetNumber: 2, state: 'unused', offset: 0, length: 0, bytes: null },
      { offsetNumber: 3, state: 'normal', offset: 4080, length: 3, bytes: text('ccc') },
    ]);
  });

  it('are numbered from 1', () => {
    for (const n of [0, 4, 1.5, -1, Number.NaN]) expect(() => page.item(n)).toThrow(RangeError);
    expect(() => page.delete(4)).toThrow(RangeError);
    expect(() => page.delete(2)).toThrow(/line pointer 2 is corrupted|no item/);
    expect(() => page.checksum(-1)).toThrow(RangeError);
  });

  it('keep their numbers when the page is compacted, and a clone is another page', () => {
    const clone = page.clone();
    clone.delete(3);
    clone.compact();
    expect([clone.itemCount, page.itemCount]).toEqual([1, 3]);
    expect(clone.header.flags).toBe(0);
    expect(page.item(3)).toEqual(text('ccc'));
  });
});

describe('compaction', () => {
  const g = BlockGeometry.of(8192);
  const { memory } = Page.create(8192);

  it('wants a scratch that is large enough, and a way that exists', () => {
    const small = new CompactionScratch(BlockGeometry.of(4096));
    expect(() => pageRepairFragmentation(memory, 0, g, small)).toThrow(RangeError);
    const scratch = new CompactionScratch(g);
    expect(() => pageRepairFragmentation(memory, 0, g, scratch, 'workplace' as never)).toThrow(
      'did you mean "workspace"?',
    );
    expect(() => pageRepairFragmentation(memory, 0, g, scratch, 'x' as never)).toThrow(
      'there is sort, workspace, adaptive',
    );
  });

  it('takes a scratch for larger pages', () => {
    const page = Page.create(1024);
    page.add(text('one'));
    page.add(text('two'));
    page.delete(1);
    pageRepairFragmentation(page.memory, 0, page.geometry, new CompactionScratch(g));
    expect(page.item(2)).toEqual(text('two'));
  });
});
