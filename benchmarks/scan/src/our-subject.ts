// Blockwright's side: a table of a data directory made for this run, of one that stands, or a relation file as it lies.
// The pool is large enough that every page stays in memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Progress, StorageError } from '@blockwright/base';
import { directoryKind } from '@blockwright/control';
import {
  type ColumnName,
  Database,
  initdb,
  PostgresDatabase,
  RelationFile,
  type Scan,
  type ScanOptions,
  type TableDef,
} from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { rowCounts, type TextPool, tableBatches } from '@blockwright/tpch';
import { NodeVfs } from '@blockwright/vfs';
import { type IndexVariants, openVariants } from './index-variants.ts';
import { lineitemTable } from './lineitem.ts';
import { Q1, Q1_COLUMNS, type Q1Group, Q6, Q6_COLUMNS } from './queries.ts';
import type { KeyRange, Q6Answer, Subject } from './subject.ts';

/** What a table offers to the queries: a database's table, PostgreSQL's, and a lone relation file all do. */
export interface ScanTarget {
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    table: Table,
    options: ScanOptions<Name>,
  ): Scan<Table, Name>;
  count(table: TableDef, options?: { map?: boolean }): { readonly rows: number };
  pageStats: Database['pageStats'];
  readonly bufferStats: Database['bufferStats'];
  close(): void;
}

/** A subject of ours, and what the right answers can be computed from. */
export interface OurSubject extends Subject {
  readonly target: ScanTarget;
  readonly table: TableDef;
}

export interface LoadOptions {
  readonly scale: number;
  readonly pool: TextPool;
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
  /** Whether the judged count will be run: it needs a table of its own. */
  readonly withUnmarked: boolean;
  /** Whether queries by the index on l_orderkey will be run. */
  readonly withIndex: boolean;
}

/** Bytes that a stored row needs at most, at any block size: for sizing the pool before loading. */
export const ROW_BYTES = 200;
/** The index on l_orderkey. */
const INDEX = 'lineitem_orderkey';
/** What the pool holds besides: catalogs, maps. */
const EXTRA_BYTES = 2 ** 24;

