// Any bytes are inspected without an error, and nothing is shown that does not lie on the page or was never there.
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { Page, PageMemoryViews, pageInit, setLinePointer } from '@blockwright/page';
import {
  byteaHex,
  bytesSource,
  detectBlockSize,
  freeSpaceRecords,
  fsmPageContents,
  type HeapItemRecord,
  heapPageItems,
  heapTupleInfomaskFlags,
  type InspectedPage,
  inspectPage,
  inspectRelation,
  pageHeaderRecord,
  pageKind,
  tailBytes,
  visibilityMapRecords,
} from '@blockwright/pageinspect';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** A tuple of one int4 and a null, with a bitmap. */
function tuple(data: number): Uint8Array {
  const bytes = new Uint8Array(28);
  const words = new DataView(bytes.buffer);
  words.setUint32(0, 4294967290, true); // t_xmin
  words.setUint32(4, 7, true); // t_xmax
  words.setUint32(8, 3, true); // t_cid
  words.setUint16(12, 0xffff, true); // t_ctid: block, high half first
  words.setUint16(14, 0xfffe, true);
  words.setUint16(16, 5, true);
  words.setUint16(18, 2, true);
  words.setUint16(20, 0x0001 | 0x0300 | 0x0800, true);
  words.setUint8(22, 24);
  words.setUint8(23, 0b01);
  words.setUint32(24, data, true);
  return bytes;
}

function heapPage(size: BlockSize, tuples: number, specialBytes = 0): Page {
  const page = Page.create(size, { specialBytes });
  for (let i = 0; i < tuples; i++) page.add(tuple(i));
  return page;
}

