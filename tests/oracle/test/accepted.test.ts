// PostgreSQL reads, checks, scans by index, and goes on writing tables that we wrote: heap and visibility map, put in
// place of its own files, data checksums on.
import { readFileSync } from 'node:fs';
import { PostgresDatabase, type TableDef, table } from '@blockwright/engine';
import { pageMemory, pageStoredChecksum } from '@blockwright/page';
import type { PostgresServer } from '@blockwright/peers';
import { TextPool, tableBatches, tableText } from '@blockwright/tpch';
import { afterAll, beforeAll, expect } from 'vitest';
import {
  columnsSql,
  createSql,
  describe,
  it,
  judgement,
  LINEITEM,
  md5OfRows,
  type OwnFiles,
  ownFiles,
  pageCount,
  putInPlace,
  SERVER_BLOCK_SIZE,
  startOracle,
} from './oracle.ts';
import { checkFindings, difference, pagesInUse } from './pages.ts';
import { eachBatch, firstDifference, fixtureRows, ourRows, seedStatements, theirRows } from './rows.ts';

const SCALE = 0.01;
/** Rows of lineitem that are inserted one by one. */
const INSERTED = 15_000;

/** One table on both sides: loaded as by COPY FREEZE, or inserted as by INSERT. */
interface Case {
  readonly definition: TableDef;
  /** The server's table of its own rows, and the one that gets our files. */
  readonly theirs: string;
  readonly ours: string;
  readonly order: string;
  /** Whether pages are marked all-visible. */
  readonly isLoaded: boolean;
  readonly rows: number;
}

const types = fixtureRows('types', ['id']);
const CASES: readonly Case[] = [
  { table: 'lineitem', definition: LINEITEM, order: 'l_orderkey, l_linenumber', loaded: 60_175, inserted: INSERTED },
  { table: 'types', definition: types.definition, order: 'id', loaded: 452, inserted: 452 },
].flatMap(({ table: name, definition, order, loaded, inserted }) => [
  { definition, order, theirs: `${name}_copied`, ours: `${name}_loaded`, isLoaded: true, rows: loaded },
  { definition, order, theirs: `${name}_selected`, ours: `${name}_inserted`, isLoaded: false, rows: inserted },
]);

let server: PostgresServer;
const files: Record<string, OwnFiles> = {};
const theirBytes: Record<string, Uint8Array> = {};

async function fillTheirs(pool: TextPool): Promise<void> {
  for (const statement of seedStatements('CREATE TABLE types ', 'INSERT INTO types ')) await server.query(statement);
  for (const { theirs, definition } of CASES) await server.query(createSql(theirs, definition));
  await server.query('SET synchronize_seqscans = off');
  const copy = `${server.dataDirectory}/types.copy`;
  await server.query('INSERT INTO types_selected SELECT * FROM types ORDER BY id');
  await server.query(`COPY (SELECT * FROM types_selected ORDER BY ctid) TO '${copy}'`); // as our scan gives them
  await server.query('BEGIN; TRUNCATE lineitem_copied, types_copied'); // FREEZE wants a file made by this transaction
  const text = tableText('lineitem', SCALE, { pool, trailingBar: false });
  await server.copyFrom('lineitem_copied', text, "DELIMITER '|', FREEZE true");
  await server.query(`COPY types_copied FROM '${copy}' (FREEZE true); COMMIT`);
  await server.query(`INSERT INTO lineitem_selected SELECT * FROM lineitem_copied LIMIT ${INSERTED}`);
}

function fillOurs(pool: TextPool): void {
  const lineitem = tableBatches('lineitem', SCALE, { pool }) as Iterable<never>;
  files.lineitem_loaded = ownFiles(LINEITEM, (database) => database.loadSync(LINEITEM, lineitem));
  files.lineitem_inserted = ownFiles(LINEITEM, (database) => {
    const staging = table('staging', LINEITEM.columns);
    database.createTable(staging);
    database.loadSync(staging, lineitem);
    const rows = database.scan(staging, { columns: Object.keys(LINEITEM.columns) }).rows();
    database.insert(LINEITEM, first(INSERTED, rows) as Iterable<never>);
  });
  const { definition, rows } = types;
  files.types_inserted = ownFiles(definition, (database) => database.insert(definition, rows as never[]));
  files.types_loaded = ownFiles(definition, (database) => {
    const staging = table('staging', definition.columns);
    database.createTable(staging);
    database.insert(staging, rows as never[]);
    database.loadSync(definition, eachBatch(database.scan(staging, { columns: Object.keys(definition.columns) })));
  });
}

function* first<Row>(count: number, rows: Iterable<Row>): Generator<Row> {
  for (const row of rows) {
    if (count-- <= 0) return;
    yield row;
  }
}

beforeAll(async () => {
  server = await startOracle();
  const pool = TextPool.open();
  await fillTheirs(pool);
  fillOurs(pool);
  await server.query('CHECKPOINT');
  for (const { theirs } of CASES) theirBytes[theirs] = readFileSync(await server.relationPath(theirs));
  for (const { ours, definition } of CASES) await server.query(createSql(ours, definition));
  await putInPlace(server, files);
}, 300_000);

afterAll(() => server?.close(), 60_000);

