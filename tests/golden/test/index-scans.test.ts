// PostgreSQL's own indexes, scanned here: every row once, in the index's order, forward and backward, from and to any key.
import { PostgresDatabase, type TableDef } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { expected, pgData } from './fixtures.ts';

type Row = Readonly<Record<string, unknown>>;

/** The indexes of tables whose rows the fixtures list: key columns, and whether each is descending. */
const INDEXES = [
  { table: 'churn', index: 'churn_pkey', key: 'id', descending: false, isUnique: true },
  { table: 'churn', index: 'churn_k', key: 'k', descending: false, isUnique: false },
  { table: 'vacuumed', index: 'vacuumed_id', key: 'id', descending: false, isUnique: true },
  { table: 'vacuumed', index: 'vacuumed_grp', key: 'grp', descending: false, isUnique: false },
  { table: 'words', index: 'words_w', key: 'w', descending: false, isUnique: false },
  { table: 'words', index: 'words_desc', key: 'n', descending: true, isUnique: false },
] as const;

/** Order of keys as PostgreSQL has it by default: text by its bytes, nulls last in either direction (words_desc says so). */
function order(a: unknown, b: unknown, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const both = typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) : Number(a) - Number(b);
  return descending ? -both : both;
}

function keyOf(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

/** The rows as PostgreSQL lists them, int8 as bigint; where it lists none, as a scan of the table gives them. */
function rowsOf(db: PostgresDatabase, size: BlockSize, table: TableDef): Row[] {
  const columns = Object.keys(table.columns);
  if (table.name !== 'churn') return [...db.scan(table, { columns }).rows()];
  return expected<Row>(size, `${table.name}.rows.jsonl.gz`).map((row) =>
    Object.fromEntries(columns.map((name) => [name, row[name]])),
  );
}

const asSet = (rows: readonly Row[]): string[] =>
  rows.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).sort();

describe.each(BLOCK_SIZES)("PostgreSQL's indexes at %i bytes", (size) => {
  it.each(INDEXES)('$index gives the rows of $table in order', ({ table: name, index, key, descending, isUnique }) => {
    using db = PostgresDatabase.open(pgData(size));
    const table = db.table(name);
    const columns = Object.keys(table.columns);
    const theirs = rowsOf(db, size, table);
    const compare = (a: Row, b: Row): number => order(keyOf(a[key]), keyOf(b[key]), descending);

    const check = (rows: readonly Row[], wanted: readonly Row[], isBackward: boolean): void => {
      expect(asSet(rows)).toEqual(asSet(wanted));
      for (let i = 1; i < rows.length; i++) {
        const between = isBackward ? compare(rows[i], rows[i - 1]) : compare(rows[i - 1], rows[i]);
        expect(between).toBeLessThanOrEqual(0);
      }
    };
    const all = (options: object): Row[] => [...db.scan(table, { index, columns, ...options }).rows()];
    check(all({}), theirs, false);
    check(all({ order: 'desc' }), theirs, true);
    // The key alone comes from the index; where the visibility map does not vouch for a row, the table is asked.
    const alone = db.scan(table, { index, columns: [key] });
    const keys = [...alone.rows()];
    expect(keys.map((row) => keyOf(row[key]))).toEqual([...theirs].sort(compare).map((row) => keyOf(row[key])));
    expect(alone.stats.entries).toBeGreaterThanOrEqual(theirs.length);
    if (name === 'churn') expect(alone.stats.heapFetches).toBe(alone.stats.entries);
    if (name === 'words') expect(alone.stats.heapFetches).toBe(0);
    if (name === 'vacuumed') expect(alone.stats.heapFetches).toBeLessThan(alone.stats.entries / 4);

    // Ranges, whose ends are keys that are there, and some that are not.
    const sorted = [...new Set(theirs.map((row) => row[key]))].sort((a, b) => order(keyOf(a), keyOf(b), descending));
    for (const [low, high] of [
      [0.1, 0.4],
      [0.5, 0.5],
      [0.9, 1],
      [0.6, 0.3],
    ]) {
      const from = sorted[Math.floor(low * (sorted.length - 1))];
      const to = sorted[Math.floor(high * (sorted.length - 1))];
      for (const fromExclusive of [false, true]) {
        for (const toExclusive of [false, true]) {
          const wanted = theirs.filter((row) => {
            const above = order(keyOf(row[key]), keyOf(from), descending);
            const below = order(keyOf(row[key]), keyOf(to), descending);
            return (fromExclusive ? above > 0 : above >= 0) && (toExclusive ? below < 0 : below <= 0);
          });
          const range = { from, to, fromExclusive, toExclusive };
          check(all(range), wanted, false);
          check(all({ ...range, order: 'desc' }), wanted, true);
          expect(db.count(table, { index, ...range }).rows).toBe(wanted.length);
          expect(db.count(table, { index, ...range, map: false }).rows).toBe(wanted.length);
        }
      }
    }
    const some = [sorted[7], sorted[2], sorted[2], sorted[sorted.length - 1]];
    check(
      all({ in: some }),
      theirs.filter((row) => some.includes(row[key])),
      false,
    );
    if (!isUnique) return;
    for (const row of theirs.slice(0, 50)) expect(db.get(table, row[key], { index })).toEqual(row);
    expect(db.get(table, -1, { index })).toBeUndefined();
  });

  it('lineitem by l_orderkey has every row of the table', () => {
    using db = PostgresDatabase.open(pgData(size));
    const table = db.table('lineitem');
    const index = 'lineitem_orderkey';
    const columns = ['l_orderkey', 'l_linenumber', 'l_comment'];
    const byTable = [...db.scan(table, { columns }).rows()];
    const byIndex = [...db.scan(table, { index, columns }).rows()];
    expect(asSet(byIndex)).toEqual(asSet(byTable));
    expect(byIndex.map((row) => row.l_orderkey)).toEqual(
      byTable.map((row) => row.l_orderkey as bigint).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    );
  });
});