describe.each(BLOCK_SIZES)('a page of %i bytes', (size) => {
  const geometry = BlockGeometry.of(size);

  it('is inspected whatever its bytes are, and shows none that lie outside it', () => {
    const anyPage = fc
      .tuple(
        fc.uint8Array({ minLength: 32, maxLength: 200 }),
        fc.nat(255),
        fc.constantFrom('random', 'header', 'changed'),
        fc.array(fc.tuple(fc.nat((size >>> 2) - 1), fc.nat(0xffff_ffff)), { minLength: 1, maxLength: 6 }),
        fc.constantFrom(0, 8, 16, 24),
      )
      .map(([bytes, step, how, changes, special]) => {
        const page = heapPage(size, 10, special);
        if (how !== 'changed') {
          for (let i = how === 'header' ? 24 : 0; i < size; i++) {
            page.bytes[i] = (bytes[i % bytes.length] as number) + step * (i >>> 7);
          }
        } else for (const [at, value] of changes) page.memory.u32[at < 40 ? at : at & 63] = value;
        return {
          page,
          [fc.toStringMethod]: () => `${size}: ${Buffer.from(page.bytes.subarray(0, 100)).toString('hex')}`,
        };
      });
    fc.assert(
      fc.property(anyPage, fc.constantFrom(0, 5, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2), ({ page }, block) => {
        for (const fork of ['main', 'vm', 'fsm', 'init'] as const) {
          const options = { geometry, fork, checksums: true, heapBlocks: 50 };
          const record = JSON.stringify(inspectPage(page.bytes, block, options));
          expect(record.length).toBeGreaterThan(100);
        }
        const around = [0x00, 0xff].map((guard) => {
          const m = new PageMemoryViews(new ArrayBuffer(size * 3));
          m.u8.fill(guard);
          m.u8.set(page.bytes, size);
          return JSON.stringify([
            pageHeaderRecord(m, size),
            pageKind(m, size, geometry),
            heapPageItems(m, size, geometry),
            visibilityMapRecords(m, size, geometry, 0).slice(-20),
            freeSpaceRecords(m, size, geometry, geometry.fsmPhysicalOf(0, 0)).slice(-20),
            fsmPageContents(m, size, geometry),
          ]);
        });
        expect(around[0] === around[1], 'bytes outside the page were shown').toBe(true);
      }),
      { numRuns: size > 10_000 ? 8 : 30 },
    );
  });

  it('of a heap shows tuples with every field', () => {
    const [page] = inspectRelation(heapPage(size, 3).bytes, { geometry });
    expect(page?.kind).toBe('heap');
    expect(page?.items?.[2]).toEqual({
      lp: 3,
      lp_off: size - 96,
      lp_flags: 1,
      lp_len: 28,
      t_xmin: '4294967290',
      t_xmax: '7',
      t_field3: 3,
      t_ctid: '(4294967294,5)',
      t_infomask2: 2,
      t_infomask: 0x0b01,
      t_hoff: 24,
      t_bits: '10000000',
      t_oid: null,
      t_data: '\\x02000000',
    });
  });

  it('shows no field of a tuple that does not lie on the page, and no data of one whose header is too long', () => {
    const page = heapPage(size, 5);
    const at = (n: number): number => (page.memory.u32[5 + n] as number) & 0x7fff;
    setLinePointer(page.memory, 0, 1, ((at(1) + 4) | (1 << 15) | (28 << 17)) >>> 0); // misaligned
    setLinePointer(page.memory, 0, 2, (at(2) | (1 << 15) | (23 << 17)) >>> 0); // shorter than a header
    setLinePointer(page.memory, 0, 3, ((size - 8) | (1 << 15) | (28 << 17)) >>> 0); // beyond the end
    page.bytes[at(4) + 22] = 32; // t_hoff beyond the length
    page.memory.u16[(at(5) + 18) >>> 1] = 2047; // a bitmap that would reach into the data
    const items = heapPageItems(page.memory, 0, geometry);
    expect(items.map((item) => [item.t_xmin === null, item.t_data, item.t_bits])).toEqual([
      [true, null, null],
      [true, null, null],
      [true, null, null],
      [false, null, null],
      [false, '\\x04000000', null],
    ]);
  });

  it('shows no more data than it has bytes, however its items lie over each other', () => {
    const page = heapPage(size, 20);
    const start = (page.memory.u32[25] as number) & 0x7fff;
    for (let n = 1; n <= 20; n++) {
      setLinePointer(page.memory, 0, n, (start | (1 << 15) | ((size - start) << 17)) >>> 0);
    }
    const items = heapPageItems(page.memory, 0, geometry);
    const shown = items.filter((item) => item.t_data !== null).length;
    expect(shown).toBe(Math.min(20, Math.floor(size / (size - start))));
    expect(items.every((item) => item.t_xmin === '4294967290')).toBe(true);
  });

  it('shows the oid that tuples had before PostgreSQL 12', () => {
    const page = heapPage(size, 1);
    const at = (page.memory.u32[6] as number) & 0x7fff;
    page.memory.u16[(at + 20) >>> 1] = 0x0908;
    expect(heapPageItems(page.memory, 0, geometry)[0]?.t_oid).toBe(String(page.memory.u32[(at + 20) >>> 2]));
  });

  it('with a special space is no plain heap page, and gets no invented tuples', () => {
    const kinds: [number, (m: PageMemoryViews, special: number) => void, string, RegExp][] = [
      [16, () => {}, 'btree', /^not a plain heap page: a B-tree's internal page of level 0$/],
      [16, (m, s) => (m.u16[(s + 12) >>> 1] = 3), 'btree', /root, leaf page$/],
      [16, (m, s) => (m.u16[(s + 12) >>> 1] = 17), 'btree', /leaf page, half dead$/],
      [16, (m, s) => (m.u16[(s + 12) >>> 1] = 4), 'btree', /deleted page$/],
      [16, (m, s) => (m.u16[(s + 14) >>> 1] = 0xff80), 'hash', /special space of 16 bytes is of kind hash$/],
      [16, (m, s) => (m.u16[(s + 14) >>> 1] = 0xff81), 'gist', /of kind gist$/],
      [16, (m, s) => (m.u16[(s + 14) >>> 1] = 0xffff), 'unknown', /of an access method that is not known here$/],
      [8, (m, s) => (m.u16[(s + 6) >>> 1] = 0xff82), 'spgist', /of kind spgist$/],
      [8, (m, s) => (m.u16[(s + 6) >>> 1] = 0xf092), 'brin', /of kind brin$/],
      [8, (m, s) => (m.u32[s >>> 2] = 0x1717), 'sequence', /of kind sequence$/],
      [8, (m, s) => (m.u16[(s + 6) >>> 1] = 2), 'gin', /of kind gin$/],
      [8, (m, s) => (m.u16[(s + 6) >>> 1] = 0x8000), 'unknown', /not known here$/],
      [40, () => {}, 'unknown', /special space of 40 bytes/],
    ];
    for (const [specialBytes, change, kind, note] of kinds) {
      const page = heapPage(size, 2, specialBytes);
      change(page.memory as PageMemoryViews, size - specialBytes);
      const record = inspectPage(page.bytes, 3, { geometry });
      expect([record.kind, record.note]).toEqual([kind, expect.stringMatching(note)]);
      for (const item of record.items ?? [])
        expect(Object.keys(item).slice(0, 3)).toEqual(['itemoffset', 'ctid', 'itemlen']);
      expect(record.items === undefined).toBe(kind !== 'btree' || /deleted/.test(record.note));
    }
  });

  it('that is damaged says so, with its header as it stands', () => {
    const page = heapPage(size, 2);
    page.memory.u16[5] = 0x80; // a flag that nobody knows: the rest can be read
    expect(inspectPage(page.bytes, 0, { geometry })).toMatchObject({
      kind: 'damaged',
      note: 'pd_flags is 0x80: only the lowest three bits have a meaning',
      header: { flags: 0x80 },
      items: [{ lp: 1 }, { lp: 2 }],
    });
    page.memory.u16[6] = size - 4;
    expect(inspectPage(page.bytes, 0, { geometry }).items).toBe(undefined);
    page.memory.u16[7] = 0;
    expect(inspectPage(page.bytes, 0, { geometry })).toMatchObject({
      kind: 'damaged',
      note: expect.stringMatching(/never initialised/),
    });
    for (const fork of ['vm', 'fsm'] as const) {
      expect(inspectPage(page.bytes, 0, { geometry, fork })).toMatchObject({
        kind: 'damaged',
        note: expect.stringMatching(/pd_upper 0/),
      });
    }
    expect(inspectPage(new Uint8Array(size), 0, { geometry })).toMatchObject({
      kind: 'new',
      note: expect.stringMatching(/all zero/),
    });
  });

  it('has its checksum judged when asked for, by its block in the fork', () => {
    const page = heapPage(size, 2);
    page.memory.u16[4] = page.checksum(2 ** 31 + 5);
    const bytes = new Uint8Array(size * 6);
    bytes.set(page.bytes, size * 5);
    const options = { geometry, checksums: true, firstBlock: 2 ** 31 };
    const pages = [...inspectRelation(bytes, options)];
    expect(pages.map(({ block, kind, note }) => [block, kind, note]).at(-1)).toEqual([2 ** 31 + 5, 'heap', '']);
    const [alone] = inspectRelation(bytes, { ...options, block: 2 ** 31 + 5 });
    expect(alone).toEqual(pages.at(-1));
    expect(inspectPage(page.bytes, 5, { geometry, checksums: true }).note).toMatch(
      /^the checksum is \d+ and should be \d+$/,
    );
    expect(() => [...inspectRelation(bytes, { ...options, block: 5 })]).toThrow(
      'there is no block 5: the file has blocks 2147483648 to 2147483653',
    );
  });

  it('of the visibility map shows the bits of the blocks that it is about, up to the last block there can be', () => {
    const m = new PageMemoryViews(new ArrayBuffer(size));
    pageInit(m, 0, geometry);
    m.u8[24] = 0b11_01_00_01;
    const page = (options: object): InspectedPage => inspectPage(m.u8, 0, { geometry, fork: 'vm', ...options });
    const row = (blkno: number, all_visible: boolean, all_frozen: boolean) => ({ blkno, all_visible, all_frozen });
    expect(page({}).visibility).toEqual([
      row(0, true, false),
      row(1, false, false),
      row(2, true, false),
      row(3, true, true),
    ]);
    expect(page({ heapBlocks: 2 }).visibility).toEqual([row(0, true, false), row(1, false, false)]);
    expect(page({ heapBlocks: 0 }).visibility).toEqual([]);
    const lastMapBlock = geometry.vmBlockOf(2 ** 32 - 2);
    m.u8.fill(0xff, 24);
    const last = visibilityMapRecords(m, 0, geometry, lastMapBlock);
    expect(last.at(-1)).toEqual(row(2 ** 32 - 2, true, true));
    expect(last[0]?.blkno).toBe(geometry.firstHeapBlockOf(lastMapBlock));
  });

  it('of the free space map shows nodes, and room for the blocks of a leaf page', () => {
    const m = new PageMemoryViews(new ArrayBuffer(size));
    pageInit(m, 0, geometry);
    const inner = geometry.constants.NonLeafNodesPerPage;
    m.u8[28 + inner] = 255;
    m.u8[28 + inner + 2] = 3;
    m.u8[28] = 255;
    m.u32[6] = 2;
    const leaf = geometry.fsmPhysicalOf(0, 1);
    const record = inspectPage(m.u8, leaf, { geometry, fork: 'fsm' });
    const first = geometry.slotsPerFsmPage;
    expect(record.freeSpace).toEqual([
      { blkno: first, avail: geometry.maxHeapTupleSize },
      { blkno: first + 1, avail: 0 },
      { blkno: first + 2, avail: (size / 256) * 3 },
    ]);
    expect(record.contents).toBe(`0: 255\n${inner}: 255\n${inner + 2}: 3\nfp_next_slot: 2\n`);
    expect(inspectPage(m.u8, 0, { geometry, fork: 'fsm' }).freeSpace).toEqual([]);
    m.u8.fill(1, 28);
    const last = freeSpaceRecords(m, 0, geometry, geometry.fsmPhysicalOf(0, geometry.fsmLeafOf(2 ** 32 - 2)));
    expect(last.at(-1)?.blkno).toBe(2 ** 32 - 2);
  });

  it('tells the block size of its file, by majority and never by assumption', () => {
    const file = (blocks: number): Uint8Array => {
      const bytes = new Uint8Array(size * blocks);
      for (let i = 0; i < blocks; i++) bytes.set(heapPage(size, 5).bytes, i * size);
      return bytes;
    };
    const detect = (bytes: Uint8Array) => detectBlockSize(bytesSource(bytes));
    expect(detect(file(1))).toEqual({ blockSize: size, agreeing: 1, pages: 1 });
    const garbled = file(7);
    garbled[19] = 0x77;
    expect(detect(garbled)?.blockSize).toBe(size);
    for (let block = 0; block < 4; block++) garbled[block * size + 19] = 0x77;
    expect(detect(garbled)).toBe(undefined);
    const one = file(1);
    one[18] = 9;
    expect(detect(one)).toBe(undefined);
    expect(detect(new Uint8Array(size * 3))).toBe(undefined);
    expect(detect(new Uint8Array(0))).toBe(undefined);
    expect(detect(Uint8Array.from({ length: size * 4 }, (_, i) => i * 7 + (i >>> 8)))).toBe(undefined);
    const withTail = new Uint8Array(size * 3 + 100);
    withTail.set(file(3));
    expect(detect(withTail)?.blockSize).toBe(size);
    expect([tailBytes(withTail.length, geometry), [...inspectRelation(withTail, { geometry })].length]).toEqual([
      100, 3,
    ]);
  });
});

describe('a large file', () => {
  it('is read here and there only, to the end', () => {
    const page = heapPage(2048, 3).bytes;
    const reads: number[] = [];
    const size = 2 ** 33 + 2048;
    const detected = detectBlockSize({
      size,
      read(position, length) {
        reads.push(position);
        const bytes = new Uint8Array(Math.min(length, size - position));
        for (let at = 0; at + 2048 <= bytes.length; at += 2048) bytes.set(page, at);
        return bytes;
      },
    });
    expect(detected?.blockSize).toBe(2048);
    expect(reads.length).toBeLessThanOrEqual(257);
    expect(reads.at(-1)).toBeGreaterThan(size - 2 ** 26);
  });
});

describe('heapTupleInfomaskFlags', () => {
  it('names flags one by one, and what they mean together', () => {
    expect(heapTupleInfomaskFlags(0x0b02, 0x8002)).toEqual({
      raw_flags: [
        'HEAP_HASVARWIDTH',
        'HEAP_XMIN_COMMITTED',
        'HEAP_XMIN_INVALID',
        'HEAP_XMAX_INVALID',
        'HEAP_ONLY_TUPLE',
      ],
      combined_flags: ['HEAP_XMIN_FROZEN'],
    });
    expect(heapTupleInfomaskFlags(0xffff, 0xffff).raw_flags.length).toBe(19);
    expect(heapTupleInfomaskFlags(0xffff, 0xffff).combined_flags).toEqual([
      'HEAP_XMAX_SHR_LOCK',
      'HEAP_XMIN_FROZEN',
      'HEAP_MOVED',
    ]);
    expect(heapTupleInfomaskFlags(0x4040, 0)).toEqual({
      raw_flags: ['HEAP_XMAX_EXCL_LOCK', 'HEAP_MOVED_OFF'],
      combined_flags: [],
    });
    expect(heapTupleInfomaskFlags(0, 2047)).toEqual({ raw_flags: [], combined_flags: [] });
  });
});

describe('arguments', () => {
  const geometry = BlockGeometry.of(1024);
  it('that are wrong are named', () => {
    expect(() => inspectPage(new Uint8Array(1000), 0, { geometry })).toThrow('1000 bytes are not one block of 1024');
    expect(() => inspectPage(new Uint8Array(1024), 0, { geometry, heapblocks: 1 } as never)).toThrow('"heapBlocks"');
    expect(() => [...inspectRelation(new Uint8Array(0), { geometry, block: 0 })]).toThrow(
      'the file has no whole block',
    );
    expect(() => [...inspectRelation(new Uint8Array(1024), { geometry, block: 0.5 })]).toThrow(RangeError);
    expect([...inspectRelation(new Uint8Array(0), { geometry })]).toEqual([]);
  });
});

describe('byteaHex', () => {
  it('is two digits a byte', () => {
    expect(byteaHex(Uint8Array.of(0, 1, 16, 255))).toBe('\\x000110ff');
    expect((heapPageItems(heapPage(1024, 1).memory, 0, BlockGeometry.of(1024))[0] as HeapItemRecord).t_data).toBe(
      '\\x00000000',
    );
  });
});
