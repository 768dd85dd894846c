// A random permutation of 0 to n − 1 that needs no memory: any of 300 million TIDs can be asked for its place in the
// shuffled order without shuffling them. A Feistel network permutes the next power of two, and what falls outside of n
// is permuted again until it falls inside.
import { seededRandom } from '@blockwright/benchmark';

const FEISTEL_ROUNDS = 6;

/** Drawn by `seed` for `size` items, up to 2^52 of them. */
export class Permutation {
  readonly size: number;
  /** The low half of an index is what is left of it below this power of two. */
  readonly #lowSpan: number;
  readonly #lowMask: number;
  readonly #highMask: number;
  readonly #keys: Int32Array;

  /** @throws RangeError for a size that is not an integer from 1 to 2^52. */
  constructor(size: number, seed: number) {
    if (!Number.isInteger(size) || size < 1 || size > 2 ** 52) {
      throw new RangeError(`a permutation has from 1 to 2^52 items, not ${String(size)}`);
    }
    let bits = 2;
    while (2 ** bits < size) bits++;
    const highBits = bits >>> 1;
    const lowBits = bits - highBits;
    this.size = size;
    this.#lowSpan = 2 ** lowBits;
    this.#lowMask = this.#lowSpan - 1;
    this.#highMask = 2 ** highBits - 1;
    const random = seededRandom(seed);
    this.#keys = Int32Array.from({ length: FEISTEL_ROUNDS }, () => Math.floor(random() * 2 ** 32) | 0);
  }

  /** Which item, from 0 to `size` − 1, stands at `index`, from 0 to `size` − 1. */
  at(index: number): number {
    let item = index;
    do item = this.#permute(item);
    while (item >= this.size);
    return item;
  }

  /** A bijection of the power of two: each half is changed by what the other one says. */
  #permute(index: number): number {
    const keys = this.#keys;
    let high = Math.floor(index / this.#lowSpan);
    let low = index - high * this.#lowSpan;
    for (let round = 0; round < FEISTEL_ROUNDS; round += 2) {
      high ^= mix(low ^ keys[round]) & this.#highMask;
      low ^= mix(high ^ keys[round + 1]) & this.#lowMask;
    }
    return high * this.#lowSpan + low;
  }
}

/** Every bit of the result depends on every bit of the value. */
function mix(value: number): number {
  const first = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2_ae35);
  return second ^ (second >>> 16);
}
