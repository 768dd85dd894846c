// The functions whose machine code must not divide, with direct calls to each under a real workload.
import { BufferPool } from '@blockwright/bufmgr';
import * as geometry from '@blockwright/geometry';
import * as heap from '@blockwright/heap';
import * as page from '@blockwright/page';
import { BatchDecoder } from '@blockwright/tuple';
import { VisibilityCursor, VisibilityMap } from '@blockwright/visibilitymap';
import { COLUMNS } from './table.mjs';

const { BLOCK_SIZES, BlockGeometry } = geometry;
const BLOCKS = [0, 1, 4000, 32_671, 32_672, 1_000_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];
const geometries = BLOCK_SIZES.map((size) => BlockGeometry.of(size));
/** Another geometry and block number each round. */
const geometryOf = (n) => geometries[n % geometries.length];
const blockOf = (n) => BLOCKS[n % BLOCKS.length];

const method = (type, name, call) => ({ id: `${type.name}.${name}`, fn: type.prototype[name], call });
const free = (module, name, call) => ({ id: name, fn: module[name], call });

const onGeometry = (name, ...rest) =>
  method(BlockGeometry, name, (n) => geometryOf(n)[name](blockOf(n), ...rest.map((argument) => argument(n))));

export const geometryTargets = [
  onGeometry('segmentOf'),
  onGeometry('byteInSegment'),
  method(BlockGeometry, 'blockOfSegment', (n) => geometryOf(n).blockOfSegment(n, n * 32_768)),
  onGeometry('vmBlockOf'),
  method(BlockGeometry, 'firstHeapBlockOf', (n) => geometryOf(n).firstHeapBlockOf(n * 500)),
  onGeometry('vmByteOf'),
  onGeometry('vmShiftOf'),
  method(BlockGeometry, 'heapBlockOfVm', (n) => geometryOf(n).heapBlockOfVm(n * 500, n, 4)),
  onGeometry('fsmLeafOf'),
  onGeometry('fsmSlotOf'),
  method(BlockGeometry, 'heapBlockOfFsm', (n) => geometryOf(n).heapBlockOfFsm(n * 1000, n)),
  method(BlockGeometry, 'fsmPhysicalOf', (n) => geometryOf(n).fsmPhysicalOf(n % 3, n * 7)),
  method(BlockGeometry, 'fsmLevelOf', (n) => geometryOf(n).fsmLevelOf(n * 997)),
  method(BlockGeometry, 'fsmLogicalOf', (n) => geometryOf(n).fsmLogicalOf(n * 997)),
  method(BlockGeometry, 'level1PagesIn', (n) => geometryOf(n).level1PagesIn(n * 99_991)),
  method(BlockGeometry, 'level2PagesIn', (n) => geometryOf(n).level2PagesIn(n * 99_991)),
  method(BlockGeometry, 'timesSlots', (n) => geometryOf(n).timesSlots(n)),
  onGeometry('clogPageOf'),
  onGeometry('clogByteOf'),
  onGeometry('clogShiftOf'),
  { id: 'BlockGeometry.of', fn: BlockGeometry.of, call: (n) => BlockGeometry.of(n % 2 === 0 ? 8192 : '4kB') },
  free(geometry, 'parseBlockSize', (n) => geometry.parseBlockSize(n % 2 === 0 ? 8192 : '16k')),
  free(geometry, 'formatBlockSize', (n) => geometry.formatBlockSize(BLOCK_SIZES[n % 6])),
  free(geometry, 'isBlockSize', (n) => geometry.isBlockSize(n * 512)),
  method(BlockGeometry, 'xidOfClog', (n) => geometryOf(n).xidOfClog(n, n, 2)),
];