/** Makes a data directory of `blockSize` in a temporary place and loads lineitem into it. */
export async function loadSubject(blockSize: BlockSize, options: LoadOptions): Promise<OurSubject> {
  const { scale, pool, signal, progress, withUnmarked, withIndex } = options;
  const home = mkdtempSync(join(tmpdir(), 'blockwright-bench-'));
  let database: Database | undefined;
  let variants: IndexVariants | undefined;
  const close = (): void => {
    try {
      variants?.close();
      database?.close();
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  };
  try {
    const directory = join(home, 'data');
    initdb(directory, { blockSize });
    const tableBytes = rowCounts(scale).lineitem * ROW_BYTES;
    database = Database.open(directory, { sharedBuffers: poolBytes(tableBytes) });
    const marked = lineitemTable('lineitem');
    const unmarked = withUnmarked ? lineitemTable('lineitem_unmarked') : undefined;
    for (const [table, freeze] of [[marked, true] as const, [unmarked, false] as const]) {
      if (table === undefined) continue;
      using tx = database.begin();
      tx.createTable(table);
      await tx.load(table, tableBatches('lineitem', scale, { pool }), {
        freeze,
        signal,
        onProgress: (step) =>
          progress({ ...step, phase: `loading at ${blockSize >>> 10} kB`, total: rowCounts(scale).lineitem }),
      });
      tx.commit();
    }
    if (withIndex) await database.createIndex(marked, { columns: ['l_orderkey'], name: INDEX }, { signal });
    database.checkpoint();
    const subject = subjectOf(database, marked, unmarked, database.blockSize, blocksOf(database, marked.name), close);
    if (!withIndex) return subject;
    const [{ path: index, bytes: indexBytes }] = database.indexes(marked.name);
    const path = database.tables().find(({ name }) => name === marked.name)?.path as string;
    variants = openVariants({ directory, blockSize, index, table: path, indexBytes });
    return { ...subject, answer: { ...subject.answer, ...keyAnswerers(database, marked, variants) } };
  } catch (error) {
    throw closedAfter(error, close);
  }
}

/** The lineitem of a data directory that stands, ours or PostgreSQL's; it is opened read-only. */
export function openSubject(directory: string): OurSubject {
  const isPostgres = directoryKind(new NodeVfs(), directory) === 'postgresql';
  const open = (sharedBuffers: number): Database | PostgresDatabase =>
    isPostgres
      ? PostgresDatabase.open(directory, { sharedBuffers })
      : Database.open(directory, { readOnly: true, sharedBuffers });
  const first = open(EXTRA_BYTES);
  let bytes: number;
  try {
    first.table('lineitem'); // refuses, with a reason, a directory without it
    bytes = blocksOf(first, 'lineitem') * first.blockSize;
  } finally {
    first.close();
  }
  const database = open(poolBytes(bytes));
  try {
    const table = database.table('lineitem');
    const blocks = blocksOf(database, 'lineitem');
    const subject = subjectOf(database, table, undefined, database.blockSize, blocks, () => database.close());
    if (subject.rows === 0) throw noRows(`table "lineitem" of "${directory}"`);
    return subject;
  } catch (error) {
    throw closedAfter(error, () => database.close());
  }
}

/** A relation file with lineitem's columns, PostgreSQL's or ours, as it lies. */
export function fileSubject(path: string): OurSubject {
  const table = lineitemTable('lineitem');
  if (new NodeVfs().stat(path)?.size === 0) throw noRows(`"${path}"`); // no block size can be told from it either
  const small = RelationFile.open(path, table);
  const bytes = small.blocks * small.geometry.size;
  small.close();
  const file = RelationFile.open(path, table, { sharedBuffers: poolBytes(bytes) });
  try {
    const subject = subjectOf(file, table, undefined, file.geometry.size, file.blocks, () => file.close());
    if (subject.rows === 0) throw noRows(`"${path}"`);
    return subject;
  } catch (error) {
    throw closedAfter(error, () => file.close());
  }
}

/** The error that a time a row of no rows would be. */
function noRows(what: string): StorageError {
  return new StorageError('55000', `${what} has no rows to scan`);
}

/** `error`, after closing what it leaves open; that closing fails too is not what went wrong. */
function closedAfter(error: unknown, close: () => void): unknown {
  try {
    close();
  } catch {
    // The first error is the one to tell.
  }
  return error;
}

/**
 * A pool in which tables of so many bytes stay: scans of a table larger than a quarter of the pool go through a ring,
 * and leave nothing behind. Its memory is taken only as it is used.
 */
function poolBytes(tableBytes: number): number {
  return Math.ceil(tableBytes) * 5 + EXTRA_BYTES;
}

function blocksOf(database: Database | PostgresDatabase, name: string): number {
  return database.tables().find((table) => table.name === name)?.blocks ?? 0;
}

function subjectOf(
  target: ScanTarget,
  table: TableDef,
  unmarked: TableDef | undefined,
  blockSize: BlockSize,
  pages: number,
  close: () => void,
): OurSubject {
  const { tailBytes } = target.pageStats(table);
  const { rows } = target.count(table, { map: false });
  // The map and the second table come into the pool too: no timed round reads a page.
  target.count(table);
  if (unmarked !== undefined) target.count(unmarked, { map: false });
  return {
    engine: 'blockwright',
    blockSize,
    rows,
    pages,
    bytes: pages * blockSize,
    tailWaste: pages > 1 ? tailBytes / (pages - 1) : 0,
    poolStats: () => {
      const { hits, reads } = target.bufferStats;
      return { hits, reads };
    },
    answer: {
      count: () => target.count(table).rows,
      judged: () => target.count(unmarked ?? table, { map: false }).rows,
      q6: () => runQ6(target, table),
      q1: () => runQ1(target, table),
    },
    about: undefined,
    target,
    table,
    close,
  };
}

function keyAnswerers(database: Database, table: TableDef, { count }: IndexVariants): Subject['answer'] {
  const index = INDEX;
  database.count(table, { index }); // brings it into the pool
  return {
    keys: () => database.count(table, { index }).rows,
    keysum: (range) => sumKeys(database, table, range),
    'keys-unasked': count.unasked,
    'keys-window': count.window,
    'keys-multiplying': count.multiplying,
    'keys-dividing': count.dividing,
  };
}

/** The sum of the keys of a range, from the index alone. */
function sumKeys(database: Database, table: TableDef, { from, to }: KeyRange): bigint {
  let total = 0n;
  using scan = database.scan(table, { index: INDEX, from, to, columns: ['l_orderkey'] });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
    const [keys] = batch.vectors;
    if (keys.kind !== 'int8') throw new TypeError('l_orderkey is not int8');
    total += sumOf(keys.lo, keys.hi, batch.length);
  }
  return total;
}

/** Exact: some thousands of keys, each below 2^48, as a batch has them. */
function sumOf(lo: ArrayLike<number>, hi: ArrayLike<number>, length: number): bigint {
  let low = 0;
  let high = 0;
  for (let i = 0; i < length; i++) {
    low += lo[i] >>> 0;
    high += hi[i];
  }
  return (BigInt(high) << 32n) + BigInt(low);
}

/** Q1 over a table that has lineitem's columns. */
export function runQ1(target: ScanTarget, table: TableDef): Q1Group[] {
  const q1 = new Q1();
  using scan = target.scan(table, { columns: Q1_COLUMNS, charCodes: true });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) q1.add(batch.vectors, batch.length);
  return q1.groups();
}

/** Q6 over a table that has lineitem's columns. */
export function runQ6(target: ScanTarget, table: TableDef): Q6Answer {
  const q6 = new Q6();
  using scan = target.scan(table, { columns: Q6_COLUMNS });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) q6.add(batch.vectors, batch.length);
  return { revenue: q6.revenue, rows: BigInt(q6.rows) };
}
