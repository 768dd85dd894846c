// The TIDs that are searched: those of one round after the other, in order or shuffled, put into arrays before the clock
// starts. Both stores meet the same ones in a round.
import { WrongAnswerError } from '@blockwright/benchmark';
import { Permutation } from './permutation.ts';
import { type Population, type Tids, tidKey } from './population.ts';

export type SearchName = 'seq-search' | 'shuffle-search';

export class Stretches implements Tids {
  readonly search: SearchName;
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  readonly length: number;
  /** Neighbours of which the second is the larger TID, of {@link length} − 1, in the round turned to. */
  ascending: number = 0;
  /** What `readTids` must give. */
  sum: number = 0;
  readonly #population: Population;
  readonly #permutation: Permutation;
  readonly #rounds: number;
  #from: number = -1;

  /** `length` TIDs for each of `rounds`; all of them, each round, when there are no more. */
  constructor(search: SearchName, population: Population, length: number, rounds: number, seed: number) {
    this.search = search;
    this.length = Math.min(length, population.tidCount);
    this.blocks = new Uint32Array(this.length);
    this.offsets = new Uint16Array(this.length);
    this.#population = population;
    this.#permutation = new Permutation(population.tidCount, seed);
    this.#rounds = rounds;
  }

  /**
   * Makes the arrays hold the TIDs of a round, counted from 0; any other number is as the last round.
   * @throws WrongAnswerError when their order is not the one that is to be searched in.
   */
  turnTo(round: number): void {
    const from = this.#start(round);
    if (from === this.#from) return;
    this.#from = from;
    const shuffled = this.search === 'shuffle-search';
    const { length } = this;
    for (let i = 0; i < length; i++) {
      this.#population.write(this, i, shuffled ? this.#permutation.at(from + i) : from + i);
    }
    this.sum = 0;
    for (let i = 0; i < length; i++) this.sum = (this.sum + this.blocks[i] + this.offsets[i]) | 0;
    this.ascending = checkedAscents(this.search, this);
  }

  /** Evenly spread: the first round begins at the first TID, the last one ends at the last. */
  #start(round: number): number {
    const last = this.#rounds - 1;
    const part = round >= 0 && round < last ? round / last : 1;
    return Math.round((this.#population.tidCount - this.length) * part);
  }
}

/**
 * How many neighbours ascend, checked: all of them in sequence; when shuffled about half, six standard deviations at
 * most from it (the ascents of a random order have the variance (n + 1) / 12).
 * @throws WrongAnswerError otherwise.
 */
export function checkedAscents(search: SearchName, { blocks, offsets }: Tids): number {
  const { length } = blocks;
  let ascending = 0;
  for (let i = 1; i < length; i++) {
    if (tidKey(blocks[i - 1], offsets[i - 1]) < tidKey(blocks[i], offsets[i])) ascending++;
  }
  const pairs = length - 1;
  const isRight =
    search === 'seq-search' ? ascending === pairs : Math.abs(ascending - pairs / 2) <= 6 * Math.sqrt((length + 1) / 12);
  if (isRight) return ascending;
  throw new WrongAnswerError(
    `the TIDs of ${search} are in the wrong order: of ${pairs} neighbours ${ascending} ascend, which should be ${search === 'seq-search' ? 'all' : 'about half'}`,
  );
}
