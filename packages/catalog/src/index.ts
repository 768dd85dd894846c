export { Catalog, type FoundIndex, type OpenRelation, type TemporaryFiles } from './catalog.ts';
export type { CatalogEntry, CatalogTid, TableShape } from './entry.ts';
export { readFilenodeMap } from './filenode-map.ts';
export { DEFAULT_INDEX_FILLFACTOR, type IndexEntry, type IndexShape, indexDescriptor } from './index-entry.ts';
export { IndexedWriter } from './indexed-writer.ts';
export { type IndexedTable, OpenIndex } from './open-index.ts';
export { PostgresDirectory, type PostgresOptions } from './postgres.ts';
export type { PostgresIndex } from './postgres-indexes.ts';
export type { PostgresRelation, PostgresTable } from './postgres-relations.ts';
export {
  BW_ATTRIBUTE,
  BW_CLASS,
  BW_INDEX,
  CATALOG_INDEXES,
  CATALOG_TABLES,
  type CatalogIndex,
  type CatalogTable,
  FIRST_NORMAL_OID,
} from './tables.ts';
export { type CatalogRowWriter, CatalogWriter, type NewFiles } from './writer.ts';
