import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PostgresDatabase } from '@blockwright/engine';

for (const k of [1, 2, 4, 8, 16, 32]) {
  const d = PostgresDatabase.open(`/work/main/fixtures/pg/${k}k/pgdata`, { onWarning: console.log });
  const exp = readFileSync(`/work/main/fixtures/pg/${k}k/expect/tables.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((l) => JSON.parse(l));
  for (const e of exp) {
    const t = d.table(e.table);
    try {
      const cols = Object.keys(t.columns);
      let n = 0;
      const lines: string[] = [];
      for (const r of d.scan(t, { columns: cols }).rows() as any) {
        n++;
      }
      console.log(k, e.table, n === e.rows, n, e.rows, d.count(t).rows);
    } catch (x: any) {
      console.log(k, e.table, x.message, x.detail ?? '');
    }
  }
  d.close();
}
