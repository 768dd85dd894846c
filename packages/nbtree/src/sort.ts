// Sorting index tuples in memory, by key and then by heap TID. No object a tuple: the tuples lie in an arena, and what is
// sorted is a number each, the place; by a double of the first key column first, by whole comparisons where these are
// equal. A table in the order of the index, which is common, is noticed while the tuples come.
import type { BlockNumber, OffsetNumber, Steps } from '@blockwright/base';
import {
  type IndexTupleFormat,
  indexTupleBlock,
  indexTupleOffset,
  indexTupleSize,
  type TupleMemory,
} from '@blockwright/tuple';
import { sortingProgress } from './build-progress.ts';
import { keysOfDoubles, radixSort } from './radix-sort.ts';
import { sortTies } from './sort-ties.ts';
import { TupleArena } from './tuple-arena.ts';
import { compareTids } from './tuples.ts';

/** Of tuples side by side in the order of the index: their keys differ for certain. */
export const KEY_DIFFERS = 0;
/** They may be equal: only a comparison can tell. */
export const KEY_MAY_EQUAL = 1;
/** They are equal for certain. */
export const KEY_EQUALS = 2;

/** Tuples in the order of the index, one at a time. */
export interface SortedTuples {
  /** How many there are. */
  readonly count: number;
  /** Goes to the next one. @returns false when there is none */
  next(): boolean;
  /** Where the tuple lies, until the next but one call of {@link next}. */
  readonly memory: TupleMemory;
  readonly position: number;
  /** Bytes of the tuple. */
  readonly length: number;
  /** How its key is to the key of the tuple before it: {@link KEY_DIFFERS}, … */
  readonly likeness: number;
  /** The tuple before it, when there was one; after {@link next} gave false, the last one. */
  readonly previousMemory: TupleMemory;
  readonly previousPosition: number;
}

/** Equal keys that are looked through between two steps. */
const STEP_TIES = 0x2_0000;

/** Bytes that a tuple costs beside its own: double, place, key; key and place once more while they are sorted; likeness. */
export function overheadBytes(count: number): number {
  return (count << 4) + (count << 3);
}

/** Tuples to be sorted in memory. */
export class TupleSort {
  count = 0;
  private readonly format: IndexTupleFormat;
  private readonly arena: TupleArena = new TupleArena();
  private prefixes: Float64Array<ArrayBuffer> = new Float64Array(1024);
  private places: Uint32Array = new Uint32Array(1024);
  /** Whether every tuple came after the one that it follows. */
  private inOrder = true;
  /** Whether heap TIDs alone rose: then tuples of equal keys are in order. */
  private tidsRise = true;
  private lastBlock: BlockNumber = 0;
  private lastOffset: OffsetNumber = 0;

  constructor(format: IndexTupleFormat) {
    this.format = format;
  }

  /** Bytes of memory that the tuples need until they are sorted. */
  get bytes(): number {
    return this.arena.bytes + overheadBytes(this.count);
  }

  /** Adds a tuple, bit `flag` of its t_info set. */
  add(m: TupleMemory, pos: number, length: number, flag: number): void {
    const { count } = this;
    if (count === this.places.length) this.grow();
    const prefix = this.format.prefix(m, pos) + 0; // -0 becomes 0
    const place = this.arena.add(m, pos, length, flag);
    this.prefixes[count] = prefix;
    this.places[count] = place;
    this.count = count + 1;
    if (this.tidsRise) this.noticeTid(indexTupleBlock(m, pos), indexTupleOffset(m, pos));
    if (this.inOrder && count > 0 && prefix <= this.prefixes[count - 1]) this.noticeKey(count);
  }

  /** Forgets all tuples, and keeps the memory. */
  clear(): void {
    this.arena.clear();
    this.count = 0;
    this.inOrder = true;
    this.tidsRise = true;
    this.lastBlock = 0;
    this.lastOffset = 0;
  }

  /** The tuples in order. They are there until {@link clear}; {@link add} must not be called before. */
  *sort(): Steps<SortedTuples> {
    const { count, format } = this;
    const isWhole = format.prefixIsWhole && format.keyCount === 1;
    if (this.inOrder) {
      return new SortedArena(this.arena, this.places, likenessOf(this.prefixes, count, isWhole), count);
    }
    const keys = keysOfDoubles(this.prefixes, count);
    yield sortingProgress(0, count);
    const decides = keys.isExact && isWhole;
    const sorted = yield* radixSort(keys.keys, this.places, count, keys.greatest);
    // The sort is stable: of equal keys, tuples whose TIDs rose stand in order.
    if (!(decides && this.tidsRise)) yield* this.sortEqualKeys(sorted.keys, sorted.places, decides);
    return new SortedArena(this.arena, sorted.places, likenessOf(sorted.keys, count, decides), count);
  }

