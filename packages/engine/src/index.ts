export { type CheckOptions, type CheckReport, checkPath } from './check.ts';
export { Database, type LoadBatch, type LoadOptions, type OpenOptions, type TableInfo } from './database.ts';
export { type InitdbOptions, initdb } from './directory.ts';
export { PostgresDatabase, type PostgresDatabaseOptions } from './postgres-database.ts';
export { RelationFile, type RelationFileOptions } from './relation-file.ts';
export { type Batch, Scan, type ScanOptions } from './scan.ts';
export { parseMemorySize } from './sizes.ts';
export { type ColumnName, type ColumnTypes, type Row, type TableDef, table } from './table.ts';
