// Builds that fail or are stopped: the error is the right one, no page stays pinned, no file of the sort stays, and what was
// opened is closed.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BuildWorld, TEMP, type WorldOptions, type WorldRow } from './build-world.ts';

const TINY_MEMORY = 1500;

function rowsOf(keys: readonly (number | null)[], isAlive: (i: number) => boolean = () => true): WorldRow[] {
  return keys.map((key, i) => ({ values: [key], block: i >>> 2, offset: (i & 3) + 1, isAlive: isAlive(i) }));
}

function expectNothingLeft(world: BuildWorld): void {
  expect(world.pool.pinned()).toEqual([]);
  expect(world.vfs.exists(TEMP) ? world.vfs.readdir(TEMP) : []).toEqual([]);
}

const UNIQUE: WorldOptions = { columns: { id: int4().nullable() }, isUnique: true };

describe.each([1 << 20, TINY_MEMORY])('a unique index, with %i bytes of memory', (maintenanceWorkMem) => {
  const options = { ...UNIQUE, maintenanceWorkMem };

  it('is not built over two live rows of one key, and the error has it', () => {
    const world = new BuildWorld(1024, options);
    const keys = Array.from({ length: 900 }, (_, i) => (i * 7919) % 900);
    keys[700] = keys[3];
    expect(() => world.build(rowsOf(keys))).toThrow(
      expect.objectContaining({
        code: '23505',
        message: 'could not create unique index "things_key"',
        detail: `Key (id)=(${keys[3]}) is duplicated.`,
      }) as Error,
    );
    expectNothingLeft(world);
  });

  it('is built, or not, as the live rows say: the dead do not count, nulls count where told', () => {
    const key = fc.option(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer()), { freq: 12 });
    const input = fc.record({
      keys: fc.array(fc.tuple(key, fc.constantFrom(true, true, false)), { maxLength: 120, size: 'max' }),
      nullsNotDistinct: fc.boolean(),
    });
    const outcomes = { built: 0, refused: 0 };
    fc.assert(
      fc.property(input, ({ keys, nullsNotDistinct }) => {
        const world = new BuildWorld(1024, { ...options, nullsNotDistinct });
        const live = keys.filter(([k, isAlive]) => isAlive && (k !== null || nullsNotDistinct)).map(([k]) => k);
        const rows = rowsOf(
          keys.map(([k]) => k),
          (i) => keys[i][1],
        );
        if (new Set(live).size === live.length) {
          outcomes.built++;
          expect(world.build(rows).tuples).toBe(keys.length);
          for (const row of rows) expect(Buffer.from(world.file()).includes(world.tupleOf(row), 0, 'hex')).toBe(true);
        } else {
          outcomes.refused++;
          expect(() => world.build(rows)).toThrow(expect.objectContaining({ code: '23505' }) as Error);
        }
        expectNothingLeft(world);
      }),
      {
        numRuns: 60,
        examples: [
          [
            {
              keys: [
                [1, true],
                [1, false],
                [1, true],
              ],
              nullsNotDistinct: false,
            },
          ],
        ],
      },
    );
    expect(Math.min(outcomes.built, outcomes.refused)).toBeGreaterThan(3);
  });
});

it('dead rows between live ones hide no duplicate', () => {
  const world = new BuildWorld(1024, { ...UNIQUE, columns: { t: text() } });
  const row = (value: string, i: number, isAlive: boolean): WorldRow => ({
    values: [value],
    block: i,
    offset: 1,
    isAlive,
  });
  const rows = [row('x', 0, true), row('x', 1, false), row('x', 2, false), row('x', 3, true)];
  expect(() => world.build(rows)).toThrow(expect.objectContaining({ detail: 'Key (t)=(x) is duplicated.' }) as Error);
});

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  const keys = Array.from({ length: 400 }, (_, i) => (i * 7919) % 400);
  const options: WorldOptions = { columns: { id: int4().nullable() }, maintenanceWorkMem: TINY_MEMORY };

  it('a build that is stopped after any step leaves nothing', () => {
    let steps = 0;
    for (let isDone = false; !isDone; steps++) {
      const world = new BuildWorld(size, options);
      world.rows = rowsOf(keys);
      const build = world.steps();
      for (let i = 0; i < steps && !isDone; i++) isDone = build.next().done === true;
      build.return({ tuples: 0, heapTuples: 0, pages: 0, levels: 0, runs: 0 });
      expectNothingLeft(world);
    }
    expect(steps).toBeGreaterThan(50);
  });

  it('a disk that fails at any write, read or extension leaves nothing, and its error is the one seen', () => {
    const outcomes = { failed: 0, built: 0 };
    for (const operation of ['write', 'read', 'truncate', 'open', 'mkdir'] as const) {
      for (let nth = 1; ; nth++) {
        const vfs = new MemoryVfs();
        const world = new BuildWorld(size, { ...options, vfs, buffers: 16 });
        const fault = vfs.plant({ operation, nth, errno: operation === 'read' ? 'EIO' : 'ENOSPC' });
        let error: unknown;
        try {
          world.build(rowsOf(keys));
        } catch (caught) {
          error = caught;
        }
        const { hits } = fault;
        fault.remove();
        expectNothingLeft(world);
        if (hits === 0) {
          expect(error).toBeUndefined();
          outcomes.built++;
          break;
        }
        outcomes.failed++;
        expect(error).toMatchObject({ code: operation === 'read' ? '58030' : '53100' });
      }
    }
    expect(outcomes.built).toBe(5);
    expect(outcomes.failed).toBeGreaterThan(15);
  });

  it('a file of runs that somebody else cuts is noticed', () => {
    const vfs = new MemoryVfs();
    const world = new BuildWorld(size, { ...options, vfs });
    world.rows = rowsOf(keys);
    const build = world.steps();
    for (let cut = false; !cut; ) {
      build.next();
      const [name] = vfs.exists(TEMP) ? vfs.readdir(TEMP) : [];
      if (name === undefined || vfs.readFile(`${TEMP}/${name}`).length < 3000) continue;
      vfs.open(`${TEMP}/${name}`, 'r+').truncate(1000);
      cut = true;
    }
    expect(() => {
      for (;;) if (build.next().done === true) return;
    }).toThrow(expect.objectContaining({ code: '58030' }) as Error);
    expectNothingLeft(world);
  });

  it('only an empty file is built into', () => {
    const world = new BuildWorld(size, options);
    world.build(rowsOf([1]));
    expect(() => world.build(rowsOf([1]))).toThrow(expect.objectContaining({ code: '55000' }) as Error);
    expectNothingLeft(world);
  });
});
