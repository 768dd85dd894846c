// Every combination of the bits that decide, against a table written from the rules in words.
import { describe, expect, it } from 'vitest';
import { INVISIBLE, judgeByHints, UNKNOWN, VISIBLE } from '../src/visibility.ts';

const BITS = {
  keyShare: 0x0010,
  exclusive: 0x0040,
  lockOnly: 0x0080,
  xminCommitted: 0x0100,
  xminInvalid: 0x0200,
  xmaxCommitted: 0x0400,
  xmaxInvalid: 0x0800,
  multi: 0x1000,
};

/** The rules, one after the other, as a person would say them. */
function expected(has: Record<keyof typeof BITS, boolean>, xmin: number, xmax: number): number {
  const frozen = has.xminCommitted && has.xminInvalid;
  const inserterAborted = has.xminInvalid && !frozen;
  if (inserterAborted) return INVISIBLE;
  const inserterKnown = has.xminCommitted || xmin === 1 || xmin === 2;
  if (!inserterKnown) return UNKNOWN;
  const neverDeleted = has.xmaxInvalid || xmax === 0;
  // An exclusive lock, of one transaction, without the bit that says "lock only": as PostgreSQL 9.2 left it.
  const oldStyleLock = has.exclusive && !has.keyShare && !has.multi;
  if (neverDeleted || has.lockOnly || oldStyleLock) return VISIBLE;
  if (has.multi) return UNKNOWN; // the updater is among the multixact's members
  return has.xmaxCommitted ? INVISIBLE : UNKNOWN;
}

describe('visibility by hint bits', () => {
  it('follows the rules for all 256 combinations and every kind of xid', () => {
    const names = Object.keys(BITS) as (keyof typeof BITS)[];
    let seen = 0;
    for (let combination = 0; combination < 1 << names.length; combination++) {
      const has = Object.fromEntries(names.map((name, i) => [name, ((combination >> i) & 1) === 1])) as Record<
        keyof typeof BITS,
        boolean
      >;
      const infomask = names.reduce((mask, name) => (has[name] ? mask | BITS[name] : mask), 0x0002);
      for (const xmin of [0, 1, 2, 3, 4294967290]) {
        for (const xmax of [0, 3, 4294967290]) {
          expect(judgeByHints(infomask, xmin, xmax)).toBe(expected(has, xmin, xmax));
          seen++;
        }
      }
    }
    expect(seen).toBe(256 * 15);
  });
});
