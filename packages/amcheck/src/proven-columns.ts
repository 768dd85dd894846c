// A table's columns in the form that the kernel of page-prover.ts takes them: plain bytes, which can be sent to a worker.
//
//   | byte | what                                                                                             |
//   |------|--------------------------------------------------------------------------------------------------|
//   | 0    | verification: 0 any bytes, 1 bool, 2 name; of variable width: 3 any bytes, 4 text, 5 numeric      |
//   | 1    | alignment, less one                                                                              |
//   | 4    | bytes, of a fixed width: uint32                                                                  |
import { MAX_HEAP_ATTRIBUTES, type TupleDescriptor } from '@blockwright/tuple';
import { BOOL, NUMERIC, TEXT, verificationOf } from './verification.ts';

const FIXED_BYTES = 0;
const FIXED_BOOL = 1;
const FIXED_TEXT = 2;
const VARLENA_BYTES = 3;
const VARLENA_TEXT = 4;
const VARLENA_NUMERIC = 5;
/** Bytes of an entry, as a shift. */
const ENTRY_SHIFT = 3;
/** What the kernel's work area has room for: as many as a table can have. */
const MOST_COLUMNS = MAX_HEAP_ATTRIBUTES;

export interface ProvenColumns {
  /** An entry a column. */
  readonly columns: Uint8Array;
  /** The same for a tuple without nulls: neighbours of fixed width are one entry, where nothing but their end matters. */
  readonly steps: Uint8Array;
  readonly hasVarlena: boolean;
}

interface Entry {
  readonly verification: number;
  readonly alignment: number;
  readonly bytes: number;
}

/**
 * A table's columns for the kernel; undefined where they are more than it has room for: nothing must be proven then.
 * @param utf8 whether text is known to be UTF-8
 */
export function provenColumns(descriptor: TupleDescriptor, utf8: boolean): ProvenColumns | undefined {
  if (descriptor.columns.length > MOST_COLUMNS) return undefined;
  const entries = descriptor.columns.map(({ type, isDropped }, i): Entry => {
    const verification = verificationOf(type, isDropped, utf8);
    const alignment = descriptor.alignments[i];
    const attlen = descriptor.attlens[i];
    if (attlen >= 0) return { verification: fixedVerification(verification), alignment, bytes: attlen };
    return { verification: varlenaVerification(verification), alignment, bytes: 0 };
  });
  const hasVarlena = entries.some(({ verification }) => verification >= VARLENA_BYTES);
  return { columns: bytesOf(entries), steps: bytesOf(joined(entries)), hasVarlena };
}

function fixedVerification(verification: number): number {
  if (verification === BOOL) return FIXED_BOOL;
  return verification === TEXT ? FIXED_TEXT : FIXED_BYTES;
}

function varlenaVerification(verification: number): number {
  if (verification === NUMERIC) return VARLENA_NUMERIC;
  return verification === TEXT ? VARLENA_TEXT : VARLENA_BYTES;
}

/** From a start on a multiple of the first one's alignment, all that need no stricter one lie at known distances. */
function joined(entries: readonly Entry[]): Entry[] {
  const steps: Entry[] = [];
  for (const entry of entries) {
    const before = steps.at(-1);
    if (
      before?.verification === FIXED_BYTES &&
      entry.verification === FIXED_BYTES &&
      entry.alignment <= before.alignment
    ) {
      const at = (before.bytes + entry.alignment - 1) & -entry.alignment;
      steps[steps.length - 1] = { ...before, bytes: at + entry.bytes };
    } else steps.push(entry);
  }
  return steps;
}

function bytesOf(entries: readonly Entry[]): Uint8Array {
  const bytes = new Uint8Array(entries.length << ENTRY_SHIFT);
  const words = new Uint32Array(bytes.buffer);
  for (const [i, { verification, alignment, bytes: size }] of entries.entries()) {
    bytes[i << ENTRY_SHIFT] = verification;
    bytes[(i << ENTRY_SHIFT) + 1] = alignment - 1;
    words[(i << 1) + 1] = size;
  }
  return bytes;
}
