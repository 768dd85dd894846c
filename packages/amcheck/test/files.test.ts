// Faults of a relation's files: pages at the wrong place, in the wrong file, of another kind; segments that are missing,
// short, cut off, unreadable; maps that contradict themselves or the heap.
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { pageChecksum, pageInit, pageSetChecksum, pageStoreChecksum } from '@blockwright/page';
import type { OpenMode, VfsFile } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codesOf, TestPage, TestRelation } from './relation.ts';

/** A page with a special space of so many bytes, and a last word. */
function specialPage(relation: TestRelation, block: number, bytes: number, lastWord: number): TestPage {
  const page = new TestPage(relation.geometry, block);
  pageInit(page.memory, 0, relation.geometry, bytes);
  page.memory.u16[(relation.geometry.size - 2) >> 1] = lastWord;
  return page;
}

describe.each(BLOCK_SIZES)('checksums of pages of %i bytes', (size) => {
  it('are salted with the block number in the relation, not in the segment', () => {
    const relation = new TestRelation(size);
    const segmentBlocks = 4;
    relation.write([0, 1, 2, 3].map((block) => relation.page(block)));
    relation.write([relation.page(4)], '1000.1');
    expect(relation.check({ segmentBlocks }).findings).toEqual([]);
    const wrong = relation.page(4);
    pageSetChecksum(wrong.memory, 0, relation.geometry, 0);
    relation.writeBytes(wrong.memory.u8, '1000.1');
    const { findings } = relation.check({ segmentBlocks });
    expect(findings).toEqual([
      expect.objectContaining({ code: 'page.checksum', file: '1000.1', segment: 1, block: 4, byteOffset: 8 }),
    ]);
    expect(findings[0]?.message).toContain('matches block 0');
  });

  it('of a segment whose first segments are missing are verified, and the gap is said', () => {
    const relation = new TestRelation(size);
    const segmentBlocks = 1 << relation.geometry.segmentShift;
    relation.write([relation.page(segmentBlocks)], '1000.1');
    expect(codesOf(relation.check())).toEqual(['file.missing_segment']);
    relation.write([relation.page(0)], '1000.1');
    expect(codesOf(relation.check())).toEqual([
      'file.missing_segment',
      'page.checksum',
      ...Array(3)
        .fill(0)
        .flatMap((_, i) => [`heap.tuple.ctid_without_update ${i + 1}`]),
    ]);
  });

  it('of two blocks that changed places are both wrong, each with a hint where it belongs', () => {
    const relation = new TestRelation(size);
    const pages = [0, 1, 2, 3].map((block) => relation.page(block));
    relation.write(pages);
    relation.writeBytes(pages[1].memory.u8, '1000', 3 * size).writeBytes(pages[3].memory.u8, '1000', size);
    const wrong = relation.check().findings.filter(({ code }) => code === 'page.checksum');
    expect(wrong.map(({ block, message }) => [block, /matches block (\d+)/.exec(message)?.[1]])).toEqual([
      [1, '3'],
      [3, '1'],
    ]);
  });

  it('are not judged where there are none', () => {
    const relation = new TestRelation(size);
    const page = relation.page();
    relation.write([page]);
    pageStoreChecksum(page.memory, 0, pageChecksum(page.memory, 0, relation.geometry, 0) ^ 1);
    relation.writeBytes(page.memory.u8);
    expect(codesOf(relation.check())).toEqual(['page.checksum']);
    const { findings, summaries } = relation.check({ checksums: false });
    expect(findings).toEqual([]);
    expect(summaries[0]).toMatchObject({ pages: 1, checksums: 0 });
  });

  it('find any changed byte, random blocks, and zero pages none', () => {
    const relation = new TestRelation(size).write([0, 1].map((block) => new TestRelation(size).page(block)));
    const { vfs } = relation;
    const good = vfs.readFile('/d/1000');
    fc.assert(
      fc.property(fc.nat(2 * size - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bad = good.slice();
        bad[at] ^= change;
        relation.writeBytes(bad);
        expect(relation.check().findings.filter(({ severity }) => severity === 'error')).not.toEqual([]);
      }),
      { numRuns: 50 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: size, maxLength: size }), (bytes) => {
        relation.writeBytes(good).writeBytes(bytes, '1000', size);
        const { findings } = relation.check();
        if (bytes.some((byte) => byte !== 0)) expect(findings.every(({ block }) => block === 1)).toBe(true);
        expect(findings.length > 0).toBe(true);
      }),
      { numRuns: 25 },
    );
    relation.writeBytes(good).writeBytes(new Uint8Array(size), '1000', size);
    expect(relation.check()).toMatchObject({
      findings: [{ code: 'page.zero', severity: 'info', block: 1 }],
      summaries: [{ pages: 2, zeroPages: 1, checksums: 1, errors: 0, warnings: 0 }],
    });
  });
});

