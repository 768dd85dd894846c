// Where everything lies on a page: its bytes as regions from the first to the last, none left out and none twice.
import { checkOptions, type Finding, type ForkName, type OffsetNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  findPageFaults,
  LP_DEAD,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  PageMemoryViews,
  pageBoundsAreSane,
  pageLower,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import {
  HEAP_TUPLE_HEADER_BYTES,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_LOCK_ONLY,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  tupleInfomask,
} from '@blockwright/tuple';
import { type PageKind, pageHasLinePointers, pageKind } from './page-kind.ts';

/**
 * What a region is. `free`: from pd_lower to pd_upper. `padding`: after an item, up to the next multiple of 8. `hole`:
 * other bytes between pd_upper and pd_special that are no item's. `overlap`: bytes that more than one claims. `contents`:
 * bytes that no line pointer tells of: a map's, a metapage's, all of a page whose header makes no sense.
 */
export type PageRegionKind =
  | 'header'
  | 'linePointers'
  | 'free'
  | 'item'
  | 'padding'
  | 'hole'
  | 'special'
  | 'contents'
  | 'overlap';

/** Bytes `from` to `to` of the page, `to` not included. */
export interface PageRegion {
  readonly kind: PageRegionKind;
  readonly from: number;
  readonly to: number;
  /** Of an item, or of the item that a padding follows. */
  readonly offsetNumber?: OffsetNumber;
  /**
   * Of an item that is certainly dead: its line pointer says so, or the hints in a heap tuple's header do (inserted by
   * an aborted transaction, or deleted by a committed one). Of others only the commit log knows.
   */
  readonly dead?: true;
  /** Of an overlap: how many items lie here, and not those alone that reach into header, line pointers or special space. */
  readonly items?: number;
}

/** Bytes of each kind, `item` split in two; they add up to the page. */
export type PageLayoutBytes = Readonly<Record<Exclude<PageRegionKind, 'item'> | 'live' | 'dead', number>>;

export interface PageLayout {
  /** In byte order; each begins where the one before it ends. */
  readonly regions: readonly PageRegion[];
  readonly bytes: PageLayoutBytes;
  readonly linePointers: number;
  /** Line pointers that are unused. */
  readonly unused: number;
  /** Line pointers with an item, dead ones included. */
  readonly items: number;
  readonly deadItems: number;
  /** Whether the items stand in the order of their line pointers, the first nearest to the page's end. */
  readonly isInOrder: boolean;
  /** What is wrong with line pointers, overlaps among it; codes of `findPageFaults`. */
  readonly findings: readonly Finding[];
}

/**
 * The layout of the page at `base`. Takes any bytes: nothing is thrown for them, and nothing outside the page is read.
 * @param fork which fork the page is of: a map's pages have no items.
 */
export function pageLayout(m: PageMemory, base: number, g: BlockGeometry, fork: ForkName = 'main'): PageLayout {
  const kind = pageKind(m, base, g);
  const isMap = fork === 'vm' || fork === 'fsm';
  const hasLinePointers = !isMap && pageHasLinePointers(m, base, g, kind) && pageBoundsAreSane(m, base, g);
  const count = hasLinePointers ? pageMaxOffset(m, base) : 0;
  const items = itemsOf(m, base, g, kind, count);
  const regions =
    kind === 'new' || isMap || !pageBoundsAreSane(m, base, g)
      ? regionsWithoutItems(g, kind === 'new' ? 0 : SIZE_OF_PAGE_HEADER)
      : regionsOf(m, base, g, items, hasLinePointers);
  const findings: Finding[] = [];
  let unused = 0;
  for (let o = 1; o <= count; o++) if (lpFlags(linePointer(m, base, o)) === LP_UNUSED) unused++;
  if (count > 0) {
    const leastItemBytes = kind === 'btree' ? 1 : HEAP_TUPLE_HEADER_BYTES + 1;
    findPageFaults(m, base, g, { leastItemBytes }, (finding) => {
      if (finding.offsetNumber !== undefined) findings.push(finding);
    });
  }
  return {
    regions,
    bytes: bytesOf(regions),
    linePointers: count,
    unused,
    items: items.length,
    deadItems: items.filter((item) => item.isDead).length,
    isInOrder: items.every((item, i) => i === 0 || item.from < (items[i - 1] as Item).from),
    findings,
  };
}

export interface InspectLayoutOptions {
  readonly geometry: BlockGeometry;
  /** Which fork the page is of. Default `main`. */
  readonly fork?: ForkName;
}

/**
 * The layout of the page in these bytes, wherever in a buffer they lie.
 * @throws RangeError when there are not exactly as many bytes as a block has.
 */
export function inspectLayout(bytes: Uint8Array, options: InspectLayoutOptions): PageLayout {
  checkOptions('inspectLayout', options, ['geometry', 'fork']);
  const g = options.geometry;
  return pageLayout(copyOfPage(bytes, g), 0, g, options.fork);
}

/** @throws RangeError when there are not exactly as many bytes as a block has. */
export function copyOfPage(bytes: Uint8Array, g: BlockGeometry): PageMemory {
  if (bytes.length !== g.size) throw new RangeError(`${bytes.length} bytes are not one block of ${g.size}`);
  const m = new PageMemoryViews(new ArrayBuffer(g.size));
  m.u8.set(bytes);
  return m;
}

interface Item {
  readonly offsetNumber: OffsetNumber;
  readonly from: number;
  /** Byte after it, which may lie beyond the page's end. */
  readonly to: number;
  readonly isDead: boolean;
}

/** What line pointers say of items, right or wrong. */
function itemsOf(m: PageMemory, base: number, g: BlockGeometry, kind: PageKind | 'vm' | 'fsm', count: number): Item[] {
  const items: Item[] = [];
  for (let o = 1; o <= count; o++) {
    const lp = linePointer(m, base, o);
    if (lpLength(lp) === 0) continue;
    const from = lpOffset(lp);
    const to = from + lpLength(lp);
    const isDead = lpFlags(lp) === LP_DEAD || (kind !== 'btree' && tupleIsDead(m, base, g, from, to));
    items.push({ offsetNumber: o, from, to, isDead });
  }
  return items;
}

function tupleIsDead(m: PageMemory, base: number, g: BlockGeometry, from: number, to: number): boolean {
  if ((from & 7) !== 0 || to > g.size || to - from <= HEAP_TUPLE_HEADER_BYTES) return false;
  const infomask = tupleInfomask(m, base + from);
  if ((infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_INVALID) return true;
  return (infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID | HEAP_XMAX_LOCK_ONLY)) === HEAP_XMAX_COMMITTED;
}

/** A place where something begins or ends: how many more claim the bytes from here on, and the sum of their numbers. */
interface Edge {
  readonly at: number;
  readonly claims: number;
  readonly items: number;
  /** While one item alone claims a byte, the sum of the numbers is its number. */
  readonly numbers: number;
}

function regionsWithoutItems(g: BlockGeometry, headerBytes: number): PageRegion[] {
  return new Regions()
    .add({ kind: 'header', from: 0, to: headerBytes })
    .add({ kind: 'contents', from: headerBytes, to: g.size }).list;
}

function regionsOf(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  items: readonly Item[],
  hasLinePointers: boolean,
): PageRegion[] {
  const regions = new Regions();
  const bounds = [SIZE_OF_PAGE_HEADER, pageLower(m, base), pageUpper(m, base), pageSpecial(m, base)] as const;
  const edges = edgesOf(bounds, g.size, items);
  const ends = new Map(items.map((item) => [item.offsetNumber, item]));
  let [claims, itemsHere, numbers] = [0, 0, 0];
  let from = 0;
  for (const edge of edges) {
    if (edge.at > from) {
      const here = { from, to: edge.at };
      if (itemsHere === 1 && claims === 1) {
        const { isDead } = ends.get(numbers) as Item;
        regions.add({ kind: 'item', ...here, offsetNumber: numbers, ...(isDead ? { dead: true } : {}) });
      } else if (itemsHere > 0) regions.add({ kind: 'overlap', ...here, items: itemsHere });
      else regions.addGap(placeKind(from, bounds, hasLinePointers), here, ends);
      from = edge.at;
    }
    claims += edge.claims;
    itemsHere += edge.items;
    numbers += edge.numbers;
  }
  return regions.list;
}

type Bounds = readonly [header: number, lower: number, upper: number, special: number];

function edgesOf(bounds: Bounds, size: number, items: readonly Item[]): Edge[] {
  const [header, lower, upper, special] = bounds;
  const none = { items: 0, numbers: 0 };
  const edges: Edge[] = [
    { at: 0, claims: 1, ...none },
    { at: header, claims: 0, ...none },
    { at: lower, claims: -1, ...none },
    { at: upper, claims: 0, ...none },
    { at: special, claims: 1, ...none },
    { at: size, claims: -1, ...none },
  ];
  for (const { offsetNumber, from, to } of items) {
    if (from >= size) continue;
    edges.push({ at: from, claims: 1, items: 1, numbers: offsetNumber });
    edges.push({ at: Math.min(to, size), claims: -1, items: -1, numbers: -offsetNumber });
  }
  return edges.sort((a, b) => a.at - b.at);
}

/** What the bytes from `at` on are when no item claims them. */
function placeKind(at: number, [header, lower, upper, special]: Bounds, hasLinePointers: boolean): PageRegionKind {
  if (at < header) return 'header';
  if (at < lower) return hasLinePointers ? 'linePointers' : 'contents';
  if (at < upper) return 'free';
  if (at < special) return hasLinePointers ? 'hole' : 'contents';
  return 'special';
}

/** Regions being collected: equal neighbours become one. */
class Regions {
  readonly list: PageRegion[] = [];

  add(region: PageRegion): this {
    const last = this.list.at(-1);
    const isSame =
      last !== undefined &&
      last.kind === region.kind &&
      last.offsetNumber === region.offsetNumber &&
      last.items === region.items;
    if (isSame) this.list[this.list.length - 1] = { ...last, to: region.to };
    else if (region.to > region.from) this.list.push(region);
    return this;
  }

  /** Bytes of no item: the first of them may be the padding of the item before. */
  addGap(
    kind: PageRegionKind,
    { from, to }: Pick<PageRegion, 'from' | 'to'>,
    items: ReadonlyMap<OffsetNumber, Item>,
  ): void {
    const last = this.list.at(-1);
    let start = from;
    if ((kind === 'hole' || kind === 'free') && last?.kind === 'item' && last.offsetNumber !== undefined) {
      if (items.get(last.offsetNumber)?.to === from) start = Math.min(to, (from + 7) & ~7);
      this.add({ kind: 'padding', from, to: start, offsetNumber: last.offsetNumber });
    }
    this.add({ kind, from: start, to });
  }
}

function bytesOf(regions: readonly PageRegion[]): PageLayoutBytes {
  const bytes = {
    header: 0,
    linePointers: 0,
    free: 0,
    live: 0,
    dead: 0,
    padding: 0,
    hole: 0,
    special: 0,
    contents: 0,
    overlap: 0,
  };
  for (const { kind, from, to, dead } of regions) {
    bytes[kind === 'item' ? (dead === true ? 'dead' : 'live') : kind] += to - from;
  }
  return bytes;
}
