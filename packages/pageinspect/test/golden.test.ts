// Every page header, line pointer, tuple header, map bit and free space entry that PostgreSQL's own tools listed of the
// files of six servers.
import { createHash } from 'node:crypto';
import { BlockGeometry } from '@blockwright/geometry';
import { pageMemory } from '@blockwright/page';
import { bytesSource, detectBlockSize, type HeapItemRecord, inspectRelation, pageKind } from '@blockwright/pageinspect';
import { describe, expect, it } from 'vitest';
import { expected, FIXTURE_SIZES, relationBytes, relations } from './fixtures.ts';

type Row = Record<string, unknown> & { block: number };

function withMd5({ t_data, ...item }: HeapItemRecord): object {
  const bytes = t_data === null ? null : Buffer.from(t_data.slice(2), 'hex');
  return { ...item, t_data_md5: bytes === null ? null : createHash('md5').update(bytes).digest('hex') };
}

describe.each(FIXTURE_SIZES)('files of a %s server', (size) => {
  const geometry = BlockGeometry.of(`${size}B` as `${number}kB`);
  const files = relations(size);
  const mainFork = (path: string): Uint8Array => relationBytes(size, path) as Uint8Array;

  it('have the headers that page_header gave', () => {
    let pages = 0;
    for (const { name, path } of files) {
      const rows = expected<Row>(size, `${name}.page_header`);
      if (rows === undefined) continue;
      const records = [...inspectRelation(mainFork(path), { geometry, checksums: true })];
      expect(records.map(({ block, note, kind }) => [block, note, kind])).toEqual(
        rows.map((r) => [r.block, '', 'heap']),
      );
      // Not written yet when the server was asked: the checksum was 0 then.
      const headers = records.map(({ block, header }, i) => ({ block, ...header, checksum: rows[i]?.checksum }));
      expect(headers, name).toEqual(rows);
      pages += rows.length;
    }
    expect(pages).toBeGreaterThan(10);
  });

  it('have the items that heap_page_items gave', () => {
    let items = 0;
    for (const { name, path, kind } of files) {
      const rows = kind === 'i' ? undefined : expected<Row>(size, `${name}.items`);
      if (rows === undefined) continue;
      const records = [...inspectRelation(mainFork(path), { geometry })].flatMap((page) =>
        (page.items as HeapItemRecord[]).map((item) => ({ block: page.block, ...withMd5(item) })),
      );
      same(records, rows);
      items += rows.length;
    }
    expect(items).toBeGreaterThan(1000);
  });

  it('have the map bits and the free space that pg_visibility_map and pg_freespace gave', () => {
    let blocks = 0;
    for (const { name, path } of files) {
      const heapBlocks = mainFork(path).length >>> geometry.shift;
      for (const [fork, list] of [
        ['vm', 'visibility'],
        ['fsm', 'freeSpace'],
      ] as const) {
        const rows = expected<Row>(size, `${name}.${list.toLowerCase()}`);
        if (rows === undefined) continue;
        const bytes = relationBytes(size, `${path}_${fork}`) as Uint8Array;
        const pages = [...inspectRelation(bytes, { geometry, fork, heapBlocks, checksums: true })];
        expect(pages.every((page) => page.note === '' || page.kind === 'new')).toBe(true);
        const records = new Map(pages.flatMap((page) => (page[list] ?? []).map((record) => [record.blkno, record])));
        same(
          rows.map((row) => records.get(row.blkno as number) ?? absent(list, row.blkno as number)),
          rows,
        );
        blocks += rows.length;
      }
    }
    expect(blocks).toBeGreaterThan(20);
  });

  it('of indexes are said to be no plain heap pages, and those of tables are', () => {
    for (const { path, kind } of files) {
      const bytes = mainFork(path);
      if (kind !== 'i') {
        const m = pageMemory(bytes.buffer);
        const kinds = new Set<string>();
        for (let base = 0; base < bytes.length; base += geometry.size) kinds.add(pageKind(m, base, geometry));
        expect([...kinds].filter((k) => k !== 'heap' && k !== 'new')).toEqual([]);
        continue;
      }
      const pages = [...inspectRelation(bytes, { geometry, checksums: true })];
      expect(pages[0]?.note).toBe("not a plain heap page: a B-tree's metapage");
      const odd = pages.find(
        (page) => page.kind !== 'btree' || !/^not a plain heap page: a B-tree's [^;]*$/.test(page.note),
      );
      expect(odd).toBe(undefined);
    }
  });

  it('of indexes have the pages and items that bt_metap, bt_page_stats and bt_page_items gave', () => {
    let items = 0;
    let lists = 0;
    for (const { name, path, kind } of files) {
      const meta = kind === 'i' ? expected<object>(size, `${name}.meta`) : undefined;
      if (meta === undefined) continue;
      const pages = [...inspectRelation(mainFork(path), { geometry, checksums: true })];
      expect(pages.flatMap((page) => (page.metap === undefined ? [] : [page.metap]))).toEqual(meta);
      const stats = pages.slice(1).map((page) => page.stats);
      same(stats, expected<Row>(size, `${name}.pages`) ?? []);
      const rows = expected<Row>(size, `${name}.items`); // PostgreSQL was not asked for those of the largest
      if (rows === undefined) continue;
      const records = pages.flatMap((page) => (page.items ?? []).map((item) => ({ block: page.block, ...item })));
      same(records, rows);
      items += rows.length;
      lists += rows.filter((row) => row.tids !== null).length;
    }
    expect(items).toBeGreaterThan(3000);
    expect(lists).toBeGreaterThan(100);
  });

  it('tell their block size themselves, every one', () => {
    for (const { path } of files) {
      for (const fork of ['', '_vm', '_fsm']) {
        const bytes = relationBytes(size, path + fork);
        if (bytes === undefined || bytes.length === 0) continue;
        expect(detectBlockSize(bytesSource(bytes))?.blockSize, path + fork).toBe(geometry.size);
      }
    }
  });
});

/** Thousands of records compared as their JSON, which is quick; the first that differs is then shown. */
function same(actual: readonly unknown[], wanted: readonly unknown[]): void {
  const different = wanted.findIndex((row, i) => JSON.stringify(actual[i]) !== JSON.stringify(row));
  if (different >= 0) expect(actual[different]).toEqual(wanted[different]);
  expect([different, actual.length]).toEqual([-1, wanted.length]);
}

/** What a block beyond the map's end counts for. */
function absent(list: 'visibility' | 'freeSpace', blkno: number): object {
  return list === 'visibility' ? { blkno, all_visible: false, all_frozen: false } : { blkno, avail: 0 };
}
