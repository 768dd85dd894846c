// A benchmark's report as a table for people. Where there are several block sizes, they stand side by side; otherwise
// there is a row a cell, and what is the same in all cells is said once.
import { stripVTControlCharacters } from 'node:util';
import { type BenchmarkReport, type Cell, type ReportColumn, significant } from '@blockwright/benchmark';
import type { Colors } from './colors.ts';
import { formatBytes } from './format.ts';
import { formatTable, type TableColumn } from './table.ts';

/** The table of a report, ready for `formatTable`. */
export interface ReportTable {
  /** What is the same in every row. */
  readonly heading?: string;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly string[])[];
}

/** The tables in which a report is printed: what was measured, and the quartiles of the times. */
export function benchmarkTables(report: BenchmarkReport, columns: readonly ReportColumn[]): ReportTable[] {
  const cells = report.results;
  const sizes = [...new Set(cells.map((cell) => cell.blockSize))].filter((size) => size !== null);
  if (cells.length === 1) return [oneCell(cells[0] as Cell, columns)];
  if (sizes.length < 2) {
    return [
      cellByCell(
        cells,
        columns.flatMap((column) => (column.key === 'nsPerUnit' ? [column, QUARTILES] : [column])),
      ),
    ];
  }
  const naming = namingKeys(cells, columns);
  const times = columns.find(({ key }) => key === 'nsPerUnit')?.title ?? 'the time';
  return [
    sideBySide(cells, sizes, columns, naming),
    sideBySide(cells, sizes, [{ ...QUARTILES, title: `quartiles of ${times}` }], naming),
  ];
}

/**
 * The table as text, no wider than `width`: one that is wider is broken into several, each with some of the columns
 * after the first.
 */
export function fitTable(table: ReportTable, width: number, colors: Colors): string {
  const text = formatTable(table.columns, table.rows, colors);
  const widest = Math.max(
    ...stripVTControlCharacters(text)
      .split('\n')
      .map((line) => line.length),
  );
  const measures = table.columns.length - 1;
  if (widest <= width || measures < 2) return text;
  const middle = 1 + Math.ceil(measures / 2);
  const part = (from: number, to: number): ReportTable => ({
    columns: [table.columns[0] as TableColumn, ...table.columns.slice(from, to)],
    rows: table.rows.map((row) => [row[0] as string, ...row.slice(from, to)]),
  });
  return `${fitTable(part(1, middle), width, colors)}\n${fitTable(part(middle, measures + 1), width, colors)}`;
}

/** Stands after the median. */
const QUARTILES: ReportColumn = {
  key: 'q1Ns',
  title: 'quartiles',
  format: (_value, { q1Ns, q3Ns, units }) => `${significant(q1Ns / units)}–${significant(q3Ns / units)}`,
};

/**
 * A block of rows a measure, a row a name (query, variant, engine: whatever tells cells of one block size apart), a
 * column a block size. A measure that is the same whatever the query has one row an engine.
 */
function sideBySide(
  cells: readonly Cell[],
  sizes: readonly number[],
  columns: readonly ReportColumn[],
  naming: readonly string[],
): ReportTable {
  const rows: string[][] = [];
  for (const column of columns) {
    if (column.key === 'blockSize' || naming.includes(column.key)) continue;
    if (!isMeasure(cells, column)) continue;
    const line = (chosen: readonly Cell[]) =>
      sizes.map((size) => {
        const cell = chosen.find(({ blockSize }) => blockSize === size);
        return cell === undefined ? '' : text(column, cell);
      });
    const isCommon = sameForEachEngine(cells, column);
    const names = groupBy(cells, (cell) => (isCommon ? engineOf(cell, naming) : nameOf(cell, naming)));
    if (names.size === 1) {
      rows.push([column.title, ...line(cells)]);
      continue;
    }
    rows.push([column.title, ...sizes.map(() => '')]);
    for (const [name, chosen] of names) {
      const texts = line(chosen);
      if (texts.some((text) => text !== '')) rows.push([`  ${name}`, ...texts]);
    }
  }
  return {
    columns: [{ title: '' }, ...sizes.map((size) => ({ title: `${size >>> 10} kB`, align: 'right' as const }))],
    rows,
  };
}

