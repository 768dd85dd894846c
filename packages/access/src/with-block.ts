// Where a page function failed: what it throws cannot say in which block of which fork its bytes lie.
import type { BlockNumber } from '@blockwright/base';
import type { BufferedFork } from '@blockwright/bufmgr';
import { withPageContext } from '@blockwright/page';

/**
 * What page functions throw cannot say where the page lies: this names it. The caller throws the result.
 * @param offset the line pointer, when one is known
 */
export function withBlock(error: unknown, fork: BufferedFork, block: BlockNumber, offset?: number): unknown {
  const where = `block ${block}${offset === undefined ? '' : `, offset ${offset}`} of ${fork.name}`;
  return withPageContext(error, where);
}
