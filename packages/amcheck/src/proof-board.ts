// What the threads of a check share: which unit of blocks is the next to be proven, and what came of each. Every unit is
// written by the one thread that claimed it, and read when its state says so. Int32, from word 0 on:
//
//   +0 next unit to claim   +1 stop   +2, +3 unused
//   then for each unit:
//   +0 state   +1 clean pages   +2 line pointers   +3 tuples   +4 map bits   +5 … a bit a block that was not proven
import type { Proof } from './relation-prover.ts';

/** Log2 of the bytes of a unit's pages: some milliseconds of work. */
export const UNIT_SHIFT = 23;

const NEXT = 0;
const STOP = 1;
const HEADER_WORDS = 4;
const COUNT_WORDS = 5;
const BITS_SHIFT = 5;
const BITS_MASK = 31;

/** A unit starts with state 0. */
export const CLAIMED = 1;
/** Proven, but for the blocks whose bits are set. */
export const SETTLED = 2;
/** Could not be read: the one that checks says why. */
const FAILED = 3;

/** The board of one check; the other threads make theirs over the same memory. */
export class ProofBoard {
  readonly buffer: SharedArrayBuffer;
  readonly units: number;
  private readonly words: Int32Array;
  private readonly unitWords: number;

  /**
   * @param unitBlocks blocks of a unit
   * @param buffer of the first thread's board
   */
  constructor(units: number, unitBlocks: number, buffer?: SharedArrayBuffer) {
    this.units = units;
    this.unitWords = COUNT_WORDS + ((unitBlocks + BITS_MASK) >>> BITS_SHIFT);
    this.buffer = buffer ?? new SharedArrayBuffer((HEADER_WORDS + units * this.unitWords) << 2);
    this.words = new Int32Array(this.buffer);
  }

  /** A unit that nobody has claimed, now claimed; -1 when there is none left. */
  claim(): number {
    if (this.isStopped || Atomics.load(this.words, NEXT) >= this.units) return -1;
    const unit = Atomics.add(this.words, NEXT, 1);
    if (unit >= this.units) return -1;
    Atomics.store(this.words, this.at(unit), CLAIMED);
    return unit;
  }

  get isStopped(): boolean {
    return Atomics.load(this.words, STOP) !== 0;
  }

  /** Ends the work of all threads at their next run of blocks. */
  stop(): void {
    Atomics.store(this.words, STOP, 1);
  }

  state(unit: number): number {
    return Atomics.load(this.words, this.at(unit));
  }

  /** Notes a block of a unit as not proven, before the unit is settled. */
  markUnproven(unit: number, block: number): void {
    this.words[this.at(unit) + COUNT_WORDS + (block >>> BITS_SHIFT)] |= 1 << (block & BITS_MASK);
  }

  settle(unit: number, proof: Proof): void {
    const at = this.at(unit);
    this.words[at + 1] = proof.clean;
    this.words[at + 2] = proof.linePointers;
    this.words[at + 3] = proof.tuples;
    this.words[at + 4] = proof.mapBits;
    this.end(unit, SETTLED);
  }

  fail(unit: number): void {
    this.end(unit, FAILED);
  }

  /** Waits until a unit that another thread has claimed has ended, or for so many milliseconds. */
  wait(unit: number, ms: number): void {
    const state = this.state(unit);
    if (state <= CLAIMED) Atomics.wait(this.words, this.at(unit), state, ms);
  }

  /** What a settled unit counted. */
  proof(unit: number): Proof {
    const at = this.at(unit);
    const [clean, linePointers, tuples, mapBits] = this.words.subarray(at + 1, at + COUNT_WORDS);
    return { clean, linePointers, tuples, mapBits };
  }

  isProven(unit: number, block: number): boolean {
    const word = this.words[this.at(unit) + COUNT_WORDS + (block >>> BITS_SHIFT)];
    return ((word >>> (block & BITS_MASK)) & 1) === 0;
  }

  private at(unit: number): number {
    return HEADER_WORDS + unit * this.unitWords;
  }

  private end(unit: number, state: number): void {
    Atomics.store(this.words, this.at(unit), state);
    Atomics.notify(this.words, this.at(unit));
  }
}
