// What the mask takes from a page, byte by byte: what replay need not bring back, and nothing else. And the init fork, from
// which recovery makes an unlogged index.
import { RedoPages, Relation } from '@blockwright/access';
import { ForkNumber } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  LP_DEAD,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  pageIsZero,
  pageLower,
  pageMaxOffset,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { RM_XLOG, WalReader } from '@blockwright/wal';
import { describe, expect, it } from 'vitest';
import { btreeBuildEmpty } from '../src/init-fork.ts';
import { maskBtreePage } from '../src/mask.ts';
import { readMeta } from '../src/meta.ts';
import {
  BTP_HAS_GARBAGE,
  BTP_SPLIT_END,
  btFlags,
  btIsDeleted,
  btIsLeaf,
  setBtCycleId,
  setBtFlags,
} from '../src/page.ts';
import { history } from './history.ts';
import { IndexBench, pageCopy } from './vacuum-bench.ts';

describe.each(BLOCK_SIZES)('the mask of a page of %i bytes', (size) => {
  it('takes hints and unused space, and not a bit more', () => {
    const bench = history(size);
    const { index, pool, geometry: g } = bench;
    const kinds = new Set<string>();
    for (let block = 0; block < index.main.blockCount(); block++) {
      const page = pageCopy(pool, index, block);
      if (pageIsZero(page, 0, g)) continue;
      const isLeaf = btIsLeaf(page, 0, size) && !btIsDeleted(page, 0, size);
      kinds.add(block === 0 ? 'meta' : btIsDeleted(page, 0, size) ? 'deleted' : isLeaf ? 'leaf' : 'internal');
      const masked = maskedCopy(page, size);
      const hinted = copyOf(page);
      hinted.u8.fill(7, 0, 10); // LSN and checksum
      hinted.u16[5] |= 7;
      hinted.u32[5] = 77;
      hinted.u8.fill(7, pageLower(page, 0), pageUpper(page, 0));
      setBtFlags(hinted, 0, size, btFlags(page, 0, size) | BTP_HAS_GARBAGE | BTP_SPLIT_END);
      setBtCycleId(hinted, 0, size, 77);
      for (let o = 1; isLeaf && o <= pageMaxOffset(page, 0); o++) {
        const lp = linePointer(page, 0, o);
        expect(lpFlags(lp)).not.toBe(0);
        setLinePointer(hinted, 0, o, makeLinePointer(lpOffset(lp), LP_DEAD, lpLength(lp)));
      }
      expect(Buffer.compare(maskedCopy(hinted, size), masked)).toBe(0);
      // And each other byte counts: of line pointers all but the two bits of a leaf's flags, of flags all but two.
      for (let at = 12; at < size; at++) {
        if ((at >= 20 && at < 24) || (at >= pageLower(page, 0) && at < pageUpper(page, 0)) || at >= size - 2) continue;
        if (at >= 12 && at < 20) continue; // bounds: a page with others is another page
        if (at % 499 !== block % 499 && at > 40 && at < size - 16) continue;
        const other = copyOf(page);
        const bit = at === size - 4 ? 1 : isLeaf && at < pageLower(page, 0) ? 2 : 16;
        other.u8[at] ^= bit;
        expect(Buffer.compare(maskedCopy(other, size), masked), `byte ${at}`).not.toBe(0);
      }
    }
    expect([...kinds].sort()).toEqual(['deleted', 'internal', 'leaf', 'meta']);
    bench.close();
  });
});

function copyOf(page: PageMemory): PageMemory {
  const u8 = page.u8.slice();
  return { u8, u16: new Uint16Array(u8.buffer), u32: new Uint32Array(u8.buffer) } as PageMemory;
}

function maskedCopy(page: PageMemory, size: number): Uint8Array {
  const copy = copyOf(page);
  maskBtreePage(copy, 0, BlockGeometry.of(size as BlockSize));
  return copy.u8;
}

describe.each(BLOCK_SIZES)('an unlogged index of %i-byte blocks', (size) => {
  it('has an init fork that is logged, and nothing else that is', () => {
    const bench = new IndexBench(size, { unlogged: true });
    const { index, geometry, wal } = bench;
    index.relation.init.create();
    btreeBuildEmpty(index);
    for (let i = 0; i < 100; i++) bench.insert(i);
    bench.delete((key) => key < 50);
    bench.check();
    wal.flush(wal.insertedUpTo);

    const vfs = new MemoryVfs();
    for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
    const storage = new StorageManager({ vfs, directory: '/data', geometry });
    const pool = new BufferPool({ geometry, buffers: 16 });
    const pages = new RedoPages({ pool, storage });
    const reader = new WalReader({ vfs: bench.vfs, directory: '/data/wal', segmentSize: 1 << 20, incarnation: 1 });
    reader.seek(bench.start);
    let records = 0;
    for (; reader.next(); records++) {
      expect(reader.record).toMatchObject({ rmgr: RM_XLOG, blockCount: 1 });
      expect(reader.record.fork[0]).toBe(ForkNumber.init);
      pages.fetch(reader.record, 0);
      pages.release(pages.buffer);
    }
    reader.close();
    expect(records).toBe(1);
    const { locator } = index.relation.storage;
    const relation = new Relation({ pool, storage: storage.open(locator as never), name: 't' });
    expect(relation.main.exists()).toBe(false);
    expect(relation.init.blockCount()).toBe(1);
    pool.withPage(relation.init, 0, (m, base) => {
      expect(readMeta(m, base)).toMatchObject({ root: 0, level: 0, fastroot: 0, version: 4, allequalimage: true });
    });
    bench.close();
  });
});
