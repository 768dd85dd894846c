// Sorting index tuples in memory, by key and then by heap TID. No object a tuple: the tuples lie in an arena, and what is
// sorted is a number each, the place; by a double of the first key column first, by whole comparisons where these are
// equal. A table in the order of the index, which is common, is noticed while the tuples come.
import type { BlockNumber, OffsetNumber, Steps } from '@blockwright/base';
import { type PageMemory, pageMemory } from '@blockwright/page';
import {
  type IndexTupleFormat,
  indexTupleBlock,
  indexTupleOffset,
  indexTupleSize,
  type TupleMemory,
} from '@blockwright/tuple';
import { sortingProgress } from './build-progress.ts';
import { DOUBLES_SHIFT, keysOfDoubles, radixSort } from './radix-sort.ts';
import { sortTies } from './sort-ties.ts';
import { copyTuple, TupleArena } from './tuple-arena.ts';
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

const DOUBLES_A_CHUNK = 1 << DOUBLES_SHIFT;
/** Equal keys that are looked through between two steps. */
const STEP_TIES = 0x2_0000;

/** Bytes that a tuple costs beside its own: double, place, key; key and place once more while they are sorted. */
function overheadBytes(count: number): number {
  return (count << 4) + (count << 3);
}

/** Tuples to be sorted in memory. */
export class TupleSort {
  count = 0;
  private readonly format: IndexTupleFormat;
  /** Equal doubles of a smaller magnitude mean equal keys. */
  private readonly below: number;
  private readonly arena: TupleArena = new TupleArena();
  /** A double of each tuple, in chunks: a longer array in place of a full one would be written twice. */
  private readonly chunks: Float64Array[] = [new Float64Array(DOUBLES_A_CHUNK)];
  private prefixes: Float64Array = this.chunks[0];
  private lastPrefix: number = Number.NEGATIVE_INFINITY;
  private lastPlace = 0;
  /** Whether every tuple came after the one that it follows. */
  private inOrder = true;
  /** Whether heap TIDs alone rose: then tuples of equal keys are in order. */
  private tidsRise = true;
  private lastBlock: BlockNumber = 0;
  private lastOffset: OffsetNumber = 0;

  constructor(format: IndexTupleFormat) {
    this.format = format;
    this.below = decisiveBelow(format);
  }

  /** Bytes of memory that the tuples need until they are sorted. */
  get bytes(): number {
    return this.arena.bytes + overheadBytes(this.count);
  }

  /** Adds a tuple, bit `flag` of its t_info set. */
  add(m: TupleMemory, pos: number, length: number, flag: number): void {
    const { count } = this;
    const at = count & (DOUBLES_A_CHUNK - 1);
    if (at === 0) this.prefixes = this.chunks[count >>> DOUBLES_SHIFT] ??= new Float64Array(DOUBLES_A_CHUNK);
    const prefix = this.format.prefix(m, pos) + 0; // -0 becomes 0
    const place = this.arena.add(m, pos, length, flag);
    this.prefixes[at] = prefix;
    this.count = count + 1;
    if (this.tidsRise) this.noticeTid(indexTupleBlock(m, pos), indexTupleOffset(m, pos));
    if (!this.inOrder) return;
    if (prefix <= this.lastPrefix && !this.isAfter(prefix, place)) this.inOrder = false;
    this.lastPrefix = prefix;
    this.lastPlace = place;
  }

  /** Forgets all tuples, and keeps the memory. */
  clear(): void {
    this.arena.clear();
    this.count = 0;
    this.inOrder = true;
    this.tidsRise = true;
    this.lastPrefix = Number.NEGATIVE_INFINITY;
    this.lastBlock = 0;
    this.lastOffset = 0;
  }

  /** The tuples in order. They are there until {@link clear}; {@link add} must not be called before. */
  *sort(): Steps<SortedTuples> {
    const { count, arena } = this;
    const places = arena.places(count);
    yield sortingProgress(0, count);
    if (this.inOrder) return new SortedArena(arena, places, likenessOfDoubles(this.chunks, count, this.below), count);
    const keys = keysOfDoubles(this.chunks, count);
    yield sortingProgress(0, count);
    const decides = keys.isExact && keys.magnitude < this.below;
    const sorted = yield* radixSort(keys.keys, places, count, keys.greatest);
    // The sort is stable: of equal keys, tuples whose TIDs rose stand in order.
    if (!(decides && this.tidsRise)) yield* this.sortEqualKeys(sorted.keys, sorted.places, decides);
    const alike = decides ? KEY_EQUALS : KEY_MAY_EQUAL;
    return new SortedArena(arena, sorted.places, likenessOfKeys(sorted.keys, count, alike), count);
  }

