import { changePage, Relation, withBlock } from '@blockwright/access';
import { StorageError } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageAddItem, pageInit, pageMaxOffset } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, test } from 'vitest';

const g = BlockGeometry.of('8kB');
const locator = { tablespace: 1663, database: 5, relfilenode: 16384 };
const BYTES = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

interface Made {
  readonly vfs: MemoryVfs;
  readonly storage: StorageManager;
  readonly pool: BufferPool;
  readonly relation: Relation;
}

function make(geometry: BlockGeometry = g): Made {
  const vfs = new MemoryVfs();
  for (const directory of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(directory);
  const storage = new StorageManager({ vfs, directory: '/data', geometry });
  const pool = new BufferPool({ geometry, buffers: 64 });
  const relation = new Relation({ pool, storage: storage.open(locator), name: 'public.words' });
  relation.main.create();
  return { vfs, storage, pool, relation };
}

/** Adds so many pages, each with one item. */
function fill({ pool, relation }: Made, blocks: number): void {
  for (let i = 0; i < blocks; i++) {
    const block = pool.extend(relation.main, 1);
    changePage(pool, relation.main, block, (m, base) => {
      pageInit(m, base, relation.geometry);
      pageAddItem(m, base, relation.geometry, BYTES, 0, 8);
    });
  }
}

const itemsOf = (pool: BufferPool, relation: Relation, block: number): number =>
  pool.withPage(relation.main, block, (m, base) => pageMaxOffset(m, base));

describe('a relation', () => {
  test('has a name, its forks, and its path when it has no name', () => {
    const { relation, pool, storage } = make();
    expect([relation.name, relation.main.name, relation.fsm.name, relation.vm.name]).toEqual([
      'public.words',
      'base/5/16384',
      'base/5/16384_fsm',
      'base/5/16384_vm',
    ]);
    expect(new Relation({ pool, storage: storage.open(locator) }).name).toBe('base/5/16384');
  });

  test.each(BLOCK_SIZES)('of %i-byte blocks: filled, closed, opened and read again', (size) => {
    const geometry = BlockGeometry.of(size);
    const made = make(geometry);
    const { pool, relation, storage } = made;
    fill(made, 5);
    relation.vm.create();
    pool.extend(relation.vm, 1);
    relation.close();
    const again = new Relation({ pool, storage: storage.open(locator) });
    expect([again.blockCount(), again.vm.blockCount()]).toEqual([5, 1]);
    for (let b = 0; b < 5; b++) expect(itemsOf(pool, again, b)).toBe(1);
    expect(pool.stats.reads).toBe(5);
  });

  test('flush writes all forks and keeps the pages', () => {
    const made = make();
    fill(made, 3);
    made.relation.fsm.create();
    made.pool.extend(made.relation.fsm, 1);
    expect(made.relation.flush()).toBe(4);
    expect(made.relation.flush()).toBe(0);
    expect(made.pool.isResident(made.relation.main, 2)).toBe(true);
  });

  test('truncate drops pages beyond, dirty ones too, and the file ends there', () => {
    const made = make();
    const { pool, relation } = made;
    fill(made, 6);
    relation.truncate(2);
    expect([relation.blockCount(), pool.isResident(relation.main, 1), pool.isResident(relation.main, 2)]).toEqual([
      2,
      true,
      false,
    ]);
    expect(pool.extend(relation.main, 1)).toBe(2);
    expect(itemsOf(pool, relation, 2)).toBe(0);
    pool.close();
  });

  test('a pinned page stops truncate, close and unlink before they change anything', () => {
    const made = make();
    const { pool, relation, vfs } = made;
    fill(made, 3);
    const id = pool.pin(relation.main, 2);
    const inUse = expect.objectContaining({ code: '55006' });
    expect(() => relation.truncate(1)).toThrow(inUse);
    expect(() => relation.close()).toThrow(inUse);
    expect(() => relation.unlink()).toThrow(inUse);
    expect([relation.blockCount(), vfs.exists('/data/base/5/16384')]).toEqual([3, true]);
    pool.unpin(id);
    relation.unlink();
    expect(vfs.exists('/data/base/5/16384')).toBe(false);
  });

  test('unlinked, and its number reused: no old page reaches the new file (I7)', () => {
    const made = make();
    const { pool, relation, storage } = made;
    fill(made, 3);
    relation.unlink();
    relation.storage.close();
    const fresh = new Relation({ pool, storage: storage.open(locator) });
    fresh.main.create();
    pool.extend(fresh.main, 3);
    for (let b = 0; b < 3; b++) expect(itemsOf(pool, fresh, b)).toBe(0);
    pool.close();
  });
});

describe('changing a page', () => {
  test('pins, changes, marks dirty, unpins; gives what the change gives', () => {
    const made = make();
    const { pool, relation } = made;
    fill(made, 1);
    pool.flushAll();
    const offset = changePage(pool, relation.main, 0, (m, base) => pageAddItem(m, base, g, BYTES, 0, 8));
    expect([offset, pool.flushAll(), pool.pinned()]).toEqual([2, 1, []]);
  });

  test('what it throws names fork and block; nothing is marked dirty, no pin is left', () => {
    const made = make();
    const { pool, relation } = made;
    fill(made, 1);
    pool.flushAll();
    const corrupt = new StorageError('XX001', 'the line pointer is damaged', { detail: 'd', hint: 'h' });
    expect(() =>
      changePage(pool, relation.main, 0, () => {
        throw corrupt;
      }),
    ).toThrow(
      expect.objectContaining({
        code: 'XX001',
        message: 'block 0 of base/5/16384: the line pointer is damaged',
        detail: 'd',
        hint: 'h',
        cause: corrupt,
      }),
    );
    expect([pool.flushAll(), pool.pinned()]).toEqual([0, []]);
  });

  test('withBlock names the line pointer too, and leaves other errors as they are', () => {
    const { relation } = make();
    const named = withBlock(new StorageError('XX001', 'bad'), relation.main, 0xffff_fffe, 7) as StorageError;
    expect(named.message).toBe('block 4294967294, offset 7 of base/5/16384: bad');
    const mine = new RangeError('mine');
    expect(withBlock(mine, relation.main, 1)).toBe(mine);
  });
});
