// The columns of a table, in attribute order, as encoders and decoders take them.

import { nearestName } from '@blockwright/base';
import { ALIGN_BYTES, type AttAlign, type ColumnType } from './column-type.ts';
import { MAX_HEAP_ATTRIBUTES } from './heap-header.ts';
import { opaque } from './types/catalog.ts';

/** A column to describe. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: ColumnType;
  /** A dropped column keeps its place: its bytes are stepped over, its value is null. */
  readonly isDropped?: boolean;
  /**
   * The value of a column that was added with a default, in tuples older than the column: its data, without a varlena's
   * header. Without it they have null. PostgreSQL: `attmissingval`.
   */
  readonly missing?: Uint8Array;
}

/** A column of a {@link TupleDescriptor}. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly isDropped: boolean;
  readonly missing: Uint8Array | undefined;
}

/**
 * The place that a dropped column keeps, from pg_attribute's attlen and attalign.
 * `attnum` (1-based) only makes the name that PostgreSQL gives it.
 */
export function droppedColumn(attnum: number, attlen: number, attalign: AttAlign): ColumnDefinition {
  return {
    name: `........pg.dropped.${attnum}........`,
    type: opaque(attlen, attalign).nullable() as ColumnType,
    isDropped: true,
  };
}

/** The columns of a table. Immutable. PostgreSQL: TupleDesc. */
export class TupleDescriptor {
  readonly columns: readonly Column[];
  /** Width of each attribute in bytes, -1 for a varlena. */
  readonly attlens: Int16Array;
  /** Alignment of each attribute in bytes. */
  readonly alignments: Uint8Array;
  readonly #indexes: ReadonlyMap<string, number>;

  private constructor(columns: readonly Column[]) {
    this.columns = Object.freeze(columns);
    this.attlens = Int16Array.from(columns, (c) => c.type.attlen);
    this.alignments = Uint8Array.from(columns, (c) => ALIGN_BYTES[c.type.attalign]);
    this.#indexes = new Map(columns.flatMap((c, i) => (c.isDropped ? [] : [[c.name, i] as const])));
    Object.freeze(this);
  }

  /**
   * Describes columns given in attribute order.
   * @throws RangeError for more than 1600 columns, or a missing value of another width than its column; TypeError for two
   *   columns of one name.
   */
  static of(columns: readonly ColumnDefinition[]): TupleDescriptor {
    if (columns.length > MAX_HEAP_ATTRIBUTES)
      throw new RangeError(`a table can have at most ${MAX_HEAP_ATTRIBUTES} columns, not ${columns.length}`);
    const seen = new Set<string>();
    const made = columns.map(({ name, type, isDropped = false, missing }) => {
      if (!isDropped && seen.has(name)) throw new TypeError(`column "${name}" is there twice`);
      if (!isDropped) seen.add(name);
      if (missing !== undefined && type.attlen >= 0 && missing.length !== type.attlen)
        throw new RangeError(`column "${name}" has ${type.attlen} bytes, its missing value ${missing.length}`);
      return Object.freeze({ name, type, isDropped, missing: isDropped ? undefined : missing });
    });
    return new TupleDescriptor(made);
  }

  /**
   * The 0-based index of a column.
   * @throws TypeError when there is none of this name; names the nearest.
   */
  indexOf(name: string): number {
    const index = this.#indexes.get(name);
    if (index !== undefined) return index;
    const nearest = nearestName(name, [...this.#indexes.keys()]);
    throw new TypeError(`there is no column "${name}"${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`);
  }

  /** The indexes of all columns that are not dropped. */
  liveColumns(): number[] {
    return this.columns.flatMap((c, i) => (c.isDropped ? [] : [i]));
  }
}
