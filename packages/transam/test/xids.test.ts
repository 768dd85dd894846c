// Xids: comparison modulo 2^32, epochs, and the limits before a wraparound.
import { isStorageError } from '@blockwright/base';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CommitLog,
  fullXid,
  isNormalXid,
  nextXidAfter,
  Transactions,
  xidFollows,
  xidFollowsOrEquals,
  xidPrecedes,
  xidPrecedesOrEquals,
} from '../src/index.ts';
import { codeOf, engine } from './engine.ts';

const TWO_32 = 2 ** 32;
const anyXid = fc.oneof(
  fc.integer({ min: 0, max: 0xffff_ffff }),
  fc.integer({ min: 0, max: 5 }),
  fc.integer({ min: 0x7fff_fffd, max: 0x8000_0003 }),
  fc.integer({ min: 0xffff_fffa, max: 0xffff_ffff }),
);

/** By how many xids `b` is ahead of `a`, from −2^31 to 2^31 − 1, in plain arithmetic. */
function ahead(a: number, b: number): number {
  const difference = (((b - a) % TWO_32) + TWO_32) % TWO_32;
  return difference >= 2 ** 31 ? difference - TWO_32 : difference;
}

test('normal xids compare modulo 2^32, permanent ones are older than all', () => {
  fc.assert(
    fc.property(anyXid, anyXid, (a, b) => {
      const normal = a > 2 && b > 2;
      expect(xidPrecedes(a, b)).toBe(normal ? ahead(b, a) < 0 : a < b);
      expect(xidPrecedesOrEquals(a, b)).toBe(normal ? ahead(b, a) <= 0 : a <= b);
      expect(xidFollows(a, b)).toBe(normal ? ahead(b, a) > 0 : a > b);
      expect(xidFollowsOrEquals(a, b)).toBe(normal ? ahead(b, a) >= 0 : a >= b);
      expect(isNormalXid(a)).toBe(a > 2);
    }),
  );
});

test('the next xid is never a permanent one', () => {
  expect([3, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff].map(nextXidAfter)).toEqual([
    4, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 3,
  ]);
});

describe('an xid with its epoch', () => {
  test('is counted from the next one', () => {
    fc.assert(
      fc.property(anyXid, anyXid, fc.integer({ min: 1, max: 1000 }), (xid, next, epoch) => {
        fc.pre(xid > 2 && next > 2);
        expect(fullXid(xid, next, epoch)).toBe(epoch * TWO_32 + next + ahead(next, xid));
      }),
    );
  });

  test('4294967290 when the next is 100 is 106 ago in epoch 1, and older than all in epoch 0', () => {
    expect(fullXid(4294967290, 100, 1)).toBe(4294967290);
    expect(fullXid(4294967290, 100, 0)).toBe(3);
    expect(fullXid(2, 100, 7)).toBe(2);
  });
});

