// Closing while transactions, commits and scans go on: what is told to whom, and that nothing told is untrue.
import { isStorageError } from '@blockwright/base';
import { int4 } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Core } from '../src/core.ts';
import { Database, type DatabaseTransaction, initdb, table } from '../src/index.ts';

const notes = table('notes', { id: int4() });
let vfs: MemoryVfs;
let db: Database;
let warnings: string[];

beforeEach(() => {
  vfs = new MemoryVfs();
  vfs.recording = false;
  warnings = [];
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs, onWarning: (message) => warnings.push(message) });
  db.createTable(notes);
});
afterEach(() => db.close());

const isLocked = (): boolean => vfs.exists('/data/blockwright.pid');
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** The ids that are there when the directory is opened again. */
function reopened(): number[] {
  db = Database.open('/data', { vfs });
  return [...db.scan(notes, { columns: ['id'] }).rows()].map(({ id }) => id);
}

async function endOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    return isStorageError(error) ? error.code : String(error);
  }
}

/** A transaction with a row before and after each of `waits` turns of the event loop. */
const slow = (waits: number) => async (tx: DatabaseTransaction) => {
  tx.insert(notes, [{ id: 0 }]);
  for (let i = 1; i <= waits; i++) {
    await turns(1);
    tx.insert(notes, [{ id: i }]);
  }
  return 'done';
};

describe('close', () => {
  it('rolls a running function back, which is told so, at whichever of its steps', async () => {
    for (let after = 0; after <= 3; after++) {
      const end = endOf(db.transactionAsync(slow(4)));
      await turns(after);
      db.close();
      expect(await end).toBe('57P01');
      expect(reopened()).toEqual([]);
    }
  });

  it('tells a function that touches nothing afterwards, and one that is not asynchronous', async () => {
    const end = db.transactionAsync(async (tx) => {
      tx.insert(notes, [{ id: 1 }]);
      await turns(2);
    });
    const told = expect(end).rejects.toMatchObject({
      code: '57P01',
      message: expect.stringMatching(/closed.*rolled back/),
    });
    db.close();
    await told;
    expect(reopened()).toEqual([]);
    expect(() =>
      db.transaction((tx) => {
        tx.insert(notes, [{ id: 2 }]);
        db.close();
      }),
    ).toThrow(expect.objectContaining({ code: '57P01' }));
    expect(reopened()).toEqual([]);
  });

  it('says the same to whoever commits what it rolled back', async () => {
    const [first, second] = [db.begin(), db.begin()];
    first.insert(notes, [{ id: 1 }]);
    second.insert(notes, [{ id: 2 }]);
    db.close();
    expect(() => first.commit()).toThrow(expect.objectContaining({ code: '57P01' }));
    expect(await endOf(second.commitAsync())).toBe('57P01');
    first.rollback();
    expect(reopened()).toEqual([]);
  });

  it('has nothing to say against a function that has ended its transaction itself', async () => {
    expect(db.transaction((tx) => tx.rollback())).toBeUndefined();
    const result = await db.transactionAsync(async (tx) => {
      tx.insert(notes, [{ id: 3 }]);
      tx.commit();
      db.close();
      return 'kept';
    });
    expect(result).toBe('kept');
    expect(reopened()).toEqual([3]);
  });
});

