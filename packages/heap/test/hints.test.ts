// Hint bits as a scan leaves them: once a page to the log, never while the WAL is replayed, none where it may not be.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { RowDecoder } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { HeapScan, heapCount, heapFetch, heapHotSearch } from '../src/index.ts';
import { COLUMNS, WritingBench } from './writing-bench.ts';

const ROWS = 120;

/** Rows of a transaction that committed, and nobody has looked at since; calls of the log's `hint` are counted. */
function written(size: (typeof BLOCK_SIZES)[number]): { bench: WritingBench; hints: number[] } {
  const bench = new WritingBench(size, { buffers: 64 });
  bench.run((tx) => {
    for (let id = 0; id < ROWS; id++) bench.writer.insert(tx, [id, id, 'row']);
  });
  const hints: number[] = [];
  const { log, relation } = bench;
  const hint = log.hint.bind(log);
  log.hint = (of, fork, buffer) => {
    expect([of, fork]).toEqual([relation, relation.main]);
    hints.push(bench.pool.block(buffer));
    return hint(of, fork, buffer);
  };
  return { bench, hints };
}

function pageBytes(bench: WritingBench): Uint8Array[] {
  const { relation, pool, geometry } = bench;
  return Array.from({ length: relation.blockCount() }, (_, block) =>
    pool.withPage(relation.main, block, (m, base) => m.u8.slice(base + 24, base + geometry.size)),
  );
}

const allBlocks = (bench: WritingBench): number[] => Array.from({ length: bench.relation.blockCount() }, (_, i) => i);

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it.each(['scan', 'count'] as const)('a %s hands hints on once a page, and later ones find them there', (way) => {
    const { bench, hints } = written(size);
    const look = (): number => {
      const snapshot = bench.transactions.snapshot();
      try {
        if (way === 'count') return heapCount(bench.relation, { snapshot }).rows;
        let rows = 0;
        const scan = new HeapScan(bench.relation, COLUMNS, { columns: [0], snapshot });
        for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
        return rows;
      } finally {
        snapshot.release();
      }
    };
    expect(look()).toBe(ROWS);
    expect(hints).toEqual(allBlocks(bench));
    const before = pageBytes(bench);
    expect(look()).toBe(ROWS);
    expect(hints).toHaveLength(bench.relation.blockCount());
    expect(pageBytes(bench)).toEqual(before);
    bench.close();
  });

  it('a look at one row hands on the hints of its page', () => {
    const { bench, hints } = written(size);
    const snapshot = bench.transactions.snapshot();
    const last = bench.relation.blockCount() - 1;
    expect(heapHotSearch(bench.relation, last, 1, snapshot)).toBe(1);
    expect(hints).toEqual([last]);
    expect(heapFetch(bench.relation, RowDecoder.for(COLUMNS), last, 2, { snapshot })).toBeDefined();
    expect(heapFetch(bench.relation, RowDecoder.for(COLUMNS), last, 2, { snapshot })).toBeDefined();
    expect(hints).toEqual([last, last]);
    snapshot.release();
    bench.close();
  });

  it('none are set while the WAL is replayed, nor of a commit that is not on the disk', () => {
    const { bench, hints } = written(size);
    const before = pageBytes(bench);
    bench.log.recovering = true;
    expect(bench.committedRows()).toHaveLength(ROWS);
    bench.log.recovering = false;
    expect([hints, pageBytes(bench)]).toEqual([[], before]);
    const asynchronous = bench.transactions.begin({ synchronousCommit: false });
    bench.writer.insert(asynchronous, [ROWS, ROWS, 'not on the disk yet']);
    asynchronous.commit();
    const unhinted = pageBytes(bench);
    expect(bench.committedRows()).toHaveLength(ROWS + 1);
    // PostgreSQL's commit log, too, remembers one LSN for 32 transactions: the hints of neighbours wait as well.
    expect(pageBytes(bench)).toEqual(unhinted);
    bench.wal.flush(bench.wal.insertedUpTo);
    expect(bench.committedRows()).toHaveLength(ROWS + 1);
    expect(hints).toEqual(allBlocks(bench));
    bench.close();
  });
});
