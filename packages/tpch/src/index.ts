export { KNOWN_ANSWERS, type KnownAnswers, knownAnswers, type Q1Row, type Q6Row } from './answers.ts';
export { type BatchOptions, type TpchBatch, type TpchVector, tableBatches } from './batches.ts';
export { rowCounts, SCALE_LIMIT, type TpchTableName, unitCount } from './scale.ts';
export { TPCH_TABLE_NAMES, TPCH_TABLES, type TpchColumn, type TpchColumnType } from './schema.ts';
export type { GenerateOptions } from './tables.ts';
export { type TextOptions, tableText } from './text.ts';
export { cacheDirectory, TextPool, type TextPoolOptions } from './text-pool.ts';
