// Queries through an index, whoever's it is: scans, counts, and rows by their key.
import { checkFlag, checkOptions, nearestName, StorageError } from '@blockwright/base';
import { BtreeScan, type ScanRange } from '@blockwright/nbtree';
import type { Snapshot } from '@blockwright/transam';
import { IndexOnlySource } from './index-only-scan.ts';
import {
  INDEX_SCAN_OPTIONS,
  type IndexCount,
  type IndexCountOptions,
  type IndexRange,
  type IndexScanOptions,
  RANGE_OPTIONS,
} from './index-range.ts';
import { IndexHeapSource } from './index-scan.ts';
import { KeyMaker } from './key.ts';
import { coveredBy, type QueryIndex } from './query-index.ts';
import { columnIndexes, Scan, type ScanHold } from './scan.ts';
import type { ColumnName, TableDef } from './table.ts';
import { VisibleEntries } from './visible-entries.ts';

/**
 * A scan in the order of an index, from the index alone when it holds every column asked for.
 * @throws TypeError, RangeError for a range that cannot be; StorageError 42703 for an unknown column.
 */
export function indexScanOf<Table extends TableDef, Name extends ColumnName<Table>>(
  index: QueryIndex,
  options: IndexScanOptions<Table, Name>,
  hold: ScanHold,
): Scan<Table, Name> {
  checkOptions('an index scan', options, INDEX_SCAN_OPTIONS);
  const { order = 'asc', charCodes, fetchToast } = options;
  if (order !== 'asc' && order !== 'desc') throw new RangeError(`order "${String(order)}" is neither "asc" nor "desc"`);
  const columns = columnIndexes(index.table, index.descriptor, options.columns);
  const { snapshot } = hold;
  const covering = coveredBy(index, columns);
  const scan = new BtreeScan(index.btree, {
    ...rangeOf(index, options),
    backward: order === 'desc',
    tuples: covering !== undefined,
  });
  const how = { snapshot, charCodes, fetchToast };
  const source =
    covering === undefined
      ? new IndexHeapSource(index, scan, columns, how)
      : new IndexOnlySource(index, scan, covering, how);
  return new Scan(source, { table: index.table, names: options.columns, hold });
}

/** Counts the visible rows of a range, from the index alone where the visibility map allows it. */
export function indexCount(index: QueryIndex, options: IndexCountOptions<TableDef>, snapshot: Snapshot): IndexCount {
  checkOptions('count', options, [...RANGE_OPTIONS, 'map']);
  checkFlag('count', 'map', options.map);
  const scan = new BtreeScan(index.btree, { ...rangeOf(index, options), tuples: false });
  const visible = new VisibleEntries(index, scan, snapshot, options.map !== false);
  let rows = 0;
  try {
    for (let count = visible.nextPage(); count >= 0; count = visible.nextPage()) rows += count;
  } finally {
    visible.pause();
    visible.close();
  }
  return { rows, ...visible.stats };
}

/** The places in the index that a range names. @throws TypeError, RangeError for one that cannot be. */
function rangeOf(index: QueryIndex, options: IndexRange<TableDef>): ScanRange {
  const { from, to, fromExclusive = false, toExclusive = false } = options;
  const what = `index "${index.name}"`;
  checkFlag(what, 'fromExclusive', fromExclusive);
  checkFlag(what, 'toExclusive', toExclusive);
  const keys = new KeyMaker(index);
  if (options.in !== undefined) {
    if (from !== undefined || to !== undefined || fromExclusive || toExclusive) {
      throw new TypeError(`${what}: "in" says which keys are wanted, "from" and "to" cannot say it too`);
    }
    return { in: keys.points(options.in) };
  }
  if (fromExclusive && from === undefined) throw leavesOutNothing(what, 'from');
  if (toExclusive && to === undefined) throw leavesOutNothing(what, 'to');
  return {
    from: from === undefined ? undefined : keys.bound('from', from, !fromExclusive),
    to: to === undefined ? undefined : keys.bound('to', to, !toExclusive),
  };
}

function leavesOutNothing(what: string, end: 'from' | 'to'): TypeError {
  return new TypeError(`${what}: "${end}Exclusive" leaves out the keys of "${end}", which is not given`);
}

/**
 * StorageError 42704 for a name that stands for no index of the table, with the one that was probably meant; TypeError for
 * what is no name.
 */
export function unknownIndex(table: string, name: string, known: readonly string[]): StorageError | TypeError {
  if (typeof name !== 'string') {
    return new TypeError(`table "${table}": an index is named by a string, not ${String(name)}`);
  }
  const nearest = nearestName(name, known);
  return new StorageError('42704', `table "${table}" has no index "${name}"`, {
    detail: known.length === 0 ? 'It has none.' : `It has ${known.map((one) => `"${one}"`).join(', ')}.`,
    hint: nearest === undefined ? undefined : `Perhaps "${nearest}" was meant.`,
  });
}

/** @param unique the names of its unique indexes */
export function noPrimaryKey(table: string, unique: readonly string[]): StorageError {
  const names = unique.map((name) => `"${name}"`);
  return new StorageError('42704', `table "${table}" has no primary key`, {
    hint: names.length === 0 ? undefined : `Name a unique index of it: ${names.join(', ')}.`,
  });
}
