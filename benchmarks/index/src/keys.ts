// The keys of the rows, the same for every engine: numbers that rise, numbers at random, UUIDs; and which of them are
// looked up.
import { seededRandom, shuffle } from '@blockwright/benchmark';

export const KEY_KINDS = ['sequential', 'random', 'uuid'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** Rows of a table: row `i` has key `i` of the list and the value `i`. */
export interface Keys {
  readonly kind: KeyKind;
  /** In the order in which the rows are inserted. */
  readonly values: readonly (bigint | string)[];
}

/** `rows` different keys. */
export function makeKeys(kind: KeyKind, rows: number, seed: number): Keys {
  const random = seededRandom(seed);
  const word = (): number => Math.floor(random() * 2 ** 32);
  if (kind === 'sequential') return { kind, values: Array.from({ length: rows }, (_, i) => BigInt(i + 1)) };
  const seen = new Set<bigint | string>();
  while (seen.size < rows) {
    seen.add(
      kind === 'uuid'
        ? uuidOf(word(), word(), word(), word())
        : BigInt.asIntN(64, (BigInt(word()) << 32n) | BigInt(word())),
    );
  }
  return { kind, values: [...seen] };
}

/** Version 4, variant 1, as `gen_random_uuid()` makes them. */
function uuidOf(a: number, b: number, c: number, d: number): string {
  const hex = [a, (b & 0xffff0fff) | 0x4000, (c & 0x3fffffff) | 0x80000000, d]
    .map((word) => (word >>> 0).toString(16).padStart(8, '0'))
    .join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Which rows are looked up, in a random order, and the sum of their values. */
export interface LookUps {
  readonly rows: Uint32Array;
  readonly sum: number;
}

/** Draws `count` rows, each at most once as long as there are so many. */
export function drawLookUps(keys: Keys, count: number, seed: number): LookUps {
  const random = seededRandom(seed);
  const order = Array.from(keys.values, (_, i) => i);
  shuffle(order, random);
  const rows = Uint32Array.from({ length: count }, (_, i) => order[i % order.length] as number);
  return { rows, sum: rows.reduce((sum, row) => sum + row, 0) };
}
