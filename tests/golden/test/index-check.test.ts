// The indexes that PostgreSQL wrote, checked with their tables: clean as they are; broken one way after the other, each is
// found and named, and ends.
import { readFileSync } from 'node:fs';
import { type Finding, runSync } from '@blockwright/base';
import { checkPath } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  btFlags,
  btIsLeaf,
  btLevel,
  btNext,
  downlink,
  firstDataKey,
  isPosting,
  nthTidAt,
  postingCount,
  readMeta,
} from '@blockwright/nbtree';
import {
  itemPosition,
  linePointer,
  lpLength,
  type PageMemory,
  pageIndexTupleDelete,
  pageIsNew,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
  setLinePointer,
} from '@blockwright/page';
import { indexTupleSize, setIndexTupleTid } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';
import { expected, pgData, relations } from './fixtures.ts';

/** One index of a fixture, in memory, to be broken. */
class BrokenIndex {
  readonly m: PageMemory;
  readonly blocks: number;
  private readonly world: World;
  private readonly path: string;

  constructor(world: World, path: string) {
    this.world = world;
    this.path = path;
    this.m = pageMemory(new Uint8Array(world.bytes(path)).buffer as ArrayBuffer);
    this.blocks = this.m.u8.length / world.size;
  }

  base(block: number): number {
    return block * this.world.size;
  }

  /** Blocks of a level, from left to right. */
  level(level: number): number[] {
    const { size } = this.world;
    let block = readMeta(this.m, 0).root;
    while (btLevel(this.m, this.base(block), size) > level) {
      const base = this.base(block);
      block = downlink(this.m, itemPosition(this.m, base, firstDataKey(this.m, base, size)));
    }
    const blocks: number[] = [];
    for (; block !== 0; block = btNext(this.m, this.base(block), size)) blocks.push(block);
    return blocks;
  }

  get root(): number {
    return readMeta(this.m, 0).root;
  }

  get depth(): number {
    return readMeta(this.m, 0).level;
  }

  item(block: number, offset: number): number {
    return itemPosition(this.m, this.base(block), offset);
  }

  last(block: number): number {
    return pageMaxOffset(this.m, this.base(block));
  }

  firstItem(block: number): number {
    return firstDataKey(this.m, this.base(block), this.world.size);
  }

  /** Special area, so many bytes from its start. */
  special(block: number, byte: number): number {
    return this.base(block) + this.world.size - 16 + byte;
  }

  setLink(block: number, which: 'prev' | 'next', value: number): void {
    this.m.u32[this.special(block, which === 'prev' ? 0 : 4) >>> 2] = value;
  }

  check(): Finding[] {
    const { geometry, size } = this.world;
    for (let block = 0; block < this.blocks; block++) {
      if (!pageIsNew(this.m, this.base(block))) pageSetChecksum(this.m, this.base(block), geometry, block);
    }
    return this.world.check(this.path, this.m.u8.slice(0, this.blocks * size));
  }

  codes(): string[] {
    return [...new Set(this.check().map(({ code }) => code))];
  }
}

/** A fixture's directory in memory. */
class World {
  readonly size: BlockSize;
  readonly geometry: BlockGeometry;
  private readonly vfs = new MemoryVfs();
  private readonly files = new Map<string, Uint8Array>();
  private readonly root: string;

  constructor(size: BlockSize) {
    this.size = size;
    this.geometry = BlockGeometry.of(size);
    this.root = pgData(size);
    this.vfs.recording = false;
    const put = (path: string): void => {
      const bytes = new Uint8Array(readFileSync(`${this.root}/${path}`));
      this.files.set(path, bytes);
      this.write(path, bytes);
    };
    for (const path of ['PG_VERSION', 'global/pg_control', 'global/pg_filenode.map', 'pg_xact/0000']) put(path);
    put('pg_multixact/offsets/0000');
    put('pg_multixact/members/0000');
    put(`${relations(size)[0].path.replace(/\d+$/, '')}pg_filenode.map`);
    for (const { path } of relations(size)) put(path);
  }

