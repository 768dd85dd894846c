// A narrow table whose rows are looked up and updated by key at random: the workload by which PostgreSQL's developers
// compared ways to compact a page, since nothing has more line pointers to sort.
import type { Database, DatabaseTransaction, TableDef } from '@blockwright/engine';
import { table } from '@blockwright/engine';
import { type ColumnType, int4, text } from '@blockwright/tuple';

/** Per cent of a page that rows, and entries of the index, fill at first. */
export const NARROW_FILLFACTOR = 85;
const ROWS_A_STEP = 10_000;
const DIGITS = 10;

export type NarrowTable = TableDef<{ id: ColumnType<number>; val: ColumnType<string> }>;

/** The table, and with it its primary key. */
export function narrowTable(unlogged: boolean): NarrowTable {
  return table(
    'narrow',
    { id: int4(), val: text() },
    {
      primaryKey: { columns: ['id'], fillfactor: NARROW_FILLFACTOR },
      fillfactor: NARROW_FILLFACTOR,
      unlogged,
    },
  );
}

/** Makes the table and its rows, with ids from 0 on, each with the value that no update has changed. */
export function createNarrow(db: Database, definition: NarrowTable, rows: number): void {
  db.createTable(definition);
  for (let from = 0; from < rows; from += ROWS_A_STEP) {
    const step = Array.from({ length: Math.min(ROWS_A_STEP, rows - from) }, (_, i) => ({
      id: from + i,
      val: valueAfter(0),
    }));
    db.transaction((tx) => tx.insert(definition, step));
  }
}

/** Looks a row up by its key and gives it the next value. @returns whether its new version stayed on its page (HOT) */
export function updateNarrow(tx: DatabaseTransaction, definition: NarrowTable, id: number): boolean {
  const row = tx.get(definition, id);
  if (row === undefined) throw new RangeError(`there is no row ${id}`);
  tx.updateByKey(definition, id, { val: valueAfter(Number(row.val) + 1) });
  return tx.lastWasHot;
}

/** Reads every row: how many there are, and how many updates they have had. */
export function scanNarrow(db: Database, definition: NarrowTable): { rows: number; updates: number } {
  let rows = 0;
  let updates = 0;
  for (const { length, columns } of db.scan(definition, { columns: ['val'] })) {
    const { val } = columns;
    if (val.kind !== 'bytes') throw new TypeError(`column "val" came as ${val.kind}`);
    rows += length;
    for (let i = 0; i < length; i++) updates += digitsAt(val.data, val.starts[i]);
  }
  return { rows, updates };
}

/** Ten digits: all values are equally long, so that each update leaves a hole that the next version fits. */
function valueAfter(updates: number): string {
  return String(updates).padStart(DIGITS, '0');
}

function digitsAt(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 0; i < DIGITS; i++) value = value * 10 + (bytes[at + i] as number) - 48;
  return value;
}
