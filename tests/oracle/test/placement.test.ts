// Rows of random widths, nulls and compressible values go to the pages where PostgreSQL puts them, by INSERT with its free
// space map and by COPY FREEZE: the same pages, byte for byte.
import { readFileSync } from 'node:fs';
import { type TableDef, table } from '@blockwright/engine';
import type { PostgresServer } from '@blockwright/peers';
import { int4, text } from '@blockwright/tuple';
import fc from 'fast-check';
import { afterAll, beforeAll, expect } from 'vitest';
import { createSql, describe, it, judgement, md5OfRows, ownFiles, putInPlace, startOracle } from './oracle.ts';
import { difference, pagesInUse } from './pages.ts';
import { eachBatch } from './rows.ts';

/** To repeat a run: `ORACLE_SEED=… vitest run test/placement.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
const COLUMNS = { id: int4(), note: text().nullable(), more: text().nullable() };

const TABLES = [
  { name: 'narrow', rows: 6000, widths: [0, 40] },
  { name: 'wide', rows: 1500, widths: [0, 1900] },
  { name: 'mixed', rows: 3000, widths: [0, 20, 300, 1900] },
  { name: 'compressed', rows: 400, widths: [10, 9000] },
].map(({ name, rows, widths }, number) => ({
  name,
  definition: table(name, COLUMNS),
  rows: made(rows, widths, number),
}));

type Row = { id: number; note: string | null; more: string | null };

/** Texts up to the widths, each as likely; above 1000 characters of few different words, so that they compress. */
function made(count: number, widths: readonly number[], number: number): Row[] {
  const words = fc.constantFrom('furiously ', 'final ', 'deposits ', 'x');
  const value = fc
    .tuple(
      fc.constantFrom(...widths).chain((most) => fc.nat(most)),
      words,
      fc.nat(25),
      fc.boolean(),
    )
    .map(([width, word, letter, repeats]) =>
      (repeats || width > 1000 ? word : `${word}${String.fromCharCode(97 + letter)}`).repeat(width).slice(0, width),
    );
  const row = fc.tuple(fc.option(value, { freq: 6 }), fc.option(value, { freq: 3 }));
  const rows = fc.sample(row, { numRuns: count, seed: SEED + number });
  return rows.map(([note, more], id) => ({ id, note, more }));
}

let server: PostgresServer;
const theirs: Record<string, Uint8Array> = {};
const own = Object.fromEntries(
  TABLES.flatMap(({ name, definition, rows }) => [
    [`${name}_inserted`, ownFiles(definition, (database) => database.insert(definition, rows))],
    [`${name}_loaded`, loaded(definition, rows)],
  ]),
);

function loaded(definition: TableDef<typeof COLUMNS>, rows: readonly Row[]) {
  return ownFiles(definition, (database) => {
    const staging = table('staging', COLUMNS);
    database.createTable(staging);
    database.insert(staging, rows);
    const scan = database.scan(staging, { columns: ['id', 'note', 'more'] });
    database.loadSync(definition, eachBatch(scan as never));
  });
}

beforeAll(async () => {
  server = await startOracle();
  for (const { name, definition, rows } of TABLES) {
    const columns = [rows.map(({ id }) => id), rows.map(({ note }) => note), rows.map(({ more }) => more)];
    await server.query(createSql(`${name}_selected`, definition));
    await server.query(
      `INSERT INTO ${name}_selected SELECT * FROM unnest($1::int4[], $2::text[], $3::text[])`,
      columns,
    );
    const file = `${server.dataDirectory}/${name}.copy`;
    await server.query(`COPY (SELECT * FROM ${name}_selected ORDER BY ctid) TO '${file}'`);
    await server.query(
      `BEGIN; ${createSql(`${name}_copied`, definition)}; COPY ${name}_copied FROM '${file}' (FREEZE true); COMMIT`,
    );
    for (const ours of ['inserted', 'loaded']) await server.query(createSql(`${name}_${ours}`, definition));
  }
  await server.query('CHECKPOINT');
  for (const { name } of TABLES) {
    for (const how of ['selected', 'copied']) {
      theirs[`${name}_${how}`] = readFileSync(await server.relationPath(`${name}_${how}`));
    }
  }
  await putInPlace(server, own);
}, 300_000);

afterAll(() => server?.close(), 60_000);

describe.each(TABLES)(`$name rows (seed ${SEED})`, ({ name }) => {
  it('inserted lie where INSERT puts them', async () => {
    expect(difference(own[`${name}_inserted`].main, theirs[`${name}_selected`], { flags: false })).toBeUndefined();
    expect(pagesInUse(theirs[`${name}_selected`])).toBeGreaterThan(3);
  });

  it('inserted leave the free space map that INSERT leaves', async () => {
    const map = (how: string) => server.query('SELECT blkno, avail FROM pg_freespace($1)', [`${name}_${how}`]);
    const expected = await map('selected');
    expect(await map('inserted')).toEqual(expected);
    if (name === 'wide' || name === 'mixed') expect(expected.some(({ avail }) => Number(avail) > 0)).toBe(true);
  });

  it('loaded lie where COPY FREEZE puts them, on pages marked as it marks them', () => {
    expect(difference(own[`${name}_loaded`].main, theirs[`${name}_copied`], { flags: true })).toBeUndefined();
  });

  it('are to the server what they were', async () => {
    const expected = await md5OfRows(server, `${name}_selected`, 'id');
    for (const how of ['inserted', 'loaded']) {
      expect(await md5OfRows(server, `${name}_${how}`, 'id')).toBe(expected);
      expect(await judgement(server, `${name}_${how}`)).toEqual([]);
    }
  });
});