  private write(path: string, bytes: Uint8Array): void {
    const full = `${this.root}/${path}`;
    const parts = full.split('/');
    for (let i = 2; i < parts.length; i++) {
      const directory = parts.slice(0, i).join('/');
      if (!this.vfs.exists(directory)) this.vfs.mkdir(directory);
    }
    const file = this.vfs.open(full, 'create');
    file.truncate(0);
    file.write(bytes, 0, bytes.length, 0);
    file.close();
  }

  bytes(path: string): Uint8Array {
    return this.files.get(path) as Uint8Array;
  }

  pathOf(name: string): string {
    return relations(this.size).find((one) => one.name === name)?.path as string;
  }

  index(name: string): BrokenIndex {
    return new BrokenIndex(this, this.pathOf(name));
  }

  /** Checks one file with other bytes, which are then put back. */
  check(path: string, bytes: Uint8Array): Finding[] {
    this.write(path, bytes);
    const findings: Finding[] = [];
    runSync(checkPath(`${this.root}/${path}`, (finding) => findings.push(finding), { vfs: this.vfs }));
    this.write(path, this.bytes(path));
    return findings;
  }

  counts(path: string): { indexTuples: number; heldEntries: number } {
    return runSync(checkPath(`${this.root}/${path}`, () => {}, { vfs: this.vfs })).files[0];
  }
}

