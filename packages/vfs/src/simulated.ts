// A file system in memory that knows what is durable. Each change is numbered, and the disk as a crash could have left
// it can be had at every number, many times, from one run. README.md says what can survive.
import { baseName, parentPath } from './files.ts';
import { type Entry, type Fault, Inode, MemoryVfs, normal, type VfsOperation } from './memory.ts';
import { Directory, type Node, survivingCuts } from './simulated-directory.ts';
import { type FileChange, type FileState, survivingBytes } from './simulated-file.ts';
import { isZero, mergeChunks, type SharedBytes, SparseBytes } from './sparse.ts';
import { Choices, type Survival } from './survival.ts';

export type { Fault, PlantedFault, VfsOperation } from './memory.ts';
export type { Survival } from './survival.ts';

/** A file with its past. */
class TracedInode extends Inode {
  /** What was durable, from which operation on. Ascending. */
  readonly states: FileState[];
  readonly changes: FileChange[] = [];

  constructor(bytes: SparseBytes) {
    super(bytes);
    this.states = [{ operation: -1, through: -1, bytes: bytes.share() }];
  }

  /** Forgets the past. */
  settle(): void {
    this.states.length = 0;
    this.states.push({ operation: -1, through: -1, bytes: this.bytes.share() });
    this.changes.length = 0;
  }
}

/** What a sync that has begun covers. */
interface Covered {
  readonly through: number;
  readonly bytes: SharedBytes;
  readonly changed: ReadonlySet<number>;
}

/** An operation that was made, for messages. */
interface Operation {
  readonly operation: VfsOperation;
  readonly path: string;
  readonly position: number | undefined;
  readonly length: number | undefined;
}

/**
 * A disk that can crash. It is used as a {@link MemoryVfs} is, faults and full disk included; it does not record its
 * calls unless `recording` is set.
 */
export class SimulatedVfs extends MemoryVfs {
  override recording: boolean = false;
  /**
   * After a failed sync, whether the process goes on seeing what the sync did not make durable (as ext4 has it) or what
   * is on the disk. No later sync makes it durable, unless it is written again.
   */
  failedSyncKeepsPages: boolean = false;
  private made: Operation[] = [];
  private entered: Operation | undefined = undefined;
  private root: Directory = new Directory();

  /**
   * Changes made so far, syncs included: writes, truncates, creates, links, renames, removals, syncs of files and
   * directories. Operation 0 is the first. A call that was refused is none, unless its bytes reached the file; a sync
   * that failed is one.
   */
  get operations(): number {
    return this.made.length;
  }

  /** What an operation was, for messages. */
  describe(operation: number): string {
    const made = this.made[operation];
    if (made === undefined) return 'the end';
    const where = made.position === undefined ? '' : ` at ${made.position}`;
    return `${made.operation} ${made.path}${where}${made.length === undefined ? '' : `, ${made.length} bytes`}`;
  }

  /**
   * The disk as a crash may have left it, after `operation` operations and before the next one. (A crash in the middle
   * of an operation is one after it that it survived in part.) This disk stays as it is.
   * @throws RangeError when there were not so many.
   */
  crashedAt(operation: number, survival: Survival): SimulatedVfs {
    if (!Number.isSafeInteger(operation) || operation < 0 || operation > this.operations) {
      throw new RangeError(`operation ${operation} is none of 0 to ${this.operations}`);
    }
    const choices = new Choices(survival);
    const cuts = survivingCuts(this.root, operation, choices);
    const disk = new SimulatedVfs();
    const files = new Map<Node, TracedInode>();
    const copy = (from: Directory, path: string): Directory => {
      const to = new Directory();
      for (const [name, node] of from.childrenAt(cuts.get(from) as number)) {
        const below = path === '/' ? `/${name}` : `${path}/${name}`;
        if (node instanceof Directory) {
          disk.entries.set(below, 'directory');
          to.base.set(name, copy(node, below));
        } else {
          const file = files.get(node) ?? survivor(node as TracedInode, operation, choices);
          files.set(node, file);
          disk.entries.set(below, file);
          to.base.set(name, file);
        }
      }
      to.settleFrom(to.base);
      return to;
    };
    disk.root = copy(this.root, '/');
    disk.failedSyncKeepsPages = this.failedSyncKeepsPages;
    disk.freeBytes = this.freeBytes + this.charged() - disk.charged();
    return disk;
  }

