// The layout of a page against a model that asks for each byte who claims it, and compaction on a copy.
import { FORK_NAMES } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  COMPACTIONS,
  type Compaction,
  LP_DEAD,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  Page,
  type PageMemory,
  PageMemoryViews,
  pageBoundsAreSane,
  pageInit,
  pageLower,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';
import {
  inspectLayout,
  type PageLayout,
  type PageRegion,
  pageKind,
  pageLayout,
  previewCompaction,
} from '@blockwright/pageinspect';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIXTURE_SIZES, relationBytes, relations } from './fixtures.ts';

/** A tuple whose header's hints are `infomask`; its other bytes are `fill`. */
function tuple(bytes: number, fill = 1, infomask = 0x0900): Uint8Array {
  const item = new Uint8Array(bytes).fill(fill);
  item.set([infomask & 0xff, infomask >>> 8, 24], 20);
  return item;
}

/** `kind`, and the offset number or how many items: of every byte, by looking at all line pointers. */
function modelOf(m: PageMemory, size: number): string[] {
  const bounds = { lower: pageLower(m, 0), upper: pageUpper(m, 0), special: pageSpecial(m, 0) };
  const claims = Array.from({ length: size }, () => ({ items: [] as number[], padded: 0, ends: false }));
  for (let o = 1; o <= pageMaxOffset(m, 0); o++) {
    const lp = linePointer(m, 0, o);
    const end = lpOffset(lp) + lpLength(lp);
    for (let at = lpOffset(lp); at < end && at < size; at++) claims[at]?.items.push(o);
  }
  const kinds = claims.map(({ items }, at) => {
    const fixed = at < 24 ? 'header' : at < bounds.lower ? 'linePointers' : at >= bounds.special ? 'special' : '';
    if (items.length === 0) return fixed !== '' ? fixed : at < bounds.upper ? 'free' : 'hole';
    return items.length === 1 && fixed === '' ? `item ${items[0]}` : `overlap ${items.length}`;
  });
  for (let at = 1; at < size; at++) {
    const before = /^item (\d+)$/.exec(kinds[at - 1] as string)?.[1];
    if (before === undefined || !/^(hole|free)$/.test(kinds[at] as string)) continue;
    const lp = linePointer(m, 0, Number(before));
    if (lpOffset(lp) + lpLength(lp) !== at) continue;
    const place = kinds[at];
    for (let pad = at; (pad & 7) !== 0 && kinds[pad] === place; pad++) kinds[pad] = `padding ${before}`;
  }
  return kinds;
}

function bytesOf(regions: readonly PageRegion[]): string[] {
  return regions.flatMap(({ kind, from, to, offsetNumber, items }) =>
    new Array<string>(to - from).fill([kind, offsetNumber ?? items].filter((part) => part !== undefined).join(' ')),
  );
}

