// How transactions end: what is written in which order, what waits for the disk, and what a failing disk leaves.
import type { RelationLocator } from '@blockwright/base';
import { describe, expect, test } from 'vitest';
import { CommitLog, XID_ABORTED, XID_COMMITTED, XID_IN_PROGRESS } from '../src/index.ts';
import { codeOf, engine } from './engine.ts';
import { loggedEngine, printed } from './wal.ts';

const TIME = Date.UTC(2026, 1, 3, 4, 5, 6, 789);
const clock = (): number => TIME;
const file = (relfilenode: number): RelationLocator => ({ tablespace: 1663, database: 5, relfilenode });

describe('records', () => {
  test('a commit and an abort, with savepoints and files, read as pg_waldump prints them', () => {
    const { vfs, wal, transactions } = loggedEngine({ clock });
    const plain = transactions.begin();
    plain.writeXid();
    plain.commit();

    const tx = transactions.begin();
    tx.writeXid(); // 4
    tx.savepoint();
    tx.writeXid(); // 5
    tx.removeAtAbort(file(70));
    tx.removeAtCommit(file(60));
    tx.savepoint();
    tx.removeAtAbort(file(71)); // 6
    tx.rollbackTo(2);
    tx.savepoint();
    tx.writeXid(); // 7 and 8
    tx.releaseSavepoint(1);
    tx.commit();

    const undone = transactions.begin();
    undone.removeAtAbort(file(80)); // 9
    undone.removeAtCommit(file(81));
    undone.abort();
    wal.flush(wal.insertedUpTo);
    const time = '2026-02-03 04:05:06.789000 UTC';
    expect(printed(vfs)).toEqual([
      '0 CLOG ZEROPAGE page 0',
      `3 Transaction COMMIT ${time}`,
      `6 Transaction ABORT ${time}; rels: base/5/71`,
      `4 Transaction COMMIT ${time}; rels: base/5/60; subxacts: 5 7 8`,
      `9 Transaction ABORT ${time}; rels: base/5/80`,
    ]);
  });

  test('a transaction that has written nothing writes none, and calls back', () => {
    const { wal, transactions } = loggedEngine();
    const calls: string[] = [];
    const before = wal.insertedUpTo;
    const committed = transactions.begin();
    committed.savepoint();
    committed.onEnd({ commit: () => calls.push('committed') });
    committed.commit();
    const aborted = transactions.begin({ readOnly: true });
    aborted.onEnd({ abort: () => calls.push('aborted') });
    codeOf(() => aborted.writeXid(), '25006');
    aborted.abort();
    expect(calls).toEqual(['committed', 'aborted']);
    expect(wal.insertedUpTo).toBe(before);
    expect([transactions.nextXid, transactions.open.size]).toEqual([3, 0]);
  });
});

describe('order', () => {
  test('work, record, sync, commit log, active set, call-backs, files', () => {
    const steps: string[] = [];
    const { vfs, commitLog, transactions } = loggedEngine({
      removeFiles: (files, committed) => steps.push(`files ${files.map((one) => one.relfilenode)} ${committed}`),
      ended: (xids, committed) => steps.push(`ended ${xids} ${committed}`),
    });
    const tx = transactions.begin();
    tx.writeXid();
    tx.removeAtCommit(file(9));
    const state = (): string =>
      `${commitLog.status(3)}${transactions.isInProgress(3) ? ' running' : ''} ${transactions.open.size} open`;
    tx.onEnd({
      beforeCommit() {
        steps.push(`before: ${state()}`);
        vfs.journal.length = 0;
      },
      commit() {
        steps.push(`commit: ${state()}`, ...new Set(vfs.calls('datasync').map(({ path }) => path)));
      },
    });
    tx.commit();
    expect(steps).toEqual([
      'before: 0 running 1 open',
      'ended 3 true',
      'commit: 1 0 open',
      '/wal/000000010000000000000001',
      'files 9 true',
    ]);
  });

  test('the commit log is not written before the WAL that it follows from', () => {
    const { vfs, wal, commitLog, transactions } = loggedEngine();
    const tx = transactions.begin({ synchronousCommit: false });
    tx.writeXid();
    tx.commit();
    expect(wal.flushedUpTo).toBeLessThan(wal.insertedUpTo);
    vfs.journal.length = 0;
    commitLog.flush();
    const calls = vfs.journal.map(({ operation, path }) => `${operation} ${path}`);
    expect(calls.indexOf('datasync /wal/000000010000000000000001')).toBeGreaterThanOrEqual(0);
    expect(calls.indexOf('datasync /wal/000000010000000000000001')).toBeLessThan(calls.indexOf('write /xact/0000'));
  });
});

