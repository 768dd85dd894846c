// The map of a heap: against a plain array, against PostgreSQL's own maps, and with anything at all in its files.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { pageInit, pageIsNew } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { NodeVfs } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FreeSpaceMap, NO_BLOCK, setSlotValue } from '../src/index.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

function heapOf(
  size: BlockSize,
  blocks: number,
): { map: FreeSpaceMap; relation: Relation; vfs: MemoryVfs; pool: BufferPool } {
  const vfs = new MemoryVfs();
  for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
  const geometry = BlockGeometry.of(size);
  const storage = new StorageManager({ vfs, directory: '/data', geometry });
  const pool = new BufferPool({ geometry, buffers: 64 });
  const relation = new Relation({ pool, storage: storage.open({ tablespace: 1663, database: 5, relfilenode: 16384 }) });
  relation.main.create();
  // A sparse file: the map asks how long the heap is, never what is in it.
  if (blocks > 0) vfs.open('/data/base/5/16384', 'r+').truncate(blocks * size);
  return { map: new FreeSpaceMap(relation), relation, vfs, pool };
}

/** A heap that says that it has every block there can be, and a map of full length: sparse files. */
function hugeHeapOf(size: BlockSize): {
  map: FreeSpaceMap;
  relation: Relation;
  pool: BufferPool;
  geometry: BlockGeometry;
} {
  const { relation, vfs, pool } = heapOf(size, 0);
  const { geometry } = relation;
  relation.blockCount = () => 2 ** 32 - 1;
  const bytes = (geometry.fsmPhysicalOf(0, geometry.fsmLeafOf(2 ** 32 - 2)) + 1) * size;
  for (let segment = 0, left = bytes; left > 0; segment++, left -= 2 ** 30) {
    const path = `/data/base/5/16384_fsm${segment === 0 ? '' : `.${segment}`}`;
    vfs.open(path, 'createExclusive').truncate(Math.min(left, 2 ** 30));
  }
  return { map: new FreeSpaceMap(relation), relation, pool, geometry };
}

