// What a check finds is data, not an exception.

/** `error`: the data is damaged. `warning`: it may be, or costs time. `info`: worth knowing, no fault. */
export type Severity = 'error' | 'warning' | 'info';

/** One thing that a check found, with all that is known of where. */
export interface Finding {
  /** Stable and dotted, such as `heap.line_pointer.redirect_out_of_range`. */
  readonly code: string;
  readonly severity: Severity;
  /** In words, for people; the numbers are in the other fields too. */
  readonly message: string;
  /** Path of the file, relative to the data directory where there is one. */
  readonly file?: string;
  readonly fork?: 'main' | 'fsm' | 'vm' | 'init';
  /** Number of the segment file, from 0. */
  readonly segment?: number;
  /** Block of the fork (not of the segment file). */
  readonly block?: number;
  /** Byte within the block, or within the file where there is no block. */
  readonly byteOffset?: number;
  /** Line pointer, from 1. */
  readonly offsetNumber?: number;
  /** Column, from 1. */
  readonly attribute?: number;
}

/** Where a check puts what it finds. */
export type FindingSink = (finding: Finding) => void;
