// A disk that fails under an open database: full, it fails one transaction; a failed sync stops the engine until it is
// opened again. And openings that are stopped, and closings of all kinds.
import { isStorageError } from '@blockwright/base';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import { beforeEach, describe, expect, it } from 'vitest';
import { Database, initdb, table } from '../src/index.ts';

const notes = table('notes', { id: int4(), note: text() });
const EVER = Number.POSITIVE_INFINITY;

let vfs: MemoryVfs;
let db: Database;

beforeEach(() => {
  vfs = new MemoryVfs();
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs });
  db.createTable(notes);
  db.insert(notes, rows(10));
});

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ id: from + i, note: 'x'.repeat(50) }));
const isLocked = (): boolean => vfs.exists('/data/blockwright.pid');

function errorOf(call: () => unknown): { code?: string; hint?: string } {
  try {
    call();
  } catch (error) {
    if (isStorageError(error)) return { code: error.code, hint: error.hint };
    throw error;
  }
  return {};
}

describe('a full disk', () => {
  it('fails the commit that finds it, takes that one back, and all goes on once there is room', () => {
    const fault = vfs.plant({ operation: 'write', path: '/wal/', errno: 'ENOSPC', times: EVER });
    const tx = db.begin();
    tx.insert(notes, rows(5, 10));
    expect(errorOf(() => tx.commit()).code).toBe('53100');
    expect(fault.hits).toBeGreaterThan(0);
    expect(tx.isOpen).toBe(false);
    expect(db.count(notes).rows).toBe(10);
    expect(errorOf(() => db.insert(notes, rows(5, 10))).code).toBe('53100');
    fault.remove();
    db.insert(notes, rows(5, 10));
    expect(db.count(notes).rows).toBe(15);
    db.close();
    const again = Database.open('/data', { vfs });
    expect(again.count(notes).rows).toBe(15);
    again.close();
  });

  it('in the middle of a statement fails that, and a savepoint before it is enough to go on', () => {
    const tx = db.begin();
    tx.insert(notes, rows(3, 10));
    tx.savepoint();
    // The WAL is full: it must have another segment, which it cannot have.
    const fault = vfs.plant({ operation: 'open', path: '/wal/', errno: 'ENOSPC', times: EVER });
    expect(errorOf(() => tx.insert(notes, rows(20_000, 100))).code).toBe('53100');
    expect(fault.hits).toBeGreaterThan(0);
    expect(errorOf(() => tx.count(notes)).code).toBe('25P02');
    fault.remove();
    tx.rollbackTo();
    tx.commit();
    expect(db.count(notes).rows).toBe(13);
    db.close();
  });

  it('at the last checkpoint makes closing fail; the lock is given back, and the next opening recovers', () => {
    const fault = vfs.plant({ operation: 'write', path: 'base/5/', errno: 'ENOSPC', times: EVER });
    expect(errorOf(() => db.close()).code).toBe('53100');
    expect(isLocked()).toBe(false);
    db.close();
    fault.remove();
    const again = Database.open('/data', { vfs });
    expect(again.recovery).toBeDefined();
    expect(again.count(notes).rows).toBe(10);
    again.close();
  });
});

describe('a write of the WAL that fails though its bytes arrive', () => {
  it.each(['EIO', 'ENOSPC'])(
    'with %s stops the engine: a crash brings back the whole commit, and nobody went on',
    (errno) => {
      const disk = new SimulatedVfs();
      initdb('/data', { vfs: disk, walSegmentSize: '1MB' });
      const one = Database.open('/data', { vfs: disk });
      one.createTable(notes);
      one.insert(notes, rows(10));
      const fault = disk.plant({ operation: 'write', path: '/wal/', errno, bytes: EVER });
      expect(errorOf(() => one.insert(notes, rows(5, 10))).code).toBe('58030');
      expect(fault.hits).toBe(1);
      expect(errorOf(() => one.count(notes)).code).toBe('58030');
      expect(errorOf(() => one.insert(notes, rows(5, 20))).code).toBe('58030');
      const killed = disk.crashedAt(disk.operations, 'all');
      killed.unlink('/data/blockwright.pid'); // of this process, which lives
      one.close();
      for (const left of [killed, disk]) {
        const again = Database.open('/data', { vfs: left });
        expect(again.count(notes).rows).toBe(15);
        again.close();
      }
    },
  );
});

