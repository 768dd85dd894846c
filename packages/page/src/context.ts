// Functions over (memory, base) cannot know which relation and block they look at. Whoever calls them does.
import { isStorageError, StorageError } from '@blockwright/base';

/**
 * The same error with `where` (such as `base/5/16384, fork main, block 7`) before its message, and the old one as its
 * cause; anything that is no StorageError comes back as it is. To be thrown by the caller.
 */
export function withPageContext(error: unknown, where: string): unknown {
  if (!isStorageError(error)) return error;
  return new StorageError(error.code, `${where}: ${error.message}`, {
    detail: error.detail,
    hint: error.hint,
    cause: error,
  });
}
