// Equal after replay: random changes through the page log, pages written at random, a crash at any file operation that
// loses, keeps and tears what was not synced; then redo, from any redo point that holds, through crashes of its own. Every
// page is then what it was after the last record that the WAL still has, byte for byte.
import { fromWords, type Lsn } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageLsnHigh, pageLsnLow, pageMemory } from '@blockwright/page';
import type { SimulatedVfs } from '@blockwright/vfs/simulated';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, masked, type Redone, replay, World } from './world.ts';

interface Version {
  readonly lsn: Lsn;
  readonly bytes: Uint8Array;
}

/** A redo point, and from which file operation on its checkpoint was done. */
interface Checkpoint {
  readonly redo: Lsn;
  readonly operation: number;
}

type Step =
  | { do: 'add' | 'addAndMark' | 'hint'; block: number; map: number; size: number; value: number }
  | { do: 'mark'; map: number; at: number; value: number }
  | { do: 'extend' | 'flushWal' | 'checkpoint' | 'write' };

const block = fc.nat({ max: 30 });
const map = fc.nat({ max: 2 });
const value = fc.integer({ min: 1, max: 255 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom('add' as const, 'add' as const, 'addAndMark' as const, 'hint' as const),
      block,
      map,
      size: fc.integer({ min: 1, max: 120 }),
      value,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('mark' as const), map, at: fc.integer({ min: 24, max: 1023 }), value }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('extend' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('flushWal' as const, 'write' as const, 'checkpoint' as const) }),
  },
);

class Run {
  readonly world: World;
  readonly versions = new Map<string, Version[]>();
  readonly checkpoints: Checkpoint[] = [];

  constructor(world: World) {
    this.world = world;
    this.checkpoints.push({ redo: world.start, operation: world.vfs.operations });
    world.relation.main.create();
    world.relation.vm.create();
    world.storage.syncPending();
    world.log.redoPoint = world.start;
    this.checkpoints[0] = { redo: world.start, operation: world.vfs.operations };
  }

  run(s: Step): void {
    const { world } = this;
    const { main, vm } = world.relation;
    const blocks = main.blockCount();
    switch (s.do) {
      case 'extend':
        world.extend(1);
        return this.note('main', blocks, main);
      case 'mark':
        world.mark(s.map, s.at, s.value);
        return this.note('vm', s.map, vm);
      case 'flushWal':
        return world.wal.flush(world.wal.insertedUpTo);
      case 'checkpoint':
        this.checkpoints.push({ redo: world.checkpoint(), operation: world.vfs.operations });
        return;
      case 'write':
        world.pool.flushFork(main);
        return;
      default:
        if (blocks === 0) return;
        this.change(s, Math.min(s.block, blocks - 1));
    }
  }

  private change(s: Extract<Step, { do: 'add' | 'addAndMark' | 'hint' }>, b: number): void {
    const { world } = this;
    const { main, vm } = world.relation;
    const item = new Uint8Array(s.size).fill(s.value);
    if (s.do === 'hint') {
      world.hint(b, s.value);
    } else if (s.do === 'add') {
      world.add(b, item);
    } else if (world.addAndMark(b, item, s.map, 24 + s.size, s.value) !== 0) {
      this.note('vm', s.map, vm);
    }
    this.note('main', b, main);
  }

  private note(fork: string, b: number, of: World['relation']['main']): void {
    const bytes = this.world.page(b, of);
    const m = pageMemory(bytes.buffer as ArrayBuffer);
    const lsn = fromWords(pageLsnHigh(m, 0), pageLsnLow(m, 0));
    const key = `${fork} ${b}`;
    const versions = this.versions.get(key) ?? [];
    if (versions.at(-1)?.lsn !== lsn) versions.push({ lsn, bytes });
    this.versions.set(key, versions);
  }

