// The one way to change a page that is not the caller's own: pinned, changed, marked dirty, unpinned. The place where
// a change will be logged; today there is no log.
import type { BlockNumber } from '@blockwright/base';
import type { BufferedFork, BufferPool } from '@blockwright/bufmgr';
import { type PageMemory, withPageContext } from '@blockwright/page';

/**
 * Changes a page: `change` gets it lent for the call, and throws, if at all, before it has changed a byte.
 * @returns what `change` returns.
 * @throws what it throws, with fork and block named when it is a StorageError.
 */
export function changePage<T>(
  pool: BufferPool,
  fork: BufferedFork,
  block: BlockNumber,
  change: (m: PageMemory, base: number) => T,
): T {
  const id = pool.pin(fork, block);
  try {
    const result = change(pool.memory(id), pool.base(id));
    pool.markDirty(id);
    return result;
  } catch (error) {
    throw withBlock(error, fork, block);
  } finally {
    pool.unpin(id);
  }
}

/**
 * What page functions throw cannot say where the page lies: this names it. The caller throws the result.
 * @param offset the line pointer, when one is known
 */
export function withBlock(error: unknown, fork: BufferedFork, block: BlockNumber, offset?: number): unknown {
  const where = `block ${block}${offset === undefined ? '' : `, offset ${offset}`} of ${fork.name}`;
  return withPageContext(error, where);
}
