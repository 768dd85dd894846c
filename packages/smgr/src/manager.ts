// The relations of one directory, all with one block size and one segment size. PostgreSQL: smgr.c.
import {
  checkOptions,
  DEFAULT_TABLESPACE,
  type ForkNumber,
  GLOBAL_TABLESPACE,
  lowWord,
  type Oid,
  type RelationLocator,
  relationPath,
  type Steps,
  StorageError,
} from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { baseName, joinPath, parentPath, type Vfs } from '@blockwright/vfs';
import { parseRelationFileName } from './file-names.ts';
import type { Fork, Gap } from './fork.ts';
import { PendingSyncs } from './pending-syncs.ts';
import { StoredRelation } from './relation.ts';

export interface StorageManagerOptions {
  readonly vfs: Vfs;
  /** What the paths of relation locators are below. */
  readonly directory: string;
  readonly geometry: BlockGeometry;
  /** Blocks of a segment file, a power of two: by default, and at most, those of 1 GiB. PostgreSQL: `RELSEG_SIZE`. */
  readonly segmentBlocks?: number;
  /** Nothing is written, and no file is opened for writing. */
  readonly readOnly?: boolean;
}

const ZERO_BYTES = 1 << 18;

export class StorageManager {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly geometry: BlockGeometry;
  readonly segmentBlocks: number;
  /** log2 of {@link segmentBlocks}. */
  readonly segmentShift: number;
  readonly readOnly: boolean;
  /** @internal */
  readonly pending: PendingSyncs;
  private readonly relations: Map<string, StoredRelation> = new Map();
  private readonly listings: Map<string, readonly string[]> = new Map();
  private zeros: Uint8Array | undefined = undefined;
  private closed: boolean = false;

  /** @throws RangeError when `segmentBlocks` is no power of two from 1 to 1 GiB; TypeError for an unknown option. */
  constructor(options: StorageManagerOptions) {
    checkOptions('StorageManager', options, ['vfs', 'directory', 'geometry', 'segmentBlocks', 'readOnly']);
    const { vfs, directory, geometry, readOnly = false } = options;
    const most = 1 << geometry.segmentShift;
    const { segmentBlocks = most } = options;
    const powerOfTwo =
      Number.isInteger(segmentBlocks) && segmentBlocks > 0 && (segmentBlocks & (segmentBlocks - 1)) === 0;
    if (!powerOfTwo || segmentBlocks > most) {
      throw new RangeError(`segmentBlocks ${String(segmentBlocks)} is not a power of two from 1 to ${most}`);
    }
    this.vfs = vfs;
    this.directory = directory;
    this.geometry = geometry;
    this.segmentBlocks = segmentBlocks;
    this.segmentShift = 31 - Math.clz32(segmentBlocks);
    this.readOnly = readOnly;
    this.pending = new PendingSyncs(vfs);
  }

  /** The relation of a locator, whether its files exist or not: the same handle until it is closed. PostgreSQL: `smgropen`. */
  open(locator: RelationLocator): StoredRelation {
    this.refuseIfClosed();
    const name = relationPath(locator, 0);
    return this.handle(
      name,
      () => new StoredRelation(this, name, joinPath(this.directory, name), locator, this.readOnly),
    );
  }

  /**
   * A relation as it lies, by the path of its main fork's first segment, which `directory` has no part in; forks and
   * further segments are looked for beside it. The name need not be a number. It is never written.
   */
  openPath(path: string): StoredRelation {
    this.refuseIfClosed();
    return this.handle(`path ${path}`, () => new StoredRelation(this, path, path, undefined, true));
  }

  /**
   * Syncs every file that was written and every directory in which files came or went since the last time, each once.
   * @throws StorageError when one fails. It is never tried again: from then on every use of the manager is refused.
   */
  syncPending(): void {
    this.refuseIfClosed();
    this.pending.syncAll();
  }

  /** As {@link syncPending}, a file a step; what is written meanwhile may be left. @returns the files synced */
  syncSteps(): Steps<number> {
    this.refuseIfClosed();
    return this.pending.steps();
  }

