// Every type's values, borders and random ones: our bytes are the server's, printed and ordered by it as by us; and texts
// that people write mean the same to both, or are refused by both with the same code.
import { readFileSync } from 'node:fs';
import { isStorageError } from '@blockwright/base';
import { table } from '@blockwright/engine';
import type { PostgresServer } from '@blockwright/peers';
import { type ColumnType, int4 } from '@blockwright/tuple';
import fc from 'fast-check';
import { afterAll, beforeAll, expect } from 'vitest';
import { createSql, describe, it, judgement, type OwnFiles, ownFiles, putInPlace, startOracle } from './oracle.ts';
import { difference } from './pages.ts';
import { firstDifference } from './rows.ts';
import { TYPE_CASES, type TypeCase } from './values.ts';

const RANDOM_VALUES = 300;
/** To repeat a run: `ORACLE_SEED=… vitest run test/values.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));

const cases = TYPE_CASES.map((one, number) => {
  const random = fc.sample(one.random, { numRuns: RANDOM_VALUES, seed: SEED });
  const values = [...one.borders, null, ...random, ...one.borders];
  return { ...one, name: one.type.sqlName, ours: `ours_${number}`, theirs: `theirs_${number}`, values };
});
const definitionOf = (type: ColumnType) => table('t', { i: int4(), v: type });

let server: PostgresServer;
const files: Record<string, OwnFiles> = {};
const theirFiles: Record<string, Uint8Array> = {};

function written(type: ColumnType, values: readonly unknown[]): OwnFiles {
  const definition = definitionOf(type);
  return ownFiles(definition, (database) => database.insert(definition, values.map((v, i) => ({ i, v })) as never[]));
}

const shown = (type: ColumnType, value: unknown): string => (value === null ? '\\N' : type.toText(value));

beforeAll(async () => {
  server = await startOracle();
  for (const { ours, theirs, type, values } of cases) {
    for (const name of [ours, theirs]) await server.query(createSql(name, definitionOf(type)));
    const texts = values.map((value) => (value === null ? null : type.toText(value)));
    const numbers = values.map((_, i) => i);
    await server.query(
      `INSERT INTO ${theirs} SELECT i, v::${type.sqlName} FROM unnest($1::int4[], $2::text[]) AS u (i, v)`,
      [numbers, texts],
    );
    files[ours] = written(type, values);
  }
  await server.query('CHECKPOINT');
  for (const { theirs } of cases) theirFiles[theirs] = readFileSync(await server.relationPath(theirs));
  await putInPlace(server, files);
}, 300_000);

afterAll(() => server?.close(), 60_000);

describe.each(cases)(`$name (seed ${SEED})`, ({ ours, theirs, type, values, texts }) => {
  it('is stored as the server stores what we print', async () => {
    expect(difference(files[ours].main, theirFiles[theirs], { flags: false })).toBeUndefined();
    expect(await judgement(server, ours)).toEqual([]);
  });

  it('is printed by the server as by us, and what it prints is read back to the same bytes', async () => {
    const rows = await server.query(
      `SELECT CASE WHEN v IS NULL THEN '\\N' ELSE format('%s', v) END AS text FROM ${ours} ORDER BY i`,
    );
    const printed = rows.map((row) => String(row.text));
    const expected = values.map((value) => shown(type, value));
    expect(firstDifference(expected, printed)).toBeUndefined();
    const readBack = printed.map((text, i) => (values[i] === null ? null : type.fromText(text)));
    expect(Buffer.compare(written(type, readBack).main, files[ours].main)).toBe(0);
  });

  it('is ordered by the server as by us', async () => {
    const rows = await server.query(`SELECT i FROM ${ours} ORDER BY v, i`);
    const byCompare = values.map((_, i) => i).sort((a, b) => type.compare(values[a], values[b]) || a - b);
    expect(rows.map((row) => row.i)).toEqual(byCompare);
  });

  it('is read from texts as the server reads them, or refused with the same code', async () => {
    const outcomes: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const text of texts) {
      outcomes[text] = ourReading(type, text);
      expected[text] = await theirReading(theirs, text);
    }
    expect(outcomes).toEqual(expected);
  });
});

describe.each(
  cases.flatMap(({ name, type, theirs, refused = [] }) => refused.map((text) => ({ name, type, theirs, text }))),
)('$name', ({ type, theirs, text }) => {
  it(`is not read from ${text}, a spelling that we leave out, though the server reads it`, async () => {
    expect(ourReading(type, text)).toBe('error 22P02');
    expect(await theirReading(theirs, text)).not.toBe('error 22P02');
  });
});

function ourReading(type: TypeCase['type'], text: string): string {
  try {
    return type.toText(type.fromText(text));
  } catch (error) {
    if (isStorageError(error)) return `error ${error.code}`;
    throw error;
  }
}

/** Codes of ours that stand for several of PostgreSQL's: bad hexadecimal digits of a bytea, a time zone out of range. */
const OUR_CODES: Readonly<Record<string, string>> = { '22023': '22P02', '22009': '22008' };

async function theirReading(name: string, text: string): Promise<string> {
  try {
    const [row] = await server.query(`INSERT INTO ${name} VALUES (-1, $1) RETURNING format('%s', v) AS text`, [text]);
    return String(row.text);
  } catch (error) {
    const { code } = error as { code: string };
    return `error ${OUR_CODES[code] ?? code}`;
  }
}
