// The lineitem table as stored, with the TPC-H schema's types.
import { type TableDef, table } from '@blockwright/engine';
import { TPCH_TABLES } from '@blockwright/tpch';
import { typeInWords } from '@blockwright/tuple';

/** `lineitem` under any name: its columns are those of TPC-H. */
export function lineitemTable(name: string): TableDef {
  return table(name, Object.fromEntries(TPCH_TABLES.lineitem.map((column) => [column.name, typeInWords(column)])));
}
