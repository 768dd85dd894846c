// Where the findings of a page go. One reporter serves all pages of a file, one after the other, so that a page without
// a finding costs no object.
import type { BlockNumber, Finding, FindingSink, OffsetNumber, Severity } from '@blockwright/base';

/** Fills in file, block, and the tuple that is being looked at. */
export class PageReport {
  readonly where: Partial<Finding>;
  readonly sink: FindingSink;
  private readonly pageMask: number;
  private block: BlockNumber = 0;
  private offset: OffsetNumber = 0;
  private position = 0;

  /**
   * @param where file, fork and segment
   * @param pageMask the block size less one
   */
  constructor(where: Partial<Finding>, pageMask: number, sink: FindingSink) {
    this.where = where;
    this.pageMask = pageMask;
    this.sink = sink;
  }

  beginPage(block: BlockNumber): void {
    this.block = block;
  }

  /** The tuple of line pointer `offset`, whose header is at byte `position` of the memory. */
  beginTuple(offset: OffsetNumber, position: number): void {
    this.offset = offset;
    this.position = position;
  }

  /** Something about the page as a whole. */
  page(severity: Severity, code: string, message: string, at: Partial<Finding> = {}): void {
    this.sink({ code, severity, message, ...this.where, block: this.block, ...at });
  }

  /** Something about a line pointer or the tuple behind it. */
  line(severity: Severity, code: string, offset: OffsetNumber, message: string): void {
    this.page(severity, code, message, { offsetNumber: offset });
  }

  /** Something about a field of the current tuple's header, `field` bytes from its start. */
  field(severity: Severity, code: string, field: number, message: string): void {
    const byteOffset = (this.position & this.pageMask) + field;
    this.page(severity, code, message, { offsetNumber: this.offset, byteOffset });
  }

  /** Something about an attribute of the current tuple, counted from 1; 0 for none in particular. */
  attribute(severity: Severity, code: string, attribute: number, message: string): void {
    const at = attribute === 0 ? {} : { attribute };
    this.page(severity, code, message, { offsetNumber: this.offset, ...at });
  }
}
