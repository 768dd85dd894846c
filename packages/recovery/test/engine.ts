// A small engine for these tests: pages of cells, a resource manager that sets them, and everything around it that a real
// one has. It opens a directory as `Database.open` does.
import {
  createRelationFiles,
  PAGE_WILL_INIT,
  PageLog,
  PendingCreates,
  REDO_NEEDED,
  type RedoPages,
  Relation,
  RemovedFiles,
  truncateRelation,
} from '@blockwright/access';
import { DEFAULT_TABLESPACE, type Lsn, type RelationLocator, runSync } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { type ControlFile, ControlHolder, initialControlFile, writeControlFile } from '@blockwright/control';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { type PageMemory, pageInit, pageSetLower } from '@blockwright/page';
import {
  bootstrapWal,
  Checkpointer,
  type CheckpointerOptions,
  cleanStart,
  ObjectIds,
  type RecoveryOptions,
  type RecoveryReport,
  recoverSteps,
  type WalState,
} from '@blockwright/recovery';
import { StorageManager } from '@blockwright/smgr';
import { CommitLog, type Transaction, Transactions } from '@blockwright/transam';
import type { Vfs } from '@blockwright/vfs';
import { type ResourceManager, type WalRecord, WalWriter } from '@blockwright/wal';

const DATABASE = 5;
const RM_CELLS = 200;
const CELLS_SET = 0x00;
const CELLS_INIT = 0x10;
/** Cells start behind the page's header. */
export const FIRST_CELL = 24;

export function locatorOf(relfilenode: number): RelationLocator {
  return { tablespace: DEFAULT_TABLESPACE, database: DATABASE, relfilenode };
}

/** A page of nothing but cells: what lies between its bounds would be no part of an image. */
function initPage(m: PageMemory, base: number, g: BlockGeometry): void {
  pageInit(m, base, g);
  pageSetLower(m, base, g.size);
}

/** Sets cells again. */
function cellsManager(pages: RedoPages): ResourceManager {
  return {
    id: RM_CELLS,
    name: 'Cells',
    identify: (info) => ((info & 0xf0) === CELLS_INIT ? 'INIT' : 'SET'),
    describe: (record) => `${record.dataLength >>> 2} cells`,
    redo(record: WalRecord): void {
      const isInit = (record.info & 0xf0) === CELLS_INIT;
      for (let i = 0; i < record.blockCount; i++) {
        const action = isInit ? pages.init(record, i) : pages.fetch(record, i);
        if (pages.buffer < 0) continue;
        if (action === REDO_NEEDED) {
          const { memory, base } = pages;
          if (isInit) initPage(memory, base, pages.pool.geometry);
          const at = record.blockDataAt[i];
          for (let k = 0; k < record.blockDataLength[i]; k += 4) {
            memory.u8[base + record.u16(at + k)] = record.u8(at + k + 2);
          }
          pages.changed(pages.buffer, record);
        }
        pages.release(pages.buffer);
      }
    },
  };
}

export interface EngineOptions
  extends Partial<Pick<CheckpointerOptions, 'clock' | 'checkpointTimeoutMs' | 'maxWalBytes' | 'completionTarget'>> {
  readonly buffers?: number;
  readonly fullPageImages?: boolean;
  readonly recovery?: Partial<RecoveryOptions>;
}

export interface Cell {
  readonly block: number;
  readonly at: number;
  readonly value: number;
}

/** Makes a data directory that was shut down. */
export function initialize(vfs: Vfs, directory: string, blockSize: BlockSize, segmentBlocks?: number): ControlFile {
  for (const name of ['', '/global', '/base', `/base/${DATABASE}`, '/xact']) vfs.mkdir(directory + name);
  for (const name of ['/global', '/base', `/base/${DATABASE}`, '/xact', '']) vfs.syncDirectory(directory + name);
  vfs.syncDirectory('/');
  const initial = initialControlFile({
    blockSize,
    walSegmentSize: 1 << 20,
    systemIdentifier: '77',
    ...(segmentBlocks === undefined ? {} : { segmentBlocks }),
  });
  return writeControlFile(vfs, directory, bootstrapWal(vfs, directory, initial));
}

export class Engine {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly control: ControlHolder;
  readonly geometry: BlockGeometry;
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly log: string[] = [];
  report: RecoveryReport | undefined = undefined;
  wal!: WalWriter;
  pages!: PageLog;
  commitLog!: CommitLog;
  transactions!: Transactions;
  created: PendingCreates = new PendingCreates();
  removed!: RemovedFiles;
  oids!: ObjectIds;
  checkpointer!: Checkpointer;
  private readonly options: EngineOptions;
  private readonly relations: Map<number, Relation> = new Map();

  constructor(vfs: Vfs, directory: string, options: EngineOptions = {}) {
    this.vfs = vfs;
    this.directory = directory;
    this.options = options;
    this.control = new ControlHolder(vfs, directory);
    const { blockSize, segmentBlocks } = this.control.current;
    this.geometry = BlockGeometry.of(blockSize);
    this.pool = new BufferPool({ geometry: this.geometry, buffers: options.buffers ?? 16 });
    this.storage = new StorageManager({ vfs, directory, geometry: this.geometry, segmentBlocks });
    if (this.control.current.state === 'shut down') {
      this.start(cleanStart({ vfs, directory, control: this.control }));
      this.control.update({ state: 'in production' });
    } else {
      this.report = runSync(this.recovery());
    }
  }

