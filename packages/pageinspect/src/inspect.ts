// A block of a relation file as one printable record, of whatever fork and access method it is.
import { type BlockNumber, checkOptions, type ForkName } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { describePageFault, PageFault, type PageMemory, pageSpecialBytes, pageVerify } from '@blockwright/page';
import {
  type BtItemRecord,
  type BtMetaRecord,
  type BtPageStatsRecord,
  btIsMeta,
  btMetaRecord,
  btPageItems,
  btPageStats,
} from './btree.ts';
import { type HeapItemRecord, heapPageItems } from './heap-items.ts';
import { copyOfPage } from './layout.ts';
import {
  type FreeSpaceRecord,
  freeSpaceRecords,
  fsmPageContents,
  type VisibilityRecord,
  visibilityMapRecords,
} from './map-pages.ts';
import { type PageHeaderRecord, pageHeaderRecord } from './page-header.ts';
import { btreePageType, type PageKind, pageHasLinePointers, pageKind } from './page-kind.ts';

export interface InspectOptions {
  readonly geometry: BlockGeometry;
  /** Which fork the page is of. Default `main`. */
  readonly fork?: ForkName;
  /** Whether pages carry checksums, which are then verified. Default false. */
  readonly checksums?: boolean;
  /** Blocks of the heap that a map page is about: limits its records. */
  readonly heapBlocks?: number;
}

/** All that is printed of one block. A field that does not apply is absent. */
export interface InspectedPage {
  readonly block: BlockNumber;
  /** What kind of page it is; `vm` and `fsm` for pages of those forks. */
  readonly kind: PageKind | 'vm' | 'fsm';
  /** In words: which page of a B-tree, why nothing more is shown, what is wrong. Empty for a page that is fine. */
  readonly note: string;
  readonly header: PageHeaderRecord;
  /** Line pointers and tuples of a heap page, as `heap_page_items`; of a B-tree's page, as `bt_page_items`. */
  readonly items?: readonly (HeapItemRecord | BtItemRecord)[];
  /** Of a B-tree's meta page, as `bt_metap`. */
  readonly metap?: BtMetaRecord;
  /** Of any other page of a B-tree, as `bt_page_stats`. */
  readonly stats?: BtPageStatsRecord;
  /** Of a visibility map page. */
  readonly visibility?: readonly VisibilityRecord[];
  /** Of a leaf page of a free space map. */
  readonly freeSpace?: readonly FreeSpaceRecord[];
  /** Of a free space map page: its nodes, as `fsm_page_contents` prints them. */
  readonly contents?: string;
}

const OPTIONS = ['geometry', 'fork', 'checksums', 'heapBlocks'] as const;

/**
 * The record of the page in these bytes, which is block `block` of its fork. Takes any content: nothing is thrown for
 * it, and nothing is shown that does not lie on the page.
 * @throws RangeError when there are not exactly as many bytes as a block has.
 */
export function inspectPage(bytes: Uint8Array, block: BlockNumber, options: InspectOptions): InspectedPage {
  checkOptions('inspectPage', options, OPTIONS);
  const g = options.geometry;
  const m = copyOfPage(bytes, g);
  const fault = pageVerify(m, 0, g, block, options.checksums === true);
  const wrong = fault === PageFault.none ? '' : describePageFault(m, 0, g, block, fault);
  const header = pageHeaderRecord(m, 0);
  const fork = options.fork ?? 'main';
  if (fork === 'vm' || fork === 'fsm') {
    const kind = pageKind(m, 0, g);
    if (kind === 'new' || kind === 'damaged') return { block, kind, note: noteOf(kind, wrong), header };
    if (fork === 'vm') {
      return {
        block,
        kind: 'vm',
        note: wrong,
        header,
        visibility: visibilityMapRecords(m, 0, g, block, options.heapBlocks),
      };
    }
    const contents = fsmPageContents(m, 0, g);
    return {
      block,
      kind: 'fsm',
      note: wrong,
      header,
      freeSpace: freeSpaceRecords(m, 0, g, block, options.heapBlocks),
      contents,
    };
  }
  return { block, header, ...mainPage(m, g, block, wrong) };
}