describe('without synchronous commit', () => {
  test('a commit is written, not synced, and no hint bit tells of it before it is', () => {
    const { vfs, wal, commitLog, transactions } = loggedEngine({ synchronousCommit: false });
    const early = transactions.begin({ synchronousCommit: true });
    early.writeXid();
    early.commit();
    expect(transactions.hintAllowed(3)).toBe(true);
    const tx = transactions.begin();
    tx.writeXid();
    vfs.journal.length = 0;
    tx.commit();
    expect(vfs.calls('datasync')).toEqual([]);
    expect(vfs.calls('write', '/wal').length).toBeGreaterThan(0);
    expect(transactions.didCommit(4)).toBe(true);
    expect(commitLog.lsnOf(4)).toBe(wal.insertedUpTo);
    expect(transactions.hintAllowed(4)).toBe(false);
    expect(transactions.hintAllowed(40)).toBe(true); // of another group of 32
    wal.flush(wal.insertedUpTo);
    expect(transactions.hintAllowed(4)).toBe(true);
    commitLog.flush();
    expect(commitLog.lsnOf(4)).toBe(0);
  });

  test('one that removes files waits all the same', () => {
    const { wal, transactions } = loggedEngine({ synchronousCommit: false });
    const tx = transactions.begin();
    tx.removeAtCommit(file(1));
    tx.commit();
    expect(wal.flushedUpTo).toBe(wal.insertedUpTo);
  });

  test('a group commit waits for nothing', async () => {
    const { vfs, transactions } = loggedEngine({ synchronousCommit: false });
    const tx = transactions.begin();
    tx.writeXid();
    const done = tx.commitAsync();
    vfs.journal.length = 0;
    await done;
    expect(tx.state).toBe('committed');
    expect(vfs.calls('datasync')).toEqual([]);
  });
});

describe('a group commit', () => {
  test('is in progress for all others until the one sync is done', async () => {
    const { vfs, commitLog, transactions } = loggedEngine();
    const group = [0, 1, 2].map(() => transactions.begin());
    for (const tx of group) tx.writeXid();
    transactions.begin().writeXid(); // 6 stays open
    vfs.journal.length = 0;
    const done = group.map((tx) => tx.commitAsync());
    expect(group.map(({ state }) => state)).toEqual(['committing', 'committing', 'committing']);
    expect(commitLog.status(3)).toBe(XID_COMMITTED); // a checkpoint that comes now must find it
    const snapshot = transactions.snapshot();
    for (const xid of [3, 4, 5]) {
      expect(transactions.isInProgress(xid)).toBe(true);
      expect(transactions.didCommit(xid)).toBe(false);
      expect(transactions.hintAllowed(xid)).toBe(false);
      expect(snapshot.inProgress(xid)).toBe(true);
    }
    codeOf(() => group[0]?.abort(), '55000');
    codeOf(() => group[0]?.commit(), '55000');
    expect(transactions.horizon()).toBe(3);
    await Promise.all(done);
    expect(vfs.calls('datasync').length).toBeLessThanOrEqual(2);
    for (const xid of [3, 4, 5]) {
      expect(transactions.didCommit(xid)).toBe(true);
      expect(transactions.hintAllowed(xid)).toBe(true);
      expect(snapshot.inProgress(xid)).toBe(true);
    }
    snapshot.release();
    expect(transactions.horizon()).toBe(6);
  });

  test('that removes files does not wait for a group: no checkpoint may come between its record and the files', async () => {
    const removed: number[] = [];
    const recorded: (readonly number[])[] = [];
    const { wal, transactions } = loggedEngine({
      removeFiles: (files) => removed.push(...files.map(({ relfilenode }) => relfilenode)),
      recorded: (xids) => recorded.push(xids),
    });
    const keeps = transactions.begin();
    keeps.savepoint();
    keeps.removeAtAbort(file(70)); // 3 and 4
    const waits = keeps.commitAsync();
    expect([keeps.state, recorded]).toEqual(['committing', [[3, 4]]]);
    const drops = transactions.begin();
    drops.removeAtCommit(file(71));
    const done = drops.commitAsync();
    expect([drops.state, removed, wal.flushedUpTo]).toEqual(['committed', [71], wal.insertedUpTo]);
    await Promise.all([waits, done]);
    expect([keeps.state, recorded]).toEqual(['committed', [[3, 4], [5]]]);
  });

  test('whose sync fails stops the engine, and nobody saw it', async () => {
    const { vfs, wal, transactions } = loggedEngine();
    const tx = transactions.begin();
    tx.writeXid();
    const fault = vfs.plant({ operation: 'datasync', path: '/wal', errno: 'EIO' });
    await expect(tx.commitAsync()).rejects.toMatchObject({ code: '58030' });
    expect(fault.hits).toBe(1);
    expect(wal.failed).not.toBeUndefined();
    expect(transactions.isInProgress(3)).toBe(true);
    tx.abort(); // recovery decides: nothing happens
    expect(tx.state).toBe('committing');
    const next = transactions.begin();
    expect(() => {
      next.writeXid();
      next.commit();
    }).toThrow(expect.objectContaining({ code: '58030' }));
    expect(next.state).toBe('aborted');
  });
});

