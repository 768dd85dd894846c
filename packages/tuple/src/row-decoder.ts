// One tuple to a row: an array of values, or an object by column name.

import { checkOptions } from '@blockwright/base';
import {
  AT_NULL,
  AttributeData,
  AttributePlaces,
  atTuple,
  locateAttributes,
  locateIndexAttributes,
  plainData,
  type TupleLayout,
} from './attributes.ts';
import type { TupleDescriptor } from './descriptor.ts';
import type { TupleMemory } from './memory.ts';
import type { FetchToast } from './varlena.ts';

export interface RowDecoderOptions {
  /** int8 as bigint (the default) or as number, with a RangeError for what is no safe integer. */
  readonly int8?: 'bigint' | 'number';
  /** Fetches out-of-line values; without it they are StorageError 0A000. */
  readonly fetchToast?: FetchToast;
  /** What the tuples are: `heap` (the default), or `index`: then the descriptor is the index's, `format.descriptor`. */
  readonly layout?: TupleLayout;
}

type Reader = (u8: Uint8Array, at: number, length: number) => unknown;

/** Turns single tuples into rows of the chosen columns. One decoder serves one caller at a time. */
export class RowDecoder {
  readonly descriptor: TupleDescriptor;
  /** Indexes of the columns, in the order of the row. */
  readonly columns: readonly number[];
  readonly #names: readonly string[];
  readonly #readers: readonly (Reader | undefined)[];
  readonly #places: AttributePlaces;
  readonly #data: AttributeData = new AttributeData();
  readonly #attributes: number;
  readonly #locate: typeof locateAttributes;
  readonly #fetch: FetchToast | undefined;

  private constructor(descriptor: TupleDescriptor, columns: readonly number[], options: RowDecoderOptions) {
    checkOptions('RowDecoder', options, ['int8', 'fetchToast', 'layout']);
    this.descriptor = descriptor;
    this.columns = columns;
    this.#names = columns.map((i) => descriptor.columns[i].name);
    this.#readers = columns.map((i) => {
      const { type, isDropped } = descriptor.columns[i];
      if (isDropped) return undefined;
      if (type.name === 'int8' && options.int8 === 'number') return safeInt8(type.codec.read as Reader);
      return type.codec.read;
    });
    this.#attributes = columns.length === 0 ? 0 : Math.max(...columns) + 1;
    this.#places = new AttributePlaces(this.#attributes);
    this.#locate = options.layout === 'index' ? locateIndexAttributes : locateAttributes;
    this.#fetch = options.fetchToast;
  }

  /**
   * A decoder of `columns` (indexes; all that are not dropped, if not given).
   * @throws RangeError for an index that the table does not have.
   */
  static for(descriptor: TupleDescriptor, columns?: readonly number[], options: RowDecoderOptions = {}): RowDecoder {
    const chosen = columns ?? descriptor.liveColumns();
    for (const i of chosen) if (descriptor.columns[i] === undefined) throw new RangeError(`there is no column ${i}`);
    return new RowDecoder(descriptor, [...chosen], options);
  }

  /**
   * The row of the tuple of `length` bytes at `pos`, one value a chosen column.
   * @throws StorageError XX001 when the bytes are no tuple of the table; 0A000 for an out-of-line value without a hook.
   */
  array(m: TupleMemory, pos: number, length: number): unknown[] {
    const { u8 } = m;
    const places = this.#places;
    const row: unknown[] = [];
    let attribute = -1;
    try {
      this.#locate(this.descriptor, u8, pos, length, this.#attributes, places);
      for (let k = 0; k < this.columns.length; k++) {
        attribute = this.columns[k];
        const read = this.#readers[k];
        if (places.forms[attribute] === AT_NULL || read === undefined) row.push(null);
        else {
          const data = this.#data;
          plainData(this.descriptor, u8, attribute, places, this.#fetch, data);
          row.push(read(data.u8, data.at, data.size));
        }
      }
    } catch (cause) {
      throw atTuple(cause, this.descriptor, 0, attribute);
    }
    return row;
  }

  /** The same row as an object, its keys the columns' names. */
  object(m: TupleMemory, pos: number, length: number): Record<string, unknown> {
    const values = this.array(m, pos, length);
    const row: Record<string, unknown> = {};
    for (let k = 0; k < values.length; k++) {
      const name = this.#names[k];
      if (name === '__proto__')
        Object.defineProperty(row, name, { value: values[k], enumerable: true, configurable: true, writable: true });
      else row[name] = values[k];
    }
    return row;
  }
}

function safeInt8(read: Reader): Reader {
  return (u8, at, length) => {
    const value = Number(read(u8, at, length) as bigint);
    if (!Number.isSafeInteger(value))
      throw new RangeError(`an int8 near ${value} is no safe integer: read it as bigint`);
    return value;
  };
}
