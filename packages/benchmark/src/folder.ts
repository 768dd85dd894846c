// The folder that a benchmark makes its databases in: the disk that is measured.
import { statSync } from 'node:fs';

/** @throws RangeError naming the option `--folder` when there is no such directory. */
export function checkFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new RangeError(`--folder "${folder}" is not a directory`);
}
