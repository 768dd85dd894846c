// PostgreSQL with lineitem in its shared buffers.
import { checkOptions } from '@blockwright/base';
import { type Q1Row, rowCounts, TPCH_TABLES, tableText, unitCount } from '@blockwright/tpch';
import { type LineitemPeer, type LineitemPeerOptions, scaledDecimal, sumOfMean } from './lineitem-peer.ts';
import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts';

export interface PostgresLineitemOptions extends LineitemPeerOptions {
  readonly settings?: PostgresOptions['settings'];
  /** Whether the rows are loaded a second time, onto pages that stay unmarked, for `countJudged`. By default they are. */
  readonly judged?: boolean;
  /** Whether an index on l_orderkey is made, for `indexOnly`. By default it is not. */
  readonly indexed?: boolean;
}

const Q6 = `SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
  WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1 year'
    AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24`;
const Q1 = `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
    avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
  FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90 days'
  GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`;

/** What the report shows of the server's settings. */
const SHOWN = [
  'shared_buffers',
  'max_parallel_workers_per_gather',
  'jit',
  'data_checksums',
  'autovacuum',
  'fsync',
  'wal_level',
  'work_mem',
] as const;

const ORDERS_A_STEP = 25000;

/** `CREATE TABLE` for a table of TPC-H, with the types that Blockwright stores it with, under a name. */
export function createTableSql(table: keyof typeof TPCH_TABLES, name: string = table): string {
  const columns = TPCH_TABLES[table].map((column) => {
    const arguments_ = 'precision' in column ? `(${column.precision},${column.scale})` : '';
    return `${column.name} ${column.type}${'length' in column ? `(${column.length})` : arguments_} NOT NULL`;
  });
  return `CREATE TABLE ${name} (${columns.join(', ')})`;
}

/** The rows of lineitem as COPY reads them, with progress and a signal. */
function* copyText({ scale, pool, signal, onProgress }: LineitemPeerOptions): Generator<Uint8Array, void, void> {
  const units = unitCount('lineitem', scale);
  for (let from = 0; from < units; from += ORDERS_A_STEP) {
    signal?.throwIfAborted();
    onProgress?.({ phase: 'loading lineitem into PostgreSQL', done: from, total: units, unit: 'orders' });
    const to = Math.min(from + ORDERS_A_STEP, units);
    yield* tableText('lineitem', scale, { pool, from, to, trailingBar: false });
  }
}

/** Loads the rows of lineitem into a server, into a new table of pages that are frozen and marked all-visible. */
export async function loadLineitem(
  server: PostgresServer,
  options: LineitemPeerOptions,
  name: string = 'lineitem',
): Promise<void> {
  await server.query('BEGIN');
  try {
    await server.query(createTableSql('lineitem', name));
    await server.copyFrom(name, copyText(options), "DELIMITER '|', FREEZE");
    await server.query('COMMIT');
  } catch (error) {
    await server.query('ROLLBACK');
    throw error;
  }
  await server.query(`VACUUM (FREEZE, ANALYZE) ${name}`);
}

/** The same rows in the same order on pages that are not marked, with the hint bits set. */
async function copyUnmarked(server: PostgresServer): Promise<void> {
  await server.query(createTableSql('lineitem', 'lineitem_judged'));
  await server.query('INSERT INTO lineitem_judged SELECT * FROM lineitem');
  await server.query('ANALYZE lineitem_judged');
  await server.query('SELECT count(*) FROM lineitem_judged'); // sets the hint bits
}

