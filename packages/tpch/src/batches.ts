// Rows as typed columns, ready to be stored: the same vectors that tuples are encoded from and decoded to.
import { COPY_SLACK_BYTES, type RawColumn } from './columns.ts';
import { rowCounts, type TpchTableName } from './scale.ts';
import { TPCH_TABLES, type TpchColumn } from './schema.ts';
import { type GenerateOptions, rowSource } from './tables.ts';

/** One column of a batch. `nulls` is undefined: nothing in TPC-H is. */
export type TpchVector =
  /** int4; date as days from 2000-01-01. */
  | { readonly kind: 'int'; readonly values: Int32Array; readonly nulls: undefined }
  /** int8 in two words. */
  | { readonly kind: 'int8'; readonly lo: Uint32Array; readonly hi: Int32Array; readonly nulls: undefined }
  /** numeric as integers of its last decimal. */
  | { readonly kind: 'scaled'; readonly values: Float64Array; readonly scale: number; readonly nulls: undefined }
  /** char, padded with blanks, and varchar: row r is data[starts[r], starts[r + 1]). */
  | { readonly kind: 'bytes'; readonly starts: Int32Array; readonly data: Uint8Array; readonly nulls: undefined };

/** Rows as columns, in the order of `TPCH_TABLES`. Lent: the next batch is written over it. */
export interface TpchBatch {
  /** Rows; the vectors may have room for more. */
  readonly length: number;
  readonly columns: readonly TpchVector[];
}

export interface BatchOptions extends GenerateOptions {
  /**
   * The most rows in a batch, 7 to 2^20, by default 2048. An order's lines and a part's suppliers are not parted, so
   * that batches may be a few rows shorter.
   */
  readonly batchRows?: number;
}

const DEFAULT_BATCH_ROWS = 2048;
const INT32_MAX = 2147483647;

/**
 * The rows of a table at a scale, as columns of the types they are stored with.
 * @throws RangeError for a scale or range out of bounds, or a scale whose keys do not fit int4.
 * @throws TypeError for an unknown table or option.
 */
export function tableBatches(table: TpchTableName, scale: number, options: BatchOptions): Iterable<TpchBatch> {
  const capacity = options.batchRows ?? DEFAULT_BATCH_ROWS;
  // Checked now and not at the first batch; each iteration starts a source of its own.
  rowSource(table, scale, options, capacity, ['batchRows']);
  const { part, customer } = rowCounts(scale);
  if ((table === 'orders' || table === 'customer' ? customer : part) > INT32_MAX && table !== 'supplier') {
    throw new RangeError(`at scale ${scale}, keys of ${table} do not fit the type int4`);
  }
  return { [Symbol.iterator]: () => generate(table, scale, options, capacity) };
}

function* generate(
  table: TpchTableName,
  scale: number,
  options: BatchOptions,
  capacity: number,
): Generator<TpchBatch, void, void> {
  const source = rowSource(table, scale, options, capacity, ['batchRows']);
  const schema = TPCH_TABLES[table];
  const columns = source.columns.map((raw, i) => createVector(schema[i], raw, capacity));
  const batch = { length: 0, columns };
  for (;;) {
    const rows = source.fill(capacity);
    if (rows === 0) return;
    for (let i = 0; i < columns.length; i++) fillVector(columns[i], schema[i], source.columns[i], rows);
    batch.length = rows;
    yield batch;
  }
}

function createVector(column: TpchColumn, raw: RawColumn, capacity: number): TpchVector {
  switch (column.type) {
    case 'int4':
    case 'date':
      return { kind: 'int', values: new Int32Array(capacity), nulls: undefined };
    case 'int8':
      return { kind: 'int8', lo: new Uint32Array(capacity), hi: new Int32Array(capacity), nulls: undefined };
    case 'numeric':
      // Hundredths are generated as hundredths: the generator's own column is lent.
      return { kind: 'scaled', values: raw.values, scale: column.scale, nulls: undefined };
    default: {
      const data = new Uint8Array(column.length * capacity + COPY_SLACK_BYTES);
      return { kind: 'bytes', starts: new Int32Array(capacity + 1), data, nulls: undefined };
    }
  }
}

function fillVector(vector: TpchVector, column: TpchColumn, raw: RawColumn, rows: number): void {
  switch (vector.kind) {
    case 'int':
      copyNumbers(raw.values, vector.values, rows);
      return;
    case 'int8':
      splitWords(raw.values, vector.lo, vector.hi, rows);
      return;
    case 'scaled':
      return;
    case 'bytes':
      if (column.type === 'char') copyPadded(raw, vector.starts, vector.data, rows, column.length);
      else copyStrings(raw, vector.starts, vector.data, rows);
  }
}

function copyNumbers(from: Float64Array, to: Int32Array, rows: number): void {
  for (let row = 0; row < rows; row++) to[row] = from[row];
}

function splitWords(from: Float64Array, lo: Uint32Array, hi: Int32Array, rows: number): void {
  for (let row = 0; row < rows; row++) {
    lo[row] = from[row] >>> 0;
    hi[row] = Math.floor(from[row] / 4294967296);
  }
}

function copyPadded(raw: RawColumn, starts: Int32Array, data: Uint8Array, rows: number, width: number): void {
  const from = raw.data;
  let at = 0;
  for (let row = 0; row < rows; row++) {
    starts[row] = at;
    const start = raw.starts[row];
    const length = raw.lengths[row];
    for (let i = 0; i < length; i++) data[at + i] = from[start + i];
    for (let i = length; i < width; i++) data[at + i] = 0x20;
    at += width;
  }
  starts[rows] = at;
}

function copyStrings(raw: RawColumn, starts: Int32Array, data: Uint8Array, rows: number): void {
  const view = new DataView(data.buffer);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    starts[row] = at;
    const start = raw.starts[row];
    const length = raw.lengths[row];
    for (let i = 0; i < length; i += 8) view.setFloat64(at + i, raw.view.getFloat64(start + i, true), true);
    at += length;
  }
  starts[rows] = at;
}
