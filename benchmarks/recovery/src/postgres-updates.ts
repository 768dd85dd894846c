// The same workload in PostgreSQL, stopped at once and started again: its own "redo done" line is what is compared.
import { ACCOUNTS_A_BRANCH, TELLERS_A_BRANCH } from '@blockwright/benchmark-workloads';
import { type PostgresServer, startPostgres } from '@blockwright/peers';
import { FILLFACTOR, type WorkloadName } from './workload.ts';

export interface PostgresWorkload {
  readonly workload: WorkloadName;
  readonly rows: number;
  readonly updates: number;
  readonly buffers: string;
  readonly rounds: number;
  readonly signal: AbortSignal;
}

/** One crash and recovery. */
interface PostgresRedo {
  readonly elapsedMs: number;
  readonly records: number;
  readonly walBytes: number;
  readonly hotShare: number;
}

export interface PostgresResult {
  readonly engine: string;
  readonly workload: WorkloadName;
  readonly settings: Readonly<Record<string, string>>;
  readonly runs: readonly PostgresRedo[];
}

export const POSTGRES_DOES_MORE =
  'PostgreSQL finds its rows by a primary key, since a scan by ctid prunes nothing there; an update that leaves its page inserts into that index, and its redo replays those records too';

/** The tables, one transaction of a procedure whose rows are numbered from 1 to `number_of_rows`, and what must be true. */
interface PostgresTables {
  readonly create: (rows: number) => string;
  readonly transaction: string;
  /** Tables whose updates are counted. */
  readonly updated: readonly string[];
  /** Whether all rows and `transactions` are there. */
  readonly isRight: (rows: number, transactions: number) => string;
}

const WITH_ROOM = `WITH (fillfactor = ${FILLFACTOR})`;

const TABLES: Readonly<Record<WorkloadName, PostgresTables>> = {
  update: {
    create: (rows) => `CREATE TABLE updates (id int PRIMARY KEY, val int NOT NULL) ${WITH_ROOM};
      INSERT INTO updates SELECT i, 0 FROM generate_series(1, ${rows}) i`,
    transaction: 'UPDATE updates SET val = val + 1 WHERE id = row_id;',
    updated: ['updates'],
    isRight: (rows, transactions) => `SELECT count(*) = ${rows} AND sum(val) = ${transactions} AS ok FROM updates`,
  },
  narrow: {
    create: (rows) => `CREATE TABLE narrow (id int, val text NOT NULL, PRIMARY KEY (id) ${WITH_ROOM}) ${WITH_ROOM};
      INSERT INTO narrow SELECT i, lpad('0', 10, '0') FROM generate_series(1, ${rows}) i`,
    transaction: `SELECT val INTO old FROM narrow WHERE id = row_id;
      UPDATE narrow SET val = lpad((old::int + 1)::text, 10, '0') WHERE id = row_id;`,
    updated: ['narrow'],
    isRight: (rows, transactions) => `SELECT count(*) = ${rows} AND sum(val::int) = ${transactions} AS ok FROM narrow`,
  },
  tpcb: {
    create: (rows) => {
      const branches = Math.ceil(rows / ACCOUNTS_A_BRANCH);
      const each = Math.ceil(rows / branches);
      const tellers = branches * TELLERS_A_BRANCH;
      return `CREATE TABLE branches (bid int PRIMARY KEY, bbalance int NOT NULL, filler char(88)) ${WITH_ROOM};
      CREATE TABLE tellers (tid int PRIMARY KEY, bid int, tbalance int NOT NULL, filler char(84)) ${WITH_ROOM};
      CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int NOT NULL, filler char(84)) ${WITH_ROOM};
      CREATE TABLE history (tid int, bid int, aid int, delta int, mtime timestamptz, filler char(22));
      INSERT INTO branches SELECT i, 0, '' FROM generate_series(1, ${branches}) i;
      INSERT INTO tellers SELECT i, 1 + (i - 1) / ${TELLERS_A_BRANCH}, 0, '' FROM generate_series(1, ${tellers}) i;
      INSERT INTO accounts SELECT i, 1 + (i - 1) / ${each}, 0, '' FROM generate_series(1, ${branches * each}) i`;
    },
    transaction: `delta := floor(random() * 10001)::int - 5000;
      teller := 1 + floor(random() * (SELECT count(*) FROM tellers))::int;
      branch := 1 + floor(random() * (SELECT count(*) FROM branches))::int;
      UPDATE accounts SET abalance = abalance + delta WHERE aid = row_id;
      SELECT abalance INTO old FROM accounts WHERE aid = row_id;
      UPDATE tellers SET tbalance = tbalance + delta WHERE tid = teller;
      UPDATE branches SET bbalance = bbalance + delta WHERE bid = branch;
      INSERT INTO history (tid, bid, aid, delta, mtime) VALUES (teller, branch, row_id, delta, now());`,
    updated: ['accounts', 'tellers', 'branches'],
    isRight: (_rows, transactions) => `SELECT count(*) = ${transactions} AND
      sum(delta) = (SELECT sum(abalance) FROM accounts) AND sum(delta) = (SELECT sum(tbalance) FROM tellers) AND
      sum(delta) = (SELECT sum(bbalance) FROM branches) AS ok FROM history`,
  },
};

