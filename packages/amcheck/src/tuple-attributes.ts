// One heap tuple's attributes: they fill the tuple exactly, are what the header says of them, and hold values of their
// types. Values that cannot be wrong (integers, floats, uuid, …) are stepped over.
import { isStorageError, StorageError } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import {
  AttributePlaces,
  atTuple,
  HEAP_HASEXTERNAL,
  HEAP_HASNULL,
  HEAP_HASVARWIDTH,
  locateAttributes,
  RowDecoder,
  readToastPointer,
  type ToastPointer,
  type TupleDescriptor,
  TupleError,
  tupleInfomask,
  tupleNatts,
} from '@blockwright/tuple';
import type { PageReport } from './page-report.ts';
import { ANY_BYTES, BOOL, NUMERIC, TEXT, verificationOf } from './verification.ts';

// The forms in AttributePlaces.
const NULL = 0;
const PLAIN = 1;
const COMPRESSED = 2;
const EXTERNAL = 3;

const INFOMASK = 20;

const NUMERIC_DIGIT_MAX = 9999;
/** Text of another encoding than UTF-8. */
const NOT_UTF8 = '22021';

/**
 * Finds what a TOAST pointer leads to; undefined when it cannot be told.
 * @throws StorageError when there is nothing there, or not what the pointer says.
 */
export type ToastLookup = (pointer: ToastPointer) => Uint8Array | undefined;

/** Walks the attributes of one table's tuples. PostgreSQL: `check_tuple_attribute`, verify_heapam.c. */
export class TupleAttributes {
  private readonly descriptor: TupleDescriptor;
  private readonly places: AttributePlaces;
  private readonly verifications: Uint8Array;
  /** Decoders of single columns, made when a value must be decompressed or is wrong. */
  private readonly decoders: (RowDecoder | undefined)[];

  private readonly toast: ToastLookup | undefined;

  /** @param utf8 whether text is known to be UTF-8 */
  constructor(descriptor: TupleDescriptor, utf8: boolean, toast: ToastLookup | undefined) {
    this.descriptor = descriptor;
    this.toast = toast;
    const { columns } = descriptor;
    this.places = new AttributePlaces(columns.length);
    this.verifications = Uint8Array.from(columns, ({ type, isDropped }) => verificationOf(type, isDropped, utf8));
    this.decoders = columns.map(() => undefined);
  }

  /**
   * Checks the tuple of `length` bytes at byte `position`, whose t_hoff and number of attributes are right.
   * @param isVisible whether it is known to be visible: else what it stores out of line may be gone already
   */
  check(m: PageMemory, position: number, length: number, isVisible: boolean, report: PageReport): void {
    const { descriptor, places } = this;
    const natts = tupleNatts(m, position);
    try {
      const end = locateAttributes(descriptor, m.u8, position, length, natts, places);
      if (end !== position + length) {
        const message = `the tuple has ${length} bytes, and its attributes end after ${end - position}`;
        report.attribute('error', 'heap.tuple.length', 0, message);
      }
    } catch (error) {
      this.report(error, -1, report);
      return;
    }
    this.checkFlags(tupleInfomask(m, position), natts, report);
    for (let i = 0; i < natts; i++) {
      if (this.verifications[i] === ANY_BYTES && places.forms[i] <= PLAIN) continue;
      try {
        this.checkValue(m, position, length, i, isVisible);
      } catch (error) {
        this.report(error, i, report);
      }
    }
  }

  /** What t_infomask says of the attributes is what they are. */
  private checkFlags(infomask: number, natts: number, report: PageReport): void {
    const { forms } = this.places;
    const { attlens } = this.descriptor;
    let due = 0;
    for (let i = 0; i < natts; i++) {
      if (forms[i] === NULL) due |= HEAP_HASNULL;
      else if (attlens[i] < 0) due |= forms[i] === EXTERNAL ? HEAP_HASVARWIDTH | HEAP_HASEXTERNAL : HEAP_HASVARWIDTH;
    }
    const wrong = (infomask ^ due) & (HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL);
    if (wrong === 0) return;
    const say = (bit: number, code: string, what: string): void => {
      if ((wrong & bit) === 0) return;
      const said =
        (due & bit) === 0 ? `says that there is ${what}, and there is none` : `does not say that there is ${what}`;
      report.field('error', `heap.tuple.${code}`, INFOMASK, `t_infomask ${said}`);
    };
    say(HEAP_HASNULL, 'has_null', 'an attribute that is null');
    say(HEAP_HASVARWIDTH, 'has_varwidth', 'an attribute of variable width');
    say(HEAP_HASEXTERNAL, 'has_external', 'an attribute that is stored out of line');
  }

  /** @throws StorageError when attribute `i` holds no value of its type. */
  private checkValue(m: PageMemory, position: number, length: number, i: number, isVisible: boolean): void {
    const form = this.places.forms[i];
    if (form === NULL) return;
    const start = this.places.starts[i];
    const size = this.places.sizes[i];
    if (form === EXTERNAL) {
      const pointer = readToastPointer(m.u8, start);
      const stored = isVisible ? this.toast?.(pointer) : undefined;
      if (stored !== undefined) {
        RowDecoder.for(this.descriptor, [i], { fetchToast: () => stored }).array(m, position, length);
      }
    } else if (form === COMPRESSED || !isValue(this.verifications[i], m.u8, start, size)) {
      this.decode(m, position, length, i);
    }
  }

  /** @throws StorageError that says what is wrong with the value, if the decoder finds that there is. */
  private decode(m: PageMemory, position: number, length: number, i: number): void {
    this.decoders[i] ??= RowDecoder.for(this.descriptor, [i]);
    try {
      this.decoders[i].array(m, position, length);
    } catch (error) {
      if (this.verifications[i] === TEXT || !isStorageError(error) || error.code !== NOT_UTF8) throw error;
    }
  }

  private report(error: unknown, attribute: number, report: PageReport): void {
    const fault = atTuple(error, this.descriptor, 0, attribute);
    if (!(fault instanceof TupleError)) throw error;
    report.attribute('error', 'heap.tuple.attribute', fault.attributeNumber, fault.message);
  }
}

/** Whether bytes are certainly a value; when not, the decoder is asked. */
function isValue(verification: number, u8: Uint8Array, start: number, size: number): boolean {
  if (verification === NUMERIC) return isNumeric(u8, start, size);
  if (verification === TEXT) return isAscii(u8, start, size);
  return verification !== BOOL || isBool(u8[start]);
}

function isBool(byte: number): boolean {
  if (byte > 1) throw new StorageError('XX001', `a bool of ${byte}, neither 0 nor 1`);
  return true;
}

function isNumeric(u8: Uint8Array, start: number, size: number): boolean {
  if (size < 2 || (size & 1) !== 0) return false;
  const header = u8[start + 1];
  if ((header & 0xc0) === 0xc0) return false; // NaN or an infinity: rare
  for (let at = start + ((header & 0x80) === 0 ? 4 : 2); at < start + size; at += 2) {
    if ((u8[at] | (u8[at + 1] << 8)) > NUMERIC_DIGIT_MAX) return false;
  }
  return (header & 0x80) !== 0 || size >= 4;
}

function isAscii(u8: Uint8Array, start: number, size: number): boolean {
  let all = 0;
  for (let at = start; at < start + size; at++) all |= u8[at];
  return all < 0x80;
}
