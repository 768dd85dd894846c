export { type CheckOptions, type CheckReport, checkPath } from './check.ts';
export { Database } from './database.ts';
export { type InitdbOptions, initdb } from './directory.ts';
export type { IndexColumn, IndexOptions } from './index-options.ts';
export type {
  ByKeyOptions,
  GetOptions,
  IndexCount,
  IndexCountOptions,
  IndexRange,
  IndexScanOptions,
  KeyPrefix,
  KeyValue,
  PrimaryKey,
} from './index-range.ts';
export type { LoadBatch, LoadOptions } from './load.ts';
export type { OpenOptions } from './open-options.ts';
export { PostgresDatabase, type PostgresDatabaseOptions, type PostgresIndexInfo } from './postgres-database.ts';
export { RelationFile, type RelationFileOptions } from './relation-file.ts';
export { type Batch, type RowBatch, Scan, type ScanOptions, type ScanStats } from './scan.ts';
export { parseMemorySize } from './sizes.ts';
export {
  type ColumnName,
  type ColumnTypes,
  type KeyDefinition,
  type KeyOptions,
  type Row,
  type TableDef,
  type TableOptions,
  table,
} from './table.ts';
export type { CountOptions, IndexInfo, TableInfo } from './table-info.ts';
export { DatabaseTransaction } from './transaction.ts';
export type {
  Changes,
  InsertOptions,
  RunTransactionOptions,
  Tid,
  TransactionOptions,
} from './transaction-options.ts';
