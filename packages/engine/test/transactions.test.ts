// Transactions through the façade: what each statement sees, what a failure means, savepoints, several at once.
import { isStorageError } from '@blockwright/base';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database, type DatabaseTransaction, initdb, type Tid, table } from '../src/index.ts';

const accounts = table('accounts', { id: int4(), balance: int4(), note: text().nullable() }, { fillfactor: 70 });

let vfs: MemoryVfs;
let db: Database;
let tids: Tid[];

beforeEach(() => {
  vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs });
  db.createTable(accounts);
  tids = [];
  db.insert(
    accounts,
    Array.from({ length: 5 }, (_, id) => ({ id, balance: 100, note: null })),
    { tids },
  );
});
afterEach(() => db.close());

/** Balances by id, as `from` sees them. */
function balances(from: Pick<Database, 'scan'>): Record<number, number> {
  return Object.fromEntries(
    [...from.scan(accounts, { columns: ['id', 'balance'] }).rows()].map((r) => [r.id, r.balance]),
  );
}

const add = (tx: DatabaseTransaction, id: number, amount: number): boolean =>
  tx.update(accounts, tids[id].block, tids[id].offset, (row) => ({ balance: row.balance + amount }));

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return isStorageError(error) ? error.code : String(error);
  }
  return undefined;
}

describe('a transaction', () => {
  it('sees its own writes, and others see them once it has committed', () => {
    const tx = db.begin();
    add(tx, 1, 5);
    tx.insert(accounts, [{ id: 9, balance: 1, note: 'new' }]);
    tx.delete(accounts, tids[2].block, tids[2].offset);
    expect(balances(tx)).toEqual({ 0: 100, 1: 105, 3: 100, 4: 100, 9: 1 });
    expect(balances(db)).toEqual({ 0: 100, 1: 100, 2: 100, 3: 100, 4: 100 });
    expect(tx.count(accounts).rows).toBe(5);
    expect(tx.fetch(accounts, tids[1].block, tids[1].offset)).toMatchObject({ balance: 105 });
    expect(db.fetch(accounts, tids[1].block, tids[1].offset)).toMatchObject({ balance: 100 });
    tx.commit();
    expect(balances(db)).toEqual({ 0: 100, 1: 105, 3: 100, 4: 100, 9: 1 });
    expect(db.fetch(accounts, tids[2].block, tids[2].offset)).toBeUndefined();
  });

  it('takes everything back when it is rolled back, disposed of, or open when the database is closed', () => {
    const before = balances(db);
    for (const end of [(tx: DatabaseTransaction) => tx.rollback(), (tx: DatabaseTransaction) => tx[Symbol.dispose]()]) {
      const tx = db.begin();
      add(tx, 0, 1);
      tx.insert(accounts, [{ id: 8, balance: 1, note: null }]);
      end(tx);
      expect(tx.isOpen).toBe(false);
      expect(balances(db)).toEqual(before);
    }
    const open = db.begin();
    add(open, 0, 1);
    db.close();
    expect(open.isOpen).toBe(false);
    db = Database.open('/data', { vfs });
    expect(balances(db)).toEqual(before);
  });

  it('is over when it has ended: every statement is refused, a rollback is fine', () => {
    const tx = db.begin();
    tx.commit();
    tx.rollback();
    for (const call of [
      () => tx.insert(accounts, []),
      () => balances(tx),
      () => tx.commit(),
      () => tx.savepoint(),
      () => tx.rollbackTo(1),
    ]) {
      expect(codeOf(call)).toBe('25P01');
    }
  });

  it('run with a function commits what returns, rolls back what throws, and refuses a promise', () => {
    expect(db.transaction((tx) => add(tx, 0, 1))).toBe(true);
    const boom = new Error('boom');
    expect(() =>
      db.transaction((tx) => {
        add(tx, 0, 1);
        throw boom;
      }),
    ).toThrow(boom);
    expect(() =>
      db.transaction((tx) => {
        add(tx, 0, 1);
        return Promise.resolve();
      }),
    ).toThrow(/returned a promise/);
    expect(balances(db)[0]).toBe(101);
    expect(() => db.transaction(() => 0, { retrys: 3 } as never)).toThrow(/did you mean "retries"/);
    expect(() => db.transaction(() => 0, { retries: -1 })).toThrow(RangeError);
    expect(() => db.begin({ isolation: 'serializable' as never })).toThrow(RangeError);
  });

  it('that is read-only refuses to write, and goes on', () => {
    const tx = db.begin({ readOnly: true });
    expect(codeOf(() => add(tx, 0, 1))).toBe('25006');
    expect(balances(tx)[0]).toBe(100);
    tx.commit();
  });
});

