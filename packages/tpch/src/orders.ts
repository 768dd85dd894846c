// Orders and their line items. An order's total and status follow from its lines, and its lines' dates from its own:
// both tables generate blocks of orders with the lines in them.
import {
  asciiBytes,
  Comments,
  Format,
  fillHundredths,
  fillNumbers,
  fillPicks,
  MOST_ROWS_PER_UNIT,
  RawColumn,
  type RowSource,
  setNumberedName,
  setPick,
} from './columns.ts';
import { FLAGS, PRIORITIES, SHIP_INSTRUCTIONS, SHIP_MODES } from './lists.ts';
import { retailPrice, supplierOfPart } from './part.ts';
import { drawn, MODULUS, nextSeed, STREAMS, Stream } from './random.ts';
import type { Cardinality } from './scale.ts';
import type { TextPool } from './text-pool.ts';

/** 1992-01-01, the first day of an order, in days from 2000-01-01. */
const FIRST_DAY = -2922;
const ORDER_DAYS = 2406;
/** 1995-06-17: what was received by then has come back or been kept, what was shipped by then is finished. */
const TODAY = -1659;
const MOST_LINES = MOST_ROWS_PER_UNIT;
/** Numbers in FLAGS. */
const FLAG_N = 2;
const STATUS_O = 3;
const STATUS_F = 4;
const STATUS_P = 5;

/** Eight keys of every 32 are used. */
function orderKey(order: number): number {
  return Math.floor(order / 8) * 32 + (order % 8);
}

/** A block of orders, and of their lines what both tables need. */
class OrderBlock {
  /** Orders in the block, the number of the first (from 1), and the number of all their lines. */
  orders = 0;
  firstOrder = 0;
  lines = 0;
  readonly lineCounts: Uint8Array;
  /** Days from 2000-01-01. */
  readonly orderDates: RawColumn;
  /** After each line, the number of line slots of its order that stay empty. */
  readonly gaps: Uint8Array;
  /** After each order, no draws are passed over. */
  readonly noGaps: Uint8Array;
  /** For each line, its order's number in the block. */
  readonly orderOfLine: Int32Array;
  readonly quantity: RawColumn;
  readonly discount: RawColumn;
  readonly tax: RawColumn;
  readonly partKey: RawColumn;
  readonly extendedPrice: RawColumn;
  readonly shipDate: RawColumn;
  readonly cardinality: Cardinality;
  private nextOrder: number;
  private readonly endOrder: number;
  private readonly orderCapacity: number;
  private readonly lineCapacity: number;
  private readonly lineCountStream: Stream;
  private readonly orderDateStream: Stream;
  private readonly quantityStream: Stream;
  private readonly discountStream: Stream;
  private readonly taxStream: Stream;
  private readonly partKeyStream: Stream;
  private readonly shipDateStream: Stream;

  constructor(cardinality: Cardinality, from: number, to: number, orderCapacity: number, lineCapacity: number) {
    this.cardinality = cardinality;
    this.nextOrder = from;
    this.endOrder = to;
    this.orderCapacity = orderCapacity;
    this.lineCapacity = lineCapacity;
    this.lineCounts = new Uint8Array(orderCapacity);
    this.noGaps = new Uint8Array(orderCapacity);
    this.orderDates = RawColumn.numbers(Format.date, orderCapacity);
    this.gaps = new Uint8Array(lineCapacity);
    this.orderOfLine = new Int32Array(lineCapacity);
    this.quantity = RawColumn.numbers(Format.wholeHundredths, lineCapacity);
    this.discount = RawColumn.numbers(Format.hundredths, lineCapacity);
    this.tax = RawColumn.numbers(Format.hundredths, lineCapacity);
    this.partKey = RawColumn.numbers(Format.integer, lineCapacity);
    this.extendedPrice = RawColumn.numbers(Format.hundredths, lineCapacity);
    this.shipDate = RawColumn.numbers(Format.date, lineCapacity);
    this.lineCountStream = new Stream(STREAMS.o_lineCount, from);
    this.orderDateStream = new Stream(STREAMS.o_orderdate, from);
    this.quantityStream = new Stream(STREAMS.l_quantity, from);
    this.discountStream = new Stream(STREAMS.l_discount, from);
    this.taxStream = new Stream(STREAMS.l_tax, from);
    this.partKeyStream = new Stream(STREAMS.l_partkey, from);
    this.shipDateStream = new Stream(STREAMS.l_shipdate, from);
  }