function expectPartition(layout: PageLayout, size: number): void {
  let at = 0;
  for (const { from, to } of layout.regions) {
    expect(from).toBe(at);
    expect(to).toBeGreaterThan(from);
    at = to;
  }
  expect(at).toBe(size);
  expect(Object.values(layout.bytes).reduce((sum, bytes) => sum + bytes)).toBe(size);
}

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  const nearItems = fc.oneof(
    fc.nat(size + 40),
    fc.nat(600).map((bytes) => size - bytes),
  );

  /** A page of some tuples with line pointers changed at will, and rarely the header's bounds. */
  const anyPage = fc
    .record({
      tuples: fc.array(fc.integer({ min: 24, max: 90 }), { maxLength: 12, size: 'max' }),
      changes: fc.array(
        fc.tuple(
          fc.integer({ min: 1, max: 6 }),
          nearItems,
          fc.nat(3),
          fc.oneof(fc.nat(100), fc.nat(size)),
          fc.boolean(),
        ),
        { maxLength: 6, size: 'max' },
      ),
      bounds: fc.oneof(
        { weight: 6, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.array(fc.nat(size + 8), { minLength: 3, maxLength: 3 }) },
      ),
      special: fc.constantFrom(0, 0, 16),
    })
    .map(({ tuples, changes, bounds, special }) => {
      const page = Page.create(size, { specialBytes: special });
      for (const bytes of tuples) page.add(tuple(bytes));
      for (const [n, offset, flags, length, aligned] of changes) {
        const lp = makeLinePointer((aligned ? offset & ~7 : offset) & 0x7fff, flags, length & 0x7fff);
        if (n <= page.itemCount) setLinePointer(page.memory, 0, n, lp);
      }
      if (bounds !== null) page.memory.u16.set(bounds, 6);
      return page;
    });

  it('every byte is in one region, as the model has it; what lies over each other is an overlap', () => {
    let overlaps = 0;
    fc.assert(
      fc.property(anyPage, (page) => {
        const layout = pageLayout(page.memory, 0, g);
        expectPartition(layout, size);
        const kind = pageKind(page.memory, 0, g);
        if (!pageBoundsAreSane(page.memory, 0, g)) {
          expect(layout.regions.map((region) => region.kind)).toEqual(['header', 'contents']);
        } else if (kind === 'heap' || kind === 'btree') {
          expect(bytesOf(layout.regions)).toEqual(modelOf(page.memory, size));
          overlaps += layout.bytes.overlap > 0 ? 1 : 0;
          if (layout.bytes.overlap > 0) {
            expect(layout.findings).not.toEqual([]);
          }
        }
      }),
      { numRuns: size > 10_000 ? 30 : 100 },
    );
    expect(overlaps).toBeGreaterThan(0); // else the property says nothing of them
  });

  it('any bytes have a layout and can be tried to compact; nothing outside of the page is looked at', () => {
    const bytes = fc.tuple(fc.uint8Array({ minLength: 48, maxLength: 200 }), fc.constantFrom('noise', 'header'));
    fc.assert(
      fc.property(bytes, fc.constantFrom(...COMPACTIONS), ([noise, how], strategy) => {
        const page = Page.create(size);
        for (let i = how === 'noise' ? 0 : 24; i < size; i++) page.bytes[i] = noise[i % noise.length] as number;
        if (how === 'header') page.memory.u16[6] = 24 + ((noise[0] as number) << 2);
        for (const fork of FORK_NAMES) {
          const layouts = [0x00, 0xff].map((guard) => {
            const m = new PageMemoryViews(new ArrayBuffer(size * 3));
            m.u8.fill(guard);
            m.u8.set(page.bytes, size);
            return pageLayout(m, size, g, fork);
          });
          expectPartition(layouts[0] as PageLayout, size);
          expect(layouts[0]).toEqual(layouts[1]);
        }
        const untouched = page.bytes.slice();
        const { after, refusal } = previewCompaction(page.bytes, strategy, { geometry: g });
        expect(after === null).toBe(refusal !== null);
        expect(Buffer.compare(page.bytes, untouched)).toBe(0);
      }),
      { numRuns: size > 10_000 ? 6 : 25 },
    );
  });

  it.each(COMPACTIONS)('%s on a copy: no hole is left, no item is lost, the bytes given are as they were', (how) => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 24, max: 120 }), fc.boolean()), { minLength: 3, maxLength: 30 }),
        (tuples) => {
          const page = Page.create(size);
          const added = tuples.filter(([bytes], i) => page.add(tuple(bytes, i)) > 0);
          added.forEach(([, stays], i) => {
            if (!stays) setLinePointer(page.memory, 0, i + 1, 0); // as pruning leaves it: the bytes stay
          });
          const given = page.bytes.slice();
          const { before, after, refusal, movedItems, movedBytes } = previewCompaction(page.bytes, how, {
            geometry: g,
          });
          expect(Buffer.compare(page.bytes, given)).toBe(0);
          expect([refusal, before]).toEqual([null, pageLayout(page.memory, 0, g)]);
          const kept = added.filter(([, stays]) => stays);
          expect(after?.bytes).toMatchObject({ hole: 0, overlap: 0, live: kept.reduce((sum, [n]) => sum + n, 0) });
          expect(after?.items).toBe(kept.length);
          expect(after?.isInOrder).toBe(true); // items were added in order, and no strategy changes that
          const first = added.findIndex(([, stays]) => !stays);
          const moved = first < 0 ? [] : added.slice(first).filter(([, stays]) => stays);
          expect([movedItems, movedBytes]).toEqual([moved.length, moved.reduce((sum, [n]) => sum + ((n + 7) & ~7), 0)]);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('the order of the data: kept by sort, that of the line pointers after the others', () => {
    const page = Page.create(size);
    for (let i = 0; i < 6; i++) page.add(tuple(40, i));
    const [first, last] = [linePointer(page.memory, 0, 1), linePointer(page.memory, 0, 6)];
    setLinePointer(page.memory, 0, 1, last);
    setLinePointer(page.memory, 0, 6, first);
    expect(pageLayout(page.memory, 0, g).isInOrder).toBe(false);
    const order = Object.fromEntries(
      COMPACTIONS.map((how) => [how, previewCompaction(page.bytes, how, { geometry: g }).after?.isInOrder]),
    );
    expect(order).toEqual({ sort: false, workspace: true, adaptive: true });
  });

  it('is the same wherever in a buffer the bytes lie', () => {
    const page = Page.create(size);
    page.add(tuple(41));
    const shifted = new Uint8Array(size + 1);
    shifted.set(page.bytes, 1);
    expect(inspectLayout(shifted.subarray(1), { geometry: g })).toEqual(pageLayout(page.memory, 0, g));
    expect(() => inspectLayout(shifted, { geometry: g })).toThrow(`${size + 1} bytes are not one block of ${size}`);
  });

  it('dead: by the line pointer, or by the hints in a tuple header', () => {
    const page = Page.create(size);
    const hints = [0x0900, 0x0200, 0x0300, 0x0100, 0x0500, 0x0580, 0x0900, 0x0900];
    for (const infomask of hints) page.add(tuple(32, 0, infomask));
    setLinePointer(page.memory, 0, 7, (linePointer(page.memory, 0, 7) | (LP_DEAD << 15)) >>> 0);
    setLinePointer(page.memory, 0, 8, (LP_DEAD << 15) >>> 0);
    const layout = pageLayout(page.memory, 0, g);
    // Aborted; deleted for good; by its line pointer. Frozen is no abort, and a lock is no deletion.
    expect(layout.regions.flatMap(({ dead, offsetNumber }) => (dead ? [offsetNumber] : []))).toEqual([7, 5, 2]);
    expect(layout).toMatchObject({ linePointers: 8, items: 7, deadItems: 3, unused: 0 });
    expect(layout.bytes).toMatchObject({ live: 128, dead: 96, hole: 32, free: size - 24 - 32 - 256 });
  });

  it('each bad kind of line pointer is drawn as far as it lies on the page, and said', () => {
    const page = Page.create(size);
    for (let i = 0; i < 8; i++) page.add(tuple(32));
    const set = (o: number, offset: number, length: number, flags = 1): void =>
      setLinePointer(page.memory, 0, o, makeLinePointer(offset, flags, length));
    const third = lpOffset(linePointer(page.memory, 0, 3));
    set(1, 0, 0, 2); // a redirect to line pointer 0
    set(2, 20, 0, 2); // and one beyond the last
    set(4, third + 4, 32); // misaligned, and over the one before
    set(5, size - 64, 20); // shorter than a tuple header
    set(6, size - 16, 32); // beyond the page's end
    set(7, 16, 32); // over header and line pointers
    const layout = pageLayout(page.memory, 0, g);
    expect(
      layout.findings.map(({ code, offsetNumber }) => [offsetNumber, code.replace('page.line_pointer.', '')]),
    ).toEqual([
      [1, 'redirect_out_of_range'],
      [2, 'redirect_out_of_range'],
      [4, 'misaligned'],
      [5, 'too_short'],
      [6, 'beyond_special'],
      [7, 'overlaps_line_pointers'],
    ]);
    expect(bytesOf(layout.regions)).toEqual(modelOf(page.memory, size));
    expect(layout.regions.filter(({ kind }) => kind === 'overlap')).toEqual([
      { kind: 'overlap', from: 16, to: 48, items: 1 },
      { kind: 'overlap', from: third + 4, to: third + 36, items: 2 },
    ]);
    const { refusal, after } = previewCompaction(page.bytes, 'adaptive', { geometry: g });
    expect([refusal?.code, after]).toEqual(['XX001', null]);
    expect(refusal?.message).toMatch(/line pointer 4 is corrupted/);
  });

  it('pages of another access method, of maps and never used ones have no items', () => {
    const kindsOf = (layout: PageLayout): string[] => layout.regions.map(({ kind }) => kind);
    const gist = Page.create(size, { specialBytes: 16 });
    for (let i = 0; i < 3; i++) gist.add(tuple(40));
    gist.memory.u16[(size - 2) >>> 1] = 0xff81;
    const layout = pageLayout(gist.memory, 0, g);
    expect(kindsOf(layout)).toEqual(['header', 'contents', 'free', 'contents', 'special']);
    expect(layout).toMatchObject({ linePointers: 0, items: 0, findings: [] });
    const zero = new Uint8Array(size);
    expect(kindsOf(pageLayout(new PageMemoryViews(zero.buffer), 0, g))).toEqual(['contents']);
    const map = Page.create(size);
    expect(kindsOf(pageLayout(map.memory, 0, g, 'vm'))).toEqual(['header', 'contents']);

    const why = (bytes: Uint8Array, fork: 'main' | 'vm' | 'fsm' = 'main') => {
      const { refusal } = previewCompaction(bytes, 'workspace', { geometry: g, fork });
      return [refusal?.code, refusal?.message];
    };
    expect(why(gist.bytes)).toEqual([null, expect.stringContaining('kind gist')]);
    expect(why(zero)).toEqual([null, expect.stringContaining('never initialised')]);
    expect(why(map.bytes, 'vm')).toEqual([null, expect.stringContaining('visibility map')]);
    expect(why(map.bytes, 'fsm')).toEqual([null, expect.stringContaining('free space map')]);
    map.memory.u16[7] = 8;
    expect(why(map.bytes)).toEqual(['XX001', 'pd_lower is 24, beyond pd_upper 8']);
  });
});

