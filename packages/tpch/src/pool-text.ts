// The 300 MiB of pseudo-English that all comments are cut from: sentences drawn from a small grammar, written one after
// the other into one buffer.
import type { Steps } from '@blockwright/base';
import {
  ADJECTIVES,
  ADVERBS,
  AUXILIARIES,
  GRAMMAR,
  NOUN_PHRASES,
  NOUNS,
  PREPOSITIONS,
  TERMINATORS,
  VERB_PHRASES,
  VERBS,
  type WeightedList,
} from './lists.ts';
import { MODULUS, nextSeed, TEXT_POOL_SEED } from './random.ts';

/** 300 MiB. */
export const POOL_BYTES = 314572800;
/** A sentence is begun while the pool is short of its size, and may run over by less than this. */
export const POOL_SLACK_BYTES = 4096;
const STEP_BYTES = 1 << 20;
/** A word is written in whole pieces of this size; what is too much, the next word overwrites. */
const PIECE_BYTES = 8;
const PIECES = 3;

/**
 * A list as its draws need it: for each draw the word's bytes, padded to 24, as three doubles, and its length. Three
 * stores without a branch take less time than a loop over the bytes. (No word has a byte above 0x7f, so that none of
 * the doubles is a NaN, whose bits a store might change.)
 */
class Words {
  readonly total: number;
  readonly pieces: Float64Array;
  readonly lengths: Int32Array;

  constructor(list: WeightedList, ending: string) {
    this.total = list.total;
    const picks = list.picks();
    const bytes = new Uint8Array(list.total * PIECES * PIECE_BYTES);
    this.lengths = new Int32Array(list.total);
    picks.forEach((word, draw) => {
      const text = list.words[word] + ending;
      for (let i = 0; i < text.length; i++) bytes[draw * PIECES * PIECE_BYTES + i] = text.charCodeAt(i);
      this.lengths[draw] = text.length;
    });
    this.pieces = new Float64Array(bytes.buffer);
  }
}

/** A list whose words are forms: for each draw the number of the form. */
class Forms {
  readonly total: number;
  readonly picks: Int32Array;
  constructor(list: WeightedList) {
    this.total = list.total;
    this.picks = list.picks();
  }
}

class PoolWriter {
  seed: number = TEXT_POOL_SEED;
  at = 0;
  sentences = 0;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly grammar = new Forms(GRAMMAR);
  private readonly nounPhrases = new Forms(NOUN_PHRASES);
  private readonly verbPhrases = new Forms(VERB_PHRASES);
  private readonly nouns = new Words(NOUNS, ' ');
  private readonly verbs = new Words(VERBS, ' ');
  private readonly adjectives = new Words(ADJECTIVES, ' ');
  private readonly adverbs = new Words(ADVERBS, ' ');
  private readonly auxiliaries = new Words(AUXILIARIES, ' ');
  private readonly prepositions = new Words(PREPOSITIONS, ' the ');
  private readonly terminators = new Words(TERMINATORS, ' ');

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Draws a number from 0 on, below `total`. */
  private pick(total: number): number {
    const seed = nextSeed(this.seed);
    this.seed = seed;
    return ((seed / MODULUS) * total) | 0;
  }

  private word(words: Words): void {
    const draw = this.pick(words.total);
    const pieces = words.pieces;
    const piece = draw * PIECES;
    const at = this.at;
    this.view.setFloat64(at, pieces[piece], true);
    this.view.setFloat64(at + PIECE_BYTES, pieces[piece + 1], true);
    this.view.setFloat64(at + 2 * PIECE_BYTES, pieces[piece + 2], true);
    this.at = at + words.lengths[draw];
  }

  private nounPhrase(): void {
    const form = this.nounPhrases.picks[this.pick(this.nounPhrases.total)];
    if (form === 3) this.word(this.adverbs);
    if (form !== 0) this.word(this.adjectives);
    if (form === 2) {
      // The comma comes before the word's space.
      this.bytes[this.at - 1] = 0x2c;
      this.bytes[this.at] = 0x20;
      this.at++;
      this.word(this.adjectives);
    }
    this.word(this.nouns);
  }

  private verbPhrase(): void {
    const form = this.verbPhrases.picks[this.pick(this.verbPhrases.total)];
    if (form === 1 || form === 3) this.word(this.auxiliaries);
    this.word(this.verbs);
    if (form >= 2) this.word(this.adverbs);
  }

  private prepositionalPhrase(): void {
    this.word(this.prepositions);
    this.nounPhrase();
  }

  sentence(): void {
    const form = this.grammar.picks[this.pick(this.grammar.total)];
    this.nounPhrase();
    if (form >= 3) this.prepositionalPhrase();
    this.verbPhrase();
    if (form === 1 || form === 4) this.prepositionalPhrase();
    if (form === 2 || form === 3) this.nounPhrase();
    this.at--; // the terminator takes the place of the space
    this.word(this.terminators);
    this.sentences++;
  }
}

/** What was drawn on the way: known numbers, for checks. */
export interface PoolSummary {
  readonly sentences: number;
  readonly finalSeed: number;
}

/**
 * Writes the pool into the first {@link POOL_BYTES} of `bytes`, which has {@link POOL_SLACK_BYTES} more; what stands
 * there afterwards is rubbish. Yields after every MiB.
 */
export function* writePoolText(bytes: Uint8Array): Steps<PoolSummary> {
  if (bytes.length < POOL_BYTES + POOL_SLACK_BYTES) throw new RangeError('the buffer is too small for the text pool');
  const writer = new PoolWriter(bytes);
  while (writer.at < POOL_BYTES) {
    const stop = Math.min(writer.at + STEP_BYTES, POOL_BYTES);
    while (writer.at < stop) writer.sentence();
    yield { phase: 'building the text pool', done: Math.min(writer.at, POOL_BYTES), total: POOL_BYTES, unit: 'bytes' };
  }
  return { sentences: writer.sentences, finalSeed: writer.seed };
}
