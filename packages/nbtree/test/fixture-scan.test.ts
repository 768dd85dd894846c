// Scans of indexes that PostgreSQL wrote, at all six block sizes, with its posting lists, deleted and emptied pages,
// against what its own bt_page_items and bt_page_stats said of them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { int4, int8, text } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { BtreeScan } from '../src/scan.ts';
import { BuildWorld, type WorldOptions } from './build-world.ts';
import { boundOf, drainTids, type Value } from './scan-model.ts';

const ROOT = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

interface Item {
  readonly block: number;
  readonly itemoffset: number;
  readonly data: string | null;
  readonly nulls: boolean;
  readonly dead: boolean | null;
  readonly htid: string | null;
  readonly tids: readonly string[] | null;
}

interface Stats {
  readonly blkno: number;
  readonly type: string;
  readonly btpo_prev: number;
  readonly btpo_next: number;
  readonly btpo_level: number;
  readonly btpo_flags: number;
}

function lines<T>(size: BlockSize, name: string): T[] {
  const bytes = gunzipSync(readFileSync(`${ROOT}${size / 1024}k/expect/${name}`));
  const all = bytes.toString('utf8').trim().split('\n');
  return all.map((line) => JSON.parse(line) as T);
}

/** The index as PostgreSQL left it, in a world of ours. */
function opened(size: BlockSize, name: string, options: WorldOptions): BuildWorld {
  const folder = `${ROOT}${size / 1024}k`;
  const line = readFileSync(`${folder}/expect/relations.txt`, 'utf8')
    .split('\n')
    .find((relation) => relation.startsWith(`${name} `));
  const bytes = readFileSync(`${folder}/pgdata/${line?.split(' ')[2]}`);
  const world = new BuildWorld(size, options);
  const { main } = world.index;
  main.zeroExtend(0, bytes.length / size);
  const { pool } = world;
  for (let block = 0; block < bytes.length / size; block++) {
    const id = pool.pinZeroed(main, block);
    pool.memory(id).u8.set(bytes.subarray(block * size, (block + 1) * size), pool.base(id));
    pool.markDirty(id);
    pool.unpin(id);
  }
  return world;
}

interface Entry {
  readonly key: Value;
  readonly tid: string;
}

/** What the leaves hold from left to right, as PostgreSQL's functions have it. */
function entriesOf(size: BlockSize, name: string, parse: (data: Buffer) => Value): Entry[] {
  const pages = new Map(lines<Stats>(size, `${name}.pages.jsonl.gz`).map((page) => [page.blkno, page]));
  const items = new Map<number, Item[]>();
  for (const item of lines<Item>(size, `${name}.items.jsonl.gz`)) {
    const page = items.get(item.block) ?? [];
    page.push(item);
    items.set(item.block, page);
  }
  const isFirst = (page: Stats): boolean =>
    page.btpo_level === 0 && page.btpo_prev === 0 && (page.btpo_flags & 5) === 1;
  const first = [...pages.values()].find(isFirst);
  const entries: Entry[] = [];
  for (let page = first; page !== undefined; page = pages.get(page.btpo_next)) {
    const hasHighKey = page.btpo_next !== 0;
    for (const item of items.get(page.blkno) ?? []) {
      if ((hasHighKey && item.itemoffset === 1) || item.dead === true) continue;
      const key = item.nulls ? null : parse(Buffer.from((item.data ?? '').replaceAll(' ', ''), 'hex'));
      for (const tid of item.tids ?? [item.htid as string]) entries.push({ key, tid });
    }
  }
  return entries;
}

const ASC = { descending: false, nullsFirst: false };
const indexes: Record<string, { options: WorldOptions; parse: (data: Buffer) => Value }> = {
  churn_pkey: { options: { columns: { id: int4() } }, parse: (data) => data.readInt32LE(0) },
  churn_k: { options: { columns: { k: int4().nullable() } }, parse: (data) => data.readInt32LE(0) },
  vacuumed_id: { options: { columns: { id: int8().nullable() } }, parse: (data) => data.readBigInt64LE(0) },
  vacuumed_grp: { options: { columns: { grp: int4().nullable() } }, parse: (data) => data.readInt32LE(0) },
  words_w: {
    options: { columns: { w: text().nullable() }, keys: [ASC] },
    parse: (data) => data.toString('utf8', 1, data[0] >> 1),
  },
  words_desc: {
    options: { columns: { n: int4().nullable() }, keys: [{ descending: true, nullsFirst: false }] },
    parse: (data) => data.readInt32LE(0),
  },
};

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  it.each(Object.keys(indexes))('%s is scanned as PostgreSQL laid it out', (name) => {
    const { options, parse } = indexes[name];
    const entries = entriesOf(size, name, parse);
    expect(entries.length).toBeGreaterThan(500);
    const world = opened(size, name, options);
    const { index } = world;
    const tids = entries.map(({ tid }) => tid);
    expect(drainTids(new BtreeScan(index))).toEqual(tids);
    expect(drainTids(new BtreeScan(index, { backward: true }))).toEqual(tids.toReversed());

    const keys = [...new Set(entries.map(({ key }) => key))];
    const step = Math.ceil(keys.length / 60);
    for (let i = 0; i < keys.length; i += step) {
      const bound = boundOf(world, [keys[i]]);
      const expected = entries.filter(({ key }) => key === keys[i]).map(({ tid }) => tid);
      expect(drainTids(new BtreeScan(index, { from: bound, to: bound }))).toEqual(expected);
      expect(drainTids(new BtreeScan(index, { in: [bound], backward: true }))).toEqual(expected.toReversed());
    }
    const points = keys.filter((_, i) => i % 3 === 0);
    const wanted = new Set(points);
    const among = entries.filter(({ key }) => wanted.has(key)).map(({ tid }) => tid);
    expect(drainTids(new BtreeScan(index, { in: points.map((key) => boundOf(world, [key])) }))).toEqual(among);
    expect(world.pool.pinned()).toEqual([]);
  });
});
