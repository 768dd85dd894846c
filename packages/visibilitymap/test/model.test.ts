// The map against a JavaScript Map from heap block to bits, at every block size, with block numbers at the borders of
// map pages, around 2^31, and at the very end.
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { VisibilityMap } from '@blockwright/visibilitymap';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryFork } from './memory-fork.ts';

type Step =
  | { do: 'set'; b: number; bits: number }
  | { do: 'clear'; b: number; bits: number }
  | { do: 'look'; b: number }
  | { do: 'truncate'; b: number }
  | { do: 'reopen' };

/** Heap blocks worth asking for: small ones, and some beside every kind of border. */
function blocks(g: BlockGeometry): fc.Arbitrary<number> {
  const window = g.heapBlocksPerVmPage;
  const borders = [0, window, 2 * window, 3 * window, 0x8000_0000, 0xffff_fff0].flatMap((at) =>
    [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 14].map((by) => at + by),
  );
  const near = borders.filter((b) => b >= 0 && b <= 0xffff_fffe);
  return fc.oneof(fc.constantFrom(...near), fc.nat({ max: 12 }), fc.integer({ min: 0, max: 0xffff_fffe }));
}

function steps(g: BlockGeometry): fc.Arbitrary<Step[]> {
  const b = blocks(g);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('set' as const), b, bits: fc.constantFrom(1, 3) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('clear' as const), b, bits: fc.constantFrom(2, 3) }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('look' as const), b }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('truncate' as const), b }) },
    { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
  );
  return fc.array(step, { maxLength: 80, size: 'max' });
}

class World {
  readonly g: BlockGeometry;
  readonly fork: MemoryFork;
  readonly model = new Map<number, number>();
  pool: BufferPool;
  map: VisibilityMap;
  cursor: ReturnType<VisibilityMap['cursor']>;

  constructor(g: BlockGeometry) {
    this.g = g;
    this.fork = new MemoryFork(g);
    this.pool = new BufferPool({ geometry: g, buffers: 16 });
    this.map = new VisibilityMap({ pool: this.pool, fork: this.fork });
    this.cursor = this.map.cursor();
  }

  run(s: Step): void {
    switch (s.do) {
      case 'set':
        this.map.set(s.b, s.bits);
        this.model.set(s.b, this.expected(s.b) | s.bits);
        return this.look(s.b);
      case 'clear':
        expect(this.map.clear(s.b, s.bits)).toBe((this.expected(s.b) & s.bits) !== 0);
        this.model.set(s.b, this.expected(s.b) & ~s.bits);
        return this.look(s.b);
      case 'look':
        return this.look(s.b);
      case 'truncate':
        this.cursor.close();
        this.map.truncate(s.b);
        for (const b of this.model.keys()) if (b >= s.b) this.model.delete(b);
        this.cursor = this.map.cursor();
        return this.lookAround(s.b);
      case 'reopen':
        this.cursor.close();
        this.pool.close();
        this.pool = new BufferPool({ geometry: this.g, buffers: 16 });
        this.map = new VisibilityMap({ pool: this.pool, fork: this.fork });
        this.cursor = this.map.cursor();
    }
  }

  expected(b: number): number {
    return this.model.get(b) ?? 0;
  }

  lookAround(b: number): void {
    for (let other = Math.max(0, b - 5); other <= Math.min(0xffff_fffe, b + 5); other++) this.look(other);
  }

  look(b: number): void {
    expect(this.map.status(b)).toBe(this.expected(b));
    expect(this.cursor.status(b)).toBe(this.expected(b));
    expect(this.pool.pinned().length).toBeLessThanOrEqual(1);
  }

  finish(): void {
    for (const b of this.model.keys()) this.lookAround(b);
    this.cursor.close();
    this.cursor.close();
    expect(this.pool.pinned()).toEqual([]);
    if (this.fork.blocks < 100) {
      const bits = [...this.model.values()];
      expect(this.map.count()).toEqual({
        allVisible: bits.filter((s) => (s & 1) !== 0).length,
        allFrozen: bits.filter((s) => (s & 2) !== 0).length,
      });
    }
    expect(this.pool.stats.zeroed).toBe(0);
    this.pool.close();
  }
}

describe.each(BLOCK_SIZES)('a map of %i-byte pages', (size) => {
  const g = BlockGeometry.of(size);

  test('is a Map from block to bits', () => {
    fc.assert(
      fc.property(steps(g), (list) => {
        const world = new World(g);
        for (const s of list) world.run(s);
        world.finish();
      }),
      { numRuns: 40 },
    );
  });

  test('is one while it is small, counted', () => {
    const low = fc.nat({ max: g.heapBlocksPerVmPage * 2 + 9 });
    const some = fc.array(fc.tuple(low, fc.constantFrom(1, 3)), { maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(some, fc.array(low, { maxLength: 5 }), (sets, cuts) => {
        const world = new World(g);
        for (const [b, bits] of sets) world.run({ do: 'set', b, bits });
        for (const b of cuts) world.run({ do: 'truncate', b });
        world.finish();
      }),
      { numRuns: 25 },
    );
  });
});
