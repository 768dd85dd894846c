// Maps that PostgreSQL servers of all six block sizes wrote, against what their own pg_visibility_map said.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { describe, expect, test } from 'vitest';
import { MemoryFork } from './memory-fork.ts';

const FIXTURES = new URL('../../../fixtures/pg/', import.meta.url);

interface Expected {
  readonly blkno: number;
  readonly all_visible: boolean;
  readonly all_frozen: boolean;
}

function tables(folder: string): string[] {
  return readdirSync(new URL(`${folder}/expect/`, FIXTURES))
    .filter((file) => file.endsWith('.visibility.jsonl'))
    .map((file) => file.slice(0, -'.visibility.jsonl'.length));
}

function mapOf(folder: string, table: string, g: BlockGeometry): { map: VisibilityMap; expected: Expected[] } {
  const relations = readFileSync(new URL(`${folder}/expect/relations.txt`, FIXTURES), 'utf8').split('\n');
  const path = relations.map((line) => line.split(' ')).find(([name]) => name === table)?.[2];
  const file = new URL(`${folder}/pgdata/${path}_vm`, FIXTURES);
  const fork = new MemoryFork(g, existsSync(file) ? new Uint8Array(readFileSync(file)) : undefined);
  const lines = readFileSync(new URL(`${folder}/expect/${table}.visibility.jsonl`, FIXTURES), 'utf8')
    .trim()
    .split('\n');
  const pool = new BufferPool({ geometry: g, buffers: 16 });
  return { map: new VisibilityMap({ pool, fork }), expected: lines.map((line) => JSON.parse(line) as Expected) };
}

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  const folder = `${size / 1024}k`;

  test.each(tables(folder))('%s: every block agrees, by look-up, by cursor, and in the count', (table) => {
    const { map, expected } = mapOf(folder, table, g);
    const cursor = map.cursor();
    const want = expected.map((e) => (e.all_visible ? 1 : 0) | (e.all_frozen ? 2 : 0));
    expect(expected.map((e) => map.status(e.blkno))).toEqual(want);
    expect(expected.map((e) => cursor.status(e.blkno))).toEqual(want);
    expect(expected.toReversed().map((e) => cursor.status(e.blkno))).toEqual(want.toReversed());
    cursor.close();
    expect(map.count()).toEqual({
      allVisible: expected.filter((e) => e.all_visible).length,
      allFrozen: expected.filter((e) => e.all_frozen).length,
    });
    expect(map.pool.stats.zeroed).toBe(0);
  });
});

test('crossing has a map of two pages', () => {
  const { map, expected } = mapOf('1k', 'crossing', BlockGeometry.of('1kB'));
  expect([map.blockCount(), expected.length > 4000]).toEqual([2, true]);
  expect(new Set(expected.slice(3990, 4010).map((e) => e.all_visible)).size).toBe(2);
});

test.each(BLOCK_SIZES)('setting the same bits at %i bytes gives the same pages, LSN and checksum aside', (size) => {
  const g = BlockGeometry.of(size);
  const folder = `${size / 1024}k`;
  for (const table of tables(folder)) {
    const { map, expected } = mapOf(folder, table, g);
    const fork = new MemoryFork(g);
    const pool = new BufferPool({ geometry: g, buffers: 16 });
    const ours = new VisibilityMap({ pool, fork });
    for (const e of expected) if (e.all_visible) ours.set(e.blkno, e.all_frozen ? 3 : 1);
    pool.close();
    for (const [block, page] of fork.pages) {
      const theirs = (map.fork as MemoryFork).pages.get(block) as Uint8Array;
      expect(page.subarray(10)).toEqual(theirs.subarray(10));
    }
  }
});
