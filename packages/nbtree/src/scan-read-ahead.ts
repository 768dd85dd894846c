// Reads leaf pages before a scan comes to them, where they lie side by side: as a bulk build leaves them.
import type { BlockNumber } from '@blockwright/base';
import type { BtreeIndex } from './btree.ts';

/** Bytes that are read at once, when a scan has gone on long enough. */
const MOST_BYTES = 0x2_0000;
/** Steps side by side after which the next ones are expected to be so, too. */
const FIRST_STEPS = 2;

/** What one scan reads ahead: twice as much each time, as long as pages follow each other. */
export class ReadAhead {
  private readonly index: BtreeIndex;
  private readonly backward: boolean;
  private readonly most: number;
  /** Steps side by side so far, the pages that were read at the last time, and how many of them are still to come. */
  private steps = 0;
  private window = 0;
  private left = 0;

  constructor(index: BtreeIndex, backward: boolean) {
    this.index = index;
    this.backward = backward;
    this.most = MOST_BYTES >>> index.geometry.shift;
  }

  /** The scan begins elsewhere. */
  restart(): void {
    this.steps = 0;
    this.window = 0;
    this.left = 0;
  }

  /** The scan goes from leaf `block` to `next`, 0 for none. */
  before(block: BlockNumber, next: BlockNumber): void {
    const { backward } = this;
    if (next !== (backward ? block - 1 : block + 1)) {
      this.restart();
      return;
    }
    this.steps++;
    if (this.left > 0) {
      this.left--;
      return;
    }
    if (this.steps < FIRST_STEPS || next === 0) return;
    const { pool, main } = this.index;
    let count = this.window === 0 ? FIRST_STEPS : this.window << 1;
    if (count > this.most) count = this.most;
    // The meta page, block 0, is none of them.
    if (backward && count > next) count = next;
    this.window = count;
    this.left = count - 1;
    if (main.hasBlock(next)) pool.readAhead(main, backward ? next - count + 1 : next, count);
  }
}
