// The one error class of the storage engine, with PostgreSQL's SQLSTATE as its code.

/** The SQLSTATEs that a {@link StorageError} can carry. PostgreSQL: errcodes.txt. */
export type StorageErrorCode =
  | '0A000' // feature not supported
  | '21000' // cardinality violation
  | '22000' // data exception
  | '22001' // string data right truncation
  | '22003' // numeric value out of range
  | '22007' // invalid datetime format
  | '22008' // datetime field overflow
  | '22021' // character not in repertoire
  | '22P02' // invalid text representation
  | '22P03' // invalid binary representation
  | '23502' // not null violation
  | '23505' // unique violation
  | '25001' // active sql transaction
  | '25006' // read only transaction
  | '25P01' // no active sql transaction
  | '25P02' // in failed sql transaction
  | '3B001' // invalid savepoint specification
  | '40001' // serialization failure
  | '42501' // insufficient privilege
  | '42601' // syntax error
  | '42703' // undefined column
  | '42704' // undefined object
  | '42P01' // undefined table
  | '42P07' // duplicate table
  | '53000' // insufficient resources
  | '53100' // disk full
  | '53200' // out of memory
  | '53400' // configuration limit exceeded
  | '54000' // program limit exceeded
  | '55000' // object not in prerequisite state
  | '55006' // object in use
  | '55P03' // lock not available
  | '57014' // query canceled
  | '57P01' // admin shutdown
  | '58030' // io error
  | '58P01' // undefined file
  | '58P02' // duplicate file
  | 'F0001' // lock file exists
  | 'XX000' // internal error
  | 'XX001' // data corrupted
  | 'XX002'; // index corrupted

/** Marks an instance for every copy of the package: see {@link isStorageError}. */
const MARK: unique symbol = Symbol.for('@blockwright/StorageError');

export interface StorageErrorOptions {
  /** What happened, in more words: numbers, names. */
  readonly detail?: string;
  /** What to do about it. */
  readonly hint?: string;
  /** The error underneath, such as one of the operating system. */
  readonly cause?: unknown;
}

/** What the engine throws for bad bytes, a failing disk, or a state that forbids the call. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
  /** PostgreSQL's SQLSTATE. */
  readonly code: StorageErrorCode;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  constructor(code: StorageErrorCode, message: string, options: StorageErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.hint = options.hint;
    Object.defineProperty(this, MARK, { value: true });
  }
}

/** Whether `value` is a {@link StorageError}, of this copy of the package or of another. */
export function isStorageError(value: unknown): value is StorageError {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
}

/**
 * Refuses an option that nobody knows, naming the one that was probably meant, and what has no options.
 * @throws TypeError for the first unknown key of `options`, and for what is no object, or a promise of one.
 */
export function checkOptions(what: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${what}: an object is wanted, not ${shown(options)}`);
  }
  const keys = Object.keys(options);
  if (keys.length === 0 && typeof (options as { then?: unknown }).then === 'function') {
    throw new TypeError(`${what}: an object is wanted, not a promise of one`);
  }
  for (const key of keys) {
    if (known.includes(key)) continue;
    const nearest = nearestName(key, known);
    throw new TypeError(
      `${what} has no option "${key}"${nearest === undefined ? `; it takes ${known.join(', ')}` : `; did you mean "${nearest}"?`}`,
    );
  }
}

/**
 * Refuses what only looks like true or false, such as the word "false", which counts as true.
 * @throws TypeError unless `value` is a boolean, or undefined.
 */
export function checkFlag(what: string, name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new TypeError(`${what}: "${name}" is true or false, not ${shown(value)}`);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : typeof value === 'function' ? 'a function' : String(value);
}

/** The name of `known` that a misspelt `name` probably meant, if one is near enough. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, name.length >> 1);
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substituted, previous[j] + 1, row[j - 1] + 1));
    }
    previous = row;
  }
  return previous[b.length] as number;
}