  recovery(): ReturnType<typeof recoverSteps> {
    const { vfs, directory, control, pool, storage } = this;
    return recoverSteps({
      vfs,
      directory,
      control,
      pool,
      storage,
      start: (state) => this.start(state),
      managers: (pages) => [cellsManager(pages)],
      onLog: (line) => this.log.push(line),
      ...this.options.recovery,
    });
  }

  private start(state: WalState): Checkpointer {
    const { vfs, directory, control, pool, storage, geometry, created } = this;
    const { buffers: _, fullPageImages, recovery: __, ...checkpoints } = this.options;
    const { systemIdentifier, walSegmentSize: segmentSize, blockSize } = control.current;
    const { incarnation, start, previous } = state;
    const wal = new WalWriter({
      vfs,
      directory: `${directory}/wal`,
      segmentSize,
      systemIdentifier,
      incarnation,
      start,
      previous,
    });
    this.wal = wal;
    pool.wal = wal;
    this.pages = new PageLog({
      geometry,
      wal,
      hintImages: true,
      ...(fullPageImages === undefined ? {} : { fullPageImages }),
    });
    this.pages.redoPoint = state.redo;
    this.commitLog = new CommitLog({ vfs, directory: `${directory}/xact`, pageBytes: blockSize, wal });
    this.removed = new RemovedFiles({ pool, storage });
    const { nextXid, nextXidEpoch, oldestXid } = state;
    this.transactions = new Transactions({
      wal,
      commitLog: this.commitLog,
      nextXid,
      nextXidEpoch,
      oldestXid,
      removeFiles: (files) => {
        for (const file of files) this.removed.remove(file);
      },
      ended: (xids) => created.forget(xids),
    });
    this.oids = new ObjectIds(wal, state.nextOid);
    const { transactions, commitLog, removed, oids, pages: log } = this;
    this.checkpointer = new Checkpointer({
      wal,
      log,
      pool,
      storage,
      commitLog,
      transactions,
      control,
      oids,
      removed,
      pendingCreates: created,
      onLog: (line) => this.log.push(line),
      ...checkpoints,
    });
    return this.checkpointer;
  }

  relation(relfilenode: number, unlogged = false): Relation {
    let relation = this.relations.get(relfilenode);
    if (relation === undefined || relation.storage.closed) {
      const { pool, storage, pages: log } = this;
      relation = new Relation({ pool, storage: storage.open(locatorOf(relfilenode)), log, unlogged });
      this.relations.set(relfilenode, relation);
    }
    return relation;
  }

  create(tx: Transaction, unlogged = false): number {
    const relfilenode = this.oids.take();
    const xid = tx.writeXid();
    const relation = this.relation(relfilenode, unlogged);
    this.created.add(xid, locatorOf(relfilenode));
    tx.removeAtAbort(locatorOf(relfilenode));
    createRelationFiles(relation, xid);
    return relfilenode;
  }

  /** Sets cells of one page, or of several in one record; a block at the end is made. @returns the LSN */
  set(tx: Transaction, relfilenode: number, cells: readonly Cell[], unlogged = false): Lsn {
    const relation = this.relation(relfilenode, unlogged);
    const { pool, pages: log } = this;
    const blocks = [...new Set(cells.map((cell) => cell.block))];
    const isInit = blocks.some((block) => block >= relation.blockCount());
    if (isInit) pool.extend(relation.main, 1);
    const xid = tx.writeXid();
    const ids = blocks.map((block) => pool.pin(relation.main, block));
    try {
      log.begin(relation, RM_CELLS, isInit ? CELLS_INIT : CELLS_SET, blocks.length, cells.length * 4);
      blocks.forEach((block, i) => {
        const m = pool.memory(ids[i]);
        const base = pool.base(ids[i]);
        if (isInit) initPage(m, base, this.geometry);
        const mine = cells.filter((cell) => cell.block === block);
        for (const { at, value } of mine) m.u8[base + FIRST_CELL + at] = value;
        log.page(i, relation.main, ids[i], isInit ? PAGE_WILL_INIT : 0);
        for (const { at, value } of mine) {
          log.u16(FIRST_CELL + at);
          log.u16(value);
        }
      });
      return log.finish(xid);
    } finally {
      for (const id of ids) pool.unpin(id);
    }
  }

  truncate(tx: Transaction, relfilenode: number, blocks: number): void {
    truncateRelation(this.relation(relfilenode), blocks, [], tx.writeXid());
  }

  drop(tx: Transaction, relfilenode: number): void {
    tx.removeAtCommit(locatorOf(relfilenode));
  }

  /** The cells of every block. */
  read(relfilenode: number, unlogged = false): Uint8Array[] {
    const relation = this.relation(relfilenode, unlogged);
    return Array.from({ length: relation.blockCount() }, (_, block) =>
      this.pool.withPage(relation.main, block, (m, base) => m.u8.slice(base + FIRST_CELL, base + this.geometry.size)),
    );
  }

  checkpoint(kind: 'immediate' | 'spread' = 'immediate'): void {
    runSync(this.checkpointer.steps(kind));
  }

  close(): void {
    runSync(this.checkpointer.steps('shutdown'));
    this.abandon();
  }

  /** Lets go of everything, as a crash does. */
  abandon(): void {
    this.pool.abandon();
    this.wal.close();
    this.commitLog.close();
    this.storage.close();
  }
}
