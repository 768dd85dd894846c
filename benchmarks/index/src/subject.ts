// What every engine is asked to do with the same keys.
import { WrongAnswerError } from '@blockwright/benchmark';
import type { KeyKind } from './keys.ts';

/** Work that is timed again and again: `prepare` makes what `run` needs, and is not timed. */
export interface Work {
  /** What it is, such as `build`, `insert`, `look-up`. */
  readonly query: string;
  readonly kind: KeyKind;
  /** How it is asked for, where that matters: `a call each`, `one statement`. */
  readonly form: string | undefined;
  /** Rows or look-ups of one run. */
  readonly units: number;
  prepare(): void | Promise<void>;
  /** Gives what {@link expected} says. */
  run(): number | Promise<number>;
  readonly expected: number;
  /** Looks whether all that the last run made is there. @throws WrongAnswerError */
  verify(): void | Promise<void>;
  /** The index as the last run left it; undefined where nothing was made. */
  size(): IndexSize | undefined | Promise<IndexSize | undefined>;
}

export interface IndexSize {
  /** undefined where the engine does not tell. */
  readonly bytes: number | undefined;
  /** Levels above the leaves. */
  readonly levels: number | undefined;
}

/** An engine with tables of rows. */
export interface IndexSubject {
  readonly engine: string;
  readonly blockSize: number | null;
  readonly isPeer: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly works: readonly Work[];
  close(): void | Promise<void>;
}

/** What all of them share. */
export interface IndexPlan {
  readonly folder: string;
  readonly parts: readonly Part[];
  readonly kinds: readonly KeyKind[];
  readonly rows: number;
  readonly lookups: number;
  /** Memory for sorting, such as `64MB`. */
  readonly workMem: string;
  readonly buffers: string;
  readonly seed: number;
}

export const PARTS = ['build', 'insert', 'look-up'] as const;
export type Part = (typeof PARTS)[number];

export const A_CALL_EACH = 'a call each';
export const ONE_STATEMENT = 'one statement';

/** @throws WrongAnswerError when an index, or a table, does not have all rows. */
export function expectRows(engine: string, what: string, found: number, rows: number): void {
  if (found !== rows) throw new WrongAnswerError(`${engine}: ${what} has ${found} rows instead of ${rows}`);
}
