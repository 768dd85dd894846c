// Customers, suppliers, nations and regions.
import {
  ADDRESS_WIDTH,
  asciiBytes,
  Comments,
  Format,
  fillAddresses,
  fillNumbers,
  fillPhones,
  fillPicks,
  PHONE_WIDTH,
  RawColumn,
  type RowSource,
  setNumberedName,
  setPick,
} from './columns.ts';
import { NATION_REGIONS, NATIONS, type PickList, REGIONS, SEGMENTS } from './lists.ts';
import { drawn, nextSeed, STREAMS, Stream } from './random.ts';
import type { Cardinality } from './scale.ts';
import type { TextPool } from './text-pool.ts';

const NAME_WIDTH = 32;
const LOWEST_BALANCE = -99999;
const BALANCES = 1099999;
const CUSTOMER = asciiBytes('Customer#');
const SUPPLIER = asciiBytes('Supplier#');

/** `customer`; `from` and `to` count rows, from 0. */
export class CustomerSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly capacity: number;
  private readonly noGaps: Uint8Array;
  private next: number;
  private readonly end: number;
  private readonly key: RawColumn;
  private readonly name: RawColumn;
  private readonly address: RawColumn;
  private readonly nation: RawColumn;
  private readonly phone: RawColumn;
  private readonly balance: RawColumn;
  private readonly segment: RawColumn;
  private readonly comment: Comments;
  private readonly addressStream: Stream;
  private readonly nationStream: Stream;
  private readonly phoneStream: Stream;
  private readonly balanceStream: Stream;
  private readonly segmentStream: Stream;

  constructor(_cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    this.capacity = capacity;
    this.next = from;
    this.end = to;
    this.noGaps = new Uint8Array(capacity);
    this.key = RawColumn.numbers(Format.integer, capacity);
    this.name = RawColumn.slots(NAME_WIDTH, capacity);
    this.address = RawColumn.slots(ADDRESS_WIDTH, capacity);
    this.nation = RawColumn.numbers(Format.integer, capacity);
    this.phone = RawColumn.slots(PHONE_WIDTH, capacity);
    this.balance = RawColumn.numbers(Format.hundredths, capacity);
    this.segment = RawColumn.picks(SEGMENTS, capacity);
    this.comment = new Comments(pool, STREAMS.c_comment, from, 73, capacity);
    this.columns = [
      this.key,
      this.name,
      this.address,
      this.nation,
      this.phone,
      this.balance,
      this.segment,
      this.comment.column,
    ];
    this.addressStream = new Stream(STREAMS.c_address, from);
    this.nationStream = new Stream(STREAMS.c_nation, from);
    this.phoneStream = new Stream(STREAMS.c_phone, from);
    this.balanceStream = new Stream(STREAMS.c_acctbal, from);
    this.segmentStream = new Stream(STREAMS.c_mktsegment, from);
  }

  fill(maxRows: number): number {
    const rows = Math.min(maxRows, this.capacity, this.end - this.next);
    const { noGaps } = this;
    for (let row = 0; row < rows; row++) {
      this.key.values[row] = this.next + row + 1;
      setNumberedName(this.name, row, CUSTOMER, this.next + row + 1);
    }
    fillAddresses(this.addressStream, rows, this.address);
    fillNumbers(this.nationStream, rows, noGaps, 0, NATIONS.words.length, this.nation.values);
    fillPhones(this.phoneStream, rows, this.nation.values, this.phone);
    fillNumbers(this.balanceStream, rows, noGaps, LOWEST_BALANCE, BALANCES, this.balance.values);
    fillPicks(this.segmentStream, rows, noGaps, SEGMENTS, SEGMENTS.words.length, this.segment);
    this.comment.fill(rows, noGaps);
    this.next += rows;
    return rows;
  }
}

const NOTE_START = asciiBytes('Customer ');
const COMPLAINTS = asciiBytes('Complaints');
const RECOMMENDS = asciiBytes('Recommends');
const NOTE_BYTES = NOTE_START.length + COMPLAINTS.length;
const SUPPLIER_COMMENT_WIDTH = 104;

