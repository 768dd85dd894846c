export { Catalog, type OpenRelation } from './catalog.ts';
export type { CatalogEntry, CatalogTid, TableShape } from './entry.ts';
export { readFilenodeMap } from './filenode-map.ts';
export { PostgresDirectory, type PostgresOptions } from './postgres.ts';
export type { PostgresRelation, PostgresTable } from './postgres-relations.ts';
export { BW_ATTRIBUTE, BW_CLASS, BW_INDEX, CATALOG_TABLES, type CatalogTable, FIRST_NORMAL_OID } from './tables.ts';
export { type CatalogHeapWriter, CatalogWriter } from './writer.ts';
