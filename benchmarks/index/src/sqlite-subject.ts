// SQLite in this process: a rowid table with an index where one is built, the table itself as the B-tree where rows are
// inserted and looked up, which is its quickest way.
import { openSqlite, type SqliteConnection } from '@blockwright/peers';
import { drawLookUps, type Keys, makeKeys } from './keys.ts';
import { A_CALL_EACH, expectRows, type IndexPlan, type IndexSubject, ONE_STATEMENT, type Work } from './subject.ts';

export const SQLITE_NOTE =
  'SQLite: int8 keys are its row ids and UUIDs 16-byte blobs in a table without them, so that a look-up is one descent and no heap; CREATE INDEX is on a table with row ids';

export async function openSqliteIndexes(plan: IndexPlan, bufferBytes: number): Promise<IndexSubject> {
  const { engine, settings, connection, close } = await openSqlite({
    folder: plan.folder,
    pragmas: {
      page_size: 8192,
      journal_mode: 'WAL',
      synchronous: 'FULL',
      cache_size: -Math.floor(bufferBytes / 1024),
      temp_store: 'MEMORY',
    },
  });
  const works = plan.kinds.flatMap((kind) => {
    const keys = makeKeys(kind, plan.rows, plan.seed);
    return plan.parts.flatMap((part) => {
      if (part === 'build') return [buildOf(connection, keys)];
      return part === 'insert' ? [insertOf(connection, keys)] : lookUpsOf(connection, keys, plan);
    });
  });
  return { engine, blockSize: null, isPeer: true, settings, works, close };
}

/** A key as SQLite is given it. */
function bound(key: bigint | string): unknown {
  return typeof key === 'bigint' ? key : Buffer.from(key.replaceAll('-', ''), 'hex');
}

/** The table itself is the B-tree. */
function clusteredSql(keys: Keys, name: string): string {
  return keys.kind === 'uuid'
    ? `CREATE TABLE ${name} (id BLOB PRIMARY KEY, val INTEGER NOT NULL) WITHOUT ROWID`
    : `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, val INTEGER NOT NULL)`;
}

function insertAll(connection: SqliteConnection, name: string, values: readonly unknown[]): number {
  const insert = connection.prepare(`INSERT INTO ${name} VALUES (?, ?)`);
  connection.exec('BEGIN');
  for (let i = 0; i < values.length; i++) insert.run(values[i], i);
  connection.exec('COMMIT');
  return values.length;
}

function buildOf(connection: SqliteConnection, keys: Keys): Work {
  const name = `build_${keys.kind}`;
  let isThere = false;
  return {
    query: 'build',
    kind: keys.kind,
    form: undefined,
    units: keys.values.length,
    prepare: () => {
      if (!isThere) {
        connection.exec(`CREATE TABLE ${name} (id, val INTEGER NOT NULL)`);
        insertAll(connection, name, keys.values.map(bound));
      }
      isThere = true;
      connection.exec(`DROP INDEX IF EXISTS ${name}_id`);
      connection.pragma('wal_checkpoint(TRUNCATE)');
    },
    run: () => {
      connection.exec(`CREATE UNIQUE INDEX ${name}_id ON ${name} (id)`);
      return keys.values.length;
    },
    expected: keys.values.length,
    verify: () => verify(connection, `${name} INDEXED BY ${name}_id WHERE id IS NOT NULL`, keys),
    size: () => undefined,
  };
}

function verify(connection: SqliteConnection, from: string, { values }: Keys): void {
  const found = connection.prepare(`SELECT count(*) AS n FROM ${from}`).get()?.n;
  expectRows('SQLite', from, Number(found), values.length);
}

function insertOf(connection: SqliteConnection, keys: Keys): Work {
  const name = `insert_${keys.kind}`;
  const values = keys.values.map(bound);
  return {
    query: 'insert',
    kind: keys.kind,
    form: A_CALL_EACH,
    units: values.length,
    prepare: () => {
      connection.exec(`DROP TABLE IF EXISTS ${name}`);
      connection.exec(clusteredSql(keys, name));
      connection.pragma('wal_checkpoint(TRUNCATE)');
    },
    run: () => insertAll(connection, name, values),
    expected: values.length,
    verify: () => verify(connection, name, keys),
    size: () => undefined,
  };
}

function lookUpsOf(connection: SqliteConnection, keys: Keys, { lookups, seed }: IndexPlan): Work[] {
  const name = `look_up_${keys.kind}`;
  const values = keys.values.map(bound);
  const { rows, sum } = drawLookUps(keys, lookups, seed);
  let get: ReturnType<SqliteConnection['prepare']> | undefined;
  let join: typeof get;
  const prepare = (): void => {
    if (get !== undefined) return;
    connection.exec(clusteredSql(keys, name));
    insertAll(connection, name, values);
    connection.exec(`CREATE TABLE keys_${keys.kind} (id)`);
    const insert = connection.prepare(`INSERT INTO keys_${keys.kind} VALUES (?)`);
    connection.exec('BEGIN');
    for (const row of rows) insert.run([values[row]]); // alone, a Buffer would be taken for named parameters
    connection.exec('COMMIT');
    get = connection.prepare(`SELECT val FROM ${name} WHERE id = ?`);
    join = connection.prepare(`SELECT sum(t.val) AS s FROM keys_${keys.kind} k CROSS JOIN ${name} t ON t.id = k.id`);
    connection.pragma('wal_checkpoint(TRUNCATE)');
  };
  const shared = {
    query: 'look-up',
    kind: keys.kind,
    units: lookups,
    prepare,
    expected: sum,
    verify: () => {},
    size: () => undefined,
  };
  return [
    {
      ...shared,
      form: A_CALL_EACH,
      run: () => {
        let total = 0;
        for (const row of rows) total += Number(get?.get([values[row]])?.val);
        return total;
      },
    },
    { ...shared, form: ONE_STATEMENT, run: () => Number(join?.get()?.s) },
  ];
}
