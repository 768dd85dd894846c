// date and timestamptz as text, ISO style in UTC: days and microseconds since 2000-01-01, proleptic Gregorian calendar.

import { StorageError } from '@blockwright/base';

const DATE_INFINITY = 0x7fffffff;
const DATE_MINUS_INFINITY = -0x80000000;
const TIMESTAMP_INFINITY = 0x7fff_ffff_ffff_ffffn;
const TIMESTAMP_MINUS_INFINITY = -0x8000_0000_0000_0000n;

/** 4714-11-24 BC, the first day of the Julian calendar's count, in days from 2000-01-01. */
export const DATE_MIN = -2451545;
/** 5874897-12-31. */
export const DATE_MAX = 2145031948;
const TIMESTAMP_MIN = -211813488000000000n;
const TIMESTAMP_END = 9223371331200000000n; // 294277-01-01, the first instant that is too late

const MICROS_PER_DAY = 86_400_000_000n;
/** Days from 0000-03-01 to 2000-01-01. */
const ERA_OFFSET = 730425;

/** Days from 2000-01-01 to a day of the proleptic Gregorian calendar; year 0 is 1 BC. */
function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146097 + dayOfEra - ERA_OFFSET;
}

/** Year (0 is 1 BC), month and day of a number of days from 2000-01-01. */
function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + ERA_OFFSET;
  const era = Math.floor(shifted / 146097);
  const dayOfEra = shifted - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

const pad2 = (n: number): string => (n < 10 ? `0${n}` : String(n));

function civilText(days: number): { text: string; era: string } {
  const { year, month, day } = civilFromDays(days);
  const shown = year > 0 ? year : 1 - year;
  return { text: `${String(shown).padStart(4, '0')}-${pad2(month)}-${pad2(day)}`, era: year > 0 ? '' : ' BC' };
}

const CACHED_DATES = 4096;
const cachedDays: Int32Array = new Int32Array(CACHED_DATES).fill(DATE_INFINITY);
const cachedTexts: string[] = new Array(CACHED_DATES).fill('infinity');

/** A date's text. PostgreSQL: `date_out`. Tables repeat their dates: the last text made is kept for each of 4096 places. */
export function dateText(days: number): string {
  const slot = days & (CACHED_DATES - 1);
  if (cachedDays[slot] === days) return cachedTexts[slot];
  const text = makeDateText(days);
  cachedDays[slot] = days;
  cachedTexts[slot] = text;
  return text;
}

function makeDateText(days: number): string {
  if (days === DATE_INFINITY) return 'infinity';
  if (days === DATE_MINUS_INFINITY) return '-infinity';
  const { text, era } = civilText(days);
  return text + era;
}

/** A timestamptz's text, zone +00. PostgreSQL: `timestamptz_out` with TimeZone UTC. */
export function timestamptzText(micros: bigint): string {
  if (micros === TIMESTAMP_INFINITY) return 'infinity';
  if (micros === TIMESTAMP_MINUS_INFINITY) return '-infinity';
  let days = micros / MICROS_PER_DAY;
  let rest = micros % MICROS_PER_DAY;
  if (rest < 0n) {
    rest += MICROS_PER_DAY;
    days -= 1n;
  }
  const { text, era } = civilText(Number(days));
  const ofDay = Number(rest);
  const seconds = Math.floor(ofDay / 1e6);
  const fraction = ofDay % 1e6;
  const time = `${pad2(Math.floor(seconds / 3600))}:${pad2(Math.floor(seconds / 60) % 60)}:${pad2(seconds % 60)}`;
  const shown = fraction === 0 ? '' : `.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`;
  return `${text} ${time}${shown}+00${era}`;
}

const DATE_FORM = /^(?:(\d{4,7})-(\d{1,2})-(\d{1,2})|(\d{4,7})(\d{2})(\d{2}))(?: +(AD|BC))?$/i;
const TIMESTAMP_FORM =
  /^(\d{4,7})-(\d{1,2})-(\d{1,2})(?:[T ] *(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d*))?)?)?(?: *(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?))?(?: +(AD|BC))?$/i;

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function fieldOutOfRange(text: string): StorageError {
  return new StorageError('22008', `date/time field value out of range: "${text}"`);
}

