// What all judgements need: a PostgreSQL with its own tools, files of ours put in place of its own, and answers compared.
import { rmSync, writeFileSync } from 'node:fs';
import { Database, initdb, type TableDef, table } from '@blockwright/engine';
import { BlockGeometry } from '@blockwright/geometry';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpOffset,
  type PageMemory,
  pageIsNew,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
  pageSetLsn,
} from '@blockwright/page';
import { type PostgresServer, postgresIsExpected, startPostgres } from '@blockwright/peers';
import { TPCH_TABLES } from '@blockwright/tpch';
import { HEAP_XMAX_INVALID, HEAP_XMIN_FROZEN, typeInWords } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import * as vitest from 'vitest';

/** The block size that the server from npm was compiled with. */
export const SERVER_BLOCK_SIZE = 8192;

const GEOMETRY = BlockGeometry.of(SERVER_BLOCK_SIZE);

/** Skipped only where the server is not installed, and never in a continuous integration run. */
export const describe: typeof vitest.describe = vitest.describe.runIf(postgresIsExpected()) as typeof vitest.describe;
/** As {@link describe}. */
export const it: typeof vitest.it = vitest.it.runIf(postgresIsExpected()) as typeof vitest.it;

/** A new server with data checksums and the extensions that look into pages. */
export function startOracle(): Promise<PostgresServer> {
  return startPostgres({ extensions: ['amcheck', 'pageinspect', 'pg_visibility', 'pg_freespacemap'] });
}

/** The files of a relation of ours: main fork, and the maps that there are. */
export interface OwnFiles {
  readonly main: Uint8Array;
  readonly vm: Uint8Array | undefined;
  readonly fsm: Uint8Array | undefined;
}

/** What a new database of ours leaves on the disk for a table that `fill` has filled. */
export function ownFiles(definition: TableDef, fill: (database: Database) => void): OwnFiles {
  const vfs = new MemoryVfs();
  initdb('/data', { blockSize: SERVER_BLOCK_SIZE, vfs });
  const database = Database.open('/data', { vfs });
  let path: string;
  try {
    database.createTable(definition);
    fill(database);
    path = `/data/${database.tables().find(({ name }) => name === definition.name)?.path}`;
  } finally {
    database.close();
  }
  return frozenFiles(vfs, path);
}

/**
 * The files of a relation as a PostgreSQL can take them: its commit log knows our transactions as little as its WAL our
 * LSNs. So rows that nobody has deleted are frozen, and LSNs are 0; all else, the maps too, is as it lies.
 */
function frozenFiles(vfs: MemoryVfs, path: string): OwnFiles {
  const fork = (suffix: string): Uint8Array | undefined =>
    vfs.exists(path + suffix) ? vfs.readFile(path + suffix) : undefined;
  const m = pageMemory(new Uint8Array(vfs.readFile(path)).buffer);
  for (let base = 0, block = 0; base < m.u8.length; base += SERVER_BLOCK_SIZE, block++) {
    if (pageIsNew(m, base)) continue;
    freezeRows(m, base);
    pageSetLsn(m, base, 0, 0);
    pageSetChecksum(m, base, GEOMETRY, block);
  }
  const withoutLsn = (map: Uint8Array | undefined): Uint8Array | undefined => {
    if (map === undefined) return undefined;
    const pages = pageMemory(new Uint8Array(map).buffer);
    for (let base = 0, block = 0; base < map.length; base += SERVER_BLOCK_SIZE, block++) {
      if (pageIsNew(pages, base)) continue;
      pageSetLsn(pages, base, 0, 0);
      pageSetChecksum(pages, base, GEOMETRY, block);
    }
    return pages.u8;
  };
  return { main: m.u8, vm: withoutLsn(fork('_vm')), fsm: withoutLsn(fork('_fsm')) };
}

function freezeRows(m: PageMemory, base: number): void {
  for (let offset = 1; offset <= pageMaxOffset(m, base); offset++) {
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) !== LP_NORMAL) continue;
    const at = (base + lpOffset(lp) + 20) >> 1; // t_infomask
    if ((m.u16[at] & HEAP_XMAX_INVALID) !== 0) m.u16[at] = m.u16[at] | HEAP_XMIN_FROZEN;
  }
}

/** A table's columns as SQL declares them. */
export function columnsSql(definition: TableDef): string[] {
  return Object.entries(definition.columns).map(
    ([column, type]) => `"${column}" ${type.sqlName}${type.isNullable ? '' : ' NOT NULL'}`,
  );
}

/** `CREATE TABLE` with the columns of a table of ours, nothing of which the server changes by itself. */
export function createSql(name: string, definition: TableDef): string {
  return `CREATE TABLE ${name} (${columnsSql(definition).join(', ')}) WITH (autovacuum_enabled = off)`;
}

/** Puts files of ours in place of the server's own, with one stop and start for all. */
export async function putInPlace(server: PostgresServer, files: Readonly<Record<string, OwnFiles>>): Promise<void> {
  const paths: Record<string, string> = {};
  for (const name of Object.keys(files)) paths[name] = await server.relationPath(name);
  await server.query('CHECKPOINT');
  await server.whileStopped(() => {
    for (const [name, { main, vm, fsm }] of Object.entries(files)) {
      for (const [suffix, bytes] of [['', main] as const, ['_vm', vm] as const, ['_fsm', fsm] as const]) {
        const path = paths[name] + suffix;
        rmSync(path, { force: true });
        if (bytes === undefined) continue;
        writeFileSync(path, bytes);
        server.adopt(path);
      }
    }
  });
}

/** The md5 of a table's rows as the server prints them. */
export async function md5OfRows(server: PostgresServer, name: string, order: string): Promise<string> {
  const [row] = await server.query(`SELECT md5(string_agg(t::text, E'\\n' ORDER BY ${order})) AS md5 FROM ${name} t`);
  return String(row.md5);
}

/** What the server's checkers find wrong with a table: nothing, if all is well. */
export async function judgement(server: PostgresServer, name: string): Promise<string[]> {
  const heap = await server.query('SELECT * FROM verify_heapam($1, check_toast => true)', [name]);
  const visible = await server.query('SELECT t_ctid FROM pg_check_visible($1)', [name]);
  const frozen = await server.query('SELECT t_ctid FROM pg_check_frozen($1)', [name]);
  return [
    ...heap.map(({ blkno, offnum, msg }) => `verify_heapam (${String(blkno)},${String(offnum)}): ${String(msg)}`),
    ...visible.map((row) => `pg_check_visible ${String(row.t_ctid)}`),
    ...frozen.map((row) => `pg_check_frozen ${String(row.t_ctid)}`),
  ];
}

/** Pages of a table, by the length of its file. */
export async function pageCount(server: PostgresServer, name: string): Promise<number> {
  const [row] = await server.query('SELECT pg_relation_size($1::regclass)::int4 AS bytes', [name]);
  return Number(row.bytes) / SERVER_BLOCK_SIZE;
}

/** TPC-H's lineitem as a table of ours. */
export const LINEITEM: TableDef = table(
  'lineitem',
  Object.fromEntries(TPCH_TABLES.lineitem.map((column) => [column.name, typeInWords(column)])),
);
