// What a column's type is to everyone: its name and place in PostgreSQL's catalogs, its text, its order; and, for the
// encoders and decoders of this package, its codec.

import type { ByteSink } from './byte-sink.ts';

/** Alignment of an attribute: 1, 2, 4 or 8 bytes. PostgreSQL: pg_type.typalign. */
export type AttAlign = 'c' | 's' | 'i' | 'd';

/** How a column of the type lies in a batch: see vectors.ts. */
export type VectorKind = 'int' | 'float' | 'int8' | 'scaled' | 'text' | 'bytes' | 'char';

/** Bytes to value and back; what lies after a varlena header, or the whole of a fixed-width attribute. */
export interface Codec<V> {
  readonly vector: Exclude<VectorKind, 'char'>;
  /** Of a `scaled` vector: its integers are the value times 10^scale. */
  readonly scale: number;
  /** Limit in characters of char(n) and varchar(n), else 0. */
  readonly characters: number;
  /** Whether shorter values are filled up with blanks to `characters`. */
  readonly padded: boolean;
  /** @throws StorageError when the bytes are no value of the type. */
  read(u8: Uint8Array, at: number, length: number): V;
  /** Appends the bytes. @throws StorageError when the value does not fit, TypeError when it is of another kind. */
  append(sink: ByteSink, value: unknown): void;
  /** The value of an `int` vector's entry. */
  ofInt(word: number): V;
  /** The value of an `int8` vector's entry. */
  ofWords(low: number, high: number): V;
}

/** A column's SQL type. Immutable; NOT NULL unless made {@link ColumnType.nullable}. */
export interface ColumnType<V = unknown> {
  /** PostgreSQL's name of the type without its modifier, such as `numeric`, `int8`, `char`. */
  readonly name: string;
  /** The name with its modifier, as SQL writes it: `numeric(15,2)`. */
  readonly sqlName: string;
  /** pg_type.oid */
  readonly oid: number;
  /** pg_attribute.atttypmod: the modifier as PostgreSQL codes it, -1 for none. */
  readonly typmod: number;
  /** Width in bytes, or -1 for a varlena. */
  readonly attlen: number;
  readonly attalign: AttAlign;
  readonly isNullable: boolean;
  /** The same type with nulls allowed. */
  nullable(): ColumnType<V | null>;
  /** The value's text, as PostgreSQL prints it. @throws TypeError for null. */
  toText(value: V): string;
  /**
   * The value that a text spells, fitted to the type.
   * @throws StorageError 22P02, 22007, 22008 (bad text), 22003 (out of range), 22001 (too long), 22021 (no UTF-8).
   */
  fromText(text: string): V;
  /** PostgreSQL's order (C collation): negative, 0 or positive. Nulls come last and equal each other. */
  compare(a: V, b: V): number;
  /** For the encoders and decoders of this package. */
  readonly codec: Codec<V>;
}

/** What a type is made from. */
export interface TypeSpec<V> {
  readonly name: string;
  readonly sqlName?: string;
  readonly oid: number;
  readonly typmod?: number;
  readonly attlen: number;
  readonly attalign: AttAlign;
  readonly toText: (value: V) => string;
  readonly fromText: (text: string) => V;
  readonly compare: (a: V, b: V) => number;
  readonly codec: Pick<Codec<V>, 'vector' | 'read' | 'append'> & Partial<Codec<V>>;
}

class SpecifiedType<V> implements ColumnType<V> {
  readonly name: string;
  readonly sqlName: string;
  readonly oid: number;
  readonly typmod: number;
  readonly attlen: number;
  readonly attalign: AttAlign;
  readonly isNullable: boolean;
  readonly codec: Codec<V>;
  readonly #spec: TypeSpec<V>;

  constructor(spec: TypeSpec<V>, isNullable: boolean) {
    this.name = spec.name;
    this.sqlName = spec.sqlName ?? spec.name;
    this.oid = spec.oid;
    this.typmod = spec.typmod ?? -1;
    this.attlen = spec.attlen;
    this.attalign = spec.attalign;
    this.isNullable = isNullable;
    this.codec = {
      scale: 0,
      characters: 0,
      padded: false,
      ofInt: () => mismatch(spec.name),
      ofWords: () => mismatch(spec.name),
      ...spec.codec,
    };
    this.#spec = spec;
    Object.freeze(this);
  }

  nullable(): ColumnType<V | null> {
    return new SpecifiedType<V>(this.#spec, true) as unknown as ColumnType<V | null>;
  }

  toText(value: V): string {
    if (value === null || value === undefined) throw new TypeError(`a null of type ${this.sqlName} has no text`);
    return this.#spec.toText(value);
  }

  fromText(text: string): V {
    if (typeof text !== 'string') throw wrongKind(this.sqlName, 'a string', text);
    return this.#spec.fromText(text);
  }

  compare(a: V, b: V): number {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return this.#spec.compare(a, b);
  }
}

export function makeType<V>(spec: TypeSpec<V>): ColumnType<V> {
  return new SpecifiedType(spec, false);
}

function mismatch(name: string): never {
  throw new TypeError(`the vector is not one that holds ${name}`);
}

/** The TypeError for a value of the wrong JavaScript kind. */
export function wrongKind(type: string, wanted: string, value: unknown): TypeError {
  const got = value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
  return new TypeError(`a value of type ${type} is ${wanted}, not ${got}`);
}

export const ALIGN_BYTES: Readonly<Record<AttAlign, number>> = { c: 1, s: 2, i: 4, d: 8 };