  /** The next orders: at most `maxOrders`, and as many as have at most `maxLines` lines. */
  fill(maxOrders: number, maxLines: number): void {
    this.fillLineCounts(Math.min(maxOrders, this.orderCapacity), Math.min(maxLines, this.lineCapacity));
    const { lines, gaps } = this;
    fillNumbers(this.orderDateStream, this.orders, this.noGaps, FIRST_DAY, ORDER_DAYS, this.orderDates.values);
    fillHundredths(this.quantityStream, lines, gaps, 1, 50, this.quantity.values);
    fillNumbers(this.discountStream, lines, gaps, 0, 11, this.discount.values);
    fillNumbers(this.taxStream, lines, gaps, 0, 9, this.tax.values);
    fillNumbers(this.partKeyStream, lines, gaps, 1, this.cardinality.part, this.partKey.values);
    fillNumbers(this.shipDateStream, lines, gaps, 1, 121, this.shipDate.values);
    const partKeys = this.partKey.values;
    const quantities = this.quantity.values;
    const prices = this.extendedPrice.values;
    for (let line = 0; line < lines; line++) prices[line] = (retailPrice(partKeys[line]) * quantities[line]) / 100;
    this.addOrderDates(this.shipDate.values);
  }

  private fillLineCounts(maxOrders: number, maxLines: number): void {
    const { lineCounts, gaps, orderOfLine, lineCountStream } = this;
    let seed = lineCountStream.seed;
    let orders = 0;
    let lines = 0;
    const stop = Math.min(maxOrders, this.endOrder - this.nextOrder);
    while (orders < stop && lines + MOST_LINES <= maxLines) {
      seed = nextSeed(seed);
      const count = drawn(seed, 1, MOST_LINES);
      lineCounts[orders] = count;
      for (let i = 0; i < count; i++) {
        gaps[lines + i] = 0;
        orderOfLine[lines + i] = orders;
      }
      lines += count;
      gaps[lines - 1] = MOST_LINES - count;
      orders++;
    }
    lineCountStream.seed = seed;
    this.orders = orders;
    this.lines = lines;
    this.firstOrder = this.nextOrder + 1;
    this.nextOrder += orders;
  }

  /** Adds each line's order date to `values`. */
  addOrderDates(values: Float64Array): void {
    const { orderOfLine, lines } = this;
    const dates = this.orderDates.values;
    for (let line = 0; line < lines; line++) values[line] += dates[orderOfLine[line]];
  }
}

