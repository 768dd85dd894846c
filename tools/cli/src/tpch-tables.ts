// TPC-H's tables as tables of a data directory: the generator's plain column types become stored ones.
import { type TableDef, table } from '@blockwright/engine';
import { TPCH_TABLES, type TpchColumn, type TpchTableName } from '@blockwright/tpch';
import { type ColumnType, char, date, int4, int8, numeric, varchar } from '@blockwright/tuple';

/** One of TPC-H's eight tables, ready to be created. */
export function tpchTable(name: TpchTableName): TableDef {
  return table(name, Object.fromEntries(TPCH_TABLES[name].map((column) => [column.name, storedType(column)])));
}

function storedType(column: TpchColumn): ColumnType<unknown> {
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
