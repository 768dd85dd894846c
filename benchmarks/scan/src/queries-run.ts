// The queries, each as something to time: what runs, how many rows it handles, and how its answer is checked.
import { expectAnswer, type Variant, WrongAnswerError } from '@blockwright/benchmark';
import type { TableDef } from '@blockwright/engine';
import { type Answers, q1Difference, q6Difference } from './answers.ts';
import { Q1, Q1_COLUMNS, type Q1Group, Q6, Q6_COLUMNS } from './queries.ts';
import type { ScanTarget, Subject } from './target.ts';

/** What can be asked for with `--queries`. */
export const QUERIES = ['count', 'judged', 'q6', 'q1'] as const;
export type Query = (typeof QUERIES)[number];

/** What each query is called in tables. */
export const QUERY_TITLES: Readonly<Record<Query, string>> = {
  count: 'count(*), map',
  judged: 'count(*), judged',
  q6: 'Q6',
  q1: 'Q1',
};

/** The variant that runs `query` on a subject. `prefix` keeps names apart when several subjects run together. */
export function queryVariant(query: Query, subject: Subject, answers: Answers, name: string): Variant {
  const { target, marked, rows } = subject;
  switch (query) {
    case 'count':
      return { name, units: rows, run: () => target.count(marked).rows, check: expectAnswer(name, answers.rows) };
    case 'judged': {
      const table = subject.unmarked ?? marked;
      return {
        name,
        units: rows,
        run: () => target.count(table, { map: false }).rows,
        check: expectAnswer(name, answers.rows),
      };
    }
    case 'q6':
      return {
        name,
        units: rows,
        run: () => runQ6(target, marked),
        check: (answer) => refuse(name, q6Difference(answer as Q6, answers)),
      };
    case 'q1':
      return {
        name,
        units: rows,
        run: () => runQ1(target, marked),
        check: (answer) => refuse(name, q1Difference(answer as Q1Group[], answers)),
      };
  }
}

/** Q1 over a table that has lineitem's columns. */
export function runQ1(target: ScanTarget, table: TableDef): Q1Group[] {
  const q1 = new Q1();
  using scan = target.scan(table, { columns: Q1_COLUMNS, charCodes: true });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) q1.add(batch.vectors, batch.length);
  return q1.groups();
}

/** Q6 over a table that has lineitem's columns. */
export function runQ6(target: ScanTarget, table: TableDef): Q6 {
  const q6 = new Q6();
  using scan = target.scan(table, { columns: Q6_COLUMNS });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) q6.add(batch.vectors, batch.length);
  return q6;
}

function refuse(name: string, difference: string | undefined): void {
  if (difference !== undefined) throw new WrongAnswerError(`${name}: ${difference}`);
}
