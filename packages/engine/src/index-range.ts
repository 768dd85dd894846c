// What queries through an index are asked with, and the types that follow from a table's definition.
import type { FetchToast, VectorOptions } from '@blockwright/tuple';
import type { ColumnName, Row, TableDef } from './table.ts';

/** A value that a key column of some index of the table can have. */
export type KeyValue<Table extends TableDef> = Row<Table>[ColumnName<Table>] | null;

/** Values of the first key columns of an index, in its order; one alone needs no array. */
export type KeyPrefix<Table extends TableDef> = KeyValue<Table> | readonly KeyValue<Table>[];

/** The primary key of a row, or its key in another unique index. */
export type PrimaryKey<Table extends TableDef> = KeyPrefix<Table>;

/**
 * The part of an index that is asked for. `from` and `to` are places in the index's own order, in which a descending column
 * begins with its greatest value, and null stands where the index keeps it: everything from the first key that `from` is a
 * prefix of, to the last one that `to` is. `order` does not turn them round.
 */
export interface IndexRange<Table extends TableDef> {
  /** Name of the index. */
  readonly index: string;
  /** Where the range begins; at the index's beginning by default. */
  readonly from?: KeyPrefix<Table>;
  /** Where it ends; at the index's end by default. */
  readonly to?: KeyPrefix<Table>;
  /** Leaves out the keys that `from` is a prefix of. */
  readonly fromExclusive?: boolean;
  /** Leaves out the keys that `to` is a prefix of. */
  readonly toExclusive?: boolean;
  /** The keys whose first column has one of these values, each once and in the index's order; not beside `from` or `to`. */
  readonly in?: readonly KeyValue<Table>[];
}

export interface IndexScanOptions<Table extends TableDef, Name extends string>
  extends IndexRange<Table>,
    VectorOptions {
  readonly columns: readonly Name[];
  /** `asc`, the default, is the index's own order; `desc` from its end to its beginning. */
  readonly order?: 'asc' | 'desc';
  /** Fetches values stored out of line; without it they are an error. */
  readonly fetchToast?: FetchToast;
}

export interface IndexCountOptions<Table extends TableDef> extends IndexRange<Table> {
  /** false: asks the table for every entry, and the visibility map for none. */
  readonly map?: boolean;
}

/** What a count through an index saw on its way. */
export interface IndexCount {
  readonly rows: number;
  /** As `ScanStats` has them. */
  readonly indexPages: number;
  readonly entries: number;
  readonly heapFetches: number;
  readonly killed: number;
}

/** Which unique index a row is looked up by. */
export interface ByKeyOptions {
  /** The table's primary key by default. */
  readonly index?: string;
}

export interface GetOptions<Name extends string> extends ByKeyOptions {
  /** All by default. */
  readonly columns?: readonly Name[];
}

export const RANGE_OPTIONS: readonly string[] = ['index', 'from', 'to', 'fromExclusive', 'toExclusive', 'in'];
export const INDEX_SCAN_OPTIONS: readonly string[] = [...RANGE_OPTIONS, 'columns', 'order', 'charCodes', 'fetchToast'];
