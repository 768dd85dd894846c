import { formatLsn, fromWords, highWord, lowWord, lsnText, parseLsn } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const safe = fc.oneof(
  fc.maxSafeInteger(),
  fc.tuple(fc.integer({ min: -(2 ** 21), max: 2 ** 21 - 1 }), fc.integer({ min: -2, max: 2 })).map(([high, beside]) => {
    return Math.min(Math.max(high * 2 ** 32 + beside, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  }),
);

describe('words', () => {
  it('are those of two-complement arithmetic on 64 bits', () => {
    fc.assert(
      fc.property(safe, (n) => {
        expect(BigInt(lowWord(n))).toBe(BigInt.asUintN(32, BigInt(n)));
        expect(BigInt(highWord(n))).toBe(BigInt(n) >> 32n);
      }),
      { numRuns: 2000 },
    );
  });
  it('make the number again', () => {
    fc.assert(
      fc.property(safe, (n) => void expect(fromWords(highWord(n), lowWord(n))).toBe(n === 0 ? 0 : n)),
      { numRuns: 2000 },
    );
  });
  it('take a low word with its sign', () => expect(fromWords(1, -1)).toBe(2 ** 33 - 1));
});

describe('LSNs', () => {
  const word = fc.integer({ min: 0, max: 0xffff_ffff });
  it('are printed and read as PostgreSQL does', () => {
    expect(formatLsn(0, 0)).toBe('0/0');
    expect(formatLsn(0, 0x1a2b3c)).toBe('0/1A2B3C');
    expect(formatLsn(0xffff_ffff, 0xffff_fffe)).toBe('FFFFFFFF/FFFFFFFE');
    expect(formatLsn(-1, -2)).toBe('FFFFFFFF/FFFFFFFE');
    expect(parseLsn('ffffffff/fffffffe')).toEqual({ high: 0xffff_ffff, low: 0xffff_fffe });
  });
  it('come back', () => {
    fc.assert(
      fc.property(word, word, (high, low) => void expect(parseLsn(formatLsn(high, low))).toEqual({ high, low })),
    );
  });
  it('are printed from one number as from its words', () => {
    expect(lsnText(0)).toBe('0/0');
    expect(lsnText(0x1a2b3c)).toBe('0/1A2B3C');
    expect(lsnText(2 ** 31)).toBe('0/80000000');
    expect(lsnText(2 ** 32 - 8)).toBe('0/FFFFFFF8');
    expect(lsnText(Number.MAX_SAFE_INTEGER)).toBe('1FFFFF/FFFFFFFF');
    fc.assert(
      fc.property(fc.maxSafeNat(), (lsn) => {
        const { high, low } = parseLsn(lsnText(lsn));
        expect(fromWords(high, low)).toBe(lsn);
      }),
    );
  });
  it.each(['', '0', '/', '0/', '/0', '0/0/0', '123456789/0', '0/123456789', 'g/0', '0x1/0', ' 0/0', '0/0\n', '-1/0'])(
    '%j is none',
    (text) => expect(() => parseLsn(text)).toThrow(RangeError),
  );
});
