// What the writers of one heap share: the relation and its maps, room for a tuple on its way to a page, the answers of the
// last call. A function of this package that changes rows gets it whole.
import type { Relation } from '@blockwright/access';
import {
  type BlockNumber,
  INVALID_BLOCK_NUMBER,
  type OffsetNumber,
  type RelationLocator,
  type Xid,
} from '@blockwright/base';
import { checkPageBounds, type PageMemory, pageMaxOffset, pageMemory, pageSpecial, pageUpper } from '@blockwright/page';
import type { Transactions } from '@blockwright/transam';
import { setTupleCommandId, setTupleXmax, setTupleXmin, type TupleEncoder } from '@blockwright/tuple';
import type { VisibilityMap } from '@blockwright/visibilitymap';
import { corruptPageHeader, notPlainHeapPage, rowTooBig } from './errors.ts';
import { HintSink } from './hints.ts';
import { Placement } from './placement.ts';

export class WriterParts {
  readonly relation: Relation;
  readonly map: VisibilityMap | undefined;
  readonly placement: Placement;
  readonly hints: HintSink;
  readonly locator: RelationLocator;
  /** The tuple to be written, at byte 0. */
  readonly tuple: PageMemory;
  /** Its bytes. */
  length = 0;
  /** Where the last row went. */
  block: BlockNumber = INVALID_BLOCK_NUMBER;
  offset: OffsetNumber = 0;
  private readonly encoder: TupleEncoder;

  constructor(relation: Relation, encoder: TupleEncoder, map: VisibilityMap | undefined, fillfactor: number) {
    this.relation = relation;
    this.encoder = encoder;
    this.map = map;
    this.placement = new Placement(relation, fillfactor);
    this.hints = HintSink.for(relation);
    this.locator = relation.storage.locator as RelationLocator;
    this.tuple = pageMemory(new ArrayBuffer(relation.geometry.size));
  }

  /**
   * Puts a row's tuple into {@link tuple}.
   * @returns its bytes.
   * @throws StorageError 54000 when it fits no page, and what the encoder throws.
   */
  encode(values: readonly unknown[]): number {
    const { geometry, name } = this.relation;
    const { u8 } = this.tuple;
    const length = this.encoder.encode(values, u8, 0);
    if (length > geometry.maxHeapTupleSize) throw rowTooBig(name, length, geometry.maxHeapTupleSize);
    for (let i = length; (i & 7) !== 0; i++) u8[i] = 0;
    this.length = length;
    return length;
  }

  /** Says in the tuple's header who writes it. */
  stamp(xid: Xid, commandId: number): void {
    setTupleXmin(this.tuple, 0, xid);
    setTupleXmax(this.tuple, 0, 0);
    setTupleCommandId(this.tuple, 0, commandId);
  }
}

/** {@link WriterParts} of a writer within transactions. */
export class TransactionWriterParts extends WriterParts {
  readonly transactions: Transactions;
  /** Whether the last update stayed on its page and keeps the index entries of the row. */
  wasHot = false;
  /** After TM_UPDATED: where the newer version is. */
  readonly newer: { block: BlockNumber; offset: OffsetNumber } = { block: INVALID_BLOCK_NUMBER, offset: 0 };

  constructor(
    relation: Relation,
    encoder: TupleEncoder,
    map: VisibilityMap,
    transactions: Transactions,
    fillfactor: number,
  ) {
    super(relation, encoder, map, fillfactor);
    this.transactions = transactions;
  }
}

/**
 * Refuses a page that an insertion could not be sure of.
 * @throws StorageError XX001
 */
export function checkHeapPage(m: PageMemory, base: number, parts: WriterParts, block: BlockNumber): void {
  const { geometry, name } = parts.relation;
  const special = pageSpecial(m, base);
  if (special !== geometry.size) throw notPlainHeapPage(name, block, special, geometry.size);
  checkPageBounds(m, base, geometry);
  if ((pageUpper(m, base) & 7) !== 0 || pageMaxOffset(m, base) > geometry.maxOffsetNumber) {
    throw corruptPageHeader(name, block, pageUpper(m, base));
  }
}
