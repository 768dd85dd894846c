// The pool against a plain model: for each fork an array of the numbers on its pages. Whatever was pinned, evicted,
// flushed, read ahead or dropped, a pin sees the model's number, and a flush leaves it in the file.
import { isStorageError } from '@blockwright/base';
import { BufferPool, type BufferRing } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { pageMemory } from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stamp, stampOf } from './pages.ts';
import { SparseFork } from './sparse-fork.ts';

type Step =
  | { do: 'pin'; fork: number; block: number; ring: number; keep: boolean; change: boolean }
  | { do: 'unpin'; which: number }
  | { do: 'extend'; fork: number; count: number; ring: number }
  | { do: 'readAhead'; fork: number; block: number; count: number; ring: number }
  | { do: 'flush'; fork: number }
  | { do: 'drop' | 'truncate'; fork: number; block: number };

const fork = fc.nat({ max: 2 });
const block = fc.nat({ max: 60 });
const ring = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('pin' as const),
      fork,
      block,
      ring,
      keep: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      change: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unpin' as const), which: fc.nat({ max: 20 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('extend' as const), fork, count: fc.integer({ min: 1, max: 30 }), ring }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('readAhead' as const), fork, block, count: fc.nat({ max: 64 }), ring }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const), fork: fc.integer({ min: -1, max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('drop' as const, 'truncate' as const), fork, block }) },
);

/** One chunk of 16, and more than one. */
const buffers = fc.constantFrom(16, 19, 33);

class World {
  readonly g: BlockGeometry;
  readonly pool: BufferPool;
  readonly forks: SparseFork[];
  readonly model: number[][] = [[], [], []];
  readonly pins: { id: number; fork: number; block: number }[] = [];
  readonly rings: (BufferRing | undefined)[];
  lastStamp = 0;

  constructor(g: BlockGeometry, buffers: number, debugPoison: boolean) {
    this.g = g;
    this.pool = new BufferPool({ geometry: g, buffers, debugPoison, chunkBytes: g.size * 16 });
    this.forks = [0, 1, 2].map((n) => new SparseFork(g, 0, `fork${n}`));
    this.rings = [undefined, this.pool.bulkReadRing(), this.pool.bulkWriteRing()];
  }

  distinctPins(): number {
    return new Set(this.pins.map((p) => `${p.fork}/${p.block}`)).size;
  }

  isPinned(n: number, from: number): boolean {
    return this.pins.some((p) => p.fork === n && p.block >= from);
  }

  onDisk(n: number, b: number): number {
    const page = this.forks[n].written.get(b);
    return page === undefined ? 0 : stampOf(pageMemory(page.slice().buffer), 0, this.g);
  }

  run(s: Step): void {
    switch (s.do) {
      case 'pin':
        return this.pin(s);
      case 'unpin': {
        const [pin] = this.pins.splice(s.which, 1);
        if (pin !== undefined) this.pool.unpin(pin.id);
        return;
      }
      case 'extend':
        return this.extend(s);
      case 'readAhead':
        this.pool.readAhead(this.forks[s.fork], s.block, s.count, this.rings[s.ring]);
        return;
      case 'flush': {
        if (s.fork < 0) this.pool.flushAll();
        else this.pool.flushFork(this.forks[s.fork]);
        for (let n = 0; n < 3; n++) if (s.fork < 0 || s.fork === n) this.expectDisk(n);
        return;
      }
      default:
        return this.drop(s);
    }
  }