describe('a statement', () => {
  it('does not see what it writes itself: an insert from a scan of the same table ends', () => {
    db.transaction((tx) => {
      const rows = function* () {
        for (const row of tx.scan(accounts, { columns: ['id', 'balance', 'note'] }).rows())
          yield { ...row, id: row.id + 10 };
      };
      expect(tx.insert(accounts, rows())).toBe(5);
      expect(tx.count(accounts).rows).toBe(10);
    });
  });

  it('that fails half-way fails the transaction; one that did nothing leaves it as it was', () => {
    const tx = db.begin();
    const bad = { id: 7, balance: null as never, note: null };
    expect(codeOf(() => tx.insert(accounts, [bad]))).toBe('23502');
    expect(add(tx, 0, 1)).toBe(true); // nothing had happened
    expect(codeOf(() => tx.insert(accounts, [{ id: 6, balance: 1, note: null }, bad]))).toBe('23502');
    for (const call of [() => add(tx, 0, 1), () => balances(tx), () => tx.savepoint()]) {
      expect(codeOf(call)).toBe('25P02');
    }
    expect(codeOf(() => tx.commit())).toBe('25P02');
    expect(tx.isOpen).toBe(false);
    expect(balances(db)).toEqual({ 0: 100, 1: 100, 2: 100, 3: 100, 4: 100 });
  });

  it('outside of a transaction is all or nothing', () => {
    const rows = [
      { id: 6, balance: 1, note: null },
      { id: 7, balance: 'much' as never, note: null },
    ];
    expect(() => db.insert(accounts, rows)).toThrow(/balance/);
    expect(db.count(accounts).rows).toBe(5);
    expect(db.update(accounts, tids[3].block, tids[3].offset, { note: 'seen' })).toBe(true);
    expect(db.delete(accounts, tids[4].block, tids[4].offset)).toBe(true);
    expect(db.delete(accounts, tids[4].block, tids[4].offset)).toBe(false);
    expect(db.update(accounts, tids[4].block, tids[4].offset, { note: 'gone' })).toBe(false);
    expect(db.update(accounts, tids[3].block, tids[3].offset, () => undefined)).toBe(false);
    expect(db.fetch(accounts, tids[3].block, tids[3].offset)).toEqual({ id: 3, balance: 100, note: 'seen' });
    expect(() => db.update(accounts, tids[3].block, tids[3].offset, { nots: 'x' } as never)).toThrow(
      /did you mean "note"/,
    );
  });
});

