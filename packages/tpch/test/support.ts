// What several tests need: rows as text, and the md5 of a table.
import { createHash } from 'node:crypto';
import { type TextOptions, type TpchTableName, tableText } from '../src/index.ts';

/** All of a table's text, copied out of the lent chunks. */
export function textOf(table: TpchTableName, scale: number, options: TextOptions): string {
  let text = '';
  for (const chunk of tableText(table, scale, options)) text += Buffer.from(chunk).toString('latin1');
  return text;
}

export function md5Of(table: TpchTableName, scale: number, options: TextOptions): { bytes: number; md5: string } {
  const hash = createHash('md5');
  let bytes = 0;
  for (const chunk of tableText(table, scale, options)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, md5: hash.digest('hex') };
}

/** Whether the tests that take minutes are asked for. */
export const SLOW: boolean = process.env.BLOCKWRIGHT_SLOW === '1';