describe.each(BLOCK_SIZES)('files of pages of %i bytes', (size) => {
  const two = (): TestRelation => {
    const relation = new TestRelation(size);
    return relation.write([relation.page(0), relation.page(1)]);
  };

  it('whose size is no multiple of the block: whole blocks are checked, the tail is said', () => {
    const relation = two().writeBytes(Uint8Array.of(1, 2, 3), '1000', 2 * size);
    expect(relation.check()).toMatchObject({
      findings: [{ code: 'file.partial_block', file: '1000', byteOffset: 2 * size }],
      summaries: [{ pages: 2, errors: 1 }],
    });
  });

  it('that are empty are fine, and those of no kind known here are left at header and checksum', () => {
    expect(new TestRelation(size).writeBytes(new Uint8Array(0)).check()).toMatchObject({
      findings: [],
      summaries: [{ kind: 'empty', pages: 0 }],
    });
    const relation = new TestRelation(size);
    relation.write([0, 1].map((block) => specialPage(relation, block, 24, 0xbeef)));
    const { findings, summaries } = relation.check({ descriptor: undefined });
    expect(findings).toEqual([]);
    expect(summaries).toMatchObject([{ kind: 'unknown', pages: 2, checksums: 2, tuples: 0, linePointers: 0 }]);
  });

  it('of a table hold a page with a special space: it is no plain heap page, and no tuples are made up', () => {
    const relation = new TestRelation(size);
    relation.write([relation.page(0), specialPage(relation, 1, 16, 0), specialPage(relation, 2, 8, 0xff82)]);
    for (const options of [{}, { descriptor: undefined }]) {
      const { findings, summaries } = relation.check(options);
      expect(findings.map(({ code, block }) => [code, block])).toEqual([
        ['page.other_kind', 1],
        ['page.other_kind', 2],
      ]);
      expect(findings[0]?.message).toContain('not a plain heap page');
      expect(summaries).toMatchObject([{ kind: 'heap', tuples: 3 }]);
    }
  });

  it('of several segments: a missing, a short, a too long one, and one of a number that cannot be', () => {
    const blocks = (relation: TestRelation, first: number, count: number) =>
      Array.from({ length: count }, (_, i) => relation.page(first + i));
    const relation = new TestRelation(size);
    const segmentBlocks = 2;
    relation.write(blocks(relation, 0, 2)).write(blocks(relation, 4, 1), '1000.2');
    const gap = relation.check({ segmentBlocks });
    expect(gap.findings).toMatchObject([{ code: 'file.missing_segment', file: '1000.2', segment: 2 }]);
    expect(gap.findings[0]?.message).toContain('segment 1 is missing');
    expect(gap.summaries.map(({ pages }) => pages)).toEqual([2, 1]);
    relation.write(blocks(relation, 2, 1), '1000.1');
    expect(relation.check({ segmentBlocks }).findings).toMatchObject([{ code: 'file.short_segment', segment: 2 }]);
    relation.write(blocks(relation, 2, 3), '1000.1');
    expect(relation.check({ segmentBlocks }).findings).toMatchObject([{ code: 'file.segment_too_long', segment: 1 }]);
    relation.write(blocks(relation, 0, 1), '1000.4294967295');
    expect(codesOf(relation.check({ segmentBlocks }))).toContain('file.segment_out_of_range');
  });

  it('of block numbers beyond 2^31, up to the last: each page is salted with its own, and named by it', () => {
    const segmentBlocks = 2;
    for (const block of [2 ** 31 - 2, 2 ** 31, 2 ** 32 - 2]) {
      const name = `1000.${block / segmentBlocks}`;
      const relation = new TestRelation(size);
      const page = relation.page(block, 2);
      expect(codesOf(relation.write([page], name).check({ segmentBlocks }))).toEqual(['file.missing_segment']);
      page.memory.u8[size - 1] ^= 1;
      relation.writeBytes(page.memory.u8, name);
      const { findings, summaries } = relation.check({ segmentBlocks });
      expect(findings.find(({ code }) => code === 'page.checksum')).toMatchObject({ block, file: name });
      expect(summaries).toMatchObject([{ pages: 1, segment: block / segmentBlocks }]);
    }
  });

  it('that truncation left empty behind a short segment are fine', () => {
    const relation = two().writeBytes(new Uint8Array(0), '1000.1').writeBytes(new Uint8Array(0), '1000.2');
    expect(relation.check({ segmentBlocks: 4 }).findings).toEqual([]);
  });

  it('with maps, and no main file', () => {
    const relation = new TestRelation(size).writeMap([]);
    expect(codesOf(relation.check())).toEqual(['file.missing_main']);
    relation.writeBytes(new Uint8Array(0), '1000_init');
    expect(codesOf(relation.check())).toEqual(['file.missing_main']);
    expect(codesOf(new TestRelation(size).writeBytes(new Uint8Array(0), '1000_init').check())).toEqual([]);
  });

  it('that are a directory, or cannot be opened, are findings, and the others are checked', () => {
    const relation = two().writeMap([]);
    relation.vfs.mkdir('/d/1000_fsm');
    relation.vfs.plant({ operation: 'open', path: '1000_vm', errno: 'EACCES' });
    const { findings, summaries } = relation.check();
    expect(findings).toMatchObject([
      { code: 'file.unreadable', file: '1000_vm', fork: 'vm' },
      { code: 'file.is_directory', file: '1000_fsm', fork: 'fsm' },
    ]);
    expect(summaries).toMatchObject([{ pages: 2, tuples: 6 }, { errors: 1 }, { errors: 1 }]);
  });

  it('that are no regular files are not opened, which could wait for ever', () => {
    const relation = two().writeBytes(new Uint8Array(0), '1000_fsm');
    const { vfs } = relation;
    vfs.plant({ operation: 'open', path: '1000_fsm', errno: 'EIO' });
    const stat = vfs.stat.bind(vfs);
    const pipe = { size: 0, isDirectory: false, isFile: false, modifiedMs: 0 };
    vfs.stat = (path) => (path.endsWith('_fsm') ? pipe : stat(path));
    expect(relation.check().findings).toMatchObject([{ code: 'file.not_regular', file: '1000_fsm', fork: 'fsm' }]);
  });

  it('of which some blocks cannot be read: those are findings, the rest is checked', () => {
    const relation = two();
    relation.vfs.plant({ operation: 'read', path: '/d/1000', errno: 'EIO', times: 2 }); // the run, then block 0 alone
    expect(relation.check()).toMatchObject({
      findings: [{ code: 'page.unreadable', block: 0 }],
      summaries: [{ pages: 1, tuples: 3 }],
    });
  });

  it('that become shorter while they are read are in use', () => {
    const relation = two();
    relation.vfs.plant({ operation: 'read', path: '/d/1000', bytes: size });
    relation.vfs.plant({ operation: 'read', path: '/d/1000', bytes: 0, nth: 2 });
    expect(codesOf(relation.check())).toEqual(['file.cut_short']);
  });
});

