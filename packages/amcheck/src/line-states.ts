// Which line pointers of the page being checked were found bad: their items are not looked at.
import type { OffsetNumber } from '@blockwright/base';

export class LineStates {
  /** How many are bad. */
  badCount = 0;
  private readonly bad: Uint8Array;

  constructor(maxOffset: OffsetNumber) {
    this.bad = new Uint8Array(maxOffset + 1);
  }

  /** Forgets the page before. */
  clear(): void {
    if (this.badCount === 0) return;
    this.bad.fill(0);
    this.badCount = 0;
  }

  markBad(offset: OffsetNumber): void {
    if (this.bad[offset] !== 0) return;
    this.bad[offset] = 1;
    this.badCount++;
  }

  isBad(offset: OffsetNumber): boolean {
    return this.bad[offset] !== 0;
  }
}
