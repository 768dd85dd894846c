// date and timestamptz, as strings in PostgreSQL's ISO style.

import { type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { dateText, parseDate, parseTimestamptz, timestamptzText } from './datetime-text.ts';
import { appendBigint, appendWord, bigintOfWords, compareBigints, compareNumbers, int32At } from './integer.ts';

const DATE: ColumnType<string> = makeType<string>({
  name: 'date',
  oid: 1082,
  attlen: 4,
  attalign: 'i',
  toText: (value) => value,
  fromText: (text) => dateText(parseDate(text)),
  compare: (a, b) => compareNumbers(parseDate(a), parseDate(b)),
  codec: {
    vector: 'int',
    read: (u8, at) => dateText(int32At(u8, at)),
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind('date', 'a string such as 1999-12-31', value);
      appendWord(sink, parseDate(value), 4);
    },
    ofInt: dateText,
  },
});

const TIMESTAMPTZ: ColumnType<string> = makeType<string>({
  name: 'timestamptz',
  sqlName: 'timestamp with time zone',
  oid: 1184,
  attlen: 8,
  attalign: 'd',
  toText: (value) => value,
  fromText: (text) => timestamptzText(parseTimestamptz(text)),
  compare: (a, b) => compareBigints(parseTimestamptz(a), parseTimestamptz(b)),
  codec: {
    vector: 'int8',
    read: (u8, at) => timestamptzText(bigintOfWords(int32At(u8, at), int32At(u8, at + 4))),
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind('timestamptz', 'a string such as 1999-12-31 23:59:59+00', value);
      appendBigint(sink, parseTimestamptz(value));
    },
    ofWords: (low, high) => timestamptzText(bigintOfWords(low, high)),
  },
});

/** date: a day as `1999-12-31`, `0044-03-15 BC`, `infinity` or `-infinity`. */
export const date = (): ColumnType<string> => DATE;
/** timestamptz: microseconds, printed in UTC: `2000-01-01 00:00:00+00`. */
export const timestamptz = (): ColumnType<string> => TIMESTAMPTZ;