describe('a full disk', () => {
  test('a commit whose record cannot be written aborts, and the engine goes on', async () => {
    const { vfs, wal, commitLog, transactions } = loggedEngine({ clock });
    const first = transactions.begin();
    first.writeXid();
    first.commit();
    for (const how of ['commit', 'commitAsync'] as const) {
      const calls: string[] = [];
      const tx = transactions.begin();
      const xid = tx.writeXid();
      tx.onEnd({ commit: () => calls.push('commit'), abort: () => calls.push('abort') });
      const fault = vfs.plant({ operation: 'write', path: '/wal', errno: 'ENOSPC' });
      if (how === 'commit') codeOf(() => tx.commit(), '53100');
      else await expect(tx.commitAsync()).rejects.toMatchObject({ code: '53100' });
      expect(fault.hits).toBe(1);
      expect([tx.state, ...calls]).toEqual(['aborted', 'abort']);
      expect(commitLog.status(xid)).toBe(XID_ABORTED);
      expect(transactions.didCommit(xid)).toBe(false);
    }
    const after = transactions.begin();
    after.writeXid();
    after.commit();
    expect(wal.failed).toBeUndefined();
    expect(printed(vfs).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      '0 CLOG ZEROPAGE',
      '3 Transaction COMMIT',
      '4 Transaction ABORT',
      '5 Transaction ABORT',
      '6 Transaction COMMIT',
    ]);
  });

  test.each([
    ['the disk fails', 'EIO', 0],
    ['the disk fails, and it arrived', 'EIO', Number.POSITIVE_INFINITY],
    ['the disk may not be written, and it arrived', 'EPERM', Number.POSITIVE_INFINITY],
    ['the disk is full, and it arrived', 'ENOSPC', Number.POSITIVE_INFINITY],
  ])('a commit whose record may be there, since %s, is left to recovery', async (_what, errno, bytes) => {
    for (const how of ['commit', 'commitAsync'] as const) {
      const { vfs, wal, commitLog, transactions } = loggedEngine({ clock });
      const tx = transactions.begin();
      const xid = tx.writeXid();
      const calls: string[] = [];
      tx.onEnd({ commit: () => calls.push('commit'), abort: () => calls.push('abort') });
      const fault = vfs.plant({ operation: 'write', path: '/wal', errno, bytes });
      if (how === 'commit') codeOf(() => tx.commit(), '58030');
      else await expect(tx.commitAsync()).rejects.toMatchObject({ code: '58030' });
      expect(fault.hits).toBe(1);
      expect(wal.failed).toBeDefined();
      tx.abort(); // nothing happens
      expect([tx.state, calls]).toEqual(['committing', []]);
      expect(commitLog.status(xid)).toBe(XID_IN_PROGRESS);
      expect(transactions.isInProgress(xid)).toBe(true);
      const there = printed(vfs).some((line) => line.includes('Transaction COMMIT'));
      expect(there).toBe(bytes > 0);
    }
  });

  test('an abort needs no disk at all', () => {
    const { vfs, wal, commitLog, transactions } = loggedEngine();
    const tx = transactions.begin();
    const xid = tx.writeXid();
    const sub = tx.savepoint();
    const child = tx.writeXid();
    for (const operation of ['write', 'datasync', 'open', 'read', 'truncate'] as const) {
      vfs.plant({ operation, errno: 'EIO', times: Number.POSITIVE_INFINITY });
    }
    tx.rollbackTo(sub);
    expect(transactions.isInProgress(child)).toBe(false);
    tx.abort();
    expect([transactions.didCommit(xid), transactions.didCommit(child)]).toEqual([false, false]);
    expect(commitLog.status(xid)).toBe(XID_ABORTED);
    wal.fail(new Error('the disk is gone'));
    const late = transactions.begin();
    late.writeXid();
    late.abort();
    expect(late.state).toBe('aborted');
  });

  test('an abort whose page of the commit log cannot be read leaves it in progress, which is the same', () => {
    const { vfs, transactions } = engine({ nextXid: 4000, pageBytes: 1024, pagesAt: [4000] });
    const tx = transactions.begin();
    const xid = tx.writeXid();
    vfs.plant({ operation: 'read', errno: 'EIO', times: Number.POSITIVE_INFINITY });
    tx.abort();
    expect(transactions.didCommit(xid)).toBe(false);
  });

  test('a commit whose page of the commit log cannot be read aborts before it has written its record', () => {
    const pageBytes = 32768;
    const { vfs, wal, commitLog, transactions } = loggedEngine({ pageBytes });
    const tx = transactions.begin();
    tx.writeXid();
    for (let page = 1; page < 40; page++) commitLog.zeroPage(page);
    for (let page = 1; page < 40; page++) commitLog.status(page * pageBytes * 4); // the first one leaves the memory
    vfs.plant({ operation: 'read', path: '/xact', errno: 'EIO' });
    codeOf(() => tx.commit(), '58030');
    expect(tx.state).toBe('aborted');
    wal.flush(wal.insertedUpTo);
    expect(printed(vfs).filter((line) => line.includes('COMMIT'))).toEqual([]);
    expect(transactions.didCommit(3)).toBe(false);
  });

  test('a page of the commit log that has no room leaves the next xid where it was', () => {
    const { vfs, transactions } = engine({ nextXid: 4095, pageBytes: 1024, pagesAt: [4095] });
    transactions.begin().writeXid();
    const tx = transactions.begin();
    vfs.freeBytes = 1000;
    codeOf(() => tx.writeXid(), '53100');
    expect([transactions.nextXid, tx.xid, tx.topXid, tx.state]).toEqual([4096, 0, 0, 'open']);
    vfs.freeBytes = 1024;
    expect(tx.writeXid()).toBe(4096);
    tx.commit();
    expect(transactions.didCommit(4096)).toBe(true);
  });

  test('a commit is known on the disk before anybody is told', () => {
    const { vfs, wal, transactions } = loggedEngine();
    const tx = transactions.begin();
    tx.writeXid();
    tx.onEnd({
      commit() {
        expect(wal.flushedUpTo).toBe(wal.insertedUpTo);
        expect(printed(vfs).at(-1)).toMatch(/^3 Transaction COMMIT/);
      },
    });
    tx.commit();
  });

  test('a sync that fails stops: whether it committed, recovery decides', () => {
    const { vfs, wal, transactions } = loggedEngine();
    const tx = transactions.begin();
    tx.writeXid();
    vfs.plant({ operation: 'datasync', path: '/wal', errno: 'EIO' });
    codeOf(() => tx.commit(), '58030');
    expect(wal.failed).not.toBeUndefined();
    expect(tx.state).toBe('committing');
    expect(transactions.isInProgress(3)).toBe(true);
    expect(transactions.commitLog.status(3)).toBe(XID_IN_PROGRESS);
  });
});

