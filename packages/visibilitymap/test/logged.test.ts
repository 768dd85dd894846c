// Bits inside the records of the heap: whatever a crash leaves, after redo no bit is set over a page whose flag is clear
// (C3), and every page of the map is what it was after the last record.
import {
  PAGE_STANDARD,
  PageLog,
  PendingCreates,
  REDO_MISSING,
  REDO_NEEDED,
  RedoPages,
  Relation,
  storageResourceManager,
  truncateRelation,
} from '@blockwright/access';
import { type BlockNumber, fromWords } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  pageClearAllVisible,
  pageInit,
  pageIsAllVisible,
  pageLsnHigh,
  pageLsnLow,
  pageSetAllVisible,
} from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import {
  clearVisibilityBits,
  setVisibilityBits,
  VisibilityMap,
  visibilityTruncation,
} from '@blockwright/visibilitymap';
import { createWal, RM_HEAP, RM_SMGR, WalReader, type WalRecord, WalWriter } from '@blockwright/wal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const LOCATOR = { tablespace: 1663, database: 5, relfilenode: 16384 };
const WAL = { directory: '/data/wal', segmentSize: 1 << 20, systemIdentifier: '7', incarnation: 1 };
const SET = 0x00;
const CLEAR = 0x10;

/** A heap of few pages, which stand for blocks around the edges of map pages. */
class World {
  readonly vfs = new SimulatedVfs();
  readonly start: number;
  readonly wal: WalWriter;
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly relation: Relation;
  readonly map: VisibilityMap;
  readonly heapBlocks: readonly BlockNumber[];
  /** Of the map: LSN and bytes of each page after each record. */
  readonly versions: { lsn: number; block: number; bytes: Uint8Array }[] = [];
  readonly g: BlockGeometry;

