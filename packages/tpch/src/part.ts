// Parts, and the suppliers of each.
import { Comments, Format, fillNumbers, fillPicks, RawColumn, type RowSource, setPick } from './columns.ts';
import { BRANDS, COLOURS, CONTAINERS, MANUFACTURERS, PART_TYPES } from './lists.ts';
import { drawn, multiplySeed, nextSeed, STREAMS, Stream, seedPower } from './random.ts';
import type { Cardinality } from './scale.ts';
import type { TextPool } from './text-pool.ts';

const SUPPLIERS_PER_PART = 4;
const NAME_WORDS = 5;
/** Five words of at most ten letters, and spaces. */
const NAME_WIDTH = 64;
const INT32_MAX = 2147483647;

/** Hundredths. */
export function retailPrice(part: number): number {
  // In 32 bits a remainder by a constant is a multiplication; parts beyond that come at scales above 10737.
  if (part <= INT32_MAX) {
    const key = part | 0;
    return 90000 + (((key / 10) | 0) % 20001) + 100 * (key % 1000);
  }
  return 90000 + (Math.floor(part / 10) % 20001) + 100 * (part % 1000);
}

/** The supplier, from 1, that is number `which` (0 to 3) of a part. */
export function supplierOfPart(part: number, which: number, suppliers: number): number {
  const sum = part + which * (Math.floor(suppliers / 4) + Math.floor((part - 1) / suppliers));
  return sum - Math.floor(sum / suppliers) * suppliers + 1;
}

/** `part`; `from` and `to` count rows, from 0. */
export class PartSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly capacity: number;
  private readonly noGaps: Uint8Array;
  private next: number;
  private readonly end: number;
  private readonly identity: Uint8Array = Uint8Array.from(COLOURS.words, (_, i) => i);
  private readonly permutation: Uint8Array = new Uint8Array(COLOURS.words.length);
  private readonly skipUnusedSwaps: number = seedPower(COLOURS.words.length - NAME_WORDS);
  private readonly key: RawColumn;
  private readonly name: RawColumn;
  private readonly manufacturer: RawColumn;
  private readonly brand: RawColumn;
  private readonly type: RawColumn;
  private readonly size: RawColumn;
  private readonly container: RawColumn;
  private readonly price: RawColumn;
  private readonly comment: Comments;
  private readonly nameStream: Stream;
  private readonly manufacturerStream: Stream;
  private readonly brandStream: Stream;
  private readonly typeStream: Stream;
  private readonly sizeStream: Stream;
  private readonly containerStream: Stream;

  constructor(_cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    this.capacity = capacity;
    this.next = from;
    this.end = to;
    this.noGaps = new Uint8Array(capacity);
    this.key = RawColumn.numbers(Format.integer, capacity);
    this.name = RawColumn.slots(NAME_WIDTH, capacity);
    this.manufacturer = RawColumn.picks(MANUFACTURERS, capacity);
    this.brand = RawColumn.picks(BRANDS, capacity);
    this.type = RawColumn.picks(PART_TYPES, capacity);
    this.size = RawColumn.numbers(Format.integer, capacity);
    this.container = RawColumn.picks(CONTAINERS, capacity);
    this.price = RawColumn.numbers(Format.hundredths, capacity);
    this.comment = new Comments(pool, STREAMS.p_comment, from, 14, capacity);
    this.columns = [
      this.key,
      this.name,
      this.manufacturer,
      this.brand,
      this.type,
      this.size,
      this.container,
      this.price,
      this.comment.column,
    ];
    this.nameStream = new Stream(STREAMS.p_name, from);
    this.manufacturerStream = new Stream(STREAMS.p_mfgr, from);
    this.brandStream = new Stream(STREAMS.p_brand, from);
    this.typeStream = new Stream(STREAMS.p_type, from);
    this.sizeStream = new Stream(STREAMS.p_size, from);
    this.containerStream = new Stream(STREAMS.p_container, from);
  }

  fill(maxRows: number): number {
    const rows = Math.min(maxRows, this.capacity, this.end - this.next);
    const { noGaps } = this;
    for (let row = 0; row < rows; row++) {
      const part = this.next + row + 1;
      this.key.values[row] = part;
      this.price.values[row] = retailPrice(part);
      this.drawName(row);
      this.drawManufacturerAndBrand(row);
    }
    fillPicks(this.typeStream, rows, noGaps, PART_TYPES, PART_TYPES.words.length, this.type);
    fillNumbers(this.sizeStream, rows, noGaps, 1, 50, this.size.values);
    fillPicks(this.containerStream, rows, noGaps, CONTAINERS, CONTAINERS.words.length, this.container);
    this.comment.fill(rows, noGaps);
    this.next += rows;
    return rows;
  }

  /** The first five colours of a shuffle. The other 87 swaps cannot move them: their draws are passed over. */
  private drawName(row: number): void {
    const { permutation, name } = this;
    permutation.set(this.identity);
    const start = name.starts[row];
    let at = start;
    let seed = this.nameStream.seed;
    for (let i = 0; i < NAME_WORDS; i++) {
      seed = nextSeed(seed);
      const other = drawn(seed, i, permutation.length - i);
      const colour = permutation[other];
      permutation[other] = permutation[i];
      if (i > 0) name.data[at++] = 0x20;
      const from = COLOURS.starts[colour];
      for (let letter = 0; letter < COLOURS.lengths[colour]; letter++) name.data[at++] = COLOURS.data[from + letter];
    }
    name.lengths[row] = at - start;
    this.nameStream.seed = multiplySeed(seed, this.skipUnusedSwaps);
  }

  private drawManufacturerAndBrand(row: number): void {
    this.manufacturerStream.seed = nextSeed(this.manufacturerStream.seed);
    this.brandStream.seed = nextSeed(this.brandStream.seed);
    const manufacturer = drawn(this.manufacturerStream.seed, 0, 5);
    setPick(this.manufacturer, row, MANUFACTURERS, manufacturer);
    setPick(this.brand, row, BRANDS, manufacturer * 5 + drawn(this.brandStream.seed, 0, 5));
  }
}

