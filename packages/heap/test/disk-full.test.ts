// A disk that is full at every single write of a run, once each: the transaction that meets it fails with 53100, what it
// did is undone, and all others go on; what is there in the end is what was committed, before a crash and after.
import { isStorageError } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { heapHotSearch, heapMarkAllVisible, TM_OK } from '../src/index.ts';
import { expectSamePages, WritingBench } from './writing-bench.ts';

const STEPS = 28;
const FILLER = 'x'.repeat(60);

interface Row {
  n: number;
  block: number;
  offset: number;
}

/** A fixed run of transactions. @returns how many of them failed for want of room */
function run(bench: WritingBench, rows: Map<number, Row>): number {
  let failed = 0;
  for (let step = 0; step < STEPS; step++) {
    const tx = bench.transactions.begin();
    const changes: (() => void)[] = [];
    const snapshot = tx.snapshot();
    try {
      statements(bench, rows, step, tx, snapshot, changes);
      snapshot.release();
      tx.commit();
      for (const change of changes) change();
    } catch (error) {
      if (!isStorageError(error) || error.code !== '53100') throw error;
      failed++;
      snapshot.release();
      if (tx.state !== 'aborted') tx.abort();
    }
    expect(bench.pool.pinned()).toEqual([]);
  }
  return failed;
}

function statements(
  bench: WritingBench,
  rows: Map<number, Row>,
  step: number,
  tx: ReturnType<WritingBench['transactions']['begin']>,
  snapshot: ReturnType<typeof tx.snapshot>,
  changes: (() => void)[],
): void {
  const { writer, relation, map, transactions } = bench;
  if (step % 9 === 8) {
    for (let block = 0; block < relation.blockCount(); block++)
      heapMarkAllVisible(relation, map, block, transactions, true);
    return;
  }
  if (step % 7 === 6) return bench.checkpoint();
  for (let i = 0; i < 3; i++) {
    const id = step * 3 + i;
    writer.insert(tx, [id, 0, FILLER]);
    const { block, offset } = writer;
    changes.push(() => rows.set(id, { n: 0, block, offset }));
  }
  for (const id of [step, step + 11]) {
    const row = rows.get(id);
    if (row === undefined) continue;
    const offset = heapHotSearch(relation, row.block, row.offset, snapshot);
    if (id % 5 === 0) {
      expect(writer.delete(tx, row.block, offset, snapshot)).toBe(TM_OK);
      changes.push(() => rows.delete(id));
      continue;
    }
    expect(writer.update(tx, row.block, offset, [id, row.n + 1, FILLER], snapshot, true)).toBe(TM_OK);
    const place = writer.wasHot ? row : { block: writer.block, offset: writer.offset };
    changes.push(() => rows.set(id, { n: row.n + 1, block: place.block, offset: place.offset }));
  }
}

function check(bench: WritingBench, rows: Map<number, Row>): void {
  const expected = [...rows].map(([id, { n }]) => [id, n]).sort(([a], [b]) => a - b);
  expect(bench.committedRows()).toEqual(expected);
  expectSamePages(bench, bench.crashed());
}

function benchOf(size: BlockSize): WritingBench {
  return new WritingBench(size, { fillfactor: 60 });
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('a write that finds no room fails its transaction, and nothing else', () => {
    const calm = benchOf(size);
    const counter = calm.vfs.plant({ operation: 'write', nth: 1, times: Number.POSITIVE_INFINITY, bytes: 1 << 24 });
    const calmRows = new Map<number, Row>();
    expect(run(calm, calmRows)).toBe(0);
    const writes = counter.hits;
    check(calm, calmRows);
    calm.close();
    expect(writes).toBeGreaterThan(20);
    let failures = 0;
    // Small pages make many writes: every one of them is for the large ones.
    for (let nth = 1; nth <= writes; nth += size >= 16384 ? 1 : size >= 4096 ? 3 : 8) {
      const bench = benchOf(size);
      const fault = bench.vfs.plant({ operation: 'write', nth, errno: 'ENOSPC' });
      const rows = new Map<number, Row>();
      failures += run(bench, rows);
      expect(fault.hits).toBe(1);
      check(bench, rows);
      bench.close();
    }
    expect(failures).toBeGreaterThan(3);
  });

  it('a disk that stays full refuses every write and lets everybody read', () => {
    const bench = benchOf(size);
    const rows = new Map<number, Row>();
    bench.run((tx) => {
      for (let id = 0; id < 20; id++) {
        bench.writer.insert(tx, [id, 0, FILLER]);
        rows.set(id, { n: 0, block: bench.writer.block, offset: bench.writer.offset });
      }
    });
    const faults = ['write', 'truncate'].map((operation) =>
      bench.vfs.plant({ operation: operation as 'write', times: Number.POSITIVE_INFINITY, errno: 'ENOSPC' }),
    );
    let refused = 0;
    for (let i = 0; i < 10; i++) {
      try {
        bench.run((tx, snapshot) => {
          const { block, offset } = rows.get(i) as Row;
          bench.writer.update(tx, block, offset, [i, 1, FILLER], snapshot, true);
        });
      } catch (error) {
        expect(error).toMatchObject({ code: '53100' });
        refused++;
      }
    }
    expect(refused).toBe(10);
    expect(bench.committedRows()).toEqual([...rows.keys()].map((id) => [id, 0]));
    for (const fault of faults) fault.remove();
    check(bench, rows);
    bench.close();
  });
});
