// Tables whose indexes are grown: one of every type, in no order, and one of every order in which keys may come.
import type { PostgresServer } from '@blockwright/peers';
import { type ColumnType, int4, int8, type KeyOrder, TupleDescriptor, text } from '@blockwright/tuple';
import fc from 'fast-check';
import type { IndexShape } from './built-index.ts';
import type { Tid } from './grown-index.ts';
import { TYPE_CASES } from './values.ts';

const ASC: KeyOrder = { descending: false, nullsFirst: false };
const DESC: KeyOrder = { descending: true, nullsFirst: true };

interface Shape extends IndexShape {
  /** `CREATE INDEX name ON table` and then this, of the columns `i` and `v`. */
  readonly sql: string;
}

const SHAPES: readonly Shape[] = [
  { sql: '(v)', columns: [1], keys: [ASC] },
  { sql: '(v DESC)', columns: [1], keys: [DESC] },
  { sql: '(v DESC NULLS LAST)', columns: [1], keys: [{ descending: true, nullsFirst: false }] },
  { sql: '(v NULLS FIRST)', columns: [1], keys: [{ descending: false, nullsFirst: true }] },
  { sql: '(v) INCLUDE (i)', columns: [1, 0], keys: [ASC] },
  { sql: '(v, i)', columns: [1, 0], keys: [ASC, ASC] },
  { sql: '(v DESC, i)', columns: [1, 0], keys: [DESC, ASC], isUnique: true },
  { sql: '(v) WITH (fillfactor = 70)', columns: [1], keys: [ASC], fillfactor: 70 },
  { sql: '(v) WITH (deduplicate_items = off)', columns: [1], keys: [ASC], deduplicate: false },
];

/** Those that differ by what the type is. */
const TYPE_SHAPES: readonly Shape[] = SHAPES.filter(({ sql }) =>
  ['(v)', '(v DESC)', '(v NULLS FIRST)', '(v) INCLUDE (i)', '(v DESC, i)'].includes(sql),
);

/** A table of `i`, which counts the rows in the order in which they come, and `v`. */
export interface GrownTable {
  readonly name: string;
  readonly what: string;
  readonly descriptor: TupleDescriptor;
  readonly shapes: readonly Shape[];
  create(server: PostgresServer): Promise<void>;
  /** Inserts rows; `round` 0 is followed by 1, which continues it. */
  insert(server: PostgresServer, round: number): Promise<void>;
}

/** One table a type: `values` random ones, the borders and a null, each some times, in no order. */
export function typeTables(seed: number, values: number, copies: number): GrownTable[] {
  return TYPE_CASES.map(({ type, borders, random }, number) => {
    const name = `type_${number}`;
    const sample = [...borders, null, ...fc.sample(random, { numRuns: values, seed })];
    return {
      name,
      what: type.sqlName,
      descriptor: columns({ i: int4(), v: type }),
      shapes: TYPE_SHAPES,
      async create(server) {
        await server.query(`CREATE TABLE ${name} (i int4 NOT NULL, v ${type.sqlName}) WITH (autovacuum_enabled = off)`);
      },
      async insert(server, round) {
        const texts = sample.map((value) => (value === null ? null : type.toText(value)));
        await server.query(
          `INSERT INTO ${name} SELECT $2 * 1000000 + row_number() OVER (ORDER BY hashint8(n * 1000 + c)), v::${type.sqlName}
             FROM unnest($1::text[]) WITH ORDINALITY AS t(v, n), generate_series(1, $3) AS c`,
          [texts, round, copies],
        );
      },
    };
  });
}

