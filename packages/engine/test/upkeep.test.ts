// What goes on beside the statements: the sync of commits that did not wait, checkpoints within long work, and what users'
// functions throw when they are told of it.
import { createVectors, int4, TupleDescriptor, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import { afterEach, expect, it, vi } from 'vitest';
import { Database, initdb, type OpenOptions, table } from '../src/index.ts';

const notes = table('notes', { id: int4(), note: text() });

const numbers = table('numbers', { a: int4(), b: int4() });
const bothNumbers = TupleDescriptor.of([
  { name: 'a', type: int4() },
  { name: 'b', type: int4() },
]);

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ id: from + i, note: 'x'.repeat(200) }));

function opened<Disk extends MemoryVfs>(vfs: Disk, options: OpenOptions = {}): { vfs: Disk; db: Database } {
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  const db = Database.open('/data', { vfs, ...options });
  db.createTable(notes);
  db.checkpoint();
  return { vfs, db };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits for `condition`, which comes by itself; for ever if it does not. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

afterEach(() => vi.restoreAllMocks());

it('commits that do not wait are durable a little later, off the thread, by one sync; and then nothing more is synced', async () => {
  const { vfs, db } = opened(new SimulatedVfs(), { synchronousCommit: false, walWriterDelayMs: 5 });
  for (let i = 0; i < 20; i++) db.insert(notes, rows(1, i));
  const isDurable = (): boolean => {
    const disk = vfs.crashedAt(vfs.operations, 'synced');
    if (disk.exists('/data/blockwright.pid')) disk.unlink('/data/blockwright.pid'); // of this process, which lives
    const left = Database.open('/data', { vfs: disk });
    const { rows: found } = left.count(notes);
    left.close();
    return found === 20;
  };
  const syncs = db.walStats?.syncs ?? 0;
  expect(isDurable()).toBe(false);
  await until(() => (db.walStats?.syncs ?? 0) > syncs);
  await until(isDurable);
  const after = db.walStats?.syncs;
  await sleep(30);
  expect(db.walStats?.syncs).toBe(after);
  expect(after).toBe(syncs + 1);
  db.close();
});

it('with an endless delay nothing is synced by itself', async () => {
  const { db } = opened(new MemoryVfs(), { synchronousCommit: false, walWriterDelayMs: Number.POSITIVE_INFINITY });
  db.insert(notes, rows(1));
  const { syncs } = db.walStats ?? {};
  await sleep(30);
  expect(db.walStats?.syncs).toBe(syncs);
  db.close();
  expect(() => Database.open('/data', { vfs: new MemoryVfs(), walWriterDelayMs: 0 })).toThrow(RangeError);
});

it('a full disk is tried again, a sync that fails stops the engine; each is told once', async () => {
  const warnings: string[] = [];
  const onWarning = (text: string): void => void warnings.push(text);
  const { vfs, db } = opened(new MemoryVfs(), { synchronousCommit: false, walWriterDelayMs: 5, onWarning });
  const tx = db.begin();
  tx.insert(notes, rows(1)); // in the WAL's memory, not in its files
  const full = vfs.plant({ operation: 'write', path: '/wal/', errno: 'ENOSPC', times: 3 });
  await until(() => full.hits === 3);
  tx.commit();
  expect(warnings).toEqual([expect.stringMatching(/could not be made durable, it is tried again: .*no space/)]);
  db.insert(notes, rows(1, 1));
  const failing = vfs.plant({ operation: 'datasync', path: '/wal/', errno: 'EIO' });
  db.insert(notes, rows(1, 2));
  await until(() => failing.hits === 1 && warnings.length === 2);
  expect(warnings[1]).toMatch(/the engine has stopped: .*i\/o error/);
  expect(() => db.count(notes)).toThrow(expect.objectContaining({ code: '58030' }));
  await sleep(20);
  expect([failing.hits, warnings.length]).toEqual([1, 2]);
  db.close();
});

it.each([
  ['one statement', (db: Database) => db.insert(notes, rows(8000))],
  [
    'one transaction',
    (db: Database) => db.transaction((tx) => rows(8000).forEach((row) => void tx.insert(notes, [row]))),
  ],
  [
    'one batch of a logged load',
    (db: Database) => {
      db.createTable(numbers);
      const columns = createVectors(bothNumbers, [0, 1], 60_000);
      db.loadSync(numbers, [{ length: 60_000, columns }], { freeze: false });
    },
  ],
])('checkpoints begin within %s that makes much WAL, and segments are recycled', (_what, work) => {
  const lines: string[] = [];
  const { vfs, db } = opened(new MemoryVfs(), { maxWalBytes: '500kB', onLog: (line) => void lines.push(line) });
  lines.length = 0;
  const before = vfs.readdir('/data/wal').length;
  work(db);
  const within = lines.filter((line) => line.startsWith('checkpoint complete')).length;
  expect(within).toBeGreaterThan(1);
  expect(vfs.readdir('/data/wal').length).toBeLessThanOrEqual(before + 2);
  const target = db.tables().some(({ name }) => name === 'numbers') ? numbers : notes;
  expect(db.count(target).rows).toBe(target === numbers ? 60_000 : 8000);
  db.close();
});

it('what onLog and onWarning throw has no effect: not on a commit, not in a timer, not on the page log', async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  let told = 0;
  const failing = (): never => {
    told++;
    throw new Error('the disk of the log is full');
  };
  const { vfs, db } = opened(new MemoryVfs(), { maxWalBytes: '100kB', onLog: failing, onWarning: failing });
  for (let i = 0; i < 600; i++) expect(db.insert(notes, rows(1, i))).toBe(1);
  expect(told).toBeGreaterThan(2);
  expect(emitted.mock.calls[0]?.[0]).toMatch(
    'onWarning threw: the disk of the log is full, when it was told "onLog threw:',
  );
  const full = vfs.plant({ operation: 'write', path: '/xact/', errno: 'ENOSPC', times: Number.POSITIVE_INFINITY });
  for (let i = 600; i < 1200; i++) expect(db.insert(notes, rows(1, i))).toBe(1);
  expect(full.hits).toBeGreaterThan(0);
  full.remove();
  expect(db.count(notes).rows).toBe(1200);
  await sleep(250); // past a turn of the timer
  db.close();
  const again = Database.open('/data', { vfs, onLog: failing });
  expect(again.count(notes).rows).toBe(1200);
  again.close();
});