/** @param {ReturnType<typeof import('./table.mjs').openTables>[]} tables one a block size */
export function tableTargets(tables) {
  const tablesOf = (n) => tables[n % tables.length];
  const cursors = tables.map(({ frozen }) => frozen.map.cursor());
  const cursorOf = (n) => cursors[n % cursors.length];
  /** Calls with a page of the table pinned. */
  const onPage = (use) => (n) => {
    const { pool, frozen, geometry } = tablesOf(n);
    const id = pool.pin(frozen.relation.main, n % 3);
    try {
      return use(pool.memory(id), pool.base(id), geometry, n, id, pool);
    } finally {
      pool.unpin(id);
    }
  };
  const scratch = tables.map(({ geometry }) => new heap.PageTuples(geometry));
  const unknown = new Uint32Array(1);
  const hints = heap.HintSink.for(tables[0].plain.relation);
  const lineCount = (m, base, geometry) => heap.linePointerCount(m, base, geometry.size, 'table', 0);
  /** While some scans live, V8 keeps what it knows of their shape. */
  const kept = [];
  const scanOf = (n, which) => {
    const t = tablesOf(n);
    const by = which === 'plain' ? { snapshot: t.snapshot } : {};
    const scan = new heap.HeapScan(t[which].relation, t.descriptor, { columns: COLUMNS, ...by });
    if (kept.length < 2 * tables.length) kept.push(scan);
    return scan;
  };
  const decoders = tables.map((_, n) => scanOf(n, 'frozen'));
  return [
    // the visibility map and its cursor
    method(VisibilityCursor, 'status', (n) => cursorOf(n).status(n % 2 === 0 ? n % 40 : blockOf(n))),
    method(VisibilityCursor, 'cross', (n) => cursorOf(n).cross(n % 2 === 0 ? n : blockOf(n))),
    method(VisibilityMap, 'status', (n) => tablesOf(n).frozen.map.status(n % 2 === 0 ? n : blockOf(n))),
    method(VisibilityMap, 'set', (n) => tablesOf(n).frozen.map.set(n % 10, 3)),
    method(VisibilityMap, 'clear', (n) => tablesOf(n).hinted.map.clear(n % 10, 3)),
    // buffers
    method(BufferPool, 'pin', (n) => {
      const { pool, frozen } = tablesOf(n);
      pool.unpin(pool.pin(frozen.relation.main, n % 9));
    }),
    method(
      BufferPool,
      'unpin',
      onPage(() => {}),
    ),
    method(
      BufferPool,
      'memory',
      onPage((_m, _base, _g, _n, id, pool) => pool.memory(id)),
    ),
    method(
      BufferPool,
      'base',
      onPage((_m, _base, _g, _n, id, pool) => pool.base(id)),
    ),
    method(
      BufferPool,
      'block',
      onPage((_m, _base, _g, _n, id, pool) => pool.block(id)),
    ),
    method(
      BufferPool,
      'markDirty',
      onPage((_m, _base, _g, _n, id, pool) => pool.markDirty(id)),
    ),
    method(BufferPool, 'pinZeroOnError', (n) => {
      const { pool, frozen } = tablesOf(n);
      pool.unpin(pool.pinZeroOnError(frozen.relation.vm, 0));
    }),
    // line pointers and the page header
    free(
      page,
      'linePointer',
      onPage((m, base, _g, n) => page.linePointer(m, base, 1 + (n % 5))),
    ),
    free(
      page,
      'setLinePointer',
      onPage((m, base) => page.setLinePointer(m, base, 1, page.linePointer(m, base, 1))),
    ),
    free(
      page,
      'lpOffset',
      onPage((m, base) => page.lpOffset(page.linePointer(m, base, 1))),
    ),
    free(
      page,
      'lpFlags',
      onPage((m, base) => page.lpFlags(page.linePointer(m, base, 1))),
    ),
    free(
      page,
      'lpLength',
      onPage((m, base) => page.lpLength(page.linePointer(m, base, 1))),
    ),
    free(page, 'makeLinePointer', (n) => page.makeLinePointer(8 * n, 1, n)),
    free(
      page,
      'itemPosition',
      onPage((m, base) => page.itemPosition(m, base, 1)),
    ),
    free(
      page,
      'checkedItem',
      onPage((m, base, g) => page.checkedItem(m, base, g, 1)),
    ),
    free(
      page,
      'pageMaxOffset',
      onPage((m, base) => page.pageMaxOffset(m, base)),
    ),
    free(
      page,
      'pageHeapFreeSpace',
      onPage((m, base, g) => page.pageHeapFreeSpace(m, base, g)),
    ),
    // the heap's batch loop and its counts
    free(
      heap,
      'linePointerCount',
      onPage((m, base, g) => lineCount(m, base, g)),
    ),
    free(
      heap,
      'collectVisible',
      onPage((m, base, g, n) => heap.collectVisible(m, base, g.size, 0, 'table', 'error', scratch[n % tables.length])),
    ),
    free(
      heap,
      'countNormalLinePointers',
      onPage((m, base, g) => heap.countNormalLinePointers(m, base, lineCount(m, base, g))),
    ),
    free(
      heap,
      'countJudged',
      onPage((m, base, g) => heap.countJudged(m, base, g.size, lineCount(m, base, g), unknown)),
    ),
    free(
      heap,
      'collectForSnapshot',
      onPage((m, base, g, n) => {
        const t = tablesOf(n);
        return heap.collectForSnapshot(m, base, g.size, 0, 'table', t.snapshot, hints, scratch[n % tables.length]);
      }),
    ),
    free(
      heap,
      'countForSnapshot',
      onPage((m, base, g, n) =>
        heap.countForSnapshot(m, base, g.size, lineCount(m, base, g), tablesOf(n).snapshot, hints),
      ),
    ),
    free(heap, 'satisfiesMvcc', (n) => {
      const { pool, plain, snapshot, geometry } = tablesOf(n);
      const id = pool.pin(plain.relation.main, n % 3);
      const m = pool.memory(id);
      const base = pool.base(id);
      const offset = 1 + (n % lineCount(m, base, geometry));
      heap.satisfiesMvcc(m, page.itemPosition(m, base, offset), snapshot, hints);
      pool.unpin(id);
    }),
    free(heap, 'judgeByHints', (n) => heap.judgeByHints(n % 2 === 0 ? 0x0b00 : 0x0900, 3, 0)),
    method(heap.HeapScan, 'next', (n) => scanOf(n, ['frozen', 'hinted', 'plain'][n % 3]).next()),
    method(heap.HeapScan, 'readPage', (n) => {
      const scan = scanOf(n, n % 2 === 0 ? 'hinted' : 'plain');
      scan.readPage(0, scan.batch);
    }),
    method(
      BatchDecoder,
      'decode',
      onPage((m, base, g, n) => {
        const tuples = scratch[n % tables.length];
        const count = heap.collectVisible(m, base, g.size, 0, 'table', 'error', tuples);
        const { decoder, batch } = decoders[n % tables.length];
        decoder.decode(m, tuples.positions, tuples.lengths, count, batch.vectors, 0);
      }),
    ),
    free(heap, 'heapCount', (n) => {
      const { relation, map } = tablesOf(n).frozen;
      heap.heapCount(relation, n % 2 === 0 ? { map } : {});
    }),
  ];
}