/** One cell's figures below each other; what it is called, which may be long, is said before. */
function oneCell(cell: Cell, columns: readonly ReportColumn[]): ReportTable {
  const all = columns.flatMap((column) => (column.key === 'nsPerUnit' ? [column, QUARTILES] : [column]));
  const isName = ({ key }: ReportColumn) => typeof cell[key] === 'string';
  const lines = (chosen: readonly ReportColumn[]) =>
    chosen.map((column) => [column.title, text(column, cell)]).filter(([, value]) => value !== '');
  const heading = lines(all.filter(isName)).map((line) => line.join(' '));
  return {
    ...(heading.length === 0 ? {} : { heading: heading.join(', ') }),
    columns: [{ title: '' }, { title: 'measured' }],
    rows: lines(all.filter((column) => !isName(column))),
  };
}

function cellByCell(cells: readonly Cell[], columns: readonly ReportColumn[]): ReportTable {
  const texts = columns.map((column) => cells.map((cell) => text(column, cell)));
  const isSame = texts.map((values) => new Set(values).size === 1);
  const same = columns
    .map((column, i) => `${column.title} ${texts[i]?.[0]}`)
    .filter((_, i) => isSame[i] && texts[i]?.[0] !== '');
  const shown = columns.map((_, i) => i).filter((i) => !isSame[i]);
  return {
    ...(same.length === 0 ? {} : { heading: same.join(', ') }),
    columns: shown.map((i) => {
      const column = columns[i] as ReportColumn;
      return { title: column.title, align: isMeasure(cells, column) ? 'right' : 'left' };
    }),
    rows: cells.map((_, row) => shown.map((i) => texts[i]?.[row] as string)),
  };
}

/** The columns of text that differ between cells of one block size. */
function namingKeys(cells: readonly Cell[], columns: readonly ReportColumn[]): string[] {
  const keys = columns.map(({ key }) => key);
  return keys.filter((key) => {
    const values = new Set(cells.map((cell) => cell[key]));
    return (
      values.size > 1 &&
      [...values].every((value) => typeof value === 'string' || value === undefined || value === null)
    );
  });
}

function nameOf(cell: Cell, naming: readonly string[]): string {
  return naming.flatMap((key) => (cell[key] === undefined || cell[key] === null ? [] : [String(cell[key])])).join(', ');
}

function engineOf(cell: Cell, naming: readonly string[]): string {
  return naming.includes('engine') ? cell.engine : '';
}

function isMeasure(cells: readonly Cell[], { key }: ReportColumn): boolean {
  return key !== 'blockSize' && cells.some((cell) => typeof cell[key] === 'number');
}

/** Whether a measure depends on block size and engine alone. */
function sameForEachEngine(cells: readonly Cell[], { key }: ReportColumn): boolean {
  const groups = groupBy(cells, (cell) => `${cell.blockSize} ${cell.engine}`);
  return [...groups.values()].every((group) => group.every((cell) => cell[key] === group[0]?.[key]));
}

function groupBy(cells: readonly Cell[], key: (cell: Cell) => string): Map<string, Cell[]> {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) {
    const group = groups.get(key(cell));
    if (group === undefined) groups.set(key(cell), [cell]);
    else group.push(cell);
  }
  return groups;
}

const COMPACT = new Intl.NumberFormat('en-US', {
  notation: 'compact',
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** A cell's value in few characters: six of them stand beside each other in 80 columns. */
function text({ key, format }: ReportColumn, cell: Cell): string {
  const value = cell[key];
  if (value === undefined || value === null) return '';
  if (format !== undefined) return format(value, cell);
  if (typeof value !== 'number') return String(value);
  if (key === 'bytes') return formatBytes(value);
  if (Math.abs(value) >= 1_000_000) return COMPACT.format(value);
  return Number.isInteger(value) ? value.toLocaleString('en-US') : significant(value);
}
