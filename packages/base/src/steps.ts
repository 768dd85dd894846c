// Long work is one generator that yields its progress at block boundaries. Driven through at once it is a synchronous
// call; driven in slices it is a promise that leaves room for signals, timers and Ctrl-C.

/** How far a long piece of work is. */
export interface Progress {
  /** What is being done now, such as `scanning heap`. */
  readonly phase: string;
  readonly done: number;
  /** 0 when not known. */
  readonly total: number;
  /** What `done` counts: `blocks`, `rows`, … */
  readonly unit: string;
}

export type Steps<Result> = Generator<Progress, Result, void>;

export interface RunOptions {
  /** Stops the work at the next block boundary: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called at most once a slice. */
  readonly onProgress?: (progress: Progress) => void;
}

const SLICE_MS = 10;

/** Drives the work through without a pause. */
export function runSync<Result>(steps: Steps<Result>, onProgress?: (progress: Progress) => void): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    onProgress?.(step.value);
  }
}

/** Drives the work in slices of about 10 ms; between them, the event loop runs. */
export async function run<Result>(steps: Steps<Result>, options: RunOptions = {}): Promise<Result> {
  const { signal, onProgress } = options;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const sliceEnd = performance.now() + SLICE_MS;
      let last: Progress;
      do {
        const step = steps.next();
        if (step.done === true) return step.value;
        last = step.value;
      } while (performance.now() < sliceEnd);
      onProgress?.(last);
      await nextTurn();
    }
  } finally {
    // A generator stopped half-way runs its own finally blocks: pins and files are released.
    steps.return(undefined as Result);
  }
}

declare const performance: { now(): number };
declare const setTimeout: (callback: () => void, delayMs: number) => unknown;
declare const setImmediate: undefined | ((callback: () => void) => unknown);
/** The part of the platform's AbortSignal that is used here. */
interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
