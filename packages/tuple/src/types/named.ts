// A type from plain data, as schemas that know nothing of this package write it.
import type { ColumnType } from '../column-type.ts';
import { char, varchar } from './character.ts';
import { date } from './datetime.ts';
import { int4, int8 } from './integer.ts';
import { numeric } from './numeric.ts';

/** A column's type in words and numbers. */
export type TypeInWords =
  | { readonly type: 'int4' | 'int8' | 'date' }
  | { readonly type: 'numeric'; readonly precision: number; readonly scale: number }
  | { readonly type: 'char' | 'varchar'; readonly length: number };

/** The type that `spec` names, NOT NULL. @throws RangeError for a length or precision that does not exist. */
export function typeInWords(spec: TypeInWords): ColumnType {
  switch (spec.type) {
    case 'int4':
      return int4() as ColumnType;
    case 'int8':
      return int8() as ColumnType;
    case 'date':
      return date() as ColumnType;
    case 'numeric':
      return numeric(spec.precision, spec.scale) as ColumnType;
    case 'char':
      return char(spec.length) as ColumnType;
    case 'varchar':
      return varchar(spec.length) as ColumnType;
  }
}
