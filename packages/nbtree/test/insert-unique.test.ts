// Unique indexes: what takes a key, what does not, and which entries are dead afterwards.
import { TABLE_ABSENT, TABLE_DEAD, TABLE_IN_PROGRESS, TABLE_LIVE } from '@blockwright/access';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { LP_DEAD, linePointer, lpFlags, pageMaxOffset } from '@blockwright/page';
import { int4 } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { ASCENDING, InsertBench, readTree, tidNumber } from './insert-bench.ts';

function thrown(work: () => void): Record<string, unknown> {
  try {
    work();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('nothing was thrown');
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  function benchOf(fates: Map<number, number>, nullsNotDistinct = false): InsertBench {
    return new InsertBench(size, {
      columns: { a: int4().nullable(), b: int4().nullable() },
      keys: [ASCENDING, ASCENDING],
      isUnique: true,
      nullsNotDistinct,
      fate: (block, offset) => fates.get(tidNumber({ block, offset })) ?? TABLE_LIVE,
      isDead: (block, offset) => fates.get(tidNumber({ block, offset })) === TABLE_DEAD,
    });
  }

  it('a live row has its key, and the error says which', () => {
    const bench = benchOf(new Map());
    for (let i = 0; i < 500; i++) bench.insert([i % 50, Math.imul(i, 7)], i, 1);
    const before = readTree(bench).tids;
    expect(thrown(() => bench.insert([7, 49], 9000, 1))).toMatchObject({
      code: '23505',
      message: 'duplicate key value violates unique constraint "things_key"',
      detail: 'Key (a, b)=(7, 49) already exists.',
    });
    expect(readTree(bench).tids).toEqual(before);
  });

  it('an open transaction decides: its xid is named', () => {
    const bench = benchOf(new Map([[tidNumber({ block: 3, offset: 4 }), TABLE_IN_PROGRESS]]));
    bench.insert([1, 2], 3, 4);
    const error = thrown(() => bench.insert([1, 2], 5, 1));
    expect(error['code']).toBe('55P03');
    expect(error['message']).toContain('4711');
    expect(error['detail']).toContain('(a, b)=(1, 2)');
    expect(readTree(bench).tids).toEqual([tidNumber({ block: 3, offset: 4 })]);
  });

  it('nulls differ from each other, unless they are said not to', () => {
    const bench = benchOf(new Map());
    for (let i = 0; i < 300; i++) bench.insert([1, null], i, 1);
    expect(readTree(bench).tids).toEqual(bench.sorted().map(tidNumber));
    const strict = benchOf(new Map(), true);
    strict.insert([1, null], 1, 1);
    expect(thrown(() => strict.insert([1, null], 2, 1))).toMatchObject({ code: '23505' });
  });

  it('versions nobody sees let the key pass over many pages; those dead to everybody are killed', () => {
    const fates = new Map<number, number>();
    const bench = benchOf(fates);
    for (let i = 0; i < 1500; i++) {
      const tid = { block: i >>> 4, offset: 1 + (i & 15) };
      bench.insert([5, 5], tid.block, tid.offset);
      fates.set(tidNumber(tid), TABLE_ABSENT);
    }
    bench.insert([5, 6], 7000, 1);
    expect(readTree(bench).tids).toEqual(bench.sorted().map(tidNumber));
    // A TID in the midst of equal keys that lie on pages to the right of the first one.
    bench.insert([5, 5], 40, 17);
    fates.set(tidNumber({ block: 40, offset: 17 }), TABLE_ABSENT);
    expect(readTree(bench).tids).toEqual(bench.sorted().map(tidNumber));
    const small = benchOf(fates);
    for (let i = 0; i < 6; i++) {
      fates.set(tidNumber({ block: 800 + i, offset: 1 }), TABLE_ABSENT);
      small.insert([1, i >>> 1], 800 + i, 1);
    }
    fates.set(tidNumber({ block: 802, offset: 1 }), TABLE_DEAD);
    small.insert([1, 1], 900, 1);
    const page = small.page(1);
    const dead = Array.from(
      { length: pageMaxOffset(page, 0) },
      (_, i) => lpFlags(linePointer(page, 0, i + 1)) === LP_DEAD,
    );
    expect(dead).toEqual([false, false, true, false, false, false, false]);
  });
});
