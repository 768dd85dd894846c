// The fast path of a check: a WebAssembly kernel (assembly/prove-pages.ts) looks at a run of pages and says which of them
// are certainly clean. The others are looked at by the TypeScript, which knows what is wrong, and tells.
import type { BlockNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  checksumOfHash,
  kernelInstance,
  kernelMemory,
  type PageMemory,
  pageHashes,
  pageStoredChecksum,
} from '@blockwright/page';
import { type CommittedXids, MOST_COMMITTED_XIDS } from './committed-xids.ts';
import { KERNEL_HEX } from './kernel-bytes.ts';
import type { ProvenColumns } from './proven-columns.ts';
import type { XidRange } from './xids.ts';

/** Bytes of pages read, and judged, at once: they stay in the second-level cache. */
export const RUN_BYTES = 0x4_0000;

/** Where what lies in the kernel's work area, behind the pages: as assembly/prove-pages.ts has it, which a test compares. */
export const WORK_AREA = { STEPS: 0, COLUMNS: 12_800, ITEMS: 25_600, MAP_BITS: 33_792, VERDICTS: 34_816 } as const;
const { STEPS, COLUMNS, MAP_BITS, VERDICTS } = WORK_AREA;
const WORK_AREA_BYTES = 0x1_0000;
/** Behind the work area: a bit an xid, set where it committed. */
const COMMITTED_BYTES = MOST_COMMITTED_XIDS >>> 3;
/** The most pages of a run, of the smallest size. */
const MOST_PAGES = VERDICTS - MAP_BITS;

/** In place of a page's map bits: there is no map. */
export const NO_MAP = 0xff;

/** What the kernel can judge. */
export type ProvenKind = 'heap' | 'btree';

interface Kernel {
  setPages(workArea: number, blockSize: number, kind: number, maxTuples: number): void;
  setColumns(count: number, steps: number, hasVarlena: number): void;
  setXids(known: number, next: number, isFirstEpoch: number, oldest: number, oldestInRelation: number): void;
  setCommitted(known: number, bits: number, from: number, count: number): void;
  setEndOfWal(high: number, low: number): void;
  provePages(at: number, count: number, block: BlockNumber): number;
  readonly linePointers: { readonly value: number };
  readonly tuples: { readonly value: number };
  readonly mapBits: { readonly value: number };
}

/** What all pages of a fork are held against. */
export interface ProverPremises {
  readonly geometry: BlockGeometry;
  readonly kind: ProvenKind;
  readonly checksums: boolean;
  /** The table's columns, where they are known. */
  readonly columns: ProvenColumns | undefined;
  readonly xids: XidRange | undefined;
  /** Where there is a commit log to hold tuples against: which xids have committed. */
  readonly committed: CommittedXids | undefined;
  readonly endOfWal: { readonly high: number; readonly low: number } | undefined;
}

/** The memory that runs of pages are read to, and the kernel over it. One serves any number of forks, in turns. */
export class PageProver {
  /** A run of pages, from byte 0 on. */
  readonly memory: PageMemory;
  /** For each page of the run, its bits in the visibility map, or 0xff where there is no map: to be set by the caller. */
  readonly mapBits: Uint8Array;
  private readonly verdicts: Uint8Array;
  private readonly area: Uint8Array;
  private readonly hashes: Uint32Array;
  private readonly kernel: Kernel | null;
  private premises: ProverPremises | undefined = undefined;
  /** Whose bits lie behind the work area. */
  private committed: CommittedXids | undefined = undefined;

  constructor() {
    this.memory = kernelMemory(RUN_BYTES + WORK_AREA_BYTES + COMMITTED_BYTES);
    this.kernel = kernelInstance(KERNEL_HEX, this.memory.kernel) as Kernel | null;
    this.area = this.memory.u8.subarray(RUN_BYTES);
    this.mapBits = this.area.subarray(MAP_BITS, VERDICTS);
    this.verdicts = this.area.subarray(VERDICTS, VERDICTS + MOST_PAGES);
    this.hashes = new Uint32Array(MOST_PAGES);
  }

  /** Sets what the pages to come are held against, unless it is what it was. */
  setPremises(premises: ProverPremises): void {
    if (premises === this.premises || this.kernel === null) return;
    this.premises = premises;
    const { kernel } = this;
    const { geometry, kind, columns, xids, committed, endOfWal } = premises;
    kernel.setPages(RUN_BYTES, geometry.size, kind === 'heap' ? 0 : 1, geometry.maxHeapTuplesPerPage);
    if (columns === undefined) kernel.setColumns(-1, 0, 0);
    else {
      this.area.set(columns.steps, STEPS);
      this.area.set(columns.columns, COLUMNS);
      kernel.setColumns(columns.columns.length >>> 3, columns.steps.length >>> 3, columns.hasVarlena ? 1 : 0);
    }
    if (xids === undefined) kernel.setXids(0, 0, 0, 0, 0);
    else kernel.setXids(1, xids.next, xids.nextEpoch === 0 ? 1 : 0, xids.oldest, xids.oldestInRelation ?? 0);
    if (committed === undefined) kernel.setCommitted(0, 0, 0, 0);
    else {
      if (committed !== this.committed) this.memory.u8.set(committed.bits, RUN_BYTES + WORK_AREA_BYTES);
      this.committed = committed;
      kernel.setCommitted(1, RUN_BYTES + WORK_AREA_BYTES, committed.from, committed.count);
    }
    kernel.setEndOfWal(endOfWal?.high ?? 0xffff_ffff, endOfWal?.low ?? 0xffff_ffff);
  }

  /**
   * Judges the first `count` pages of the run, the first of them block `block`; gives how many are known to be clean:
   * none, where the platform has no kernel.
   */
  prove(block: BlockNumber, count: number): number {
    const { verdicts, premises } = this;
    if (this.kernel === null || premises === undefined) return 0;
    if (premises.checksums) this.verifyChecksums(block, count, premises.geometry);
    else verdicts.fill(1, 0, count);
    return this.kernel.provePages(0, count, block);
  }

  /** Whether page `i` of the run was found clean. */
  isClean(i: number): boolean {
    return this.verdicts[i] !== 0;
  }

  /** Line pointers of the clean pages. */
  get linePointers(): number {
    return this.kernel?.linePointers.value ?? 0;
  }

  /** Tuples on the clean pages of a heap. */
  get tuples(): number {
    return this.kernel?.tuples.value ?? 0;
  }

  /** Bits of the visibility map that the clean pages of a heap were held against. */
  get setMapBits(): number {
    return this.kernel?.mapBits.value ?? 0;
  }

  private verifyChecksums(block: BlockNumber, count: number, geometry: BlockGeometry): void {
    const { memory, verdicts, hashes } = this;
    const { shift } = geometry;
    pageHashes(memory, 0, geometry, count, hashes);
    for (let i = 0; i < count; i++) {
      verdicts[i] = pageStoredChecksum(memory, i << shift) === checksumOfHash(hashes[i], block + i) ? 1 : 0;
    }
  }
}