type MainPage = Pick<InspectedPage, 'kind' | 'note' | 'items' | 'metap' | 'stats'>;

function mainPage(m: PageMemory, g: BlockGeometry, block: BlockNumber, wrong: string): MainPage {
  const kind = pageKind(m, 0, g);
  switch (kind) {
    case 'new':
      return { kind, note: noteOf(kind, wrong) };
    case 'heap':
      return { kind, note: wrong, items: heapPageItems(m, 0, g) };
    case 'btree':
      return {
        kind,
        note: joinNotes(`not a plain heap page: a B-tree's ${btreePageType(m, 0)}`, wrong),
        ...btreePage(m, g, block),
      };
    case 'damaged': {
      const items = pageHasLinePointers(m, 0, g, kind) ? heapPageItems(m, 0, g) : undefined;
      return { kind, note: noteOf(kind, wrong), items };
    }
    default: {
      const whose = kind === 'unknown' ? 'of an access method that is not known here' : `of kind ${kind}`;
      const special = pageSpecialBytes(m, 0, g);
      return {
        kind,
        note: joinNotes(`not a plain heap page: its special space of ${special} bytes is ${whose}`, wrong),
        items: undefined,
      };
    }
  }
}

function btreePage(m: PageMemory, g: BlockGeometry, block: BlockNumber): Pick<MainPage, 'items' | 'metap' | 'stats'> {
  if (btIsMeta(m, 0, g)) return { metap: btMetaRecord(m, 0) };
  const items = pageHasLinePointers(m, 0, g, 'btree') ? btPageItems(m, 0, g) : undefined;
  return { stats: btPageStats(m, 0, g, block), items };
}

function noteOf(kind: 'new' | 'damaged', wrong: string): string {
  return kind === 'new' ? 'all zero: never initialised' : wrong;
}

function joinNotes(note: string, wrong: string): string {
  return wrong === '' ? note : `${note}; ${wrong}`;
}

export interface InspectRelationOptions extends InspectOptions {
  /** The only block to inspect, counted from the fork's first. Default: all. */
  readonly block?: BlockNumber;
  /** Number, in the fork, of the first block of these bytes: not 0 for a segment file `.1`. Default 0. */
  readonly firstBlock?: BlockNumber;
}

/**
 * The records of the blocks in the bytes of a relation file, in order. What is left of a file whose size is no multiple
 * of the block size is not a block: see {@link tailBytes}.
 * @throws RangeError when the one block asked for is not in the bytes.
 */
export function* inspectRelation(
  bytes: Uint8Array,
  options: InspectRelationOptions,
): Generator<InspectedPage, void, void> {
  const { block, firstBlock = 0, ...pageOptions } = options;
  const g = options.geometry;
  const count = wholeBlocks(bytes.length, g);
  const one = (at: number): InspectedPage =>
    inspectPage(bytes.subarray((at << g.shift) >>> 0, ((at + 1) << g.shift) >>> 0), firstBlock + at, pageOptions);
  if (block !== undefined) {
    if (!Number.isInteger(block) || block < firstBlock || block >= firstBlock + count) {
      const range = count === 0 ? 'no whole block' : `blocks ${firstBlock} to ${firstBlock + count - 1}`;
      throw new RangeError(`there is no block ${block}: the file has ${range}`);
    }
    yield one(block - firstBlock);
    return;
  }
  for (let at = 0; at < count; at++) yield one(at);
}

function wholeBlocks(bytes: number, g: BlockGeometry): number {
  return bytes >>> g.shift;
}

/** Bytes of a file after its last whole block; 0 for a file that ends with one. */
export function tailBytes(fileBytes: number, g: BlockGeometry): number {
  return fileBytes & g.mask;
}
