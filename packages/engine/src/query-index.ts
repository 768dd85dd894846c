// An index as queries use it: its tree, and the table behind it. A database of ours and PostgreSQL's files both give it.
import type { Relation } from '@blockwright/access';
import type { Oid } from '@blockwright/base';
import type { BtreeIndex } from '@blockwright/nbtree';
import type { Transactions } from '@blockwright/transam';
import type { TupleDescriptor } from '@blockwright/tuple';
import type { VisibilityMap } from '@blockwright/visibilitymap';

export interface QueryIndex {
  readonly name: string;
  readonly oid: Oid;
  readonly table: string;
  readonly btree: BtreeIndex;
  readonly isUnique: boolean;
  /** Column of the table of each column of the index, key columns first. */
  readonly columns: readonly number[];
  readonly heap: Relation;
  /** Of the table. */
  readonly descriptor: TupleDescriptor;
  readonly map: VisibilityMap;
  readonly transactions: Transactions;
}

/** The column of the index that is each of these columns of the table; undefined when it has not all of them. */
export function coveredBy(index: QueryIndex, columns: readonly number[]): number[] | undefined {
  const places = columns.map((column) => index.columns.indexOf(column));
  return places.includes(-1) ? undefined : places;
}
