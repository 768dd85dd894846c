// The pages of one fork, segment after segment: read in runs, each page verified by itself and as what its fork holds.
import {
  type BlockNumber,
  type FindingSink,
  ForkNumber,
  formatLsn,
  isStorageError,
  type Progress,
  type Steps,
} from '@blockwright/base';
import {
  findPageFaults,
  PageFault,
  type PageMemory,
  pageBoundsAreSane,
  pageIsNew,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pageVerify,
} from '@blockwright/page';
import { btreePageHasItems, type PageKind, pageKind } from '@blockwright/pageinspect';
import type { BlockReader, Segment } from './block-reader.ts';
import { HeapPageCheck } from './heap-page.ts';
import { LineStates } from './line-states.ts';
import { findFreeSpaceFaults, findMapFaults, findMapHeaderFaults } from './map-pages.ts';
import type { MapReader } from './map-reader.ts';
import { kindOfPages } from './page-kinds.ts';
import { NO_MAP, type PageProver, type ProvenKind, type ProverPremises, RUN_BYTES } from './page-prover.ts';
import { PageReport } from './page-report.ts';
import type { SegmentProofs } from './proofs.ts';
import { provenColumns } from './proven-columns.ts';
import type { RelationCheckOptions } from './relation.ts';
import type { Proof } from './relation-prover.ts';
import type { FileSummary } from './summary.ts';

/** Reads of a damaged block before it is believed. */
const MOST_READS = 5;
/** Wrong checksums of a fork for which the block that they would fit is looked for: each search takes a moment. */
const MOST_SEARCHES = 64;
/** Byte of pd_special. */
const SPECIAL_BYTE = 16;
const HEAP_TUPLE_BYTES = 24;
const INDEX_TUPLE_BYTES = 8;

/** What the pages of one fork are checked against. */
export interface ForkPremises {
  readonly fork: ForkNumber;
  readonly reader: BlockReader;
  /** Blocks of the main fork. */
  readonly heapBlocks: number;
  /** The visibility map, where there is one. */
  readonly map: MapReader | undefined;
  /** Where runs of blocks are read to, and what knows the clean ones. */
  readonly prover: PageProver;
}

/** What it takes to say what is wrong with a page. */
class CloseLook {
  readonly heap: HeapPageCheck;
  readonly lines: LineStates;
  readonly again: Uint8Array;

  constructor({ geometry, descriptor, xids, fates, toast, utf8 = false }: RelationCheckOptions) {
    this.heap = new HeapPageCheck({ geometry, descriptor, utf8, toast, xids, fates });
    this.lines = new LineStates(geometry.maxOffsetNumber);
    this.again = new Uint8Array(geometry.size);
  }
}

/** Checks the pages of one fork. */
export class PageChecks {
  private readonly options: RelationCheckOptions;
  private readonly premises: ForkPremises;
  private readonly sink: FindingSink;
  /** Made for the first page that is not known to be clean: most files have none. */
  private looks: CloseLook | undefined = undefined;
  /** What the main fork's pages are, told by the first of them. */
  private kind: PageKind | undefined = undefined;
  private searches = 0;
  private proverPremises: ProverPremises | undefined = undefined;

  constructor(options: RelationCheckOptions, premises: ForkPremises, sink: FindingSink) {
    this.options = options;
    this.premises = premises;
    this.sink = sink;
    if (options.descriptor !== undefined) this.kind = 'heap';
  }

  /** Checks the blocks of a segment. What cannot be read is a finding a block. */
  *checkSegment(segment: Segment, summary: FileSummary): Steps<void> {
    const { fork } = this.premises;
    const where = { file: summary.file, fork: summary.fork, segment: summary.segment };
    const report = new PageReport(where, this.options.geometry.mask, this.sink);
    const proofs = fork === ForkNumber.main ? this.options.threads?.ofSegment(segment.path, segment.blocks) : undefined;
    if (proofs !== undefined && (this.kind ?? proofs.kind) === proofs.kind) {
      this.kind = proofs.kind;
      yield* this.checkUnits(segment, proofs, summary, report);
    } else yield* this.checkRuns(segment, 0, segment.blocks, summary, report);
  }

