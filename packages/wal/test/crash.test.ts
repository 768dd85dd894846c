// The writer on a disk that crashes: whatever was flushed is read back, what is read back was inserted, in order, and an
// end that a crash made is never taken for damage. Then another crash, of the incarnation that came after.
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import { createWal, type WalWriter, walPageBoundary } from '@blockwright/wal';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  DIRECTORY,
  expected,
  insert,
  newReader,
  newWriter,
  type RecordSpec,
  recordSpec,
  SEGMENT,
  seen,
} from './support.ts';

/** What was done, with the number of disk operations after which each flush was acknowledged. */
interface Run {
  readonly disk: SimulatedVfs;
  readonly specs: readonly RecordSpec[];
  readonly ends: readonly number[];
  readonly acknowledged: readonly { readonly operations: number; readonly upTo: number }[];
  readonly start: number;
}

type Step = { readonly kind: 'insert'; readonly spec: RecordSpec } | { readonly kind: 'write' | 'flush' };

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: recordSpec.map((spec): Step => ({ kind: 'insert', spec })) },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'write' }) },
    { weight: 2, arbitrary: fc.constant<Step>({ kind: 'flush' }) },
  ),
  { minLength: 5, maxLength: 40 },
);

function run(disk: SimulatedVfs, script: readonly Step[], incarnation: number, start: number, previous: number): Run {
  const wal: WalWriter = newWriter(disk, { incarnation, start, previous });
  const specs: RecordSpec[] = [];
  const ends: number[] = [];
  const acknowledged: { operations: number; upTo: number }[] = [];
  for (const step of script) {
    if (step.kind === 'insert') {
      ends.push(insert(wal, step.spec));
      specs.push(step.spec);
    } else if (step.kind === 'write') wal.write(wal.insertedUpTo);
    else {
      wal.flush(wal.insertedUpTo);
      acknowledged.push({ operations: disk.operations, upTo: wal.insertedUpTo });
    }
  }
  return { disk, specs, ends, acknowledged, start };
}

/** Reads what a crash left. @returns where it ends, and where its last record begins. */
function survived(
  disk: SimulatedVfs,
  operation: number,
  made: Run,
  incarnation: number,
): { end: number; last: number } {
  const reader = newReader(disk, { incarnation });
  reader.seek(made.start);
  let count = 0;
  let last = 0;
  while (reader.next()) {
    expect(reader.record.endLsn).toBe(made.ends[count]);
    expect(seen(reader.record)).toEqual(expected(made.specs[count] as RecordSpec));
    last = reader.record.lsn;
    count++;
  }
  const promised = made.acknowledged.filter(({ operations }) => operations <= operation).at(-1)?.upTo ?? 0;
  if (reader.endLsn < promised) {
    throw new Error(
      `LOST after ${disk.describe(operation)}: ends at ${reader.endLsn}, ${promised} was promised: ${reader.endReason}`,
    );
  }
  if (reader.durableBeyondEnd() !== 0) throw new Error('an end by a crash is taken for damage');
  reader.close();
  return { end: reader.endLsn, last };
}

function crashes(runs: number, endOnFailure = false): void {
  fc.assert(
    fc.property(
      steps,
      steps,
      fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 5, maxLength: 5 }),
      (first, second, picks) => {
        const disk = new SimulatedVfs();
        disk.mkdir('/data');
        createWal({ vfs: disk, directory: DIRECTORY, segmentSize: SEGMENT });
        disk.settle();
        const one = run(disk, first, 1, SEGMENT, 0);
        for (const [at, choice] of picks) {
          const operation = at % (disk.operations + 1);
          const left = disk.crashedAt(operation, choice);
          const { end, last } = survived(left, operation, one, 1);
          // Recovery makes a new incarnation, and crashes, too: what is left of the first must not come back.
          const two = run(left, second, 2, walPageBoundary(end), last);
          const again = choice % (left.operations + 1);
          survived(left.crashedAt(again, at), again, two, 2);
        }
      },
    ),
    { numRuns: runs, endOnFailure },
  );
}

describe('at any operation of the disk', () => {
  test('what was flushed is there, and nothing that was not inserted', () => {
    crashes(process.env.BLOCKWRIGHT_SLOW ? 1500 : 12);
  }, 600_000);

  test('a flush that does not sync is found out: the canary', () => {
    const real = SimulatedVfs.prototype.open;
    vi.spyOn(SimulatedVfs.prototype, 'open').mockImplementation(function (this: SimulatedVfs, path, mode) {
      const file = real.call(this, path, mode);
      file.datasync = () => {};
      return file;
    });
    let found = '';
    try {
      crashes(25, true);
    } catch (error) {
      found = String((error as Error).cause);
    }
    vi.restoreAllMocks();
    expect(found).toMatch(/LOST/);
  }, 600_000);
});