describe.each(CASES)('$ours, in place of a table of PostgreSQL', ({ ours, theirs, order, isLoaded, rows }) => {
  it('has the same rows as its own', async () => {
    expect(await md5OfRows(server, ours, order)).toBe(await md5OfRows(server, theirs, order));
    const [{ n }] = await server.query(`SELECT count(*) AS n FROM ${ours}`);
    expect(Number(n)).toBe(rows);
  });

  it('has the same pages, byte for byte but for LSN, xids, hint bits and checksum', async () => {
    expect(difference(files[ours].main, theirBytes[theirs], { flags: isLoaded })).toBeUndefined();
    expect(await pageCount(server, ours)).toBe(pagesInUse(theirBytes[theirs]));
  });

  it('is found without fault by verify_heapam, pg_check_visible and pg_check_frozen', async () => {
    expect(await judgement(server, ours)).toEqual([]);
  });

  it('has the checksums that PostgreSQL computes', async () => {
    const [{ wrong, pages }] = await server.query(
      `SELECT count(*)::int4 AS pages, count(*) FILTER (WHERE page_checksum(page, block) <> checksum)::int4 AS wrong
         FROM (SELECT block::int4, get_raw_page($1, block) AS page, (page_header(get_raw_page($1, block))).checksum
           FROM generate_series(0, $2::int8 - 1) AS block) AS pages`,
      [ours, await pageCount(server, ours)],
    );
    expect({ wrong, pages }).toEqual({ wrong: 0, pages: files[ours].main.length / SERVER_BLOCK_SIZE });
    const memory = pageMemory(new Uint8Array(files[ours].main).buffer);
    expect(pageStoredChecksum(memory, 0)).not.toBe(0);
  });

  it('has a visibility map that says of each block what PostgreSQL says of its own', async () => {
    const map = (name: string) =>
      server.query('SELECT blkno, all_visible, all_frozen, pd_all_visible FROM pg_visibility($1)', [name]);
    const pages = await pageCount(server, ours);
    const found = await map(ours);
    expect(found).toHaveLength(pages);
    expect(found).toEqual((await map(theirs)).slice(0, pages));
    expect(found.every(({ all_frozen }) => all_frozen === isLoaded)).toBe(true);
  });

  it('gives right answers to scans of an index alone, and to look-ups by index', async () => {
    const [key] = order.split(', ');
    await server.query(`CREATE INDEX ${ours}_key ON ${ours} (${key}); ANALYZE ${ours}`);
    await server.query('SET enable_seqscan = off; SET enable_bitmapscan = off');
    try {
      const sum = `SELECT count(*), sum(${key}) FROM ${ours} WHERE ${key} < 12000`;
      const [plan] = await server.query(`EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) ${sum}`);
      const [own] = await server.query(`SELECT count(*), sum(${key}) FROM ${theirs} WHERE ${key} < 12000`);
      expect(await server.query(sum)).toEqual([own]);
      expect(heapFetches(plan)).toBe(isLoaded ? 0 : Number(own.count)); // the map spares every look at the heap, or none
      expect(await server.query(`SELECT * FROM ${ours} WHERE ${key} = 321 ORDER BY ${order}`)).toEqual(
        await server.query(`SELECT * FROM ${theirs} WHERE ${key} = 321 ORDER BY ${order}`),
      );
    } finally {
      await server.query('RESET enable_seqscan; RESET enable_bitmapscan');
    }
  });
});

it('goes on writing our tables, and we read what it wrote', async () => {
  for (const { ours, order, definition } of CASES) {
    const key = order.split(', ')[0];
    const text = definition === LINEITEM ? 'l_comment' : 't';
    await server.query(`VACUUM (FREEZE) ${ours}`);
    await server.query(`INSERT INTO ${ours} SELECT * FROM ${ours} WHERE ${key} % 10 = 3`);
    await server.query(`DELETE FROM ${ours} WHERE ${key} % 7 = 1 OR ${key} > 10000`);
    await server.query(`UPDATE ${ours} SET ${text} = left(${text}, 20) || '…' WHERE ${key} % 5 = 2`);
    await server.query(`VACUUM ${ours}`);
    await server.query(`DELETE FROM ${ours} WHERE ${key} % 11 = 4`);
    await server.query(
      `SELECT count(*) FROM ${ours}; SELECT count(*) FROM pg_class; SELECT count(*) FROM pg_attribute`,
    );
    expect(await judgement(server, ours)).toEqual([]);
  }
  const expected: Record<string, string[]> = {};
  for (const { ours } of CASES) expected[ours] = await theirRows(server, ours);
  await server.whileStopped(() => {
    using postgres = PostgresDatabase.open(server.dataDirectory);
    for (const { ours, definition } of CASES) {
      expect(columnsSql(postgres.table(ours))).toEqual(columnsSql(definition));
      expect(firstDifference(ourRows(postgres, ours), expected[ours])).toBeUndefined();
      expect(postgres.count(postgres.table(ours)).rows).toBe(expected[ours].length);
      expect(expected[ours].length).toBeGreaterThan(300);
    }
    expect(checkFindings(server.dataDirectory)).toEqual([]);
  });
}, 300_000);

/** The rows for which an index-only scan had to look into the heap. */
function heapFetches(plan: Record<string, unknown>): number {
  const text = JSON.stringify(plan);
  expect(text).toContain('"Index Only Scan"');
  return Number(/"Heap Fetches":\s*(\d+)/.exec(text)?.[1]);
}
