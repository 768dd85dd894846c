// The control file of an open data directory, held in memory: what was last read or written, and the one way to replace it.
import type { Vfs } from '@blockwright/vfs';
import { type ControlFile, readControlFile, writeControlFile } from './control-file.ts';

/** What an open data directory may change of its control file: the rest is chosen once, by initdb. */
export type ControlChange = Partial<
  Pick<ControlFile, 'state' | 'walIncarnation' | 'checkpoint' | 'nextXid' | 'nextXidEpoch' | 'oldestXid' | 'nextOid'>
>;

/** One for each open data directory: who else writes its control file writes over what this one knows. */
export class ControlHolder {
  readonly directory: string;
  private readonly vfs: Vfs;
  private held: ControlFile;

  /** @param control what was read or written last; read now when not given. @throws what {@link readControlFile} throws. */
  constructor(vfs: Vfs, directory: string, control: ControlFile = readControlFile(vfs, directory)) {
    this.vfs = vfs;
    this.directory = directory;
    this.held = control;
  }

  /** What the file says. */
  get current(): ControlFile {
    return this.held;
  }

  /**
   * Replaces the file, atomically and durably.
   * @returns what it says now.
   * @throws RangeError for values that it cannot say; StorageError when the disk refuses: {@link current} stays as it
   *   was, and so does the file, unless what failed was the last step, the sync of its directory.
   */
  update(change: ControlChange): ControlFile {
    this.held = writeControlFile(this.vfs, this.directory, { ...this.held, ...change });
    return this.held;
  }
}