/** A file system in which a file's block changes at each reading, so many times. */
class ChangingVfs extends MemoryVfs {
  changes: number = 0;
  override open(path: string, mode: OpenMode): VfsFile {
    const file = super.open(path, mode);
    if (path !== '/d/1000') return file;
    const read = file.read.bind(file);
    file.read = (dest, at, length, position) => {
      const count = read(dest, at, length, position);
      if (this.changes > 0) dest[at + length - 1] ^= this.changes--; // in the last block that was asked for
      return count;
    };
    return file;
  }
}

describe('a page that is being written while it is read', () => {
  const changing = (size: BlockSize, changes: number): TestRelation => {
    const relation = new TestRelation(size);
    const vfs = new ChangingVfs();
    vfs.mkdir('/d');
    Object.assign(relation, { vfs });
    relation.write([relation.page(0), relation.page(1)]);
    vfs.changes = changes;
    return relation;
  };

  it.each(BLOCK_SIZES)('is read again until it holds still, at %i', (size) => {
    expect(changing(size, 1).check().findings).toEqual([]);
    expect(changing(size, 3).check().findings).toEqual([]);
  });

  it.each(BLOCK_SIZES)('is in flight when it never does, at %i: no error', (size) => {
    const { findings, summaries } = changing(size, 100).check();
    expect(findings).toMatchObject([{ code: 'page.in_flight', severity: 'warning', block: 1 }]);
    expect(summaries).toMatchObject([{ errors: 0, warnings: 1 }]);
  });
});

