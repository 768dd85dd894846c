// An index to be built over rows that a test makes up, on an in-memory file system; and what was built, read back from the
// file by a reader of its own.

import { Relation, type TableAccess, type UseTableTuple } from '@blockwright/access';
import { type OffsetNumber, type Progress, runSync, type Steps } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { LP_NORMAL, linePointer, lpFlags, lpLength, lpOffset, pageMaxOffset, pageMemory } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import type { Snapshot, Transaction } from '@blockwright/transam';
import {
  type ColumnDefinition,
  IndexTupleFormat,
  IndexTupleFormer,
  type KeyOrder,
  TupleDescriptor,
  TupleEncoder,
  type TupleMemory,
} from '@blockwright/tuple';
import type { Vfs } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { BtreeIndex } from '../src/btree.ts';
import { type BuildResult, btreeBuild } from '../src/build.ts';

/** A row of the table, at the TID of its HOT chain's root. */
export interface WorldRow {
  readonly values: readonly unknown[];
  readonly block: number;
  readonly offset: OffsetNumber;
  /** False when it does not count for uniqueness. */
  readonly isAlive?: boolean;
}

export interface WorldOptions {
  readonly columns: Readonly<Record<string, ColumnDefinition['type']>>;
  /** One a key column; ascending when not given, all columns being keys. */
  readonly keys?: readonly KeyOrder[];
  readonly isUnique?: boolean;
  readonly nullsNotDistinct?: boolean;
  readonly deduplicate?: boolean;
  readonly fillfactor?: number;
  readonly maintenanceWorkMem?: number;
  readonly vfs?: Vfs;
  readonly buffers?: number;
  /** Rows come from the file of a heap all of whose tuples are live, instead of being made up. */
  readonly heap?: HeapFile;
}

interface HeapFile {
  readonly file: Uint8Array;
  readonly descriptor: TupleDescriptor;
  /** Which of its columns each of the index's is. */
  readonly columns: readonly number[];
}

export const ASCENDING: KeyOrder = { descending: false, nullsFirst: false };
export const TEMP = '/data/temp';

/** An index that is not built yet. */
export class BuildWorld {
  readonly vfs: Vfs;
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly index: BtreeIndex;
  readonly format: IndexTupleFormat;
  readonly former: IndexTupleFormer;
  readonly maintenanceWorkMem: number;
  rows: readonly WorldRow[] = [];

  constructor(size: BlockSize, options: WorldOptions) {
    const geometry = BlockGeometry.of(size);
    this.vfs = options.vfs ?? new MemoryVfs();
    for (const path of ['/data', '/data/base', '/data/base/5']) if (!this.vfs.exists(path)) this.vfs.mkdir(path);
    this.storage = new StorageManager({ vfs: this.vfs, directory: '/data', geometry });
    this.pool = new BufferPool({ geometry, buffers: options.buffers ?? 64 });
    const stored = this.storage.open({ tablespace: 1663, database: 5, relfilenode: 16385 });
    const relation = new Relation({
      pool: this.pool,
      storage: stored,
      name: 'things_key',
      fillfactor: options.fillfactor ?? 90,
    });
    relation.main.create();
    const names = Object.keys(options.columns);
    const descriptor = TupleDescriptor.of(names.map((name) => ({ name, type: options.columns[name] })));
    this.format = IndexTupleFormat.of(descriptor, options.keys ?? names.map(() => ASCENDING));
    const { heap } = options;
    const columns = heap?.columns ?? names.map((_, i) => i);
    // Rows that are made up stay as long as they are.
    const compression = heap === undefined ? {} : { toastTarget: geometry.maxHeapTupleSize >>> 4 };
    this.former = new IndexTupleFormer(this.format, heap?.descriptor ?? descriptor, columns, compression);
    this.maintenanceWorkMem = options.maintenanceWorkMem ?? 1 << 26;
    this.index = new BtreeIndex({
      relation,
      format: this.format,
      isUnique: options.isUnique ?? false,
      nullsNotDistinct: options.nullsNotDistinct ?? false,
      deduplicate: options.deduplicate ?? true,
      table: fakeTable(heap === undefined ? madeUp(descriptor, () => this.rows) : tuplesOf(heap.file, size)),
    });
  }

  steps(): Steps<BuildResult> {
    const { vfs, former, maintenanceWorkMem } = this;
    return btreeBuild(this.index, undefined, { former, maintenanceWorkMem, vfs, tempDirectory: TEMP });
  }

  build(rows: readonly WorldRow[], onProgress?: (progress: Progress) => void): BuildResult {
    this.rows = rows;
    return runSync(this.steps(), onProgress);
  }

  /** The index's file. */
  file(): Uint8Array {
    this.pool.flushAll();
    return this.vfs.readFile(`/data/${this.index.relation.storage.name}`);
  }

  /** The tuple that the index has for a row. */
  tupleOf({ values, block, offset }: WorldRow): string {
    const length = this.former.fromValues(values);
    const bytes = Buffer.from(this.former.memory.u8.slice(0, length));
    bytes.writeUInt16LE(block >>> 16, 0);
    bytes.writeUInt16LE(block & 0xffff, 2);
    bytes.writeUInt16LE(offset, 4);
    return bytes.toString('hex');
  }
}

type BuildScan = TableAccess<Transaction, Snapshot>['buildScan'];

function fakeTable(buildScan: BuildScan): TableAccess<Transaction, Snapshot> {
  const unused = (): never => {
    throw new Error('a build asks only for the scan');
  };
  return {
    name: 'things',
    conflictXid: 0,
    allDead: false,
    position: 0,
    length: 0,
    memory: pageMemory(new ArrayBuffer(8)),
    uniqueCheck: unused,
    fetch: unused,
    deletable: unused,
    release: unused,
    buildScan,
  };
}