describe('a sync that fails', () => {
  it.each([
    ['of the WAL', 'datasync', '/wal/', () => db.insert(notes, rows(5, 10))],
    ['of a table', 'sync', 'base/5/', () => db.checkpoint()],
    ['of the commit log', 'datasync', 'xact/', () => db.checkpoint()],
    ['of the control file', 'sync', 'global/', () => db.checkpoint()],
  ] as const)(
    '%s stops the engine: every call says so, closing gives the lock back, opening recovers',
    (...[, operation, path, call]) => {
      const open = db.begin();
      open.insert(notes, rows(1, 90));
      const fault = vfs.plant({ operation, path, errno: 'EIO' });
      expect(errorOf(call).code).toBe('58030');
      expect(fault.hits).toBe(1);
      fault.remove();
      for (const after of [
        () => db.insert(notes, rows(1)),
        () => db.count(notes),
        () => db.scan(notes, { columns: ['id'] }),
        () => db.fetch(notes, 0, 1),
        () => db.tables(),
        () => db.begin(),
        () => db.checkpoint(),
        () => open.insert(notes, rows(1)),
        () => open.commit(),
      ]) {
        expect(errorOf(after)).toMatchObject({ code: '58030', hint: expect.stringContaining('open it again') });
      }
      open.rollback();
      vfs.journal.length = 0;
      db.close();
      expect(vfs.journal.filter((entry) => entry.operation === 'write')).toEqual([]); // nothing is written any more
      expect(isLocked()).toBe(false);
      const again = Database.open('/data', { vfs });
      expect(again.recovery).toBeDefined();
      const { rows: found } = again.count(notes);
      // What was being flushed may have made it, as a whole.
      expect(found === 10 || (operation === 'datasync' && found === 15)).toBe(true);
      again.close();
    },
  );

  it('of a group commit rejects all that wait', async () => {
    const fault = vfs.plant({ operation: 'datasync', path: '/wal/', errno: 'EIO' });
    const commits = [1, 2, 3].map((i) => db.transactionAsync((tx) => tx.insert(notes, rows(1, 100 + i))));
    const ends = await Promise.allSettled(commits);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(fault.hits).toBe(1);
    db.close();
    expect(isLocked()).toBe(false);
  });
});

describe('closing', () => {
  it('while commits wait for the disk is refused; closeAsync waits for them', async () => {
    const pending = db.transactionAsync((tx) => tx.insert(notes, rows(1, 50)));
    await Promise.resolve();
    expect(errorOf(() => db.close()).code).toBe('55006');
    const closed = db.closeAsync();
    await Promise.all([pending, closed]);
    expect(isLocked()).toBe(false);
    const again = Database.open('/data', { vfs });
    expect(again.recovery).toBeUndefined();
    expect(again.count(notes).rows).toBe(11);
    again.close();
  });
});

describe('opening in steps', () => {
  it('says how far recovery is, and can be stopped: no lock stays, and the next opening recovers', async () => {
    db.insert(notes, rows(5000, 100));
    const before = db.count(notes).rows;
    const left = copyOf(vfs);
    const stop = new AbortController();
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(Database.openAsync('/data', { vfs: left, signal: stop.signal })).rejects.toBe(reason);
    expect(left.exists('/data/blockwright.pid')).toBe(false);
    const midway = new AbortController();
    await expect(
      Database.openAsync('/data', { vfs: left, signal: midway.signal, onProgress: () => midway.abort(reason) }),
    ).rejects.toBe(reason);
    expect(left.exists('/data/blockwright.pid')).toBe(false);
    const phases = new Set<string>();
    const again = await Database.openAsync('/data', {
      vfs: left,
      recoveryTiming: true,
      onProgress: ({ phase }) => phases.add(phase),
    });
    expect(again.recovery).toMatchObject({ isRequired: true, shares: expect.anything() });
    expect(phases.size).toBeGreaterThan(0);
    expect(again.count(notes).rows).toBe(before);
    await again.closeAsync();
    await again.closeAsync();
  });
});

/** What a killed process leaves. */
function copyOf(from: MemoryVfs): MemoryVfs {
  const to = new MemoryVfs();
  const copy = (path: string): void => {
    to.mkdir(path);
    for (const name of from.readdir(path)) {
      const full = `${path}/${name}`;
      if (from.stat(full)?.isDirectory === true) copy(full);
      else if (name !== 'blockwright.pid') {
        const bytes = from.readFile(full);
        const file = to.open(full, 'create');
        file.write(bytes, 0, bytes.length, 0);
        file.close();
      }
    }
  };
  copy('/data');
  return to;
}