  /** Checks the blocks from `first` to before `end`, run after run; false when the file ends before. */
  private *checkRuns(
    segment: Segment,
    first: number,
    end: number,
    summary: FileSummary,
    report: PageReport,
  ): Steps<boolean> {
    const run = RUN_BYTES >>> this.options.geometry.shift;
    for (let done = first; done < end; done += run) {
      const count = Math.min(run, end - done);
      if (!this.checkRun(segment, done, count, summary, report)) return false;
      yield progressOf(segment, done + count, summary);
    }
    return true;
  }

  /** Checks what was not proven of a segment, unit after unit. */
  private *checkUnits(segment: Segment, proofs: SegmentProofs, summary: FileSummary, report: PageReport): Steps<void> {
    for (let first = 0; first < segment.blocks; first += proofs.unitBlocks) {
      const end = Math.min(first + proofs.unitBlocks, segment.blocks);
      while (!proofs.isReady(first)) yield progressOf(segment, first, summary);
      const proof = proofs.proof(first);
      if (proof === undefined) {
        if (!(yield* this.checkRuns(segment, first, end, summary, report))) return;
        continue;
      }
      this.countClean(proof, summary);
      for (let block = first; block < end && proof.clean < end - first; ) {
        if (proofs.isProven(block)) block++;
        else {
          let behind = block + 1;
          while (behind < end && !proofs.isProven(behind)) behind++;
          if (!(yield* this.checkRuns(segment, block, behind, summary, report))) return;
          block = behind;
        }
      }
      yield progressOf(segment, end, summary);
    }
  }

  private get look(): CloseLook {
    this.looks ??= new CloseLook(this.options);
    return this.looks;
  }

  /** Checks `count` blocks from `first` on; false when the file ends before. */
  private checkRun(segment: Segment, first: number, count: number, summary: FileSummary, report: PageReport): boolean {
    const { shift } = this.options.geometry;
    let read: number;
    try {
      read = this.premises.reader.read(segment, first, count, this.premises.prover.memory.u8);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (count > 1) {
        for (let i = 0; i < count; i++) if (!this.checkRun(segment, first + i, 1, summary, report)) return false;
        return true;
      }
      report.beginPage(segment.firstBlock + first);
      report.page('error', 'page.unreadable', `the page cannot be read: ${error.message}`);
      return true;
    }
    this.kind ??= kindOfPages(this.premises.prover.memory, read, this.options.geometry);
    const { prover } = this.premises;
    const clean = this.proveRun(segment.firstBlock + first, read, summary);
    if (clean < read) {
      for (let i = 0; i < read; i++)
        if (clean === 0 || !prover.isClean(i)) this.checkPage(segment, first + i, i << shift, summary, report);
    }
    if (read === count) return true;
    report.beginPage(segment.firstBlock + first + read);
    report.page('warning', 'file.cut_short', 'the file became shorter while it was read: it is in use');
    return false;
  }

  /** Counts the pages of the run that are certainly clean, and gives their number; the prover knows which they are. */
  private proveRun(block: BlockNumber, count: number, summary: FileSummary): number {
    const { fork, map, prover } = this.premises;
    const { kind } = this;
    if (fork !== ForkNumber.main || (kind !== 'heap' && kind !== 'btree')) return 0;
    this.proverPremises ??= this.premisesOfProver(kind);
    if (this.proverPremises === undefined) return 0;
    prover.setPremises(this.proverPremises);
    if (map === undefined || kind === 'btree') prover.mapBits.fill(NO_MAP, 0, count);
    else for (let i = 0; i < count; i++) prover.mapBits[i] = map.bits(block + i);
    const clean = prover.prove(block, count);
    if (clean > 0) {
      const { linePointers, tuples, setMapBits } = prover;
      this.countClean({ clean, linePointers, tuples, mapBits: setMapBits }, summary);
    }
    return clean;
  }

