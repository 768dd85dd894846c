// Row locks against a naive matrix, with savepoints.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RowLockMode, rowLockCovers, rowLocksConflict, type Transaction } from '../src/index.ts';
import { engine } from './engine.ts';

const MODES: readonly RowLockMode[] = ['key share', 'share', 'no key update', 'update'];
/** The table of PostgreSQL's manual, "Conflicting Row-Level Locks". */
const CONFLICTING = [
  'key share/update',
  'share/no key update',
  'share/update',
  'no key update/share',
  'no key update/no key update',
  'no key update/update',
  'update/key share',
  'update/share',
  'update/no key update',
  'update/update',
];

test('modes conflict as the manual says', () => {
  for (const a of MODES) {
    for (const b of MODES) {
      expect(rowLocksConflict(a, b), `${a}/${b}`).toBe(CONFLICTING.includes(`${a}/${b}`));
      expect(rowLockCovers(a, b)).toBe(MODES.indexOf(a) >= MODES.indexOf(b));
    }
  }
});

/** A lock as the model has it: who, at which level, which row, how strong. */
interface Held {
  readonly tx: Transaction;
  readonly row: string;
  readonly mode: RowLockMode;
}

test('holders, conflicts and rollbacks agree with a list', () => {
  const locators = [1, 2].map((relfilenode) => ({ tablespace: 1663, database: 5, relfilenode }));
  const blocks = [0, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe];
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.nat(3), fc.nat(7), fc.nat(3)), { maxLength: 80, size: 'max' }),
      (steps) => {
        const { transactions } = engine();
        const { locks } = transactions;
        const open = [0, 1, 2].map(() => ({ tx: transactions.begin(), levels: [[]] as Held[][] }));
        const at = (where: number) => ({
          // A copy: rows are told apart by what a locator says.
          locator: { ...(locators[where & 1] as (typeof locators)[number]) },
          block: blocks[where >>> 1] as number,
          offset: 1 + (where & 1) * 8191,
        });
        for (const [what, who, where, strength] of steps) {
          const one = open[who % 3] as (typeof open)[number];
          const mode = MODES[strength] as RowLockMode;
          const { locator, block, offset } = at(where);
          if (what < 5) {
            locks.hold(one.tx, locator, block, offset, mode);
            (one.levels.at(-1) as Held[]).push({ tx: one.tx, row: String(where), mode });
          } else if (what < 7) {
            one.tx.savepoint();
            one.levels.push([]);
          } else if (what === 7 && one.levels.length > 1) {
            const released = one.levels.pop() as Held[];
            one.tx.releaseSavepoint(one.levels.length);
            (one.levels.at(-1) as Held[]).push(...released);
          } else if (what === 8 && one.levels.length > 1) {
            one.levels.length = 1 + (strength % (one.levels.length - 1));
            one.tx.rollbackTo(one.levels.length);
            one.levels.push([]);
          } else if (what === 9 && strength === 0) {
            one.tx.commit();
            one.tx = transactions.begin();
            one.levels = [[]];
          }
          for (let row = 0; row < 8; row++) {
            const place = at(row);
            const held = open.flatMap(({ levels }) => levels.flat()).filter((lock) => lock.row === String(row));
            for (const { tx } of open) {
              const own = held.filter((lock) => lock.tx === tx).map((lock) => MODES.indexOf(lock.mode));
              const strongest = locks.heldBy(tx, place.locator, place.block, place.offset);
              if (strongest !== MODES[Math.max(-1, ...own)]) expect.fail(`row ${row}: ${strongest} is held`);
              for (const wanted of MODES) {
                const blockers = held.filter((lock) => lock.tx !== tx && rowLocksConflict(lock.mode, wanted));
                const found = locks.conflicting(tx, place.locator, place.block, place.offset, wanted);
                const right = found === undefined ? blockers.length === 0 : blockers.some((lock) => lock.tx === found);
                if (!right) expect.fail(`row ${row}: a wrong answer to who is in the way of ${wanted}`);
              }
            }
          }
          expect(locks.isEmpty).toBe(open.every(({ levels }) => levels.flat().length === 0));
        }
        for (const { tx } of open) tx.abort();
        expect(locks.isEmpty).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

describe('a row locked outside a savepoint', () => {
  test('stays locked when what was done within is rolled back, at the strength it had', () => {
    const { transactions } = engine();
    const locator = { tablespace: 1663, database: 5, relfilenode: 7 };
    const tx = transactions.begin();
    const other = transactions.begin();
    transactions.locks.hold(tx, locator, 3, 1, 'share');
    const level = tx.savepoint();
    transactions.locks.hold(tx, locator, 3, 1, 'update');
    expect(transactions.locks.conflicting(other, locator, 3, 1, 'share')).toBe(tx);
    tx.rollbackTo(level);
    expect(transactions.locks.heldBy(tx, locator, 3, 1)).toBe('share');
    expect(transactions.locks.conflicting(other, locator, 3, 1, 'share')).toBeUndefined();
    expect(transactions.locks.conflicting(other, locator, 3, 1, 'no key update')).toBe(tx);
  });
});
