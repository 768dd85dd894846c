// Tables for a terminal. The library behind them takes a while to load: commands import this file when they print one.
import { getBorderCharacters, table } from 'table';
import type { Colors } from './colors.ts';
import { printable } from './errors.ts';

/** One column of a printed table. */
export interface TableColumn {
  readonly title: string;
  /** Numbers go to the right. Left when not given. */
  readonly align?: 'left' | 'right';
}

/** The rows as lines of text under a header: no frame, columns two blanks apart. Cells are made safe for a terminal. */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly (string | number | undefined)[])[],
  colors: Colors,
): string {
  const last = columns.length - 1;
  const header = columns.map((column) => colors.bold(column.title));
  const body = rows.map((row) => columns.map((_, i) => (row[i] === undefined ? '' : printable(String(row[i])))));
  const text = table([header, ...body], {
    border: {
      ...getBorderCharacters('void'),
      joinBody: '─',
      joinJoin: '──',
    },
    columns: columns.map((column, i) => ({
      alignment: column.align ?? 'left',
      paddingLeft: 0,
      paddingRight: i === last ? 0 : 2,
    })),
    drawVerticalLine: () => false,
    drawHorizontalLine: (index) => index === 1,
  });
  // A left-aligned last column is padded to its width: blanks at a line's end help nobody.
  return text.replace(/[ ]+$/gm, '');
}
