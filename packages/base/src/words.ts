// A safe integer as two 32-bit words and back, without a division (2^32 is exact in a double, so multiplying by its
// inverse is exact too), and LSNs, which are one number in the WAL and two words on pages.
import type { Lsn } from './flavor.ts';

const TWO_32 = 0x1_0000_0000;
const INVERSE_TWO_32 = 1 / TWO_32;

/** The high word (bits 32 and above, signed) of a safe integer. */
export function highWord(value: number): number {
  return Math.floor(value * INVERSE_TWO_32);
}

/** The low word (uint32) of a safe integer. */
export function lowWord(value: number): number {
  return value >>> 0;
}

/** The number made of two words; exact when the result is a safe integer. */
export function fromWords(high: number, low: number): number {
  return high * TWO_32 + (low >>> 0);
}

/** An LSN as PostgreSQL prints it, `X/X` in upper-case hexadecimal. PostgreSQL: `LSN_FORMAT_ARGS`, xlogdefs.h. */
export function formatLsn(high: number, low: number): string {
  return `${(high >>> 0).toString(16).toUpperCase()}/${(low >>> 0).toString(16).toUpperCase()}`;
}

/** As {@link formatLsn}, of a position in the WAL. */
export function lsnText(lsn: Lsn): string {
  return formatLsn(highWord(lsn), lowWord(lsn));
}

/**
 * The two words of an LSN in PostgreSQL's text form. PostgreSQL: `pg_lsn_in`.
 * @throws RangeError when `text` is not of that form.
 */
export function parseLsn(text: string): { high: number; low: number } {
  const match = /^([0-9a-fA-F]{1,8})\/([0-9a-fA-F]{1,8})$/.exec(text);
  if (match === null)
    throw new RangeError(`"${text}" is not an LSN: two hexadecimal numbers with a slash between, such as 0/1A2B3C`);
  return { high: Number.parseInt(match[1] as string, 16), low: Number.parseInt(match[2] as string, 16) };
}
