// The peers' side: PostgreSQL by its socket, a connection a client and every statement prepared; SQLite in WAL mode, in
// this process, where a transaction is done when its function returns.
import { TELLERS_A_BRANCH, type TpcbParameters, type TpcbSize, type TpcbSums } from '@blockwright/benchmark-workloads';
import { openSqlite, type PostgresClient, type PostgresServer, startPostgres } from '@blockwright/peers';
import type { SubjectOptions } from './our-subject.ts';
import type { TpcbSubject } from './subject.ts';

export const POSTGRES_DOES_MORE =
  'PostgreSQL is asked by its socket, as it is used: seven messages a transaction, each parsed once, planned and run by a server process a client, which also starts and ends a transaction for each';
export const SQLITE_DOES_LESS =
  'SQLite has one writer at a time: its clients take turns, and no sync is shared. Its blank-padded fillers are stored as they are given';

const POSTGRES_SCHEMA = ({ branches, accountsABranch }: TpcbSize): string => `
  CREATE TABLE branches (bid int NOT NULL, bbalance int NOT NULL, filler char(88));
  CREATE TABLE tellers (tid int NOT NULL, bid int NOT NULL, tbalance int NOT NULL, filler char(84));
  CREATE TABLE accounts (aid int NOT NULL, bid int NOT NULL, abalance int NOT NULL, filler char(84));
  CREATE TABLE history (tid int NOT NULL, bid int NOT NULL, aid int NOT NULL, delta int NOT NULL,
    mtime timestamptz NOT NULL, filler char(22));
  INSERT INTO branches SELECT i, 0, '' FROM generate_series(1, ${branches}) i;
  INSERT INTO tellers SELECT i, 1 + (i - 1) / ${TELLERS_A_BRANCH}, 0, '' FROM generate_series(1, ${branches * TELLERS_A_BRANCH}) i;
  INSERT INTO accounts SELECT i, 1 + (i - 1) / ${accountsABranch}, 0, '' FROM generate_series(1, ${branches * accountsABranch}) i;
  ALTER TABLE branches ADD PRIMARY KEY (bid);
  ALTER TABLE tellers ADD PRIMARY KEY (tid);
  ALTER TABLE accounts ADD PRIMARY KEY (aid);
  VACUUM ANALYZE; CHECKPOINT`;

const SUMS = `SELECT (SELECT sum(abalance) FROM accounts) AS accounts, (SELECT sum(tbalance) FROM tellers) AS tellers,
  (SELECT sum(bbalance) FROM branches) AS branches, (SELECT coalesce(sum(delta), 0) FROM history) AS history,
  (SELECT count(*) FROM history) AS transactions`;

/** Statements of the transaction with PostgreSQL's placeholders. */
const STATEMENTS = {
  account: 'UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2',
  balance: 'SELECT abalance FROM accounts WHERE aid = $1',
  teller: 'UPDATE tellers SET tbalance = tbalance + $1 WHERE tid = $2',
  branch: 'UPDATE branches SET bbalance = bbalance + $1 WHERE bid = $2',
} as const;
const POSTGRES_HISTORY = 'INSERT INTO history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, now())';
const SQLITE_HISTORY = 'INSERT INTO history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, current_timestamp)';

/** A running server for both settings of synchronous commit: each subject has tables of its own in a schema of its own. */
export async function startTpcbPostgres(buffers: string): Promise<PostgresServer> {
  return startPostgres({
    settings: { shared_buffers: buffers, fsync: true, full_page_writes: true, max_wal_size: '4GB', autovacuum: true },
  });
}

export async function openPostgres(server: PostgresServer, options: SubjectOptions): Promise<TpcbSubject> {
  const { synchronous, clients, size } = options;
  const schema = synchronous ? 'waiting' : 'not_waiting';
  const connections: PostgresClient[] = [];
  const open = async (): Promise<PostgresClient> => {
    const client = await server.connect();
    connections.push(client);
    await client.query({ text: `SET search_path = ${schema}; SET synchronous_commit = ${synchronous ? 'on' : 'off'}` });
    return client;
  };
  const first = await open();
  await first.query({ text: `CREATE SCHEMA ${schema}` });
  // Statements of one message are one transaction, in which no VACUUM can be.
  for (const text of POSTGRES_SCHEMA(size).split(';')) await first.query({ text });
  for (let i = 1; i < clients; i++) await open();
  return {
    engine: `PostgreSQL ${server.version}`,
    blockSize: 8192,
    isPeer: true,
    synchronous,
    settings: { ...server.settings, synchronous_commit: synchronous ? 'on' : 'off' },
    clients,
    attempt: (client, parameters) => attemptPostgres(connections[client] as PostgresClient, parameters),
    sums: async () => sumsOf((await first.query({ text: SUMS })).rows[0] as Record<string, unknown>),
    close: async () => {
      for (const connection of connections) await connection.end();
    },
  };
}

