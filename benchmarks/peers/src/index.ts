export { type LineitemPeer, type LineitemPeerOptions, peerText } from './lineitem-peer.ts';
export {
  type PostgresClient,
  type PostgresOptions,
  type PostgresRow,
  PostgresServer,
  type RelationFiles,
  startPostgres,
} from './postgres.ts';
export { binariesPackage, postgresIsExpected, postgresIsInstalled } from './postgres-binaries.ts';
export {
  createTableSql,
  loadLineitem,
  type PostgresLineitemOptions,
  startPostgresLineitem,
} from './postgres-lineitem.ts';
export {
  openSqlite,
  type SqliteConnection,
  type SqliteDatabase,
  type SqliteOptions,
  type SqliteStatement,
  sqliteIsInstalled,
} from './sqlite.ts';
export { type CommitPeer, openSqliteCommits, type SqliteCommitsOptions } from './sqlite-commits.ts';
export { openSqliteLineitem, type SqliteLineitemOptions } from './sqlite-lineitem.ts';