  constructor(g: BlockGeometry) {
    this.g = g;
    const { vfs } = this;
    for (const directory of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(directory);
    this.start = createWal({ vfs, ...WAL });
    vfs.settle();
    this.wal = new WalWriter({ vfs, ...WAL, start: this.start, previous: 0 });
    this.storage = new StorageManager({ vfs, directory: '/data', geometry: g });
    this.pool = new BufferPool({ geometry: g, buffers: 16, wal: this.wal });
    const log = new PageLog({ geometry: g, wal: this.wal, hintImages: true });
    this.relation = new Relation({ pool: this.pool, storage: this.storage.open(LOCATOR), log });
    this.map = new VisibilityMap({ pool: this.pool, fork: this.relation.vm });
    this.heapBlocks = heapBlocksOf(g);
    this.relation.main.create();
    for (const _ of this.heapBlocks) {
      const id = this.pool.pin(this.relation.main, this.pool.extend(this.relation.main, 1));
      pageInit(this.pool.memory(id), this.pool.base(id), g);
      this.pool.markDirty(id);
      this.pool.unpin(id);
    }
    this.checkpoint();
  }

  checkpoint(): number {
    const redo = this.wal.insertedUpTo;
    this.relation.log.redoPoint = redo;
    this.pool.flushAll();
    this.storage.syncPending();
    return redo;
  }

  /** The page and its block become visible to all, in one record. */
  set(i: number, bits: number): void {
    const { pool, relation, map } = this;
    const { log } = relation;
    const heapBlock = this.heapBlocks[i];
    const mapId = map.pinToSet(heapBlock);
    const id = pool.pin(relation.main, i);
    log.begin(relation, RM_HEAP, SET, 2, 8);
    pageSetAllVisible(pool.memory(id), pool.base(id));
    map.setPinned(mapId, heapBlock, bits);
    log.u32(heapBlock);
    log.u32(bits);
    log.page(0, relation.main, id, PAGE_STANDARD);
    log.page(2, relation.vm, mapId, 0);
    this.note(log.finish(3), mapId);
    pool.unpin(id);
    pool.unpin(mapId);
  }

  /** An old row on one page and the new one on another: both are visible to all no more, in one record (C9). */
  clear(i: number, j: number): void {
    const { pool, relation, map } = this;
    const { log } = relation;
    const blocks = [this.heapBlocks[i], this.heapBlocks[j]];
    const [first, second] = blocks.map((block) => map.pinToClear(block));
    const ids = (i === j ? [i] : [i, j]).map((block) => pool.pin(relation.main, block));
    log.begin(relation, RM_HEAP, CLEAR, 4, 8);
    for (const block of blocks) log.u32(block);
    for (const [n, id] of ids.entries()) {
      pageClearAllVisible(pool.memory(id), pool.base(id));
      log.page(n, relation.main, id, PAGE_STANDARD);
    }
    if (first >= 0) map.clearPinned(first, blocks[0], 3);
    if (second >= 0) map.clearPinned(second, blocks[1], 3);
    if (first >= 0) log.page(2, relation.vm, first, 0);
    if (second >= 0 && second !== first) log.page(3, relation.vm, second, 0);
    const lsn = log.finish(3);
    for (const id of new Set([first, second])) if (id >= 0) this.note(lsn, id);
    for (const id of [...ids, first, second]) if (id >= 0) pool.unpin(id);
  }

  private note(lsn: number, id: number): void {
    const base = this.pool.base(id);
    const m = this.pool.memory(id);
    expect(fromWords(pageLsnHigh(m, base), pageLsnLow(m, base))).toBe(lsn);
    this.versions.push({ lsn, block: this.pool.block(id), bytes: m.u8.slice(base, base + this.g.size) });
  }
}

/** Each by its page: both sides of the first edge, a page that is skipped over, and the last block that a page has. */
function heapBlocksOf(g: BlockGeometry): BlockNumber[] {
  const window = g.heapBlocksPerVmPage;
  return [0, 1, window - 1, window, window + 1, 3 * window + 7, 4 * window - 1];
}

interface Redone {
  readonly relation: Relation;
  readonly map: VisibilityMap;
  readonly pool: BufferPool;
  readonly endLsn: number;
}

function replay(vfs: SimulatedVfs, from: number, g: BlockGeometry): Redone {
  const storage = new StorageManager({ vfs, directory: '/data', geometry: g });
  const pool = new BufferPool({ geometry: g, buffers: 16 });
  const pages = new RedoPages({ pool, storage });
  const files = storageResourceManager(pages, new PendingCreates(), [visibilityTruncation]);
  const reader = new WalReader({ vfs, ...WAL });
  reader.seek(from);
  while (reader.next()) {
    if (reader.record.rmgr === RM_SMGR) files.redo(reader.record);
    else redo(pages, reader.record);
  }
  const { endLsn } = reader;
  reader.close();
  pages.missing.check();
  const relation = new Relation({ pool, storage: storage.open(LOCATOR) });
  return { relation, map: new VisibilityMap({ pool, fork: relation.vm }), pool, endLsn };
}

function redo(pages: RedoPages, record: WalRecord): void {
  const { geometry } = pages.pool;
  const words = [record.u32(record.dataAt), record.u32(record.dataAt + 4)];
  for (let i = 0; i < record.blockCount; i++) {
    const result = pages.fetch(record, i);
    if (result === REDO_MISSING) continue;
    const { memory: m, base } = pages;
    if (result === REDO_NEEDED) {
      if (record.info === SET) {
        if (record.fork[i] === 0) pageSetAllVisible(m, base);
        else setVisibilityBits(m, base, geometry, words[0], words[1]);
      } else if (record.fork[i] === 0) {
        pageClearAllVisible(m, base);
      } else {
        for (const block of words) {
          if (geometry.vmBlockOf(block) === record.block[i]) clearVisibilityBits(m, base, geometry, block, 3);
        }
      }
      pages.changed(pages.buffer, record);
    }
    pages.release(pages.buffer);
  }
}

/** What is wrong after redo; '' when nothing is. */
function compare(world: World, { relation, map, pool, endLsn }: Redone): string {
  for (const [i, heapBlock] of world.heapBlocks.entries()) {
    const flag = pool.withPage(relation.main, i, (m, base) => pageIsAllVisible(m, base));
    if (map.status(heapBlock) !== 0 && !flag) return `a bit of block ${heapBlock} over a page without the flag`;
  }
  for (let block = 0; block < 4; block++) {
    const wanted = world.versions.findLast((version) => version.block === block && version.lsn <= endLsn);
    if (wanted === undefined) continue;
    if (block >= relation.vm.blockCount()) return `map page ${block} is not there`;
    const found = pool.withPage(relation.vm, block, (m, base) => m.u8.slice(base, base + world.g.size));
    wanted.bytes.fill(0, 8, 10); // the checksum is of the last write
    found.fill(0, 8, 10);
    if (Buffer.compare(found, wanted.bytes) !== 0) return `map page ${block} is not as after ${wanted.lsn}`;
  }
  return '';
}

const page = fc.nat({ max: 6 });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('set' as const), i: page, bits: fc.constantFrom(1, 3) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('clear' as const), i: page, j: page }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('heap' as const, 'map' as const, 'checkpoint' as const) }) },
);

