// count(*) from an index alone, with other ways to ask the visibility map swapped in: what the map costs is the difference
// to the same scan that does not ask it. The index and the map are opened from the files of the directory, read only.
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { BtreeIndex, BtreeScan } from '@blockwright/nbtree';
import { StorageManager } from '@blockwright/smgr';
import { IndexTupleFormat, int8, TupleDescriptor } from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';

/** How the map is asked. */
const LOOKUPS = ['unasked', 'window', 'multiplying', 'dividing'] as const;
type Lookup = (typeof LOOKUPS)[number];

/** What a look-up needs, by whose source it is told apart from the others: the loop around it is the same. */
const BODIES: Readonly<Record<Lookup, string>> = {
  // Nothing is asked: every entry counts.
  unasked: 'rows += count;',
  // As the engine does: once for entries that follow each other on one block, within the window of a map page.
  window: `let last = ~blocks[0];
    for (let i = 0; i < count; i++) {
      const block = blocks[i] | 0;
      if (block !== last) { last = block; visible = cursor.status(block >>> 0) & 1; }
      rows += visible;
    }`,
  // For each entry: the quotient by shifts, the map page's address and first block by multiplications.
  multiplying: `for (let i = 0; i < count; i++) {
      const block = blocks[i];
      const page = g.vmBlockOf(block);
      const within = block - Math.imul(page, perPage);
      rows += (u8[Math.imul(page, size) + 24 + (within >>> 2)] >>> ((within & 3) << 1)) & 1;
    }`,
  // For each entry: a division and a remainder by a number that is known at run time only.
  dividing: `for (let i = 0; i < count; i++) {
      const block = blocks[i];
      const page = ((block >>> 0) / (perPage >>> 0)) >>> 0;
      const within = (block >>> 0) % (perPage >>> 0);
      rows += (u8[Math.imul(page, size) + 24 + (within >>> 2)] >>> ((within & 3) << 1)) & 1;
    }`,
};

type Count = (
  scan: BtreeScan,
  cursor: unknown,
  u8: Uint8Array,
  g: BlockGeometry,
  size: number,
  perPage: number,
) => number;

/** A function of its own for each look-up and block size, so that the compiler has seen nothing else in it. */
function compile(lookup: Lookup): Count {
  const source = `"use strict";
return function ${lookup}Count(scan, cursor, u8, g, size, perPage) {
  let rows = 0, visible = 0;
  for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
    const blocks = scan.blocks;
    ${BODIES[lookup]}
  }
  return rows;
};`;
  return (new Function(source) as () => Count)();
}

export interface IndexVariants {
  readonly count: Readonly<Record<Lookup, () => number>>;
  close(): void;
}

/** Where the files are, below the directory: of the index on an int8 column, and of its table. */
export interface IndexPlaces {
  readonly directory: string;
  readonly blockSize: BlockSize;
  readonly index: string;
  readonly table: string;
  readonly indexBytes: number;
}

export function openVariants({ directory, blockSize, index, table, indexBytes }: IndexPlaces): IndexVariants {
  const geometry = BlockGeometry.of(blockSize);
  const storage = new StorageManager({ vfs: new NodeVfs(), directory: '.', geometry, readOnly: true });
  const buffers = (indexBytes >>> geometry.shift) + 256;
  const pool = new BufferPool({ geometry, buffers, verifyChecksums: false });
  const descriptor = TupleDescriptor.of([{ name: 'l_orderkey', type: int8() }]);
  const format = IndexTupleFormat.of(descriptor, [{ descending: false, nullsFirst: false }]);
  const relation = new Relation({ pool, storage: storage.openPath(`${directory}/${index}`) });
  const btree = new BtreeIndex({ relation, format, isUnique: false });
  const heap = new Relation({ pool, storage: storage.openPath(`${directory}/${table}`) });
  const map = new VisibilityMap({ pool, fork: heap.vm });
  const u8 = mapPages(heap, pool, blockSize);
  const run = (count: Count): (() => number) => {
    return () => {
      using scan = new BtreeScan(btree, { tuples: false });
      using cursor = map.cursor();
      return count(scan, cursor, u8, geometry, blockSize, geometry.heapBlocksPerVmPage);
    };
  };
  const counts = Object.fromEntries(LOOKUPS.map((lookup) => [lookup, run(compile(lookup))]));
  return {
    count: counts as unknown as IndexVariants['count'],
    close: () => {
      pool.close();
      storage.close();
    },
  };
}

/** The map's pages side by side, for look-ups that compute where a page is. */
function mapPages({ vm }: Relation, pool: BufferPool, size: number): Uint8Array {
  const pages = vm.exists() ? vm.blockCount() : 0;
  const u8 = new Uint8Array((pages + 1) * size);
  for (let page = 0; page < pages; page++) {
    const id = pool.pin(vm, page);
    const base = pool.base(id);
    u8.set(pool.memory(id).u8.subarray(base, base + size), page * size);
    pool.unpin(id);
  }
  return u8;
}
