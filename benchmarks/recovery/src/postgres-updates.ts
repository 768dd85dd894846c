// The same workload in PostgreSQL, stopped at once and started again: its own "redo done" line is what is compared.
import { type PostgresServer, startPostgres } from '@blockwright/peers';
import { FILLFACTOR } from './updates.ts';

export interface PostgresWorkload {
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
  readonly settings: Readonly<Record<string, string>>;
  readonly runs: readonly PostgresRedo[];
}

export const POSTGRES_DOES_MORE =
  'PostgreSQL finds its rows by a primary key, since a scan by ctid prunes nothing there; an update that leaves its page inserts into that index, and its redo replays those records too';

/** Each transaction an update, in one call to the server. */
const CHURN = `CREATE PROCEDURE churn(updates int, number_of_rows int) LANGUAGE plpgsql AS $$
DECLARE row_id int;
BEGIN
  FOR i IN 1..updates LOOP
    row_id := floor(random() * number_of_rows)::int;
    UPDATE updates SET val = val + 1 WHERE id = row_id;
    COMMIT;
  END LOOP;
END $$`;

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
    await server.query(
      `CREATE TABLE updates (id int PRIMARY KEY, val int NOT NULL) WITH (fillfactor = ${FILLFACTOR});
       INSERT INTO updates SELECT i, 0 FROM generate_series(0, ${rows - 1}) i`,
    );
    await server.query(CHURN);
    const runs: PostgresRedo[] = [];
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      runs.push(await crashOnce(server, workload, round + 1));
    }
    return { engine: `PostgreSQL ${server.version}`, settings: server.settings, runs };
  } finally {
    await server.close();
  }
}

async function crashOnce(
  server: PostgresServer,
  { rows, updates }: PostgresWorkload,
  round: number,
): Promise<PostgresRedo> {
  await server.query('CHECKPOINT');
  const before = await statistics(server);
  await server.query(`CALL churn(${updates}, ${rows})`);
  const after = await statistics(server);
  await server.query('SELECT pg_switch_wal()'); // which flushes: no commit is lost with the server's memory
  await server.crash();
  await server.start();
  const log = server.logTail;
  const elapsed = /redo done at .* elapsed: ([0-9.]+) s/.exec(log)?.[1];
  if (elapsed === undefined) throw new Error(`PostgreSQL did not say how long its redo took: ${log}`);
  const [found] = await server.query('SELECT count(*) AS rows, sum(val) AS sum FROM updates');
  if (Number(found.rows) !== rows || Number(found.sum) !== updates * round)
    throw new Error(`PostgreSQL has ${String(found.rows)} rows and the sum ${String(found.sum)} after recovery`);
  return {
    elapsedMs: Number(elapsed) * 1000,
    records: after.records - before.records,
    walBytes: after.bytes - before.bytes,
    hotShare: (after.hot - before.hot) / updates,
  };
}

/** Counters, as they are once the backend has handed its own in. */
async function statistics(server: PostgresServer): Promise<{ records: number; bytes: number; hot: number }> {
  await server.query('SELECT pg_stat_force_next_flush()');
  await server.query('SELECT 1');
  const [row] = await server.query(
    `SELECT wal_records, wal_bytes, (SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'updates') AS hot
     FROM pg_stat_wal`,
  );
  return { records: Number(row.wal_records), bytes: Number(row.wal_bytes), hot: Number(row.hot ?? 0) };
}
