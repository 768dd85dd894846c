// The other way round: PostgreSQL builds indexes, grows them, deletes from them, vacuums them, and uses their pages again;
// our checker finds nothing, and our scans give what PostgreSQL's own scans of the same index give, row by row.
import { createHash } from 'node:crypto';
import { PostgresDatabase, type TableDef } from '@blockwright/engine';
import type { PostgresServer } from '@blockwright/peers';
import { afterAll, beforeAll, expect } from 'vitest';
import { createIndexes, deleteRows, type GrownTable, indexName, orderTables, typeTables } from './index-cases.ts';
import { describe, it, startOracle } from './oracle.ts';
import { checkFindings } from './pages.ts';

/** To repeat a run: `ORACLE_SEED=… vitest run test/index-read-back.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
const TABLES: readonly GrownTable[] = [...typeTables(SEED, 120, 3), ...orderTables(1600)];
const NULL = '\\N';

let server: PostgresServer;

beforeAll(async () => {
  server = await startOracle();
  for (const [n, table] of TABLES.entries()) {
    await table.create(server);
    // Every second table's indexes are built in bulk, and then inserted into.
    if (n % 2 === 0) await createIndexes(server, table);
    await table.insert(server, 0);
    if (n % 2 === 1) await createIndexes(server, table);
  }
}, 300_000);

afterAll(() => server?.close(), 60_000);

/** What happens to each table before it is read again: statements, rows of a round, and more statements. */
const CHANGES: readonly {
  what: string;
  before(table: GrownTable): Promise<void>;
  round: number;
  after(name: string): readonly string[];
}[] = [
  {
    what: 'inserted into, updated, deleted from, and rolled back',
    before: (table) => deleteRows(server, table),
    round: 1,
    after: (name) => [
      `UPDATE ${name} SET v = (SELECT v FROM ${name} ORDER BY i LIMIT 1) WHERE i % 17 = 3`,
      `UPDATE ${name} SET v = v WHERE i % 13 = 5`,
      `UPDATE ${name} SET i = i + 500000 WHERE i % 19 = 7`,
      `DELETE FROM ${name} WHERE i % 7 = 2`,
      `BEGIN; INSERT INTO ${name} SELECT i + 5000000, v FROM ${name} WHERE i % 5 = 0; DELETE FROM ${name} WHERE i % 3 = 0; ROLLBACK`,
    ],
  },
  {
    what: 'vacuumed, and grown in pages that had been deleted',
    before: async ({ name }) => {
      // What the first deletes, the second finds to be out of everybody's reach.
      await server.query(`VACUUM (INDEX_CLEANUP on) ${name}`);
      await server.query(`DELETE FROM ${name} WHERE i % 29 = 5`);
      await server.query(`VACUUM (INDEX_CLEANUP on) ${name}`);
    },
    round: 2,
    after: (name) => [`UPDATE ${name} SET v = v WHERE i % 11 = 4`, `DELETE FROM ${name} WHERE i % 23 = 2`],
  },
];

/** What the server says of an index: all rows in its order, both ways, and the rows of some ranges. */
interface Answers {
  readonly forward: string;
  /**
   * The values alone: of the rows of a posting list those that came first are given first, by PostgreSQL, and last, by us, so
   * that rows of equal keys are not in the same order.
   */
  readonly backward: string;
  readonly rows: number;
  /** Two values, as texts, in the order of the index. */
  readonly from: string;
  readonly to: string;
  /** After `from`, up to `to`. */
  readonly between: string;
  readonly either: string;
}

async function theirAnswers(table: GrownTable, number: number): Promise<Answers> {
  const { columns, keys } = table.shapes[number];
  const name = indexName(table, number);
  const order = (backward: boolean): string =>
    keys
      .map(({ descending, nullsFirst }, i) => {
        const column = table.descriptor.columns[columns[i]].name;
        return `${column} ${descending === backward ? 'ASC' : 'DESC'} NULLS ${nullsFirst === backward ? 'LAST' : 'FIRST'}`;
      })
      .join(', ');
  const type = table.descriptor.columns[1].type.sqlName;
  const ends = await server.query(
    `SELECT format('%s', v) AS v FROM ${table.name} WHERE v IS NOT NULL ORDER BY ${order(false).split(',')[0]}, i
      OFFSET (SELECT count(v) / 4 FROM ${table.name}) LIMIT (SELECT count(v) / 3 FROM ${table.name})`,
  );
  const from = String(ends.at(0)?.v ?? '');
  const to = String(ends.at(-1)?.v ?? '');
  await server.query('BEGIN');
  try {
    const others = table.shapes.map((_, i) => indexName(table, i)).filter((other) => other !== name);
    await server.query(`DROP INDEX ${others.join(', ')}`);
    await server.query(
      'SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off',
    );
    const ask = async (
      what: string,
      where: string,
      by: string,
      values: readonly string[],
    ): Promise<[string, number]> => {
      const sql = `SELECT md5(coalesce(string_agg(${what}, E'\\n'), '')) AS md5, count(*)::int4 AS n
        FROM (SELECT i, v FROM ${table.name} WHERE ${where} ORDER BY ${by}) q`;
      const plan = JSON.stringify(await server.query(`EXPLAIN (COSTS OFF) ${sql}`, values));
      if (!plan.includes(` using ${name} `)) throw new Error(`${sql} is not answered from ${name}: ${plan}`);
      const [{ md5, n }] = await server.query(sql, values);
      return [String(md5), Number(n)];
    };
    const value = `CASE WHEN v IS NULL THEN '${NULL}' ELSE format('%s', v) END`;
    const row = `i || '|' || ${value}`;
    const [after, upTo] = keys[0].descending ? ['<', '>='] : ['>', '<='];
    const hasRange = ends.length > 0;
    const cast = (n: number): string => `$${n}::text::${type}`;
    const range = `v ${after} ${cast(1)} AND v ${upTo} ${cast(2)}`;
    const [forward, rows] = await ask(row, 'true', order(false), []);
    return {
      forward,
      rows,
      backward: (await ask(value, 'true', order(true), []))[0],
      from,
      to,
      between: hasRange ? (await ask(row, range, order(false), [from, to]))[0] : '',
      either: hasRange ? (await ask(row, `v IN (${cast(1)}, ${cast(2)})`, order(false), [from, to]))[0] : '',
    };
  } finally {
    await server.query('ROLLBACK');
  }
}

