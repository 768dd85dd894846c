// Crash recovery on a disk that loses, keeps and tears what was not synced: whatever a crash leaves, at whatever operation,
// every table is as the WAL says up to where it ends, and that is not before what was acknowledged. Again when recovery
// itself crashes.
import { ForkNumber, type Lsn } from '@blockwright/base';
import { type CheckpointPosition, readControlFile, writeControlFile } from '@blockwright/control';
import type { BlockSize } from '@blockwright/geometry';
import { XID_ABORTED, XID_COMMITTED, xidPrecedes } from '@blockwright/transam';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine, type EngineOptions, initialize } from './engine.ts';
import { History } from './history.ts';

const DIRECTORY = '/data';
const SLOW = process.env.BLOCKWRIGHT_SLOW !== undefined;

/** Numbers that follow from a seed. */
function chooser(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

interface Run {
  readonly disk: SimulatedVfs;
  /** Those that ended, the first one too. */
  readonly checkpoints: readonly CheckpointPosition[];
  readonly history: History;
}

function play(seed: number, blockSize: BlockSize, steps: number, options: EngineOptions = {}): Run {
  const disk = new SimulatedVfs();
  initialize(disk, DIRECTORY, blockSize, 4);
  const engine = new Engine(disk, DIRECTORY, options);
  disk.settle();
  const history = new History(engine, () => disk.operations);
  const choose = chooser(seed);
  const checkpoints = new Set([engine.control.current.checkpoint]);
  for (let i = 0; i < steps; i++) {
    history.step(choose);
    checkpoints.add(engine.control.current.checkpoint);
  }
  return { disk, history, checkpoints: [...checkpoints] };
}

/** The first block that is wrong, -1 when none is. A file may have been made longer for a page whose record was lost: by zeros. */
function firstWrong(found: readonly Uint8Array[], pages: readonly Uint8Array[]): number {
  for (let block = 0; block < Math.max(found.length, pages.length); block++) {
    const page = pages[block] ?? new Uint8Array(found[block].length);
    if (found[block] === undefined || Buffer.compare(found[block], page) !== 0) return block;
  }
  return -1;
}

/** The first thing that is not as the model says; undefined when all is. */
function verify(engine: Engine, history: History, end: Lsn): string | undefined {
  const expected = history.at(end);
  for (const table of history.tables) {
    const pages = expected.get(table);
    const { main } = engine.relation(table);
    if (pages === undefined) {
      if (main.exists() && main.blockCount() > 0) return `table ${table} should not be there`;
      continue;
    }
    if (!main.exists()) return `table ${table} is missing`;
    const wrong = firstWrong(engine.read(table), pages);
    if (wrong >= 0) return `table ${table}, block ${wrong}`;
  }
  for (const { xid, lsn, committed } of history.ended) {
    if (!xidPrecedes(xid, engine.transactions.nextXid)) {
      if (lsn <= end) return `xid ${xid} may come again`;
      continue;
    }
    const status = engine.commitLog.status(xid);
    const wanted = committed ? XID_COMMITTED : XID_ABORTED;
    if (lsn <= end ? status !== wanted : status === XID_COMMITTED) return `xid ${xid} has status ${status}`;
  }
  return undefined;
}

/** Opens the disk as a crash left it. @returns where its WAL ends */
function recovered(disk: SimulatedVfs, history: History, operation: number, options: EngineOptions = {}): Lsn {
  const engine = new Engine(disk, DIRECTORY, options);
  const end = engine.report?.redoEnd as Lsn;
  for (const { lsn, committed, operations } of history.ended) {
    if (committed && operations <= operation && lsn > end) throw new Error(`an acknowledged commit at ${lsn} is lost`);
  }
  expect(verify(engine, history, end)).toBeUndefined();
  engine.abandon();
  return end;
}

const survivals = fc.oneof(fc.constant('synced' as const), fc.constant('all' as const), fc.nat());
const sizes = fc.constantFrom<BlockSize>(1024, 8192, 32768);

describe('after a crash', () => {
  test('at any operation, every table is as the WAL says', () => {
    let crashes = 0;
    fc.assert(
      fc.property(fc.nat(), sizes, survivals, fc.boolean(), (seed, size, survival, images) => {
        // Without images only where no page can be torn.
        const options = { fullPageImages: images || typeof survival === 'number' };
        const { disk, history } = play(seed, size, 80, options);
        const choose = chooser(seed + 1);
        for (let i = 0; i < 10; i++) {
          const operation = choose(disk.operations + 1);
          recovered(disk.crashedAt(operation, survival), history, operation, options);
          crashes++;
        }
      }),
      { numRuns: SLOW ? 1000 : 20 },
    );
    expect(crashes).toBeGreaterThanOrEqual(200);
  });

  test('at every operation of one history, one after the other', () => {
    const { disk, history } = play(7, 1024, 60);
    for (let operation = 0; operation <= disk.operations; operation++) {
      recovered(disk.crashedAt(operation, operation), history, operation);
    }
  });

  test('and when recovery crashes too, at every operation of it, and once more', () => {
    const { disk, history } = play(11, 1024, 120);
    for (const survival of ['synced', 5] as const) {
      const crashed = disk.crash(survival);
      crashed.settle();
      const first = new Engine(crashed, DIRECTORY);
      const end = first.report?.redoEnd as Lsn;
      first.abandon();
      for (let operation = 0; operation <= crashed.operations; operation++) {
        const again = crashed.crashedAt(operation, operation * 3);
        again.settle();
        const engine = new Engine(again, DIRECTORY);
        expect([operation, verify(engine, history, end)]).toEqual([operation, undefined]);
        engine.abandon();
        const third = new Engine(again.crashedAt(operation % (again.operations + 1), operation), DIRECTORY);
        expect([operation, verify(third, history, end)]).toEqual([operation, undefined]);
        third.abandon();
      }
    }
  });

  test('from any checkpoint that the WAL still reaches back to', () => {
    let older = 0;
    fc.assert(
      fc.property(fc.nat(), sizes, survivals, (seed, size, survival) => {
        const { disk, history, checkpoints } = play(seed, size, 100);
        const crashed = disk.crash(survival);
        const expected = recovered(crashed.crash('all'), history, disk.operations);
        for (const checkpoint of checkpoints) {
          const copy = crashed.crash('all');
          writeControlFile(copy, DIRECTORY, { ...readControlFile(copy, DIRECTORY), checkpoint });
          expect(recovered(copy, history, disk.operations)).toBe(expected);
          older++;
        }
      }),
      { numRuns: SLOW ? 200 : 8 },
    );
    expect(older).toBeGreaterThan(10);
  });

  test('what is written after a recovery survives the next crash (J3), and nothing of before comes back (J14)', () => {
    fc.assert(
      fc.property(fc.nat(), survivals, (seed, survival) => {
        const { disk, history } = play(seed, 1024, 40);
        const choose = chooser(seed + 2);
        const second = disk.crashedAt(choose(disk.operations + 1), survival);
        const engine = new Engine(second, DIRECTORY);
        const end = engine.report?.redoEnd as Lsn;
        second.settle();
        const later = new History(engine, () => second.operations);
        for (let i = 0; i < 40; i++) later.step(choose);
        const operation = choose(second.operations + 1);
        const third = second.crashedAt(operation, survival);
        recovered(third, later, operation);
        const last = new Engine(third, DIRECTORY);
        expect(last.report?.incarnation).toBe(4);
        for (const [table, pages] of history.at(end))
          expect([table, firstWrong(last.read(table), pages)]).toEqual([table, -1]);
      }),
      { numRuns: SLOW ? 500 : 20 },
    );
  });

  test('no file of a transaction that did not end is left', () => {
    const disk = new SimulatedVfs();
    initialize(disk, DIRECTORY, 1024);
    const engine = new Engine(disk, DIRECTORY);
    disk.settle();
    const open = engine.transactions.begin();
    const before = engine.create(open);
    engine.set(open, before, [{ block: 0, at: 0, value: 1 }]);
    engine.checkpoint(); // the record of its creation is behind the redo point
    engine.set(open, before, [{ block: 0, at: 1, value: 1 }]);
    const after = engine.create(open);
    engine.set(open, after, [{ block: 0, at: 0, value: 1 }]);
    engine.wal.flush(engine.wal.insertedUpTo);
    for (const survival of ['all', 'synced'] as const) {
      const again = new Engine(disk.crash(survival), DIRECTORY);
      expect(again.report).toMatchObject({ filesRemoved: 2 });
      for (const table of [before, after]) {
        for (const fork of [0, 1, 2, 3] as ForkNumber[])
          expect(again.storage.open(again.relation(table).storage.locator!).fork(fork).exists()).toBe(false);
      }
      again.close();
      expect(again.vfs.readdir(`${DIRECTORY}/base/5`)).toEqual([]);
    }
  });
});
