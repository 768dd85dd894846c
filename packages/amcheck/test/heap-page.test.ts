// Faults of single heap pages, one at a time, each found once and by its own name.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { pageSetAllVisible, pageSetFlags } from '@blockwright/page';
import {
  HEAP_HOT_UPDATED,
  HEAP_ONLY_TUPLE,
  HEAP_UPDATED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_EXCL_LOCK,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMAX_LOCK_ONLY,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  setTupleInfomask2,
  type TupleHeader,
} from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import {
  ABORTED,
  codesOf,
  commitLogVfs,
  makeFates,
  NEVER_ENDED,
  PLAIN,
  type TestPage,
  TestRelation,
} from './relation.ts';

const UPDATED_HOT = { xmax: 1600, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_COMMITTED, infomask2: HEAP_HOT_UPDATED };
const NEW_VERSION = { xmin: 1600, infomask: PLAIN | HEAP_UPDATED, infomask2: HEAP_ONLY_TUPLE };

describe.each(BLOCK_SIZES)('a heap page of %i bytes', (size) => {
  /** What is found on a page that `build` made. */
  const found = (build: (page: TestPage) => void, rows = 0): string[] => {
    const relation = new TestRelation(size);
    const page = relation.page(0, rows);
    build(page);
    return codesOf(relation.write([page]).check());
  };

  it('is fine as it was made, and is counted', () => {
    const relation = new TestRelation(size);
    const { findings, summaries } = relation.write([relation.page(0), relation.page(1, 5)]).check();
    expect(findings).toEqual([]);
    expect(summaries).toEqual([
      {
        file: '1000',
        fork: 'main',
        segment: 0,
        kind: 'heap',
        pages: 2,
        zeroPages: 0,
        checksums: 2,
        linePointers: 8,
        tuples: 8,
        decodedTuples: 8,
        judgedTuples: 0,
        indexTuples: 0,
        heldEntries: 0,
        hotChains: 0,
        hotLinks: 0,
        mapBits: 0,
        errors: 0,
        warnings: 0,
      },
    ]);
  });

  it('has line pointers of each bad kind: one finding each, and the good ones are still looked at', () => {
    const relation = new TestRelation(size);
    const page = relation.page(0, 9);
    const { geometry } = relation;
    const length = 40;
    page.line(1, 0, 2, 0); // redirect to 0
    page.line(2, 2047, 2, 0); // redirect beyond the last
    page.line(3, page.tuple(3) + 1, 1, length); // unaligned
    page.line(4, page.tuple(4), 1, 20); // shorter than a tuple header
    page.line(5, geometry.size - 8, 1, length); // past the page's end
    page.line(6, 24, 1, length); // over the line pointers
    page.line(8, page.tuple(7), 1, length); // over another's item
    page.memory.u32[page.tuple(9) >> 2] = 3; // and the ninth tuple is older than its table
    const { findings } = relation.write([page]).check();
    const heap = (code: string, offsetNumber: number) =>
      expect.objectContaining({ code: `heap.${code}`, severity: 'error', file: '1000', block: 0, offsetNumber });
    expect(findings).toEqual([
      heap('line_pointer.redirect_out_of_range', 1),
      heap('line_pointer.redirect_out_of_range', 2),
      heap('line_pointer.misaligned', 3),
      heap('line_pointer.too_short', 4),
      heap('line_pointer.beyond_special', 5),
      heap('line_pointer.overlaps_line_pointers', 6),
      heap('line_pointer.overlap', 8),
      heap('tuple.xmin.before_oldest', 9),
    ]);
  });

  it('has a dead line pointer with an item, or one that leads to itself, to another redirect, to nothing', () => {
    expect(found((page) => page.line(2, page.tuple(2), 3, 40), 3)).toEqual(['heap.line_pointer.dead_with_item 2']);
    const lines = found((page) => {
      page.addRedirect(1);
      page.addRedirect(1);
      page.addRedirect(4);
      page.addUnused();
    });
    expect(lines).toEqual([
      'heap.line_pointer.redirect_to_itself 1',
      'heap.line_pointer.redirect_to_redirect 2',
      'heap.line_pointer.redirect_to_unused 3',
    ]);
  });

  it('has a tuple that no line pointer leads to, or pd_upper elsewhere than at the lowest', () => {
    expect(found((page) => (page.memory.u16[6] -= 4), 3)).toEqual(['heap.items.gap']);
    expect(found((page) => (page.memory.u16[7] -= 8), 3)).toEqual(['heap.items.gap']);
    expect(found((page) => page.line(2, 0, 0, 0), 3)).toContain('heap.items.gap');
  });

  it('has unused line pointers that its flag does not tell of: worth a word', () => {
    const relation = new TestRelation(size);
    const page = relation.page(0, 0);
    page.add();
    page.addUnused();
    pageSetFlags(page.memory, 0, 0);
    expect(relation.write([page]).check().findings).toEqual([
      expect.objectContaining({ code: 'heap.header.free_lines_not_hinted', severity: 'info' }),
    ]);
  });

  it('calls itself new and is not', () => {
    expect(found((page) => (page.memory.u16[7] = 0), 3)).toEqual(['page.header.new_but_not_zero']);
  });

  it('has a pd_prune_xid that never was', () => {
    expect(found((page) => (page.memory.u32[5] = 1999), 3)).toEqual([]);
    expect(found((page) => (page.memory.u32[5] = 2000), 3)).toEqual(['heap.header.prune_xid']);
    expect(found((page) => (page.memory.u32[5] = 1), 3)).toEqual(['heap.header.prune_xid']);
  });

  it('has an LSN from beyond the end of the WAL, up to the largest', () => {
    const lsn = (high: number, low: number) =>
      found((page) => {
        page.memory.u32[0] = high;
        page.memory.u32[1] = low;
      }, 3);
    expect(lsn(5, 0)).toEqual([]);
    expect(lsn(5, 8)).toEqual(['page.lsn_in_future']);
    expect(lsn(4, 4)).toEqual(['page.lsn_misaligned']);
    const relation = new TestRelation(size);
    const page = relation.page();
    page.memory.u32[0] = 0xffff_ffff;
    page.memory.u32[1] = 0xffff_fff8;
    expect(relation.write([page]).check().findings[0]?.message).toContain('FFFFFFFF/FFFFFFF8');
  });

  it('has more line pointers than a heap page can', () => {
    const codes = found((page) => {
      for (let i = 0; i <= page.geometry.maxHeapTuplesPerPage; i++) page.addUnused();
    });
    expect(codes).toEqual(['heap.header.too_many_line_pointers']);
  });

  describe('a tuple', () => {
    it('has an xmin or xmax that cannot be: a message of its own each', () => {
      const xmin = (xid: number) => found((page) => page.add({ xmin: xid }));
      expect(xmin(2)).toEqual([]);
      expect(xmin(0)).toEqual([]);
      expect(xmin(1000)).toEqual([]);
      expect(xmin(999)).toEqual(['heap.tuple.xmin.before_relation 1']);
      expect(xmin(699)).toEqual(['heap.tuple.xmin.before_oldest 1']);
      expect(xmin(2000)).toEqual(['heap.tuple.xmin.in_future 1']);
      expect(xmin(2000 + 0x8000_0001)).toEqual(['heap.tuple.xmin.before_oldest 1']); // only modulo 2^32
      const frozen = found((page) => page.add({ xmin: 4_000_000_000, infomask: HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID }));
      expect(frozen).toEqual([]);
      const xmax = (xid: number) => found((page) => page.add({ xmax: xid, infomask: HEAP_XMIN_COMMITTED }));
      expect(xmax(1999)).toEqual([]);
      expect(xmax(2000)).toEqual(['heap.tuple.xmax.in_future 1']);
      expect(xmax(999)).toEqual(['heap.tuple.xmax.before_relation 1']);
      expect(xmax(699)).toEqual(['heap.tuple.xmax.before_oldest 1']);
      expect(xmax(2)).toEqual(['heap.tuple.xmax.special 1']);
    });

    it('has an old xmin in the first epoch of a young cluster: no false alarm', () => {
      const relation = new TestRelation(size);
      const page = relation.page(0, 0);
      page.add({ xmin: 4_294_967_290 });
      const xids = { next: 100, nextEpoch: 0, oldest: 3 };
      expect(relation.write([page]).check({ xids }).findings).toEqual([]);
      expect(codesOf(relation.check({ xids: { ...xids, oldest: 4 } }))).toEqual(['heap.tuple.xmin.before_oldest 1']);
      const wrapped = { next: 100, nextEpoch: 1, oldest: 4_294_967_000 };
      expect(relation.check({ xids: wrapped }).findings).toEqual([]);
    });

    it('has a multixact from the future, from before the oldest, or none', () => {
      const multi = (id: number) =>
        found((page) =>
          page.add({ xmax: id, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_IS_MULTI | HEAP_XMAX_LOCK_ONLY }),
        );
      expect(multi(49)).toEqual([]);
      expect(multi(50)).toEqual(['heap.tuple.xmax.in_future 1']);
      expect(multi(19)).toEqual(['heap.tuple.xmax.before_relation 1']);
      expect(multi(9)).toEqual(['heap.tuple.xmax.before_oldest 1']);
      expect(multi(0)).toEqual(['heap.tuple.xmax.invalid 1']);
    });

    it('has a t_hoff that is off', () => {
      for (const by of [128, 3, -8, -3, 1]) {
        const codes = found((page) => (page.memory.u8[page.tuple(page.add()) + 22] += by));
        expect(codes, `${by}`).toEqual(['heap.tuple.hoff 1']);
      }
    });

    it('has more attributes than the table, with and without a null bitmap', () => {
      const attributes = (row: readonly unknown[], count: number) =>
        found((page) => {
          const at = page.tuple(page.add({}, row));
          setTupleInfomask2(page.memory, at, count);
        });
      expect(attributes([1, 'x', '1.00', true], 2047)).toEqual(['heap.tuple.natts 1']);
      expect(attributes([1, null, '1.00', true], 2047)).toEqual(['heap.tuple.natts 1']);
      expect(attributes([1, 'x', '1.00', true], 5)).toEqual(['heap.tuple.natts 1']);
      expect(attributes([1, 'x', '1.00', true], 3)).toEqual(['heap.tuple.length 1']);
    });

    it('has a header whose padding is not zero, or bits for attributes that are not there', () => {
      expect(found((page) => (page.memory.u8[page.tuple(page.add()) + 23] = 1))).toEqual([
        'heap.tuple.header_padding 1',
      ]);
      const row = [1, null, '1.00', true];
      expect(found((page) => (page.memory.u8[page.tuple(page.add({}, row)) + 23] |= 0x10))).toEqual([
        'heap.tuple.null_bitmap 1',
      ]);
    });

    it('has flags that contradict the attributes', () => {
      const flipped = (bit: number) =>
        found((page) => {
          const at = page.tuple(page.add({}, [1, null, '1.00', true]));
          page.memory.u8[at + 20] ^= bit;
        });
      expect(flipped(2)).toEqual(['heap.tuple.has_varwidth 1']);
      expect(flipped(4)).toEqual(['heap.tuple.has_external 1']);
      expect(flipped(1).length).toBeGreaterThan(0);
    });

    it('has flags that nothing writes together', () => {
      const flags = (infomask: number, infomask2 = 0, xmax = 1600) =>
        found((page) => page.add({ xmax, infomask: HEAP_XMIN_COMMITTED | infomask, infomask2 }));
      expect(flags(HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)).toEqual(['heap.tuple.xmax_committed_and_invalid 1']);
      expect(flags(HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI, 0, 30)).toEqual(['heap.tuple.multixact_committed 1']);
      expect(flags(HEAP_XMAX_COMMITTED | HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK)).toEqual([
        'heap.tuple.lock_committed 1',
      ]);
      expect(flags(0x0010)).toEqual(['heap.tuple.lock_and_update 1']);
      expect(flags(HEAP_XMAX_LOCK_ONLY)).toEqual(['heap.tuple.lock_without_strength 1']);
      expect(flags(HEAP_XMAX_COMMITTED, 0, 0)).toEqual(['heap.tuple.flags_without_xmax 1']);
      expect(flags(HEAP_XMAX_INVALID, 0x2000, 0)).toEqual(['heap.tuple.keys_updated_without_xmax 1']);
      expect(flags(HEAP_XMAX_INVALID, HEAP_HOT_UPDATED, 0)).toEqual(['heap.tuple.hot_updated_without_xmax 1']);
      expect(flags(HEAP_XMAX_INVALID, 0x0800, 0)).toEqual(['heap.tuple.infomask2 1']);
      expect(flags(HEAP_XMAX_INVALID | 0x0008, 0, 0)).toEqual(['heap.tuple.oid 1']);
      expect(flags(HEAP_XMAX_INVALID | 0x4000, 0, 0)).toEqual(['heap.tuple.moved 1']);
      expect(flags(HEAP_XMAX_INVALID, HEAP_ONLY_TUPLE, 0)).toContain('heap.tuple.heap_only_not_updated 1');
    });

    it('has a t_ctid that leads where it cannot', () => {
      const ctid = (next: number, header = {}) => found((page) => page.add(header, undefined, next));
      expect(ctid(0xffff)).toEqual(['heap.tuple.ctid_offset 1']);
      expect(ctid(0xfffe)).toEqual([]); // a speculative insertion
      expect(ctid(0xfffd)).toEqual([]); // moved to another partition
      expect(ctid(2)).toEqual(['heap.tuple.ctid_without_update 1']);
      expect(ctid(2, { xmax: 1600, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID })).toEqual([]);
      expect(ctid(2, { infomask: HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID })).toEqual([]);
    });

    it('has a value that is none', () => {
      const attribute = (row: readonly unknown[], damage: (u8: Uint8Array, data: number) => void) => {
        const relation = new TestRelation(size);
        const page = relation.page(0, 0);
        damage(page.memory.u8, page.tuple(page.add({}, row)) + 24);
        return relation
          .write([page])
          .check()
          .findings.map(({ code, attribute: number }) => `${code} ${number}`);
      };
      const row = [1, 'abc', '1.00', true];
      expect(attribute(row, () => {})).toEqual([]);
      // int4, then text of 4 bytes with its header, numeric of 1 + 4 bytes, bool
      expect(attribute(row, (u8, data) => u8.fill(0xff, data + 5, data + 6))).toEqual(['heap.tuple.attribute 2']); // no UTF-8
      expect(attribute(row, (u8, data) => u8.fill(0xff, data + 11, data + 13))).toEqual(['heap.tuple.attribute 3']);
      expect(attribute(row, (u8, data) => (u8[data + 13] = 2))).toEqual(['heap.tuple.attribute 4']);
      // a varlena header claiming 1 GB, and a TOAST pointer to nothing
      expect(attribute(row, (u8, data) => u8.set([0xfc, 0xff, 0xff, 0xff], data + 4))).toEqual([
        'heap.tuple.attribute 2',
      ]);
      expect(attribute(row, (u8, data) => u8.set([1, 18], data + 4))).toEqual(['heap.tuple.attribute 2']);
    });

    it('of a table that is not known is looked at as far as can be', () => {
      const relation = new TestRelation(size);
      const page = relation.page(0, 2);
      page.memory.u8[page.tuple(1) + 24 + 4] = 0xff;
      page.memory.u8[page.tuple(2) + 22] = 40;
      const checked = relation.write([page]).check({ descriptor: undefined });
      expect(codesOf(checked)).toEqual(['heap.tuple.hoff 2']);
      expect(checked.summaries[0]).toMatchObject({ kind: 'heap', tuples: 2, decodedTuples: 0 });
    });
  });

  describe('a chain of versions', () => {
    it('is fine: a redirect, an updated tuple, its new version; and is counted', () => {
      const relation = new TestRelation(size);
      const page = relation.page(0, 0);
      page.addRedirect(2);
      const infomask2 = HEAP_HOT_UPDATED | HEAP_ONLY_TUPLE;
      page.add({ ...UPDATED_HOT, infomask: UPDATED_HOT.infomask | HEAP_UPDATED, infomask2 }, undefined, 3);
      page.add(NEW_VERSION);
      page.add(UPDATED_HOT, undefined, 5);
      page.add(NEW_VERSION);
      const { findings, summaries } = relation.write([page, relation.page(1, 3)]).check();
      expect(findings).toEqual([]);
      // 1 → 2 → 3 and 4 → 5
      expect(summaries[0]).toMatchObject({ hotChains: 2, hotLinks: 3, tuples: 7 });
    });

    it.each<[string, (page: TestPage) => void]>([
      ['heap.line_pointer.redirect_to_root 1', (page) => [page.addRedirect(2), page.add()]],
      [
        'heap.hot_chain.two_predecessors 2',
        (page) => [page.addRedirect(3), page.addRedirect(3), page.add(NEW_VERSION)],
      ],
      [
        'heap.hot_chain.two_predecessors 2',
        (page) => [page.add(UPDATED_HOT, undefined, 3), page.add(UPDATED_HOT, undefined, 3), page.add(NEW_VERSION)],
      ],
      ['heap.hot_chain.no_successor 1', (page) => page.add(UPDATED_HOT)],
      ['heap.hot_chain.broken 1', (page) => [page.add(UPDATED_HOT, undefined, 2), page.add()]],
      ['heap.hot_chain.broken 1', (page) => page.add(UPDATED_HOT, undefined, 7)],
      [
        'heap.hot_chain.successor_not_heap_only 1',
        (page) => [page.add(UPDATED_HOT, undefined, 2), page.add({ ...NEW_VERSION, infomask2: 0 })],
      ],
      [
        'heap.hot_chain.not_hot_updated 1',
        (page) => [page.add({ ...UPDATED_HOT, infomask2: 0 }, undefined, 2), page.add(NEW_VERSION)],
      ],
      ['heap.hot_chain.heap_only_root 1', (page) => page.add(NEW_VERSION)],
      [
        'heap.hot_chain.aborted_then_committed 1',
        (page) => [page.add({ ...UPDATED_HOT, infomask: HEAP_XMIN_INVALID }, undefined, 2), page.add(NEW_VERSION)],
      ],
      [
        'heap.hot_chain.failed_then_committed 1',
        (page) => [page.add({ ...UPDATED_HOT, infomask: PLAIN }, undefined, 2), page.add(NEW_VERSION)],
      ],
    ])('has a fault: %s', (code, build) => {
      expect(found(build)).toEqual([code]);
    });

    it('whose space was used again after the update had failed is fine', () => {
      expect(
        found((page) => {
          page.add({ xmax: 1600, infomask: PLAIN, infomask2: HEAP_HOT_UPDATED }, undefined, 2);
          page.add({ xmin: 1700 });
          page.add({ xmax: 1600, infomask: HEAP_XMIN_COMMITTED, infomask2: HEAP_HOT_UPDATED }, undefined, 9);
        }),
      ).toEqual([]);
    });
  });

  describe('by the commit log', () => {
    const judged = (build: (page: TestPage) => void, messages: string[] = []): string[] => {
      const relation = new TestRelation(size);
      const page = relation.page(0, 0);
      build(page);
      return codesOf(relation.write([page]).check({ fates: makeFates(messages) }));
    };
    const [ABORTED_XID] = ABORTED;
    const [LOST_XID] = NEVER_ENDED;
    const DELETED = HEAP_XMIN_COMMITTED;

    it('hint bits are right, and each that is not is named', () => {
      const header = (h: TupleHeader) => judged((page) => page.add(h));
      for (const xmin of [ABORTED_XID, LOST_XID]) {
        expect(header({ xmin, infomask: HEAP_XMIN_INVALID | HEAP_XMAX_INVALID })).toEqual([]);
        expect(header({ xmin, infomask: HEAP_XMAX_INVALID })).toEqual([]);
        expect(header({ xmin, infomask: PLAIN })).toEqual(['heap.tuple.xmin.not_committed 1']);
        expect(header({ xmin, infomask: PLAIN | HEAP_XMIN_FROZEN })).toEqual([]); // what it was is not asked any more
      }
      expect(header({ xmin: 1500, infomask: HEAP_XMIN_INVALID | HEAP_XMAX_INVALID })).toEqual([
        'heap.tuple.xmin.not_aborted 1',
      ]);
      for (const xmax of [ABORTED_XID, LOST_XID]) {
        expect(header({ xmax, infomask: PLAIN })).toEqual([]);
        expect(header({ xmax, infomask: DELETED })).toEqual([]);
        expect(header({ xmax, infomask: DELETED | HEAP_XMAX_COMMITTED })).toEqual(['heap.tuple.xmax.not_committed 1']);
      }
      expect(header({ xmax: 1600, infomask: DELETED })).toEqual([]);
      expect(header({ xmax: 1600, infomask: PLAIN })).toEqual(['heap.tuple.xmax.not_aborted 1']);
      const lock = HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK;
      expect(header({ xmax: 1600, infomask: PLAIN | lock })).toEqual([]); // a lock is over, however it ended
    });

    it('multixacts have the members that they say', () => {
      const multi = (id: number, infomask = 0) =>
        judged((page) => page.add({ xmax: id, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_IS_MULTI | infomask }));
      expect(multi(30)).toEqual([]);
      expect(multi(31)).toEqual([]);
      expect(multi(32)).toEqual(['heap.tuple.xmax.no_updater 1']);
      expect(multi(33)).toEqual(['heap.tuple.xmax.updater_in_future 1']);
      expect(multi(34)).toEqual(['heap.tuple.xmax.members 1']);
      expect(multi(34, HEAP_XMAX_INVALID)).toEqual([]); // its members may be gone
      expect(multi(34, HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK)).toEqual([]);
      expect(multi(50)).toEqual(['heap.tuple.xmax.in_future 1']);
    });

    /** An updated tuple and its new version, none with a hint bit. */
    const updated = (old: TupleHeader, next: TupleHeader) =>
      judged((page) => [
        page.add({ xmax: 1600, infomask: 0, infomask2: HEAP_HOT_UPDATED, ...old }, undefined, 2),
        page.add({ xmin: 1600, infomask: HEAP_XMAX_INVALID | HEAP_UPDATED, infomask2: HEAP_ONLY_TUPLE, ...next }),
      ]);

    it('a chain is fine, or broken by what became of its transactions', () => {
      expect(updated({}, {})).toEqual([]);
      expect(updated({ xmin: ABORTED_XID }, {})).toEqual(['heap.hot_chain.aborted_then_committed 1']);
      expect(updated({ xmin: LOST_XID }, {})).toEqual(['heap.hot_chain.in_progress_then_committed 1']);
      expect(updated({ xmax: ABORTED_XID }, { xmin: ABORTED_XID })).toEqual([]);
      expect(updated({ xmin: ABORTED_XID, xmax: ABORTED_XID }, { xmin: ABORTED_XID })).toEqual([]);
      expect(updated({}, { infomask2: 0 })).toEqual(['heap.hot_chain.successor_not_heap_only 1']);
      // The update committed, and what it leads to is not its new version.
      expect(updated({}, { xmin: 1601, infomask2: 0 })).toEqual(['heap.hot_chain.broken 1']);
      expect(updated({}, { xmin: 1601 })).toEqual(['heap.hot_chain.broken 1', 'heap.hot_chain.heap_only_root 2']);
      // A multixact's updater links as a transaction does.
      const multi = { xmax: 30, infomask: HEAP_XMAX_IS_MULTI };
      expect(updated(multi, {})).toEqual([]);
      expect(updated(multi, { xmin: 1601, infomask2: 0 })).toEqual(['heap.hot_chain.broken 1']);
      expect(updated({ ...multi, xmin: ABORTED_XID }, {})).toEqual(['heap.hot_chain.aborted_then_committed 1']);
    });

    it('space that was used again after a HOT update that aborted, or was lost, is fine', () => {
      for (const xmax of [ABORTED_XID, LOST_XID]) {
        expect(updated({ xmax }, { xmin: 1500, infomask: PLAIN, infomask2: 0 })).toEqual([]);
        expect(judged((page) => page.add({ xmax, infomask: 0, infomask2: HEAP_HOT_UPDATED }, undefined, 9))).toEqual(
          [],
        );
      }
      const multi = { xmax: 31, infomask: HEAP_XMAX_IS_MULTI };
      expect(updated(multi, { xmin: 1500, infomask: PLAIN, infomask2: 0 })).toEqual([]);
    });

    it('a promise is kept, or broken by a tuple without a hint bit', () => {
      const promised = (header: TupleHeader) =>
        judged((page) => [page.add(), page.add(header), pageSetAllVisible(page.memory, 0)]);
      expect(promised({ infomask: HEAP_XMAX_INVALID })).toEqual([]);
      expect(promised({ xmax: ABORTED_XID, infomask: 0 })).toEqual([]);
      expect(promised({ xmax: 31, infomask: HEAP_XMAX_IS_MULTI })).toEqual([]);
      for (const header of [
        { xmin: ABORTED_XID, infomask: HEAP_XMAX_INVALID },
        { xmin: LOST_XID, infomask: HEAP_XMAX_INVALID },
        { xmax: 1600, infomask: 0 },
        { xmax: 1600, infomask: HEAP_XMIN_FROZEN },
        { xmax: 30, infomask: HEAP_XMAX_IS_MULTI },
      ]) {
        expect(promised(header), JSON.stringify(header)).toEqual(['heap.all_visible.tuple 2']);
      }
    });

    it('is not asked about ids that cannot be', () => {
      const messages: string[] = [];
      const header = (h: TupleHeader) =>
        judged((page) => page.add({ ...h, infomask2: HEAP_HOT_UPDATED }, undefined, 2), messages);
      for (const infomask of [0, HEAP_XMIN_COMMITTED]) {
        expect(header({ xmin: 500_000, xmax: 1600, infomask })).toEqual([
          'heap.tuple.xmin.in_future 1',
          'heap.hot_chain.broken 1',
        ]);
      }
      expect(header({ xmax: 500_000, infomask: 0 })).toEqual(['heap.tuple.xmax.in_future 1']);
      expect(header({ xmax: 33, infomask: HEAP_XMAX_IS_MULTI })).toEqual(['heap.tuple.xmax.updater_in_future 1']);
      const promised = (h: TupleHeader) =>
        judged((page) => [page.add(h), pageSetAllVisible(page.memory, 0)], messages).filter((code) =>
          code.includes('.tuple.x'),
        );
      expect(promised({ xmin: 500_000, infomask: HEAP_XMAX_INVALID })).toEqual(['heap.tuple.xmin.in_future 1']);
      expect(promised({ xmax: 500_000, infomask: 0 })).toEqual(['heap.tuple.xmax.in_future 1']);
      expect(promised({ xmax: 34, infomask: HEAP_XMAX_IS_MULTI })).toEqual(['heap.tuple.xmax.members 1']);
      expect(messages).toEqual([]);
    });

    it('a part of which is gone nothing is said, but that it is gone', () => {
      const vfs = commitLogVfs();
      vfs.unlink('/xact/0000');
      const messages: string[] = [];
      const relation = new TestRelation(size);
      const page = relation.page(0, 3);
      page.add({ xmin: ABORTED_XID, infomask: PLAIN });
      page.add({ infomask: HEAP_XMAX_INVALID });
      pageSetAllVisible(page.memory, 0);
      expect(relation.write([page]).check({ fates: makeFates(messages, vfs) }).findings).toEqual([]);
      expect(messages).toEqual([expect.stringContaining('"/xact/0000" of the commit log is missing')]);
    });
  });

  it('as a crash left it: what recovery may put right is a warning, the rest is an error', () => {
    const relation = new TestRelation(size);
    const ahead = relation.page(0, 2);
    const other = relation.page(1, 2);
    other.memory.u8[other.tuple(1) + 22] = 40; // t_hoff
    relation.write([ahead, other, relation.page(2, 2)]).writeMap([1]);
    const bytes = relation.vfs.readFile('/d/1000');
    bytes[3 * size - 1] ^= 1; // of the last page: torn
    relation.writeBytes(bytes);
    const found = (beforeRecovery: boolean): string[] => {
      const { findings, summaries } = relation.check({ beforeRecovery, xids: undefined });
      const errors = summaries.reduce((sum, file) => sum + file.errors, 0);
      expect(errors).toBe(findings.filter(({ severity }) => severity === 'error').length);
      return findings.map(({ severity, code }) => `${severity} ${code}`);
    };
    expect(found(false)).toEqual([
      'error heap.map.set_without_page_flag',
      'error heap.tuple.hoff',
      'error page.checksum',
    ]);
    expect(found(true)).toEqual([
      'warning heap.map.set_without_page_flag',
      'error heap.tuple.hoff',
      'warning page.checksum',
    ]);
  });

  describe('a promise to everyone', () => {
    const DELETED = { xmax: 1600, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_COMMITTED };
    const withMap = (bits: number, build: (page: TestPage) => void): string[] => {
      const relation = new TestRelation(size);
      const page = relation.page(0, 0);
      build(page);
      return codesOf(relation.write([page]).writeMap([bits]).check());
    };

    it('is kept', () => {
      const frozen = { infomask: HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID };
      expect(withMap(1, (page) => [page.add(), pageSetAllVisible(page.memory, 0)])).toEqual([]);
      expect(withMap(3, (page) => [page.add(frozen), pageSetAllVisible(page.memory, 0)])).toEqual([]);
      expect(withMap(0, (page) => [page.add(DELETED), page.addDead()])).toEqual([]);
    });

    it('is broken by a tuple that is gone, or a dead line pointer: each is named', () => {
      expect(
        found((page) => [page.add(), page.add(DELETED), page.addDead(), pageSetAllVisible(page.memory, 0)]),
      ).toEqual(['heap.all_visible.tuple 2', 'heap.all_visible.dead_line_pointer 3']);
    });

    it('of an old map over a newer heap names the tuple that is gone', () => {
      const relation = new TestRelation(size);
      const page = relation.page(0, 0);
      page.add({ ...DELETED, infomask: HEAP_XMIN_COMMITTED });
      const { findings } = relation.write([page]).writeMap([1]).check();
      expect(findings.map(({ severity }) => severity)).toEqual(['error', 'error']);
      expect(withMap(1, (page) => [page.add(), page.add({ ...DELETED, infomask: HEAP_XMIN_COMMITTED })])).toEqual([
        'heap.map.set_without_page_flag',
        'heap.all_visible.tuple 2',
      ]);
    });

    it('of a standby, whose tuples have no hints, is not doubted; a deletion without a hint is', () => {
      expect(
        withMap(1, (page) => [page.add({ infomask: HEAP_XMAX_INVALID }), pageSetAllVisible(page.memory, 0)]),
      ).toEqual([]);
      const relation = new TestRelation(size);
      const page = relation.page(0, 0);
      page.add({ xmax: 1600, infomask: HEAP_XMIN_COMMITTED });
      pageSetAllVisible(page.memory, 0);
      expect(relation.write([page]).check().findings).toEqual([
        expect.objectContaining({ code: 'heap.all_visible.tuple', severity: 'warning', offsetNumber: 1 }),
      ]);
    });

    it('that all is frozen is broken by a tuple that is not', () => {
      expect(withMap(3, (page) => [page.add(), pageSetAllVisible(page.memory, 0)])).toEqual([
        'heap.all_frozen.tuple 1',
      ]);
      const locked = { xmax: 1600, infomask: HEAP_XMIN_FROZEN | HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK };
      expect(withMap(3, (page) => [page.add(locked), pageSetAllVisible(page.memory, 0)])).toEqual([
        'heap.all_frozen.tuple 1',
      ]);
    });

    it('is made for a page that is not there', () => {
      const relation = new TestRelation(size).writeMap([0, 3]);
      relation.write([relation.page(0)]).writeBytes(new Uint8Array(size), '1000', size);
      expect(codesOf(relation.check())).toEqual(['page.zero', 'heap.map.set_without_page']);
    });
  });
});
