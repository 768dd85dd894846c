// Rows as lines of text: PostgreSQL's COPY text and CSV formats, and JSON Lines.
import { toJson } from './json.ts';

/** The formats of `dump`. */
export const ROW_FORMATS = ['csv', 'jsonl', 'copy'] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

/** What is printed of a column: its name, and its values as text. */
export interface PrintedColumn {
  readonly name: string;
  /** A value that is not null, as PostgreSQL prints it. */
  readonly toText: (value: unknown) => string;
}

/** Makes lines of rows; each ends with a line feed. */
export interface RowPrinter {
  readonly header: () => string;
  readonly row: (values: readonly unknown[]) => string;
}

export function rowPrinter(format: RowFormat, columns: readonly PrintedColumn[]): RowPrinter {
  if (format === 'jsonl') return jsonlPrinter(columns);
  const alone = columns.length === 1;
  const delimiter = format === 'csv' ? ',' : '\t';
  const nullText = format === 'csv' ? '' : '\\N';
  const field = format === 'csv' ? (text: string) => csvField(text, alone) : copyField;
  return {
    header: () => `${columns.map(({ name }) => field(name)).join(delimiter)}\n`,
    row(values) {
      let line = '';
      for (let i = 0; i < columns.length; i++) {
        if (i > 0) line += delimiter;
        const value = values[i];
        line += value === null ? nullText : field((columns[i] as PrintedColumn).toText(value));
      }
      return `${line}\n`;
    },
  };
}

function jsonlPrinter(columns: readonly PrintedColumn[]): RowPrinter {
  // Not through an object: its keys would not keep the columns' order where a name looks like a number.
  const keys = columns.map(({ name }, i) => `${i === 0 ? '' : ','}${JSON.stringify(name)}:`);
  return {
    header: () => '', // every line names its columns
    row(values) {
      let line = '{';
      for (let i = 0; i < keys.length; i++) line += (keys[i] as string) + toJson(values[i]);
      return `${line}}\n`;
    },
  };
}

const COPY_SPECIAL = /[\\\b\f\n\r\t\v]/g;
const COPY_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** A field of COPY's text format. PostgreSQL: `CopyAttributeOutText`, copyto.c. */
export function copyField(text: string): string {
  return text.replace(COPY_SPECIAL, (character) => COPY_ESCAPES[character] as string);
}

const CSV_SPECIAL = /[",\n\r]/;

/**
 * A field of COPY's CSV format. The empty text is quoted, because null is the empty field; so is a `\.` that would
 * stand alone on its line. PostgreSQL: `CopyAttributeOutCSV`, copyto.c.
 */
export function csvField(text: string, alone: boolean): string {
  if (text !== '' && !(alone && text === '\\.') && !CSV_SPECIAL.test(text)) return text;
  return `"${text.replaceAll('"', '""')}"`;
}
