// What HeapWriter writes: headers bit by bit, records in words, and the pages that redo makes of them.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { pageFlags, pagePruneXid } from '@blockwright/page';
import { describe, expect, it } from 'vitest';
import { TM_OK } from '../src/index.ts';
import { expectSamePages, WritingBench } from './writing-bench.ts';

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('inserts, updates and deletes, and replays it', () => {
    const bench = new WritingBench(size);
    const { writer } = bench;
    bench.run((tx) => {
      for (let id = 1; id <= 5; id++) writer.insert(tx, [id, 0, `row ${id}`]);
    });
    expect(bench.committedRows()).toEqual([1, 2, 3, 4, 5].map((id) => [id, 0]));
    bench.run((tx, snapshot) => {
      expect(writer.update(tx, 0, 2, [2, 1, 'row 2'], snapshot, true)).toBe(TM_OK);
      expect(writer.wasHot).toBe(true);
      expect([writer.block, writer.offset]).toEqual([0, 6]);
      expect(writer.delete(tx, 0, 3, snapshot)).toBe(TM_OK);
      expect(writer.lock(tx, 0, 4, 'share', snapshot)).toBe(TM_OK);
    });
    expect(bench.committedRows()).toEqual([
      [1, 0],
      [2, 1],
      [4, 0],
      [5, 0],
    ]);
    expect(bench.records()).toEqual([
      'Heap INSERT+INIT off: 1, flags: 0x00',
      ...[2, 3, 4, 5].map((o) => `Heap INSERT off: ${o}, flags: 0x00`),
      'Heap HOT_UPDATE old_xmax: 1001, old_off: 2, old_infobits: [], flags: 0x60, new_xmax: 0, new_off: 6',
      'Heap DELETE xmax: 1001, off: 3, infobits: [KEYS_UPDATED], flags: 0x00',
      'Heap LOCK xmax: 1001, off: 4, infobits: [LOCK_ONLY, EXCL_LOCK, KEYSHR_LOCK], flags: 0x00',
    ]);
    bench.pool.withPage(bench.relation.main, 0, (m, base) => {
      expect(pagePruneXid(m, base)).toBe(1001);
      expect(pageFlags(m, base)).toBe(0);
    });
    expectSamePages(bench, bench.crashed());
    bench.close();
  });
});
