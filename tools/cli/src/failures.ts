// What a command throws when it does not get to its end. What is printed of each, and the exit status that it means, is
// in output/errors.ts.

/** What more is said of a failure. */
export interface Explanation {
  readonly detail?: string;
  readonly hint?: string;
}

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  constructor(message: string, explanation: Explanation = {}) {
    super(message);
    this.detail = explanation.detail;
    this.hint = explanation.hint;
  }
}

/** The command line is right, and what it asks for cannot be done. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure';
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  constructor(message: string, explanation: Explanation = {}) {
    super(message);
    this.detail = explanation.detail;
    this.hint = explanation.hint;
  }
}

/** Thrown by a write to a pipe whose reader has gone: the command ends, and says nothing. */
export class ClosedPipe extends Error {
  override readonly name: string = 'ClosedPipe';
}

/** Thrown when Ctrl-C was seen. */
export class Interrupted extends Error {
  override readonly name: string = 'Interrupted';
  constructor() {
    super('interrupted');
  }
}
