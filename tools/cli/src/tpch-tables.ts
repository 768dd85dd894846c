// TPC-H's tables as tables of a data directory: the generator's plain column types become stored ones.
import { type TableDef, table } from '@blockwright/engine';
import { TPCH_TABLES, type TpchTableName } from '@blockwright/tpch';
import { typeInWords } from '@blockwright/tuple';

/** One of TPC-H's eight tables, ready to be created. */
export function tpchTable(name: TpchTableName): TableDef {
  return table(name, Object.fromEntries(TPCH_TABLES[name].map((column) => [column.name, typeInWords(column)])));
}
