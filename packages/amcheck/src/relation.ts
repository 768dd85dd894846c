// Checks the files of one relation: every page of every fork, heap tuples, and the visibility map against the heap.
import {
  type BlockNumber,
  type Finding,
  type FindingSink,
  FORK_NAMES,
  type ForkName,
  ForkNumber,
  formatLsn,
  type OffsetNumber,
  type Severity,
  type Steps,
} from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  findPageFaults,
  PageFault,
  type PageMemory,
  pageBoundsAreSane,
  pageIsNew,
  pageLsnHigh,
  pageLsnLow,
  pageVerify,
} from '@blockwright/page';
import { btreePageHasItems, type PageKind, pageKind } from '@blockwright/pageinspect';
import { segmentPath } from '@blockwright/smgr';
import type { TupleDescriptor } from '@blockwright/tuple';
import type { Vfs } from '@blockwright/vfs';
import { BlockReader, RUN_BYTES, type Segment } from './block-reader.ts';
import { HeapPageCheck, type HeapPageCounts } from './heap-page.ts';
import { findFreeSpaceFaults, findMapFaults } from './map-pages.ts';
import { MapReader } from './map-reader.ts';
import type { XidRange } from './xids.ts';

/** What was verified in one file. */
export interface FileSummary {
  /** Path as shown. */
  readonly file: string;
  readonly fork: ForkName;
  readonly segment: number;
  /** What the pages are: `heap`, `btree`, …, `visibility map`, `free space map`; `empty` for a file without pages. */
  kind: string;
  pages: number;
  /** All-zero pages among them. */
  zeroPages: number;
  /** Pages whose checksum was verified. */
  checksums: number;
  linePointers: number;
  tuples: number;
  /** Tuples whose attributes were walked and decoded too. */
  decodedTuples: number;
  /** Set bits of a visibility map that were compared with the heap's pages (or, for a map's own file, that it has). */
  mapBits: number;
  errors: number;
  warnings: number;
}

export interface RelationCheckOptions {
  readonly vfs: Vfs;
  readonly geometry: BlockGeometry;
  /** Path of the main fork's first segment. */
  readonly path: string;
  /** How a path is shown in findings and summaries; as it is by default. */
  readonly shown?: (path: string) => string;
  /** Blocks of a segment file, a power of two. */
  readonly segmentBlocks: number;
  /** Whether pages carry checksums. */
  readonly checksums: boolean;
  /** The table's columns, where known: tuples are decoded then. */
  readonly descriptor?: TupleDescriptor;
  /** Which xids can be in use. */
  readonly xids?: XidRange;
  /** Where the WAL ends: no page can be newer. */
  readonly endOfWal?: { readonly high: number; readonly low: number };
}

/** Reads of a damaged block before it is believed. */
const MOST_READS = 5;

/**
 * Checks a relation's files, and gives a summary a file. What is wrong goes to `sink`; nothing is thrown for damage.
 * @throws StorageError when a file cannot be read at all.
 */
export function* checkRelation(options: RelationCheckOptions, sink: FindingSink): Steps<FileSummary[]> {
  const check = new RelationCheck(options, sink);
  return yield* check.run();
}

class RelationCheck {
  private readonly options: RelationCheckOptions;
  private readonly shown: (path: string) => string;
  private readonly sink: FindingSink;
  private readonly summaries: FileSummary[] = [];
  private current: FileSummary | undefined = undefined;

  constructor(options: RelationCheckOptions, sink: FindingSink) {
    this.options = options;
    this.shown = options.shown ?? ((path) => path);
    this.sink = (finding) => {
      const summary = this.current;
      if (summary !== undefined) {
        if (finding.severity === 'error') summary.errors++;
        else if (finding.severity === 'warning') summary.warnings++;
      }
      sink(finding);
    };
  }

  *run(): Steps<FileSummary[]> {
    const heapBlocks = this.mainBlocks();
    for (const fork of [ForkNumber.vm, ForkNumber.fsm, ForkNumber.init]) yield* this.checkFork(fork, heapBlocks);
    yield* this.checkFork(ForkNumber.main, heapBlocks);
    return this.summaries;
  }

  /** Blocks of the main fork, without a word about what is wrong with its files: that is said when it is checked. */
  private mainBlocks(): number {
    const reader = this.open(ForkNumber.main, () => {});
    reader.close();
    return reader.blockCount;
  }

  private open(fork: ForkNumber, sink: FindingSink): BlockReader {
    const { vfs, geometry, path, segmentBlocks } = this.options;
    return BlockReader.open(vfs, geometry, path, fork, segmentBlocks, this.shown, sink);
  }

