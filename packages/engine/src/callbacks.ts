// What users are told through functions of their own: those are called in the middle of commits, of changes of pages and
// of timers, where an error of theirs would be taken for one of the engine's.

/** A user's function that takes a line of text. */
export type Told = ((text: string) => void) | undefined;

/** `callback`, of which nothing comes back: what it throws is told to `elsewhere`, or else to the process as a warning. */
export function guarded(name: string, callback: Told, elsewhere?: Told): Told {
  if (callback === undefined) return undefined;
  return (text) => {
    try {
      callback(text);
    } catch (error) {
      const message = `${name} threw: ${error instanceof Error ? error.message : String(error)}`;
      if (elsewhere === undefined) process.emitWarning(`${message}, when it was told "${text}"`);
      else elsewhere(message);
    }
  };
}
