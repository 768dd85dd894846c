// A relation file as it lies, without a data directory around it: PostgreSQL's or ours, of any block size, read only.
import { Relation } from '@blockwright/access';
import { checkOptions, ForkNumber, StorageError } from '@blockwright/base';
import { BufferPool, type BufferStats } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize, parseBlockSize } from '@blockwright/geometry';
import { type HeapCount, type HeapPageStats, heapCount, heapPageStats, type UnknownPolicy } from '@blockwright/heap';
import { parseRelationFileName, StorageManager } from '@blockwright/smgr';
import { NodeVfs, type Vfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { detectPages } from './detect.ts';
import { heapScanOf, type Scan, type ScanOptions } from './scan.ts';
import { parseMemorySize } from './sizes.ts';
import type { ColumnName, TableDef } from './table.ts';

export interface RelationFileOptions {
  /** Found from the pages' own headers when not given. */
  readonly blockSize?: BlockSize | `${number}kB` | (string & {}) | number;
  /** Bytes of the buffer pool, or text; 128MB by default. */
  readonly sharedBuffers?: number | string;
  /**
   * Verify each page's checksum. By default, whether the first page that is not empty has one: PostgreSQL leaves 0
   * there when checksums are off, and never writes 0 when they are on.
   */
  readonly verifyChecksums?: boolean;
  readonly onWarning?: (message: string) => void;
  readonly vfs?: Vfs;
}

const KNOWN_OPTIONS = ['blockSize', 'sharedBuffers', 'verifyChecksums', 'onWarning', 'vfs'];
const COUNT_OPTIONS = ['map', 'unknown'];
const LEAST_BUFFERS = 16;

/** A heap relation opened by the path of its first segment; its maps and further segments are looked for beside it. */
export class RelationFile<Table extends TableDef = TableDef> implements Disposable {
  readonly table: Table;
  readonly geometry: BlockGeometry;
  private readonly storage: StorageManager;
  private readonly pool: BufferPool;
  private readonly relation: Relation;
  private readonly map: VisibilityMap;
  private closed = false;

  private constructor(table: Table, geometry: BlockGeometry, storage: StorageManager, pool: BufferPool, path: string) {
    this.table = table;
    this.geometry = geometry;
    this.storage = storage;
    this.pool = pool;
    this.relation = new Relation({ pool, storage: storage.openPath(path) });
    this.map = new VisibilityMap({ pool, fork: this.relation.vm });
  }

  /**
   * Opens a relation file with the columns of `table`.
   * @throws StorageError 58P01 when there is no such file; 55000 when its name is that of another fork or of a later
   *   segment, when its block size cannot be told, or is not the one given; RangeError for an option's value that is no
   *   block size or no size of memory; TypeError for an unknown option.
   */
  static open<Table extends TableDef>(
    path: string,
    table: Table,
    options: RelationFileOptions = {},
  ): RelationFile<Table> {
    checkOptions('RelationFile.open', options, KNOWN_OPTIONS);
    refuseUnlessFirstOfMain(path);
    const vfs = options.vfs ?? new NodeVfs();
    const detected = detectPages(vfs, path);
    const given = options.blockSize === undefined ? undefined : parseBlockSize(options.blockSize);
    if (given !== undefined && detected.blockSize !== undefined && given !== detected.blockSize) {
      throw new StorageError('55000', `"${path}" has blocks of ${detected.blockSize} bytes, not of ${given} as asked`);
    }
    const size = given ?? detected.blockSize;
    if (size === undefined) {
      throw new StorageError('55000', `"${path}": the block size cannot be told from its pages`, {
        hint: 'Give it with --block-size, or as the option blockSize.',
      });
    }
    const geometry = BlockGeometry.of(size);
    const storage = new StorageManager({ vfs, directory: '.', geometry, readOnly: true });
    const verifyChecksums = options.verifyChecksums ?? detected.hasChecksums;
    const bytes = parseMemorySize('sharedBuffers', options.sharedBuffers ?? '128MB');
    const buffers = Math.max(Math.floor(bytes / size), LEAST_BUFFERS);
    const pool = new BufferPool({ geometry, buffers, verifyChecksums, onWarning: options.onWarning });
    return new RelationFile(table, geometry, storage, pool, path);
  }

  /** Blocks of the main fork. */
  get blocks(): number {
    return this.relation.blockCount();
  }

  /** What the buffer pool has done so far. */
  get bufferStats(): BufferStats {
    return this.pool.stats;
  }

  /** Scans the visible rows; `table` is the file's own, and is there so that a database and a file can be used alike. */
  scan<Of extends TableDef, Name extends ColumnName<Of>>(table: Of, options: ScanOptions<Name>): Scan<Of, Name> {
    return heapScanOf(this.relation, table.descriptor, options);
  }

  /** Counts the visible rows; with `map: false`, without asking the visibility map beside the file. */
  count(_table: TableDef, options: { map?: boolean; unknown?: UnknownPolicy } = {}): HeapCount {
    checkOptions('count', options, COUNT_OPTIONS);
    return heapCount(this.relation, { map: options.map === false ? undefined : this.map, unknown: options.unknown });
  }

  /** How full the pages are. */
  pageStats(_table: TableDef): HeapPageStats {
    return heapPageStats(this.relation);
  }

  /** Closes the file; again is fine. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    try {
      this.pool.close();
    } finally {
      this.storage.close();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

const FORK_TITLES: Readonly<Record<ForkNumber, string>> = {
  [ForkNumber.main]: 'the main fork',
  [ForkNumber.fsm]: 'the free space map',
  [ForkNumber.vm]: 'the visibility map',
  [ForkNumber.init]: 'the init fork',
};

/** Maps hold no rows, and the blocks of a later segment are numbered from its first: neither can be read by itself. */
function refuseUnlessFirstOfMain(path: string): void {
  const name = parseRelationFileName(path);
  if (name === undefined || (name.fork === ForkNumber.main && name.segment === 0)) return;
  const part = name.fork === ForkNumber.main ? `segment ${name.segment}` : FORK_TITLES[name.fork];
  throw new StorageError('55000', `"${path}" is ${part} of a relation, which cannot be read by itself`, {
    hint: `Open the relation's main file, "${name.relation}": what belongs to it is found beside it.`,
  });
}
