// TPC-H Q1 and Q6 over batches of lineitem, exact to the last digit. Sums over some tens of thousands of rows are doubles,
// exact as long as they stay below 2^53, which is checked; they are gathered in bigint.
import type { Vector } from '@blockwright/tuple';

/** Columns that Q1 reads, in this order. */
export const Q1_COLUMNS = [
  'l_returnflag',
  'l_linestatus',
  'l_quantity',
  'l_extendedprice',
  'l_discount',
  'l_tax',
  'l_shipdate',
] as const;
/** Columns that Q6 reads, in this order. */
export const Q6_COLUMNS = ['l_quantity', 'l_extendedprice', 'l_discount', 'l_shipdate'] as const;

/** Days from 2000-01-01 to a date, as PostgreSQL stores it. */
function pgDays(isoDate: string): number {
  return (Date.parse(isoDate) - Date.parse('2000-01-01')) / 86_400_000;
}

/** Q1 with DELTA = 90: rows shipped up to this day. */
const Q1_LAST_SHIPDATE = pgDays('1998-09-02');
const Q6_FIRST_SHIPDATE = pgDays('1994-01-01');
const Q6_END_SHIPDATE = pgDays('1995-01-01');

/** One group of Q1's answer; sums are integers of the unit named. */
export interface Q1Group {
  readonly returnFlag: string;
  readonly lineStatus: string;
  /** Hundredths. */
  readonly sumQuantity: bigint;
  /** Cents. */
  readonly sumBasePrice: bigint;
  /** Ten-thousandths. */
  readonly sumDiscountedPrice: bigint;
  /** Millionths. */
  readonly sumCharge: bigint;
  /** Hundredths. */
  readonly sumDiscount: bigint;
  readonly count: bigint;
}

const SUMS = 6;
/** Groups that Q1 can have; TPC-H has four. */
const SLOTS = 1024;
/** Rows after which doubles are gathered: a charge is below 1.2e11 millionths, so that 2^53 is not reached before. */
const ROWS_A_GATHERING = 65_536;

/** Q1: adds batches, then gives the groups in order. */
export class Q1 {
  private readonly batchSums = new Float64Array(SLOTS * 8);
  private readonly totals = new Map<number, bigint[]>();
  private readonly slotOf = new Int16Array(65536).fill(-1);
  private readonly keys: number[] = [];
  private pending = 0;

  add(vectors: readonly Vector[], length: number): void {
    const flags = codes(vectors[0]);
    const statuses = codes(vectors[1]);
    this.sum(
      flags,
      statuses,
      scaled(vectors[2]),
      scaled(vectors[3]),
      scaled(vectors[4]),
      scaled(vectors[5]),
      dates(vectors[6]),
      length,
    );
    this.pending += length;
    if (this.pending >= ROWS_A_GATHERING) this.gather();
  }

  private sum(
    flags: Int32Array,
    statuses: Int32Array,
    quantity: Float64Array,
    price: Float64Array,
    discount: Float64Array,
    tax: Float64Array,
    shipDate: Int32Array,
    length: number,
  ): void {
    const sums = this.batchSums;
    const slotOf = this.slotOf;
    const last = Q1_LAST_SHIPDATE;
    let seen = 0;
    for (let i = 0; i < length; i++) {
      if (shipDate[i] > last) continue;
      const flag = flags[i];
      const status = statuses[i];
      seen |= flag | status;
      const key = ((flag << 8) | status) & 0xffff;
      let slot = slotOf[key];
      if (slot < 0) slot = this.newSlot(key);
      const p = price[i];
      const d = discount[i];
      const discounted = p * (100 - d);
      sums[slot] = sums[slot] + quantity[i];
      sums[slot + 1] = sums[slot + 1] + p;
      sums[slot + 2] = sums[slot + 2] + discounted;
      sums[slot + 3] = sums[slot + 3] + discounted * (100 + tax[i]);
      sums[slot + 4] = sums[slot + 4] + d;
      sums[slot + 5] = sums[slot + 5] + 1;
    }
    if (seen > 0xff) throw new RangeError('Q1 met a flag beyond Latin-1: these are not TPC-H rows');
  }

  private newSlot(key: number): number {
    if (this.keys.length === SLOTS) throw new RangeError('Q1 met more than 1024 groups: these are not TPC-H rows');
    const slot = this.keys.length * 8;
    this.slotOf[key] = slot;
    this.keys.push(key);
    this.totals.set(key, new Array<bigint>(SUMS).fill(0n));
    return slot;
  }

  private gather(): void {
    this.pending = 0;
    const sums = this.batchSums;
    this.keys.forEach((key, index) => {
      const totals = this.totals.get(key) as bigint[];
      for (let k = 0; k < SUMS; k++) {
        totals[k] = (totals[k] as bigint) + exact(sums[index * 8 + k]);
        sums[index * 8 + k] = 0;
      }
    });
  }

  groups(): Q1Group[] {
    this.gather();
    return [...this.totals.entries()]
      .sort(([a], [b]) => a - b)
      .map(([key, t]) => ({
        returnFlag: String.fromCharCode(key >>> 8),
        lineStatus: String.fromCharCode(key & 255),
        sumQuantity: t[0] as bigint,
        sumBasePrice: t[1] as bigint,
        sumDiscountedPrice: t[2] as bigint,
        sumCharge: t[3] as bigint,
        sumDiscount: t[4] as bigint,
        count: t[5] as bigint,
      }));
  }
}

/** Q6: revenue of small, slightly discounted orders of 1994, in ten-thousandths, and the rows selected. */
export class Q6 {
  revenue = 0n;
  rows = 0;

  add(vectors: readonly Vector[], length: number): void {
    const quantity = scaled(vectors[0]);
    const price = scaled(vectors[1]);
    const discount = scaled(vectors[2]);
    const shipDate = dates(vectors[3]);
    let sum = 0;
    let rows = 0;
    // Of the module's own loop: a constant of the module is fetched each time it is used.
    const first = Q6_FIRST_SHIPDATE;
    const days = Q6_END_SHIPDATE - first;
    for (let i = 0; i < length; i++) {
      // One row in seven is of that year: one branch for it, which is guessed right most of the time.
      if ((shipDate[i] - first) >>> 0 >= days) continue;
      const d = discount[i];
      if (d >= 5 && d <= 7 && quantity[i] < 2400) {
        sum += price[i] * d;
        rows++;
      }
    }
    this.revenue += exact(sum);
    this.rows += rows;
  }
}

/** A sum as bigint. @throws RangeError when it may have been rounded on the way. */
function exact(sum: number): bigint {
  if (!Number.isSafeInteger(sum))
    throw new RangeError("a sum passed 2^53 within one batch: the amounts are too large to be TPC-H's");
  return BigInt(sum);
}

function codes(vector: Vector | undefined): Int32Array {
  if (vector?.kind !== 'char') throw new TypeError('the scan was not asked for character codes');
  return vector.values;
}

function scaled(vector: Vector | undefined): Float64Array {
  if (vector?.kind !== 'scaled' || vector.scale !== 2) throw new TypeError('the column is not numeric(15,2)');
  return vector.values;
}

function dates(vector: Vector | undefined): Int32Array {
  if (vector?.kind !== 'int') throw new TypeError('the column is not a date');
  return vector.values;
}
