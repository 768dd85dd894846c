// What may differ after a replay is masked, and not one bit more: every bit of a page is flipped, and the masked pages are
// compared with what the list in PostgreSQL's heap_mask lets through.
import { BLOCK_SIZES } from '@blockwright/geometry';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageLower,
  pageMaxOffset,
  pageMemory,
  pageUpper,
} from '@blockwright/page';
import { isXminFrozen, tupleInfomask } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { heapMarkAllVisible, maskReplayedHeapPage } from '../src/index.ts';
import { WritingBench } from './writing-bench.ts';

/** A page with frozen tuples, one updated, one deleted, one locked, a redirect and a dead line pointer. */
function pageOf(bench: WritingBench): PageMemory {
  const { writer } = bench;
  bench.run((tx) => {
    for (let id = 1; id <= 5; id++) writer.insert(tx, [id, 0, 'x'.repeat(id)]);
  });
  bench.run((tx, snapshot) => {
    writer.update(tx, 0, 1, [1, 1, 'yy'], snapshot, true);
    writer.delete(tx, 0, 2, snapshot);
  });
  heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true);
  bench.run((tx, snapshot) => {
    writer.update(tx, 0, 6, [1, 2, 'zzz'], snapshot, true);
    writer.delete(tx, 0, 3, snapshot);
    writer.lock(tx, 0, 4, 'share', snapshot);
    writer.insert(tx, [7, 0, '']);
  });
  const { pool, relation, geometry } = bench;
  return pool.withPage(relation.main, 0, (m, base) => pageMemory(m.u8.slice(base, base + geometry.size).buffer));
}

/** Whether bit `bit` of byte `at` may differ. */
function isMasked(m: PageMemory, at: number, bit: number): boolean {
  if (at < 10 || (at >= 20 && at < 24)) return true; // pd_lsn, pd_checksum; pd_prune_xid
  if (at === 10) return bit < 3; // the flags
  if (at >= pageLower(m, 0) && at < pageUpper(m, 0)) return true;
  for (let o = 1; o <= pageMaxOffset(m, 0); o++) {
    const lp = linePointer(m, 0, o);
    if (lpFlags(lp) !== LP_NORMAL) continue;
    const start = lpOffset(lp);
    const end = start + lpLength(lp);
    if (at >= end && at < ((end + 7) & ~7)) return true; // padding
    if (at < start || at >= end) continue;
    const field = at - start;
    if (field >= 8 && field < 12) return true; // t_cid
    if (field !== 20 && field !== 21) return false;
    const infomask = tupleInfomask(m, start);
    const flipped = 1 << (bit + (field === 21 ? 8 : 0));
    const frozen = isXminFrozen(infomask);
    if (isXminFrozen(infomask ^ flipped) !== frozen) return false;
    return (flipped & (frozen ? 0x0c00 : 0xfff0)) !== 0;
  }
  return false;
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('masks what may differ after a replay, bit by bit, and no other', () => {
    const bench = new WritingBench(size);
    const page = pageOf(bench);
    const masked = pageMemory(page.u8.slice().buffer);
    maskReplayedHeapPage(masked, 0, bench.geometry);
    const copy = pageMemory(new ArrayBuffer(size));
    const lower = pageLower(page, 0);
    const upper = pageUpper(page, 0);
    const wrong: string[] = [];
    for (let at = 0; at < size; at++) {
      // The unused space is large, and all alike; bounds and line pointers decide what is what.
      if ((at >= 12 && at < 20) || (at > lower + 8 && at < upper - 8) || (at >= 24 && at < lower)) continue;
      for (let bit = 0; bit < 8; bit++) {
        copy.u8.set(page.u8);
        copy.u8[at] ^= 1 << bit;
        const expected = isMasked(page, at, bit);
        maskReplayedHeapPage(copy, 0, bench.geometry);
        if ((Buffer.compare(copy.u8, masked.u8) === 0) !== expected) wrong.push(`byte ${at}, bit ${bit}`);
      }
    }
    expect(wrong).toEqual([]);
    bench.close();
  });
});
