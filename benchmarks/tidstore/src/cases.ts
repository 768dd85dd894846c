// Which TIDs a run is about: one case that the options describe, or, where they describe none, those of the discussion
// and those where a tree looks worst. Whatever cannot be run is refused here, before anything is allocated.
import type { MachineDescription } from '@blockwright/benchmark';
import { type BlockGeometry, formatBlockSize } from '@blockwright/geometry';
import type { OffsetPattern } from './population.ts';

export interface Case {
  readonly name: string;
  readonly minBlock: number;
  readonly maxBlock: number;
  readonly stride: number;
  readonly tidsPerBlock: number;
  readonly offsets: OffsetPattern;
}

/** What the options say of a case; none of it: the default cases. */
export interface CaseOptions {
  readonly minBlock: number | undefined;
  readonly maxBlock: number | undefined;
  readonly tidsPerBlock: number | undefined;
  readonly stride: number | undefined;
  readonly offsets: string | undefined;
}

/** The discussion's: what is not said of a case is as here. */
const DISCUSSED = { minBlock: 0, maxBlock: 1_000_000, stride: 1, tidsPerBlock: 30, offsets: 'dense' } as const;

const DEFAULT_CASES: readonly Partial<Case>[] = [
  {},
  { offsets: 'spread' },
  { maxBlock: 8_000_000, tidsPerBlock: 1 },
  // A million blocks all over the 2^32 that there are: no two of them share a node of the lowest level.
  { maxBlock: 4_294_000_000, stride: 4294, tidsPerBlock: 1 },
];

/** Bytes of one TID in the sorted array. */
export const TID_BYTES = 6;

/**
 * The cases that the options ask for, checked.
 * @throws RangeError when a case has no blocks, more TIDs a block than the block has line pointers, or more TIDs than
 *   this machine's memory holds twice as a sorted array.
 */
export function casesOf(options: CaseOptions, g: BlockGeometry, machine: MachineDescription): Case[] {
  const { minBlock, maxBlock, tidsPerBlock, stride, offsets } = options;
  const given = { minBlock, maxBlock, tidsPerBlock, stride, offsets: offsets as OffsetPattern | undefined };
  const isGiven = Object.values(given).some((value) => value !== undefined);
  const cases = (isGiven ? [given] : DEFAULT_CASES).map(completed);
  for (const one of cases) check(one, g, machine);
  return cases;
}

function completed(given: { readonly [Key in keyof Case]?: Case[Key] | undefined }): Case {
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const one = { ...DISCUSSED, ...(known as Partial<Case>) };
  return { ...one, name: caseName(one) };
}

/** `1,000,000 × 30`, and what is unusual about it. */
function caseName({ minBlock, maxBlock, stride, tidsPerBlock, offsets }: Omit<Case, 'name'>): string {
  const count = (n: number): string => n.toLocaleString('en-US');
  return [
    `${count(Math.ceil((maxBlock - minBlock) / stride))} × ${count(tidsPerBlock)}`,
    ...(minBlock === 0 ? [] : [`from ${count(minBlock)}`]),
    ...(stride === 1 ? [] : [`${count(stride)} apart`]),
    ...(offsets === 'dense' ? [] : [offsets]),
  ].join(', ');
}

function check({ minBlock, maxBlock, stride, tidsPerBlock }: Case, g: BlockGeometry, machine: MachineDescription) {
  if (minBlock >= maxBlock) {
    throw new RangeError(
      `tidstore's --min-block is below --max-block, the first block that is not loaded; not ${minBlock} and ${maxBlock}`,
    );
  }
  if (tidsPerBlock > g.maxOffsetNumber) {
    throw new RangeError(
      `tidstore's --tids-per-block is at most ${g.maxOffsetNumber}, the line pointers of a ${formatBlockSize(g.size)} block; not ${tidsPerBlock}`,
    );
  }
  const bytes = Math.ceil((maxBlock - minBlock) / stride) * tidsPerBlock * TID_BYTES;
  // Two arrays stand side by side for a moment, when one is loaded anew.
  if (2 * bytes > machine.memoryBytes) {
    const gigabytes = (n: number): string => (n / 1e9).toFixed(1);
    throw new RangeError(
      `these are ${(bytes / TID_BYTES).toLocaleString('en-US')} TIDs: two sorted arrays of ${gigabytes(bytes)} GB do not fit into the ${gigabytes(machine.memoryBytes)} GB of this machine`,
    );
  }
}
