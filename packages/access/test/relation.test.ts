import { Relation, truncateRelation, withBlock } from '@blockwright/access';
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
    const id = pool.pin(relation.main, block);
    pageInit(pool.memory(id), pool.base(id), relation.geometry);
    pageAddItem(pool.memory(id), pool.base(id), relation.geometry, BYTES, 0, 8);
    pool.markDirty(id);
    pool.unpin(id);
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
    truncateRelation(relation, 2);
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
    expect(() => truncateRelation(relation, 1)).toThrow(inUse);
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

describe('an error of a page function', () => {
  test('gets the place named: fork, block, line pointer; other errors stay as they are', () => {
    const { relation } = make();
    const corrupt = new StorageError('XX001', 'bad', { detail: 'd', hint: 'h' });
    const named = withBlock(corrupt, relation.main, 0xffff_fffe, 7);
    const message = 'block 4294967294, offset 7 of base/5/16384: bad';
    expect(named).toMatchObject({ code: 'XX001', message, detail: 'd', hint: 'h', cause: corrupt });
    const mine = new RangeError('mine');
    expect(withBlock(mine, relation.main, 1)).toBe(mine);
  });
});