  pin(s: Extract<Step, { do: 'pin' }>): void {
    const f = this.forks[s.fork];
    if (s.block >= this.model[s.fork].length) return;
    const resident = this.pool.isResident(f, s.block);
    let id: number;
    try {
      id = this.pool.pin(f, s.block, this.rings[s.ring]);
    } catch (error) {
      expect(isStorageError(error) && error.code).toBe('53000');
      expect(resident).toBe(false);
      expect(this.distinctPins()).toBe(this.pool.buffers);
      return;
    }
    this.expectPage(id, s.fork, s.block);
    if (s.change) {
      stamp(this.pool.memory(id), this.pool.base(id), this.g, ++this.lastStamp);
      this.pool.markDirty(id);
      this.model[s.fork][s.block] = this.lastStamp;
    }
    if (s.keep) this.pins.push({ id, fork: s.fork, block: s.block });
    else this.pool.unpin(id);
  }

  extend(s: Extract<Step, { do: 'extend' }>): void {
    const pages = this.model[s.fork];
    try {
      expect(this.pool.extend(this.forks[s.fork], s.count, this.rings[s.ring])).toBe(pages.length);
    } catch (error) {
      expect(isStorageError(error) && error.code).toBe('53000');
      expect(this.distinctPins()).toBe(this.pool.buffers);
      return;
    }
    for (let i = 0; i < s.count; i++) pages.push(0);
  }

  drop(s: Extract<Step, { do: 'drop' | 'truncate' }>): void {
    const pages = this.model[s.fork];
    const f = this.forks[s.fork];
    if (this.isPinned(s.fork, s.block)) {
      expect(() => this.pool.dropFork(f, s.block)).toThrow(expect.objectContaining({ code: '55006' }));
      return;
    }
    this.pool.dropFork(f, s.block);
    if (s.do === 'truncate' && s.block < pages.length) {
      f.truncate(s.block);
      pages.length = s.block;
    }
    // What was not written is gone; what is in the file is what there is.
    for (let b = s.block; b < pages.length; b++) {
      expect(this.pool.isResident(f, b)).toBe(false);
      pages[b] = this.onDisk(s.fork, b);
    }
  }

  expectPage(id: number, n: number, b: number): void {
    expect(this.pool.fork(id)).toBe(this.forks[n]);
    expect(this.pool.block(id)).toBe(b);
    expect(stampOf(this.pool.memory(id), this.pool.base(id), this.g)).toBe(this.model[n][b]);
  }

  expectDisk(n: number): void {
    for (let b = 0; b < this.model[n].length; b++) expect(this.onDisk(n, b)).toBe(this.model[n][b]);
  }

  /** What must hold after every step. */
  check(): void {
    for (const p of this.pins) this.expectPage(p.id, p.fork, p.block);
    let resident = 0;
    for (let n = 0; n < 3; n++) {
      for (let b = 0; b < this.model[n].length; b++) if (this.pool.isResident(this.forks[n], b)) resident++;
    }
    expect(resident).toBeLessThanOrEqual(this.pool.buffers);
    expect(this.pool.pinned().reduce((sum, p) => sum + p.pins, 0)).toBe(this.pins.length);
    const { evictions, reads, extends: added, misses, zeroed } = this.pool.stats;
    expect(evictions).toBeLessThanOrEqual(Math.max(0, reads + added - resident));
    expect(misses).toBeLessThanOrEqual(reads);
    expect(zeroed).toBe(0);
  }
}

describe.each([1024, 8192, 32768])('a small pool of %i-byte buffers is a plain cache', (size) => {
  test.each([false, true])('debugPoison %s', (debugPoison) => {
    const g = BlockGeometry.of(size);
    fc.assert(
      fc.property(buffers, fc.array(step, { maxLength: 120, size: 'max' }), (count, steps) => {
        const world = new World(g, count, debugPoison);
        world.run({ do: 'extend', fork: 0, count: 40, ring: 0 });
        world.run({ do: 'extend', fork: 1, count: 20, ring: 0 });
        for (const s of steps) {
          world.run(s);
          world.check();
        }
        for (const p of world.pins) world.pool.unpin(p.id);
        world.pool.close();
        for (let n = 0; n < 3; n++) world.expectDisk(n);
      }),
      { numRuns: debugPoison ? 15 : 40 },
    );
  });
});
