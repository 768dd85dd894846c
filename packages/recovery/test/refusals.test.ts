// What recovery refuses, and that it has changed nothing then; what it says; what it counts.
import { lsnText, runSync } from '@blockwright/base';
import { ControlHolder, readControlFile, writeControlFile } from '@blockwright/control';
import { cleanStart } from '@blockwright/recovery';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import { describe, expect, test } from 'vitest';
import { Engine, initialize } from './engine.ts';

const DIRECTORY = '/data';

/** A directory whose engine crashed after a checkpoint and some commits. */
function crashed<Disk extends MemoryVfs>(vfs: Disk): { vfs: Disk; table: number; engine: Engine } {
  initialize(vfs, DIRECTORY, 1024);
  const engine = new Engine(vfs, DIRECTORY);
  let tx = engine.transactions.begin();
  const table = engine.create(tx);
  for (let block = 0; block < 5; block++) engine.set(tx, table, [{ block, at: 0, value: 1 }]);
  tx.commit();
  engine.checkpoint();
  for (let i = 0; i < 250; i++) {
    tx = engine.transactions.begin();
    engine.set(tx, table, [{ block: i % 5, at: i, value: 2 }]);
    tx.commit();
  }
  engine.abandon();
  return { vfs, table, engine };
}

/** Every file of the directory. */
function contents(vfs: MemoryVfs, directory: string = DIRECTORY): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of vfs.readdir(directory)) {
    const path = `${directory}/${name}`;
    if (vfs.stat(path)?.isDirectory === true) for (const [key, value] of contents(vfs, path)) found.set(key, value);
    else found.set(path, Buffer.from(vfs.readFile(path)).toString('latin1'));
  }
  return found;
}

function damage(vfs: MemoryVfs, lsn: number): void {
  const segment = `${DIRECTORY}/wal/${`00000001${'0'.repeat(8)}${(lsn >>> 20).toString(16).toUpperCase().padStart(8, '0')}`}`;
  const file = vfs.open(segment, 'r+');
  const byte = new Uint8Array(1);
  file.read(byte, 0, 1, lsn & 0xfffff);
  byte[0] ^= 0x40;
  file.write(byte, 0, 1, lsn & 0xfffff);
  file.close();
}

function refused(vfs: MemoryVfs, expected: { message: RegExp; detail?: RegExp; hint?: RegExp }): void {
  const before = contents(vfs);
  expect(() => new Engine(vfs, DIRECTORY)).toThrow(
    expect.objectContaining({
      code: 'XX001',
      message: expect.stringMatching(expected.message),
      ...(expected.detail === undefined ? {} : { detail: expect.stringMatching(expected.detail) }),
      ...(expected.hint === undefined ? {} : { hint: expect.stringMatching(expected.hint) }),
    }),
  );
  expect(contents(vfs)).toEqual(before);
}

/** A table of five blocks in segments of two, whose blocks from `changed` on the WAL to be replayed speaks of. */
function inSegments(changed: number): { vfs: MemoryVfs; path: string; table: number } {
  const vfs = new MemoryVfs();
  initialize(vfs, DIRECTORY, 1024, 2);
  const engine = new Engine(vfs, DIRECTORY);
  const tx = engine.transactions.begin();
  const table = engine.create(tx);
  for (let block = 0; block < 5; block++) engine.set(tx, table, [{ block, at: 0, value: 1 }]);
  tx.commit();
  engine.checkpoint();
  const after = engine.transactions.begin();
  for (let block = changed; block < 5; block++) engine.set(after, table, [{ block, at: 1, value: 2 }]);
  after.commit();
  engine.abandon();
  return { vfs, path: `${DIRECTORY}/base/5/${table}`, table };
}

describe('a gap between segments', () => {
  test.each([
    ['cut', (vfs: MemoryVfs, path: string) => vfs.open(path, 'r+').truncate(1024), 1],
    ['lost', (vfs: MemoryVfs, path: string) => vfs.unlink(path), 2],
  ] as const)('that no crash explains is refused: a first segment that was %s', (_how, harm, blocks) => {
    for (const changed of [5, 3]) {
      const { vfs, path } = inSegments(changed);
      harm(vfs, path);
      for (let i = 0; i < 2; i++) {
        refused(vfs, {
          message: new RegExp(`^"${path}" lacks ${blocks} blocks, from block ${2 - blocks} on$`),
          detail: /^Block 2, which comes after them, was written, and the WAL to be replayed does not speak of it/,
        });
      }
    }
  });

  test('that one explains is filled, and the log says so', () => {
    const { vfs, path, table } = inSegments(1);
    vfs.open(path, 'r+').truncate(1024);
    const engine = new Engine(vfs, DIRECTORY);
    expect(engine.log).toContain(`filled 1 block of base/5/${table} with zeros: segment 0 ended before block 1`);
    expect(engine.read(table)).toHaveLength(5);
    engine.abandon();
  });
});

