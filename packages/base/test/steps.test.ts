import { type Progress, run, runSync, type Steps } from '@blockwright/base';
import { describe, expect, it } from 'vitest';

interface Watched {
  steps: Steps<string>;
  taken: () => number;
  released: () => boolean;
}
/** Work of `total` steps that each take `stepMs`, and that holds something which must be released. */
function work(total: number, stepMs = 0): Watched {
  let taken = 0;
  let released = false;
  function* generator(): Steps<string> {
    try {
      for (let done = 1; done <= total; done++) {
        taken = done;
        for (const end = performance.now() + stepMs; performance.now() < end; );
        yield { phase: 'working', done, total, unit: 'blocks' };
      }
      return 'done';
    } finally {
      released = true;
    }
  }
  return { steps: generator(), taken: () => taken, released: () => released };
}

describe('runSync', () => {
  it('drives the work through and reports every step', () => {
    const seen: Progress[] = [];
    const { steps, released } = work(3);
    expect(runSync(steps, (progress) => seen.push(progress))).toBe('done');
    expect(seen.map(({ done }) => done)).toEqual([1, 2, 3]);
    expect(seen[0]).toEqual({ phase: 'working', done: 1, total: 3, unit: 'blocks' });
    expect(released()).toBe(true);
  });
  it('lets the error of the work through', () => {
    function* failing(): Steps<never> {
      yield { phase: 'a', done: 0, total: 0, unit: 'b' };
      throw new Error('broken');
    }
    expect(() => runSync(failing())).toThrow('broken');
  });
});

describe('run', () => {
  it('gives the result, of work without a step too', async () => {
    await expect(run(work(5).steps)).resolves.toBe('done');
    await expect(run(work(0).steps)).resolves.toBe('done');
  });
  it('leaves the event loop room between slices', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const { steps, taken } = work(60, 1);
    await run(steps);
    clearInterval(timer);
    expect(taken()).toBe(60);
    expect(turns).toBeGreaterThan(0);
  });
  it('reports less often than it steps', async () => {
    const seen: number[] = [];
    await run(work(100_000).steps, { onProgress: ({ done }) => seen.push(done) });
    expect(seen.length).toBeLessThan(50_000);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });
  it('stops at a step when the signal fires, and releases what it held', async () => {
    const controller = new AbortController();
    const { steps, taken, released } = work(1_000_000, 1);
    setTimeout(() => controller.abort(new Error('enough')), 5);
    await expect(run(steps, { signal: controller.signal })).rejects.toThrow('enough');
    expect(released()).toBe(true);
    expect(taken()).toBeLessThan(1_000_000);
  });
  it('does not begin when the signal has fired', async () => {
    const { steps, taken } = work(3);
    await expect(run(steps, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
    expect(taken()).toBe(0);
    expect(steps.next().done).toBe(true);
  });
  it('releases what the work held when a progress callback throws', async () => {
    const { steps, released } = work(1_000_000, 1);
    const onProgress = () => {
      throw new Error('callback');
    };
    await expect(run(steps, { onProgress })).rejects.toThrow('callback');
    expect(released()).toBe(true);
  });
});
