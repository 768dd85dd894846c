// Tables for a terminal, and numbers as people read them.
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

/** A whole number with thousands apart: `1,234,567`. */
export function formatCount(value: number | bigint): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A size as PostgreSQL's `pg_size_pretty` shows it: the largest unit that leaves at least 10 of it. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 10240 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Math.round(value)} ${UNITS[unit] as string}`;
}

/** A time as people read it: `850 ms`, `12.3 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Breaks a line of words so that it fits the terminal; further lines begin with `indent`. */
export function wrapWords(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && line.length + 1 + word.length >= columns) {
      lines.push(line);
      line = indent + word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join('\n');
}