  private countClean({ clean, linePointers, tuples, mapBits }: Proof, summary: FileSummary): void {
    summary.pages += clean;
    if (this.options.checksums) summary.checksums += clean;
    summary.linePointers += linePointers;
    summary.tuples += tuples;
    if (this.options.descriptor !== undefined) summary.decodedTuples += tuples;
    if (this.options.fates !== undefined) summary.judgedTuples += tuples;
    summary.mapBits += mapBits;
    if (summary.kind === 'empty' && clean > 0 && this.kind !== undefined) summary.kind = this.kind;
  }

  private premisesOfProver(kind: ProvenKind): ProverPremises | undefined {
    const { geometry, checksums, descriptor, utf8 = false, xids, fates, endOfWal } = this.options;
    const columns = descriptor === undefined ? undefined : provenColumns(descriptor, utf8);
    if (descriptor !== undefined && columns === undefined) return undefined;
    const committed = kind === 'heap' ? fates?.committedXids() : undefined;
    return { geometry, kind, checksums, columns, xids, committed, endOfWal };
  }

  private checkPage(segment: Segment, within: number, at: number, summary: FileSummary, report: PageReport): void {
    const { geometry, checksums } = this.options;
    const { fork } = this.premises;
    const m = this.premises.prover.memory;
    const block = segment.firstBlock + within;
    summary.pages++;
    report.beginPage(block);
    if (
      pageVerify(m, at, geometry, block, checksums) !== PageFault.none &&
      this.isInFlight(segment, within, at, block)
    ) {
      const message = `the page changed at each of ${MOST_READS} readings: it is being written, and was not checked`;
      report.page('warning', 'page.in_flight', message);
      return;
    }
    const isNew = pageIsNew(m, at);
    if (!isNew && checksums) summary.checksums++;
    const isMap = fork === ForkNumber.vm || fork === ForkNumber.fsm;
    const kind = isMap ? 'map' : pageKind(m, at, geometry);
    this.findPageFaults(m, at, block, kind, report);
    if (isNew) {
      if (kind === 'new' || kind === 'map') summary.zeroPages++;
      if (kind === 'new') this.checkNoMapBits(block, 'all zero', report);
      return;
    }
    if (kind === 'heap' || kind === 'btree' || isMap) this.checkLsn(m, at, report);
    if (fork === ForkNumber.main) this.checkMainPage(m, at, block, kind as PageKind, summary, report);
    else if (isMap) this.checkMapPage(m, at, block, summary, report);
    else if (summary.kind === 'empty') summary.kind = kind;
  }

  /** What the page's header, checksum and line pointers say by themselves. */
  private findPageFaults(
    m: PageMemory,
    at: number,
    block: BlockNumber,
    kind: PageKind | 'map',
    report: PageReport,
  ): void {
    const { geometry, checksums } = this.options;
    const { fork, reader } = this.premises;
    const { lines } = this.look;
    lines.clear();
    const sink: FindingSink = (finding) => {
      if (finding.code.endsWith('.checksum')) this.searches++;
      // A zero page is ordinary in a map or an index, and worth a word in a heap.
      if (finding.severity === 'info' && (fork !== ForkNumber.main || this.kind !== 'heap')) return;
      if (finding.offsetNumber === undefined) this.sink(finding);
      else {
        lines.markBad(finding.offsetNumber);
        this.sink({ ...finding, code: finding.code.replace('page.', `${kind}.`) });
      }
    };
    findPageFaults(
      m,
      at,
      geometry,
      {
        block,
        checksum: checksums,
        blockCount: this.searches < MOST_SEARCHES ? reader.blockCount : 0,
        prefix: kind === 'map' ? 'map_page' : 'page',
        linePointers: kind === 'heap' || (kind === 'btree' && btreePageHasItems(m, at)),
        leastItemBytes: kind === 'heap' ? HEAP_TUPLE_BYTES : INDEX_TUPLE_BYTES,
        where: report.where,
      },
      sink,
    );
  }

