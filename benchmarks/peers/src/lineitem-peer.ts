// What every peer can do: hold the rows of lineitem, and answer the questions that are put to ours.
import type { Progress } from '@blockwright/base';
import type { Q1Row, TextPool } from '@blockwright/tpch';

/** Another database with the rows of TPC-H's lineitem in it, in its memory. Answers are exact. */
export interface LineitemPeer extends AsyncDisposable {
  /** Such as `PostgreSQL 18.4`. */
  readonly engine: string;
  readonly blockSize: number;
  readonly rows: number;
  readonly pages: number;
  readonly bytes: number;
  /** What it runs with, as it says itself. */
  readonly settings: Readonly<Record<string, string>>;
  /** What it does for each query that Blockwright does not: one sentence. */
  readonly doesMore: string;
  /** `count(*)`; where pages can be marked all-visible, they are. */
  count(): Promise<number>;
  /** `count(*)` over the same rows on pages that are not marked, hint bits set; undefined where there is no such thing. */
  readonly countJudged: (() => Promise<number>) | undefined;
  /** Query 6's revenue in units of 10^-4. */
  q6(): Promise<bigint>;
  /** Query 1's groups, in order. */
  q1(): Promise<Q1Row[]>;
  /** From an index on l_orderkey alone, the table not looked at where its pages are marked; where asked for. */
  readonly indexOnly?: { count(): Promise<number>; sum(from: bigint, to: bigint): Promise<bigint> } | undefined;
  /** Ends it and removes its files. */
  close(): Promise<void>;
}

export interface LineitemPeerOptions {
  readonly scale: number;
  readonly pool: TextPool;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** The peer in a few lines, for people: name, size, settings, and what it does that we do not. */
export function peerText(peer: LineitemPeer): string {
  const settings = Object.entries(peer.settings).map(([name, value]) => `${name}=${value}`);
  return [
    `${peer.engine}: ${peer.rows} rows in ${peer.pages} pages of ${peer.blockSize} bytes`,
    `settings: ${settings.join(', ')}`,
    `beside what Blockwright does: ${peer.doesMore}`,
  ].join('\n');
}

/** `1994-01-01` in days from 2000-01-01. */
export function daysFrom2000(date: string): number {
  return (Date.parse(`${date}T00:00:00Z`) - Date.UTC(2000, 0, 1)) / 86400000;
}

/** A decimal's digits as an integer in units of 10^-`scale`; further ones, which must be zeros or a mean's, are rounded. */
export function scaledDecimal(text: string, scale: number): bigint {
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text);
  if (match === null) throw new TypeError(`${JSON.stringify(text)} is no decimal`);
  const [, sign, whole, fraction = ''] = match;
  const kept = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'));
  const rounded = kept + (fraction.charCodeAt(scale) >= 0x35 ? 1n : 0n);
  return sign === '-' ? -rounded : rounded;
}

/** The sum that a mean was made from: a mean of many more digits, times the number of values, rounded. */
export function sumOfMean(mean: string, count: bigint, scale: number): bigint {
  const digits = 30;
  const unit = 10n ** BigInt(digits - scale);
  return (scaledDecimal(mean, digits) * count + unit / 2n) / unit;
}