function madeUp(descriptor: TupleDescriptor, rows: () => readonly WorldRow[]): BuildScan {
  return function* (use: UseTableTuple): Steps<{ tuples: number }> {
    const encoder = TupleEncoder.for(descriptor);
    const m = pageMemory(new ArrayBuffer(0x10000));
    let tuples = 0;
    for (const { values, block, offset, isAlive } of rows()) {
      const length = encoder.encode(values, m.u8, 0);
      use(m, 0, length, block, offset, isAlive ?? true);
      if ((++tuples & 7) === 0) yield { phase: 'scanning', done: tuples, total: 0, unit: 'blocks' };
    }
    return { tuples };
  };
}

function tuplesOf(file: Uint8Array, size: BlockSize): BuildScan {
  const m = pageMemory(new Uint8Array(file).buffer);
  return function* (use: UseTableTuple): Steps<{ tuples: number }> {
    let tuples = 0;
    for (let base = 0, block = 0; base < file.length; base += size, block++) {
      for (let o = 1; o <= pageMaxOffset(m, base); o++) {
        const lp = linePointer(m, base, o);
        if (lpFlags(lp) !== LP_NORMAL) continue;
        use(m, base + lpOffset(lp), lpLength(lp), block, o, true);
        tuples++;
      }
      yield { phase: 'scanning', done: block, total: 0, unit: 'blocks' };
    }
    return { tuples };
  };
}

/** An item of a page: a pivot tuple, a plain one, or a posting list. */
interface ReadItem {
  /** Block number, or of a posting list where it begins. */
  readonly block: number;
  readonly natts: number | undefined;
  /** The tuple's heap TIDs as `(block,offset)`, of a pivot the one that tells it from others. */
  readonly tids: readonly string[];
  /** In the form of {@link BuildWorld.tupleOf}, one a TID; of a pivot its bytes from the header on. */
  readonly tuples: readonly string[];
  readonly bytes: Uint8Array;
}

export interface ReadPage {
  readonly block: number;
  readonly prev: number;
  readonly next: number;
  readonly level: number;
  readonly flags: number;
  readonly highKey: ReadItem | undefined;
  readonly items: readonly ReadItem[];
  /** Bytes between line pointers and items. */
  readonly free: number;
}

export interface ReadTree {
  readonly root: number;
  readonly level: number;
  readonly allEqualImage: boolean;
  readonly pages: readonly ReadPage[];
}

const PIVOT_OR_POSTING = 0x2000;
const POSTING = 0x2000;

/** Reads an index file by the format alone. */
export function readTree(file: Uint8Array, size: BlockSize): ReadTree {
  const bytes = Buffer.from(file);
  const meta = bytes.subarray(24);
  expectEqual(meta.readUInt32LE(0), 0x053162, 'magic');
  expectEqual(meta.readUInt32LE(4), 4, 'version');
  const pages: ReadPage[] = [];
  for (let block = 1; block < bytes.length / size; block++) pages.push(readPage(bytes, size, block));
  expectEqual(meta.readUInt32LE(16), meta.readUInt32LE(8), 'fast root');
  return {
    root: meta.readUInt32LE(8),
    level: meta.readUInt32LE(12),
    allEqualImage: meta[40] !== 0,
    pages,
  };
}

function readPage(bytes: Buffer, size: BlockSize, block: number): ReadPage {
  const page = bytes.subarray(block * size, (block + 1) * size);
  const m = pageMemory(new Uint8Array(page).buffer);
  const special = page.subarray(size - 16);
  const next = special.readUInt32LE(4);
  const items: ReadItem[] = [];
  for (let o = 1; o <= pageMaxOffset(m, 0); o++) {
    const lp = linePointer(m, 0, o);
    items.push(readItem(page.subarray(lpOffset(lp), lpOffset(lp) + lpLength(lp)), m));
  }
  const highKey = next === 0 ? undefined : items.shift();
  return {
    block,
    prev: special.readUInt32LE(0),
    next,
    level: special.readUInt32LE(8),
    flags: special.readUInt16LE(12),
    highKey,
    items,
    free: page.readUInt16LE(14) - page.readUInt16LE(12),
  };
}

function readItem(item: Buffer, _: TupleMemory): ReadItem {
  const info = item.readUInt16LE(6);
  const block = item.readUInt16LE(0) * 0x10000 + item.readUInt16LE(2);
  const offset = item.readUInt16LE(4);
  expectEqual(info & 0x1fff, item.length, 'size in t_info');
  const tid = (at: number): string =>
    `(${item.readUInt16LE(at) * 0x10000 + item.readUInt16LE(at + 2)},${item.readUInt16LE(at + 4)})`;
  const hex = item.toString('hex');
  if ((info & PIVOT_OR_POSTING) === 0) {
    return { block, natts: undefined, tids: [tid(0)], tuples: [hex], bytes: item };
  }
  if ((offset & POSTING) !== 0) {
    const tids = Array.from({ length: offset & 0xfff }, (_unused, i) => tid(block + i * 6));
    const tuples = tids.map((_unused, i) => {
      const plain = Buffer.from(item.subarray(0, block));
      item.copy(plain, 0, block + i * 6, block + i * 6 + 6);
      plain.writeUInt16LE((info & ~0x3fff) | block, 6);
      return plain.toString('hex');
    });
    return { block, natts: undefined, tids, tuples, bytes: item };
  }
  const tids = (offset & 0x1000) !== 0 ? [tid(item.length - 6)] : [];
  return { block, natts: offset & 0xfff, tids, tuples: [hex], bytes: item };
}

function expectEqual(actual: number, expected: number, what: string): void {
  if (actual !== expected) throw new Error(`${what} is ${actual} instead of ${expected}`);
}
