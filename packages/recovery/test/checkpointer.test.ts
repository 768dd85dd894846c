// Checkpoints: what they make durable and in which order, when they begin by themselves and how fast they go, and what is
// left when one fails.
import { runSync } from '@blockwright/base';
import { readControlFile } from '@blockwright/control';
import { type CheckpointReport, checkpointOf, isCheckpoint } from '@blockwright/recovery';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { WalReader } from '@blockwright/wal';
import { describe, expect, test } from 'vitest';
import { Engine, type EngineOptions, initialize, locatorOf } from './engine.ts';

const DIRECTORY = '/data';

function made(options: EngineOptions = {}): { vfs: MemoryVfs; engine: Engine; table: number } {
  const vfs = new MemoryVfs();
  initialize(vfs, DIRECTORY, 1024);
  const engine = new Engine(vfs, DIRECTORY, { buffers: 64, ...options });
  const tx = engine.transactions.begin();
  const table = engine.create(tx);
  tx.commit();
  return { vfs, engine, table };
}

/** Changes `count` pages of a table, each once, and commits. */
function fill(engine: Engine, table: number, count: number, value = 1): void {
  const tx = engine.transactions.begin();
  for (let block = 0; block < count; block++) engine.set(tx, table, [{ block, at: 0, value }]);
  tx.commit();
}

function readCheckpoint(vfs: MemoryVfs): ReturnType<typeof checkpointOf> {
  const { checkpoint, walSegmentSize } = readControlFile(vfs, DIRECTORY);
  const reader = new WalReader({ vfs, directory: `${DIRECTORY}/wal`, segmentSize: walSegmentSize });
  reader.seek(checkpoint.record);
  expect(reader.next()).toBe(true);
  expect(isCheckpoint(reader.record)).toBe(true);
  return checkpointOf(reader.record);
}