  private *checkFork(fork: ForkNumber, heapBlocks: number): Steps<void> {
    if (!this.options.vfs.exists(segmentPath(this.options.path, fork, 0))) return;
    const fileFindings: Finding[] = [];
    const reader = this.open(fork, (finding) => fileFindings.push(finding));
    const map = fork === ForkNumber.main ? this.openMap() : undefined;
    try {
      const pages = new PageChecks(this.options, reader, fork, heapBlocks, map?.map, (finding) => this.sink(finding));
      for (const segment of reader.segments) {
        const summary = newSummary(this.shown(segment.path), fork, segment.number);
        this.summaries.push(summary);
        this.current = summary;
        for (const finding of fileFindings) if (finding.segment === segment.number) this.sink(finding);
        yield* pages.checkSegment(segment, summary);
      }
      for (const finding of fileFindings)
        if (finding.segment !== undefined && finding.segment >= reader.segments.length) this.sink(finding);
    } finally {
      this.current = undefined;
      reader.close();
      map?.reader.close();
    }
  }

  private openMap(): { map: MapReader; reader: BlockReader } | undefined {
    const { vfs, geometry, path, checksums } = this.options;
    if (!vfs.exists(segmentPath(path, ForkNumber.vm, 0))) return undefined;
    const reader = this.open(ForkNumber.vm, () => {});
    return { map: new MapReader(geometry, reader, checksums), reader };
  }
}

/** The pages of one fork, segment after segment. */
class PageChecks {
  private readonly options: RelationCheckOptions;
  private readonly reader: BlockReader;
  private readonly fork: ForkNumber;
  private readonly heapBlocks: number;
  private readonly map: MapReader | undefined;
  private readonly sink: FindingSink;
  private readonly heap: HeapPageCheck;
  /** Line pointers of the current page that were found bad. */
  private readonly bad = new Set<OffsetNumber>();

  constructor(
    options: RelationCheckOptions,
    reader: BlockReader,
    fork: ForkNumber,
    heapBlocks: number,
    map: MapReader | undefined,
    sink: FindingSink,
  ) {
    this.options = options;
    this.reader = reader;
    this.fork = fork;
    this.heapBlocks = heapBlocks;
    this.map = map;
    this.sink = sink;
    const { geometry, descriptor, xids } = options;
    this.heap = new HeapPageCheck({ geometry, descriptor, xids, blockCount: heapBlocks });
  }

  *checkSegment(segment: Segment, summary: FileSummary): Steps<void> {
    const { shift } = this.options.geometry;
    const run = RUN_BYTES >>> shift;
    for (let done = 0; done < segment.blocks; done += run) {
      const count = Math.min(run, segment.blocks - done);
      const first = (segment.firstBlock + done) >>> 0;
      this.reader.read(first, count);
      for (let i = 0; i < count; i++) this.checkPage((first + i) >>> 0, i << shift, summary);
      yield { phase: `checking ${summary.file}`, done: done + count, total: segment.blocks, unit: 'blocks' };
    }
  }

  private checkPage(block: BlockNumber, at: number, summary: FileSummary): void {
    const { geometry, checksums } = this.options;
    const m = this.reader.memory;
    summary.pages++;
    const fault = pageVerify(m, at, geometry, block, checksums);
    if (fault !== PageFault.none && this.settle(block, at, summary)) return;
    const where = { file: summary.file, fork: summary.fork, segment: summary.segment };
    const isNew = pageIsNew(m, at);
    if (!isNew && checksums) summary.checksums++;
    const kind = this.fork === ForkNumber.main || this.fork === ForkNumber.init ? pageKind(m, at, geometry) : 'map';
    if (kind === 'new') summary.zeroPages++;
    this.bad.clear();
    findPageFaults(
      m,
      at,
      geometry,
      {
        block,
        checksum: checksums,
        blockCount: this.reader.blockCount,
        prefix: this.fork === ForkNumber.vm || this.fork === ForkNumber.fsm ? 'map_page' : 'page',
        linePointers: kind === 'heap' || (kind === 'btree' && btreePageHasItems(m, at)),
        leastItemBytes: kind === 'heap' ? 24 : 8,
        where,
      },
      (finding) => {
        if (finding.offsetNumber !== undefined) this.bad.add(finding.offsetNumber);
        // A zero page is ordinary in a map or an index, and worth a word in a heap.
        if (!(finding.severity === 'info' && this.fork !== ForkNumber.main)) this.sink(finding);
      },
    );
    if (isNew) return;
    this.checkLsn(m, at, block, where);
    if (this.fork === ForkNumber.main) this.checkMainPage(m, at, block, kind, summary, where);
    else if (this.fork === ForkNumber.vm)
      summary.mapBits += findMapFaults(m, at, geometry, block, this.heapBlocks, where, this.sink);
    else if (this.fork === ForkNumber.fsm) findFreeSpaceFaults(m, at, geometry, block, where, this.sink);
    if (this.fork === ForkNumber.vm) summary.kind = 'visibility map';
    else if (this.fork === ForkNumber.fsm) summary.kind = 'free space map';
    else if (this.fork === ForkNumber.init && summary.kind === 'empty') summary.kind = kind;
  }