describe('closeAsync', () => {
  it.each([0, 1, 2, 3, 4, 5])(
    'after %i turns lets functions and commits end, and what they say is so',
    async (after) => {
      const ends = [slow(3), slow(0), () => 'done'].map((fn) => endOf(db.transactionAsync(fn)));
      await turns(after);
      await db.closeAsync();
      expect(isLocked()).toBe(false);
      expect(await Promise.all(ends)).toEqual(['done', 'done', 'done']);
      expect(reopened().sort()).toEqual([0, 0, 1, 2, 3]);
    },
  );

  it('waits for a function between two attempts', async () => {
    let attempts = 0;
    const holder = db.transactionAsync(async (tx) => {
      tx.insert(notes, [{ id: 1 }]);
      tx.lock(notes, 0, 1);
      await turns(3);
    });
    db.insert(notes, [{ id: 7 }]);
    const other = db.begin();
    other.lock(notes, 0, 2);
    const retried = db.transactionAsync(
      (tx) => {
        attempts++;
        if (attempts > 1) other.rollback();
        return tx.delete(notes, 0, 2);
      },
      { retries: 5 },
    );
    await db.closeAsync();
    expect(await Promise.all([holder, retried])).toEqual([undefined, true]);
    expect(attempts).toBe(2);
    expect(reopened()).toEqual([1]);
  });

  it('refuses new transactions meanwhile, and rolls back what nobody ends', async () => {
    const open = db.begin();
    open.insert(notes, [{ id: 9 }]);
    const running = db.transactionAsync(slow(2));
    const closed = db.closeAsync();
    expect(() => db.begin()).toThrow(expect.objectContaining({ code: '57P01' }));
    expect(() => db.insert(notes, [{ id: 8 }])).toThrow(/is being closed/);
    expect(await endOf(db.transactionAsync(() => 0))).toBe('57P01');
    expect(db.count(notes).rows).toBe(0); // looking is fine
    await closed;
    expect(await running).toBe('done');
    expect(open.isOpen).toBe(false);
    expect(reopened()).toEqual([0, 1, 2]);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'waits for a commit that begins %i microtasks after another ended',
    async (count) => {
      const [first, second] = [db.begin(), db.begin()];
      first.insert(notes, [{ id: 1 }]);
      second.insert(notes, [{ id: 2 }]);
      const both = (async () => {
        await first.commitAsync();
        for (let i = 0; i < count; i++) await Promise.resolve();
        return await endOf(second.commitAsync());
      })();
      await db.closeAsync();
      const end = await both;
      expect(['57P01', undefined]).toContain(end);
      expect(reopened()).toEqual(end === undefined ? [1, 2] : [1]);
    },
  );

  it('waits for a commit that a function began and did not await', async () => {
    const result = await db.transactionAsync((tx) => {
      tx.insert(notes, [{ id: 5 }]);
      void tx.commitAsync();
      return 'begun';
    });
    expect(result).toBe('begun');
    expect(db.count(notes).rows).toBe(1);
    await db.closeAsync();
    await db.closeAsync();
    expect(reopened()).toEqual([5]);
  });
});

describe('a scan', () => {
  const held = (): boolean => {
    try {
      db.transaction((tx) => {
        tx.dropTable(notes);
        throw new Error('only asked');
      });
    } catch (error) {
      return isStorageError(error) && error.code === '55006';
    }
    return false;
  };
  beforeEach(() => db.insert(notes, [{ id: 1 }, { id: 2 }]));

  it('gives back what it holds when it is returned from before its first row', () => {
    for (const of of ['rows', 'batches'] as const) {
      const scan = db.scan(notes, { columns: ['id'] });
      const iterator = of === 'rows' ? scan.rows() : scan[Symbol.iterator]();
      expect(held()).toBe(true);
      expect(iterator.return(undefined)).toMatchObject({ done: true });
      expect(held()).toBe(false);
      expect(iterator.next().done).toBe(true);
    }
  });

  it('gives back what it holds when a step fails', () => {
    db.checkpoint();
    db.close();
    const file = vfs.open(`/data/${path()}`, 'r+');
    file.write(new Uint8Array(64).fill(0xff), 0, 64, 0);
    file.close();
    db = Database.open('/data', { vfs });
    const scan = db.scan(notes, { columns: ['id'] });
    expect(held()).toBe(true);
    expect(() => scan.next()).toThrow(expect.objectContaining({ code: 'XX001' }));
    expect(held()).toBe(false);
  });

  it('that nobody has any more gives back what it holds, and says so once', () => {
    const scan = db.scan(notes, { columns: ['id'] });
    scan.next();
    const { core } = db as unknown as { core: Core };
    const [open] = core.scans;
    expect(open).not.toBe(scan); // which nothing here keeps alive
    expect(held()).toBe(true);
    core.endDropped(open); // as its FinalizationRegistry does
    core.endDropped(open);
    expect(held()).toBe(false);
    expect(warnings).toEqual([
      expect.stringMatching(/^a scan of table "notes" was neither read to its end nor closed/),
    ]);
    const read = db.scan(notes, { columns: ['id'] });
    const [other] = core.scans;
    expect([...read.rows()]).toHaveLength(2);
    core.endDropped(other);
    expect(warnings).toHaveLength(1);
  });
});

const path = (): string | undefined => {
  db = Database.open('/data', { vfs });
  const found = db.tables().find(({ name }) => name === 'notes')?.path;
  db.close();
  return found;
};
