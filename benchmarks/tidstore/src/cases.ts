// Which TIDs a run is about: one case that the options describe, or, where they describe none, those of the discussion
// and those where a tree looks worst. Whatever cannot be run is refused here, before anything is allocated.
import { freemem } from 'node:os';
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
  /** Takes long, and was not called for: to be measured in the fewest rounds, over fewer TIDs. */
  readonly isBrief?: boolean;
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

/** The discussion's larger one: a default case too where there is memory for it. */
const LARGE_CASE: Partial<Case> = { maxBlock: 10_000_000, isBrief: true };
/** A case is run uncalled for when twice its array, and this much for all else, is free. */
const SPARE_BYTES = 500_000_000;

/** Bytes of one TID in the sorted array. */
export const TID_BYTES = 6;

/**
 * The cases that the options ask for, checked.
 * @throws RangeError when a case has no blocks, more TIDs a block than the block has line pointers, or more TIDs than
 *   this machine's memory holds twice as a sorted array.
 */
export function casesOf(
  options: CaseOptions,
  g: BlockGeometry,
  machine: MachineDescription,
  freeBytes: number = freemem(),
): Case[] {
  const { minBlock, maxBlock, tidsPerBlock, stride, offsets } = options;
  const given = { minBlock, maxBlock, tidsPerBlock, stride, offsets: offsets as OffsetPattern | undefined };
  const isGiven = Object.values(given).some((value) => value !== undefined);
  const cases = (isGiven ? [given] : defaultCases(freeBytes)).map(completed);
  for (const one of cases) check(one, g, machine);
  return cases;
}

function defaultCases(freeBytes: number): readonly Partial<Case>[] {
  return 2 * arrayBytes(completed(LARGE_CASE)) + SPARE_BYTES <= freeBytes
    ? [...DEFAULT_CASES, LARGE_CASE]
    : DEFAULT_CASES;
}

/** Bytes of a case's TIDs in the sorted array. */
const arrayBytes = ({ minBlock, maxBlock, stride, tidsPerBlock }: Omit<Case, 'name'>): number =>
  Math.ceil((maxBlock - minBlock) / stride) * tidsPerBlock * TID_BYTES;

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

function check(one: Case, g: BlockGeometry, machine: MachineDescription): void {
  const { minBlock, maxBlock, tidsPerBlock } = one;
  if (minBlock >= maxBlock) {
    throw new RangeError(
      `tidstore's --min-block is below --max-block, the first block that is not loaded; not ${minBlock} and ${maxBlock}`,
    );
  }
  if (tidsPerBlock > g.maxOffsetNumber) {
    throw new RangeError(
      `tidstore's --tids-per-block is at most ${g.maxOffsetNumber}, the line pointers of ${g.size === 8192 ? 'an' : 'a'} ${formatBlockSize(g.size)} block; not ${tidsPerBlock}`,
    );
  }
  const bytes = arrayBytes(one);
  // Two arrays stand side by side for a moment, when one is loaded anew.
  if (2 * bytes > machine.memoryBytes) {
    const gigabytes = (n: number): string => (n / 1e9).toFixed(1);
    throw new RangeError(
      `these are ${(bytes / TID_BYTES).toLocaleString('en-US')} TIDs: two sorted arrays of ${gigabytes(bytes)} GB do not fit into the ${gigabytes(machine.memoryBytes)} GB of this machine`,
    );
  }
}