describe('states', () => {
  test('a failed transaction refuses all but a rollback', () => {
    const { transactions } = engine();
    const tx = transactions.begin();
    tx.savepoint();
    const cause = new Error('half-way');
    tx.fail(cause);
    tx.fail(new Error('later'));
    for (const call of [() => tx.writeXid(), () => tx.snapshot(), () => tx.savepoint(), () => tx.releaseSavepoint(1)]) {
      expect(codeOf(call, '25P02').cause).toBe(cause);
    }
    codeOf(() => tx.rollbackTo(2), '3B001');
    tx.rollbackTo(1);
    expect(tx.state).toBe('open');
    tx.fail(cause);
    expect(codeOf(() => tx.commit(), '25P02').cause).toBe(cause);
    expect(tx.state).toBe('aborted');
    tx.abort();
  });

  test('a transaction that has ended refuses everything', () => {
    const { transactions } = engine();
    const committed = transactions.begin();
    committed.savepoint();
    committed.commit();
    const aborted = transactions.begin();
    aborted.abort();
    for (const tx of [committed, aborted]) {
      for (const call of [
        () => tx.writeXid(),
        () => tx.snapshot(),
        () => tx.savepoint(),
        () => tx.releaseSavepoint(1),
        () => tx.rollbackTo(1),
        () => tx.commit(),
        () => tx.onEnd({}),
      ]) {
        codeOf(call, '25P01');
      }
    }
    expect(codeOf(() => committed.abort(), '25P01').message).toContain('it was committed');
  });

  test('levels that are no savepoint are refused', () => {
    const { transactions } = engine();
    const tx = transactions.begin();
    codeOf(() => tx.releaseSavepoint(1), '3B001');
    expect([tx.savepoint(), tx.savepoint()]).toEqual([1, 2]);
    for (const level of [0, 3, -1, 1.5, Number.NaN]) {
      expect(codeOf(() => tx.rollbackTo(level), '3B001').message).toContain('1 to 2');
      codeOf(() => tx.releaseSavepoint(level), '3B001');
    }
  });

  test('work before the commit that fails aborts; what is asked for there is done, too', () => {
    const { transactions } = engine();
    const calls: string[] = [];
    const good = transactions.begin();
    good.onEnd({
      beforeCommit() {
        good.writeXid();
        good.onEnd({ beforeCommit: () => calls.push('second') });
      },
    });
    good.commit();
    expect(transactions.didCommit(3)).toBe(true);
    const bad = transactions.begin();
    bad.onEnd({
      beforeCommit() {
        throw new Error('the load did not reach the disk');
      },
      abort: () => calls.push('undone'),
    });
    expect(() => bad.commit()).toThrow('the load did not reach the disk');
    expect(bad.state).toBe('aborted');
    expect(calls).toEqual(['second', 'undone']);
  });
});

