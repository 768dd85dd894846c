// Faults for tests: which call fails with which errno, or transfers fewer bytes than asked, or does both.

/** Every call of a Vfs and a VfsFile that a fault can hit. */
export type VfsOperation =
  | 'open'
  | 'stat'
  | 'readdir'
  | 'mkdir'
  | 'rmdir'
  | 'unlink'
  | 'rename'
  | 'link'
  | 'syncDirectory'
  | 'readFile'
  | 'read'
  | 'write'
  | 'size'
  | 'truncate'
  | 'sync'
  | 'datasync';

export interface Fault {
  readonly operation: VfsOperation;
  /** Only calls whose path contains it, or matches it; all when absent. */
  readonly path?: string | RegExp;
  /** The first such call that is hit, counted from 1 (the next one). */
  readonly nth?: number;
  /** How many calls in a row are hit: 1 by default, Infinity for all from then on. */
  readonly times?: number;
  /** The system's error, such as `EIO`. */
  readonly errno?: string;
  /**
   * `read` and `write` transfer at most so many bytes (0: a read sees the end of the file). A `write` with an errno
   * besides puts them into the file and fails all the same, as a disk does whose answer is lost.
   */
  readonly bytes?: number;
}

/** A fault that was planted: a test asks it whether it was hit at all. */
export interface PlantedFault {
  /** Calls that it hit so far. */
  readonly hits: number;
  /** Takes it away. */
  remove(): void;
}

class Planted implements PlantedFault {
  hits: number = 0;
  readonly fault: Fault;
  private seen: number = 0;
  private readonly all: Set<Planted>;

  constructor(fault: Fault, all: Set<Planted>) {
    this.fault = fault;
    this.all = all;
    all.add(this);
  }

  /** Counts a call. @returns whether it is one that the fault hits. */
  strikes(operation: VfsOperation, path: string): boolean {
    const { fault } = this;
    if (fault.operation !== operation) return false;
    if (typeof fault.path === 'string' ? !path.includes(fault.path) : fault.path?.test(path) === false) return false;
    this.seen++;
    const first = fault.nth ?? 1;
    if (this.seen < first || this.seen >= first + (fault.times ?? 1)) return false;
    this.hits++;
    return true;
  }

  remove(): void {
    this.all.delete(this);
  }
}

/** The faults of one file system. */
export class FaultPlan {
  private readonly planted: Set<Planted> = new Set();

  /** @throws TypeError when the fault says neither `errno` nor `bytes`, or both and is not of a write. */
  plant(fault: Fault): PlantedFault {
    const { errno, bytes, operation } = fault;
    if (errno === undefined ? bytes === undefined : bytes !== undefined && operation !== 'write') {
      throw new TypeError('a fault has either an errno or a number of bytes; that of a write may have both');
    }
    return new Planted(fault, this.planted);
  }

  /** The fault that hits this call, if any; all that match count it. */
  strike(operation: VfsOperation, path: string): Fault | undefined {
    let hit: Fault | undefined;
    for (const one of this.planted) {
      if (one.strikes(operation, path)) hit ??= one.fault;
    }
    return hit;
  }
}