/** One table an order. In the expressions `g` counts the rows of a round from 1, and `r` is the round. */
export function orderTables(rows: number): GrownTable[] {
  const scattered = '(g::int8 * 7919 % 99991)';
  return [
    ordered('ascending', int8(), `r * 1000000 + g`, rows),
    ordered('descending', int8(), `-r * 1000000 - g`, rows),
    ordered('in no order', int8(), `hashint8extended(r * 1000000 + g, 0)`, rows),
    ordered('duplicates in no order', int8(), `${scattered} % 300`, rows),
    ordered('ascending runs of duplicates', int8(), `(r * ${rows} + g) / 150`, rows),
    ordered('groups that grow side by side', int8(), `g % 23`, rows),
    ordered('one value', int8(), `7`, rows),
    ordered('one value among others', int8(), `CASE WHEN g % 3 = 0 THEN ${scattered} ELSE 5000 END`, rows),
    ordered('nulls and others', int8(), `nullif(${scattered} % 40, 7) + nullif(g % 5, 2) * 0`, rows),
    ordered('only nulls', int8(), `NULL`, rows),
    ordered('long keys in no order', text(), longKey(`${scattered} * 2 + r`), rows / 8),
    ordered(
      'long keys that begin alike',
      text(),
      `repeat('the same again ', 30) || lpad((${scattered} % 700)::text, 5, '0') || repeat('.', g % 40)`,
      rows / 4,
    ),
    ordered('words, ascending', text(), `'word ' || lpad((r * 1000000 + g)::text, 9, '0')`, rows),
    ordered('keys at the limit', text(), `lpad(g::text, 5, '0') || left(${longKey('g')}, 2680 - g % 3)`, rows / 40),
  ];
}

/** Of 60 to 2660 characters that do not compress. */
function longKey(number: string): string {
  return `(SELECT left(string_agg(md5(((${number}) * 100 + h)::text), ''), 60 + g * 7919 % 2600) FROM generate_series(1, 84) h)`;
}

function ordered(what: string, type: ColumnType, value: string, rows: number): GrownTable {
  const name = what.replaceAll(/\W+/g, '_');
  return {
    name,
    what,
    descriptor: columns({ i: int4(), v: type.nullable() as ColumnType }),
    shapes: SHAPES,
    async create(server) {
      await server.query(`CREATE TABLE ${name} (i int4 NOT NULL, v ${type.sqlName}) WITH (autovacuum_enabled = off)`);
      if (type.sqlName === 'text') await server.query(`ALTER TABLE ${name} ALTER v SET STORAGE MAIN`);
    },
    async insert(server, round) {
      await server.query(
        `INSERT INTO ${name} SELECT r * 1000000 + g, ${value} FROM (SELECT $1::int4 AS r, generate_series(1, $2::int4) AS g) s`,
        [round, Math.floor(rows)],
      );
    },
  };
}

function columns(types: Readonly<Record<string, ColumnType>>): TupleDescriptor {
  return TupleDescriptor.of(Object.entries(types).map(([name, type]) => ({ name, type })));
}

export const indexName = (table: GrownTable, number: number): string => `${table.name}_${number}`;

/** Makes the indexes of a table. */
export async function createIndexes(server: PostgresServer, table: GrownTable): Promise<void> {
  for (const [i, { sql, isUnique }] of table.shapes.entries()) {
    await server.query(
      `CREATE ${isUnique === true ? 'UNIQUE ' : ''}INDEX ${indexName(table, i)} ON ${table.name} ${sql}`,
    );
  }
}

/** Deletes every third row, and all rows of a third of the keys' range: pages lose some entries, or all. */
export async function deleteRows(server: PostgresServer, { name }: GrownTable): Promise<void> {
  const nth = (part: number): string =>
    `(SELECT v FROM ${name} ORDER BY v OFFSET (SELECT count(*) * ${part} / 6 FROM ${name}) LIMIT 1)`;
  await server.query(
    `DELETE FROM ${name} WHERE i % 3 = 1 OR v > ${nth(1)} AND v < ${nth(3)} OR i % 1000000 BETWEEN 800 AND 2000`,
  );
}

/** Where the rows of a table are, by their number, in the order in which they came. */
export async function tidsOf(server: PostgresServer, { name }: GrownTable): Promise<Map<number, Tid>> {
  const rows = await server.query(
    `SELECT i, (ctid::text::point)[0]::int4 AS block, (ctid::text::point)[1]::int4 AS o FROM ${name} ORDER BY i`,
  );
  return new Map(rows.map(({ i, block, o }) => [Number(i), { block: Number(block), offset: Number(o) }]));
}
