// PostgreSQL: rows are made and inserted inside the server; look-ups are asked by the socket, and in one statement, a
// nested loop over the same keys, which is its quickest way.
import { type PostgresServer, startPostgres } from '@blockwright/peers';
import { drawLookUps, type Keys, makeKeys } from './keys.ts';
import {
  A_CALL_EACH,
  expectRows,
  type IndexPlan,
  type IndexSize,
  type IndexSubject,
  ONE_STATEMENT,
  type Work,
} from './subject.ts';

export const POSTGRES_NOTE =
  'PostgreSQL: inserts are one INSERT of rows that are in the server already; look-ups in one statement are a nested loop inside the server, without a message, a plan or a result for each';

/** By the socket a look-up takes so long that fewer make a sample. */
const FEWER_BY_SOCKET = 20;

export async function openPostgresIndexes(plan: IndexPlan): Promise<IndexSubject> {
  const server = await startPostgres({
    extensions: ['pageinspect'],
    settings: {
      shared_buffers: plan.buffers,
      maintenance_work_mem: plan.workMem,
      max_parallel_maintenance_workers: 0,
      fsync: true,
      full_page_writes: true,
      max_wal_size: '8GB',
    },
  });
  await server.query('SET enable_seqscan = off'); // what is counted is counted through its index
  const works = plan.kinds.flatMap((kind) => {
    const keys = makeKeys(kind, plan.rows, plan.seed);
    return plan.parts.flatMap((part) => {
      if (part === 'build') return [buildOf(server, keys)];
      return part === 'insert' ? [insertOf(server, keys)] : lookUpsOf(server, keys, plan);
    });
  });
  return {
    engine: `PostgreSQL ${server.version}`,
    blockSize: 8192,
    isPeer: true,
    settings: server.settings,
    works,
    close: () => server.close(),
  };
}

function typeOf({ kind }: Keys): string {
  return kind === 'uuid' ? 'uuid' : 'int8';
}

/** A table of rows in the keys' order. */
async function fill(server: PostgresServer, name: string, keys: Keys): Promise<void> {
  await server.query(`CREATE TABLE ${name} (id ${typeOf(keys)} NOT NULL, val int NOT NULL)`);
  const lines = keys.values.map((key, i) => `${String(key)}|${i}\n`);
  await server.copyFrom(name, [Buffer.from(lines.join(''))]);
  await server.query(`VACUUM ANALYZE ${name}`);
}

async function sizeOf(server: PostgresServer, index: string): Promise<IndexSize> {
  const [row] = await server.query(
    `SELECT pg_relation_size('${index}') AS bytes, (bt_metap('${index}')).level AS level`,
  );
  return { bytes: Number(row.bytes), levels: Number(row.level) };
}

async function verify(server: PostgresServer, name: string, { values }: Keys): Promise<void> {
  const [row] = await server.query(`SELECT count(*) AS n FROM ${name} WHERE id IS NOT NULL`);
  expectRows('PostgreSQL', name, Number(row.n), values.length);
}

function buildOf(server: PostgresServer, keys: Keys): Work {
  const name = `build_${keys.kind}`;
  let isThere = false;
  return {
    query: 'build',
    kind: keys.kind,
    form: undefined,
    units: keys.values.length,
    prepare: async () => {
      if (!isThere) await fill(server, name, keys);
      isThere = true;
      await server.query(`DROP INDEX IF EXISTS ${name}_id`);
      await server.query('CHECKPOINT');
    },
    run: async () => {
      await server.query(`CREATE UNIQUE INDEX ${name}_id ON ${name} (id)`);
      return keys.values.length;
    },
    expected: keys.values.length,
    verify: () => verify(server, name, keys),
    size: () => sizeOf(server, `${name}_id`),
  };
}

function insertOf(server: PostgresServer, keys: Keys): Work {
  const name = `insert_${keys.kind}`;
  let isThere = false;
  return {
    query: 'insert',
    kind: keys.kind,
    form: ONE_STATEMENT,
    units: keys.values.length,
    prepare: async () => {
      if (!isThere) await fill(server, `from_${keys.kind}`, keys);
      isThere = true;
      await server.query(`DROP TABLE IF EXISTS ${name}`);
      await server.query(`CREATE TABLE ${name} (id ${typeOf(keys)} PRIMARY KEY, val int NOT NULL)`);
      await server.query('CHECKPOINT');
    },
    run: async () => {
      await server.query(`INSERT INTO ${name} SELECT id, val FROM from_${keys.kind}`);
      return keys.values.length;
    },
    expected: keys.values.length,
    verify: () => verify(server, name, keys),
    size: () => sizeOf(server, `${name}_pkey`),
  };
}

function lookUpsOf(server: PostgresServer, keys: Keys, { lookups, seed }: IndexPlan): Work[] {
  const name = `look_up_${keys.kind}`;
  const { rows, sum } = drawLookUps(keys, lookups, seed);
  const bySocket = rows.subarray(0, Math.max(1, Math.floor(lookups / FEWER_BY_SOCKET)));
  let isThere = false;
  const prepare = async (): Promise<void> => {
    if (isThere) return;
    isThere = true;
    await fill(server, name, keys);
    await server.query(`ALTER TABLE ${name} ADD PRIMARY KEY (id)`);
    await server.query(`CREATE TABLE keys_${keys.kind} (id ${typeOf(keys)} NOT NULL)`);
    const lines = Array.from(rows, (row) => `${String(keys.values[row])}\n`);
    await server.copyFrom(`keys_${keys.kind}`, [Buffer.from(lines.join(''))]);
    await server.query(`VACUUM ANALYZE keys_${keys.kind}`);
    await server.query(
      'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off; SET enable_material = off; SET enable_bitmapscan = off',
    );
    await server.query('CHECKPOINT');
  };
  const shared = { query: 'look-up', kind: keys.kind, prepare, verify: () => {}, size: () => undefined };
  const one = `SELECT val FROM ${name} WHERE id = $1`;
  return [
    {
      ...shared,
      form: A_CALL_EACH,
      units: bySocket.length,
      expected: bySocket.reduce((total, row) => total + row, 0),
      run: async () => {
        let total = 0;
        for (const row of bySocket) {
          const [found] = await server.query(one, [keys.values[row]]);
          total += Number(found.val);
        }
        return total;
      },
    },
    {
      ...shared,
      form: ONE_STATEMENT,
      units: lookups,
      expected: sum,
      run: async () => {
        const [found] = await server.query(
          `SELECT sum(t.val) AS s FROM keys_${keys.kind} k JOIN ${name} t ON t.id = k.id`,
        );
        return Number(found.s);
      },
    },
  ];
}
