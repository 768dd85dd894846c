// A benchmark's report as tables: block sizes side by side where there is more than one, then every cell.
import { type BenchmarkReport, type Cell, type ReportColumn, reportTable, significant } from '@blockwright/benchmark';
import type { TableColumn } from './table.ts';

/** One table of a report, ready for `formatTable`. */
export interface ReportTable {
  readonly title?: string;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly string[])[];
}

/** The tables in which a report is printed. */
export function benchmarkTables(report: BenchmarkReport, columns: readonly ReportColumn[]): ReportTable[] {
  const tables: ReportTable[] = [];
  const sizes = [...new Set(report.results.map((cell) => cell.blockSize))].filter((size) => size !== null);
  if (sizes.length > 1) tables.push(sideBySide(report.results, sizes));
  const { head, rows } = reportTable(report, columns);
  const numeric = columns.map(({ key }) => report.results.some((cell) => typeof cell[key] === 'number'));
  tables.push({ columns: head.map((title, i) => ({ title, align: numeric[i] ? 'right' : 'left' })), rows });
  return tables;
}

/** One row per engine, query and variant; one column per block size; nanoseconds a unit in the cells. */
function sideBySide(cells: readonly Cell[], sizes: readonly number[]): ReportTable {
  const rows = new Map<string, string[]>();
  for (const cell of cells) {
    const label = [cell.query, cell.variant, cell.engine].filter((part) => part !== undefined).join(', ');
    let row = rows.get(label);
    if (row === undefined) {
      row = [label, ...sizes.map(() => '')];
      rows.set(label, row);
    }
    const at = cell.blockSize === null ? -1 : sizes.indexOf(cell.blockSize);
    if (at >= 0) row[at + 1] = significant(cell.nsPerUnit);
  }
  return {
    title: 'Nanoseconds a row, by block size (median)',
    columns: [{ title: '' }, ...sizes.map((size) => ({ title: `${size >>> 10} kB`, align: 'right' as const }))],
    rows: [...rows.values()],
  };
}