/** A row that is another's is waited for: there are no conflicts to report. */
async function attemptPostgres(client: PostgresClient, { aid, tid, bid, delta }: TpcbParameters): Promise<number> {
  const query = (name: string, text: string, values: readonly unknown[] = []) => client.query({ name, text, values });
  await query('begin', 'BEGIN');
  await query('account', STATEMENTS.account, [delta, aid]);
  const { rows } = await query('balance', STATEMENTS.balance, [aid]);
  await query('teller', STATEMENTS.teller, [delta, tid]);
  await query('branch', STATEMENTS.branch, [delta, bid]);
  await query('history', POSTGRES_HISTORY, [tid, bid, aid, delta]);
  await query('end', 'END');
  return Number(rows[0]?.abalance);
}

/** Kibibytes of a size such as `128MB`, negative, as SQLite's cache_size wants them. */
const PRAGMA_KIBIBYTES = -1 / 1024;

export async function openSqliteTpcb(options: SubjectOptions, bufferBytes: number): Promise<TpcbSubject> {
  const { folder, synchronous, clients, size } = options;
  const { branches, accountsABranch } = size;
  const { engine, settings, connection, close } = await openSqlite({
    folder,
    pragmas: {
      journal_mode: 'WAL',
      synchronous: synchronous ? 'FULL' : 'NORMAL',
      cache_size: Math.floor(bufferBytes * PRAGMA_KIBIBYTES),
    },
  });
  try {
    const filler = (length: number): string => ' '.repeat(length);
    connection.exec(`
      CREATE TABLE branches (bid INTEGER PRIMARY KEY, bbalance INTEGER NOT NULL, filler TEXT);
      CREATE TABLE tellers (tid INTEGER PRIMARY KEY, bid INTEGER NOT NULL, tbalance INTEGER NOT NULL, filler TEXT);
      CREATE TABLE accounts (aid INTEGER PRIMARY KEY, bid INTEGER NOT NULL, abalance INTEGER NOT NULL, filler TEXT);
      CREATE TABLE history (tid INTEGER NOT NULL, bid INTEGER NOT NULL, aid INTEGER NOT NULL, delta INTEGER NOT NULL,
        mtime TEXT NOT NULL, filler TEXT);`);
    fill(connection, 'branches', branches, 1, `0, '${filler(88)}'`);
    fill(connection, 'tellers', branches * TELLERS_A_BRANCH, TELLERS_A_BRANCH, `0, '${filler(84)}'`);
    fill(connection, 'accounts', branches * accountsABranch, accountsABranch, `0, '${filler(84)}'`);
    const begin = connection.prepare('BEGIN IMMEDIATE');
    const account = connection.prepare(STATEMENTS.account.replaceAll(/\$\d/g, '?'));
    const balance = connection.prepare(STATEMENTS.balance.replaceAll(/\$\d/g, '?'));
    const teller = connection.prepare(STATEMENTS.teller.replaceAll(/\$\d/g, '?'));
    const branch = connection.prepare(STATEMENTS.branch.replaceAll(/\$\d/g, '?'));
    const history = connection.prepare(SQLITE_HISTORY);
    const end = connection.prepare('COMMIT');
    return {
      engine,
      blockSize: null,
      isPeer: true,
      synchronous,
      settings,
      clients,
      attempt: (_client, { aid, tid, bid, delta }) => {
        begin.run();
        account.run(delta, aid);
        const row = balance.get(aid);
        teller.run(delta, tid);
        branch.run(delta, bid);
        history.run(tid, bid, aid, delta);
        end.run();
        return Number(row?.abalance);
      },
      sums: () => sumsOf(connection.prepare(SUMS).get() as Record<string, unknown>),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Inserts rows 1 to `rows`; of branches, which belong to none, the number of the branch is left out. */
function fill(
  connection: { exec(sql: string): unknown },
  name: string,
  rows: number,
  perBranch: number,
  rest: string,
): void {
  const branch = name === 'branches' ? '' : `1 + (i - 1) / ${perBranch}, `;
  connection.exec(`INSERT INTO ${name}
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) SELECT i, ${branch}${rest} FROM n`);
}

function sumsOf(row: Record<string, unknown>): TpcbSums {
  const { accounts, tellers, branches, history, transactions } = row;
  return {
    accounts: Number(accounts),
    tellers: Number(tellers),
    branches: Number(branches),
    history: Number(history),
    transactions: Number(transactions),
  };
}
