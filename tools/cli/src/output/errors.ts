// How a failure is told: `blockwright: error: …` with `detail:` and `hint:` lines, and the exit status that goes with it.
import { isStorageError } from '@blockwright/base';
import { ClosedPipe, CommandFailure, type Explanation, Interrupted, UsageError } from '../failures.ts';

/** What the command's exit status means. */
export const ExitStatus = {
  /** Ran to its end; nothing wrong was found. */
  done: 0,
  /** Failed: the message says why. */
  failed: 1,
  /** The command line was wrong: nothing was done. */
  usage: 2,
  /** Found damage: ran to its end, or until nobody read its output any more. */
  damaged: 3,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
} as const;
export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

/** A failure in the form in which it is printed. `lines` is empty where nothing is to be said. */
export interface ToldError {
  readonly status: ExitStatus;
  readonly lines: readonly string[];
}

/** Says what is to be printed for `error`, and which exit status it means. */
export function tellError(error: unknown, options: { readonly verbose: boolean }): ToldError {
  if (error instanceof ClosedPipe) return { status: ExitStatus.done, lines: [] };
  if (error instanceof Interrupted) return { status: ExitStatus.interrupted, lines: ['blockwright: interrupted'] };
  const { status, message, detail, hint } = judge(error);
  const lines = [`blockwright: error: ${printable(message)}`];
  if (detail !== undefined) lines.push(`detail: ${printable(detail)}`);
  if (hint !== undefined) lines.push(`hint: ${printable(hint)}`);
  if (options.verbose) lines.push(...verboseLines(error));
  return { status, lines };
}

function judge(error: unknown): Explanation & { readonly status: ExitStatus; readonly message: string } {
  if (error instanceof UsageError) return { status: ExitStatus.usage, ...explained(error) };
  if (error instanceof CommandFailure || isStorageError(error))
    return { status: ExitStatus.failed, ...explained(error) };
  if (error instanceof RangeError && !isEngineRangeError(error)) {
    return { status: ExitStatus.failed, message: error.message };
  }
  if (isSystemError(error)) return { status: ExitStatus.failed, message: error.message };
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    status: ExitStatus.failed,
    message: `internal error: ${message}`,
    hint: 'This is a fault of blockwright. Run the command again with --verbose and report what it prints.',
  };
}

function explained(error: Error & Explanation): { message: string; detail?: string; hint?: string } {
  return {
    message: error.message,
    ...(error.detail === undefined ? {} : { detail: error.detail }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  };
}

/** RangeErrors that the JavaScript engine throws by itself: they are our bugs, not a value that a user gave. */
function isEngineRangeError(error: RangeError): boolean {
  return /^(Maximum call stack|Invalid (typed )?array|Offset is outside|offset is out of bounds|start offset)/.test(
    error.message,
  );
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

function verboseLines(error: unknown): string[] {
  const lines: string[] = [];
  if (isStorageError(error)) lines.push(`code: ${error.code}`);
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    lines.push(...printable(at.stack ?? String(at), true).split('\n'));
    if (at.cause !== undefined) lines.push('caused by:');
  }
  return lines;
}

/** The text with control characters shown as escapes: a file's name or bytes cannot drive the terminal. */
export function printable(text: string, keepLines = false): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    if (character === '\n' && keepLines) return character;
    const code = character.charCodeAt(0);
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}