/** Starts PostgreSQL, loads lineitem, and brings it into the shared buffers, which are large enough. */
export async function startPostgresLineitem(options: PostgresLineitemOptions): Promise<LineitemPeer> {
  checkOptions('startPostgresLineitem', options, [
    'scale',
    'pool',
    'signal',
    'onProgress',
    'settings',
    'judged',
    'indexed',
  ]);
  const { scale, judged = true, indexed = false, signal, onProgress } = options;
  const tables = judged ? ['lineitem', 'lineitem_judged'] : ['lineitem'];
  // A row takes some 150 bytes.
  const megabytes = 256 + Math.ceil((rowCounts(scale).lineitem * 180 * tables.length) / 2 ** 20);
  onProgress?.({ phase: 'starting PostgreSQL', done: 0, total: 0, unit: '' });
  const server = await startPostgres({
    settings: { shared_buffers: `${megabytes}MB`, synchronize_seqscans: false, ...options.settings },
    extensions: ['pg_prewarm'],
  });
  try {
    await loadLineitem(server, options);
    if (judged) await copyUnmarked(server);
    signal?.throwIfAborted();
    if (indexed) {
      await server.query('CREATE INDEX lineitem_orderkey ON lineitem (l_orderkey)');
      await server.query('VACUUM (FREEZE, ANALYZE) lineitem');
    }
    await server.query('CHECKPOINT');
    for (const table of [...tables, ...(indexed ? ['lineitem_orderkey'] : [])])
      await server.query('SELECT pg_prewarm($1::regclass)', [table]);
    return { ...(await describe(server, judged)), indexOnly: indexed ? await indexOnly(server) : undefined };
  } catch (error) {
    await server.close();
    throw error;
  }
}

async function describe(server: PostgresServer, judged: boolean): Promise<LineitemPeer> {
  const number = async (sql: string): Promise<number> => Number((await server.query(sql))[0].n);
  const settings: Record<string, string> = {};
  for (const name of SHOWN) {
    const [row] = await server.query('SELECT current_setting($1) AS value', [name]);
    settings[name] = String(row.value);
  }
  const blockSize = await number("SELECT current_setting('block_size') AS n");
  const bytes = await number("SELECT pg_relation_size('lineitem') AS n");
  return {
    engine: `PostgreSQL ${server.version}`,
    blockSize,
    rows: await number('SELECT count(*) AS n FROM lineitem'),
    pages: bytes / blockSize,
    bytes,
    settings,
    doesMore:
      'it parses and plans each query, runs it on an executor for any query, takes locks and a snapshot that other ' +
      'sessions respect, and sends the result to another process',
    count: () => number('SELECT count(*) AS n FROM lineitem'),
    countJudged: judged ? () => number('SELECT count(*) AS n FROM lineitem_judged') : undefined,
    q6: async () => scaledDecimal(String((await server.query(Q6))[0].revenue), 4),
    q1: async () => (await server.query(Q1)).map(q1Row),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** On a connection of its own, which plans nothing but index-only scans where it can. */
async function indexOnly(server: PostgresServer): Promise<LineitemPeer['indexOnly']> {
  const client = await server.connect();
  for (const setting of ['enable_seqscan', 'enable_bitmapscan']) await client.query({ text: `SET ${setting} = off` });
  const number = async (text: string, values: readonly unknown[]): Promise<string> =>
    String((await client.query({ text, values })).rows[0].n);
  const COUNT = 'SELECT count(*) AS n FROM lineitem';
  const SUM = 'SELECT sum(l_orderkey) AS n FROM lineitem WHERE l_orderkey BETWEEN $1 AND $2';
  const plan = (await client.query({ text: `EXPLAIN ${COUNT}` })).rows.map((row) => JSON.stringify(row)).join('\n');
  if (!plan.includes('Index Only Scan')) throw new Error(`PostgreSQL does not plan an index-only scan: ${plan}`);
  return {
    count: async () => Number(await number(COUNT, [])),
    sum: async (from, to) => BigInt(await number(SUM, [String(from), String(to)])),
  };
}

function q1Row(row: Record<string, unknown>): Q1Row {
  const text = (name: string): string => String(row[name]);
  const count = BigInt(text('count_order'));
  return {
    returnFlag: text('l_returnflag'),
    lineStatus: text('l_linestatus'),
    sumQuantity: scaledDecimal(text('sum_qty'), 2),
    sumBasePrice: scaledDecimal(text('sum_base_price'), 2),
    sumDiscountedPrice: scaledDecimal(text('sum_disc_price'), 4),
    sumCharge: scaledDecimal(text('sum_charge'), 6),
    sumDiscount: sumOfMean(text('avg_disc'), count, 2),
    count,
  };
}