function civilDays(text: string, year: string, month: string, day: string, era: string | undefined): number {
  const shown = Number(year);
  const y = era?.toUpperCase() === 'BC' ? 1 - shown : shown;
  const m = Number(month);
  const d = Number(day);
  const leap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
  if (shown === 0 || m < 1 || m > 12 || d < 1 || d > (m === 2 && leap ? 29 : MONTH_DAYS[m - 1]))
    throw fieldOutOfRange(text);
  return daysFromCivil(y, m, d);
}

/** The days of a text such as 1999-12-31 with a day up to the 28th; DATE_MINUS_INFINITY for what needs a closer look. */
function plainDate(text: string): number {
  if (text.length !== 10 || text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d) return DATE_MINUS_INFINITY;
  let number = 0;
  for (let i = 0; i < 10; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit >= 0 && digit <= 9) number = number * 10 + digit;
    else if (i !== 4 && i !== 7) return DATE_MINUS_INFINITY;
  }
  const year = Math.floor(number / 10000);
  const month = Math.floor(number / 100) % 100;
  const day = number % 100;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > 28) return DATE_MINUS_INFINITY;
  return daysFromCivil(year, month, day);
}

/**
 * Days from 2000-01-01 of a date's text: `1999-12-31`, `0044-03-15 BC`, `19991231`, `infinity`, `epoch`.
 * @throws StorageError 22007 for another form, 22008 for a day that does not exist or is out of range.
 */
export function parseDate(text: string): number {
  const plain = plainDate(text);
  if (plain !== DATE_MINUS_INFINITY) return plain;
  const trimmed = text.trim();
  switch (trimmed.toLowerCase()) {
    case 'infinity':
    case '+infinity':
      return DATE_INFINITY;
    case '-infinity':
      return DATE_MINUS_INFINITY;
    case 'epoch':
      return -10957;
  }
  const match = DATE_FORM.exec(trimmed);
  if (match === null) throw new StorageError('22007', `invalid input syntax for type date: "${text}"`);
  const [, year, month, day, year8, month8, day8, era] = match;
  const days = civilDays(text, year ?? year8, month ?? month8, day ?? day8, era);
  if (days < DATE_MIN || days > DATE_MAX) throw new StorageError('22008', `date out of range: "${text}"`);
  return days;
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

function zoneSeconds(zone: string | undefined, text: string): number {
  if (zone === undefined || /^[a-z]/i.test(zone)) return 0;
  const digits = zone.slice(1).replaceAll(':', '');
  const even = digits.length % 2 === 1 ? `0${digits}` : digits;
  const hours = Number(even.slice(0, 2));
  const minutes = Number(even.slice(2, 4) || 0);
  const seconds = Number(even.slice(4, 6) || 0);
  if (hours > 15 || minutes > 59 || seconds > 59)
    throw new StorageError('22008', `time zone displacement out of range: "${text}"`);
  return (zone[0] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}

/**
 * Microseconds from 2000-01-01 00:00:00+00 of a timestamptz's text; without a zone it is taken as UTC.
 * @throws StorageError 22007 for another form, 22008 for a time that does not exist or is out of range.
 */
export function parseTimestamptz(text: string): bigint {
  const trimmed = text.trim();
  switch (trimmed.toLowerCase()) {
    case 'infinity':
    case '+infinity':
      return TIMESTAMP_INFINITY;
    case '-infinity':
      return TIMESTAMP_MINUS_INFINITY;
    case 'epoch':
      return -10957n * MICROS_PER_DAY;
  }
  const match = TIMESTAMP_FORM.exec(trimmed);
  if (match === null)
    throw new StorageError('22007', `invalid input syntax for type timestamp with time zone: "${text}"`);
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone, era] = match;
  const days = civilDays(text, year, month, day, era);
  const [h, m, s] = [Number(hour), Number(minute), Number(second)];
  const micros = roundHalfEven(Number(`0.${fraction}0`) * 1e6);
  if (h > 24 || m > 59 || s > 60 || (h === 24 && (m > 0 || s > 0 || micros > 0)) || (s === 60 && micros > 0))
    throw fieldOutOfRange(text);
  const seconds = h * 3600 + m * 60 + s - zoneSeconds(zone, text);
  const total = BigInt(days) * MICROS_PER_DAY + BigInt(seconds) * 1_000_000n + BigInt(micros);
  if (total < TIMESTAMP_MIN || total >= TIMESTAMP_END)
    throw new StorageError('22008', `timestamp out of range: "${text}"`);
  return total;
}