/** `partsupp`; `from` and `to` count parts, from 0. */
export class PartsuppSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly suppliers: number;
  private readonly capacity: number;
  private readonly noGaps: Uint8Array;
  private next: number;
  private readonly end: number;
  private readonly partKey: RawColumn;
  private readonly suppKey: RawColumn;
  private readonly quantity: RawColumn;
  private readonly cost: RawColumn;
  private readonly comment: Comments;
  private readonly quantityStream: Stream;
  private readonly costStream: Stream;

  constructor(cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    this.suppliers = cardinality.supplier;
    this.capacity = capacity;
    this.next = from;
    this.end = to;
    this.noGaps = new Uint8Array(capacity);
    this.partKey = RawColumn.numbers(Format.integer, capacity);
    this.suppKey = RawColumn.numbers(Format.integer, capacity);
    this.quantity = RawColumn.numbers(Format.integer, capacity);
    this.cost = RawColumn.numbers(Format.hundredths, capacity);
    this.comment = new Comments(pool, STREAMS.ps_comment, from, 124, capacity);
    this.columns = [this.partKey, this.suppKey, this.quantity, this.cost, this.comment.column];
    this.quantityStream = new Stream(STREAMS.ps_availqty, from);
    this.costStream = new Stream(STREAMS.ps_supplycost, from);
  }

  fill(maxRows: number): number {
    const mostRows = Math.min(maxRows, this.capacity);
    const parts = Math.min(Math.floor(mostRows / SUPPLIERS_PER_PART), this.end - this.next);
    const rows = parts * SUPPLIERS_PER_PART;
    for (let row = 0; row < rows; row++) {
      const part = this.next + Math.floor(row / SUPPLIERS_PER_PART) + 1;
      this.partKey.values[row] = part;
      this.suppKey.values[row] = supplierOfPart(part, row % SUPPLIERS_PER_PART, this.suppliers);
    }
    fillNumbers(this.quantityStream, rows, this.noGaps, 1, 9999, this.quantity.values);
    fillNumbers(this.costStream, rows, this.noGaps, 100, 99901, this.cost.values);
    this.comment.fill(rows, this.noGaps);
    this.next += parts;
    return rows;
  }
}
