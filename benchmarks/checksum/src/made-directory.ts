// A data directory to be checked, in a temporary folder: made by the PostgreSQL that is installed, or by ours where there
// is none, filled with rows like those of TPC-H's lineitem, and shut down cleanly. It is removed afterwards.
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, initdb, table } from '@blockwright/engine';
import { char, date, int4, int8, numeric, varchar } from '@blockwright/tuple';
import { type PostgresTools, runOrThrow, serverUser } from './postgres-tools.ts';

/** Bytes that a row takes on its page, about. */
const ROW_BYTES = 157;
const OUR_BATCH = 10_000;

export interface MadeDirectory {
  readonly path: string;
  /** Path of the large table's first segment. */
  readonly tableFile: string;
  readonly madeBy: string;
  remove(): void;
}

/** Makes a directory whose table has about so many bytes. Nothing is left behind when that fails or is stopped. */
export async function makeDirectory(
  tools: PostgresTools | undefined,
  bytes: number,
  signal: AbortSignal,
): Promise<MadeDirectory> {
  const scratch = mkdtempSync(join(tmpdir(), 'blockwright-checksum-'));
  const remove = (): void => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
  process.once('exit', remove);
  const made = { path: join(scratch, 'data'), remove: () => (process.off('exit', remove), remove()) };
  try {
    const rows = Math.ceil(bytes / ROW_BYTES);
    if (tools === undefined) await fillOurs(made.path, rows, signal);
    else await fillPostgres(tools, scratch, made.path, rows, signal);
    const madeBy = tools === undefined ? 'blockwright' : tools.version.replace('pg_checksums', 'initdb');
    return { ...made, madeBy, tableFile: largestFile(join(made.path, 'base')) };
  } catch (error) {
    made.remove();
    throw error;
  }
}

const CREATE_TABLE = `CREATE TABLE lineitem (
  l_orderkey int8 NOT NULL, l_partkey int4 NOT NULL, l_suppkey int4 NOT NULL, l_linenumber int4 NOT NULL,
  l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL,
  l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,
  l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
  l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL)`;

/** Values spread as lineitem's are, from the row's number alone. */
const SELECT_ROWS = `SELECT i >> 2, (i * 7919 % 200000 + 1)::int, (i * 104729 % 10000 + 1)::int, (i & 3)::int,
  i * 31 % 50 + 1, (i * 7919 % 9000000 + 90000) / 100.0, i % 11 / 100.0, i % 9 / 100.0,
  substr('RAN', (i % 3)::int + 1, 1), substr('OF', (i % 2)::int + 1, 1),
  date '1992-01-02' + (i * 17 % 2500)::int, date '1992-01-31' + (i * 19 % 2500)::int,
  date '1992-01-03' + (i * 23 % 2500)::int,
  (array['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[i % 4 + 1],
  (array['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[i % 7 + 1],
  substr('carefully final deposits detect slyly against furiously regular packages', (i % 30)::int + 1,
    10 + (i * 13 % 33)::int)
  FROM generate_series(1::bigint,`;

/** A stand-alone backend needs no socket, and ends with a checkpoint. Hint bits and maps are set by VACUUM. */
async function fillPostgres(
  { bin }: PostgresTools,
  scratch: string,
  path: string,
  rows: number,
  signal: AbortSignal,
): Promise<void> {
  const user = serverUser();
  if (user !== undefined) {
    chmodSync(scratch, 0o755);
    chownSync(scratch, user, user);
  }
  const options = { asServerUser: true, signal };
  const cluster = ['-D', path, '-U', 'postgres', '--no-locale', '--encoding=UTF8', '--data-checksums', '--no-sync'];
  await runOrThrow(join(bin, 'initdb'), cluster, options);
  const settings = ['fsync=off', 'wal_level=minimal', 'max_wal_senders=0', 'max_wal_size=64MB', 'shared_buffers=256MB'];
  const args = ['--single', '-j', '-D', path, ...settings.flatMap((setting) => ['-c', setting]), 'postgres'];
  const statements = [CREATE_TABLE, `INSERT INTO lineitem ${SELECT_ROWS} ${rows}) i`, 'VACUUM ANALYZE lineitem'];
  // With -j a statement ends at a semicolon and an empty line.
  const input = statements.map((statement) => `${statement};\n\n`).join('');
  const output = await runOrThrow(join(bin, 'postgres'), args, { ...options, input });
  if (/\b(ERROR|FATAL|PANIC):/.test(output)) throw new Error(`PostgreSQL could not make the table: ${output}`);
}

const LINEITEM = table('lineitem', {
  l_orderkey: int8(),
  l_partkey: int4(),
  l_quantity: numeric(15, 2),
  l_extendedprice: numeric(15, 2),
  l_returnflag: char(1),
  l_shipdate: date(),
  l_shipinstruct: char(25),
  l_shipmode: char(10),
  l_comment: varchar(100),
});

async function fillOurs(path: string, rows: number, signal: AbortSignal): Promise<void> {
  initdb(path);
  using database = Database.open(path);
  database.createTable(LINEITEM);
  const comment = 'carefully final deposits detect slyly against furiously regular packages';
  for (let from = 0; from < rows; from += OUR_BATCH) {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const batch = Array.from({ length: Math.min(OUR_BATCH, rows - from) }, (_, k) => ({
      l_orderkey: BigInt((from + k) >>> 2),
      l_partkey: ((from + k) * 7919) % 200_000,
      l_quantity: `${((from + k) * 31) % 50}.00`,
      l_extendedprice: `${((from + k) * 7919) % 90_000}.${10 + ((from + k) % 90)}`,
      l_returnflag: 'RAN'.charAt((from + k) % 3),
      l_shipdate: `199${(from + k) % 9}-0${((from + k) % 8) + 1}-11`,
      l_shipinstruct: 'DELIVER IN PERSON',
      l_shipmode: 'TRUCK',
      l_comment: comment.slice((from + k) % 30),
    }));
    database.insert(LINEITEM, batch);
  }
}

function largestFile(base: string): string {
  let largest = '';
  let most = -1;
  for (const folder of readdirSync(base)) {
    for (const name of readdirSync(join(base, folder))) {
      const path = join(base, folder, name);
      const { size } = statSync(path);
      if (/^\d+$/.test(name) && size > most) {
        most = size;
        largest = path;
      }
    }
  }
  return largest;
}
