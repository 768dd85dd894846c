// What is checked of a loaded store before any time is believed: how much it holds, what it holds, and what it does not.
import { setImmediate } from 'node:timers/promises';
import { WrongAnswerError } from '@blockwright/benchmark';
import type { TidStore } from '@blockwright/tidstore';
import type { Population } from './population.ts';

/** TIDs that are not loaded and are asked for. */
const ABSENT_TIDS = 100_000;
/** Blocks that are compared before others have their turn. */
const BLOCKS_A_SLICE = 200_000;

/** A store's counts. @throws WrongAnswerError when keys were lost, as by a key that overflows, or TIDs. */
export function checkLoaded(
  name: string,
  store: Pick<TidStore, 'blockCount' | 'tidCount'>,
  population: Population,
): void {
  if (store.blockCount !== population.blockCount) {
    throw new WrongAnswerError(`the ${name} holds ${store.blockCount} keys where ${population.blockCount} were meant`);
  }
  if (store.tidCount !== population.tidCount) {
    throw new WrongAnswerError(`the ${name} holds ${store.tidCount} TIDs where ${population.tidCount} were meant`);
  }
}

/**
 * Every TID that a store's cursor gives, in order, and that it finds none of those that are near to them.
 * @throws WrongAnswerError naming the first block that is wrong; the signal's reason when it was stopped.
 */
export async function checkContents(
  name: string,
  store: TidStore,
  population: Population,
  signal: AbortSignal,
): Promise<void> {
  const cursor = store.cursor();
  for (let k = 0; k < population.blockCount; k++) {
    const block = population.block(k);
    const offsets = population.offsetsOf(k);
    if (!cursor.next()) throw new WrongAnswerError(`the ${name} ends before block ${block}`);
    if (cursor.block !== block) throw new WrongAnswerError(`the ${name} has block ${cursor.block} instead of ${block}`);
    if (!areSame(cursor.offsets, cursor.count, offsets)) {
      throw new WrongAnswerError(`the ${name} has other offsets in block ${block} than were added`);
    }
    if (k % BLOCKS_A_SLICE === BLOCKS_A_SLICE - 1) {
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  if (cursor.next()) throw new WrongAnswerError(`the ${name} has block ${cursor.block}, which was not added`);
  checkAbsent(name, store, population);
}

function areSame(given: Uint16Array, count: number, offsets: Uint16Array): boolean {
  if (count !== offsets.length) return false;
  for (let i = 0; i < count; i++) if (given[i] !== offsets[i]) return false;
  return true;
}

function checkAbsent(name: string, store: TidStore, population: Population): void {
  const { blocks, offsets } = population.absent(ABSENT_TIDS);
  for (let i = 0; i < blocks.length; i++) {
    if (store.has(blocks[i], offsets[i])) {
      throw new WrongAnswerError(`the ${name} finds (${blocks[i]},${offsets[i]}), which was not added`);
    }
  }
}