describe('refused, with nothing changed', () => {
  test('a checkpoint record that cannot be read, with what can be done (J9)', () => {
    const { vfs } = crashed(new MemoryVfs());
    const { record } = readControlFile(vfs, DIRECTORY).checkpoint;
    damage(vfs, record + 30);
    refused(vfs, {
      message: /^the checkpoint record at 0\/[0-9A-F]+ of "\/data" cannot be read/,
      detail: /checksum/,
      hint: /put them back.*backup.*Nothing has been changed/s,
    });
  });

  test('the same after a clean shutdown', () => {
    const { vfs } = crashed(new MemoryVfs());
    new Engine(vfs, DIRECTORY).close();
    const control = readControlFile(vfs, DIRECTORY);
    expect(control.state).toBe('shut down');
    damage(vfs, control.checkpoint.record + 30);
    refused(vfs, { message: /^the checkpoint record/ });
  });

  test('a control file that points to another record, or to another checkpoint', () => {
    const { vfs } = crashed(new MemoryVfs());
    const control = readControlFile(vfs, DIRECTORY);
    const { checkpoint } = control;
    const pointing = (change: object) =>
      writeControlFile(vfs, DIRECTORY, { ...control, checkpoint: { ...checkpoint, ...change } });
    pointing({ record: checkpoint.durable, durable: checkpoint.durable + 8 });
    refused(vfs, { message: /^the checkpoint record/, detail: /not that of a checkpoint/ });
    pointing({ redo: checkpoint.redo - 8 });
    refused(vfs, {
      message: /^the checkpoint record/,
      detail: /says redo from 0\/[0-9A-F]+ in incarnation 1, the control file/,
    });
    pointing({ incarnation: 0 });
    refused(vfs, { message: /^the checkpoint record/, detail: /incarnation/ });
    pointing({ record: 0, redo: 0 });
    refused(vfs, { message: /knows of no checkpoint/ });
    pointing({});
    expect(new Engine(vfs, DIRECTORY).report?.isRequired).toBe(true);
  });

  test('the segment with the redo point is missing (J4)', () => {
    const vfs = new MemoryVfs();
    initialize(vfs, DIRECTORY, 1024);
    const engine = new Engine(vfs, DIRECTORY, { buffers: 256 });
    const tx = engine.transactions.begin();
    const table = engine.create(tx);
    for (let block = 0; block < 100; block++) engine.set(tx, table, [{ block, at: 0, value: 1 }]);
    // A checkpoint whose record lies two segments after its redo point.
    const steps = engine.checkpointer.steps('immediate');
    steps.next();
    const from = engine.wal.insertedUpTo;
    while (engine.wal.insertedUpTo < from + (2 << 20)) engine.set(tx, table, [{ block: 1, at: 1, value: 1 }]);
    tx.commit();
    runSync(steps);
    engine.abandon();
    const segments = vfs.readdir(`${DIRECTORY}/wal`);
    expect(segments.length).toBeGreaterThanOrEqual(3);
    const bytes = vfs.readFile(`${DIRECTORY}/wal/${segments[0]}`);
    vfs.unlink(`${DIRECTORY}/wal/${segments[0]}`);
    refused(vfs, {
      message: /^the WAL of "\/data" cannot be read where redo must start/,
      detail: new RegExp(`there is no WAL segment ${segments[0]}`),
      hint: /put it back/,
    });
    const file = vfs.open(`${DIRECTORY}/wal/${segments[0]}`, 'create');
    file.write(bytes, 0, bytes.length, 0);
    file.close();
    // And one in between: the checkpoint itself is beyond the end then.
    vfs.unlink(`${DIRECTORY}/wal/${segments[1]}`);
    refused(vfs, { message: /^acknowledged data is damaged/, detail: /as the last checkpoint, at 0\/[0-9A-F]+ says/ });
  });

  test('damage before the position that the control file knows as durable', () => {
    const { vfs } = crashed(new MemoryVfs());
    const control = readControlFile(vfs, DIRECTORY);
    const { checkpoint } = control;
    writeControlFile(vfs, DIRECTORY, { ...control, checkpoint: { ...checkpoint, durable: checkpoint.durable + 1000 } });
    damage(vfs, checkpoint.durable + 500);
    refused(vfs, {
      message: /^acknowledged data is damaged: the WAL of "\/data" ends at/,
      detail: /as the control file says/,
    });
  });

  test('damage before the position that a later page knows as durable', () => {
    const { vfs, engine } = crashed(new MemoryVfs());
    expect(engine.wal.insertedUpTo - engine.pages.redoPoint).toBeGreaterThan(3 * 8192);
    damage(vfs, engine.pages.redoPoint + 2000);
    refused(vfs, { message: /^acknowledged data is damaged/, detail: /as a later page of the WAL says/ });
  });

  test('damage after the last page that knows: the WAL ends there, as a crash would end it', () => {
    const { vfs, engine, table } = crashed(new MemoryVfs());
    damage(vfs, engine.wal.lastStart + 26);
    const again = new Engine(vfs, DIRECTORY);
    expect(again.report?.redoEnd).toBe(engine.wal.lastStart);
    expect(again.report?.endReason).toContain('incorrect checksum');
    expect(again.read(table)[3][248]).toBe(2);
  });

  test('pages that the WAL changes and that are lost, unless a later record explains it', () => {
    const { vfs, table, engine } = crashed(new MemoryVfs());
    const path = `${DIRECTORY}/base/5/${table}`;
    // With images every page would be made again.
    const bare = new MemoryVfs();
    initialize(bare, DIRECTORY, 1024);
    const one = new Engine(bare, DIRECTORY, { fullPageImages: false });
    const tx = one.transactions.begin();
    const lost = one.create(tx);
    for (let block = 0; block < 3; block++) one.set(tx, lost, [{ block, at: 0, value: 1 }]);
    one.checkpoint();
    one.set(tx, lost, [{ block: 2, at: 1, value: 1 }]);
    tx.commit();
    one.abandon();
    bare.open(`${DIRECTORY}/base/5/${lost}`, 'r+').truncate(1024);
    expect(() => new Engine(bare, DIRECTORY)).toThrow(
      expect.objectContaining({ code: 'XX001', detail: expect.stringContaining(`block 2 of base/5/${lost}`) }),
    );
    expect(readControlFile(bare, DIRECTORY).walIncarnation).toBe(1);
    vfs.open(path, 'r+').truncate(1024);
    expect(new Engine(vfs, DIRECTORY).read(table)).toHaveLength(5);
    expect(engine.report).toBeUndefined();
  });

  test('a record of a subject that nobody knows', () => {
    const { vfs } = crashed(new MemoryVfs());
    expect(() => new Engine(vfs, DIRECTORY, { recovery: { managers: () => [] } })).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringMatching(/is of resource manager 200/) }),
    );
    expect(new Engine(vfs, DIRECTORY).report?.isRequired).toBe(true);
  });
});

