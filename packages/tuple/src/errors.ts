// The error for a tuple whose bytes cannot be right, or whose value cannot be stored.

import { StorageError, type StorageErrorCode, type StorageErrorOptions } from '@blockwright/base';

/** Where in a batch a fault was found. */
export interface TupleErrorPlace {
  /** Position of the tuple in the batch that was being decoded, 0-based; 0 for a single tuple. */
  readonly tupleIndex: number;
  /** Attribute number as PostgreSQL counts, 1-based; 0 when the header itself is at fault. */
  readonly attributeNumber: number;
}

/**
 * A {@link StorageError} that says which tuple of the batch, and which attribute of it, is at fault; the caller knows
 * relation, block and offset, and says so in the error that it throws in turn.
 */
export class TupleError extends StorageError implements TupleErrorPlace {
  readonly tupleIndex: number;
  readonly attributeNumber: number;
  constructor(code: StorageErrorCode, message: string, place: TupleErrorPlace, options: StorageErrorOptions = {}) {
    super(code, message, options);
    this.tupleIndex = place.tupleIndex;
    this.attributeNumber = place.attributeNumber;
  }
}

/** Bytes of a value that cannot be right; the decoder that knows the tuple turns it into a {@link TupleError}. */
export function badBytes(message: string): StorageError {
  return new StorageError('XX001', message);
}
