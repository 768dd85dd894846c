// Every page of every relation file that real servers wrote: checksums, headers, line pointers as they said them.
import { BlockGeometry } from '@blockwright/geometry';
import {
  findPageFaults,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  Page,
  PageFault,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
  pageSpecial,
  pageVerify,
} from '@blockwright/page';
import { describe, expect, it } from 'vitest';
import { expected, FIXTURE_SIZES, relationBytes, relations } from './fixtures.ts';

interface HeaderRow {
  block: number;
  lsn: string;
  checksum: number;
  flags: number;
  lower: number;
  upper: number;
  special: number;
  pagesize: number;
  version: number;
  prune_xid: string;
}
interface ItemRow {
  block: number;
  lp: number;
  lp_off: number;
  lp_flags: number;
  lp_len: number;
}
interface IndexRow {
  block: number;
  itemoffset: number;
  itemlen: number;
}

/** A B-tree's metapage and deleted pages keep no line pointers: btpo_flags, 12 bytes into the special space. */
function isMetaOrDeleted(m: PageMemory, base: number): boolean {
  return ((m.u16[(base + pageSpecial(m, base) + 12) >>> 1] as number) & 0b1100) !== 0;
}

describe.each(FIXTURE_SIZES)('files of a %s server', (size) => {
  const g = BlockGeometry.of(`${size}B` as `${number}kB`);

  it('has a right checksum and no finding on any page of any fork', () => {
    let pages = 0;
    for (const relation of relations(size)) {
      for (const fork of ['', '_vm', '_fsm']) {
        const bytes = relationBytes(size, relation.path + fork);
        if (bytes === undefined) continue;
        const m = pageMemory(bytes.buffer);
        for (let block = 0; block << g.shift < bytes.length; block++) {
          const base = block << g.shift;
          const name = `${relation.name}${fork} block ${block}`;
          expect(pageVerify(m, base, g, block, true), name).toBe(PageFault.none);
          const linePointers = relation.kind !== 'i' || !isMetaOrDeleted(m, base);
          findPageFaults(m, base, g, { block, checksum: true, linePointers }, (finding) => {
            if (finding.severity !== 'info') expect.fail(`${name}: ${finding.code} ${finding.message}`);
          });
          pages++;
        }
      }
    }
    expect(pages).toBeGreaterThan(100);
  });

  it('has the headers that page_header gave', () => {
    let compared = 0;
    for (const relation of relations(size)) {
      const rows = expected<HeaderRow>(size, `${relation.name}.page_header`);
      const bytes = relationBytes(size, relation.path) as Uint8Array;
      for (const row of rows ?? []) {
        const page = Page.view(bytes.subarray(row.block << g.shift, (row.block + 1) << g.shift));
        const { checksum, pruneXid, pageSize, ...header } = page.header;
        const { block, checksum: rowChecksum, prune_xid, pagesize, ...rest } = row;
        expect({ ...header }, `${relation.name} ${block}`).toEqual(rest);
        expect([pageSize, String(pruneXid)]).toEqual([pagesize, prune_xid]);
        if (rowChecksum !== 0) expect(checksum).toBe(rowChecksum & 0xffff);
        expect(page.checksum(block)).toBe(checksum);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(10);
  });

  it('has the line pointers that heap_page_items and bt_page_items gave', () => {
    let compared = 0;
    for (const relation of relations(size)) {
      const bytes = relationBytes(size, relation.path) as Uint8Array;
      const m = pageMemory(bytes.buffer);
      const counts = new Map<number, number>();
      for (const row of expected<ItemRow & IndexRow>(size, `${relation.name}.items`) ?? []) {
        const o = row.lp ?? row.itemoffset;
        const lp = linePointer(m, row.block << g.shift, o);
        counts.set(row.block, (counts.get(row.block) ?? 0) + 1);
        if (row.lp === undefined) expect(lpLength(lp)).toBe(row.itemlen);
        else expect([lpOffset(lp), lpFlags(lp), lpLength(lp)]).toEqual([row.lp_off, row.lp_flags, row.lp_len]);
        compared++;
      }
      for (const [block, count] of counts) expect(pageMaxOffset(m, block << g.shift)).toBe(count);
    }
    expect(compared).toBeGreaterThan(1000);
  });
});