describe.each(FIXTURE_SIZES)("PostgreSQL's own pages at %s", (folder) => {
  it('have a layout without faults; compacting leaves their items and no hole', () => {
    let pages = 0;
    for (const { name, path } of relations(folder)) {
      const bytes = relationBytes(folder, path);
      if (bytes === undefined || name === 'crossing') continue;
      const g = BlockGeometry.of((Number.parseInt(folder, 10) * 1024) as BlockSize);
      for (let at = 0; at < Math.min(bytes.length, g.size * 12); at += g.size) {
        const page = bytes.slice(at, at + g.size);
        const m = new PageMemoryViews(page.buffer);
        const layout = pageLayout(m, 0, g);
        expectPartition(layout, g.size);
        expect(layout.findings).toEqual([]);
        expect(layout.bytes.overlap).toBe(0);
        let withItem = 0;
        for (let o = 1; o <= layout.linePointers; o++) if (lpLength(linePointer(m, 0, o)) > 0) withItem++;
        expect(layout.items).toBe(withItem);
        if (layout.linePointers > 0) expect(layout.bytes.free).toBe(pageUpper(m, 0) - pageLower(m, 0));
        for (const how of COMPACTIONS) {
          const { after, refusal } = previewCompaction(page, how, { geometry: g });
          if (after === null) {
            expect([refusal?.code, layout.items]).toEqual([null, 0]);
            continue;
          }
          expect(after.bytes).toEqual({
            ...layout.bytes,
            hole: 0,
            free: layout.bytes.free + layout.bytes.hole + (layout.linePointers - after.linePointers) * 4,
            linePointers: after.linePointers * 4,
            padding: after.bytes.padding,
          });
          pages++;
        }
      }
    }
    expect(pages).toBeGreaterThan(20);
  });
});

it('wrong arguments are named', () => {
  const g = BlockGeometry.of(1024);
  const m = new PageMemoryViews(new ArrayBuffer(1024));
  pageInit(m, 0, g);
  expect(() => previewCompaction(m.u8.subarray(1), 'sort', { geometry: g })).toThrow('1023 bytes are not one block');
  expect(() => previewCompaction(m.u8, 'workspce' as Compaction, { geometry: g })).toThrow('did you mean "workspace"');
  expect(lpFlags(linePointer(m, 0, 1))).toBe(0);
});
