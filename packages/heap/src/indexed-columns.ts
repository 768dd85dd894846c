// Which columns an update changes, as far as indexes have them: so it is known before the new version is written whether
// any index needs another entry. PostgreSQL: `HeapDetermineColumnsInfo`, heapam.c.
import type { PageMemory } from '@blockwright/page';
import {
  AttributePlaces,
  HEAP_HASNULL,
  HEAP_NATTS_MASK,
  locateAttributes,
  type TupleDescriptor,
  tupleHoff,
  tupleInfomask,
  tupleInfomask2,
} from '@blockwright/tuple';

/** The columns of one table's indexes, and what the update compared last does to them. Used again; one a writer. */
export class IndexedColumns {
  /** Of each index, after {@link compare}: 1 when a column of it changed, key column or not. */
  readonly changes: Uint8Array;
  /** After {@link compare}: no index has another entry for the new version. */
  keepsIndexed = true;
  /** After {@link compare}: no key column of a unique index changed. */
  keepsKey = true;
  private readonly descriptor: TupleDescriptor;
  /** The columns that any index has, rising. */
  private readonly columns: Uint16Array;
  private readonly changed: Uint8Array;
  /** Of each index, and then of each unique key, its columns as indexes into `columns`. */
  private readonly indexes: readonly Uint16Array[];
  private readonly keys: readonly Uint16Array[];
  /** Attributes that must be looked at to reach the last column. */
  private readonly wanted: number;
  /** Of `columns`, from t_hoff on, and their bytes: when all attributes up to the last have a fixed width. */
  private readonly starts: Int32Array | undefined;
  private readonly widths: Int32Array;
  private readonly before: AttributePlaces;
  private readonly after: AttributePlaces;

  /**
   * @param indexes of each index its columns, those that are only carried along too, counted from 0
   * @param keys of each unique index, one of those, its key columns
   */
  constructor(
    descriptor: TupleDescriptor,
    indexes: readonly (readonly number[])[],
    keys: readonly (readonly number[])[],
  ) {
    const columns = [...new Set(indexes.flat())].sort((a, b) => a - b);
    const places = (list: readonly number[]): Uint16Array =>
      Uint16Array.from(list, (column) => columns.indexOf(column));
    this.descriptor = descriptor;
    this.columns = Uint16Array.from(columns);
    this.changed = new Uint8Array(columns.length);
    this.changes = new Uint8Array(indexes.length);
    this.indexes = indexes.map(places);
    this.keys = keys.map(places);
    this.wanted = columns.length === 0 ? 0 : columns[columns.length - 1] + 1;
    this.widths = Int32Array.from(columns, (column) => descriptor.attlens[column]);
    this.starts = fixedStarts(descriptor, columns, this.wanted);
    this.before = new AttributePlaces(this.wanted);
    this.after = new AttributePlaces(this.wanted);
  }

  /**
   * Compares the version of `length` bytes at `pos` with the one of `newLength` bytes at byte 0 of `tuple`, by the bytes
   * of their values as stored.
   * @throws StorageError XX001 when the old one is damaged.
   */
  compare(m: PageMemory, pos: number, length: number, tuple: PageMemory, newLength: number): void {
    if (this.wanted === 0) return;
    if (this.starts !== undefined && isPlain(m, pos, this.wanted) && isPlain(tuple, 0, this.wanted)) {
      this.compareFixed(m, pos + tupleHoff(m, pos), tuple, tupleHoff(tuple, 0), this.starts);
    } else this.compareLocated(m, pos, length, tuple, newLength);
    this.sumUp();
  }

  private compareFixed(m: PageMemory, data: number, tuple: PageMemory, newData: number, starts: Int32Array): void {
    const { changed, widths } = this;
    for (let i = 0; i < starts.length; i++) {
      const start = starts[i];
      changed[i] = differs(m.u8, data + start, tuple.u8, newData + start, widths[i]);
    }
  }

  private compareLocated(m: PageMemory, pos: number, length: number, tuple: PageMemory, newLength: number): void {
    const { changed, columns, before, after, wanted } = this;
    locateAttributes(this.descriptor, m.u8, pos, length, wanted, before);
    locateAttributes(this.descriptor, tuple.u8, 0, newLength, wanted, after);
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i];
      const size = before.sizes[column];
      changed[i] =
        before.forms[column] !== after.forms[column] || size !== after.sizes[column]
          ? 1
          : differs(m.u8, before.starts[column], tuple.u8, after.starts[column], size);
    }
  }

  private sumUp(): void {
    const { changed, changes, indexes, keys } = this;
    this.keepsIndexed = true;
    this.keepsKey = true;
    for (let i = 0; i < indexes.length; i++) {
      const change = anyOf(changed, indexes[i]);
      changes[i] = change;
      if (change !== 0) this.keepsIndexed = false;
    }
    for (let i = 0; i < keys.length; i++) if (anyOf(changed, keys[i]) !== 0) this.keepsKey = false;
  }
}

/** Where the columns begin in a tuple without nulls; undefined when that differs from tuple to tuple. */
function fixedStarts(
  { attlens, alignments }: TupleDescriptor,
  columns: readonly number[],
  wanted: number,
): Int32Array | undefined {
  const starts = new Int32Array(columns.length);
  let at = 0;
  for (let column = 0; column < wanted; column++) {
    if (attlens[column] < 0) return undefined;
    at = (at + alignments[column] - 1) & -alignments[column];
    const i = columns.indexOf(column);
    if (i >= 0) starts[i] = at;
    at += attlens[column];
  }
  return starts;
}

/** Whether the tuple has so many attributes, none of them null. */
function isPlain(m: PageMemory, pos: number, wanted: number): boolean {
  return (tupleInfomask(m, pos) & HEAP_HASNULL) === 0 && (tupleInfomask2(m, pos) & HEAP_NATTS_MASK) >= wanted;
}

function differs(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number, length: number): number {
  for (let i = 0; i < length; i++) if (a[aAt + i] !== b[bAt + i]) return 1;
  return 0;
}

function anyOf(changed: Uint8Array, columns: Uint16Array): number {
  for (let i = 0; i < columns.length; i++) if (changed[columns[i]] !== 0) return 1;
  return 0;
}