  private noticeTid(block: BlockNumber, offset: OffsetNumber): void {
    if (block < this.lastBlock || (block === this.lastBlock && offset < this.lastOffset)) this.tidsRise = false;
    this.lastBlock = block;
    this.lastOffset = offset;
  }

  /** Of a tuple whose double is not above that of the tuple before it. */
  private noticeKey(at: number): void {
    const { prefixes, places } = this;
    if (prefixes[at] < prefixes[at - 1] || this.compare(places[at - 1], places[at]) > 0) this.inOrder = false;
  }

  private *sortEqualKeys(keys: Uint32Array, places: Uint32Array, decides: boolean): Steps<void> {
    const { count } = this;
    const compare = decides
      ? (a: number, b: number): number => this.compareTids(a, b)
      : (a: number, b: number): number => this.compare(a, b);
    const scratch = new Uint32Array(count);
    let nextStep = STEP_TIES;
    for (let start = 0; start < count; ) {
      const key = keys[start];
      let end = start + 1;
      while (end < count && keys[end] === key) end++;
      if (end - start > 1) yield* sortTies(places, start, end, compare, scratch);
      start = end;
      if (start >= nextStep) {
        nextStep = start + STEP_TIES;
        yield sortingProgress(start, count);
      }
    }
  }

  private compare(a: number, b: number): number {
    const { arena, format } = this;
    const byKey = format.compare(
      arena.memory(a),
      arena.position(a),
      arena.memory(b),
      arena.position(b),
      format.keyCount,
    );
    return byKey !== 0 ? byKey : this.compareTids(a, b);
  }

  private compareTids(a: number, b: number): number {
    const { arena } = this;
    const am = arena.memory(a);
    const bm = arena.memory(b);
    const aPos = arena.position(a);
    const bPos = arena.position(b);
    return compareTids(
      indexTupleBlock(am, aPos),
      indexTupleOffset(am, aPos),
      indexTupleBlock(bm, bPos),
      indexTupleOffset(bm, bPos),
    );
  }

  private grow(): void {
    const length = this.places.length << 1;
    const prefixes = new Float64Array(length);
    prefixes.set(this.prefixes);
    this.prefixes = prefixes;
    const places = new Uint32Array(length);
    places.set(this.places);
    this.places = places;
  }
}

/** How each tuple's key is to that before it, from numbers that are equal where the keys are. */
function likenessOf(numbers: Float64Array | Uint32Array, count: number, decides: boolean): Uint8Array {
  const likeness = new Uint8Array(count);
  const alike = decides ? KEY_EQUALS : KEY_MAY_EQUAL;
  for (let i = 1; i < count; i++) if (numbers[i] === numbers[i - 1]) likeness[i] = alike;
  return likeness;
}

/** Tuples of an arena in the order of an array of places. */
class SortedArena implements SortedTuples {
  readonly count: number;
  memory: TupleMemory;
  position = 0;
  length = 0;
  likeness = KEY_DIFFERS;
  previousMemory: TupleMemory;
  previousPosition = 0;
  private readonly arena: TupleArena;
  private readonly places: Uint32Array;
  private readonly likenesses: Uint8Array;
  private at = 0;

  constructor(arena: TupleArena, places: Uint32Array, likenesses: Uint8Array, count: number) {
    this.arena = arena;
    this.places = places;
    this.likenesses = likenesses;
    this.count = count;
    this.memory = arena.memory(0);
    this.previousMemory = this.memory;
  }

  next(): boolean {
    const { at, arena } = this;
    this.previousMemory = this.memory;
    this.previousPosition = this.position;
    if (at === this.count) return false;
    const place = this.places[at];
    const memory = arena.memory(place);
    const position = arena.position(place);
    this.memory = memory;
    this.position = position;
    this.length = indexTupleSize(memory, position);
    this.likeness = this.likenesses[at];
    this.at = at + 1;
    return true;
  }
}