  private checkMainPage(
    m: PageMemory,
    at: number,
    block: BlockNumber,
    kind: PageKind | 'map',
    summary: FileSummary,
    where: Partial<Finding>,
  ): void {
    if (summary.kind === 'empty' && kind !== 'damaged' && kind !== 'new') summary.kind = kind;
    const mapBits = this.map === undefined ? -1 : this.map.bits(block);
    if (kind === 'heap' && pageBoundsAreSane(m, at, this.options.geometry)) {
      if (summary.kind !== 'heap') {
        this.sink({
          code: 'page.other_kind',
          severity: 'error',
          message: `a heap page in a file of ${summary.kind} pages`,
          ...where,
          block,
        });
      }
      const counts: HeapPageCounts = { linePointers: 0, tuples: 0 };
      this.heap.check(m, at, block, mapBits, this.bad, where, this.sink, counts);
      summary.linePointers += counts.linePointers;
      summary.tuples += counts.tuples;
      if (this.options.descriptor !== undefined) summary.decodedTuples += counts.tuples;
      if (mapBits > 0) summary.mapBits += mapBits === 3 ? 2 : 1;
      return;
    }
    if (kind === 'btree' && btreePageHasItems(m, at)) summary.linePointers += itemCount(m, at);
    if (kind !== 'damaged' && kind !== 'new' && kind !== summary.kind) {
      const message = `not a ${summary.kind === 'heap' ? 'plain heap' : summary.kind} page: its special space is that of ${kind}`;
      this.sink({ code: 'page.other_kind', severity: 'error', message, ...where, block });
    }
    if (mapBits > 0) {
      const message = `the visibility map has bits for a page that is ${kind === 'new' ? 'all zero' : 'no heap page'}`;
      this.sink({ code: 'heap.map.set_without_page', severity: 'error', message, ...where, block });
    }
  }

  private checkLsn(m: PageMemory, at: number, block: BlockNumber, where: Partial<Finding>): void {
    const end = this.options.endOfWal;
    if (end === undefined) return;
    const high = pageLsnHigh(m, at);
    const low = pageLsnLow(m, at);
    if (high < end.high || (high === end.high && low <= end.low)) return;
    const severity: Severity = 'error';
    const message = `the page's LSN ${formatLsn(high, low)} is in the future: the WAL ends at ${formatLsn(end.high, end.low)}`;
    this.sink({ code: 'page.lsn_in_future', severity, message, ...where, block, byteOffset: 0 });
  }

  /**
   * A page that is found bad may be just being written: it is read again, and believed once it stays as it is. Returns
   * true when it never did: then it is said, and nothing else about it.
   */
  private settle(block: BlockNumber, at: number, summary: FileSummary): boolean {
    const { geometry, checksums } = this.options;
    const m = this.reader.memory;
    const { size } = geometry;
    const again = this.reader.scratch;
    for (let reads = 0; reads < MOST_READS; reads++) {
      this.reader.readInto(block, again);
      if (sameBytes(m.u8, at, again, size)) return false;
      m.u8.set(again.subarray(0, size), at);
      if (pageVerify(m, at, geometry, block, checksums) === PageFault.none) return false;
    }
    this.sink({
      code: 'page.in_flight',
      severity: 'warning',
      message: `the page changed at each of ${MOST_READS} readings: it is being written, and was not checked`,
      file: summary.file,
      fork: summary.fork,
      segment: summary.segment,
      block,
    });
    return true;
  }
}

function sameBytes(a: Uint8Array, at: number, b: Uint8Array, size: number): boolean {
  for (let i = 0; i < size; i++) if (a[at + i] !== b[i]) return false;
  return true;
}

function itemCount(m: PageMemory, at: number): number {
  return (m.u16[(at + 12) >>> 1] - 24) >>> 2;
}

function newSummary(file: string, fork: ForkNumber, segment: number): FileSummary {
  return {
    file,
    fork: FORK_NAMES[fork],
    segment,
    kind: 'empty',
    pages: 0,
    zeroPages: 0,
    checksums: 0,
    linePointers: 0,
    tuples: 0,
    decodedTuples: 0,
    mapBits: 0,
    errors: 0,
    warnings: 0,
  };
}