  private noticeTid(block: BlockNumber, offset: OffsetNumber): void {
    if (block < this.lastBlock || (block === this.lastBlock && offset < this.lastOffset)) this.tidsRise = false;
    this.lastBlock = block;
    this.lastOffset = offset;
  }

  /** Whether a tuple whose double is not above that of the tuple before it comes after that one all the same. */
  private isAfter(prefix: number, place: number): boolean {
    const { lastPrefix, lastPlace, below } = this;
    if (prefix < lastPrefix) return false;
    if (this.tidsRise && prefix < below && prefix > 0 - below) return true;
    return this.compare(lastPlace, place) < 0;
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
}

/**
 * Doubles of a smaller magnitude that are equal mean equal first attributes; of int8 and timestamptz those that have a
 * double of their own.
 */
export function decisiveBelow(format: IndexTupleFormat): number {
  if (format.keyCount > 1) return 0;
  if (format.prefixIsWhole) return Number.POSITIVE_INFINITY;
  const { name } = format.descriptor.columns[0].type;
  return name === 'int8' || name === 'timestamptz' ? Number.MAX_SAFE_INTEGER : 0;
}

/** How each tuple's key is to that before it, from doubles that are equal where the keys are. */
function likenessOfDoubles(chunks: readonly Float64Array[], count: number, below: number): Uint8Array {
  const likeness = new Uint8Array(count);
  let last = Number.NEGATIVE_INFINITY;
  for (let first = 0, chunk = 0; first < count; first += DOUBLES_A_CHUNK, chunk++) {
    const doubles = chunks[chunk];
    const end = Math.min(count - first, DOUBLES_A_CHUNK);
    for (let i = 0; i < end; i++) {
      const d = doubles[i];
      if (d === last) likeness[first + i] = d < below && d > 0 - below ? KEY_EQUALS : KEY_MAY_EQUAL;
      last = d;
    }
  }
  return likeness;
}

/** The same from sorted keys, whose equality means `alike`. */
function likenessOfKeys(keys: Uint32Array, count: number, alike: number): Uint8Array {
  const likeness = new Uint8Array(count);
  for (let i = 1; i < count; i++) if (keys[i] === keys[i - 1]) likeness[i] = alike;
  return likeness;
}

/** Bytes of tuples that are gathered from the arena at once. */
const GATHER_BYTES = 0x8000;

/**
 * Tuples of an arena in the order of an array of places. Some hundred at a time are gathered first: the arena is read all
 * over, and a loop that does nothing else waits for many of its reads at once.
 */
class SortedArena implements SortedTuples {
  readonly count: number;
  readonly memory: PageMemory = pageMemory(new ArrayBuffer(GATHER_BYTES));
  readonly previousMemory: PageMemory = this.memory;
  position = 0;
  previousPosition = 0;
  length = 0;
  likeness: number = KEY_DIFFERS;
  private readonly arena: TupleArena;
  private readonly places: Uint32Array;
  private readonly likenesses: Uint8Array;
  private at = 0;
  /** The first tuple that is not gathered yet. */
  private gathered = 0;

  constructor(arena: TupleArena, places: Uint32Array, likenesses: Uint8Array, count: number) {
    this.arena = arena;
    this.places = places;
    this.likenesses = likenesses;
    this.count = count;
  }

  next(): boolean {
    const { at, position, memory } = this;
    this.previousPosition = position;
    let next = position + this.length;
    if (at === this.gathered) {
      if (at === this.count) return false;
      next = this.gather();
    }
    this.position = next;
    this.length = indexTupleSize(memory, next);
    this.likeness = this.likenesses[at];
    this.at = at + 1;
    return true;
  }

  /** Gathers tuples behind the one that is the previous one now. @returns where the first of them lies */
  private gather(): number {
    const { arena, places, memory, count, length } = this;
    if (length > 0) memory.u8.copyWithin(0, this.position, this.position + length);
    this.previousPosition = 0;
    let end = length;
    let at = this.at;
    for (; at < count; at++) {
      const place = places[at];
      const from = arena.memory(place);
      const position = arena.position(place);
      const bytes = indexTupleSize(from, position);
      if (end + bytes > GATHER_BYTES) break;
      copyTuple(from, position, bytes, memory, end);
      end += bytes;
    }
    this.gathered = at;
    return length;
  }
}