describe('what it says and counts', () => {
  test('as PostgreSQL does', () => {
    const { vfs, engine } = crashed(new MemoryVfs());
    const again = new Engine(vfs, DIRECTORY, { recovery: { timing: true } });
    const { report } = again;
    expect(again.log).toEqual([
      `redo starts at ${lsnText(engine.pages.redoPoint)}`,
      expect.stringMatching(
        new RegExp(
          `^redo done at ${lsnText(engine.wal.lastStart)} system usage: CPU: user: \\d+\\.\\d\\d s, system: \\d+\\.\\d\\d s, elapsed: \\d+\\.\\d\\d s$`,
        ),
      ),
      expect.stringMatching(/^the WAL ends at 0\/[0-9A-F]+: invalid record length at/),
      expect.stringMatching(/^checkpoint complete \(end-of-recovery\): wrote 5 buffers \(31\.3%\)/),
    ]);
    expect(report).toMatchObject({
      redoStart: engine.pages.redoPoint,
      redoEnd: engine.wal.insertedUpTo,
      lastRecord: engine.wal.lastStart,
      incarnation: 2,
      isRequired: true,
      records: 501,
      images: 5,
      imageBytes: 5 * 1024,
    });
    expect(
      report?.byResourceManager.map(({ name, kinds }) => [name, ...kinds.map((kind) => [kind.name, kind.records])]),
    ).toEqual([
      ['XLOG', ['CHECKPOINT_ONLINE', 1]],
      ['Transaction', ['COMMIT', 250]],
      ['Cells', ['SET', 250]],
    ]);
    expect(report?.shares?.lookupSeconds).toBeGreaterThan(0);
    expect(readControlFile(vfs, DIRECTORY)).toMatchObject({ state: 'in production', walIncarnation: 2 });
  });

  test('nothing after the checkpoint: redo is not required', () => {
    const { vfs } = crashed(new MemoryVfs());
    new Engine(vfs, DIRECTORY).abandon();
    const again = new Engine(vfs, DIRECTORY);
    expect(again.log.slice(0, 2)).toEqual(['redo is not required', expect.stringMatching(/^the WAL ends at/)]);
    expect(again.report).toMatchObject({ isRequired: false, records: 1, incarnation: 3 });
  });

  test('progress, from nothing to all of the WAL', () => {
    const { vfs, engine } = crashed(new MemoryVfs());
    const stopped = new Error('stop');
    const seen: { phase: string; done: number; total: number }[] = [];
    const holder = new ControlHolder(vfs, DIRECTORY);
    expect(holder.current.state).toBe('in production');
    expect(
      () =>
        new Engine(vfs, DIRECTORY, {
          recovery: {
            start: () => {
              throw stopped;
            },
          },
        }),
    ).toThrow(stopped);
    const again = new Engine(vfs, DIRECTORY);
    const steps = again.recovery();
    for (let step = steps.next(); step.done !== true; step = steps.next()) seen.push(step.value);
    const redo = seen.filter(({ phase }) => phase === 'redo');
    expect(redo.at(-1)?.done).toBe(redo.at(-1)?.total);
    expect(engine.wal.insertedUpTo).toBeGreaterThan(0);
  });

  test('a directory that was shut down goes on where it ended', () => {
    const { vfs } = crashed(new MemoryVfs());
    const again = new Engine(vfs, DIRECTORY);
    again.close();
    const control = new ControlHolder(vfs, DIRECTORY);
    expect(cleanStart({ vfs, directory: DIRECTORY, control })).toEqual({
      incarnation: 2,
      start: again.wal.insertedUpTo,
      previous: again.wal.lastStart,
      redo: control.current.checkpoint.redo,
      nextXid: again.transactions.nextXid,
      nextXidEpoch: 0,
      oldestXid: 3,
      nextOid: again.oids.next,
    });
    expect(() => cleanStart({ vfs, directory: DIRECTORY, control, dir: 1 } as never)).toThrow(/no option "dir"/);
  });
});

