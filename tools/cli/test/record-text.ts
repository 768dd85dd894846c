// A naive second way to the fixtures' md5 of rows: from CSV lines to PostgreSQL's text of a record, to a digest.
import { createHash } from 'node:crypto';

/** Reads CSV, one character at a time; null is the unquoted empty field. */
export function readCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let at = 0;
  while (at < text.length) {
    const row: (string | null)[] = [];
    for (;;) {
      let field = '';
      const quoted = text[at] === '"';
      if (quoted) {
        at++;
        while (text[at] !== '"' || text[at + 1] === '"') {
          if (text[at] === '"') at++;
          field += text[at++];
        }
        at++;
      } else {
        while (text[at] !== ',' && text[at] !== '\n') field += text[at++];
      }
      row.push(!quoted && field === '' ? null : field);
      if (text[at++] === '\n') break;
    }
    rows.push(row);
  }
  return rows;
}

/** PostgreSQL: `record_out`. */
function recordText(row: readonly (string | null)[]): string {
  const fields = row.map((field) => {
    if (field === null) return '';
    if (field !== '' && !/["\\(),\s]/.test(field)) return field;
    return `"${field.replace(/(["\\])/g, '$1$1')}"`;
  });
  return `(${fields.join(',')})`;
}

/** The md5 of `tables.jsonl`: the records as text, sorted bytewise, joined by line feeds. */
export function recordsMd5(rows: readonly (readonly (string | null)[])[]): string {
  const texts = rows.map((row) => Buffer.from(recordText(row)));
  texts.sort(Buffer.compare);
  return createHash('md5').update(texts.join('\n')).digest('hex');
}
