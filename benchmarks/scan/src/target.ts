// What the queries run on: a table of a data directory made for this run, of one that stands, or a relation file as it
// lies. Each block size is one subject, with its pool large enough that every page stays in memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '@blockwright/base';
import { Database, initdb, type RelationFile, type TableDef } from '@blockwright/engine';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { type TextPool, tableBatches } from '@blockwright/tpch';
import { lineitemTable } from './lineitem.ts';

/** What a table offers to the queries: a database's table and a lone relation file both do. */
export interface ScanTarget {
  scan: Database['scan'];
  count: Database['count'];
  pageStats: Database['pageStats'];
}

/** One block size's tables. */
export interface Subject {
  readonly blockSize: BlockSize;
  readonly target: ScanTarget;
  /** Frozen rows, pages marked all-visible. */
  readonly marked: TableDef;
  /** The same rows with hint bits only, on pages not marked; undefined where there is only one table. */
  readonly unmarked: TableDef | undefined;
  readonly rows: number;
  readonly pages: number;
  readonly bytes: number;
  /** Bytes a page that no tuple uses, on average; the last page left out. */
  readonly tailWaste: number;
  readonly stats: () => { hits: number; reads: number };
  close(): void;
}

export interface SubjectOptions {
  readonly scale: number;
  readonly pool: TextPool;
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
  /** Whether the judged count will be run: it needs its own table. */
  readonly withUnmarked: boolean;
}

/** Bytes that the stored table needs a row, at most, at any block size: for sizing the pool before loading. */
const ROW_BYTES = 200;

/** Makes a data directory of `blockSize` in a temporary place and loads lineitem into it. */
export async function loadSubject(blockSize: BlockSize, options: SubjectOptions): Promise<Subject> {
  const { scale, pool, signal, progress, withUnmarked } = options;
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-bench-'));
  let database: Database | undefined;
  const close = (): void => {
    try {
      database?.close();
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  };
  try {
    const data = join(directory, 'data');
    initdb(data, { blockSize });
    const tableBytes = 6_010_000 * Math.max(scale, 0.001) * ROW_BYTES;
    database = Database.open(data, { sharedBuffers: Math.ceil(tableBytes * (withUnmarked ? 2 : 1)) + 2 ** 24 });
    const marked = lineitemTable('lineitem');
    const unmarked = withUnmarked ? lineitemTable('lineitem_unmarked') : undefined;
    for (const [definition, freeze] of [
      [marked, true],
      [unmarked, false],
    ] as const) {
      if (definition === undefined) continue;
      database.createTable(definition);
      await database.load(definition, tableBatches('lineitem', scale, { pool }), {
        freeze,
        signal,
        onProgress: (step) => progress({ ...step, phase: `loading ${definition.name} at ${blockSize >>> 10} kB` }),
      });
    }
    database.checkpoint();
    return databaseSubject(database, marked, unmarked, close);
  } catch (error) {
    close();
    throw error;
  }
}

/** The lineitem of a data directory that stands; it is opened read-only. */
export function openSubject(directory: string): Subject {
  let database = Database.open(directory, { readOnly: true });
  const bytes = database.tables().find((table) => table.name === 'lineitem')?.bytes ?? 0;
  database.close();
  database = Database.open(directory, { readOnly: true, sharedBuffers: bytes + 2 ** 24 });
  try {
    const marked = database.table('lineitem');
    return databaseSubject(database, marked, undefined, () => database.close());
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A relation file of lineitem's columns, PostgreSQL's or ours, as it lies. */
export function fileSubject(file: RelationFile): Subject {
  const { blocks, geometry } = file;
  return {
    blockSize: geometry.size,
    target: file,
    marked: file.table,
    unmarked: undefined,
    rows: file.count(file.table, { map: false }).rows,
    pages: blocks,
    bytes: blocks * geometry.size,
    tailWaste: tailWasteOf(file, file.table),
    stats: () => file.bufferStats,
    close: () => file.close(),
  };
}

function databaseSubject(
  database: Database,
  marked: TableDef,
  unmarked: TableDef | undefined,
  close: () => void,
): Subject {
  const info = database.tables().find((table) => table.name === marked.name);
  if (info === undefined) throw new Error(`${marked.name} is missing from the catalogs`);
  return {
    blockSize: BlockGeometry.of(database.blockSize).size,
    target: database,
    marked,
    unmarked,
    rows: database.count(marked, { map: false }).rows,
    pages: info.blocks,
    bytes: info.bytes,
    tailWaste: tailWasteOf(database, marked),
    stats: () => database.bufferStats,
    close,
  };
}

function tailWasteOf(target: ScanTarget, table: TableDef): number {
  const { pages, tailBytes } = target.pageStats(table);
  return pages > 1 ? tailBytes / (pages - 1) : 0;
}