  /** The same after all operations so far. */
  crash(survival: Survival): SimulatedVfs {
    return this.crashedAt(this.operations, survival);
  }

  /** Makes everything durable and forgets how it came about: operations are counted from 0 again. */
  settle(): void {
    this.made = [];
    const below = (directory: Directory): void => {
      directory.settleFrom(directory.children);
      for (const node of directory.children.values()) {
        if (node instanceof Directory) below(node);
        else (node as TracedInode).settle();
      }
    };
    below(this.root);
  }

  private charged(): number {
    let sum = 0;
    for (const file of new Set(this.entries.values())) if (file !== 'directory') sum += file.charged;
    return sum;
  }

  /** @internal */
  override note(operation: VfsOperation, path: string, position?: number, length?: number): Fault | undefined {
    this.entered = { operation, path, position, length };
    return super.note(operation, path, position, length);
  }

  /** Numbers the operation whose call was entered last. */
  private next(): number {
    this.made.push(this.entered as Operation);
    return this.made.length - 1;
  }

  /** @internal */
  protected override makeInode(): Inode {
    return new TracedInode(new SparseBytes());
  }

  /** @internal */
  protected override nameAdded(name: string, entry: Entry): void {
    const node = entry === 'directory' ? new Directory() : entry;
    this.directory(parentPath(name)).change({ operation: this.next(), added: baseName(name), node });
  }

  /** @internal */
  protected override nameRemoved(name: string): void {
    this.directory(parentPath(name)).change({ operation: this.next(), removed: baseName(name) });
  }

  /** @internal */
  protected override nameMoved(from: string, to: string): void {
    const source = this.directory(parentPath(from));
    const target = this.directory(parentPath(to));
    const removed = baseName(from);
    const added = baseName(to);
    const node = source.children.get(removed) as Node;
    const operation = this.next();
    if (source === target) {
      source.change({ operation, removed, added, node });
    } else {
      source.change({ operation, removed, other: target });
      target.change({ operation, added, node, other: source });
    }
  }

  /** @internal */
  protected override directorySynced(name: string): void {
    const operation = this.next();
    this.directory(name).synced(operation);
  }

  /** The directory at a path that exists. */
  private directory(path: string): Directory {
    let directory = this.root;
    for (const name of normal(path).split('/')) {
      if (name !== '') directory = directory.children.get(name) as Directory;
    }
    return directory;
  }

  /** @internal */
  override wrote(inode: Inode, src: Uint8Array, at: number, length: number, position: number): void {
    const { changes, bytes } = inode as TracedInode;
    const part = src.subarray(at, at + length);
    const data = isZero(part) ? 'zeros' : part.slice();
    changes.push({ operation: this.next(), position, length, data, size: bytes.size });
  }

  /** @internal */
  override truncated(inode: Inode, size: number): void {
    (inode as TracedInode).changes.push({ operation: this.next(), position: size, length: 0, data: undefined, size });
  }

  /** @internal */
  override syncBegun(inode: Inode): Covered {
    const { changed } = inode.bytes;
    return { through: this.made.length - 1, bytes: inode.bytes.share(), changed };
  }

  /** @internal */
  override syncEnded(inode: Inode, covered: unknown, failed: boolean): void {
    const { states, bytes } = inode as TracedInode;
    const { through, bytes: now, changed } = covered as Covered;
    const operation = this.next();
    const last = states.at(-1) as FileState;
    if (through < last.through) return; // a sync that began later has ended already
    if (failed) {
      states.push({ operation, through, bytes: last.bytes, diverged: true });
      if (!this.failedSyncKeepsPages) bytes.takeBack(changed, last.bytes);
    } else if (last.diverged === true) {
      states.push({ operation, through, bytes: mergeChunks(last.bytes, now, changed), diverged: true });
    } else {
      states.push({ operation, through, bytes: now });
    }
  }
}

function survivor(file: TracedInode, operation: number, choices: Choices): TracedInode {
  const copy = new TracedInode(survivingBytes(file.states, file.changes, operation, choices));
  copy.charged = Math.min(file.charged, copy.bytes.size);
  copy.modifiedMs = file.modifiedMs;
  return copy;
}