/** `lineitem`; `from` and `to` count orders, from 0. */
export class LineitemSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly block: OrderBlock;
  private readonly orderKey: RawColumn;
  private readonly suppKey: RawColumn;
  private readonly lineNumber: RawColumn;
  private readonly returnFlag: RawColumn;
  private readonly lineStatus: RawColumn;
  private readonly commitDate: RawColumn;
  private readonly receiptDate: RawColumn;
  private readonly shipInstruct: RawColumn;
  private readonly shipMode: RawColumn;
  private readonly comment: Comments;
  private readonly suppKeyStream: Stream;
  private readonly commitDateStream: Stream;
  private readonly receiptDateStream: Stream;
  private readonly returnFlagStream: Stream;
  private readonly shipInstructStream: Stream;
  private readonly shipModeStream: Stream;

  constructor(cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    const block = new OrderBlock(cardinality, from, to, capacity, capacity);
    this.block = block;
    this.orderKey = RawColumn.numbers(Format.integer, capacity);
    this.suppKey = RawColumn.numbers(Format.integer, capacity);
    this.lineNumber = RawColumn.numbers(Format.integer, capacity);
    this.returnFlag = RawColumn.picks(FLAGS, capacity);
    this.lineStatus = RawColumn.picks(FLAGS, capacity);
    this.commitDate = RawColumn.numbers(Format.date, capacity);
    this.receiptDate = RawColumn.numbers(Format.date, capacity);
    this.shipInstruct = RawColumn.picks(SHIP_INSTRUCTIONS, capacity);
    this.shipMode = RawColumn.picks(SHIP_MODES, capacity);
    this.comment = new Comments(pool, STREAMS.l_comment, from, 27, capacity);
    this.columns = [
      this.orderKey,
      block.partKey,
      this.suppKey,
      this.lineNumber,
      block.quantity,
      block.extendedPrice,
      block.discount,
      block.tax,
      this.returnFlag,
      this.lineStatus,
      block.shipDate,
      this.commitDate,
      this.receiptDate,
      this.shipInstruct,
      this.shipMode,
      this.comment.column,
    ];
    this.suppKeyStream = new Stream(STREAMS.l_suppkey, from);
    this.commitDateStream = new Stream(STREAMS.l_commitdate, from);
    this.receiptDateStream = new Stream(STREAMS.l_receiptdate, from);
    this.returnFlagStream = new Stream(STREAMS.l_returnflag, from);
    this.shipInstructStream = new Stream(STREAMS.l_shipinstruct, from);
    this.shipModeStream = new Stream(STREAMS.l_shipmode, from);
  }

  fill(maxRows: number): number {
    const { block } = this;
    block.fill(maxRows, maxRows);
    const { lines, gaps } = block;
    this.fillKeys();
    fillNumbers(this.commitDateStream, lines, gaps, 30, 61, this.commitDate.values);
    block.addOrderDates(this.commitDate.values);
    fillNumbers(this.receiptDateStream, lines, gaps, 1, 30, this.receiptDate.values);
    const receipts = this.receiptDate.values;
    const ships = block.shipDate.values;
    for (let line = 0; line < lines; line++) receipts[line] += ships[line];
    this.fillFlags();
    fillPicks(this.shipInstructStream, lines, gaps, SHIP_INSTRUCTIONS, 4, this.shipInstruct);
    fillPicks(this.shipModeStream, lines, gaps, SHIP_MODES, 7, this.shipMode);
    this.comment.fill(lines, gaps);
    return lines;
  }

  private fillKeys(): void {
    const { block } = this;
    const { lineCounts, orders, lines, cardinality } = block;
    const orderKeys = this.orderKey.values;
    const lineNumbers = this.lineNumber.values;
    let line = 0;
    for (let order = 0; order < orders; order++) {
      const key = orderKey(block.firstOrder + order);
      const end = line + lineCounts[order];
      for (let number = 1; line < end; line++, number++) {
        orderKeys[line] = key;
        lineNumbers[line] = number;
      }
    }
    const suppKeys = this.suppKey.values;
    const partKeys = block.partKey.values;
    fillNumbers(this.suppKeyStream, lines, block.gaps, 0, 4, suppKeys);
    for (line = 0; line < lines; line++) {
      suppKeys[line] = supplierOfPart(partKeys[line], suppKeys[line], cardinality.supplier);
    }
  }

  /** A return flag is drawn only for what has been received; the draws not made are passed over after the last line. */
  private fillFlags(): void {
    const { block } = this;
    const { lines, gaps } = block;
    const receipts = this.receiptDate.values;
    const ships = block.shipDate.values;
    let seed = this.returnFlagStream.seed;
    let passed = 0;
    for (let line = 0; line < lines; line++) {
      let flag = FLAG_N;
      if (receipts[line] <= TODAY) {
        seed = nextSeed(seed);
        flag = Math.floor((seed / MODULUS) * 2);
      } else {
        passed++;
      }
      setPick(this.returnFlag, line, FLAGS, flag);
      setPick(this.lineStatus, line, FLAGS, ships[line] <= TODAY ? STATUS_F : STATUS_O);
      if (line + 1 === lines || block.orderOfLine[line + 1] !== block.orderOfLine[line]) {
        for (passed += gaps[line]; passed > 0; passed--) seed = nextSeed(seed);
      }
    }
    this.returnFlagStream.seed = seed;
  }
}