describe('xids are handed out', () => {
  test('over a wraparound, with a new epoch, and what ended before it is still known', () => {
    const { transactions } = engine({
      nextXid: 0xffff_fffd,
      nextXidEpoch: 4,
      oldestXid: 0xffff_0000,
      pagesAt: [0xffff_fffd],
    });
    const given: number[] = [];
    for (let i = 0; i < 6; i++) {
      const tx = transactions.begin();
      given.push(tx.writeXid());
      if (i % 2 === 0) tx.commit();
      else tx.abort();
    }
    expect(given).toEqual([0xffff_fffd, 0xffff_fffe, 0xffff_ffff, 3, 4, 5]);
    expect([transactions.nextXid, transactions.nextXidEpoch]).toEqual([6, 5]);
    expect(given.map((xid) => transactions.didCommit(xid))).toEqual([true, false, true, false, true, false]);
    expect(transactions.isInProgress(6)).toBe(true); // not handed out yet
    expect(transactions.isInProgress(0xffff_fffd)).toBe(false);
    expect(transactions.horizon()).toBe(6);
  });

  test('parents before children, each savepoint at its first write', () => {
    const { transactions } = engine();
    const tx = transactions.begin();
    tx.savepoint();
    tx.savepoint();
    expect([tx.xid, tx.topXid]).toEqual([0, 0]);
    expect(tx.writeXid()).toBe(5);
    expect(tx.topXid).toBe(3);
    expect(transactions.topXidOf(5)).toBe(3);
    tx.releaseSavepoint(2);
    expect(tx.xid).toBe(4);
    tx.releaseSavepoint(1);
    expect(tx.writeXid()).toBe(3);
    expect([3, 4, 5, 6].map((xid) => tx.isCurrent(xid))).toEqual([true, true, true, false]);
  });

  test('until 3,000,000 before the wraparound, and warn before that', () => {
    const warnings: string[] = [];
    const oldest = 1000;
    const wrap = oldest + 0x7fff_ffff;
    const nearly = wrap - 3_000_000;
    const { transactions } = engine({
      nextXid: nearly - 2,
      oldestXid: oldest,
      pagesAt: [nearly - 2],
      onWarning: (message) => warnings.push(message),
    });
    expect(transactions.begin().writeXid()).toBe(nearly - 2);
    const last = transactions.begin();
    expect(last.writeXid()).toBe(nearly - 1);
    const refused = transactions.begin();
    const error = codeOf(() => refused.writeXid(), '54000');
    expect(error.message).toContain('only 3000000 before');
    expect(error.hint).toContain('freeze');
    expect(refused.xid).toBe(0);
    refused.commit(); // it has written nothing

    last.commit();
    // A horizon in the future, or further back, changes nothing; a true one lets xids go on.
    expect(transactions.advanceOldestXid(nearly)).toBe(0);
    expect(transactions.advanceOldestXid(999)).toBe(0);
    expect(transactions.oldestXid).toBe(1000);
    transactions.advanceOldestXid(1001);
    expect(transactions.oldestXid).toBe(1001);
    expect(transactions.begin().writeXid()).toBe(nearly);
    codeOf(() => transactions.begin().writeXid(), '54000');
  });

  test.each([
    // The limit, and the place 3,000,000 before it, are never permanent xids: PostgreSQL's SetTransactionIdLimit.
    [0x8000_0001, 2 ** 32 + 3 - 3_000_000],
    [0x8000_0002, 2 ** 32 + 4 - 3_000_000],
    [(3_000_001 - 0x7fff_ffff) >>> 0, 2 ** 32 - 2],
    [(3_000_003 - 0x7fff_ffff) >>> 0, 3],
  ])('the limits jump over permanent xids: with %i the oldest, %i is refused', (oldestXid, refused) => {
    const last = refused === 3 ? 2 ** 32 - 1 : refused - 1;
    const { transactions } = engine({ nextXid: last, nextXidEpoch: 3, oldestXid, pagesAt: [last] });
    expect(transactions.begin().writeXid()).toBe(last);
    expect(codeOf(() => transactions.begin().writeXid(), '54000').message).toContain(`the next, ${refused},`);
  });

  test('a warning comes 40,000,000 before it', () => {
    const warnings: string[] = [];
    const from = 1000 + 0x7fff_ffff - 40_000_000;
    const { transactions } = engine({
      nextXid: from - 1,
      oldestXid: 1000,
      pagesAt: [from - 1],
      onWarning: (message) => warnings.push(message),
    });
    transactions.begin().writeXid();
    expect(warnings).toEqual([]);
    transactions.begin().writeXid();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^transaction ids run out: 40000000 are left/);
  });
});

test('numbers that are no xids are refused', () => {
  const commitLog = new CommitLog({ vfs: new MemoryVfs(), directory: '/xact', pageBytes: 8192 });
  for (const nextXid of [2, -1, 2 ** 32, 1.5, Number.NaN]) {
    expect(() => new Transactions({ commitLog, nextXid, nextXidEpoch: 0, oldestXid: 3 })).toThrow(RangeError);
  }
  expect(isStorageError(undefined)).toBe(false);
});
