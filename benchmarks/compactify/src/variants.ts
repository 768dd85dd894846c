// The measured work: all pages of a set compacted, each answer held against the plain model.
import { type Variant, WrongAnswerError } from '@blockwright/benchmark';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  COMPACTIONS,
  type Compaction,
  CompactionScratch,
  type PageMemory,
  pageIndexMultiDelete,
  pageMemory,
  pageRepairFragmentation,
} from '@blockwright/page';
import { compactByComparator } from './comparator.ts';
import { type DataOrder, difference } from './model.ts';
import { compactedPlainly, type PageSet } from './page-set.ts';

/** A comparator's sort is shown beside the strategies. */
export const COMPARATOR = 'Array.sort';
export const VARIANTS: readonly string[] = [...COMPACTIONS, COMPARATOR];

/** Compacts every page of `set` in `m`, where they begin at byte `start`. */
type CompactAll = (m: PageMemory, start: number, set: PageSet) => void;

/** What each variant must leave. */
function orderLeftBy(variant: string): DataOrder {
  return variant === 'sort' || variant === COMPARATOR ? 'physical' : 'line pointer';
}

/** A variant for each strategy, and one for the comparator's sort; the set's pages `repeats` times in a sample. */
export function compactionVariants(set: PageSet, repeats: number = 1): Variant[] {
  const work = pageMemory(new ArrayBuffer(set.pristine.u8.length * repeats));
  const scratch = new CompactionScratch(set.geometry);
  return [
    ...COMPACTIONS.map((how) => compactionVariant(how, byStrategy(how, scratch), set, work)),
    compactionVariant(COMPARATOR, byComparator, set, work),
  ];
}

/** @internal One variant: the pages are put back all over `work` before each sample, and compared after it. */
export function compactionVariant(name: string, compactAll: CompactAll, set: PageSet, work: PageMemory): Variant {
  const wanted = compactedPlainly(set, orderLeftBy(name));
  const bytes = set.pristine.u8.length;
  const repeats = Math.floor(work.u8.length / bytes);
  return {
    name,
    units: set.pages * repeats,
    before: () => {
      for (let i = 0; i < repeats; i++) work.u8.set(set.pristine.u8, i * bytes);
    },
    run: () => {
      for (let i = 0; i < repeats; i++) compactAll(work, i * bytes, set);
      return work;
    },
    check: (answer: unknown) => {
      for (let i = 0; i < repeats; i++) checkPages(name, answer as PageMemory, i * bytes, wanted, set);
    },
  };
}

function checkPages(name: string, got: PageMemory, start: number, wanted: PageMemory, set: PageSet): void {
  const { size } = set.geometry;
  for (let base = 0; base < wanted.u8.length; base += size) {
    const where = difference(got, start + base, wanted, base, size);
    if (where !== undefined) throw new WrongAnswerError(`${name} left a wrong page of ${size} bytes: ${where}`);
  }
}

function byStrategy(how: Compaction, scratch: CompactionScratch): CompactAll {
  return (m, start, { geometry: g, pages, doomed }) => {
    if (doomed === undefined) repairAll(m, start, g, pages, scratch, how);
    else deleteAll(m, start, g, doomed, scratch, how);
  };
}

function repairAll(
  m: PageMemory,
  start: number,
  g: BlockGeometry,
  pages: number,
  scratch: CompactionScratch,
  how: Compaction,
): void {
  const size = g.size;
  for (let page = 0; page < pages; page++) pageRepairFragmentation(m, start + page * size, g, scratch, how);
}

function deleteAll(
  m: PageMemory,
  start: number,
  g: BlockGeometry,
  doomed: readonly Uint16Array[],
  scratch: CompactionScratch,
  how: Compaction,
): void {
  const size = g.size;
  for (let page = 0; page < doomed.length; page++) {
    const offsets = doomed[page] as Uint16Array;
    pageIndexMultiDelete(m, start + page * size, g, offsets, offsets.length, scratch, how);
  }
}

const byComparator: CompactAll = (m, start, { geometry: { size }, pages, doomed }) => {
  for (let page = 0; page < pages; page++) compactByComparator(m, start + page * size, doomed?.[page]);
};
