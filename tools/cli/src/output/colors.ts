// Colours, for terminals that want them.
import pico from 'picocolors';
import type { OutputStream } from '../io.ts';

/** The few styles that the command uses. */
export interface Colors {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly green: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly blue: (text: string) => string;
  readonly magenta: (text: string) => string;
}

/** Colours when `stream` is a terminal, `NO_COLOR` is not set and the terminal is not dumb; else plain text. */
export function colorsFor(stream: OutputStream, env: Readonly<Record<string, string | undefined>>): Colors {
  return pico.createColors(wantsColors(stream, env));
}

/** Whether `stream` is to be coloured. `NO_COLOR` (when not empty) forbids it: https://no-color.org */
export function wantsColors(stream: OutputStream, env: Readonly<Record<string, string | undefined>>): boolean {
  return stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}
