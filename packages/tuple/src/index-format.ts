// How the tuples of one index lie and compare. PostgreSQL: nbtree's scan keys over indextuple.c, datum_image_eq.

import { checkOptions } from '@blockwright/base';
import { AttributeData } from './attributes.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { INDEX_NULL_MASK, INDEX_VAR_MASK } from './index-header.ts';
import { indexColumns, isEqualImage, type KeyOrder, type PlannedKey, planImages, planKeys } from './index-keys.ts';
import { varlenaData } from './key-bytes.ts';
import { generateKeys } from './key-codegen.ts';
import { attributeAfter, type CompareKeys, dataOffset, interpretKeys, presentBits } from './key-interpreter.ts';
import { isPrefixWhole, keyPrefix } from './key-prefix.ts';
import type { TupleMemory } from './memory.ts';
import { quoteIdentifier } from './quote-identifier.ts';

export interface IndexTupleFormatOptions {
  /** `false`: interpret, generate no code. Generated if not given, interpreted where the host refuses that. */
  readonly generateCode?: boolean;
}

/**
 * How an index's tuples lie and compare. Immutable; made once an index. All functions over bytes trust that a tuple of
 * the index lies at the position, a multiple of 8: they throw or answer wrongly for other bytes, but read nothing outside
 * the memory.
 */
export class IndexTupleFormat {
  /** The columns as the index stores them: a key of type `name` is a `cstring`. Decoders of index tuples take it. */
  readonly descriptor: TupleDescriptor;
  readonly keys: readonly KeyOrder[];
  readonly keyCount: number;
  readonly columnCount: number;
  /**
   * Whether equal keys always have equal bytes, so that duplicates can share a posting list: not numeric, float4, float8,
   * and no INCLUDE columns. PostgreSQL: `_bt_allequalimage`.
   */
  readonly allEqualImage: boolean;
  /** Whether equal prefixes mean that the first attributes are equal: see {@link IndexTupleFormat.prefix}. */
  readonly prefixIsWhole: boolean;
  /**
   * Order of the first `natts` key attributes of two tuples, in index order (descending, nulls first or last): negative,
   * 0 or positive. Both tuples have them. The number is the 1-based one of the first attribute that differs, signed.
   */
  readonly compare: CompareKeys;
  /** The 1-based number of the first key attribute that is not equal; natts + 1 if all are. PostgreSQL: `_bt_keep_natts`. */
  readonly firstDifferent: CompareKeys;
  /** The same by stored bytes, decompressed. PostgreSQL: `_bt_keep_natts_fast`, `datum_image_eq`. */
  readonly firstDifferentImage: CompareKeys;
  /** Whether code was generated for this format; the same comes out without. */
  readonly isGenerated: boolean;
  readonly #plan: readonly PlannedKey[];

  private constructor(descriptor: TupleDescriptor, keys: readonly KeyOrder[], generateCode: boolean) {
    this.descriptor = descriptor;
    this.keys = keys;
    this.keyCount = keys.length;
    this.columnCount = descriptor.columns.length;
    const plan = planKeys(descriptor, keys);
    this.#plan = plan;
    this.allEqualImage = keys.length === descriptor.columns.length && plan.every(isEqualImage);
    this.prefixIsWhole = isPrefixWhole(descriptor.columns[0].type, plan[0]);
    const generated = generateCode ? generateKeys(plan) : undefined;
    const images = planImages(plan);
    this.isGenerated = generated !== undefined;
    this.compare = generated ?? interpretKeys(plan);
    this.firstDifferent = different(this.compare);
    this.firstDifferentImage = different((generateCode ? generateKeys(images) : undefined) ?? interpretKeys(images));
    Object.freeze(this);
  }

