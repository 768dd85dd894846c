// Opening a data directory of ours for writing: recovered first when it was not shut down, under a progress bar, with the
// lines that PostgreSQL's log would have.
import type { Database, OpenOptions } from '@blockwright/engine';
import type { Context } from './context.ts';

/** Opens a data directory; what the engine logs later, such as a checkpoint, is shown with --verbose only. */
export async function openDatabase(context: Context, directory: string, options: OpenOptions = {}): Promise<Database> {
  const { Database } = await import('@blockwright/engine');
  let isOpening = true;
  const database = await context.withProgress(({ onProgress, pause }) =>
    Database.openAsync(directory, {
      ...options,
      signal: context.io.signal,
      onProgress,
      onLog: (line) => {
        if (!isOpening && !context.verbose) return;
        pause();
        context.message(line);
      },
      onWarning: (message) => {
        pause();
        context.warning(message);
      },
    }),
  );
  isOpening = false;
  return database;
}