describe.each(BLOCK_SIZES)('indexes of a server of %i-byte blocks', (size) => {
  const world = new World(size);
  const words = (): BrokenIndex => world.index('words_w');

  it('are clean, and each of their entries was held against its row', () => {
    let held = 0;
    for (const { name, kind, path } of relations(size)) {
      if (kind !== 'i') continue;
      expect([name, world.check(path, world.bytes(path))]).toEqual([name, []]);
      const rows =
        name.startsWith('pg_toast') || /^(crossing|lineitem)/.test(name)
          ? []
          : expected<{ tids: string[] | null; htid: string | null; dead: boolean | null }>(
              size,
              `${name}.items.jsonl.gz`,
            );
      const entries = rows.reduce((sum, { tids, dead }) => sum + (dead === false ? (tids?.length ?? 1) : 0), 0);
      const counts = world.counts(path);
      if (rows.length > 0) expect(counts).toMatchObject({ indexTuples: rows.length, heldEntries: entries });
      held += counts.heldEntries;
    }
    expect(held).toBeGreaterThan(10_000);
  });

  it('that lack one entry: the heap tuple is named', () => {
    const index = world.index('vacuumed_id');
    const [, leaf] = index.level(0);
    const tid = index.m.u16.slice(index.item(leaf, 3) >>> 1, (index.item(leaf, 3) >>> 1) + 3);
    pageIndexTupleDelete(index.m, index.base(leaf), world.geometry, 3);
    const findings = index.check();
    expect(findings.map(({ code }) => code)).toEqual(['btree.heap_tuple_lacks_entry']);
    expect(findings[0].message).toContain(
      `heap tuple (${tid[1]},${tid[2]}) from table "vacuumed" lacks matching index tuple`,
    );
  });

  it('that lead to an unused line pointer, a heap-only tuple, or beyond the line pointers or the table', () => {
    const breakEntry = (name: string, block: number, offset: number): string[] => {
      const index = world.index(name);
      const [leaf] = index.level(0).slice(-1);
      setIndexTupleTid(index.m, index.item(leaf, index.last(leaf)), block, offset);
      return index.codes();
    };
    const items = expected<{ block: number; lp: number; lp_flags: number; t_infomask2: number | null }>(
      size,
      'vacuumed.items.jsonl.gz',
    );
    const unused = items.find(({ lp_flags }) => lp_flags === 0);
    if (unused) expect(breakEntry('vacuumed_id', unused.block, unused.lp)).toContain('btree.entry.unused_line_pointer');
    const churn = expected<{ block: number; lp: number; t_infomask2: number | null }>(size, 'churn.items.jsonl.gz');
    const heapOnly = churn.find(({ t_infomask2 }) => t_infomask2 !== null && (t_infomask2 & 0x8000) !== 0);
    expect(unused ?? heapOnly).toBeDefined();
    if (heapOnly)
      expect(breakEntry('churn_pkey', heapOnly.block, heapOnly.lp)).toContain('btree.entry.heap_only_tuple');
    expect(breakEntry('vacuumed_id', 1, world.geometry.maxHeapTuplesPerPage)).toContain(
      'btree.entry.beyond_line_pointers',
    );
    expect(breakEntry('vacuumed_id', 0x7fff_ffff, 1)).toContain('btree.entry.beyond_heap');
    expect(breakEntry('vacuumed_id', 1, 1)).toContain('btree.heap_tuple_lacks_entry');
  });

  it('with a posting list that is out of order, or is not one', () => {
    const find = (index: BrokenIndex): { leaf: number; offset: number; pos: number } => {
      for (const leaf of index.level(0)) {
        for (let offset = index.firstItem(leaf); offset <= index.last(leaf); offset++) {
          const pos = index.item(leaf, offset);
          if (isPosting(index.m, pos) && postingCount(index.m, pos) > 2) return { leaf, offset, pos };
        }
      }
      throw new Error('no posting list');
    };
    const swapped = words();
    const { leaf, offset, pos } = find(swapped);
    swapped.m.u16.copyWithin(
      nthTidAt(swapped.m, pos, 1) >>> 1,
      nthTidAt(swapped.m, pos, 0) >>> 1,
      nthTidAt(swapped.m, pos, 1) >>> 1,
    );
    expect(swapped.check()).toContainEqual(
      expect.objectContaining({ code: 'btree.posting.misplaced_tid', block: leaf, offsetNumber: offset }),
    );
    const longer = words();
    longer.m.u16[(pos >>> 1) + 2] += 40;
    expect(longer.codes()).toContain('btree.posting.bounds');
  });

  it('whose sibling links lead to themselves, out of range, back, or past a page: the check ends', () => {
    const index = (): BrokenIndex => world.index('vacuumed_id');
    const [first, second, third] = index().level(0);
    const withLink = (block: number, which: 'prev' | 'next', value: number): string[] => {
      const one = index();
      one.setLink(block, which, value);
      return one.codes();
    };
    expect(withLink(first, 'next', first)).toContain('btree.sibling.itself');
    expect(withLink(first, 'next', index().blocks)).toContain('btree.sibling.right_link_out_of_range');
    expect(withLink(first, 'next', 0xffff_ffff)).toContain('btree.sibling.right_link_out_of_range');
    expect(withLink(second, 'next', first)).toContain('btree.sibling.linked_twice');
    expect(withLink(second, 'prev', second)).toContain('btree.sibling.left_link');
    expect(withLink(second, 'prev', 0xffff_fffe)).toContain('btree.sibling.left_link');
    if (third === undefined) return;
    const past = withLink(first, 'next', third);
    expect(past).toEqual(expect.arrayContaining(['btree.downlink.not_in_chain', 'btree.sibling.left_link']));
  });

  it('with a flipped byte at the end of a separator above the leaves, found from the root', () => {
    for (const name of ['vacuumed_id', 'churn_pkey', 'words_w', 'words_desc']) {
      const index = world.index(name);
      if (index.depth === 0) continue;
      const pos = index.item(index.root, index.firstItem(index.root) + 1);
      index.m.u8[pos + indexTupleSize(index.m, pos) - 1] ^= 1;
      expect([name, index.codes()]).toEqual([name, expect.arrayContaining(['btree.downlink.high_key'])]);
    }
  });

  it('with items out of order, within a page and across pages', () => {
    const index = world.index('vacuumed_id');
    const [, leaf] = index.level(0);
    const base = index.base(leaf);
    const [a, b] = [linePointer(index.m, base, 3), linePointer(index.m, base, 4)];
    setLinePointer(index.m, base, 3, b);
    setLinePointer(index.m, base, 4, a);
    expect(index.check()).toContainEqual(
      expect.objectContaining({ code: 'btree.order.within_page', block: leaf, offsetNumber: 3 }),
    );
    const across = world.index('vacuumed_id');
    across.m.u8[across.item(leaf, 2) + 8 + 7] ^= 0x80; // the sign: far below
    expect(across.codes()).toEqual(expect.arrayContaining(['btree.order.across_pages', 'btree.entry.other_key']));
  });

  it('with two visible rows of one key, in a unique index', () => {
    const index = world.index('vacuumed_id');
    const [leaf] = index.level(0);
    const from = index.item(leaf, 5) + 8;
    index.m.u8.copyWithin(
      index.item(leaf, 6) + 8,
      from,
      from + lpLength(linePointer(index.m, index.base(leaf), 5)) - 8,
    );
    expect(index.codes()).toEqual(expect.arrayContaining(['btree.unique.violated', 'btree.entry.other_key']));
  });

  it('with wrong levels, flags, downlinks, pages that are lost, and a wrong meta page', () => {
    const index = (): BrokenIndex => world.index('vacuumed_id');
    const [first, second] = index().level(0);
    const broken = (change: (one: BrokenIndex) => void): string[] => {
      const one = index();
      change(one);
      return one.codes();
    };
    expect(broken((one) => (one.m.u32[one.special(second, 8) >>> 2] = 1))).toContain('btree.page.level');
    expect(broken((one) => (one.m.u16[one.special(second, 12) >>> 1] ^= 1))).toContain('btree.page.leaf_flag');
    expect(broken((one) => (one.m.u16[one.special(second, 12) >>> 1] |= 2))).toContain('btree.page.root_flag');
    expect(broken((one) => (one.m.u16[one.special(second, 12) >>> 1] |= 4))).toContain('btree.link.deleted_page');
    expect(broken((one) => (one.m.u16[one.special(second, 12) >>> 1] |= 8))).toContain('btree.page.flags');
    expect(broken((one) => (one.m.u16[one.special(second, 12) >>> 1] |= 256))).toContain('btree.page.flags');
    expect(broken((one) => (one.m.u16[one.special(first, 12) >>> 1] |= 128))).toContain('btree.page.incomplete_split');
    const child = (one: BrokenIndex): number => {
      const [parent] = one.level(1);
      return one.item(parent, one.firstItem(parent) + 1);
    };
    expect(broken((one) => (one.m.u16[(child(one) >>> 1) + 1] = 0x7fff))).toContain('btree.downlink.missing');
    expect(broken((one) => (one.m.u16[(child(one) >>> 1) + 1] = 0))).toContain('btree.downlink.not_in_chain');
    expect(broken((one) => (one.m.u16[(child(one) >>> 1) + 2] = 0))).toContain('btree.tuple.natts');
    expect(broken((one) => (one.m.u32[(24 + 8) >>> 2] = 0xffff))).toContain('btree.meta.root');
    expect(broken((one) => (one.m.u32[24 >>> 2] ^= 1))).toContain('btree.meta.magic');
    expect(broken((one) => (one.m.u32[(24 + 4) >>> 2] = 9))).toContain('btree.meta.version');
    expect(broken((one) => (one.m.u32[(24 + 16) >>> 2] = second))).toContain('btree.meta.fastroot');
    expect(broken((one) => one.m.u8.fill(0, one.base(second), one.base(second + 1)))).toContain('btree.link.no_page');
  });

  it('with a page of zeros at the end: it is free', () => {
    const path = world.pathOf('words_w');
    const bytes = new Uint8Array(world.bytes(path).length + size);
    bytes.set(world.bytes(path));
    expect(world.check(path, bytes)).toEqual([]);
  });

  it('and a copy of a leaf at the end is found to be reached by nothing', () => {
    const path = world.pathOf('words_w');
    const index = words();
    const leaf = index.level(0).find((block) => btIsLeaf(index.m, index.base(block), size)) as number;
    expect(btFlags(index.m, index.base(leaf), size) & 1).toBe(1);
    const bytes = new Uint8Array(world.bytes(path).length + size);
    bytes.set(world.bytes(path));
    bytes.copyWithin(world.bytes(path).length, index.base(leaf), index.base(leaf) + size);
    pageSetChecksum(pageMemory(bytes.buffer as ArrayBuffer), world.bytes(path).length, world.geometry, index.blocks);
    expect(world.check(path, bytes).map(({ code }) => code)).toEqual(['btree.page.not_reached']);
  });
});