describe('a process that was killed', () => {
  test('what only the cache of the system has is forced to the disk before redo', () => {
    const vfs = new SimulatedVfs();
    initialize(vfs, DIRECTORY, 1024);
    // Without images redo cannot make a page anew: it takes what it finds.
    const options = { fullPageImages: false };
    const engine = new Engine(vfs, DIRECTORY, options);
    const first = engine.transactions.begin();
    const table = engine.create(first);
    const other = engine.create(first);
    for (let block = 0; block < 5; block++) engine.set(first, table, [{ block, at: 0, value: 1 }]);
    engine.set(first, other, [{ block: 0, at: 0, value: 1 }]);
    first.commit();
    engine.checkpoint();
    vfs.settle();
    const lazy = engine.transactions.begin({ synchronousCommit: false });
    for (let block = 0; block < 5; block++) engine.set(lazy, table, [{ block, at: 1, value: 2 }]);
    lazy.commit();
    engine.pool.flushAll(); // and the WAL with it, synced
    const lazier = engine.transactions.begin({ synchronousCommit: false });
    engine.set(lazier, other, [{ block: 0, at: 2, value: 3 }]);
    lazier.commit();
    engine.wal.write(engine.wal.insertedUpTo);
    // Killed: not even closing a file, which syncs it, happens.
    const again = new Engine(vfs, DIRECTORY, options);
    expect(again.read(table).map((cells) => [...cells.slice(0, 3)])).toEqual(Array(5).fill([1, 2, 0]));
    expect(again.read(other).map((cells) => [...cells.slice(0, 3)])).toEqual([[1, 0, 3]]);
    const third = new Engine(vfs.crash('synced'), DIRECTORY, options);
    expect(third.read(table)).toEqual(again.read(table));
    for (let operation = 0; operation <= vfs.operations; operation++) {
      const torn = new Engine(vfs.crashedAt(operation, 'synced'), DIRECTORY, options);
      expect([operation, torn.read(table).map((cells) => cells[0])]).toEqual([operation, [1, 1, 1, 1, 1]]);
      expect(torn.commitLog.status(first.topXid)).toBe(1);
    }
  });
});
