// SQLite (libsql's build of it) in WAL mode with a table that takes one row a transaction.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkOptions } from '@blockwright/base';
import { importPeer } from './resolve.ts';

export interface SqliteCommitsOptions {
  /** Folder in which a directory of its own is made: the disk that is measured. */
  readonly folder: string;
  /** true: a commit waits for the disk (`synchronous = FULL`); false: only checkpoints do (`NORMAL`). */
  readonly synchronous: boolean;
}

/** Another database whose commits are counted. */
export interface CommitPeer extends Disposable {
  /** Such as `SQLite 3.45.1`. */
  readonly engine: string;
  /** What it runs with, as it says itself. */
  readonly settings: Readonly<Record<string, string>>;
  /** Inserts one row, id and text, in a transaction of its own. */
  commit(id: number, text: string): void;
  /** Rows in the table. */
  rows(): number;
  /** Ends it and removes its files. */
  close(): void;
}

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: readonly unknown[]): unknown; get(): Record<string, unknown> };
  pragma(sql: string): unknown;
  close(): void;
}

const SHOWN = ['journal_mode', 'synchronous', 'page_size', 'wal_autocheckpoint'] as const;

/** Opens a new SQLite database with an empty table. @throws StorageError 58P01 when its package is missing. */
export async function openSqliteCommits(options: SqliteCommitsOptions): Promise<CommitPeer> {
  checkOptions('openSqliteCommits', options, ['folder', 'synchronous']);
  const { folder, synchronous } = options;
  const module = await importPeer('libsql', 'SQLite');
  const Database = module.default as new (path: string) => Database;
  const scratch = mkdtempSync(join(folder, 'blockwright-sqlite-'));
  const database = new Database(join(scratch, 'commits.db'));
  const close = (): void => {
    database.close();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${synchronous ? 'FULL' : 'NORMAL'}`);
    database.exec('CREATE TABLE commits (id INTEGER NOT NULL, payload TEXT NOT NULL)');
    const insert = database.prepare('INSERT INTO commits VALUES (?, ?)');
    const count = database.prepare('SELECT count(*) AS n FROM commits');
    const version = database.prepare('SELECT sqlite_version() AS v').get().v;
    const settings = Object.fromEntries(
      SHOWN.map((name) => [name, String(Object.values(database.prepare(`PRAGMA ${name}`).get())[0])]),
    );
    return {
      engine: `SQLite ${String(version)}`,
      settings,
      commit: (id, text) => insert.run(id, text),
      rows: () => Number(count.get().n),
      close,
      [Symbol.dispose]: close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
