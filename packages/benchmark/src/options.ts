// A benchmark declares its options as data; a command builds its flags, its help and its checks from them.
import { checkOptions, nearestName } from '@blockwright/base';

interface OptionBase<Type extends string, Value> {
  readonly type: Type;
  /** undefined: the option has no default and may be left out. */
  readonly default: Value | undefined;
  /** One line, beginning in lower case, without a full stop. */
  readonly help: string;
  /** What stands for the value in the help, such as `DIR`. */
  readonly placeholder?: string;
}

export interface NumberOption extends OptionBase<'number', number> {
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
}
export interface StringOption extends OptionBase<'string', string> {
  readonly choices?: readonly string[];
  /** On a command line a word of its own, not a flag's value: `bench NAME WORD`. Several stand in declared order. */
  readonly positional?: boolean;
}
export interface BooleanOption extends OptionBase<'boolean', boolean> {}
/** Several texts, with commas between them on a command line. */
export interface ListOption extends OptionBase<'list', readonly string[]> {
  readonly choices?: readonly string[];
}
export type BenchmarkOption = NumberOption | StringOption | BooleanOption | ListOption;

export type OptionValue = number | string | boolean | readonly string[] | undefined;
export type OptionValues = Readonly<Record<string, OptionValue>>;

type ValueOf<O extends BenchmarkOption> = O extends { type: 'number' }
  ? number
  : O extends { type: 'string' }
    ? string
    : O extends { type: 'boolean' }
      ? boolean
      : readonly string[];

/** The values that options declared as `Specs` have once they are resolved. */
export type ResolvedOptions<Specs extends Readonly<Record<string, BenchmarkOption>>> = {
  readonly [Name in keyof Specs]: undefined extends Specs[Name]['default']
    ? ValueOf<Specs[Name]> | undefined
    : ValueOf<Specs[Name]>;
};

/** The flag of an option: `blockSizes` becomes `--block-sizes`. */
export function optionFlag(name: string): string {
  return `--${optionWord(name)}`;
}

/** The name of an option in the help where it has no flag: `blockSizes` becomes `block-sizes`. */
export function optionWord(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Whether an option is a word of its own on a command line. */
export function isPositional(spec: BenchmarkOption): spec is StringOption {
  return spec.type === 'string' && spec.positional === true;
}

/**
 * Checks given values against the declared options and fills in the defaults. Text is accepted for numbers, booleans
 * (`true`, `false`) and lists (commas between), as it comes from a command line.
 * @throws TypeError for an unknown option, naming the one that was probably meant; RangeError for a value that the
 *   option does not take.
 */
export function resolveOptions<const Specs extends Readonly<Record<string, BenchmarkOption>>>(
  benchmark: string,
  specs: Specs,
  given: OptionValues,
): ResolvedOptions<Specs> {
  checkOptions(`benchmark ${benchmark}`, given, Object.keys(specs));
  const resolved: Record<string, OptionValue> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const value = given[name];
    const called = isPositional(spec) ? optionWord(name) : optionFlag(name);
    resolved[name] = value === undefined ? spec.default : checked(`${benchmark}'s ${called}`, spec, value);
  }
  return resolved as ResolvedOptions<Specs>;
}

function checked(what: string, spec: BenchmarkOption, value: Exclude<OptionValue, undefined>): OptionValue {
  switch (spec.type) {
    case 'number':
      return checkedNumber(what, spec, value);
    case 'boolean':
      if (typeof value === 'boolean') return value;
      if (value === 'true' || value === 'false') return value === 'true';
      throw new RangeError(`${what} is true or false, not "${String(value)}"`);
    case 'string':
      if (typeof value !== 'string') throw new RangeError(`${what} takes text, not "${String(value)}"`);
      return checkedChoice(what, spec.choices, value);
    case 'list': {
      const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value;
      if (!Array.isArray(items)) throw new RangeError(`${what} takes a list, not "${String(value)}"`);
      if (items.length === 0) throw new RangeError(`${what} takes at least one item`);
      return items.map((item: unknown) => checkedChoice(what, spec.choices, String(item)));
    }
  }
}

function checkedNumber(what: string, spec: NumberOption, value: OptionValue): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  const { min = -Infinity, max = Infinity, integer = false } = spec;
  if (typeof number !== 'number' || !(number >= min && number <= max) || (integer && !Number.isInteger(number))) {
    const range = Number.isFinite(max)
      ? ` from ${String(min)} to ${String(max)}`
      : Number.isFinite(min)
        ? ` of at least ${String(min)}`
        : '';
    throw new RangeError(`${what} is ${integer ? 'an integer' : 'a number'}${range}, not "${String(value)}"`);
  }
  return number;
}

function checkedChoice(what: string, choices: readonly string[] | undefined, value: string): string {
  if (value === '') throw new RangeError(`${what} must not be empty`);
  if (choices !== undefined && !choices.includes(value)) {
    const nearest = nearestName(value, choices);
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
    throw new RangeError(`${what} takes ${choices.join(', ')}, not "${value}"${hint}`);
  }
  return value;
}
