// Runs readers over inputs. An outcome is a result, a StorageError or a RangeError; everything else is a fault of the
// reader, named with the seed and number of the input that shows it.
import { isStorageError } from '@blockwright/base';
import type { CorpusRelation } from './corpus.ts';
import { type FuzzInput, makeInput } from './input.ts';

export interface Reader {
  readonly name: string;
  /** Reads what the input holds. Whether it came as far as the innermost decoder: the one of attributes. */
  read(input: FuzzInput): boolean;
  /** Only every so many inputs, for readers that take long. Default 1. */
  readonly every?: number;
}

export interface FuzzReport {
  readonly inputs: number;
  /** Inputs of which at least one reader reached the innermost decoder. */
  readonly reached: number;
  /** Refusals by reader. */
  readonly refused: ReadonlyMap<string, number>;
  readonly faults: readonly string[];
}

const MOST_FAULTS = 5;

/** Runs inputs `from` to `from + count` of a seed. */
export function fuzz(
  corpus: readonly CorpusRelation[],
  readers: readonly Reader[],
  seed: number,
  count: number,
  from = 0,
): FuzzReport {
  const refused = new Map<string, number>();
  const faults: string[] = [];
  let reached = 0;
  for (let index = from; index < from + count && faults.length < MOST_FAULTS; index++) {
    const input = makeInput(corpus, seed, index);
    let wasReached = false;
    for (const reader of readers) {
      if (reader.every !== undefined && index % reader.every !== 0) continue;
      try {
        if (reader.read(input)) wasReached = true;
      } catch (error) {
        if (isStorageError(error) || error instanceof RangeError) {
          refused.set(reader.name, (refused.get(reader.name) ?? 0) + 1);
        } else faults.push(describeFault(reader, input, seed, error));
      }
    }
    if (wasReached) reached++;
  }
  return { inputs: count, reached, refused, faults };
}

function describeFault(reader: Reader, input: FuzzInput, seed: number, error: unknown): string {
  const { index, relation, geometry, changes } = input;
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${reader.name} at input ${index} of seed ${seed} (${relation.name} at ${geometry.size}, changed: ${changes.words.join(', ')}): ${what}`;
}