describe.each(BLOCK_SIZES)('maps of pages of %i bytes', (size) => {
  const withMap = (bits: readonly number[]): TestRelation => {
    const relation = new TestRelation(size);
    return relation.write([relation.page(0), relation.page(1)]).writeMap(bits);
  };

  it('have bits for blocks beyond the heap, or all-frozen without all-visible', () => {
    expect(codesOf(withMap([0, 0, 1, 3, 0, 2]).check())).toEqual(['map.frozen_without_visible', 'map.beyond_heap']);
    const { findings } = withMap([0, 0, 1, 3]).check();
    expect(findings[0]?.message).toBe("3 bits are set for heap blocks beyond the heap's 2");
    expect(codesOf(withMap([2, 0]).check())).toContain('map.frozen_without_visible');
  });

  it('have a header that is not a map page’s', () => {
    const relation = withMap([]);
    const page = new TestPage(relation.geometry, 0);
    page.memory.u16[6] += 4;
    expect(codesOf(relation.write([page], '1000_vm').check())).toEqual(['map_page.header.bounds']);
    const flagged = new TestPage(relation.geometry, 0);
    flagged.memory.u16[5] = 1;
    flagged.memory.u32[5] = 9;
    expect(codesOf(relation.write([flagged], '1000_vm').check())).toEqual([
      'map_page.header.flags',
      'map_page.header.prune_xid',
    ]);
  });

  it('that are damaged promise nothing', () => {
    const relation = withMap([1]);
    const page = new TestPage(relation.geometry, 0);
    page.memory.u8[24] = 1;
    relation.writeBytes(page.memory.u8, '1000_vm'); // without its checksum
    expect(codesOf(relation.check())).toEqual(['map_page.checksum']);
  });

  it('of free space whose tree contradicts itself cost time only', () => {
    const relation = withMap([]);
    const page = new TestPage(relation.geometry, 0);
    page.memory.u8[28] = 77;
    expect(relation.write([page], '1000_fsm').check().findings).toMatchObject([
      { code: 'free_space.tree', severity: 'warning', fork: 'fsm' },
    ]);
  });
});

describe('random damage', () => {
  it.each(BLOCK_SIZES)('of any file ends in findings, at %i', (size) => {
    const make = (): TestRelation => {
      const relation = new TestRelation(size);
      relation.write([0, 1, 2].map((block) => relation.page(block, 5))).writeMap([1, 1, 0]);
      return relation.write([new TestPage(relation.geometry, 0)], '1000_fsm');
    };
    const damage = fc.record({
      name: fc.constantFrom('1000', '1000_vm', '1000_fsm'),
      at: fc.nat(3 * size),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 64 }),
    });
    fc.assert(
      fc.property(
        fc.array(damage, { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        fc.boolean(),
        (damages, checksums, known) => {
          const relation = make();
          for (const { name, at, bytes } of damages) relation.writeBytes(bytes, name, at);
          const { summaries } = relation.check(known ? { checksums } : { checksums, descriptor: undefined });
          expect(summaries).toHaveLength(3);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('leaves every file as it was', () => {
    const relation = new TestRelation(8192);
    relation.write([relation.page(0)]).writeMap([1]);
    const before = ['1000', '1000_vm'].map((name) => relation.vfs.readFile(`/d/${name}`));
    relation.vfs.recording = true;
    relation.vfs.journal.length = 0;
    relation.check();
    expect(
      relation.vfs.journal.filter(({ operation }) => !['open', 'stat', 'size', 'read', 'readdir'].includes(operation)),
    ).toEqual([]);
    expect(['1000', '1000_vm'].map((name) => relation.vfs.readFile(`/d/${name}`))).toEqual(before);
  });
});
