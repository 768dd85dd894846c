// Scales, counts, known answers, and what a caller gets wrong.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  KNOWN_ANSWERS,
  knownAnswers,
  rowCounts,
  TextPool,
  type TpchBatch,
  type TpchTableName,
  tableBatches,
  tableText,
  unitCount,
} from '../src/index.ts';

let pool: TextPool;
beforeAll(() => {
  pool = TextPool.open();
}, 120_000);
afterAll(() => pool.close());

describe('row counts', () => {
  it('are those of the known scales', () => {
    expect(rowCounts(0.001)).toEqual({
      region: 5,
      nation: 25,
      supplier: 10,
      customer: 150,
      part: 200,
      partsupp: 800,
      orders: 1500,
      lineitem: 6005,
    });
    expect(rowCounts(1)).toMatchObject({ supplier: 10000, orders: 1500000, partsupp: 800000, lineitem: 6001215 });
    expect(rowCounts(29999)).toMatchObject({ customer: 4499850000, orders: 44998500000 });
  });

  it('take the thousandths below 1, and the whole above', () => {
    expect(rowCounts(0.0019)).toEqual(rowCounts(0.001));
    expect(rowCounts(1.9)).toEqual(rowCounts(1));
    expect(rowCounts(0.0001).orders).toBe(1);
    expect(rowCounts(0.003).lineitem).toBe(4500 * 4);
  });

  it('are refused outside of 0 to 30000', () => {
    for (const scale of [0, -1, 30000, 1e9, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => rowCounts(scale)).toThrow(RangeError);
      expect(() => tableText('region', scale, { pool })).toThrow(/not above 0 and below 30000/);
    }
  });

  it('count orders for lineitem and parts for partsupp', () => {
    expect(unitCount('lineitem', 0.01)).toBe(15000);
    expect(unitCount('partsupp', 0.01)).toBe(2000);
    expect(unitCount('customer', 0.01)).toBe(1500);
  });
});

describe('options', () => {
  it('name what is wrong', () => {
    expect(() => tableText('lineitems' as TpchTableName, 1, { pool })).toThrow(/has no table "lineitems".*lineitem/);
    expect(() => tableText('toString' as TpchTableName, 1, { pool })).toThrow(TypeError);
    expect(() => tableText('part', 1, { pool, form: 3 } as never)).toThrow(/from/);
    expect(() => tableText('part', 1, {} as never)).toThrow(/text pool/);
    expect(() => tableText('part', 0.001, { pool, to: 201 })).toThrow(/0 to 200/);
    expect(() => tableText('part', 0.001, { pool, from: 0.5 })).toThrow(RangeError);
    expect(() => tableText('part', 0.001, { pool, from: 7, to: 6 })).toThrow(RangeError);
    expect(() => tableBatches('part', 0.001, { pool, batchRows: 6 })).toThrow(RangeError);
  });

  it('generate nothing for an empty range', () => {
    expect([...tableText('orders', 1, { pool, from: 9, to: 9 })]).toEqual([]);
    expect([...tableBatches('orders', 1, { pool, from: 9, to: 9 })]).toEqual([]);
  });

  it('refuse keys that do not fit the column, in batches alone', () => {
    expect(() => tableBatches('lineitem', 10738, { pool })).toThrow(/int4/);
    expect(() => tableBatches('lineitem', 10737, { pool, to: 1 })).not.toThrow();
    expect(() => tableBatches('customer', 20000, { pool, to: 1 })).toThrow(/int4/);
    expect(() => tableBatches('supplier', 29999, { pool, to: 1 })).not.toThrow();
    const text = [...tableText('customer', 20000, { pool, from: 2999999999 })];
    expect(Buffer.from(text[0]).toString()).toMatch(/^3000000000\|Customer#3000000000\|/);
  });

  it('reach the far end of the largest scale', () => {
    const last = unitCount('lineitem', 29999);
    const [chunk] = tableText('lineitem', 29999, { pool, from: last - 1 });
    expect(Buffer.from(chunk).toString()).toMatch(/^179994000000\|\d+\|\d+\|1\|/);
  });
});

/** Queries 1 and 6 in bigint, from the batches. */
class Queries {
  readonly groups = new Map<string, bigint[]>();
  revenue = 0n;
  selected = 0n;

  add(batch: TpchBatch): void {
    const scaled = [4, 5, 6, 7].map((i) => (batch.columns[i] as { values: Float64Array }).values);
    const flags = [8, 9].map((i) => (batch.columns[i] as { data: Uint8Array }).data);
    const shipped = (batch.columns[10] as { values: Int32Array }).values;
    for (let row = 0; row < batch.length; row++) {
      const [quantity, price, discount, tax] = scaled.map((values) => BigInt(values[row]));
      if (shipped[row] <= day('1998-09-02')) {
        const key = `${String.fromCharCode(flags[0][row])} ${String.fromCharCode(flags[1][row])}`;
        const sums = this.groups.get(key) ?? [0n, 0n, 0n, 0n, 0n, 0n];
        const discounted = price * (100n - discount);
        [quantity, price, discounted, discounted * (100n + tax), discount, 1n].forEach((value, i) => {
          sums[i] += value;
        });
        this.groups.set(key, sums);
      }
      const in1994 = shipped[row] >= day('1994-01-01') && shipped[row] < day('1995-01-01');
      if (in1994 && discount >= 5n && discount <= 7n && quantity < 2400n) {
        this.revenue += price * discount;
        this.selected++;
      }
    }
  }
}

function day(date: string): number {
  return (Date.parse(date) - Date.UTC(2000, 0, 1)) / 86400000;
}

describe('known answers', () => {
  it('are what the rows give', () => {
    for (const known of KNOWN_ANSWERS.slice(0, 2)) {
      const queries = new Queries();
      let rows = 0;
      for (const batch of tableBatches('lineitem', known.scale, { pool })) {
        queries.add(batch);
        rows += batch.length;
      }
      expect(rows).toBe(known.lineitemRows);
      const groups = Object.fromEntries([...queries.groups].sort());
      expect(groups).toEqual(
        Object.fromEntries(
          known.q1.map((q) => [
            `${q.returnFlag} ${q.lineStatus}`,
            [q.sumQuantity, q.sumBasePrice, q.sumDiscountedPrice, q.sumCharge, q.sumDiscount, q.count],
          ]),
        ),
      );
      expect([queries.revenue, queries.selected]).toEqual([known.q6.revenue, known.q6.rows]);
    }
  });

  it('are kept for four scales', () => {
    expect(KNOWN_ANSWERS.map(({ scale }) => scale)).toEqual([0.001, 0.01, 0.1, 1]);
    expect(knownAnswers(1)?.q1[2].sumCharge).toBe(110367043872497010n);
    expect(knownAnswers(0.5)).toBeUndefined();
  });
});
