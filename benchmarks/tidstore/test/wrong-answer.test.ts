// A wrong answer ends the benchmark, whatever its time: here the stores forget, invent or repeat one TID among thousands.
import { WrongAnswerError } from '@blockwright/benchmark';
import { tidstoreBenchmark } from '@blockwright/benchmark-tidstore';
import type { TidStore } from '@blockwright/tidstore';
import { afterEach, expect, it, vi } from 'vitest';

/** What is wrong with the stores of the current test: `has` and `add` as they are to be. */
interface Fault {
  readonly store: 'radix' | 'array';
  readonly has?: (store: TidStore, block: number, offset: number, found: boolean) => boolean;
  readonly add?: (block: number, offsets: Uint16Array, count: number) => [number, Uint16Array, number] | null;
}
const broken = vi.hoisted(() => ({ fault: undefined as Fault | undefined }));

vi.mock('@blockwright/tidstore', async (original) => {
  const actual = await original<typeof import('@blockwright/tidstore')>();
  const breakable = <Store extends new (...args: any[]) => TidStore>(Base: Store, name: Fault['store']) =>
    class extends Base {
      override has(block: number, offset: number): boolean {
        const found = super.has(block, offset);
        const { fault } = broken;
        return fault?.store === name && fault.has ? fault.has(this, block, offset, found) : found;
      }
      override add(block: number, offsets: Uint16Array, count: number): void {
        const { fault } = broken;
        const given = fault?.store === name && fault.add ? fault.add(block, offsets, count) : undefined;
        if (given !== null) super.add(...(given ?? [block, offsets, count]));
      }
    };
  return {
    ...actual,
    RadixTidStore: breakable(actual.RadixTidStore as never, 'radix'),
    SortedArrayTidStore: breakable(actual.SortedArrayTidStore as never, 'array'),
  };
});
afterEach(() => {
  broken.fault = undefined;
});

const run = (options = {}) =>
  tidstoreBenchmark.run(
    { maxBlock: 200, rounds: 9, whole: true, ...options },
    { log: () => {}, progress: () => {}, signal: new AbortController().signal },
  );

it('all is well without a fault', async () => {
  await expect(run()).resolves.toBeDefined();
});

const isLost = (block: number, offset: number): boolean => block === 77 && offset === 13;
it.each<[string, Fault['store'], Omit<Fault, 'store'>, RegExp]>([
  [
    'does not find one TID',
    'radix',
    { has: (_s, b, o, found) => found && !isLost(b, o) },
    /radix tree found 5999 of 6000/,
  ],
  [
    'does not find one TID',
    'array',
    { has: (_s, b, o, found) => found && !isLost(b, o) },
    /sorted array found 5999 of/,
  ],
  ['finds all', 'radix', { has: () => true }, /radix tree finds \(\d+,\d+\), which was not added/],
  ['finds all', 'array', { has: () => true }, /sorted array finds \(\d+,\d+\), which was not added/],
  [
    'loses a block',
    'radix',
    { add: (b, o, n) => (b === 77 ? null : [b, o, n]) },
    /holds 199 keys where 200 were meant/,
  ],
  [
    'loses a block',
    'array',
    { add: (b, o, n) => (b === 77 ? null : [b, o, n]) },
    /holds 199 keys where 200 were meant/,
  ],
  ['loses a TID', 'radix', { add: (b, o, n) => [b, o, b === 77 ? n - 1 : n] }, /holds 5999 TIDs where 6000 were meant/],
  [
    'keeps another TID',
    'radix',
    { add: (b, o, n) => [b, b === 77 ? o.map((offset) => (offset === 30 ? 31 : offset)) : o, n] },
    /radix tree has other offsets in block 77/,
  ],
  ['keeps another block', 'array', { add: (b, o, n) => [b === 199 ? 200 : b, o, n] }, /has block 200 instead of 199/],
])('a store that %s (%s) is caught', async (_, store, fault, message) => {
  broken.fault = { store, ...fault };
  await expect(run()).rejects.toThrow(message);
  await expect(run()).rejects.toThrow(WrongAnswerError);
});

it('a TID outside of the stretches that are searched is missed by the cursor', async () => {
  broken.fault = { store: 'radix', add: (b, o, n) => [b, b === 77 ? o.map((offset) => offset + 1) : o, n] };
  await expect(run({ searched: 10, whole: false, search: 'seq-search' })).rejects.toThrow(/other offsets in block 77/);
});
