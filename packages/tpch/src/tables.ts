// A table by its name: the options that all ways of generating take, checked, and the source of its rows.
import { checkOptions } from '@blockwright/base';
import { MOST_ROWS_PER_UNIT, type RowSource } from './columns.ts';
import { LineitemSource, OrdersSource } from './orders.ts';
import { PartSource, PartsuppSource } from './part.ts';
import { CustomerSource, NationSource, RegionSource, SupplierSource } from './people.ts';
import { cardinality, type TpchTableName, unitCount } from './scale.ts';
import { TPCH_TABLE_NAMES } from './schema.ts';
import type { TextPool } from './text-pool.ts';

/** What to generate of a table. */
export interface GenerateOptions {
  readonly pool: TextPool;
  /**
   * The first unit, from 0, and the one after the last: orders for `orders` and `lineitem`, parts for `part` and
   * `partsupp`, rows for the others. By default all of the table: see `unitCount`.
   */
  readonly from?: number;
  readonly to?: number;
}

const SOURCES = {
  region: RegionSource,
  nation: NationSource,
  supplier: SupplierSource,
  customer: CustomerSource,
  part: PartSource,
  partsupp: PartsuppSource,
  orders: OrdersSource,
  lineitem: LineitemSource,
} as const;

/**
 * The source of a table's rows.
 * @throws RangeError for a scale, a range or a capacity that is out of bounds.
 * @throws TypeError for an unknown table or option.
 */
export function rowSource(
  table: TpchTableName,
  scale: number,
  options: GenerateOptions,
  capacity: number,
  extraOptions: readonly string[] = [],
): RowSource {
  if (!Object.hasOwn(SOURCES, table)) {
    throw new TypeError(`TPC-H has no table ${JSON.stringify(table)}: its tables are ${TPCH_TABLE_NAMES.join(', ')}`);
  }
  checkOptions(`generating ${table}`, options, ['pool', 'from', 'to', ...extraOptions]);
  const units = unitCount(table, scale);
  const { pool, from = 0, to = units } = options;
  if (pool === undefined) throw new TypeError(`generating ${table} needs a text pool: pass { pool: TextPool.open() }`);
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 0 || to > units || from > to) {
    throw new RangeError(`from ${from} to ${to} is no part of 0 to ${units}, the size of ${table} at scale ${scale}`);
  }
  if (!Number.isInteger(capacity) || capacity < MOST_ROWS_PER_UNIT || capacity > 1 << 20) {
    throw new RangeError(`${capacity} rows a batch is not from ${MOST_ROWS_PER_UNIT} to ${1 << 20}`);
  }
  return new SOURCES[table](cardinality(scale), pool, from, to, capacity);
}
