// What every command is given: where to print, how loudly, and whether to stop.

import { type Progress, run, type Steps } from '@blockwright/base';
import { Interrupted } from './failures.ts';
import { type Io, Printer } from './io.ts';
import { type Colors, colorsFor } from './output/colors.ts';
import { ExitStatus, printable } from './output/errors.ts';
import { toJson } from './output/json.ts';
import { progressDisplay } from './output/progress.ts';

/** The options that every command takes. */
export interface CommonFlags {
  readonly quiet?: boolean;
  readonly progress?: boolean;
  readonly verbose?: boolean;
}

/** One run of the command. */
export class Context {
  readonly io: Io;
  /** Results. */
  readonly out: Printer;
  /** Messages; use {@link message} and {@link warning}. */
  readonly err: Printer;
  readonly colors: Colors;
  /** Set by the command when it ends other than with status 0. */
  status: ExitStatus = ExitStatus.done;
  #flags: CommonFlags = {};

  constructor(io: Io) {
    this.io = io;
    this.out = new Printer(io.stdout);
    this.err = new Printer(io.stderr, 0);
    this.colors = colorsFor(io.stdout, io.env);
  }

  /** Called when the command line has been read. */
  setFlags(flags: CommonFlags): void {
    this.#flags = flags;
  }

  get verbose(): boolean {
    return this.#flags.verbose === true;
  }

  get quiet(): boolean {
    return this.#flags.quiet === true;
  }

  get columns(): number {
    return this.io.stdout.columns || 80; // a terminal that does not know its size says 0
  }

  /** Says something to the person at the terminal: on stderr, not with --quiet. */
  message(text: string): void {
    if (!this.quiet) this.err.line(printable(text));
  }

  /** Says something that should not be overlooked: with --quiet too. */
  warning(text: string): void {
    this.err.line(`blockwright: warning: ${printable(text)}`);
  }

  /** Prints one result object as JSON. */
  json(value: unknown): void {
    this.out.line(toJson(value, 2));
  }

  /** @throws Interrupted once Ctrl-C was seen. */
  throwIfInterrupted(): void {
    if (this.io.signal.aborted) throw new Interrupted();
  }

  /** Lets signals and timers in; to be awaited now and then by loops that are not made of steps. */
  async breathe(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.throwIfInterrupted();
  }

  /** Runs long work under a progress bar, stopping it on Ctrl-C. */
  run<Result>(steps: Steps<Result>): Promise<Result> {
    return this.withProgress(({ onProgress }) => this.drive(steps, onProgress));
  }

  /** Drives steps until they end or Ctrl-C is seen. */
  drive<Result>(steps: Steps<Result>, onProgress: (progress: Progress) => void): Promise<Result> {
    return run(steps, { signal: this.io.signal, onProgress });
  }

  /** Runs long work that reports its progress, under a bar that is gone when it ends. */
  async withProgress<Result>(work: (bar: ProgressBar) => Promise<Result>): Promise<Result> {
    const display = progressDisplay(this.io.stderr, !this.quiet && this.#flags.progress !== false);
    try {
      return await work({ onProgress: display.onProgress, pause: display.stop });
    } catch (error) {
      // However the work words it, after Ctrl-C the reason is Ctrl-C.
      if (this.io.signal.aborted) throw new Interrupted();
      throw error;
    } finally {
      display.stop();
    }
  }
}

/** What long work tells a progress bar. */
export interface ProgressBar {
  readonly onProgress: (progress: Progress) => void;
  /** Takes the bar away until the next report: to be called before anything is printed. */
  readonly pause: () => void;
}
