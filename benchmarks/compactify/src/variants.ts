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

/** Compacts every page of `set` in `m`. */
type CompactAll = (m: PageMemory, set: PageSet) => void;

/** What each variant must leave. */
function orderLeftBy(variant: string): DataOrder {
  return variant === 'sort' || variant === COMPARATOR ? 'physical' : 'line pointer';
}

/** A variant for each strategy, and one for the comparator's sort. */
export function compactionVariants(set: PageSet): Variant[] {
  const work = pageMemory(new ArrayBuffer(set.pristine.u8.length));
  const scratch = new CompactionScratch(set.geometry);
  return [
    ...COMPACTIONS.map((how) => compactionVariant(how, byStrategy(how, scratch), set, work)),
    compactionVariant(COMPARATOR, byComparator, set, work),
  ];
}

/** @internal One variant: the pages are put back before each sample, and compared after it. */
export function compactionVariant(name: string, compactAll: CompactAll, set: PageSet, work: PageMemory): Variant {
  const wanted = compactedPlainly(set, orderLeftBy(name));
  return {
    name,
    units: set.pages,
    before: () => work.u8.set(set.pristine.u8),
    run: () => {
      compactAll(work, set);
      return work;
    },
    check: (answer: unknown) => checkPages(name, answer as PageMemory, wanted, set),
  };
}

function checkPages(name: string, got: PageMemory, wanted: PageMemory, { geometry: g, pages }: PageSet): void {
  for (let page = 0; page < pages; page++) {
    const where = difference(got, wanted, page * g.size, g.size);
    if (where !== undefined) throw new WrongAnswerError(`${name} left a wrong page of ${g.size} bytes: ${where}`);
  }
}

function byStrategy(how: Compaction, scratch: CompactionScratch): CompactAll {
  return (m, { geometry: g, pages, doomed }) => {
    if (doomed === undefined) repairAll(m, g, pages, scratch, how);
    else deleteAll(m, g, doomed, scratch, how);
  };
}

function repairAll(m: PageMemory, g: BlockGeometry, pages: number, scratch: CompactionScratch, how: Compaction): void {
  const size = g.size;
  for (let page = 0; page < pages; page++) pageRepairFragmentation(m, page * size, g, scratch, how);
}

function deleteAll(
  m: PageMemory,
  g: BlockGeometry,
  doomed: readonly Uint16Array[],
  scratch: CompactionScratch,
  how: Compaction,
): void {
  const size = g.size;
  for (let page = 0; page < doomed.length; page++) {
    const offsets = doomed[page] as Uint16Array;
    pageIndexMultiDelete(m, page * size, g, offsets, offsets.length, scratch, how);
  }
}

const byComparator: CompactAll = (m, { geometry: { size }, pages, doomed }) => {
  for (let page = 0; page < pages; page++) compactByComparator(m, page * size, doomed?.[page]);
};
