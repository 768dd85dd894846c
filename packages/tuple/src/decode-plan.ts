// What generated code is made from: numbers alone. No name, no text of a user's is in a plan, so none can reach code.

import type { TupleLayout } from './attributes.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { isOneCharacter, type VectorOptions } from './vectors.ts';

/** How a wanted attribute is stored: codes, one a way that code is generated for. */
export const PUT_INT4 = 0;
export const PUT_INT2 = 1;
export const PUT_BYTE = 2;
export const PUT_INT8 = 3;
export const PUT_FLOAT4 = 4;
export const PUT_FLOAT8 = 5;
export const PUT_SCALED = 6;
export const PUT_TEXT = 7;
export const PUT_BYTES = 8;
export const PUT_CHAR = 9;

/** A wanted attribute's place among the vectors, and how it is stored. */
export interface PlannedSlot {
  readonly vector: number;
  readonly put: number;
  readonly scale: number;
}

export interface PlannedAttribute {
  readonly attlen: number;
  readonly alignment: number;
  readonly slots: readonly PlannedSlot[];
}

/** The attributes up to the last wanted one. */
export interface DecodePlan {
  readonly attributes: readonly PlannedAttribute[];
  readonly layout: TupleLayout;
  /** Number of the table's attributes. */
  readonly tableAttributes: number;
  /** Number of vectors. */
  readonly vectors: number;
}

/** More attributes than this are not generated for: the code would be too long for the compiler to be quick. */
export const PLANNED_ATTRIBUTES_MAX = 256;

/** Plans the decoding of `columns`; `undefined` when it has to be interpreted. */
export function planDecoding(
  descriptor: TupleDescriptor,
  columns: readonly number[],
  options: VectorOptions & { readonly layout?: TupleLayout },
): DecodePlan | undefined {
  const last = columns.length === 0 ? -1 : Math.max(...columns);
  if (last < 0 || last >= PLANNED_ATTRIBUTES_MAX) return undefined;
  if (columns.some((i) => descriptor.columns[i].isDropped)) return undefined;
  // A cstring, which only indexes have, is rare.
  if (descriptor.attlens.subarray(0, last + 1).includes(-2)) return undefined;
  const attributes: PlannedAttribute[] = [];
  for (let i = 0; i <= last; i++) {
    const slots: PlannedSlot[] = [];
    columns.forEach((column, vector) => {
      if (column !== i) return;
      const { type } = descriptor.columns[i];
      const put = options.charCodes === true && isOneCharacter(type) ? PUT_CHAR : putOf(type.codec.vector, type.attlen);
      slots.push({ vector, put, scale: type.codec.scale });
    });
    attributes.push({ attlen: descriptor.attlens[i], alignment: descriptor.alignments[i], slots });
  }
  return {
    attributes,
    layout: options.layout ?? 'heap',
    tableAttributes: descriptor.columns.length,
    vectors: columns.length,
  };
}

function putOf(vector: string, attlen: number): number {
  switch (vector) {
    case 'int':
      return attlen === 4 ? PUT_INT4 : attlen === 2 ? PUT_INT2 : PUT_BYTE;
    case 'int8':
      return PUT_INT8;
    case 'float':
      return attlen === 4 ? PUT_FLOAT4 : PUT_FLOAT8;
    case 'scaled':
      return PUT_SCALED;
    case 'text':
      return PUT_TEXT;
    default:
      return PUT_BYTES;
  }
}

/** A key that is equal for plans that generate the same code. */
export function planKey(plan: DecodePlan): string {
  const attributes = plan.attributes.map(
    (a) => `${a.attlen},${a.alignment}${a.slots.map((s) => `:${s.vector},${s.put},${s.scale}`).join('')}`,
  );
  return `${plan.layout};${plan.tableAttributes};${plan.vectors};${attributes.join(';')}`;
}
