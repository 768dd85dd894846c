// Sorting 32-bit keys, each with a 32-bit place that goes where its key goes: least digit first, 11 bits at a time, and
// stable. Doubles become such keys first: exactly where they are whole numbers close to each other, else by the leading
// bits of what lies between the least and the greatest of them, so that only equal keys are left to compare.
import type { Steps } from '@blockwright/base';
import { sortingProgress } from './build-progress.ts';

const DIGIT_BITS = 11;
const DIGITS = 1 << DIGIT_BITS;
const DIGIT_MASK = DIGITS - 1;
/** Elements that are moved between two steps: some milliseconds. */
const STEP_ELEMENTS = 0x4_0000;

/** What {@link keysOfDoubles} made. */
export interface SortKeys {
  readonly keys: Uint32Array;
  /** Whether different doubles have different keys. */
  readonly isExact: boolean;
  /** The greatest key. */
  readonly greatest: number;
  /** No double is further from zero. */
  readonly magnitude: number;
}

/** Doubles of one sort, in arrays of this many, the last of them filled in part. */
export const DOUBLES_SHIFT = 15;
const DOUBLES_A_CHUNK = 1 << DOUBLES_SHIFT;

/**
 * A key for each of the first `count` doubles, which are finite and none of them -0: in the same order, though
 * different doubles may have the same key.
 * @param chunks of 2^{@link DOUBLES_SHIFT} doubles each; the words that they consist of are read, too
 */
export function keysOfDoubles(chunks: readonly Float64Array[], count: number): SortKeys {
  const keys = new Uint32Array(count);
  let least = chunks[0][0];
  let greatest = least;
  for (let first = 0, chunk = 0; first < count; first += DOUBLES_A_CHUNK, chunk++) {
    const doubles = chunks[chunk];
    const end = Math.min(count - first, DOUBLES_A_CHUNK);
    for (let i = 0; i < end; i++) {
      const d = doubles[i];
      if (d < least) least = d;
      else if (d > greatest) greatest = d;
    }
  }
  const magnitude = Math.max(greatest, 0 - least);
  if (greatest - least <= 0xffff_ffff && differencesAreKeys(chunks, count, least, keys)) {
    return { keys, isExact: true, greatest: greatest - least, magnitude };
  }
  const isExact = leadingBits(chunks, count, least, greatest, keys);
  return { keys, isExact, greatest: 0xffff_ffff, magnitude };
}

/** Whether each double is `least` and a whole number below 2^32, exactly; that number is its key then. */
function differencesAreKeys(chunks: readonly Float64Array[], count: number, least: number, keys: Uint32Array): boolean {
  for (let first = 0, chunk = 0; first < count; first += DOUBLES_A_CHUNK, chunk++) {
    const doubles = chunks[chunk];
    const end = Math.min(count - first, DOUBLES_A_CHUNK);
    for (let i = 0; i < end; i++) {
      const key = (doubles[i] - least) >>> 0;
      if (least + key !== doubles[i]) return false;
      keys[first + i] = key;
    }
  }
  return true;
}

/**
 * A double's 64 bits as an unsigned number in the same order (the sign's bit turned, of negative ones all bits), less that
 * of `least`, and of it as many leading bits as a key has.
 * @returns whether that was all of them
 */
function leadingBits(
  chunks: readonly Float64Array[],
  count: number,
  least: number,
  greatest: number,
  keys: Uint32Array,
): boolean {
  const ends = new Float64Array([least, greatest]);
  const endWords = new Uint32Array(ends.buffer);
  const leastHigh = imageHigh(endWords[1]);
  const leastLow = imageLow(endWords[1], endWords[0]);
  const borrow = imageLow(endWords[3], endWords[2]) < leastLow ? 1 : 0;
  const rangeHigh = (imageHigh(endWords[3]) - leastHigh - borrow) >>> 0;
  const shift = 32 - Math.clz32(rangeHigh);
  for (let first = 0, chunk = 0; first < count; first += DOUBLES_A_CHUNK, chunk++) {
    const words = new Uint32Array(chunks[chunk].buffer);
    const end = Math.min(count - first, DOUBLES_A_CHUNK);
    for (let i = 0; i < end; i++) {
      const high = words[(i << 1) + 1];
      const low = imageLow(high, words[i << 1]);
      const aboveHigh = (imageHigh(high) - leastHigh - (low < leastLow ? 1 : 0)) | 0;
      const aboveLow = (low - leastLow) | 0;
      keys[first + i] =
        shift === 0 ? aboveLow : shift === 32 ? aboveHigh : (aboveHigh << (32 - shift)) | (aboveLow >>> shift);
    }
  }
  return shift === 0;
}

function imageHigh(high: number): number {
  return (high >>> 31 === 1 ? ~high : high ^ 0x8000_0000) >>> 0;
}

function imageLow(high: number, low: number): number {
  return (high >>> 31 === 1 ? ~low : low) >>> 0;
}

/** Keys in order, and the place of each. */
export interface SortedKeys {
  readonly keys: Uint32Array;
  readonly places: Uint32Array;
}

/**
 * Sorts keys and places together; equal keys stay in their order. The arrays given are used as working memory.
 * @param greatest no key is above it
 */
export function* radixSort(keys: Uint32Array, places: Uint32Array, count: number, greatest: number): Steps<SortedKeys> {
  let from: SortedKeys = { keys, places };
  let to: SortedKeys = { keys: new Uint32Array(count), places: new Uint32Array(count) };
  const bits = 32 - Math.clz32(greatest);
  const next = new Uint32Array(DIGITS);
  for (let shift = 0; shift < bits; shift += DIGIT_BITS) {
    if (countDigits(from.keys, count, shift, next)) continue;
    for (let at = 0; at < count; at += STEP_ELEMENTS) {
      scatter(from, to, shift, next, at, Math.min(at + STEP_ELEMENTS, count));
      yield sortingProgress(at, count);
    }
    const done = to;
    to = from;
    from = done;
  }
  return from;
}

/** Where the first key of each digit goes. @returns whether all keys have the same digit: nothing to move then */
function countDigits(keys: Uint32Array, count: number, shift: number, next: Uint32Array): boolean {
  next.fill(0);
  for (let i = 0; i < count; i++) next[(keys[i] >>> shift) & DIGIT_MASK]++;
  let before = 0;
  for (let digit = 0; digit < DIGITS; digit++) {
    const here = next[digit];
    if (here === count) return true;
    next[digit] = before;
    before += here;
  }
  return false;
}

function scatter(from: SortedKeys, to: SortedKeys, shift: number, next: Uint32Array, start: number, end: number): void {
  const { keys, places } = from;
  const toKeys = to.keys;
  const toPlaces = to.places;
  const mask = DIGIT_MASK;
  for (let i = start; i < end; i++) {
    const key = keys[i];
    const digit = (key >>> shift) & mask;
    const at = next[digit];
    next[digit] = at + 1;
    toKeys[at] = key;
    toPlaces[at] = places[i];
  }
}
