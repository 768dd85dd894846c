// The judges judge: each fault planted in a file of ours is found by the server's tools that the other tests rely on.
import { table } from '@blockwright/engine';
import { BlockGeometry } from '@blockwright/geometry';
import {
  linePointer,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  pageMemory,
  pageSetChecksum,
  setLinePointer,
} from '@blockwright/page';
import type { PostgresServer } from '@blockwright/peers';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_FROZEN,
  int4,
  setTupleInfomask,
  setTupleXmax,
  setTupleXmin,
  text,
  tupleInfomask,
} from '@blockwright/tuple';
import { afterAll, beforeAll, expect } from 'vitest';
import {
  createSql,
  it,
  judgement,
  md5OfRows,
  type OwnFiles,
  ownFiles,
  putInPlace,
  SERVER_BLOCK_SIZE,
  startOracle,
} from './oracle.ts';
import { difference } from './pages.ts';
import { eachBatch } from './rows.ts';

const GEOMETRY = BlockGeometry.of(SERVER_BLOCK_SIZE);
const DEFINITION = table('t', { id: int4(), note: text() });
const BLOCK = 2;
const OFFSET = 5;

let server: PostgresServer;
let sound: OwnFiles;
const planted: Record<string, OwnFiles> = {};

/** A copy of the sound files with a fault in one tuple, its page's checksum right again unless it shall not be. */
function plant(name: string, change: (m: PageMemory, pos: number, base: number) => void, checksum = true): void {
  const m = pageMemory(new Uint8Array(sound.main).buffer);
  const base = BLOCK * SERVER_BLOCK_SIZE;
  change(m, base + lpOffset(linePointer(m, base, OFFSET)), base);
  if (checksum) pageSetChecksum(m, base, GEOMETRY, BLOCK);
  planted[name] = { ...sound, main: m.u8 };
}

beforeAll(async () => {
  server = await startOracle();
  sound = ownFiles(DEFINITION, (database) => {
    const staging = table('staging', DEFINITION.columns);
    database.createTable(staging);
    database.insert(
      staging,
      Array.from({ length: 2000 }, (_, id) => ({ id, note: `note ${id}` })),
    );
    database.loadSync(DEFINITION, eachBatch(database.scan(staging, { columns: ['id', 'note'] }) as never));
  });
  planted.sound = sound;
  plant('value_bit', (m, pos) => (m.u8[pos + 24] ^= 1));
  plant('value_bit_by_disk', (m, pos) => (m.u8[pos + 24] ^= 1), false);
  plant('short_item', (m, _pos, base) => {
    const lp = linePointer(m, base, OFFSET);
    setLinePointer(m, base, OFFSET, makeLinePointer(lpOffset(lp), 1, lpLength(lp) - 4));
  });
  plant('many_attributes', (m, pos) => (m.u8[pos + 18] = 9));
  plant('not_frozen', (m, pos) => {
    setTupleXmin(m, pos, 700);
    setTupleInfomask(m, pos, tupleInfomask(m, pos) & ~(HEAP_XMIN_FROZEN & 0x200));
  });
  plant('deleted', (m, pos) => {
    setTupleXmax(m, pos, 700);
    setTupleInfomask(m, pos, (tupleInfomask(m, pos) & ~HEAP_XMAX_INVALID) | HEAP_XMAX_COMMITTED);
  });
  const map = new Uint8Array(sound.vm as Uint8Array);
  map[24] ^= 0x30; // the bits of block 2, and no right checksum
  planted.map_by_disk = { ...sound, vm: map };
  for (const name of Object.keys(planted)) await server.query(createSql(name, DEFINITION));
  await putInPlace(server, planted);
}, 120_000);

afterAll(() => server?.close(), 60_000);

it('nothing is found in the sound file', async () => {
  expect(await judgement(server, 'sound')).toEqual([]);
});

it('a changed bit of a value changes the md5 of the rows, and is a difference between the files', async () => {
  expect(await judgement(server, 'value_bit')).toEqual([]); // no checker can know what was meant
  expect(await md5OfRows(server, 'value_bit', 'id')).not.toBe(await md5OfRows(server, 'sound', 'id'));
  expect(difference(planted.value_bit.main, sound.main, { flags: true })).toMatch(/^page 2, byte \d+$/);
  expect(difference(sound.main, sound.main, { flags: true })).toBeUndefined();
});

it('a bit changed on the disk is refused: the checksum is verified', async () => {
  await expect(md5OfRows(server, 'value_bit_by_disk', 'id')).rejects.toMatchObject({ code: 'XX001' });
  await expect(judgement(server, 'value_bit_by_disk')).rejects.toMatchObject({ code: 'XX001' });
});

it.each(['short_item', 'many_attributes'])('verify_heapam finds %s', async (name) => {
  expect((await judgement(server, name)).join('\n')).toMatch(new RegExp(`verify_heapam \\(${BLOCK},${OFFSET}\\)`));
});

it('a row that is not frozen on a page that the map says is, is found', async () => {
  expect((await judgement(server, 'not_frozen')).join('\n')).toContain(`pg_check_frozen (${BLOCK},${OFFSET})`);
});

it('a deleted row on a page that the map says is all-visible is found', async () => {
  expect((await judgement(server, 'deleted')).join('\n')).toContain(`pg_check_visible (${BLOCK},${OFFSET})`);
});

it('a damaged map page is not believed', async () => {
  const bits = async (name: string) =>
    (await server.query('SELECT count(*)::int4 AS n FROM pg_visibility_map($1) WHERE all_visible', [name]))[0].n;
  expect(await bits('sound')).toBeGreaterThan(5);
  expect(await bits('map_by_disk')).toBe(0);
});