  /** What is wrong with the pages after a redo up to the end of a WAL; '' when nothing is. */
  compare({ relation, pages, endLsn }: Redone): string {
    for (const [key, versions] of this.versions) {
      const [name, number] = key.split(' ');
      const fork = name === 'main' ? relation.main : relation.vm;
      const wanted = versions.findLast((version) => version.lsn <= endLsn);
      if (wanted === undefined) continue;
      if (Number(number) >= fork.blockCount()) return `${key} is not there`;
      const found = masked(bytesOf(pages.pool, fork, Number(number)));
      const expected = masked(wanted.bytes);
      const bad = found.findIndex((byte, at) => byte !== expected[at]);
      if (bad >= 0)
        return `${key} is another page than after ${wanted.lsn}, from byte ${bad} on: ${found[bad]}, not ${expected[bad]}`;
    }
    return pages.missing.size === 0 ? '' : `${pages.missing.size} pages were missing`;
  }
}

interface Crash {
  readonly at: number;
  readonly seed: number;
  readonly checkpoint: number;
  /** Records replayed before a crash during redo, and its seed. */
  readonly again: readonly { readonly most: number; readonly seed: number }[];
}

const crash: fc.Arbitrary<Crash> = fc.record({
  at: fc.noBias(fc.nat({ max: 1000 })),
  seed: fc.nat(),
  checkpoint: fc.nat({ max: 2 }),
  again: fc.array(fc.record({ most: fc.nat({ max: 60 }), seed: fc.nat() }), { maxLength: 2 }),
});

/** Runs steps, crashes, replays. @returns what is wrong, and how much was replayed */
function simulate(run: Run, steps: readonly Step[], c: Crash): { fault: string; records: number } {
  for (const s of steps) run.run(s);
  const { world } = run;
  const first = (run.checkpoints[0] as Checkpoint).operation;
  const operation = c.at > 900 ? world.vfs.operations : first + ((world.vfs.operations - first) * c.at) / 900;
  const at = Math.floor(operation);
  const done = run.checkpoints.filter((one) => one.operation <= at);
  const { redo } = done[Math.max(0, done.length - 1 - c.checkpoint)] as Checkpoint;
  let disk: SimulatedVfs = world.vfs.crashedAt(at, c.seed);
  for (const { most, seed } of c.again) {
    const half = replay(disk, redo, world.g, { most });
    half.pages.pool.flushAll();
    disk = disk.crash(seed);
  }
  const redone = replay(disk, redo, world.g);
  if (at === world.vfs.operations && redone.endLsn < world.wal.flushedUpTo) {
    return { fault: `the WAL ends at ${redone.endLsn}, before ${world.wal.flushedUpTo}`, records: redone.records };
  }
  const fault = run.compare(redone);
  if (fault !== '') return { fault, records: redone.records };
  // Once more over the result, as after a crash at the end of redo.
  redone.pages.pool.flushAll();
  return { fault: run.compare(replay(disk, redo, world.g)), records: redone.records };
}

describe.each(BLOCK_SIZES)('pages of %i bytes', (size) => {
  const geometry = BlockGeometry.of(size);

  test('are equal after replay, whatever the crash left', () => {
    let replayed = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 40, maxLength: 250, size: 'max' }), crash, (steps, c) => {
        const { fault, records } = simulate(new Run(new World({ geometry })), steps, c);
        replayed += records;
        expect(fault).toBe('');
      }),
      { numRuns: size <= 8192 ? 30 : 15 },
    );
    expect(replayed).toBeGreaterThan(20);
  });
});

describe('the harness finds', () => {
  const geometry = BlockGeometry.of(1024);
  const steps = fc.array(step, { minLength: 40, maxLength: 250, size: 'max' });
  const check = (sabotage: (world: World) => void, options: { fullPageImages?: boolean } = {}): number => {
    let found = 0;
    for (const [list, c] of fc.sample(fc.tuple(steps, crash), { numRuns: 40, seed: 7 })) {
      const world = new World({ geometry, ...options });
      sabotage(world);
      try {
        if (simulate(new Run(world), list, c).fault !== '') found++;
      } catch {
        found++;
      }
    }
    return found;
  };

  test('pages without full-page images, data before WAL, and changes that are not made durable', () => {
    expect(check(() => {})).toBe(0);
    const found = [
      check(() => {}, { fullPageImages: false }),
      check((world) => void (world.pool.wal = undefined)),
      check((world) => void (world.storage.syncPending = () => {})),
    ];
    expect(found.map((count) => count > 0)).toEqual([true, true, true]);
  });
});
