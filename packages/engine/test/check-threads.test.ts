// How many threads a check starts, and that they end with it, however it ends.
import { once } from 'node:events';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { PageProver, ProofThreads } from '@blockwright/amcheck';
import { run, type Steps } from '@blockwright/base';
import { checkPath, Database, initdb, table } from '@blockwright/engine';
import { BlockGeometry } from '@blockwright/geometry';
import { int4, text } from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Subject } from '../src/check.ts';
import { startThreads } from '../src/check-threads.ts';

const MB = 1 << 20;

/** A data directory of ours with one table, made `bytes` long by pages that were never used. */
let directory: string;
let path: string;
beforeAll(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'blockwright-threads-')), 'data');
  initdb(directory, { blockSize: '8kB' });
  using database = Database.open(directory);
  const bills = table('bills', { id: int4(), note: text() });
  database.createTable(bills);
  database.insert(
    bills,
    Array.from({ length: 2000 }, (_, id) => ({ id, note: `bill number ${id}` })),
  );
  path = join(directory, database.tables().find(({ name }) => name === 'bills')?.path ?? '');
});
afterAll(() => rmSync(join(directory, '..'), { recursive: true }));
afterEach(() => vi.restoreAllMocks());

interface Insides {
  readonly workers: readonly Worker[];
}

/** Threads that are started beside the first, of `jobs`, for a relation with segments of so many bytes. */
function helpersFor(jobs: number, ...segments: number[]): number {
  const vfs = new NodeVfs();
  const names = segments.map((_, i) => (i === 0 ? '1000' : `1000.${i}`));
  vi.spyOn(vfs, 'stat').mockImplementation((file) => {
    const size = segments[names.findIndex((name) => file === `/d/${name}`)];
    return size === undefined ? undefined : { size, isDirectory: false, isFile: true, modifiedMs: 0 };
  });
  const premises = { geometry: BlockGeometry.of(8192) };
  const relations = [{ path: '/d/1000', names: [...names, '1000_vm', '10001'] }, { path: '/d/2000' }];
  const threads = startThreads(vfs, { premises, relations } as unknown as Subject, new PageProver(), jobs);
  threads?.close();
  return threads === undefined ? 0 : (threads as unknown as Insides).workers.length;
}

describe('beside the first thread there are', () => {
  it('as many as have 64 MB each to do, however many are asked for', () => {
    expect(helpersFor(1, 1024 * MB)).toBe(0);
    expect(helpersFor(1000, 64 * MB - 1)).toBe(0);
    expect(helpersFor(1000, 64 * MB)).toBe(1);
    expect(helpersFor(1000, 191 * MB)).toBe(2);
    expect(helpersFor(2, 1024 * MB)).toBe(1);
  });

  it('as many as all segments of a relation need', () => {
    expect(helpersFor(1000, 100 * MB, 100 * MB, 60 * MB)).toBe(4);
    expect(helpersFor(1000, 4 * MB, 61 * MB)).toBe(1);
  });
});

describe('Ctrl-C', () => {
  it('ends a check with threads at the next step, and the threads with it', async () => {
    truncateSync(path, 80 * MB);
    const close = vi.spyOn(ProofThreads.prototype, 'close');
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000)); // each slice is one step
    const interrupt = new AbortController();
    const prove = vi.spyOn(PageProver.prototype, 'prove');
    let steps = 0;
    function* counted<Result>(check: Steps<Result>): Steps<Result> {
      try {
        for (;;) {
          const before = prove.mock.calls.length;
          const step = check.next();
          expect(prove.mock.calls.length - before).toBeLessThanOrEqual(1); // a run of 256 kB
          if (step.done === true) return step.value;
          if (++steps === 20) interrupt.abort();
          yield step.value;
        }
      } finally {
        check.return(undefined as Result);
      }
    }
    const check = counted(checkPath(directory, () => {}, { jobs: 2 }));
    await expect(run(check, { signal: interrupt.signal })).rejects.toMatchObject({ name: 'AbortError' });
    expect(steps).toBe(20);
    expect(close).toHaveBeenCalledTimes(1);
    const { workers } = close.mock.contexts[0] as unknown as Insides;
    expect(workers.length).toBe(1);
    for (const worker of workers) if (worker.threadId !== -1) await once(worker, 'exit');
  });
});
