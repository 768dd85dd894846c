// The file operations that the storage engine needs, and no others: each is one call, so that a simulated disk can
// lose, tear, fail or delay exactly one of them.

/**
 * How a file is opened. `r`: an existing file, for reading. `r+`: an existing file, for reading and writing.
 * `create`: as `r+`, made empty when absent, kept as it is when present. `createExclusive`: as `create`, refused when
 * the name is taken.
 */
export type OpenMode = 'r' | 'r+' | 'create' | 'createExclusive';

/** What is known of a name. */
export interface VfsStat {
  /** Bytes of a file; of a directory, whatever the system says. */
  readonly size: number;
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  /** Time of the last change of the data, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/**
 * An open file. Positions and sizes are bytes, safe integers. Usable until {@link close}; the descriptor underneath may
 * come and go. PostgreSQL: `File`, fd.c.
 */
export interface VfsFile {
  /** The name it was opened by. */
  readonly path: string;
  /**
   * Reads up to `length` bytes at byte `position` into `dest` from index `at`.
   * @returns the bytes read: fewer than asked is no error, 0 is the end of the file.
   * @throws StorageError 58030 and the like when the system refuses; RangeError when `dest` has no such room.
   */
  read(dest: Uint8Array, at: number, length: number, position: number): number;
  /**
   * Writes up to `length` bytes of `src` from index `at` to byte `position`; past the end, what lies between is zero.
   * @returns the bytes written: fewer than asked is no error, the caller goes on with the rest.
   * @throws StorageError 53100 when the disk is full; RangeError when `src` has no such bytes.
   */
  write(src: Uint8Array, at: number, length: number, position: number): number;
  /** Bytes of the file now. */
  size(): number;
  /** Cuts the file to `size` bytes, or lengthens it with zeros (which take no room on the disk yet). */
  truncate(size: number): void;
  /** Forces data and metadata to the disk. A failed sync must never be tried again: the data may be gone. */
  sync(): void;
  /** Forces data, and what is needed to read it back, to the disk. */
  datasync(): void;
  /**
   * As {@link datasync}, without blocking the thread. It covers what was written before the call; what is written while
   * it runs may or may not be. The file may be closed meanwhile: the sync is finished all the same.
   */
  datasyncAsync(): Promise<void>;
  /** Ends the use of the file. Closing twice is fine. Writes that were not synced are not made durable by it. */
  close(): void;
}

/**
 * A file system. Paths are strings with `/` between names (on Windows, `\` too). Every method throws a
 * {@link StorageError} whose message has the path: 53100 disk full, 58P01 no such file, 58P02 it exists already,
 * 42501 not permitted, 58030 anything else; `errnoOf` of the error gives the system's own code.
 */
export interface Vfs {
  open(path: string, mode: OpenMode): VfsFile;
  /** Whether `path` names a file or directory. */
  exists(path: string): boolean;
  /** What `path` names, links followed; `undefined` when nothing. */
  stat(path: string): VfsStat | undefined;
  /** The names in a directory, without `.` and `..`, in ascending order of their UTF-16 code units. */
  readdir(path: string): string[];
  /** Makes a directory, for the owner alone; its parent must exist and the name be free. */
  mkdir(path: string): void;
  /** Removes an empty directory. */
  rmdir(path: string): void;
  /** Removes a name of a file. A file that is open stays readable through a descriptor that is open. */
  unlink(path: string): void;
  /** Gives a file or directory another name at once, replacing a file that has it. */
  rename(from: string, to: string): void;
  /** Gives a file a second name; refused when that is taken. */
  link(existing: string, path: string): void;
  /** Forces creates, renames and unlinks in the directory to the disk. */
  syncDirectory(path: string): void;
  /** All bytes of a file. */
  readFile(path: string): Uint8Array;
}
