// The rows of a table, as one of its indexes must know them: for each line pointer whether an entry may lead there, must,
// and did, and a hash of the entry that the row makes. 5 bytes a line pointer, no object a row. PostgreSQL: heapallindexed
// of bt_index_check, which asks a Bloom filter; here every row is looked up.
import { type BlockNumber, isStorageError, type OffsetNumber, type Progress } from '@blockwright/base';
import { isPosting, postingOffset } from '@blockwright/nbtree';
import {
  LP_NORMAL,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  PageFault,
  type PageMemory,
  pageIsNew,
  pageMaxOffset,
  pageMemory,
  pageVerifyHeader,
} from '@blockwright/page';
import {
  INDEX_NULL_MASK,
  INDEX_VAR_MASK,
  type IndexTupleFormer,
  indexTupleInfo,
  indexTupleSize,
  isHeapOnly,
  RowDecoder,
  type TupleMemory,
  tupleInfomask2,
} from '@blockwright/tuple';
import type { BlockReader } from './block-reader.ts';
import type { BtreePages } from './btree-pages.ts';
import type { BtreeReport } from './btree-report.ts';
import type { Fates } from './fates.ts';
import { ChainWalk, NO_ROW, UNKNOWN_ROW } from './heap-chain.ts';
import { RUN_BYTES } from './page-prover.ts';

// What is known of a line pointer.
const UNUSED = 0;
const HEAP_ONLY = 1;
/** An entry may lead there: a row that is gone, or not certain. */
const MAY_BE = 2;
/** A visible row, or the beginning of its chain: there must be an entry. */
const DUE = 3;
const FOUND = 4;

/** Of what is missing, and so on no page. */
const NO_PAGE: BlockNumber = 0;

/** Findings of one kind an index: after that many they are only counted. */
const MOST_SAID = 100;
/** Entries whose bytes are not as expected: what was compressed differently is looked at again. */
const MOST_DOUBTS = 10_000;

export interface HeapRowsOptions {
  readonly reader: BlockReader;
  readonly former: IndexTupleFormer;
  readonly fates: Fates | undefined;
  readonly report: BtreeReport;
  /** Of the table and of the index, for messages. */
  readonly tableName: string;
  readonly indexName: string;
}

/** The rows of one table, and which of them the index has. */
export class HeapRows {
  /** Rows that must have an entry. */
  due = 0;
  /** Entries that were held against their row. */
  held = 0;
  private readonly options: HeapRowsOptions;
  private readonly pages: BtreePages;
  private readonly chain: ChainWalk;
  private readonly memory: PageMemory = pageMemory(new ArrayBuffer(RUN_BYTES));
  /** Where the line pointers of a block begin in the arrays that follow. */
  private readonly starts: Uint32Array;
  /** One for blocks of which nothing can be said. */
  private readonly isUnknown: Uint8Array;
  private states: Uint8Array = new Uint8Array(1024);
  private hashes: Uint32Array = new Uint32Array(1024);
  private count = 0;
  /** Four numbers a doubt: heap block and offset, index block and offset. */
  private readonly doubts: number[] = [];
  private said = 0;
  /** Columns that the index only carries along, and what reads them. */
  private readonly carried: readonly number[];
  private readonly carriedDecoder: RowDecoder;
  private unsaid = 0;

  /** @param pages of the index */
  constructor(options: HeapRowsOptions, pages: BtreePages) {
    this.options = options;
    this.pages = pages;
    this.chain = new ChainWalk(options.fates);
    const { format } = options.former;
    this.carried = Array.from({ length: format.columnCount - format.keyCount }, (_, i) => format.keyCount + i);
    this.carriedDecoder = RowDecoder.for(format.descriptor, this.carried, { layout: 'index' });
    const { blockCount } = options.reader;
    this.starts = new Uint32Array(blockCount + 1);
    this.isUnknown = new Uint8Array(blockCount);
  }

  /** Reads the table. */
  *read(): Generator<Progress> {
    const { reader } = this.options;
    const { shift } = this.pages.geometry;
    const run = RUN_BYTES >>> shift;
    let block = 0;
    for (const segment of reader.segments) {
      for (; block < segment.firstBlock; block++) this.leaveOut(block);
      for (let done = 0; done < segment.blocks; done += run) {
        const count = Math.min(run, segment.blocks - done);
        const read = this.readRun(segment, done, count);
        for (let i = 0; i < count; i++, block++) {
          if (i < read) this.readPage(block, i << shift);
          else this.leaveOut(block);
        }
        const unit = 'blocks';
        yield { phase: `reading ${this.options.tableName}`, done: done + count, total: segment.blocks, unit };
      }
    }
    this.starts[block] = this.count;
  }

