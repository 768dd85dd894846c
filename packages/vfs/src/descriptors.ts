// Which files have a descriptor open now, least recently used first, in two rings: files without unsynced writes, and
// files with. PostgreSQL: the VFD ring of fd.c.
//
// Linux reports a failed write-back to the descriptors that were open when it happened; once the last one is closed
// the kernel may forget it, and a sync through a new descriptor says that all is well. So a descriptor with unsynced
// writes is not closed while a clean one can be; when all are dirty, the oldest is synced first, and an error of that
// sync is kept for the file's own next sync().

/** A file that can be in the cache. The links are the cache's. */
export interface CachedDescriptor {
  newer: CachedDescriptor | undefined;
  older: CachedDescriptor | undefined;
  /** Whether it has writes that no sync has covered. */
  dirty: boolean;
  /** Whether it is in use by another thread, so that it must not be closed. The cache's. */
  held: boolean;
  /** Closes the descriptor, after a sync when dirty; never throws. */
  evict(): void;
}

class Ring {
  oldest: CachedDescriptor | undefined = undefined;
  newest: CachedDescriptor | undefined = undefined;

  append(d: CachedDescriptor): void {
    d.older = this.newest;
    d.newer = undefined;
    if (this.newest === undefined) this.oldest = d;
    else this.newest.newer = d;
    this.newest = d;
  }

  remove(d: CachedDescriptor): void {
    if (d.older === undefined) this.oldest = d.newer;
    else d.older.newer = d.newer;
    if (d.newer === undefined) this.newest = d.older;
    else d.newer.older = d.older;
    d.older = undefined;
    d.newer = undefined;
  }
}

export class DescriptorCache {
  /** Descriptors open now. */
  open: number = 0;
  readonly capacity: number;
  private readonly clean: Ring = new Ring();
  private readonly dirtyRing: Ring = new Ring();

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  private ring(d: CachedDescriptor): Ring {
    return d.dirty ? this.dirtyRing : this.clean;
  }

  /** Counts a descriptor that was just opened. */
  add(d: CachedDescriptor): void {
    this.ring(d).append(d);
    this.open++;
  }

  /** Forgets a descriptor that is being closed. */
  remove(d: CachedDescriptor): void {
    if (!d.held) this.ring(d).remove(d);
    d.held = false;
    this.open--;
  }

  /** Makes it the most recently used. */
  touch(d: CachedDescriptor): void {
    if (d.held) return;
    const ring = this.ring(d);
    if (ring.newest === d) return;
    ring.remove(d);
    ring.append(d);
  }

  /** Moves it to the other ring when its state changes. */
  setDirty(d: CachedDescriptor, dirty: boolean): void {
    if (d.dirty === dirty) return;
    if (!d.held) this.ring(d).remove(d);
    d.dirty = dirty;
    if (!d.held) this.ring(d).append(d);
  }

  /** Keeps a descriptor open, outside the rings, until it is released: one more than the cap may be open meanwhile. */
  hold(d: CachedDescriptor): void {
    if (d.held) return;
    this.ring(d).remove(d);
    d.held = true;
  }

  /** Lets go of a descriptor that was held: the most recently used. */
  release(d: CachedDescriptor): void {
    if (!d.held) return;
    d.held = false;
    this.ring(d).append(d);
  }

  /** Closes descriptors until one more may be opened. */
  makeRoom(): void {
    while (this.open >= this.capacity && this.evictOne()) {
      // evictOne counts down
    }
  }

  /** Closes the descriptor that is missed least. @returns whether there was one. */
  evictOne(): boolean {
    const victim = this.clean.oldest ?? this.dirtyRing.oldest;
    if (victim === undefined) return false;
    victim.evict();
    return true;
  }
}