describe.each(BLOCK_SIZES)('a map of pages of %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  test('is after a crash and redo what it was, and never says more than the heap (C3, C9, J15)', () => {
    let cleared = 0;
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 10, maxLength: 60 }),
        fc.noBias(fc.double({ min: 0, max: 1, noNaN: true })),
        fc.nat(),
        (steps, when, seed) => {
          const world = new World(g);
          const checkpoints = [{ redo: world.start, operation: world.vfs.operations }];
          for (const s of steps) {
            if (s.do === 'set') world.set(s.i, s.bits);
            else if (s.do === 'clear') world.clear(s.i, s.j);
            else if (s.do === 'heap') world.pool.flushFork(world.relation.main);
            else if (s.do === 'map') world.pool.flushFork(world.relation.vm);
            else checkpoints.push({ redo: world.checkpoint(), operation: world.vfs.operations });
          }
          const first = checkpoints[0].operation;
          const at = first + Math.round((world.vfs.operations - first) * when);
          const { redo: from } = checkpoints.findLast((one) => one.operation <= at) as { redo: number };
          const redone = replay(world.vfs.crashedAt(at, seed), from, g);
          expect(compare(world, redone)).toBe('');
          cleared += world.versions.length;
        },
      ),
      { numRuns: 25 },
    );
    expect(cleared).toBeGreaterThan(20);
  });

  test('is cut with its heap, in redo as at the time, and keeps no stale bit', () => {
    const window = g.heapBlocksPerVmPage;
    const world = new World(g);
    const { map, relation } = world;
    for (let i = 0; i < 7; i++) world.set(i, 3);
    const cursor = map.cursor();
    expect([cursor.status(window), cursor.status(4 * window - 1)]).toEqual([3, 3]);
    cursor.status(0);
    truncateRelation(relation, 3, [map.truncation]);
    const seen = [0, 1, window - 1, window, 4 * window - 1].map((block) => cursor.status(block));
    expect([seen, map.blockCount()]).toEqual([[3, 3, 0, 0, 0], 1]);
    cursor.close();
    const redone = replay(world.vfs.crash('synced'), world.start, g);
    expect([redone.relation.blockCount(), redone.map.blockCount(), redone.map.count().allVisible]).toEqual([3, 1, 2]);
  });
});

test('the harness finds a heap page that is written without its map page being cleared in the same record', () => {
  const g = BlockGeometry.of(1024);
  const world = new World(g);
  world.set(2, 3);
  world.checkpoint();
  const { pool, relation } = world;
  const id = pool.pin(relation.main, 2);
  relation.log.begin(relation, RM_HEAP, CLEAR, 1, 8);
  for (const block of [world.heapBlocks[2], world.heapBlocks[2]]) relation.log.u32(block);
  pageClearAllVisible(pool.memory(id), pool.base(id));
  relation.log.page(0, relation.main, id, PAGE_STANDARD);
  relation.log.finish(3);
  pool.unpin(id);
  world.wal.flush(world.wal.insertedUpTo);
  expect(compare(world, replay(world.vfs.crash('synced'), world.start, g))).toContain('without the flag');
});