  private readRun(segment: BlockReader['segments'][number], first: number, count: number): number {
    try {
      return this.options.reader.read(segment, first, count, this.memory.u8);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return 0; // said where the table's own pages are checked
    }
  }

  private leaveOut(block: BlockNumber): void {
    this.starts[block] = this.count;
    this.isUnknown[block] = 1;
  }

  private readPage(block: BlockNumber, base: number): void {
    const m = this.memory;
    const { geometry } = this.pages;
    this.starts[block] = this.count;
    if (pageIsNew(m, base)) return;
    if (pageVerifyHeader(m, base, geometry) !== PageFault.none) {
      this.isUnknown[block] = 1;
      return;
    }
    const last = pageMaxOffset(m, base);
    this.makeRoom(this.count + last);
    this.chain.beginPage(m, base, block, geometry.size);
    for (let o = 1; o <= last; o++) {
      const at = this.count + o - 1;
      this.states[at] = this.stateOf(m, base, o);
      if (this.states[at] !== MAY_BE) continue;
      const position = this.chain.visibleFrom(o);
      if (position === NO_ROW || position === UNKNOWN_ROW) continue;
      if (this.form(m, position, this.chain.length, block, o)) {
        const { memory, length } = this.options.former;
        this.hashes[at] = hashOf(memory, 0, length);
        this.states[at] = DUE;
        this.due++;
      }
    }
    this.count += last;
  }