const md5 = (lines: readonly string[]): string => createHash('md5').update(lines.join('\n')).digest('hex');

/** Where our scans of an index differ from the server's, in words; undefined when nowhere. */
function answerFault(
  postgres: PostgresDatabase,
  table: GrownTable,
  number: number,
  their: Answers,
): string | undefined {
  const definition: TableDef = postgres.table(table.name);
  const index = indexName(table, number);
  const { type } = table.descriptor.columns[1];
  const textOf = (v: unknown): string => (v === null ? NULL : type.toText(v));
  const lines = (options: object): string[] =>
    [...postgres.scan(definition, { index, columns: ['i', 'v'], ...options }).rows()].map(
      ({ i, v }) => `${String(i)}|${textOf(v)}`,
    );
  const forward = lines({});
  if (md5(forward) !== their.forward) return `the rows differ: ${forward.length} instead of ${their.rows}`;
  const backward = lines({ order: 'desc' });
  if (backward.reverse().join('\n') !== forward.join('\n'))
    return 'the rows in descending order are not those in ascending order';
  const valuesOf = (order: 'asc' | 'desc'): string[] =>
    [...postgres.scan(definition, { index, columns: ['v'], order }).rows()].map(({ v }) => textOf(v));
  if (valuesOf('asc').join('\n') !== forward.map((line) => line.slice(line.indexOf('|') + 1)).join('\n')) {
    return 'the values alone differ';
  }
  if (md5(valuesOf('desc')) !== their.backward) return 'the values in descending order differ';
  const { rows } = postgres.count(definition, { index });
  if (rows !== their.rows) return `${rows} rows are counted instead of ${their.rows}`;
  if (their.between === '') return undefined;
  const [from, to] = [their.from, their.to].map((text) => type.fromText(text));
  const between = lines({ from, to, fromExclusive: true });
  if (md5(between) !== their.between) return `the rows after ${their.from} up to ${their.to} differ: ${between.length}`;
  const either = lines({ in: [from, to] });
  if (md5(either) !== their.either) return `the rows of ${their.from} and ${their.to} differ: ${either.length}`;
  return undefined;
}

describe.each(CHANGES)(`indexes $what (seed ${SEED})`, ({ before, round, after }) => {
  const expected: Record<string, Answers> = {};
  const faults: Record<string, string | undefined> = {};
  const canary: Record<string, string | undefined> = {};
  let findings: unknown;

  beforeAll(async () => {
    for (const table of TABLES) {
      await before(table);
      await table.insert(server, round);
      for (const statement of after(table.name)) await server.query(statement);
    }
    for (const table of TABLES) {
      for (const i of table.shapes.keys()) expected[indexName(table, i)] = await theirAnswers(table, i);
    }
    await server.whileStopped(() => {
      findings = checkFindings(server.dataDirectory);
      using postgres = PostgresDatabase.open(server.dataDirectory, { database: 'postgres' });
      for (const table of TABLES) {
        for (const i of table.shapes.keys()) {
          const name = indexName(table, i);
          faults[name] = answerFault(postgres, table, i, expected[name]);
        }
      }
      const [name, other] = [indexName(TABLES[1], 0), indexName(TABLES[2], 0)];
      for (const what of ['forward', 'backward', 'rows', 'between', 'either'] as const) {
        const wrong = { ...expected[name], [what]: expected[other][what] };
        canary[what] = answerFault(postgres, TABLES[1], 0, wrong);
      }
    });
  }, 300_000);

  it('are checked without a finding', () => {
    expect(findings).toEqual([]);
  });

  it.each(TABLES)('are read as PostgreSQL reads them: $what', (table) => {
    for (const [i, { sql }] of table.shapes.entries()) {
      const name = indexName(table, i);
      expect(name in faults).toBe(true);
      expect([sql, faults[name]]).toEqual([sql, undefined]);
      expect(expected[name].rows).toBeGreaterThan(20);
    }
  });

  it('canary: another answer is noticed', () => {
    expect(Object.values(canary).map((fault) => typeof fault)).toEqual(Array(5).fill('string'));
  });
});
