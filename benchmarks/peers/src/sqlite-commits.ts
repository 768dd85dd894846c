// SQLite (libsql's build of it) in WAL mode with a table that takes one row a transaction.
import { checkOptions } from '@blockwright/base';
import { openSqlite } from './sqlite.ts';

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

/** Opens a new SQLite database with an empty table. @throws StorageError 58P01 when its package is missing. */
export async function openSqliteCommits(options: SqliteCommitsOptions): Promise<CommitPeer> {
  checkOptions('openSqliteCommits', options, ['folder', 'synchronous']);
  const { folder, synchronous } = options;
  const sqlite = await openSqlite({
    folder,
    pragmas: { journal_mode: 'WAL', synchronous: synchronous ? 'FULL' : 'NORMAL' },
  });
  const { engine, settings, connection, close } = sqlite;
  try {
    connection.exec('CREATE TABLE commits (id INTEGER NOT NULL, payload TEXT NOT NULL)');
    const insert = connection.prepare('INSERT INTO commits VALUES (?, ?)');
    const count = connection.prepare('SELECT count(*) AS n FROM commits');
    return {
      engine,
      settings,
      commit: (id, text) => insert.run(id, text),
      rows: () => Number(count.get()?.n),
      close,
      [Symbol.dispose]: close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
