// The right answers: known ones for the scales of TPC-H that have them; else computed from row objects with bigint
// arithmetic, by other code than the one that is timed.
import type { TableDef } from '@blockwright/engine';
import { knownAnswers } from '@blockwright/tpch';
import type { ScanTarget } from './our-subject.ts';
import type { Q1Group } from './queries.ts';
import type { KeyRange, Q6Answer } from './subject.ts';

export interface Answers {
  readonly rows: number;
  readonly q1: readonly Q1Group[];
  readonly q6: { readonly revenue: bigint; readonly rows: bigint };
  /** Where they come from, for people. */
  readonly source: string;
}

/** The published answers at a scale, or undefined where there are none. */
export function publishedAnswers(scale: number): Answers | undefined {
  const known = knownAnswers(scale);
  return known === undefined
    ? undefined
    : { rows: known.lineitemRows, q1: known.q1, q6: known.q6, source: `the known answers at scale ${scale}` };
}

const Q1_LAST = '1998-09-02';

/** The answers over whatever rows the table holds, from row objects and bigint arithmetic. */
export function computedAnswers(target: ScanTarget, table: TableDef): Answers {
  const groups = new Map<
    string,
    Record<keyof Omit<Q1Group, 'returnFlag' | 'lineStatus'>, bigint> & { returnFlag: string; lineStatus: string }
  >();
  const q6 = { revenue: 0n, rows: 0n };
  let rows = 0;
  const columns = [
    'l_returnflag',
    'l_linestatus',
    'l_quantity',
    'l_extendedprice',
    'l_discount',
    'l_tax',
    'l_shipdate',
  ];
  for (const row of target.scan(table, { columns }).rows() as Iterable<Record<string, string>>) {
    rows++;
    const quantity = hundredths(row.l_quantity);
    const price = hundredths(row.l_extendedprice);
    const discount = hundredths(row.l_discount);
    const shipDate = row.l_shipdate as string;
    if (shipDate >= '1994-01-01' && shipDate < '1995-01-01' && discount >= 5n && discount <= 7n && quantity < 2400n) {
      q6.revenue += price * discount;
      q6.rows++;
    }
    if (shipDate > Q1_LAST) continue;
    const key = `${row.l_returnflag}|${row.l_linestatus}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = {
        returnFlag: row.l_returnflag as string,
        lineStatus: row.l_linestatus as string,
        sumQuantity: 0n,
        sumBasePrice: 0n,
        sumDiscountedPrice: 0n,
        sumCharge: 0n,
        sumDiscount: 0n,
        count: 0n,
      };
      groups.set(key, group);
    }
    group.sumQuantity += quantity;
    group.sumBasePrice += price;
    group.sumDiscountedPrice += price * (100n - discount);
    group.sumCharge += price * (100n - discount) * (100n + hundredths(row.l_tax));
    group.sumDiscount += discount;
    group.count++;
  }
  const q1 = [...groups.values()].sort((a, b) => (a.returnFlag + a.lineStatus < b.returnFlag + b.lineStatus ? -1 : 1));
  return { rows, q1, q6, source: 'answers computed from the rows by other code' };
}

function hundredths(text: string | undefined): bigint {
  const [whole, fraction = ''] = (text ?? '').split('.');
  return BigInt((whole as string) + fraction.padEnd(2, '0'));
}

/** What is wrong with an answer to Q1, or undefined. */
export function q1Difference(got: readonly Q1Group[], answers: Answers): string | undefined {
  if (got.length !== answers.q1.length) return `${got.length} groups where ${answers.q1.length} are right`;
  for (const [i, expected] of answers.q1.entries()) {
    const group = got[i] as Q1Group;
    for (const key of Object.keys(expected) as (keyof Q1Group)[]) {
      if (group[key] !== expected[key]) {
        return `${key} of group ${expected.returnFlag}${expected.lineStatus} is ${String(group[key])} where ${String(expected[key])} is right`;
      }
    }
  }
  return undefined;
}

/** What is wrong with an answer to Q6, or undefined. */
export function q6Difference(got: Q6Answer, answers: Answers): string | undefined {
  if (got.revenue !== answers.q6.revenue)
    return `revenue ${got.revenue} where ${answers.q6.revenue} ten-thousandths are right`;
  if (got.rows !== undefined && got.rows !== answers.q6.rows)
    return `${got.rows} rows selected where ${answers.q6.rows} are right`;
  return undefined;
}

/** The range of keys that is summed, in the middle of all, and the right sum: from row objects and bigint arithmetic. */
export function keyAnswer(target: ScanTarget, table: TableDef): { range: KeyRange; sum: bigint } {
  let most = 0n;
  const keys: bigint[] = [];
  for (const { l_orderkey: key } of target.scan(table, { columns: ['l_orderkey'] }).rows() as Iterable<
    Record<string, bigint>
  >) {
    keys.push(key);
    if (key > most) most = key;
  }
  const range = { from: most / 4n, to: (most * 3n) / 4n };
  return { range, sum: keys.reduce((sum, key) => (key >= range.from && key <= range.to ? sum + key : sum), 0n) };
}
