// A new SQLite database (libsql's build of it, which brings its binary) in a folder of its own, for as long as it is wanted.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkOptions } from '@blockwright/base';
import { importPeer, resolvePackage } from './resolve.ts';

/** The part of libsql's interface, which is better-sqlite3's, that is used here. */
export interface SqliteStatement {
  run(...values: readonly unknown[]): unknown;
  get(...values: readonly unknown[]): Record<string, unknown> | undefined;
  all(...values: readonly unknown[]): Record<string, unknown>[];
}

export interface SqliteConnection {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  pragma(sql: string): unknown;
  close(): void;
}

export interface SqliteOptions {
  /** Folder in which a directory of its own is made: the disk that is measured. */
  readonly folder: string;
  /** Set in this order, before anything else; such as `{ journal_mode: 'WAL', synchronous: 'FULL' }`. */
  readonly pragmas: Readonly<Record<string, string | number>>;
}

/** An open SQLite database. */
export interface SqliteDatabase extends Disposable {
  /** Such as `SQLite 3.45.1`. */
  readonly engine: string;
  /** What it runs with, as it says itself: journal mode, page size, and every pragma that was set. */
  readonly settings: Readonly<Record<string, string>>;
  readonly connection: SqliteConnection;
  /** Closes it and removes its files. Again is fine. */
  close(): void;
}

const ALWAYS_SHOWN = ['page_size', 'journal_mode', 'synchronous', 'cache_size', 'wal_autocheckpoint'];

/** Whether SQLite can be opened here. */
export function sqliteIsInstalled(): boolean {
  return resolvePackage('libsql') !== undefined;
}

/** Opens a new, empty database. @throws StorageError 58P01 when its package is missing. */
export async function openSqlite(options: SqliteOptions): Promise<SqliteDatabase> {
  checkOptions('openSqlite', options, ['folder', 'pragmas']);
  const module = await importPeer('libsql', 'SQLite');
  const Connection = module.default as new (path: string) => SqliteConnection;
  const scratch = mkdtempSync(join(options.folder, 'blockwright-sqlite-'));
  let connection: SqliteConnection | undefined;
  const close = (): void => {
    connection?.close();
    connection = undefined;
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const opened = new Connection(join(scratch, 'sqlite.db'));
    connection = opened;
    for (const [name, value] of Object.entries(options.pragmas)) opened.pragma(`${name} = ${value}`);
    const only = (sql: string): string => String(Object.values(opened.prepare(sql).get() ?? {})[0]);
    const shown = new Set([...ALWAYS_SHOWN, ...Object.keys(options.pragmas)]);
    const settings = Object.fromEntries([...shown].map((name) => [name, only(`PRAGMA ${name}`)]));
    const engine = `SQLite ${only('SELECT sqlite_version()')}`;
    return { engine, settings, connection: opened, close, [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}
