// Values of options, read from what people type. Whatever is wrong with one is a UsageError that says what is right.

import { nearestName } from '@blockwright/base';
import { type BlockSize, parseBlockSize } from '@blockwright/geometry';
import { type Command, Option } from 'commander';
import type { Context } from './context.ts';
import { UsageError } from './failures.ts';

/** The environment variable that names the data directory. Never PGDATA: that is somebody's cluster. */
export const DATA_VARIABLE = 'BLOCKWRIGHT_DATA';

/** `-D DIR`, read by {@link dataDirectory}. */
export function dataOption(): Option {
  return new Option('-D, --directory <dir>', `the data directory (or ${DATA_VARIABLE})`);
}

/**
 * The data directory of a command: its argument, `-D`, or the environment's.
 * @throws UsageError when nothing names a directory, or two names differ.
 */
export function dataDirectory(context: Context, options: { readonly directory?: string }, argument?: string): string {
  if (argument !== undefined) {
    if (options.directory !== undefined && options.directory !== argument) {
      throw new UsageError(`two data directories were named: "${options.directory}" and "${argument}"`);
    }
    return checkPath(argument, 'the data directory');
  }
  const directory = options.directory ?? context.io.env[DATA_VARIABLE];
  if (directory === undefined) {
    throw new UsageError('no data directory was named', {
      hint: `Give it with "-D DIR", or set ${DATA_VARIABLE}.`,
    });
  }
  return checkPath(directory, options.directory === undefined ? DATA_VARIABLE : '-D');
}

/** @throws UsageError for a path that no file system can hold. */
export function checkPath(path: string, name: string): string {
  if (path === '') throw new UsageError(`${name} is empty`, { hint: 'Name a path.' });
  if (path.includes('\0')) throw new UsageError(`${name} holds a zero byte`, { hint: 'No path can.' });
  return path;
}

/** `--database NAME`, for PostgreSQL's directories. */
export function databaseOption(): Option {
  return new Option('--database <name>', "which database of a PostgreSQL's directory, where it has several");
}

/** `--unknown WHAT`, for rows whose header does not say whether they are visible. */
export function unknownOption(): Option {
  return new Option(
    '--unknown <what>',
    'rows whose fate only the commit log knows: error (the default), skip, include',
  ).argParser(choiceOf('--unknown', ['error', 'skip', 'include']));
}

/** `--json`, on every command that prints a result. */
export function jsonOption(): Option {
  return new Option('--json', 'print the result as JSON');
}

/** Reads `--block-size`. */
export function blockSizeValue(text: string): BlockSize {
  try {
    return parseBlockSize(text);
  } catch (error) {
    throw new UsageError(`invalid value for --block-size: ${(error as Error).message}`);
  }
}

/** Reads a list of block sizes, `1kB,8kB`; `all` is all six. */
export function splitList(name: string, text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.some((part) => part === '')) {
    throw new UsageError(`invalid value for ${name}: "${text}" has an empty entry`, {
      hint: 'Separate the entries with one comma each.',
    });
  }
  const twice = parts.find((part, i) => parts.indexOf(part) !== i);
  if (twice !== undefined) throw new UsageError(`invalid value for ${name}: "${twice}" is there twice`);
  return parts;
}

/** A parser of lists whose entries are among `choices`. */
export function listOf(name: string, choices: readonly string[]): (text: string) => string[] {
  return (text) => splitList(name, text).map((part) => oneOf(name, part, choices));
}

/** A parser of a value that is one of `choices`. */
export function choiceOf(name: string, choices: readonly string[]): (text: string) => string {
  return (text) => oneOf(name, text, choices);
}

function oneOf(name: string, value: string, choices: readonly string[]): string {
  if (choices.includes(value)) return value;
  const nearest = nearestName(value, choices);
  throw new UsageError(`invalid value for ${name}: "${value}" is not one of ${choices.join(', ')}`, {
    ...(nearest === undefined ? {} : { hint: `Did you mean "${nearest}"?` }),
  });
}

/** A parser of whole numbers from `low` to `high`. */
export function wholeNumber(name: string, low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= low && value <= high) return value;
    throw new UsageError(`invalid value for ${name}: "${text}" is not a whole number from ${low} to ${high}`);
  };
}

/** A parser of numbers, `0.1` or `1e-3`, above `above` and below `below`. */
export function numberBetween(name: string, above: number, below: number): (text: string) => number {
  return (text) => {
    const value = /^(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
    if (value > above && value < below) return value;
    throw new UsageError(`invalid value for ${name}: "${text}" is not a number above ${above} and below ${below}`);
  };
}

const BYTE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  m: 1048576,
  g: 1073741824,
  t: 1099511627776,
};

/** A parser of sizes in bytes: `16777216`, `16MB`, `16M`, `1 GB`. */
export function byteSize(name: string, low: number, high: number): (text: string) => number {
  return (text) => {
    const match = /^\s*(\d{1,15})\s*(?:([kmgt])(?:i?b)?|b)?\s*$/i.exec(text);
    if (match === null) {
      throw new UsageError(`invalid value for ${name}: "${text}" is not a size`, {
        hint: 'Write bytes as a number, or a number with kB, MB, GB or TB, such as "16MB".',
      });
    }
    const value = Number(match[1]) * (BYTE_UNITS[(match[2] ?? '').toLowerCase()] as number);
    if (value >= low && value <= high) return value;
    throw new UsageError(`invalid value for ${name}: "${text}" is not from ${shortSize(low)} to ${shortSize(high)}`, {
      ...(match[2] === undefined ? { hint: 'A number without a unit is in bytes.' } : {}),
    });
  };
}

/** A parser of sizes that are a power of two. */
export function powerOfTwoSize(name: string, low: number, high: number): (text: string) => number {
  const parse = byteSize(name, low, high);
  return (text) => {
    const value = parse(text);
    if (Number.isInteger(Math.log2(value))) return value;
    throw new UsageError(`invalid value for ${name}: "${text}" is not a power of two`);
  };
}

function shortSize(bytes: number): string {
  for (const [unit, size] of [
    ['TB', 1099511627776],
    ['GB', 1073741824],
    ['MB', 1048576],
    ['kB', 1024],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}

/** Shows a command's examples at the end of its help. */
export function addExamples(
  command: Command,
  examples: readonly (readonly [line: string, meaning: string])[],
): Command {
  const text = examples.map(([line, meaning]) => `  $ ${line}\n      ${meaning}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${text}`);
}
