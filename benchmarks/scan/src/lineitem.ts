// The lineitem table as stored, with the TPC-H schema's types.
import { type TableDef, table } from '@blockwright/engine';
import { TPCH_TABLES, type TpchColumn } from '@blockwright/tpch';
import { type ColumnType, char, date, int4, int8, numeric, varchar } from '@blockwright/tuple';

/** `lineitem` under any name: its columns are those of TPC-H. */
export function lineitemTable(name: string): TableDef {
  return table(name, Object.fromEntries(TPCH_TABLES.lineitem.map((column) => [column.name, typeOf(column)])));
}

function typeOf(column: TpchColumn): ColumnType {
  switch (column.type) {
    case 'int4':
      return int4();
    case 'int8':
      return int8();
    case 'date':
      return date();
    case 'numeric':
      return numeric(column.precision, column.scale);
    case 'char':
      return char(column.length);
    case 'varchar':
      return varchar(column.length);
  }
}