describe('a row', () => {
  it('keeps its TID through HOT updates, whatever is pruned meanwhile, and says where it goes otherwise', () => {
    let tid = tids[0];
    let moves = 0;
    for (let i = 1; i <= 400; i++) {
      db.transaction((tx) => {
        expect(tx.update(accounts, tid.block, tid.offset, { balance: i, note: 'y'.repeat(i % 90) })).toBe(true);
        if (tx.lastWasHot) expect(tx.lastTid).toEqual(tid);
        else moves++;
        tid = tx.lastTid;
      });
      expect(db.fetch(accounts, tid.block, tid.offset)).toMatchObject({ id: 0, balance: i });
    }
    expect(moves).toBeLessThan(5); // pages are pruned: there is room again and again
    expect(db.count(accounts)).toMatchObject({ rows: 5, pages: 1 });
  });

  it('is found by the TID of a version in the middle of its chain', () => {
    const scanned = (): Tid => {
      for (const { length, columns, blocks, offsets } of db.scan(accounts, { columns: ['id'] })) {
        const ids = columns.id;
        for (let i = 0; i < length; i++) {
          if (ids.kind === 'int' && ids.values[i] === 0) return { block: blocks[i], offset: offsets[i] };
        }
      }
      throw new Error('not found');
    };
    db.transaction((tx) => add(tx, 0, 1));
    const member = scanned();
    expect(member).not.toEqual(tids[0]); // a heap-only tuple
    const tx = db.begin();
    expect(tx.update(accounts, member.block, member.offset, { note: 'a' })).toBe(true);
    expect(tx.lastTid).toEqual(tids[0]);
    tx.commit();
    // Superseded since it was scanned, and still there: followed.
    expect(db.fetch(accounts, member.block, member.offset)).toMatchObject({ balance: 101, note: 'a' });
    expect(db.update(accounts, member.block, member.offset, { note: 'b' })).toBe(true);
    expect(db.fetch(accounts, tids[0].block, tids[0].offset)).toMatchObject({ balance: 101, note: 'b' });
  });

  it('that an open transaction has written is 55P03 for others, naming it; in repeatable read a changed one is 40001', () => {
    const first = db.begin();
    const second = db.begin({ isolation: 'repeatable read' });
    expect(balances(second)[1]).toBe(100);
    add(first, 1, 1);
    expect(() => add(second, 1, 1)).toThrow(
      expect.objectContaining({ code: '55P03', message: expect.stringMatching(/accounts.*block 0, offset 2/) }),
    );
    expect(add(second, 2, 1)).toBe(true); // refused before anything changed: it goes on
    first.commit();
    expect(balances(second)[1]).toBe(100);
    expect(codeOf(() => add(second, 1, 1))).toBe('40001');
    second.rollback();
    expect(balances(db)).toMatchObject({ 1: 101, 2: 100 });
  });

  it('is locked until the transaction ends, as strongly as asked', () => {
    const first = db.begin();
    const second = db.begin();
    const { block, offset } = tids[1];
    expect(first.lock(accounts, block, offset, 'share')).toBe(true);
    expect(second.lock(accounts, block, offset, 'share')).toBe(true);
    expect(codeOf(() => second.lock(accounts, block, offset))).toBe('55P03');
    first.rollback();
    expect(second.lock(accounts, block, offset, 'update')).toBe(true);
    const third = db.begin();
    expect(codeOf(() => third.lock(accounts, block, offset, 'key share'))).toBe('55P03');
    second.commit();
    expect(third.lock(accounts, block, offset, 'key share')).toBe(true);
    third.commit();
  });

  it('is tried again on request, and the function sees what came between', async () => {
    let attempts = 0;
    const slow = db.transactionAsync(async (tx) => {
      add(tx, 0, 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    const retried = db.transactionAsync(
      (tx) => {
        attempts++;
        add(tx, 0, 10);
      },
      { retries: 100 },
    );
    await Promise.all([slow, retried]);
    expect(attempts).toBeGreaterThan(1);
    expect(balances(db)[0]).toBe(111);
    let tries = 0;
    const holder = db.begin();
    add(holder, 0, 1);
    expect(
      codeOf(() =>
        db.transaction(
          (tx) => {
            tries++;
            add(tx, 0, 1);
          },
          { retries: 2 },
        ),
      ),
    ).toBe('55P03');
    expect(tries).toBe(3);
    holder.rollback();
  });
});

describe('savepoints', () => {
  it('nest: each takes back what was done since, and keeps what was done before', () => {
    const tx = db.begin();
    add(tx, 0, 1);
    expect(tx.savepoint()).toBe(1);
    add(tx, 0, 10);
    expect(tx.savepoint()).toBe(2);
    add(tx, 0, 100);
    tx.insert(accounts, [{ id: 7, balance: 0, note: null }]);
    tx.rollbackTo();
    expect(balances(tx)).toMatchObject({ 0: 111 });
    expect(balances(tx)[7]).toBeUndefined();
    add(tx, 1, 5);
    tx.releaseSavepoint();
    tx.rollbackTo(1);
    expect(balances(tx)).toMatchObject({ 0: 101, 1: 100 });
    tx.releaseSavepoint(1);
    expect(codeOf(() => tx.rollbackTo(1))).toBe('3B001');
    expect(codeOf(() => tx.releaseSavepoint())).toBe('3B001');
    tx.commit();
    expect(balances(db)).toMatchObject({ 0: 101, 1: 100 });
  });

  it('run with a function are released or rolled back, and a failed statement in one ends there', () => {
    const tx = db.begin();
    expect(tx.savepoint(() => add(tx, 0, 1))).toBe(true);
    const bad = { id: 7, balance: null as never, note: null };
    expect(codeOf(() => tx.savepoint(() => tx.insert(accounts, [{ id: 6, balance: 0, note: null }, bad])))).toBe(
      '23502',
    );
    expect(add(tx, 1, 1)).toBe(true);
    expect(
      codeOf(() =>
        tx.savepoint(() => {
          add(tx, 2, 1);
          try {
            tx.insert(accounts, [{ id: 6, balance: 0, note: null }, bad]);
          } catch {
            // swallowed: the savepoint has failed none the less
          }
        }),
      ),
    ).toBe('25P02');
    tx.commit();
    expect(balances(db)).toEqual({ 0: 101, 1: 101, 2: 100, 3: 100, 4: 100 });
  });
});

describe('a scan', () => {
  it('sees the rows of its beginning, whatever is written while it goes on', () => {
    const scan = db.scan(accounts, { columns: ['id', 'balance'] });
    db.transaction((tx) => {
      for (let id = 0; id < 5; id++) add(tx, id, 1);
      tx.insert(accounts, [{ id: 9, balance: 0, note: null }]);
    });
    expect([...scan.rows()].map(({ balance }) => balance)).toEqual([100, 100, 100, 100, 100]);
    expect([...db.scan(accounts, { columns: ['balance'] }).rows()]).toHaveLength(6);
  });

  it('ends with its transaction, or with the database, and says so to whoever asks for more', () => {
    const tx = db.begin();
    const scan = tx.scan(accounts, { columns: ['id'] });
    tx.commit();
    expect(() => scan.next()).toThrow(/its transaction has ended/);
    const outside = db.scan(accounts, { columns: ['id'] });
    db.close();
    expect(() => outside.next()).toThrow(/the database was closed/);
    db = Database.open('/data', { vfs });
  });

  it('keeps a table from being dropped until it is closed', () => {
    const scan = db.scan(accounts, { columns: ['id'] });
    expect(codeOf(() => db.dropTable(accounts))).toBe('55006');
    scan.close();
    db.transaction((tx) => {
      const own = tx.scan(accounts, { columns: ['id'] });
      expect(codeOf(() => tx.dropTable(accounts))).toBe('55006');
      own.close();
    });
    db.dropTable(accounts);
    expect(codeOf(() => db.count(accounts))).toBe('42P01');
  });
});

describe('a group commit', () => {
  it('is seen by others only after its sync, and one sync serves many', async () => {
    const before = db.walStats?.syncs ?? 0;
    const commits = Array.from({ length: 5 }, (_, id) => db.transactionAsync((tx) => add(tx, id, 1)));
    expect(balances(db)[0]).toBe(100);
    expect(await Promise.all(commits)).toEqual([true, true, true, true, true]);
    expect(balances(db)).toEqual({ 0: 101, 1: 101, 2: 101, 3: 101, 4: 101 });
    expect((db.walStats?.syncs ?? 0) - before).toBeLessThan(5);
  });
});