  /**
   * The format of an index with these columns, the key columns first; one order a key column, the rest is INCLUDE.
   * @throws StorageError 42704 for a key of a type without an order (xid, opaque), 54000 for more than 32 columns;
   *   RangeError for another number of orders than 1 to the number of columns, or a dropped column.
   */
  static of(
    descriptor: TupleDescriptor,
    keys: readonly KeyOrder[],
    options: IndexTupleFormatOptions = {},
  ): IndexTupleFormat {
    checkOptions('IndexTupleFormat', options, ['generateCode']);
    const copies = keys.map(({ descending, nullsFirst }) => Object.freeze({ descending, nullsFirst }));
    return new IndexTupleFormat(
      indexColumns(descriptor, keys.length),
      Object.freeze(copies),
      options.generateCode !== false,
    );
  }

  /** Whether one of the first `natts` attributes is null. */
  hasNull(m: TupleMemory, pos: number, natts: number): boolean {
    const bits = presentBits(m, pos);
    return natts >= 32 ? bits !== -1 : (~bits & ((1 << natts) - 1)) !== 0;
  }

  /**
   * Bytes from `pos` to the end of the data of the first `natts` attributes, not aligned. A tuple cut there is the
   * truncated one, with {@link IndexTupleFormat.attributeMask} and, if that has no nulls where `pos` has, without the
   * bitmap's 8 bytes. PostgreSQL: `index_truncate_tuple`.
   */
  attributeEnd(m: TupleMemory, pos: number, natts: number): number {
    const { attlens, alignments } = this.descriptor;
    const bits = presentBits(m, pos);
    let at = pos + dataOffset(m, pos);
    for (let i = 0; i < natts; i++) {
      if (((bits >>> i) & 1) === 0) continue;
      const attlen = attlens[i];
      if (attlen > 0) at = (at + alignments[i] - 1) & -alignments[i];
      at = attributeAfter(attlen, m.u8, at);
    }
    return at - pos;
  }

  /** INDEX_NULL_MASK and INDEX_VAR_MASK as a tuple of the first `natts` attributes alone has them in t_info. */
  attributeMask(m: TupleMemory, pos: number, natts: number): number {
    const { attlens } = this.descriptor;
    const bits = presentBits(m, pos);
    let mask = 0;
    for (let i = 0; i < natts; i++)
      if (((bits >>> i) & 1) === 0) mask |= INDEX_NULL_MASK;
      else if (attlens[i] < 0) mask |= INDEX_VAR_MASK;
    return mask;
  }

  /**
   * The first key attribute as a finite double that sorts as the index does, nulls included: of two tuples, the one with
   * the lesser prefix comes first; equal prefixes decide nothing unless {@link IndexTupleFormat.prefixIsWhole}.
   */
  prefix(m: TupleMemory, pos: number): number {
    return keyPrefix(this.descriptor.columns[0].type, this.#plan[0], m, pos);
  }

  /** `(a, b)=(1, x)`: the first `natts` columns and their values. PostgreSQL: `BuildIndexValueDescription`. */
  toText(m: TupleMemory, pos: number, natts: number): string {
    const { columns, attlens, alignments } = this.descriptor;
    const bits = presentBits(m, pos);
    const data = new AttributeData();
    const values: string[] = [];
    let at = pos + dataOffset(m, pos);
    for (let i = 0; i < natts; i++) {
      if (((bits >>> i) & 1) === 0) {
        values.push('null');
        continue;
      }
      const { type } = columns[i];
      const attlen = attlens[i];
      if (attlen > 0) at = (at + alignments[i] - 1) & -alignments[i];
      const end = attributeAfter(attlen, m.u8, at);
      if (attlen === -1) varlenaData(m.u8, at, data);
      else {
        data.u8 = m.u8;
        data.at = at;
        data.size = attlen > 0 ? attlen : end - 1 - at;
      }
      values.push(type.toText(type.codec.read(data.u8, data.at, data.size)));
      at = end;
    }
    const names = columns.slice(0, natts).map(({ name }) => quoteIdentifier(name));
    return `(${names.join(', ')})=(${values.join(', ')})`;
  }
}

/** The number of the first attribute that differs, from a comparison. */
function different(compare: CompareKeys): CompareKeys {
  return (am, aPos, bm, bPos, natts) => {
    const order = compare(am, aPos, bm, bPos, natts);
    return order === 0 ? natts + 1 : order < 0 ? 0 - order : order;
  };
}
