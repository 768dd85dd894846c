// How many rounds the folds take: at most 4 for tables below 1 GiB, and 7 at the very end of the range. The one of the
// visibility map is written out in five rounds, so five must be enough for it.
import { describe, expect, it } from 'vitest';
import { LAST_BLOCK, MODELS } from './model.ts';

interface Fold {
  readonly shift: number;
  /** The divisor is 2^shift - less. */
  readonly less: number;
}

const rounds = ({ shift, less }: Fold, block: number): number => {
  let count = 0;
  for (let rest = block; rest >= 2 ** shift; count++) rest = Math.floor(rest / 2 ** shift) * less + (rest % 2 ** shift);
  return count;
};

/**
 * The most rounds that any block up to `last` takes. A round turns q * 2^k + r into q * c + r; among the blocks up to
 * `last`, the largest results come from its own q with its own r, and from the q before with the largest r.
 */
const mostRounds = (fold: Fold, last: number): number => {
  const whole = 2 ** fold.shift;
  if (last < whole) return 0;
  const q = Math.floor(last / whole);
  return (
    1 + Math.max(mostRounds(fold, q * fold.less + (last % whole)), mostRounds(fold, (q - 1) * fold.less + whole - 1))
  );
};

describe.each(MODELS)('at $size bytes', ({ size, g, vm, slots, segmentBlocks }) => {
  const b = Math.log2(size);
  const folds = [
    { name: 'visibility map', fold: { shift: b + 2, less: 96 }, divisor: vm },
    { name: 'free space map', fold: { shift: b - 1, less: 27 }, divisor: slots },
  ];
  it.each(folds)('the $name divisor is a power of two less $fold.less', ({ fold, divisor }) => {
    expect(2 ** fold.shift - fold.less).toBe(divisor);
  });
  it.each(folds)('the $name folds in at most 4 rounds below 1 GiB and 7 anywhere', ({ fold }) => {
    expect(mostRounds(fold, segmentBlocks - 1)).toBeLessThanOrEqual(4);
    expect(mostRounds(fold, LAST_BLOCK)).toBeLessThanOrEqual(7);
  });
  it.each(folds)('the $name bound is that of a search through all blocks below 2^20', ({ fold }) => {
    let most = 0;
    for (let block = 0; block < 2 ** 20; block++) most = Math.max(most, rounds(fold, block));
    expect(most).toBe(mostRounds(fold, 2 ** 20 - 1));
  });
  it('the five rounds that are written out for the visibility map are enough', () => {
    expect(mostRounds({ shift: b + 2, less: 96 }, LAST_BLOCK + 1)).toBeLessThanOrEqual(5);
  });
  it('the code folds like the model, from the same constants', () => {
    expect(g).toMatchObject({ vmShift: b + 2, vmMask: size * 4 - 1, fsmShift: b - 1, fsmMask: size / 2 - 1 });
  });
});

it('all five are needed: some block of a 1 kB table takes them', () => {
  expect(rounds({ shift: 12, less: 96 }, 313180096)).toBe(5);
});

it('there are blocks of a 1 kB table that take the 4 and the 7 rounds', () => {
  const fold = { shift: 9, less: 27 };
  let mostBelow = 0;
  for (let block = 0; block < 2 ** 20; block++) mostBelow = Math.max(mostBelow, rounds(fold, block));
  expect(mostBelow).toBe(4);
  expect(rounds(fold, 1193969146)).toBeLessThan(7);
  expect(rounds(fold, 1193969147)).toBe(7);
});