  private stateOf(m: PageMemory, base: number, offset: OffsetNumber): number {
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) === LP_UNUSED) return UNUSED;
    if (lpFlags(lp) !== LP_NORMAL || lpLength(lp) < 24) return MAY_BE;
    const at = base + lpOffset(lp);
    const liesOnPage = lpOffset(lp) + lpLength(lp) <= this.pages.geometry.size;
    return liesOnPage && (at & 3) === 0 && isHeapOnly(tupleInfomask2(m, at)) ? HEAP_ONLY : MAY_BE;
  }

  /** Whether the row makes an entry; what is wrong with one that does not is said where the table is checked. */
  private form(m: PageMemory, position: number, length: number, block: BlockNumber, offset: OffsetNumber): boolean {
    try {
      this.options.former.fromHeap(m, position, length, block, offset);
      return true;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return false;
    }
  }

  private makeRoom(count: number): void {
    if (count <= this.states.length) return;
    let room = this.states.length;
    while (room < count) room += room;
    const states = new Uint8Array(room);
    states.set(this.states);
    this.states = states;
    const hashes = new Uint32Array(room);
    hashes.set(this.hashes);
    this.hashes = hashes;
  }

  /**
   * The index has an entry, in the tuple at `pos` of item (`block`, `offset`), for the row (`heapBlock`, `heapOffset`).
   * Whether that row is visible.
   */
  entry(
    heapBlock: BlockNumber,
    heapOffset: OffsetNumber,
    m: TupleMemory,
    pos: number,
    block: BlockNumber,
    offset: OffsetNumber,
  ): boolean {
    const { tableName } = this.options;
    if (heapBlock >= this.isUnknown.length) {
      const message = `the entry leads to (${heapBlock},${heapOffset}); "${tableName}" has ${this.isUnknown.length} blocks`;
      this.say('entry.beyond_heap', block, offset, message);
      return false;
    }
    if (this.isUnknown[heapBlock] !== 0) return false;
    const start = this.starts[heapBlock];
    const lines = this.starts[heapBlock + 1] - start;
    if (heapOffset < 1 || heapOffset > lines) {
      const message = `the entry leads to (${heapBlock},${heapOffset}), where the page has ${lines} line pointers`;
      this.say('entry.beyond_line_pointers', block, offset, message);
      return false;
    }
    const at = start + heapOffset - 1;
    const state = this.states[at];
    if (state === DUE || state === FOUND) return this.hold(at, heapBlock, heapOffset, m, pos, block, offset);
    this.held++;
    if (state === MAY_BE) return false;
    if (state === UNUSED) {
      const message = `the entry leads to line pointer (${heapBlock},${heapOffset}), which is unused`;
      this.say('entry.unused_line_pointer', block, offset, message);
    } else {
      const message = `the entry leads to (${heapBlock},${heapOffset}), a heap-only tuple: no entry may`;
      this.say('entry.heap_only_tuple', block, offset, message);
    }
    return false;
  }

  private hold(
    at: number,
    heapBlock: BlockNumber,
    heapOffset: OffsetNumber,
    m: TupleMemory,
    pos: number,
    block: BlockNumber,
    offset: OffsetNumber,
  ): boolean {
    this.held++;
    if (this.states[at] === FOUND) {
      this.say(
        'entry.twice',
        block,
        offset,
        `the index has more than one entry for heap tuple (${heapBlock},${heapOffset})`,
      );
      return false;
    }
    this.states[at] = FOUND;
    const length = isPosting(m, pos) ? postingOffset(m, pos) : indexTupleSize(m, pos);
    if (hashOf(m, pos, length) !== this.hashes[at]) {
      if (this.doubts.length < 4 * MOST_DOUBTS) this.doubts.push(heapBlock, heapOffset, block, offset);
      else this.sayOther(heapBlock, heapOffset, block, offset);
    }
    return true;
  }

  /** After the last entry: what was expected and did not come. */
  finish(): void {
    for (let i = 0; i < this.doubts.length; i += 4) {
      const [heapBlock, heapOffset, block, offset] = this.doubts.slice(i, i + 4);
      if (!this.hasSameValues(heapBlock, heapOffset, block, offset))
        this.sayOther(heapBlock, heapOffset, block, offset);
    }
    const { tableName, indexName } = this.options;
    for (let block = 0; block < this.isUnknown.length; block++) {
      for (let at = this.starts[block]; at < this.starts[block + 1]; at++) {
        if (this.states[at] !== DUE) continue;
        const tid = `(${block},${at - this.starts[block] + 1})`;
        const message = `heap tuple ${tid} from table "${tableName}" lacks matching index tuple within index "${indexName}"`;
        this.say('heap_tuple_lacks_entry', NO_PAGE, 0, message);
      }
    }
    if (this.unsaid > 0) {
      const message = `${this.unsaid} more faults between the index and table "${tableName}" were found`;
      this.options.report.ofIndex('entry.more', message);
    }
  }

  private sayOther(heapBlock: BlockNumber, heapOffset: OffsetNumber, block: BlockNumber, offset: OffsetNumber): void {
    const message = `heap tuple (${heapBlock},${heapOffset}) lacks matching index tuple: the entry for it has another key`;
    this.say('entry.other_key', block, offset, message);
  }

  /** Whether entry and row hold the same values, in bytes or compressed in another way. */
  private hasSameValues(
    heapBlock: BlockNumber,
    heapOffset: OffsetNumber,
    block: BlockNumber,
    offset: OffsetNumber,
  ): boolean {
    const { reader, former } = this.options;
    const { pages } = this;
    const segment = reader.segmentOf(heapBlock);
    if (segment === undefined || this.readRun(segment, heapBlock - segment.firstBlock, 1) !== 1) return true;
    this.chain.beginPage(this.memory, 0, heapBlock, pages.geometry.size);
    const position = this.chain.visibleFrom(heapOffset);
    if (position < 0 || !this.form(this.memory, position, this.chain.length, heapBlock, heapOffset)) return true;
    pages.load(block);
    const { format, memory } = former;
    const pos = pages.base + lpOffset(linePointer(pages.memory, pages.base, offset));
    try {
      if (format.firstDifferentImage(memory, 0, pages.memory, pos, format.keyCount) <= format.keyCount) return false;
      if (this.carried.length === 0) return true;
      const decoder = this.carriedDecoder;
      const expected = decoder.array(memory, 0, former.length);
      const found = decoder.array(pages.memory, pos, indexTupleSize(pages.memory, pos));
      return this.carried.every((column, i) => {
        const { type } = format.descriptor.columns[column];
        const [a, b] = [expected[i], found[i]];
        return a === null || b === null ? a === b : type.toText(a) === type.toText(b);
      });
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return false;
    }
  }

  private say(code: string, block: BlockNumber, offset: OffsetNumber, message: string): void {
    const { report } = this.options;
    if (this.said++ >= MOST_SAID) this.unsaid++;
    else if (block === NO_PAGE) report.ofIndex(code, message);
    else report.error(code, block, offset, message);
  }
}

/** Of the attributes of an index tuple whose key ends at its byte `length`, a multiple of 8. */
function hashOf(m: TupleMemory, pos: number, length: number): number {
  const { u32 } = m;
  let hash = (indexTupleInfo(m, pos) & (INDEX_NULL_MASK | INDEX_VAR_MASK)) ^ length;
  for (let at = (pos + 8) >>> 2, end = (pos + length) >>> 2; at < end; at++) {
    hash = Math.imul(hash ^ u32[at], 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