  private checkMainPage(
    m: PageMemory,
    at: number,
    block: BlockNumber,
    kind: PageKind,
    summary: FileSummary,
    report: PageReport,
  ): void {
    if (summary.kind === 'empty' && this.kind !== undefined) summary.kind = this.kind;
    if (kind === 'damaged') return;
    if (this.kind === undefined) this.kind = kind;
    if (kind !== this.kind) {
      const message =
        this.kind === 'heap'
          ? `not a plain heap page: it has a special space, as of ${kind}`
          : `a page as of ${kind} among pages of ${this.kind}`;
      report.page('error', 'page.other_kind', message, { byteOffset: SPECIAL_BYTE });
      this.checkNoMapBits(block, 'no plain heap page', report);
      return;
    }
    if (kind === 'heap') {
      if (!pageBoundsAreSane(m, at, this.options.geometry)) return;
      const mapBits = this.premises.map === undefined ? -1 : this.premises.map.bits(block);
      this.look.heap.check(m, at, block, mapBits, this.look.lines, report, summary);
      if (mapBits > 0) summary.mapBits += mapBits === 3 ? 2 : 1;
    } else if (kind === 'btree' && btreePageHasItems(m, at)) summary.linePointers += pageMaxOffset(m, at);
  }

  private checkMapPage(m: PageMemory, at: number, block: BlockNumber, summary: FileSummary, report: PageReport): void {
    const { geometry } = this.options;
    findMapHeaderFaults(m, at, geometry, report);
    if (this.premises.fork === ForkNumber.vm) {
      summary.mapBits += findMapFaults(m, at, geometry, block, this.premises.heapBlocks, report);
    } else findFreeSpaceFaults(m, at, geometry, report);
  }

  private checkNoMapBits(block: BlockNumber, what: string, report: PageReport): void {
    if (this.premises.fork !== ForkNumber.main || (this.premises.map?.bits(block) ?? 0) === 0) return;
    report.page('error', 'heap.map.set_without_page', `the visibility map has bits for the page, which is ${what}`);
  }

  private checkLsn(m: PageMemory, at: number, report: PageReport): void {
    const high = pageLsnHigh(m, at);
    const low = pageLsnLow(m, at);
    if ((low & 7) !== 0) {
      const message = `the page's LSN ${formatLsn(high, low)} is no multiple of 8, where WAL records end`;
      report.page('error', 'page.lsn_misaligned', message, { byteOffset: 0 });
    }
    const end = this.options.endOfWal;
    if (end === undefined || high < end.high || (high === end.high && low <= end.low)) return;
    const message = `the page's LSN ${formatLsn(high, low)} is in the future: the WAL ends at ${formatLsn(end.high, end.low)}`;
    report.page('error', 'page.lsn_in_future', message, { byteOffset: 0 });
  }

  /**
   * A page that is found bad may be just being written: it is read again, and believed once it stays as it is. Whether
   * it never did.
   */
  private isInFlight(segment: Segment, within: number, at: number, block: BlockNumber): boolean {
    const { geometry, checksums } = this.options;
    const m = this.premises.prover.memory;
    const { again } = this.look;
    for (let reads = 0; reads < MOST_READS; reads++) {
      try {
        if (this.premises.reader.read(segment, within, 1, again) === 0) return false;
      } catch (error) {
        if (isStorageError(error)) return false;
        throw error;
      }
      if (sameBytes(m.u8, at, again)) return false;
      m.u8.set(again, at);
      if (pageVerify(m, at, geometry, block, checksums) === PageFault.none) return false;
    }
    return true;
  }
}

function progressOf(segment: Segment, done: number, summary: FileSummary): Progress {
  return { phase: `checking ${summary.file}`, done, total: segment.blocks, unit: 'blocks' };
}

function sameBytes(a: Uint8Array, at: number, b: Uint8Array): boolean {
  for (let i = 0; i < b.length; i++) if (a[at + i] !== b[i]) return false;
  return true;
}
