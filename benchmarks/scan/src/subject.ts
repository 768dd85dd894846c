// What the queries run on: ours at a block size, or a peer. Each answers the same questions, and says how large it is.
import type { Cell } from '@blockwright/benchmark';
import type { Q1Group } from './queries.ts';

/** What can be asked for with `--queries`. */
export const QUERIES = [
  'count',
  'judged',
  'q6',
  'q1',
  'keys',
  'keysum',
  'keys-unasked',
  'keys-window',
  'keys-multiplying',
  'keys-dividing',
] as const;
export type Query = (typeof QUERIES)[number];

/** What each query is called for people. */
export const QUERY_TITLES: Readonly<Record<Query, string>> = {
  count: 'count(*) with the map',
  judged: 'count(*) judging',
  q6: 'Q6',
  q1: 'Q1',
  keys: 'count(*) from the index on l_orderkey',
  keysum: 'sum of half of the keys from that index',
  'keys-unasked': 'that count without the map',
  'keys-window': 'that count, the map asked by its window',
  'keys-multiplying': 'that count, a multiplying look-up for each entry',
  'keys-dividing': 'that count, a dividing look-up for each entry',
};

/** Queries that need the index. */
export const KEY_QUERIES: readonly Query[] = QUERIES.filter((query) => query.startsWith('key'));

/** Keys of half of the rows, in the middle of all, and their sum. */
export interface KeyRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** Revenue in ten-thousandths; the rows that were selected, where the engine says. */
export interface Q6Answer {
  readonly revenue: bigint;
  readonly rows: bigint | undefined;
}

/** How each query is run; a query that the subject cannot run is missing. */
interface Answerers {
  readonly count?: () => number | Promise<number>;
  readonly judged?: () => number | Promise<number>;
  readonly q6?: () => Q6Answer | Promise<Q6Answer>;
  readonly q1?: () => readonly Q1Group[] | Promise<readonly Q1Group[]>;
  readonly keys?: () => number | Promise<number>;
  readonly keysum?: (range: KeyRange) => bigint | Promise<bigint>;
  readonly 'keys-unasked'?: () => number;
  readonly 'keys-window'?: () => number;
  readonly 'keys-multiplying'?: () => number;
  readonly 'keys-dividing'?: () => number;
}

export interface PoolStats {
  readonly hits: number;
  readonly reads: number;
}

/** lineitem in one engine at one block size, in memory. */
export interface Subject {
  /** `blockwright`, or the peer's name and version. */
  readonly engine: string;
  readonly blockSize: number;
  readonly rows: number;
  readonly pages: number;
  readonly bytes: number;
  /** Bytes a page that no tuple uses, on average, the last page left out; undefined where it is not known. */
  readonly tailWaste: number | undefined;
  /** Pages found in memory, and pages read, since it was opened; undefined where it is not known. */
  readonly poolStats: () => PoolStats | undefined;
  readonly answer: Answerers;
  /** Sentences about a peer: settings, and what it does that we do not. */
  readonly about: string | undefined;
  close(): void | Promise<void>;
}

/**
 * Opens subjects, uses them together, and closes every one that was opened, also after an error and when another's
 * closing fails. The error that is thrown is the first.
 */
export async function withSubjects<Result>(
  opening: AsyncIterable<Subject> | Iterable<Subject>,
  use: (subjects: readonly Subject[]) => Promise<Result>,
): Promise<Result> {
  const subjects: Subject[] = [];
  const results: Result[] = [];
  const errors: unknown[] = [];
  try {
    for await (const subject of opening) subjects.push(subject);
    results.push(await use(subjects));
  } catch (error) {
    errors.push(error);
  }
  for (const subject of subjects) {
    try {
      await subject.close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return results[0] as Result;
}

/** A cell that was measured, with its samples. */
export interface Sampled {
  readonly cell: Cell;
  readonly query: Query;
  readonly subject: Subject;
  readonly samplesNs: readonly number[];
}

/** The block size that a PostgreSQL from a package was compiled with. */
export const POSTGRES_BLOCK_SIZE = 8192;
