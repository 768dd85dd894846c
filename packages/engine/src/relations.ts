// The open relations of a data directory: the pool that their pages go through, and a handle, a map and an inserter each,
// made when first asked for.
import { Relation } from '@blockwright/access';
import type { Oid } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import type { CatalogEntry } from '@blockwright/catalog';
import type { ControlFile } from '@blockwright/control';
import { BlockGeometry } from '@blockwright/geometry';
import { frozenEncoder, HeapInserter } from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import type { Vfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { locatorOf } from './layout.ts';

export interface RelationsOptions {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly control: ControlFile;
  readonly readOnly: boolean;
  /** Bytes of the buffer pool; at least 16 blocks are taken. */
  readonly sharedBytes: number;
  readonly onWarning: ((message: string) => void) | undefined;
  readonly debugPoison: boolean;
}

/** PostgreSQL: the least that `shared_buffers` can be, in blocks. */
const LEAST_BUFFERS = 16;

/** The relations of one open data directory. */
export class Relations {
  readonly geometry: BlockGeometry;
  readonly pool: BufferPool;
  private readonly storage: StorageManager;
  private readonly handles = new Map<Oid, Relation>();
  private readonly maps = new Map<Oid, VisibilityMap>();
  private readonly inserters = new Map<Oid, HeapInserter>();

  /** @throws RangeError for a pool larger than this machine can hold. */
  constructor(options: RelationsOptions) {
    const { vfs, directory, control, readOnly, sharedBytes, onWarning, debugPoison } = options;
    const { blockSize, segmentBlocks, dataChecksums } = control;
    this.geometry = BlockGeometry.of(blockSize);
    this.pool = new BufferPool({
      geometry: this.geometry,
      buffers: Math.max(Math.floor(sharedBytes / blockSize), LEAST_BUFFERS),
      verifyChecksums: dataChecksums,
      writeChecksums: dataChecksums,
      onWarning,
      debugPoison,
    });
    this.storage = new StorageManager({ vfs, directory, geometry: this.geometry, segmentBlocks, readOnly });
  }

  /** The handle of a relation; `name` is for messages. */
  handle(relfilenode: Oid, name: string): Relation {
    return known(this.handles, relfilenode, () => {
      return new Relation({ pool: this.pool, storage: this.storage.open(locatorOf(relfilenode)), name });
    });
  }

  handleOf(entry: CatalogEntry): Relation {
    return this.handle(entry.relfilenode, entry.name);
  }

  mapOf(entry: CatalogEntry): VisibilityMap {
    return known(this.maps, entry.relfilenode, () => {
      return new VisibilityMap({ pool: this.pool, fork: this.handleOf(entry).vm });
    });
  }

  /** The inserter of a table, kept so that the next rows go where the last ones went. */
  inserterOf(entry: CatalogEntry): HeapInserter {
    return known(this.inserters, entry.relfilenode, () => {
      return new HeapInserter(this.handleOf(entry), frozenEncoder(entry.descriptor, this.geometry), this.mapOf(entry));
    });
  }

  /** Takes all rows out of a table: its pages leave the pool unwritten. */
  empty(entry: CatalogEntry): void {
    const relation = this.handleOf(entry);
    this.mapOf(entry).truncate(0);
    this.pool.dropFork(relation.main);
    relation.main.truncate(0);
    this.inserters.delete(entry.relfilenode);
  }

  /** Removes a relation's files and forgets its handle. */
  unlink(relfilenode: Oid): void {
    this.handles.get(relfilenode)?.unlink();
    this.handles.delete(relfilenode);
  }

  /** Writes every changed page and syncs every file. */
  flush(): void {
    this.pool.flushAll();
    this.storage.syncPending();
  }

  /**
   * Writes and syncs everything, and closes every file, whatever fails.
   * @throws StorageError 55006 when a page is still pinned, naming it; what writing throws.
   */
  close(): void {
    try {
      this.pool.close();
      this.storage.syncPending();
    } finally {
      this.storage.close();
    }
  }

  /** Closes every file and writes nothing. */
  abandon(): void {
    this.pool.abandon();
    this.storage.close();
  }
}

function known<Value>(map: Map<Oid, Value>, key: Oid, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