/** Many transactions in one call to the server. */
function churnSql({ transaction }: PostgresTables): string {
  return `CREATE PROCEDURE churn(transactions int, number_of_rows int) LANGUAGE plpgsql AS $$
DECLARE row_id int; old text; delta int; teller int; branch int;
BEGIN
  FOR i IN 1..transactions LOOP
    row_id := 1 + floor(random() * number_of_rows)::int;
    ${transaction}
    COMMIT;
  END LOOP;
END $$`;
}

/** Runs the workload `rounds` times, with a crash after each. */
export async function measurePostgres(workload: PostgresWorkload): Promise<PostgresResult> {
  const { rows, buffers, rounds, signal } = workload;
  const server = await startPostgres({
    settings: {
      shared_buffers: buffers,
      full_page_writes: true,
      synchronous_commit: false,
      max_wal_size: '100GB',
      checkpoint_timeout: '1d',
    },
  });
  try {
    const tables = TABLES[workload.workload];
    for (const text of tables.create(rows).split(';')) await server.query(text);
    await server.query(churnSql(tables));
    const runs: PostgresRedo[] = [];
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      runs.push(await crashOnce(server, workload, round + 1));
    }
    return { engine: `PostgreSQL ${server.version}`, workload: workload.workload, settings: server.settings, runs };
  } finally {
    await server.close();
  }
}

async function crashOnce(
  server: PostgresServer,
  { workload, rows, updates }: PostgresWorkload,
  round: number,
): Promise<PostgresRedo> {
  const tables = TABLES[workload];
  await server.query('CHECKPOINT');
  const before = await statistics(server, tables);
  await server.query(`CALL churn(${updates}, ${rows})`);
  const after = await statistics(server, tables);
  await server.query('SELECT pg_switch_wal()'); // which flushes: no commit is lost with the server's memory
  await server.crash();
  await server.start();
  const log = server.logTail;
  const elapsed = /redo done at .* elapsed: ([0-9.]+) s/.exec(log)?.[1];
  if (elapsed === undefined) throw new Error(`PostgreSQL did not say how long its redo took: ${log}`);
  const [found] = await server.query(tables.isRight(rows, updates * round));
  if (found.ok !== true) throw new Error(`PostgreSQL has lost rows or updates after recovery ${round}`);
  return {
    elapsedMs: Number(elapsed) * 1000,
    records: after.records - before.records,
    walBytes: after.bytes - before.bytes,
    hotShare: (after.hot - before.hot) / (updates * tables.updated.length),
  };
}

/** Counters, as they are once the backend has handed its own in. */
async function statistics(
  server: PostgresServer,
  { updated }: PostgresTables,
): Promise<{ records: number; bytes: number; hot: number }> {
  await server.query('SELECT pg_stat_force_next_flush()');
  await server.query('SELECT 1');
  const [row] = await server.query(
    `SELECT wal_records, wal_bytes,
       (SELECT sum(n_tup_hot_upd) FROM pg_stat_user_tables WHERE relname = ANY ($1)) AS hot FROM pg_stat_wal`,
    [updated],
  );
  return { records: Number(row.wal_records), bytes: Number(row.wal_bytes), hot: Number(row.hot ?? 0) };
}