describe('what is to be done at the end', () => {
  test('belongs to its savepoint', () => {
    const removed: string[] = [];
    const calls: string[] = [];
    const { transactions } = engine({
      removeFiles: (files, committed) => removed.push(`${committed}: ${files.map((one) => one.relfilenode)}`),
    });
    const note = (name: string) => ({
      commit: () => calls.push(`${name} commit`),
      abort: () => calls.push(`${name} abort`),
    });
    const tx = transactions.begin();
    tx.onEnd(note('a'));
    tx.removeAtAbort(file(1));
    tx.savepoint();
    tx.onEnd(note('b'));
    tx.removeAtCommit(file(2));
    tx.savepoint();
    tx.onEnd(note('c'));
    tx.onEnd(note('d'));
    tx.removeAtAbort(file(3));
    tx.removeAtCommit(file(4));
    tx.rollbackTo(2);
    expect(calls).toEqual(['d abort', 'c abort']);
    expect(removed).toEqual(['false: 3']);
    tx.onEnd(note('e'));
    tx.releaseSavepoint(2);
    tx.releaseSavepoint(1);
    calls.length = 0;
    tx.commit();
    expect(calls).toEqual(['a commit', 'b commit', 'e commit']);
    expect(removed).toEqual(['false: 3', 'true: 2']);
  });

  test('is done to the last, whatever one of them throws, and the throw is a warning', () => {
    const warnings: string[] = [];
    const calls: string[] = [];
    const { transactions } = engine({ onWarning: (message) => warnings.push(message) });
    const tx = transactions.begin();
    tx.writeXid();
    tx.onEnd({
      commit() {
        throw new Error('no');
      },
    });
    tx.onEnd({ commit: () => calls.push('second') });
    tx.commit();
    expect(calls).toEqual(['second']);
    expect(warnings).toEqual(['after a commit: no']);
    expect(tx.state).toBe('committed');
  });
});

test('what was committed is there after reopening, in progress is aborted', () => {
  const { vfs, commitLog, transactions } = engine();
  for (const fate of ['commit', 'abort', 'open'] as const) {
    const tx = transactions.begin();
    tx.writeXid();
    if (fate !== 'open') tx[fate]();
  }
  commitLog.flush();
  const again = engine({ vfs, nextXid: transactions.nextXid });
  expect([3, 4, 5].map((xid) => again.transactions.didCommit(xid))).toEqual([true, false, false]);
  expect([3, 4, 5].map((xid) => again.transactions.isInProgress(xid))).toEqual([false, false, false]);
  expect(new CommitLog({ vfs, directory: '/xact', pageBytes: 8192, readOnly: true }).status(5)).toBe(XID_IN_PROGRESS);
});
