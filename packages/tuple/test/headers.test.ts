// Header accessors against pageinspect's listing, and the byte pictures against the accessors.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';
import { fixtureTable, SIZES } from './fixtures.ts';

const listing = (size: string, name: string): Record<string, unknown>[] =>
  gunzipSync(readFileSync(new URL(`../../../fixtures/pg/${size}/expect/${name}.items.jsonl.gz`, import.meta.url)))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe.each(SIZES)('files of %s', (size) => {
  test.each(['types', 'churn', 'vacuumed', 'toasted', 'altered', 'nocols', 'words'])(
    '%s: every heap tuple header',
    (name) => {
      const { memory: m, tuples } = fixtureTable(size, name);
      const listed = listing(size, name).filter((item) => item.t_xmin !== null);
      expect(tuples.length).toBe(listed.length);
      tuples.forEach(({ pos, block, offset }, i) => {
        const item = listed[i];
        expect({
          block,
          lp: offset,
          t_xmin: String(t.tupleXmin(m, pos)),
          t_xmax: String(t.tupleXmax(m, pos)),
          t_field3: t.tupleCommandId(m, pos),
          t_ctid: `(${t.tupleCtidBlock(m, pos)},${t.tupleCtidOffset(m, pos)})`,
          t_infomask2: t.tupleInfomask2(m, pos),
          t_infomask: t.tupleInfomask(m, pos),
          t_hoff: t.tupleHoff(m, pos),
        }).toEqual({
          block: item.block,
          lp: item.lp,
          t_xmin: item.t_xmin,
          t_xmax: item.t_xmax,
          t_field3: item.t_field3,
          t_ctid: item.t_ctid,
          t_infomask2: item.t_infomask2,
          t_infomask: item.t_infomask,
          t_hoff: item.t_hoff,
        });
        expect(t.tupleHoff(m, pos)).toBe(
          t.heapHeaderBytes(t.tupleNatts(m, pos), (t.tupleInfomask(m, pos) & t.HEAP_HASNULL) !== 0),
        );
      });
    },
  );

  test.each(['words_w', 'words_desc', 'churn_k', 'vacuumed_id'])('%s: every index tuple header', (name) => {
    const { memory: m, tuples } = fixtureTable(size, name);
    const at = new Map(tuples.map((x) => [`${x.block} ${x.offset}`, x]));
    const listed = listing(size, name);
    expect(listed.length).toBeGreaterThan(10);
    for (const item of listed) {
      const { pos, length } = at.get(`${item.block} ${item.itemoffset}`) as { pos: number; length: number };
      const info = t.indexTupleInfo(m, pos);
      expect(`(${t.indexTupleBlock(m, pos)},${t.indexTupleOffset(m, pos)})`).toBe(item.ctid);
      expect(t.indexTupleSize(m, pos)).toBe(item.itemlen);
      expect(t.indexTupleSize(m, pos)).toBe(length);
      expect((info & t.INDEX_NULL_MASK) !== 0).toBe(item.nulls);
      expect((info & t.INDEX_VAR_MASK) !== 0).toBe(item.vars);
    }
  });
});

test('what is set is read back, block numbers up to the last', () => {
  const m = t.tupleMemory(new Uint8Array(64).fill(0xff));
  for (const block of [0, 1, 0x7fffffff, 0x80000000, 0xfffffffe]) {
    t.setTupleCtid(m, 16, block, 0xffff);
    t.setTupleXmin(m, 16, block);
    t.setTupleXmax(m, 16, 0xffffffff - block);
    t.setTupleCommandId(m, 16, block);
    t.setTupleInfomask(m, 16, t.HEAP_XMIN_FROZEN | t.HEAP_MOVED_IN);
    t.setTupleInfomask2(m, 16, t.HEAP_ONLY_TUPLE | 1600);
    expect([t.tupleCtidBlock(m, 16), t.tupleCtidOffset(m, 16)]).toEqual([block, 0xffff]);
    expect([t.tupleXmin(m, 16), t.tupleXmax(m, 16), t.tupleCommandId(m, 16)]).toEqual([
      block,
      0xffffffff - block,
      block,
    ]);
    expect(t.tupleInfomask(m, 16)).toBe(0x8300);
    expect([t.tupleInfomask2(m, 16), t.tupleNatts(m, 16)]).toEqual([0x8000 | 1600, 1600]);
    t.setIndexTupleTid(m, 48, block, 7);
    t.setIndexTupleInfo(m, 48, t.INDEX_NULL_MASK | 24);
    expect([t.indexTupleBlock(m, 48), t.indexTupleOffset(m, 48), t.indexTupleSize(m, 48)]).toEqual([block, 7, 24]);
    expect(t.indexTupleDataOffset(t.indexTupleInfo(m, 48))).toBe(16);
  }
});