describe.each(BLOCK_SIZES)('the map of a heap of %i-byte blocks', (size) => {
  const step = size / 256;
  const category = (bytes: number): number => (bytes >= size - 32 ? 255 : Math.min(Math.floor(bytes / step), 254));

  it('remembers what was recorded, rounded down, and offers only blocks that have enough', () => {
    const blocks = 2 * BlockGeometry.of(size).slotsPerFsmPage + 10;
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ block: fc.nat(blocks - 1), room: fc.nat(size), needed: fc.integer({ min: 1, max: size - 32 }) }),
          { maxLength: 40 },
        ),
        (steps) => {
          const { map } = heapOf(size, blocks);
          const model = new Map<number, number>();
          for (const { block, room, needed } of steps) {
            model.set(block, category(room));
            const found = map.recordAndFind(block, room, needed);
            const wanted = Math.min(Math.ceil(needed / step), 255);
            if (found !== NO_BLOCK) expect(model.get(found)).toBeGreaterThanOrEqual(wanted);
            else {
              const leaf = Math.floor(block / BlockGeometry.of(size).slotsPerFsmPage);
              for (const [other, value] of model) {
                if (Math.floor(other / BlockGeometry.of(size).slotsPerFsmPage) === leaf)
                  expect(value).toBeLessThan(wanted);
              }
            }
            const recorded = map.recorded(block);
            expect(recorded).toBe(category(room) === 255 ? size - 32 : category(room) * step);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('never offers a block past the end of the heap', () => {
    const { map } = heapOf(size, 3);
    map.record(5, size);
    map.record(1, size);
    map.record(7, size);
    expect(map.recordAndFind(0, 0, 100)).toBe(1);
    map.record(1, 0);
    expect(map.find(100)).toBe(NO_BLOCK);
    expect(map.recordAndFind(0, 0, 100)).toBe(NO_BLOCK);
  });

  it('finds from the root, after a vacuum of it, every block that was recorded, and no other', () => {
    const slots = BlockGeometry.of(size).slotsPerFsmPage;
    const blocks = slots * slots + 2 * slots;
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(blocks - 1), { minLength: 1, maxLength: 20 }), (free) => {
        const { map, relation } = heapOf(size, 0);
        relation.blockCount = () => blocks;
        map.vacuum(); // there is no map yet
        for (const block of free) map.record(block, size - 1);
        expect(map.find(size >> 1)).toBe(NO_BLOCK);
        map.vacuum();
        const found: number[] = [];
        for (let block = map.find(size >> 1); block !== NO_BLOCK; block = map.find(size >> 1)) {
          found.push(block);
          map.record(block, 0);
        }
        expect(found.sort((a, b) => a - b)).toEqual(free.sort((a, b) => a - b));
        map.vacuum();
        expect(map.find(1)).toBe(NO_BLOCK);
      }),
      { numRuns: 5 },
    );
  });

  it('costs time only, whatever its files hold', () => {
    fc.assert(
      fc.property(fc.constantFrom('random', 'all 255', 'cut short'), fc.integer(), (what, seed) => {
        let state = seed >>> 0;
        const random = (): number => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return state >>> 24;
        };
        const { map, relation, vfs, pool } = heapOf(size, 4);
        map.record(2, 500);
        pool.flushAll();
        relation.pool.dropFork(relation.fsm);
        const file = vfs.open('/data/base/5/16384_fsm', 'r+');
        if (what === 'cut short') file.truncate(size + 100);
        else {
          const bytes = Uint8Array.from({ length: file.size() }, () => (what === 'random' ? random() : 255));
          file.write(bytes, 0, bytes.length, 0);
        }
        for (let i = 0; i < 20; i++) {
          const found = map.recordAndFind(i & 3, 0, 400);
          expect(found === NO_BLOCK || (found >= 0 && found < 4)).toBe(true);
        }
        map.record(3, 700);
        expect(map.recorded(3)).toBe(Math.floor(700 / step) * step);
      }),
      { numRuns: 15 },
    );
  });

  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 2])(
    'records and finds block %i, alone and from the root',
    (block) => {
      const { map, relation, pool, geometry } = hugeHeapOf(size);
      const room = size >> 1;
      expect(map.recorded(block)).toBe(0);
      map.record(block, room);
      expect(map.recorded(block)).toBe(room);
      for (const near of [block - 1, block + 1]) {
        if (near < 2 ** 32 - 1) expect(map.recorded(near)).toBe(0);
      }
      // The same page by arithmetic of doubles: nothing wrapped on the way down.
      const slots = geometry.slotsPerFsmPage;
      expect([geometry.fsmLeafOf(block), geometry.fsmSlotOf(block)]).toEqual([
        Math.floor(block / slots),
        block % slots,
      ]);

      const sibling = block % slots === 0 ? block + 1 : block - 1;
      expect(map.recordAndFind(sibling, 0, room)).toBe(block);
      expect(map.recordAndFind(sibling, 0, room + size / 256)).toBe(NO_BLOCK);

      // The upper levels, which VACUUM brings up to date, lead to it from the root.
      expect(map.find(room)).toBe(NO_BLOCK);
      let page = Math.floor(block / slots);
      for (let level = 1; level < geometry.fsmTreeDepth; level++) {
        const slot = page % slots;
        page = Math.floor(page / slots);
        const id = pool.pin(relation.fsm, geometry.fsmPhysicalOf(level, page));
        const m = pool.memory(id);
        const base = pool.base(id);
        if (pageIsNew(m, base)) pageInit(m, base, geometry);
        setSlotValue(m, base, geometry, slot, 128);
        pool.markDirty(id);
        pool.unpin(id);
      }
      expect(page).toBe(0);
      expect(map.find(room)).toBe(block);
      pool.flushAll();
      pool.dropFork(relation.fsm);
      expect(map.recorded(block)).toBe(room);
      map.record(block, 0);
      expect(map.find(room)).toBe(NO_BLOCK);
      pool.close();
    },
  );

  it.each(['vacuumed', 'words', 'lineitem'])("reads PostgreSQL's own map of %s", (name) => {
    const folder = `${FIXTURES}${size / 1024}k`;
    const relations = readFileSync(`${folder}/expect/relations.txt`, 'utf8').split('\n');
    const path = relations.find((line) => line.startsWith(`${name} `))?.split(' ')[2] ?? '';
    const geometry = BlockGeometry.of(size);
    const storage = new StorageManager({ vfs: new NodeVfs(), directory: '.', geometry, readOnly: true });
    const pool = new BufferPool({ geometry, buffers: 64 });
    const relation = new Relation({ pool, storage: storage.openPath(`${folder}/pgdata/${path}`) });
    const map = new FreeSpaceMap(relation);
    const expected = readFileSync(`${folder}/expect/${name}.freespace.jsonl`, 'utf8').trim().split('\n');
    expect(expected.length).toBe(relation.blockCount());
    for (const line of expected) {
      const { blkno, avail } = JSON.parse(line) as { blkno: number; avail: number };
      expect(map.recorded(blkno), `block ${blkno}`).toBe(avail);
    }
    pool.close();
    storage.close();
  });
});