  /**
   * The gaps in forks of several segments: a crash may have kept a later one and lost the end of one before it. Whether
   * it was a crash that did it is for whoever knows the WAL to say.
   */
  gaps(): Gap[] {
    this.refuseIfClosed();
    const gaps: Gap[] = [];
    const seen = new Set<Fork>();
    for (const { locator, fork: number, segment } of this.relationFiles()) {
      const fork = segment === 0 ? undefined : this.open(locator).fork(number);
      if (fork === undefined || seen.has(fork)) continue;
      seen.add(fork);
      gaps.push(...fork.gaps());
    }
    return gaps;
  }

  /**
   * Fills the {@link gaps} with zeros, and cuts off what a crash left of a last block of which only a part was written.
   * What was lost is in the WAL, or was never durable: so this comes before redo. PostgreSQL:
   * `EXTENSION_CREATE_RECOVERY`, md.c.
   * @returns what it filled
   */
  fillGaps(): Gap[] {
    const gaps = this.gaps();
    for (const { path } of this.relationFiles()) this.cutTail(path);
    for (const gap of gaps) gap.fork.fillGap(gap);
    return gaps;
  }

  private *relationFiles(): Generator<{ path: string; locator: RelationLocator; fork: ForkNumber; segment: number }> {
    const base = joinPath(this.directory, 'base');
    const databases = this.vfs.exists(base) ? this.vfs.readdir(base).filter((name) => /^[1-9]\d{0,9}$/.test(name)) : [];
    for (const database of databases) {
      yield* this.relationFilesIn(joinPath(base, database), DEFAULT_TABLESPACE, Number(database));
    }
    yield* this.relationFilesIn(joinPath(this.directory, 'global'), GLOBAL_TABLESPACE, 0);
  }

  private *relationFilesIn(
    directory: string,
    tablespace: Oid,
    database: Oid,
  ): Generator<{ path: string; locator: RelationLocator; fork: ForkNumber; segment: number }> {
    if (!this.vfs.exists(directory)) return;
    for (const name of this.vfs.readdir(directory)) {
      const parsed = parseRelationFileName(name);
      if (parsed === undefined) continue;
      const locator = { tablespace, database, relfilenode: Number(parsed.relation) };
      yield { path: joinPath(directory, name), locator, fork: parsed.fork, segment: parsed.segment };
    }
  }

  private cutTail(path: string): void {
    const size = this.vfs.stat(path)?.size ?? 0;
    const tail = lowWord(size) & (this.geometry.size - 1);
    if (tail === 0 || this.readOnly) return;
    const file = this.vfs.open(path, 'r+');
    try {
      file.truncate(size - tail);
      file.sync();
    } finally {
      file.close();
    }
  }

  /** Closes a relation's files: as {@link StoredRelation.close}. */
  forget(relation: StoredRelation): void {
    relation.close();
  }

  /** Syncs what is pending, unless a sync has failed before, and closes all relations. Closing twice is fine. */
  close(): void {
    if (this.closed) return;
    try {
      if (!this.pending.poisoned) this.pending.syncAll();
    } finally {
      for (const relation of [...this.relations.values()]) relation.close();
      this.pending.close();
      this.closed = true;
    }
  }

  /** @internal */
  drop(relation: StoredRelation): void {
    this.relations.delete(relation.locator === undefined ? `path ${relation.name}` : relation.name);
  }

  /** @internal The names beside `path`, as they were when the first file of that directory was looked at. */
  namesBeside(path: string): readonly string[] {
    const directory = parentPath(path);
    let names = this.listings.get(directory);
    if (names === undefined) {
      names = this.vfs.readdir(directory).filter((name) => name.includes('.'));
      this.listings.set(directory, names);
    }
    return names;
  }

  /** @internal The names beside `path` now that begin as it does; none when there is no such directory. */
  namesLike(path: string): string[] {
    const directory = parentPath(path);
    if (!this.vfs.exists(directory)) return [];
    const start = baseName(path);
    return this.vfs.readdir(directory).filter((name) => name.startsWith(start));
  }

  /** @internal Zeros to write, a whole number of blocks. */
  zeroBytes(): Uint8Array {
    this.zeros ??= new Uint8Array(ZERO_BYTES);
    return this.zeros;
  }

  private handle(key: string, make: () => StoredRelation): StoredRelation {
    let relation = this.relations.get(key);
    if (relation === undefined) {
      relation = make();
      this.relations.set(key, relation);
    }
    return relation;
  }

  private refuseIfClosed(): void {
    if (this.closed) throw new StorageError('55000', `the storage of "${this.directory}" is closed`);
  }
}
