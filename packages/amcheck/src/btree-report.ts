// Where findings about an index go: each names the file of its block, and stands under a stable code `btree.*`.
import type { BlockNumber, Finding, FindingSink, OffsetNumber, Severity } from '@blockwright/base';

/** Makes the findings of one index. */
export class BtreeReport {
  /** Errors so far. */
  errors = 0;
  private readonly whereOf: (block: BlockNumber) => Partial<Finding>;
  private readonly sink: FindingSink;

  /** @param whereOf file, fork and segment of a block */
  constructor(whereOf: (block: BlockNumber) => Partial<Finding>, sink: FindingSink) {
    this.whereOf = whereOf;
    this.sink = sink;
  }

  /** Something about a page, or about the item `offset` of it when that is not 0. */
  say(severity: Severity, code: string, block: BlockNumber, offset: OffsetNumber, message: string): void {
    if (severity === 'error') this.errors++;
    const at = offset === 0 ? {} : { offsetNumber: offset };
    this.sink({ code: `btree.${code}`, severity, message, ...this.whereOf(block), block, ...at });
  }

  /** An error of the index as a whole, of no page of it. */
  ofIndex(code: string, message: string): void {
    this.errors++;
    this.sink({ code: `btree.${code}`, severity: 'error', message, ...this.whereOf(0) });
  }

  error(code: string, block: BlockNumber, offset: OffsetNumber, message: string): void {
    this.say('error', code, block, offset, message);
  }
}
