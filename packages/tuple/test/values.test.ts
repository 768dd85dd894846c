// Each text that a real PostgreSQL took or refused: the same value, the same bytes, the same SQLSTATE.

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { isStorageError } from '@blockwright/base';
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';

interface Listed {
  type: string;
  input: string;
  text?: string;
  data?: string;
  code?: string;
  message?: string;
}
const listed: Listed[] = gunzipSync(readFileSync(new URL('golden/values.jsonl.gz', import.meta.url)))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

// Codes that StorageError does not have: the nearest stands for them.
const CODES: Record<string, string> = { '22023': '22P02', '22009': '22008' };

function typeNamed(sqlName: string): t.ColumnType {
  const [, name, parameters] = /^(\w+)(?:\((.*)\))?$/.exec(sqlName) as RegExpExecArray;
  const numbers = parameters === undefined ? [] : parameters.split(',').map(Number);
  const make = (t as unknown as Record<string, (...numbers: number[]) => t.ColumnType>)[name];
  return make(...numbers);
}

function outcome(run: () => unknown): string {
  try {
    return `value ${String(run())}`;
  } catch (error) {
    return isStorageError(error) ? error.code : String(error);
  }
}

describe.each([...new Set(listed.map((v) => v.type))])('%s', (sqlName) => {
  const type = typeNamed(sqlName);
  const mine = listed.filter((v) => v.type === sqlName);
  const descriptor = t.TupleDescriptor.of([{ name: 'x', type }]);
  const rows = t.RowDecoder.for(descriptor);

  test('what PostgreSQL takes: its text and its bytes', () => {
    const out = new Uint8Array(80_000);
    const m = t.tupleMemory(out);
    for (const { input, text, data } of mine) {
      if (text === undefined) continue;
      const value = type.fromText(input);
      const shown = sqlName === 'bool' ? (value ? 'true' : 'false') : type.toText(value);
      // char(n)::text loses its blanks.
      expect([input, sqlName.startsWith('char(') ? shown.replace(/ +$/, '') : shown]).toEqual([input, text]);
      const length = t.TupleEncoder.for(descriptor).encode([value], out, 0);
      expect([input, Buffer.from(out.subarray(24, length)).toString('hex')]).toEqual([input, data]);
      expect(type.toText(rows.array(m, 0, length)[0])).toBe(type.toText(value));
      expect(type.compare(rows.array(m, 0, length)[0], value)).toBe(0);
    }
  });

  test('what PostgreSQL refuses: its SQLSTATE', () => {
    for (const { input, code, message } of mine) {
      if (code === undefined) continue;
      const wanted = CODES[code] ?? code;
      expect([input, outcome(() => type.fromText(input)), message]).toEqual([input, wanted, message]);
    }
  });
});
