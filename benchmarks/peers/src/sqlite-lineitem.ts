// SQLite (libsql's build of it, which brings its binary) with lineitem in its page cache.
//
// Money is kept as integers, hundredths, and dates as days from 2000-01-01: SQLite has no decimal type, and these are
// its quickest exact ones.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { checkOptions } from '@blockwright/base';
import { type Q1Row, rowCounts, TPCH_TABLES, type TpchBatch, tableBatches, unitCount } from '@blockwright/tpch';
import { daysFrom2000, type LineitemPeer, type LineitemPeerOptions } from './lineitem-peer.ts';
import { importPeer } from './resolve.ts';

export interface SqliteLineitemOptions extends LineitemPeerOptions {
  /** Bytes of a page, a power of two from 512 to 65536; by default 8192. */
  readonly pageSize?: number;
}

/** The part of libsql's interface, which is better-sqlite3's, that is used here. */
interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  pragma(sql: string): unknown;
  close(): void;
}
interface Statement {
  run(...values: readonly unknown[]): unknown;
  all(): Record<string, unknown>[];
  safeIntegers(on: boolean): unknown;
}

const COUNT = 'SELECT count(*) AS n FROM lineitem';
const Q6 = `SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
  WHERE l_shipdate >= ${daysFrom2000('1994-01-01')} AND l_shipdate < ${daysFrom2000('1995-01-01')}
    AND l_discount BETWEEN 5 AND 7 AND l_quantity < 2400`;
const Q1 = `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
    sum(l_extendedprice * (100 - l_discount)) AS sum_disc_price,
    sum(l_extendedprice * (100 - l_discount) * (100 + l_tax)) AS sum_charge,
    avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
  FROM lineitem WHERE l_shipdate <= ${daysFrom2000('1998-09-02')}
  GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`;

/** Rows of one INSERT: measured, from 1 to 1024, to take the least time. */
const ROWS_A_STATEMENT = 8;
const ORDERS_A_STEP = 2000;
const SHOWN = ['page_size', 'cache_size', 'journal_mode', 'synchronous', 'locking_mode', 'mmap_size'] as const;

/** Opens a new SQLite database, loads lineitem, and reads it once into the page cache, which is large enough. */
export async function openSqliteLineitem(options: SqliteLineitemOptions): Promise<LineitemPeer> {
  checkOptions('openSqliteLineitem', options, ['scale', 'pool', 'signal', 'onProgress', 'pageSize']);
  const { scale, pageSize = 8192 } = options;
  if (![512, 1024, 2048, 4096, 8192, 16384, 32768, 65536].includes(pageSize)) {
    throw new RangeError(`a page of SQLite is a power of two from 512 to 65536 bytes, not ${pageSize}`);
  }
  const module = await importPeer('libsql', 'SQLite');
  const Database = module.default as new (path: string) => Database;
  const scratch = mkdtempSync(join(tmpdir(), 'blockwright-sqlite-'));
  const removeScratch = (): void => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
  let database: Database | undefined;
  const close = async (): Promise<void> => {
    database?.close();
    database = undefined;
    removeScratch();
  };
  try {
    database = new Database(join(scratch, 'lineitem.db'));
    database.pragma(`page_size = ${pageSize}`);
    database.pragma('journal_mode = OFF');
    database.pragma('synchronous = OFF');
    database.pragma('locking_mode = EXCLUSIVE');
    // Kibibytes: a row takes some 120 bytes.
    database.pragma(`cache_size = -${16384 + Math.ceil((rowCounts(scale).lineitem * 200) / 1024)}`);
    database.exec(createTableSql());
    // An open file lives on without a name, and is gone with its process, however that ends.
    if (process.platform !== 'win32') removeScratch();
    await load(database, options);
    database.exec('SELECT sum(length(l_comment)) FROM lineitem');
    return describe(database, close);
  } catch (error) {
    await close();
    throw error;
  }
}

