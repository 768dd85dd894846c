// Directories of the simulated disk: of the changes that no sync has covered, the first few survive, in order.
import type { Inode } from './memory.ts';
import { type Choices, KEEP_ALL, LOSE_ALL } from './survival.ts';

/** What a name stands for. */
export type Node = Inode | Directory;

/** One change of one directory. A move between two is a change in each, with the same number. */
export interface DirectoryChange {
  readonly operation: number;
  readonly removed?: string;
  readonly added?: string;
  /** What was added. */
  readonly node?: Node;
  /** The other directory of a move. */
  readonly other?: Directory;
}

/** A directory with its past. */
export class Directory {
  /** What the process sees. */
  children: Map<string, Node> = new Map();
  /** What there was before the first change. */
  base: Map<string, Node> = new Map();
  private changes: DirectoryChange[] = [];
  /** From `operation` on, the changes up to `through` are durable. */
  private syncs: { readonly operation: number; readonly through: number }[] = [];

  /** Forgets the past: `children` are durable. */
  settleFrom(children: ReadonlyMap<string, Node>): void {
    this.base = new Map(children);
    this.children = new Map(children);
    this.changes = [];
    this.syncs = [];
  }

  change(change: DirectoryChange): void {
    this.changes.push(change);
    apply(this.children, change);
  }

  synced(operation: number): void {
    this.advance(operation, operation);
  }

  private advance(operation: number, through: number): void {
    const before = this.durableThrough(operation + 1);
    if (through <= before) return;
    this.syncs.push({ operation, through });
    // A move is one operation: it is in both directories or in none.
    for (const { operation: moved, other } of this.changes) {
      if (moved > before && moved <= through) other?.advance(operation, moved);
    }
  }

  /** The last change that must survive a crash before `operation`: -1 when none. */
  durableThrough(operation: number): number {
    let through = -1;
    for (const sync of this.syncs) {
      if (sync.operation < operation) through = Math.max(through, sync.through);
    }
    return through;
  }

  /** Numbers of the changes after `after` and before `operation`. */
  pending(after: number, operation: number): number[] {
    return this.changes.map((change) => change.operation).filter((number) => number > after && number < operation);
  }

  /** The moves from or to another directory before `operation`. */
  moves(operation: number): DirectoryChange[] {
    return this.changes.filter((change) => change.other !== undefined && change.operation < operation);
  }

  /** Everything that ever had a name here. */
  *everyNode(): Iterable<Node> {
    yield* this.base.values();
    for (const { node } of this.changes) if (node !== undefined) yield node;
  }

  /** What there was once the changes up to `cut` were made. */
  childrenAt(cut: number): Map<string, Node> {
    const children = new Map(this.base);
    for (const change of this.changes) {
      if (change.operation > cut) break;
      apply(children, change);
    }
    return children;
  }
}

function apply(children: Map<string, Node>, change: DirectoryChange): void {
  if (change.removed !== undefined) children.delete(change.removed);
  if (change.added !== undefined) children.set(change.added, change.node as Node);
}

/** For every directory that ever was below `root`: the last change that survives a crash before `operation`. */
export function survivingCuts(root: Directory, operation: number, choices: Choices): ReadonlyMap<Directory, number> {
  const cuts = new Map<Directory, number>();
  const choose = (directory: Directory): void => {
    if (cuts.has(directory)) return;
    const durable = directory.durableThrough(operation);
    const pending = directory.pending(durable, operation);
    const style = choices.style();
    // Of `pending`, how many survive.
    const count = style === LOSE_ALL ? 0 : style === KEEP_ALL ? pending.length : choices.below(pending.length + 1);
    cuts.set(directory, count === 0 ? durable : (pending[count - 1] as number));
    for (const node of directory.everyNode()) if (node instanceof Directory) choose(node);
  };
  choose(root);
  return lowerToMoves(cuts, operation);
}

/** Where a move survived in one directory and not in the other, it, and what came after it, is lost in both. */
function lowerToMoves(cuts: Map<Directory, number>, operation: number): ReadonlyMap<Directory, number> {
  for (let lowered = true; lowered; ) {
    lowered = false;
    for (const [directory, cut] of cuts) {
      for (const move of directory.moves(operation)) {
        const there = cuts.get(move.other as Directory) ?? -1;
        if (move.operation > cut || move.operation <= there) continue;
        cuts.set(directory, move.operation - 1);
        lowered = true;
        break;
      }
    }
  }
  return cuts;
}
