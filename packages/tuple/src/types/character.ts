// char(n), varchar(n), text: UTF-8 strings; lengths count characters.

import { StorageError } from '@blockwright/base';
import { ByteSink } from '../byte-sink.ts';
import { type Codec, type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { characterCount, compareUtf8, utf8Append, utf8Decode } from '../utf8.ts';

const LENGTH_MAX = 10_485_760;

function checkLength(name: string, length: number): void {
  if (!Number.isInteger(length) || length < 1 || length > LENGTH_MAX)
    throw new RangeError(`length ${length} for type ${name} must be between 1 and ${LENGTH_MAX}`);
}

/**
 * Cuts blanks beyond the limit; anything else there is an error.
 * PostgreSQL: `bpchar`, `varchar` (the casts that an assignment makes).
 */
function fit(text: string, limit: number, type: string): string {
  if (limit === 0 || text.length <= limit) return text;
  let units = 0;
  for (let characters = 0; characters < limit && units < text.length; characters++)
    units += (text.codePointAt(units) as number) > 0xffff ? 2 : 1;
  if (units === text.length) return text;
  if (!/^ *$/.test(text.slice(units))) throw new StorageError('22001', `value too long for type ${type}(${limit})`);
  return text.slice(0, units);
}

function pad(text: string, limit: number): string {
  const missing = limit - characterCount(text);
  return missing > 0 ? text + ' '.repeat(missing) : text;
}

const withoutBlanks = (text: string): string => {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0x20) end--;
  return end === text.length ? text : text.slice(0, end);
};

/** Refuses what UTF-8 cannot hold, so that a value taken from text can be stored. */
function storable(text: string): string {
  // In Unicode mode only a lone surrogate is one.
  if (/[\0\p{Surrogate}]/u.test(text)) utf8Append(new ByteSink(), text);
  return text;
}

function stringType(spec: {
  name: string;
  shown: string;
  oid: number;
  limit: number;
  padded: boolean;
  compare: (a: string, b: string) => number;
}): ColumnType<string> {
  const { name, shown, oid, limit, padded, compare } = spec;
  const fitted = (text: string): string => (padded ? pad(fit(text, limit, shown), limit) : fit(text, limit, shown));
  const codec: Pick<Codec<string>, 'vector' | 'read' | 'append' | 'characters' | 'padded'> = {
    vector: 'bytes',
    characters: limit,
    padded,
    read: utf8Decode,
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind(name, 'a string', value);
      utf8Append(sink, fitted(value));
    },
  };
  return makeType<string>({
    name,
    sqlName: limit === 0 ? shown : `${shown}(${limit})`,
    oid,
    typmod: limit === 0 ? -1 : limit + 4,
    attlen: -1,
    attalign: 'i',
    toText: (value) => value,
    fromText: (text) => fitted(storable(text)),
    compare,
    codec,
  });
}

const TEXT: ColumnType<string> = stringType({
  name: 'text',
  shown: 'text',
  oid: 25,
  limit: 0,
  padded: false,
  compare: compareUtf8,
});

/** text: a string of any length. */
export const text = (): ColumnType<string> => TEXT;

/**
 * varchar(n): a string of at most n characters, or of any length.
 * @throws RangeError when n is out of range.
 */
export function varchar(length?: number): ColumnType<string> {
  if (length !== undefined) checkLength('varchar', length);
  return stringType({
    name: 'varchar',
    shown: 'character varying',
    oid: 1043,
    limit: length ?? 0,
    padded: false,
    compare: compareUtf8,
  });
}

/**
 * char(n): exactly n characters, filled up with blanks, which do not count when compared.
 * @throws RangeError when n is out of range.
 */
export function char(length = 1): ColumnType<string> {
  checkLength('char', length);
  return blankPadded(length);
}

/** char(n), and for catalogs bpchar without a length (0). */
export function blankPadded(limit: number): ColumnType<string> {
  return stringType({
    name: 'char',
    shown: limit === 0 ? 'bpchar' : 'character',
    oid: 1042,
    limit,
    padded: limit > 0,
    compare: (a, b) => compareUtf8(withoutBlanks(a), withoutBlanks(b)),
  });
}