const CLERK = asciiBytes('Clerk#');
const CLERK_WIDTH = 24;

/** `orders`; `from` and `to` count rows, from 0. */
export class OrdersSource implements RowSource {
  readonly columns: readonly RawColumn[];
  private readonly block: OrderBlock;
  private readonly orderKey: RawColumn;
  private readonly custKey: RawColumn;
  private readonly status: RawColumn;
  private readonly totalPrice: RawColumn;
  private readonly priority: RawColumn;
  private readonly clerk: RawColumn;
  private readonly comment: Comments;
  private readonly custKeyStream: Stream;
  private readonly priorityStream: Stream;
  private readonly clerkStream: Stream;

  constructor(cardinality: Cardinality, pool: TextPool, from: number, to: number, capacity: number) {
    const block = new OrderBlock(cardinality, from, to, capacity, capacity * MOST_LINES);
    this.block = block;
    this.orderKey = RawColumn.numbers(Format.integer, capacity);
    this.custKey = RawColumn.numbers(Format.integer, capacity);
    this.status = RawColumn.picks(FLAGS, capacity);
    this.totalPrice = RawColumn.numbers(Format.hundredths, capacity);
    this.priority = RawColumn.picks(PRIORITIES, capacity);
    this.clerk = RawColumn.slots(CLERK_WIDTH, capacity);
    this.comment = new Comments(pool, STREAMS.o_comment, from, 49, capacity);
    this.columns = [
      this.orderKey,
      this.custKey,
      this.status,
      this.totalPrice,
      block.orderDates,
      this.priority,
      this.clerk,
      RawColumn.numbers(Format.integer, capacity), // the ship priority is 0 for all
      this.comment.column,
    ];
    this.custKeyStream = new Stream(STREAMS.o_custkey, from);
    this.priorityStream = new Stream(STREAMS.o_orderpriority, from);
    this.clerkStream = new Stream(STREAMS.o_clerk, from);
  }

  fill(maxRows: number): number {
    const { block } = this;
    block.fill(maxRows, maxRows * MOST_LINES);
    const { orders, noGaps, cardinality } = block;
    fillNumbers(this.custKeyStream, orders, noGaps, 1, cardinality.customer, this.custKey.values);
    const clerks = this.orderKey.values; // until the keys are written there
    fillNumbers(this.clerkStream, orders, noGaps, 1, cardinality.clerks, clerks);
    for (let order = 0; order < orders; order++) {
      setNumberedName(this.clerk, order, CLERK, clerks[order]);
      this.custKey.values[order] = buyingCustomer(this.custKey.values[order], cardinality.customer);
      this.orderKey.values[order] = orderKey(block.firstOrder + order);
    }
    this.fillTotals();
    fillPicks(this.priorityStream, orders, noGaps, PRIORITIES, 5, this.priority);
    this.comment.fill(orders, noGaps);
    return orders;
  }

  private fillTotals(): void {
    const { block } = this;
    const prices = block.extendedPrice.values;
    const discounts = block.discount.values;
    const taxes = block.tax.values;
    const ships = block.shipDate.values;
    let line = 0;
    for (let order = 0; order < block.orders; order++) {
      const count = block.lineCounts[order];
      let total = 0;
      let finished = 0;
      for (const end = line + count; line < end; line++) {
        const discounted = Math.floor((prices[line] * (100 - discounts[line])) / 100);
        total += Math.floor((discounted * (100 + taxes[line])) / 100);
        if (ships[line] <= TODAY) finished++;
      }
      this.totalPrice.values[order] = total;
      setPick(this.status, order, FLAGS, finished === count ? STATUS_F : finished === 0 ? STATUS_O : STATUS_P);
    }
  }
}

/** Every third customer orders nothing: one drawn is passed on to a neighbour. */
function buyingCustomer(drawnKey: number, customers: number): number {
  let key = drawnKey;
  let step = 1;
  while (key % 3 === 0) {
    key = Math.min(key + step, customers);
    step = -step;
  }
  return key;
}