describe('a checkpoint', () => {
  test('writes what is dirty, syncs it, then says so in the WAL, then in the control file', () => {
    const { vfs, engine, table } = made();
    fill(engine, table, 5);
    vfs.journal.length = 0;
    const redo = engine.wal.insertedUpTo;
    const report = runSync(engine.checkpointer.steps('immediate'));
    expect(report).toMatchObject({ kind: 'immediate', redo, buffersWritten: 5 });
    const calls = vfs.journal.map(({ operation, path }) => `${operation} ${path.slice(DIRECTORY.length + 1)}`);
    const order = [
      `datasync xact/0000`,
      `write base/5/${table}`,
      `sync base/5/${table}`,
      expect.stringMatching(/^datasync wal\//),
      'rename global/control',
    ];
    let from = 0;
    for (const step of order) {
      const at = calls.findIndex(
        (call, i) => i >= from && (typeof step === 'string' ? call === step : step.asymmetricMatch(call)),
      );
      expect([step, at >= from, calls]).toEqual([step, true, calls]);
      from = at;
    }
    const control = readControlFile(vfs, DIRECTORY);
    expect(control.state).toBe('in production');
    expect(control.checkpoint).toMatchObject({
      redo,
      record: report.record,
      durable: report.recordEnd,
      incarnation: 1,
    });
    expect(engine.log.at(-1)).toMatch(
      /^checkpoint complete \(immediate\): wrote 5 buffers \(7\.8%\), .*write=0\.\d{3} s, sync=/,
    );
  });

  test('says in its record what was true at its redo point', () => {
    const { vfs, engine, table } = made();
    const open = engine.transactions.begin();
    const unfinished = engine.create(open);
    fill(engine, table, 3);
    const steps = engine.checkpointer.steps('immediate');
    steps.next();
    const expected = {
      redo: engine.pages.redoPoint,
      incarnation: 1,
      nextXid: engine.transactions.nextXid,
      nextXidEpoch: 0,
      nextOid: engine.oids.loggedUpTo,
      pendingCreates: [{ xid: open.topXid, locator: locatorOf(unfinished) }],
    };
    fill(engine, table, 3, 2);
    open.abort();
    runSync(steps);
    expect(readCheckpoint(vfs)).toMatchObject(expected);
    expect(engine.oids.loggedUpTo - engine.oids.next).toBeGreaterThan(1000);
    engine.checkpoint();
    expect(readCheckpoint(vfs)).toMatchObject({ pendingCreates: [], nextXid: engine.transactions.nextXid });
  });

  test('pages that change while it runs get images, and may be left', () => {
    const { engine, table } = made();
    fill(engine, table, 3);
    engine.checkpoint();
    const before = engine.wal.stats.images;
    fill(engine, table, 1, 2);
    expect(engine.wal.stats.images).toBe(before + 1);
    fill(engine, table, 1, 3);
    expect(engine.wal.stats.images).toBe(before + 1);
    const steps = engine.checkpointer.steps('immediate');
    steps.next(); // everything is written
    fill(engine, table, 1, 4);
    expect(engine.wal.stats.images).toBe(before + 2);
    runSync(steps);
    fill(engine, table, 1, 5);
    expect(engine.wal.stats.images).toBe(before + 2);
  });

  test('at shutdown it is the last record, and its own redo point', () => {
    const { vfs, engine, table } = made();
    fill(engine, table, 2);
    vfs.journal.length = 0;
    engine.close();
    const control = readControlFile(vfs, DIRECTORY);
    expect(control.state).toBe('shut down');
    expect(control.checkpoint.redo).toBe(control.checkpoint.record);
    expect(control.nextOid).toBe(engine.oids.next);
    const again = new Engine(vfs, DIRECTORY);
    expect(again.report).toBeUndefined();
    expect(again.oids.next).toBe(control.nextOid);
    expect(again.read(table).map((cells) => cells[0])).toEqual([1, 1]);
    fill(again, table, 2, 9);
    again.close();
    expect(new Engine(vfs, DIRECTORY).read(table).map((cells) => cells[0])).toEqual([9, 9]);
  });

  test('is refused at shutdown when something is logged meanwhile', () => {
    const { engine, table } = made();
    fill(engine, table, 2);
    const steps = engine.checkpointer.steps('shutdown');
    steps.next();
    fill(engine, table, 1);
    expect(() => runSync(steps)).toThrow(expect.objectContaining({ code: '55000' }));
  });

  test('the file of a dropped table goes with the first checkpoint that began after the drop', () => {
    const { vfs, engine, table } = made();
    fill(engine, table, 3);
    const path = `${DIRECTORY}/base/5/${table}`;
    const steps = engine.checkpointer.steps('immediate');
    steps.next();
    const tx = engine.transactions.begin();
    engine.drop(tx, table);
    tx.commit();
    expect(vfs.stat(path)?.size).toBe(0);
    runSync(steps);
    expect(vfs.stat(path)?.size).toBe(0);
    engine.checkpoint();
    expect(vfs.exists(path)).toBe(false);
  });

  test('segments before the redo point are removed or used again', () => {
    const { vfs, engine, table } = made({ maxWalBytes: 4 << 20 });
    const segments = () => vfs.readdir(`${DIRECTORY}/wal`).length;
    for (let i = 0; i < 40; i++) {
      for (let k = 0; k < 80; k++) fill(engine, table, 20, k);
      engine.checkpoint();
    }
    expect(engine.wal.insertedUpTo).toBeGreaterThan(4 << 20);
    expect(segments()).toBeLessThan(4);
    expect(engine.log.some((line) => /[1-9] recycled/.test(line))).toBe(true);
  });
});

describe('a failure', () => {
  test('a full disk: redo starts where it did, work goes on, and the next one is right', () => {
    const { vfs, engine, table } = made();
    fill(engine, table, 3);
    engine.checkpoint();
    const before = readControlFile(vfs, DIRECTORY).checkpoint;
    fill(engine, table, 3, 2);
    const fault = vfs.plant({ operation: 'write', path: `base/5/${table}`, errno: 'ENOSPC' });
    expect(() => engine.checkpoint()).toThrow(expect.objectContaining({ code: '53100' }));
    expect(fault.hits).toBe(1);
    expect(readControlFile(vfs, DIRECTORY).checkpoint).toEqual(before);
    expect(engine.checkpointer.isRunning).toBe(false);
    fill(engine, table, 3, 3);
    engine.checkpoint();
    expect(readControlFile(vfs, DIRECTORY).checkpoint.redo).toBeGreaterThan(before.redo);
    engine.abandon();
    const again = new Engine(vfs, DIRECTORY);
    expect(again.read(table).map((cells) => cells[0])).toEqual([3, 3, 3]);
  });

  test.each(['global/control', 'xact/0000'])('a full disk where %s is written: the same', (path) => {
    const { vfs, engine, table } = made();
    fill(engine, table, 3);
    const fault = vfs.plant({ operation: 'write', path, errno: 'ENOSPC' });
    expect(() => engine.checkpoint()).toThrow(expect.objectContaining({ code: '53100' }));
    expect(fault.hits).toBe(1);
    fill(engine, table, 3, 3);
    engine.checkpoint();
    engine.abandon();
    expect(new Engine(vfs, DIRECTORY).read(table).map((cells) => cells[0])).toEqual([3, 3, 3]);
  });

  test.each([
    ['sync', 'base/5/'],
    ['datasync', 'xact/0000'],
    ['datasync', 'wal/'],
    ['sync', 'global/control'],
    ['syncDirectory', 'global'],
  ] as const)('a failed %s of %s stops everything', (operation, path) => {
    const { vfs, engine, table } = made();
    fill(engine, table, 3);
    const fault = vfs.plant({ operation, path, errno: 'EIO' });
    expect(() => engine.checkpoint()).toThrow(expect.objectContaining({ code: '58030' }));
    expect(fault.hits).toBe(1);
    expect(engine.wal.failed).toBeDefined();
    expect(() => fill(engine, table, 3, 2)).toThrow(expect.objectContaining({ code: '58030' }));
    expect(() => engine.checkpoint()).toThrow(expect.objectContaining({ code: '58030' }));
    engine.abandon();
    expect(new Engine(vfs, DIRECTORY).read(table).map((cells) => cells[0])).toEqual([1, 1, 1]);
  });
});

describe('several', () => {
  test('one that begins while another is under way takes over, and both end with it', () => {
    const { engine, table } = made();
    fill(engine, table, 3);
    const first = engine.checkpointer.steps('spread');
    first.next();
    fill(engine, table, 3, 2);
    const second = engine.checkpointer.steps('immediate');
    second.next();
    const report = runSync(first);
    expect(report.kind).toBe('immediate');
    expect(runSync(second)).toBe(report);
    expect(engine.checkpointer.isRunning).toBe(false);
  });

  test('one that is stopped is given up, and the next is whole', () => {
    const { vfs, engine, table } = made();
    fill(engine, table, 3);
    const steps = engine.checkpointer.steps('spread');
    steps.next();
    steps.return(undefined as unknown as CheckpointReport);
    expect(engine.checkpointer.isRunning).toBe(false);
    engine.checkpoint();
    expect(readControlFile(vfs, DIRECTORY).checkpoint.redo).toBe(engine.pages.redoPoint);
  });
});

describe('by itself', () => {
  /** An engine whose clock stands until it is moved. */
  function clocked(options: EngineOptions = {}): ReturnType<typeof made> & { clock: { nowMs: number } } {
    const clock = { nowMs: 1000 };
    return { ...made({ buffers: 256, clock: () => clock.nowMs, ...options }), clock };
  }

  test('it begins when the time has come, and not before; not at all when nothing was logged', () => {
    const { engine, table, clock } = clocked();
    fill(engine, table, 10);
    clock.nowMs += 299_999;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(false);
    clock.nowMs += 1;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(true);
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(false);
    expect(engine.log).toHaveLength(1);
    expect(engine.log[0]).toContain('checkpoint complete (spread): wrote 10 buffers');
    clock.nowMs += 900_000;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(false);
    expect(engine.log).toHaveLength(1);
    fill(engine, table, 1);
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(false); // the one that was skipped counts as one
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(true);
  });

  test('it writes in step with the time', () => {
    const { engine, table, clock } = clocked({ buffers: 256 });
    // Every second page, so that no two go out in one write.
    fill(engine, table, 200);
    engine.checkpoint();
    const tx = engine.transactions.begin();
    for (let block = 0; block < 200; block += 2) engine.set(tx, table, [{ block, at: 1, value: 7 }]);
    tx.commit();
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    const before = engine.pool.stats.writes;
    const seen: number[] = [];
    for (let i = 1; i <= 9; i++) {
      clock.nowMs += 27_000; // a tenth of what a target of 0.9 leaves
      engine.checkpointer.tick();
      seen.push(engine.pool.stats.writes - before);
    }
    expect(seen).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90].map((n) => expect.closeTo(n, -0.3)));
    expect(engine.checkpointer.isRunning).toBe(true);
    clock.nowMs += 27_001;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(false);
    expect(engine.pool.stats.writes - before).toBe(100);
  });

  test('it begins by the volume of WAL, and keeps in step with that', () => {
    const { engine, table } = clocked({ maxWalBytes: 1_900_000, completionTarget: 0.9 });
    fill(engine, table, 200);
    engine.checkpoint();
    const { redo } = engine.control.current.checkpoint;
    const log = () => engine.wal.insertedUpTo - redo;
    let value = 0;
    while (log() < 999_000) {
      fill(engine, table, 1, value++ & 0xff);
      engine.checkpointer.tick();
    }
    expect(engine.checkpointer.isRunning).toBe(false);
    fill(engine, table, 200, 9);
    while (log() < 1_000_000) fill(engine, table, 1, value++ & 0xff);
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(true);
    const started = log();
    while (engine.checkpointer.isRunning) {
      fill(engine, table, 1, value++ & 0xff);
      engine.checkpointer.tick();
    }
    expect(log() - started).toBeGreaterThan(800_000);
    expect(log() - started).toBeLessThan(950_000);
  });

  test('one that fails says so, throws nothing, and is tried again a second later', () => {
    const { vfs, engine, table, clock } = clocked();
    fill(engine, table, 10);
    const fault = vfs.plant({ operation: 'write', path: `base/5/${table}`, errno: 'ENOSPC', times: 2 });
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    expect(fault.hits).toBe(1);
    expect(engine.log).toEqual([expect.stringMatching(/^checkpoint failed: /)]);
    engine.checkpointer.tick();
    expect(fault.hits).toBe(1);
    clock.nowMs += 1000;
    engine.checkpointer.tick();
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    expect(fault.hits).toBe(2);
    clock.nowMs += 1000;
    engine.checkpointer.tick();
    clock.nowMs += 300_000;
    engine.checkpointer.tick();
    expect(engine.log.at(-1)).toMatch(/^checkpoint complete \(spread\)/);
  });

  test('a tick leaves a checkpoint alone that somebody else takes the steps of', () => {
    const { engine, table, clock } = clocked();
    fill(engine, table, 3);
    const steps = engine.checkpointer.steps('immediate');
    steps.next();
    clock.nowMs += 900_000;
    engine.checkpointer.tick();
    expect(engine.checkpointer.isRunning).toBe(true);
    expect(runSync(steps).kind).toBe('immediate');
  });

  test('options that make no sense are refused', () => {
    expect(() => made({ checkpointTimeoutMs: 0 })).toThrow(RangeError);
    expect(() => made({ completionTarget: 1.5 })).toThrow(RangeError);
    expect(() => made({ maxWalBytes: -1 })).toThrow(RangeError);
    expect(() => made({ checkpointTimeout: 5 } as EngineOptions)).toThrow(/did you mean "checkpointTimeoutMs"/);
  });
});
