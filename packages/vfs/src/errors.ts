// The operating system's errors as StorageErrors: its code becomes a SQLSTATE, and the path is always in the message.
import { StorageError, type StorageErrorCode } from '@blockwright/base';

/** PostgreSQL: `errcode_for_file_access`, elog.c (which knows more classes; here all others are 58030). */
const CODES: Readonly<Record<string, StorageErrorCode>> = {
  ENOSPC: '53100',
  EDQUOT: '53100',
  ENOENT: '58P01',
  EEXIST: '58P02',
  EACCES: '42501',
  EPERM: '42501',
  EROFS: '42501',
};

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some disk space.',
  EDQUOT: 'Raise the disk quota, or free some disk space.',
  EACCES: 'Look at who owns the file and its directory, and with what permissions.',
  EROFS: 'The file system is mounted read only.',
  EMFILE: 'Raise the limit on open files (ulimit -n), or lower maxOpenFiles.',
  ENFILE: 'The whole system is out of file descriptors: raise its limit, or lower maxOpenFiles.',
};

/** Texts for the codes that the in-memory file system raises by itself or on request; others show the code alone. */
const TEXTS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EBUSY: 'resource busy or locked',
  EDQUOT: 'disk quota exceeded',
  EEXIST: 'file already exists',
  EINVAL: 'invalid argument',
  EIO: 'i/o error',
  EISDIR: 'illegal operation on a directory',
  EMFILE: 'too many open files',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
};

/** An error of the operating system, as node:fs throws them. */
export interface SystemError extends Error {
  /** Such as `ENOENT`. */
  readonly code: string;
}

/** Whether `error` came from the operating system (and not, say, from a wrong argument). */
export function isSystemError(error: unknown): error is SystemError {
  // Errors of Node's own, such as ERR_OUT_OF_RANGE, have a code too, but no system call.
  return (
    error instanceof Error &&
    typeof (error as { code?: unknown }).code === 'string' &&
    typeof (error as { syscall?: unknown }).syscall === 'string'
  );
}

/** An error of the operating system, made by hand: for file systems that are not the system's. */
export function systemError(errno: string, syscall: string): SystemError {
  const text = TEXTS[errno] ?? 'error';
  return Object.assign(new Error(`${errno}: ${text}, ${syscall}`), { code: errno, syscall });
}

/**
 * What to throw for `error`, caught while doing `what` (such as `open file`) to `path`: a StorageError for an error of
 * the operating system, anything else unchanged.
 */
export function fileError(what: string, path: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  const text = /^[A-Z0-9]+: ([^,]+)/.exec(error.message)?.[1] ?? error.code;
  return new StorageError(CODES[error.code] ?? '58030', `could not ${what} "${path}": ${text} (${error.code})`, {
    hint: HINTS[error.code],
    cause: error,
  });
}

/** The operating system's code, such as `ENOTEMPTY`, of an error thrown by a Vfs, if it has one underneath. */
export function errnoOf(error: unknown): string | undefined {
  for (let e: unknown = error, depth = 0; e instanceof Error && depth < 8; e = e.cause, depth++) {
    if (isSystemError(e)) return e.code;
  }
  return undefined;
}
