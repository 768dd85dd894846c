// Readers of relation files and of whole directories.
import { Relation } from '@blockwright/access';
import { checkRelation } from '@blockwright/amcheck';
import { ForkNumber, isStorageError, runSync } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { checkPath, RelationFile, type TableDef } from '@blockwright/engine';
import { FreeSpaceMap } from '@blockwright/freespacemap';
import { HeapScan, heapCount, heapPageStats } from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import { VisibilityMap } from '@blockwright/visibilitymap';
import type { Reader } from './harness.ts';
import { type FuzzInput, RELATION_PATH } from './input.ts';

const BUFFERS = 16;
const pools = new Map<number, BufferPool>();

/** Opens the input's relation; pools are kept, one a block size. */
function withRelation<Result>(input: FuzzInput, use: (relation: Relation, map: VisibilityMap) => Result): Result {
  const { geometry, vfs } = input;
  let pool = pools.get(geometry.size);
  if (pool === undefined) {
    pool = new BufferPool({ geometry, buffers: BUFFERS, verifyChecksums: true });
    pools.set(geometry.size, pool);
  }
  const storage = new StorageManager({ vfs, directory: '/', geometry, readOnly: true });
  const stored = storage.openPath(RELATION_PATH);
  try {
    const relation = new Relation({ pool, storage: stored });
    return use(relation, new VisibilityMap({ pool, fork: relation.vm }));
  } finally {
    for (const fork of [ForkNumber.main, ForkNumber.vm, ForkNumber.fsm]) pool.dropFork(stored.fork(fork));
    storage.close();
  }
}

/** Whether a refusal came from the decoder of attributes. */
function isOfAttribute(error: unknown): boolean {
  return isStorageError(error) && /attribute \d/.test(`${error.message} ${error.detail ?? ''}`);
}

export const FILE_READERS: readonly Reader[] = [
  {
    name: 'heap: scan',
    read: (input) =>
      withRelation(input, (relation) => {
        const { descriptor } = input.relation;
        const scan = new HeapScan(relation, descriptor, {
          columns: descriptor.liveColumns(),
          unknown: 'skip',
          fetchToast: ({ externalSize }) => new Uint8Array(Math.min(externalSize, 4096)),
        });
        let rows = 0;
        try {
          for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
        } catch (error) {
          if (isOfAttribute(error)) return true;
          throw error;
        }
        return rows > 0;
      }),
  },
  {
    name: 'heap: count',
    read: (input) =>
      withRelation(input, (relation, map) => {
        heapCount(relation, { map, unknown: 'skip' });
        heapCount(relation, { unknown: 'skip' });
        heapPageStats(relation);
        return false;
      }),
  },
  {
    name: 'visibilitymap',
    read: (input) =>
      withRelation(input, (_, map) => {
        map.count();
        const cursor = map.cursor();
        for (const block of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, input.random.uint32()]) {
          if (cursor.status(block) !== map.status(block)) throw new Error(`cursor and map differ at block ${block}`);
        }
        cursor.close();
        return false;
      }),
  },
  {
    name: 'freespacemap',
    read: (input) =>
      withRelation(input, (relation) => {
        const map = new FreeSpaceMap(relation);
        for (const block of [0, 1, input.random.below(5000)]) map.recorded(block);
        return false;
      }),
  },
  {
    name: 'amcheck',
    read: ({ vfs, geometry, relation, random }) => {
      const options = {
        vfs,
        geometry,
        path: RELATION_PATH,
        segmentBlocks: 1 << geometry.segmentShift,
        checksums: true,
        descriptor: random.oneIn(4) ? undefined : relation.descriptor,
        utf8: true,
        xids: { next: 800, nextEpoch: 0, oldest: 700, multixacts: { next: 3, oldest: 1 } },
      };
      return runSync(checkRelation(options, () => {})).some(({ decodedTuples }) => decodedTuples > 0);
    },
  },
  {
    name: 'engine: RelationFile',
    every: 16,
    read: ({ vfs, relation }) => {
      const columns = Object.fromEntries(
        relation.descriptor.columns.filter(({ isDropped }) => !isDropped).map(({ name, type }) => [name, type]),
      );
      const definition: TableDef = { name: relation.name, columns, descriptor: relation.descriptor };
      const file = RelationFile.open(RELATION_PATH, definition, { vfs, sharedBuffers: '1MB' });
      try {
        file.count(definition, { unknown: 'skip' });
        const scan = file.scan(definition, { columns: Object.keys(columns), unknown: 'skip' });
        return [...scan.rows()].length > 0;
      } finally {
        file.close();
      }
    },
  },
  {
    name: 'engine: checkPath',
    every: 16,
    read: ({ vfs }) => {
      runSync(checkPath(RELATION_PATH, () => {}, { vfs }));
      return false;
    },
  },
];
