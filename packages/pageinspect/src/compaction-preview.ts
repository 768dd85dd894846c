// What compacting a page would do: the layout before and after, on a copy.
import { checkOptions, type ForkName, isStorageError, type StorageErrorCode } from '@blockwright/base';
import {
  type Compaction,
  CompactionScratch,
  describePageFault,
  linePointer,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageRepairFragmentation,
  pageVerify,
} from '@blockwright/page';
import { copyOfPage, type InspectLayoutOptions, type PageLayout, pageLayout } from './layout.ts';
import { type PageKind, pageHasLinePointers, pageKind } from './page-kind.ts';

/** Why a page was not compacted. */
export interface CompactionRefusal {
  /** `XX001` for a damaged page; null for one that has nothing to compact. */
  readonly code: StorageErrorCode | null;
  readonly message: string;
  readonly detail?: string;
}

export interface CompactionPreview {
  readonly strategy: Compaction;
  readonly before: PageLayout;
  /** Null when the page was not compacted. */
  readonly after: PageLayout | null;
  /** Items that stand at another place after it. */
  readonly movedItems: number;
  /** Their bytes, each rounded up to 8. */
  readonly movedBytes: number;
  /** Null when the page was compacted. */
  readonly refusal: CompactionRefusal | null;
}

/**
 * Compacts a copy of the page in these bytes, which are not written. Heap pages as after pruning
 * (`pageRepairFragmentation`); pages of a B-tree the same way, which puts items in another order at most, since an index
 * closes each gap when it makes it. Other pages and damaged ones are refused; nothing is thrown for what bytes hold.
 * @throws RangeError when there are not exactly as many bytes as a block has; TypeError when nobody knows the strategy.
 */
export function previewCompaction(
  bytes: Uint8Array,
  how: Compaction,
  options: InspectLayoutOptions,
): CompactionPreview {
  checkOptions('previewCompaction', options, ['geometry', 'fork']);
  const g = options.geometry;
  const m = copyOfPage(bytes, g);
  const fork = options.fork ?? 'main';
  const before = pageLayout(m, 0, g, fork);
  const refused = (refusal: CompactionRefusal): CompactionPreview => ({
    strategy: how,
    before,
    after: null,
    movedItems: 0,
    movedBytes: 0,
    refusal,
  });
  const kind = pageKind(m, 0, g);
  if (kind === 'damaged') {
    return refused({ code: 'XX001', message: describePageFault(m, 0, g, 0, pageVerify(m, 0, g, 0, false)) });
  }
  if (fork === 'vm' || fork === 'fsm' || !pageHasLinePointers(m, 0, g, kind)) {
    return refused({ code: null, message: whyNot(kind, fork) });
  }
  const places = placesOf(m);
  try {
    pageRepairFragmentation(m, 0, g, new CompactionScratch(g), how);
  } catch (error) {
    if (!isStorageError(error)) throw error;
    const { code, message, detail } = error;
    return refused({ code, message, ...(detail === undefined ? {} : { detail }) });
  }
  return { strategy: how, before, after: pageLayout(m, 0, g), ...movesFrom(places, m), refusal: null };
}

function whyNot(kind: PageKind, fork: ForkName): string {
  if (kind === 'new') return 'the page was never initialised: it has no items';
  if (fork === 'vm') return 'a visibility map has bits where other pages have items: there is nothing to compact';
  if (fork === 'fsm') return 'a free space map has a tree where other pages have items: there is nothing to compact';
  switch (kind) {
    case 'btree':
      return 'a metapage or deleted page of a B-tree has no line pointers: there is nothing to compact';
    default:
      return `line pointers of pages of kind ${kind} are not known here: nothing on it may be moved`;
  }
}

/** The place of each item, by offset number. */
function placesOf(m: PageMemory): Uint32Array {
  const places = new Uint32Array(pageMaxOffset(m, 0) + 1);
  for (let o = 1; o < places.length; o++) places[o] = linePointer(m, 0, o);
  return places;
}

function movesFrom(places: Uint32Array, m: PageMemory): Pick<CompactionPreview, 'movedItems' | 'movedBytes'> {
  let movedItems = 0;
  let movedBytes = 0;
  const count = pageMaxOffset(m, 0);
  for (let o = 1; o <= count; o++) {
    const before = places[o] as number;
    const length = lpLength(before);
    if (length === 0 || lpOffset(before) === lpOffset(linePointer(m, 0, o))) continue;
    movedItems++;
    movedBytes += (length + 7) & ~7;
  }
  return { movedItems, movedBytes };
}