function createTableSql(): string {
  const columns = TPCH_TABLES.lineitem.map(({ name, type }) => {
    const isText = type === 'char' || type === 'varchar';
    return `${name} ${isText ? 'TEXT' : 'INTEGER'} NOT NULL`;
  });
  return `CREATE TABLE lineitem (${columns.join(', ')})`;
}

async function load(database: Database, { scale, pool, signal, onProgress }: LineitemPeerOptions): Promise<void> {
  database.exec('BEGIN');
  const columns = TPCH_TABLES.lineitem.length;
  const row = `(${new Array(columns).fill('?').join(', ')})`;
  const insert = (rows: number): Statement =>
    database.prepare(`INSERT INTO lineitem VALUES ${new Array(rows).fill(row).join(', ')}`);
  const insertMany = insert(ROWS_A_STATEMENT);
  const insertOne = insert(1);
  const orders = unitCount('lineitem', scale);
  for (let from = 0; from < orders; from += ORDERS_A_STEP) {
    signal?.throwIfAborted();
    onProgress?.({ phase: 'loading lineitem into SQLite', done: from, total: orders, unit: 'orders' });
    const to = Math.min(from + ORDERS_A_STEP, orders);
    for (const batch of tableBatches('lineitem', scale, { pool, from, to })) {
      let at = 0;
      for (; at + ROWS_A_STATEMENT <= batch.length; at += ROWS_A_STATEMENT) {
        insertMany.run(rowValues(batch, at, ROWS_A_STATEMENT));
      }
      for (; at < batch.length; at++) insertOne.run(rowValues(batch, at, 1));
    }
    await setImmediate();
  }
  database.exec('COMMIT');
}

/** The values of `count` rows, one row after the other. Trailing blanks of char(n) mean nothing, and go. */
function rowValues(batch: TpchBatch, from: number, count: number): unknown[] {
  const values: unknown[] = [];
  for (let row = from; row < from + count; row++) {
    for (const vector of batch.columns) {
      if (vector.kind === 'bytes') {
        const text = Buffer.from(vector.data.buffer).toString('latin1', vector.starts[row], vector.starts[row + 1]);
        values.push(vector === batch.columns.at(-1) ? text : text.trimEnd());
      } else if (vector.kind === 'int8') {
        values.push(vector.hi[row] * 4294967296 + vector.lo[row]);
      } else {
        values.push(vector.values[row]);
      }
    }
  }
  return values;
}

function describe(database: Database, close: () => Promise<void>): LineitemPeer {
  const prepared = (sql: string): (() => Record<string, unknown>[]) => {
    const statement = database.prepare(sql);
    statement.safeIntegers(true);
    return () => statement.all();
  };
  const [count, q6, q1] = [COUNT, Q6, Q1].map(prepared);
  const pragma = (name: string): string => String(Object.values(database.prepare(`PRAGMA ${name}`).all()[0] ?? {})[0]);
  const [{ version }] = database.prepare('SELECT sqlite_version() AS version').all();
  const blockSize = Number(pragma('page_size'));
  const pages = Number(pragma('page_count'));
  return {
    engine: `SQLite ${version} (libsql)`,
    blockSize,
    rows: Number(count()[0].n),
    pages,
    bytes: pages * blockSize,
    settings: Object.fromEntries(SHOWN.map((name) => [name, pragma(name)])),
    doesMore: 'it runs a program for any query on a virtual machine, and hands the result over from native code',
    count: async () => Number(count()[0].n),
    countJudged: undefined,
    q6: async () => BigInt(q6()[0].revenue as bigint),
    q1: async () => q1().map(q1Row),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function q1Row(row: Record<string, unknown>): Q1Row {
  const count = row.count_order as bigint;
  return {
    returnFlag: row.l_returnflag as string,
    lineStatus: row.l_linestatus as string,
    sumQuantity: row.sum_qty as bigint,
    sumBasePrice: row.sum_base_price as bigint,
    sumDiscountedPrice: row.sum_disc_price as bigint,
    sumCharge: row.sum_charge as bigint,
    sumDiscount: BigInt(Math.round((row.avg_disc as number) * Number(count))),
    count,
  };
}