test('the flags mean what PostgreSQL says', () => {
  expect(t.isXmaxLockOnly(t.HEAP_XMAX_LOCK_ONLY)).toBe(true);
  expect(t.isXmaxLockOnly(t.HEAP_XMAX_EXCL_LOCK)).toBe(true); // as before 9.3
  expect(t.isXmaxLockOnly(t.HEAP_XMAX_IS_MULTI | t.HEAP_XMAX_EXCL_LOCK)).toBe(false);
  expect(t.isXmaxLockOnly(t.HEAP_XMAX_KEYSHR_LOCK)).toBe(false);
  expect(t.isXminFrozen(t.HEAP_XMIN_COMMITTED)).toBe(false);
  expect(t.isXminFrozen(0x0300)).toBe(true);
  expect(t.isHotUpdated(0, t.HEAP_HOT_UPDATED)).toBe(true);
  expect(t.isHotUpdated(t.HEAP_XMAX_INVALID, t.HEAP_HOT_UPDATED)).toBe(false);
  expect(t.isHotUpdated(t.HEAP_XMIN_INVALID, t.HEAP_HOT_UPDATED)).toBe(false);
  expect(t.isHotUpdated(t.HEAP_XMIN_FROZEN, t.HEAP_HOT_UPDATED)).toBe(true);
  expect(t.isHeapOnly(t.HEAP_ONLY_TUPLE)).toBe(true);
});

/** The field table in a source file's opening comment: name, byte, bytes. */
function fieldTable(file: string): string[][] {
  const source = readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8');
  return source
    .split('\n')
    .filter((line) => /^\/\/ {3}\| (t_| {7}\| {6}\| \d)/.test(line))
    .map((line) =>
      line
        .slice(3)
        .split('|')
        .slice(1, 4)
        .map((cell) => cell.trim()),
    )
    .filter(([, byte]) => /^\d*$/.test(byte));
}

test('the field table of heap-header.ts is what the accessors read', () => {
  const accessors: Record<string, (m: t.TupleMemory, pos: number) => number> = {
    t_xmin: t.tupleXmin,
    t_xmax: t.tupleXmax,
    t_cid: t.tupleCommandId,
    t_ctid: t.tupleCtidBlock,
    t_infomask2: t.tupleInfomask2,
    t_infomask: t.tupleInfomask,
    t_hoff: t.tupleHoff,
  };
  const fields = fieldTable('heap-header.ts');
  expect(fields.map(([name]) => name)).toEqual([...Object.keys(accessors), 't_bits']);
  for (const [name, byte, bytes] of fields.slice(0, -1)) {
    const touched: number[] = [];
    for (let b = 0; b < 23; b++) {
      const raw = new Uint8Array(24);
      raw[b] = 1;
      const m = t.tupleMemory(raw);
      if (accessors[name](m, 0) !== 0 || (name === 't_ctid' && t.tupleCtidOffset(m, 0) !== 0)) touched.push(b);
    }
    expect([name, touched]).toEqual([name, Array.from({ length: Number(bytes) }, (_, i) => Number(byte) + i)]);
  }
  expect(Number(fields.at(-1)?.[1])).toBe(t.HEAP_TUPLE_HEADER_BYTES);
});

test('the field table of index-header.ts is what the accessors and masks read', () => {
  const [tid, ...info] = fieldTable('index-header.ts');
  expect(tid).toEqual(['t_tid', '0', '48']);
  const touched: number[] = [];
  for (let b = 0; b < 8; b++) {
    const raw = new Uint8Array(8);
    raw[b] = 1;
    const m = t.tupleMemory(raw);
    if (t.indexTupleBlock(m, 0) !== 0 || t.indexTupleOffset(m, 0) !== 0) touched.push(b);
    expect(t.indexTupleInfo(m, 0) !== 0).toBe(b === Number(info[0][1]) || b === Number(info[0][1]) + 1);
  }
  expect(touched).toEqual([0, 1, 2, 3, 4, 5]);
  const masks = [t.INDEX_NULL_MASK, t.INDEX_VAR_MASK, t.INDEX_AM_RESERVED_BIT, t.INDEX_SIZE_MASK];
  expect(info.map(([, , bits]) => bits)).toEqual(['15', '14', '13', '12..0']);
  expect(masks).toEqual([1 << 15, 1 << 14, 1 << 13, (1 << 13) - 1]);
});
