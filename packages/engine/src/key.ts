// From values to places in an index: search keys are index tuples of the first key columns, so that comparing has one form.
import { isStorageError, StorageError } from '@blockwright/base';
import type { SearchBound } from '@blockwright/nbtree';
import { IndexTupleFormer, tupleMemory } from '@blockwright/tuple';
import type { QueryIndex } from './query-index.ts';

/** Makes search keys of one index, one at a time. */
export class KeyMaker {
  private readonly index: QueryIndex;
  private readonly former: IndexTupleFormer;

  constructor(index: QueryIndex) {
    this.index = index;
    this.former = new IndexTupleFormer(index.btree.format, index.descriptor, index.columns);
  }

  /**
   * Forms the key of one row in `memory`, at byte 0, until the next key is formed.
   * @throws TypeError for a value of the wrong type or null, which equals nothing; RangeError for another number of values
   *   than the index has key columns.
   */
  whole(key: unknown): void {
    const { name, btree } = this.index;
    const { keyCount } = btree.format;
    const values = Array.isArray(key) ? (key as readonly unknown[]) : [key];
    if (values.length !== keyCount) {
      throw new RangeError(`index "${name}" has ${columnsOf(this.index)}, the key ${valuesText(values.length)}`);
    }
    for (let i = 0; i < keyCount; i++) {
      if (values[i] === null || values[i] === undefined) throw this.missing(i, 'the key', values[i], 'equals nothing');
    }
    this.form(values, 'the key');
  }

  get memory(): IndexTupleFormer['memory'] {
    return this.former.memory;
  }

  /**
   * A place in the index: before or after all keys with this prefix.
   * @throws TypeError for a value of the wrong type; RangeError for more values than key columns, or none.
   */
  bound(what: string, prefix: unknown, inclusive: boolean): SearchBound {
    const { name, btree } = this.index;
    const values = Array.isArray(prefix) ? (prefix as readonly unknown[]) : [prefix];
    if (values.length === 0 || values.length > btree.format.keyCount) {
      throw new RangeError(`index "${name}" has ${columnsOf(this.index)}, "${what}" ${valuesText(values.length)}`);
    }
    values.forEach((value, i) => {
      if (value === undefined) throw this.missing(i, `"${what}"`, value, 'is no value');
    });
    this.form(values, `"${what}"`);
    const memory = tupleMemory(this.former.memory.u8.slice(0, this.former.length));
    return { memory, pos: 0, natts: values.length, inclusive };
  }

  /**
   * The places of values of the first key column, in the index's order, each once.
   * @throws TypeError when they are no array, or one is of the wrong type.
   */
  points(values: unknown): SearchBound[] {
    if (!Array.isArray(values)) throw new TypeError(`index "${this.index.name}": "in" takes an array of values`);
    const { compare } = this.index.btree.format;
    const order = (a: SearchBound, b: SearchBound): number => compare(a.memory, 0, b.memory, 0, 1);
    return values
      .map((value: unknown) => this.bound('in', [value], true))
      .sort(order)
      .filter((bound, i, all) => i === 0 || order(all[i - 1], bound) !== 0);
  }

  private form(values: readonly unknown[], what: string): void {
    try {
      this.former.fromSearchValues(values);
    } catch (error) {
      throw inIndex(error, this.index.name, what);
    }
  }

  private missing(i: number, what: string, value: unknown, why: string): TypeError {
    const { name, descriptor, columns } = this.index;
    return new TypeError(
      `index "${name}": ${what} has ${String(value)} for column "${descriptor.columns[columns[i]].name}", which ${why}`,
    );
  }
}

function columnsOf({ descriptor, columns, btree }: QueryIndex): string {
  const { keyCount } = btree.format;
  const names = columns.slice(0, keyCount).map((column) => `"${descriptor.columns[column].name}"`);
  return `${keyCount} key ${keyCount === 1 ? 'column' : 'columns'} (${names.join(', ')})`;
}

function valuesText(count: number): string {
  return `has ${count} ${count === 1 ? 'value' : 'values'}`;
}

/** Says for which index and which part of the range a value was that it cannot take. Mistakes of the caller stay of their class. */
function inIndex(error: unknown, index: string, what: string): unknown {
  for (const Mistake of [TypeError, RangeError]) {
    if (error instanceof Mistake) return new Mistake(`index "${index}": ${what}: ${error.message}`, { cause: error });
  }
  if (!isStorageError(error)) return error;
  const { code, message, detail, hint } = error;
  return new StorageError(code, `index "${index}": ${what}: ${message}`, { detail, hint, cause: error });
}
