// How many rows a scale factor makes, and which part of them is asked for.

export type TpchTableName = 'region' | 'nation' | 'supplier' | 'customer' | 'part' | 'partsupp' | 'orders' | 'lineitem';

/** dbgen uses another generator from here on. */
export const SCALE_LIMIT = 30000;

/** The numbers that a table's formulas need, at one scale. */
export interface Cardinality {
  readonly part: number;
  readonly supplier: number;
  readonly customer: number;
  readonly orders: number;
  readonly clerks: number;
}

/**
 * The cardinalities at a scale. As in dbgen, a scale of 1 or more counts by its integer part, one below 1 by its
 * thousandths.
 * @throws RangeError unless 0 < scale < 30000.
 */
export function cardinality(scale: number): Cardinality {
  if (typeof scale !== 'number' || !(scale > 0) || scale >= SCALE_LIMIT) {
    throw new RangeError(`scale ${scale} is not above 0 and below ${SCALE_LIMIT}`);
  }
  const scaled = (base: number): number =>
    scale >= 1 ? base * Math.floor(scale) : Math.max(1, Math.floor((Math.floor(1000 * scale) * base) / 1000));
  return {
    part: scaled(200000),
    supplier: scaled(10000),
    customer: scaled(150000),
    orders: scaled(1500000),
    clerks: Math.max(1000, Math.floor(1000 * scale)),
  };
}

/**
 * Rows of each table at a scale. For `lineitem` only generating tells: the number here is the expected one, four to
 * an order, unless the scale is one of those whose count is known.
 * @throws RangeError unless 0 < scale < 30000.
 */
export function rowCounts(scale: number): Record<TpchTableName, number> {
  const { part, supplier, customer, orders } = cardinality(scale);
  return {
    region: 5,
    nation: 25,
    supplier,
    customer,
    part,
    partsupp: part * 4,
    orders,
    lineitem: LINEITEM_ROWS.get(orders) ?? orders * 4,
  };
}

/** Known numbers of lineitems, by the number of orders. */
const LINEITEM_ROWS: ReadonlyMap<number, number> = new Map([
  [1500, 6005],
  [15000, 60175],
  [150000, 600572],
  [1500000, 6001215],
]);

/**
 * What a table is generated in, and `from` and `to` count: orders for `orders` and `lineitem`, parts for `part` and
 * `partsupp`, rows for the others.
 */
export function unitCount(table: TpchTableName, scale: number): number {
  const counts = rowCounts(scale);
  if (table === 'lineitem') return counts.orders;
  if (table === 'partsupp') return counts.part;
  return counts[table];
}