/** `supplier`; `from` and `to` count rows, from 0. */
export class SupplierSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly capacity: number;
  private readonly noGaps: Uint8Array;
  private next: number;
  private readonly end: number;
  private readonly key: RawColumn;
  private readonly name: RawColumn;
  private readonly address: RawColumn;
  private readonly nation: RawColumn;
  private readonly phone: RawColumn;
  private readonly balance: RawColumn;
  private readonly drawnComments: Comments;
  private readonly comment: RawColumn;
  private readonly addressStream: Stream;
  private readonly nationStream: Stream;
  private readonly phoneStream: Stream;
  private readonly balanceStream: Stream;
  private readonly noteSelectStream: Stream;
  private readonly noteTypeStream: Stream;
  private readonly noteNoiseStream: Stream;
  private readonly noteOffsetStream: Stream;

  constructor(_cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    this.capacity = capacity;
    this.next = from;
    this.end = to;
    this.noGaps = new Uint8Array(capacity);
    this.key = RawColumn.numbers(Format.integer, capacity);
    this.name = RawColumn.slots(NAME_WIDTH, capacity);
    this.address = RawColumn.slots(ADDRESS_WIDTH, capacity);
    this.nation = RawColumn.numbers(Format.integer, capacity);
    this.phone = RawColumn.slots(PHONE_WIDTH, capacity);
    this.balance = RawColumn.numbers(Format.hundredths, capacity);
    this.drawnComments = new Comments(pool, STREAMS.s_comment, from, 63, capacity);
    this.comment = RawColumn.slots(SUPPLIER_COMMENT_WIDTH, capacity);
    this.columns = [this.key, this.name, this.address, this.nation, this.phone, this.balance, this.comment];
    this.addressStream = new Stream(STREAMS.s_address, from);
    this.nationStream = new Stream(STREAMS.s_nation, from);
    this.phoneStream = new Stream(STREAMS.s_phone, from);
    this.balanceStream = new Stream(STREAMS.s_acctbal, from);
    this.noteSelectStream = new Stream(STREAMS.s_noteSelect, from);
    this.noteTypeStream = new Stream(STREAMS.s_noteType, from);
    this.noteNoiseStream = new Stream(STREAMS.s_noteNoise, from);
    this.noteOffsetStream = new Stream(STREAMS.s_noteOffset, from);
  }

  fill(maxRows: number): number {
    const rows = Math.min(maxRows, this.capacity, this.end - this.next);
    const { noGaps } = this;
    for (let row = 0; row < rows; row++) {
      this.key.values[row] = this.next + row + 1;
      setNumberedName(this.name, row, SUPPLIER, this.next + row + 1);
    }
    fillAddresses(this.addressStream, rows, this.address);
    fillNumbers(this.nationStream, rows, noGaps, 0, NATIONS.words.length, this.nation.values);
    fillPhones(this.phoneStream, rows, this.nation.values, this.phone);
    fillNumbers(this.balanceStream, rows, noGaps, LOWEST_BALANCE, BALANCES, this.balance.values);
    this.drawnComments.fill(rows, noGaps);
    for (let row = 0; row < rows; row++) this.annotateComment(row);
    this.next += rows;
    return rows;
  }

  /** The comment; ten in ten thousand have a customer's complaint or recommendation written over them. */
  private annotateComment(row: number): void {
    const { data } = this.comment;
    const drawnComment = this.drawnComments.column;
    const start = this.comment.starts[row];
    const length = drawnComment.lengths[row];
    const from = drawnComment.starts[row];
    for (let i = 0; i < length; i++) data[start + i] = drawnComment.data[from + i];
    this.comment.lengths[row] = length;

    const select = drawnFrom(this.noteSelectStream, 1, 10000);
    const type = drawnFrom(this.noteTypeStream, 0, 101);
    const noise = drawnFrom(this.noteNoiseStream, 0, length - NOTE_BYTES + 1);
    const offset = drawnFrom(this.noteOffsetStream, 0, length - NOTE_BYTES - noise + 1);
    if (select > 10) return;
    data.set(NOTE_START, start + offset);
    data.set(type < 50 ? COMPLAINTS : RECOMMENDS, start + offset + NOTE_START.length + noise);
  }
}

function drawnFrom(stream: Stream, low: number, range: number): number {
  stream.seed = nextSeed(stream.seed);
  return drawn(stream.seed, low, range);
}

/** `nation` and `region`: a list of names with comments; `from` and `to` count rows, from 0. */
class NamesSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly names: PickList;
  private readonly capacity: number;
  private readonly noGaps: Uint8Array;
  private next: number;
  private readonly end: number;
  private readonly key: RawColumn;
  private readonly name: RawColumn;
  private readonly region: RawColumn | undefined;
  private readonly comment: Comments;

  constructor(names: PickList, pool: TextPool, from: number, to: number, capacity: number) {
    this.names = names;
    this.capacity = capacity;
    this.next = from;
    this.end = to;
    this.noGaps = new Uint8Array(capacity);
    this.key = RawColumn.numbers(Format.integer, capacity);
    this.name = RawColumn.picks(names, capacity);
    this.region = names === NATIONS ? RawColumn.numbers(Format.integer, capacity) : undefined;
    this.comment = new Comments(pool, names === NATIONS ? STREAMS.n_comment : STREAMS.r_comment, from, 72, capacity);
    this.columns = [this.key, this.name, ...(this.region === undefined ? [] : [this.region]), this.comment.column];
  }

  fill(maxRows: number): number {
    const rows = Math.min(maxRows, this.capacity, this.end - this.next);
    for (let row = 0; row < rows; row++) {
      this.key.values[row] = this.next + row;
      setPick(this.name, row, this.names, this.next + row);
      if (this.region !== undefined) this.region.values[row] = NATION_REGIONS[this.next + row];
    }
    this.comment.fill(rows, this.noGaps);
    this.next += rows;
    return rows;
  }
}

export class NationSource extends NamesSource {
  constructor(_cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    super(NATIONS, pool, from, to, capacity);
  }
}

export class RegionSource extends NamesSource {
  constructor(_cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    super(REGIONS, pool, from, to, capacity);
  }
}
