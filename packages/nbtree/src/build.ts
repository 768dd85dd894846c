// Building an index over the rows that a table has: scan, sort, and pages from the leaves up. The pages are not logged: the
// caller makes the file durable before the transaction that made it commits, as for a bulk load, and removes it when
// that transaction fails. PostgreSQL: `btbuild`, nbtsort.c.
import type { UseTableTuple } from '@blockwright/access';
import type { Steps } from '@blockwright/base';
import type { Transaction } from '@blockwright/transam';
import type { IndexTupleFormer } from '@blockwright/tuple';
import type { Vfs } from '@blockwright/vfs';
import type { BtreeIndex } from './btree.ts';
import { itemTooLong } from './build-errors.ts';
import { scanningProgress } from './build-progress.ts';
import { TreeLoader } from './load-pages.ts';
import { DEAD_ROW, loadTuples } from './load-tuples.ts';
import { SortRuns } from './merge.ts';
import { type SortedTuples, TupleSort } from './sort.ts';

export interface BuildOptions {
  /** Makes the index's tuples from the table's. */
  readonly former: IndexTupleFormer;
  /** Bytes that the tuples may take; beyond, they are sorted in runs, which are merged from files. */
  readonly maintenanceWorkMem: number;
  readonly vfs: Vfs;
  /** Where those files are; made when it is not there. They are removed in every case, unless the process dies. */
  readonly tempDirectory: string;
}

/** What a build has done. */
export interface BuildResult {
  /** Entries of the index. */
  readonly tuples: number;
  /** Rows of the table, as its scan counts them. */
  readonly heapTuples: number;
  /** Blocks of the index, the meta page included. */
  readonly pages: number;
  /** Levels above the leaves. */
  readonly levels: number;
  /** Runs that were written to files: 0 when the memory was enough. */
  readonly runs: number;
}

/**
 * Fills an index whose main fork is empty from its table. It can be stopped between two steps: nothing of it stays but what
 * the caller removes, the file.
 * @throws StorageError 23505 when a unique index would have a key twice, 54000 for a key that is too long, 55000 when the
 *   index is not empty; what reading the table and writing files throw.
 */
export function* btreeBuild(index: BtreeIndex, tx: Transaction | undefined, options: BuildOptions): Steps<BuildResult> {
  const { table } = index;
  if (table === undefined) throw new TypeError(`index "${index.relation.name}" was opened without its table`);
  const loader = new TreeLoader(index);
  const sort = new TupleSort(index.format);
  const runs = new SortRuns(index.format, options.vfs, options.tempDirectory, options.maintenanceWorkMem);
  try {
    const scan = table.buildScan(collector(index, options.former, sort), tx);
    let step = scan.next();
    try {
      for (; step.done !== true; step = scan.next()) {
        if (sort.bytes > options.maintenanceWorkMem) yield* spill(sort, runs);
        yield scanningProgress(step.value);
      }
    } finally {
      scan.return({ tuples: 0 });
    }
    const tuples = yield* sorted(sort, runs);
    yield* loadTuples(index, tuples, loader);
    const tree = loader.finish();
    return {
      tuples: tuples.count,
      heapTuples: step.value.tuples,
      pages: tree.pages,
      levels: tree.levels,
      runs: runs.written,
    };
  } finally {
    loader.abandon();
    runs.close();
  }
}

/** Takes the table's tuples into the sort, in the form that they have in the index. */
function collector(index: BtreeIndex, former: IndexTupleFormer, sort: TupleSort): UseTableTuple {
  const { isUnique, maxItemSize, relation, table } = index;
  return (m, position, length, block, rootOffset, isAlive) => {
    const bytes = former.fromHeap(m, position, length, block, rootOffset);
    if (bytes > maxItemSize) {
      throw itemTooLong(relation.name, table?.name ?? '', bytes, maxItemSize, block, rootOffset);
    }
    sort.add(former.memory, 0, bytes, isUnique && !isAlive ? DEAD_ROW : 0);
  };
}

function* spill(sort: TupleSort, runs: SortRuns): Steps<void> {
  yield* runs.write(yield* sort.sort());
  sort.clear();
}

function* sorted(sort: TupleSort, runs: SortRuns): Steps<SortedTuples> {
  if (runs.written === 0) return yield* sort.sort();
  if (sort.count > 0) yield* spill(sort, runs);
  return yield* runs.merge();
}
