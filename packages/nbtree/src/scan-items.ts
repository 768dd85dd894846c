// What a scan takes from a leaf page at once: every TID of a run of items, and a copy of their tuples, so that nothing of
// the page is needed any more. PostgreSQL: `_bt_saveitem`, `_bt_setuppostingitems`, nbtsearch.c.
import type { OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageMemory, pageSpecial, pageUpper } from '@blockwright/page';

/** Bytes after the copy of a page, so that quick decoders, which look ahead, can take its last tuples, too. */
const BEYOND_PAGE = 0x1000;

/** The TIDs of a leaf page's items, in scan order, and where their tuples are in `memory`. */
export class PageItems {
  /** The most TIDs of a page. */
  readonly capacity: number;
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  readonly positions: Int32Array;
  readonly lengths: Int32Array;
  /** Tuples stand in it where they stand in the page. */
  readonly memory: PageMemory;

  constructor(g: BlockGeometry) {
    const capacity = g.constants.MaxTIDsPerBTreePage;
    this.capacity = capacity;
    this.blocks = new Uint32Array(capacity);
    this.offsets = new Uint16Array(capacity);
    this.positions = new Int32Array(capacity);
    this.lengths = new Int32Array(capacity);
    this.memory = pageMemory(new ArrayBuffer(g.size + BEYOND_PAGE));
  }
}

// Of this module's own: an imported constant is fetched from its module at every use.
/** Words of 4 bytes from a page's start to line pointer 0, which does not exist. */
const BEFORE_FIRST = 5;
const NORMAL = 1 << 15;
const DEAD = 3 << 15;
/** In the second word of a tuple, whose lower half is t_tid's offset and whose upper half t_info. */
const ALT_TID = 0x2000_0000;
const POSTING = 0x2000;
const COUNT_MASK = 0x0fff;
const LEAST_TUPLE_BYTES = 8;

/**
 * Adds the TIDs of `count` items of a leaf page, from item `first` on, upward (`step` 1) or downward (-1), those of posting
 * lists in the same direction. Items that are marked dead are passed over.
 * @param at how many TIDs there are already
 * @returns how many there are then; the negative offset of an item that cannot be right
 */
export function collectItems(
  m: PageMemory,
  base: number,
  first: OffsetNumber,
  count: number,
  step: number,
  items: PageItems,
  at: number,
): number {
  const { u32 } = m;
  const { blocks, offsets, positions, lengths, capacity } = items;
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  let n = at;
  let o = first;
  for (let left = count; left > 0; left--, o += step) {
    const lp = u32[(base >>> 2) + BEFORE_FIRST + o];
    if ((lp & DEAD) !== NORMAL) {
      if ((lp & DEAD) === DEAD) continue;
      return -o;
    }
    const position = lp & 0x7fff;
    const length = lp >>> 17;
    const beyond = (position - upper) | (special - position - length) | (length - LEAST_TUPLE_BYTES);
    if ((beyond | -(position & 7)) < 0 || n >= capacity) return -o;
    const word = (base + position) >>> 2;
    const tid = u32[word];
    const info = u32[word + 1];
    if ((info & ALT_TID) !== 0) {
      n = expandPosting(m, base, position, length, step, items, n);
      if (n < 0) return -o;
      continue;
    }
    blocks[n] = (tid << 16) | (tid >>> 16);
    offsets[n] = info;
    positions[n] = position;
    lengths[n] = length;
    n++;
  }
  return n;
}

/** The TIDs of a posting list. @returns as {@link collectItems}; -1 when it is none, or has more TIDs than bytes */
function expandPosting(
  m: PageMemory,
  base: number,
  position: number,
  length: number,
  step: number,
  items: PageItems,
  at: number,
): number {
  const { u16 } = m;
  const { blocks, offsets, positions, lengths } = items;
  const pos = base + position;
  const word = pos >>> 1;
  const head = u16[word + 2];
  const count = head & COUNT_MASK;
  const listAt = (u16[word] << 16) | u16[word + 1];
  const isList = (head & POSTING) !== 0 && count > 0 && listAt >= LEAST_TUPLE_BYTES && (listAt & 7) === 0;
  if (!isList || listAt + count + count + (count << 2) > length || at + count > items.capacity) return -1;
  let from = (pos + listAt) >>> 1;
  if (step < 0) from += count + count + count - 3;
  const stride = step + step + step;
  for (let i = at; i < at + count; i++, from += stride) {
    blocks[i] = (u16[from] << 16) | u16[from + 1];
    offsets[i] = u16[from + 2];
    positions[i] = position;
    lengths[i] = length;
  }
  return at + count;
}

/** Items up to which tuples are copied one by one: a call that copies all of a page costs as much. */
const FEW = 8;

/**
 * Copies the tuples of items `from` to before `to` to the items' own memory; of many, the whole page's.
 * PostgreSQL: `currTuples`.
 */
export function copyTuples(m: PageMemory, base: number, items: PageItems, from: number, to: number): void {
  const { positions, lengths, memory } = items;
  if (to - from > FEW) {
    const upper = pageUpper(m, base);
    memory.u8.set(m.u8.subarray(base + upper, base + pageSpecial(m, base)), upper);
    return;
  }
  const source = m.u32;
  const target = memory.u32;
  for (let i = from; i < to; i++) {
    const word = positions[i] >>> 2;
    const end = (positions[i] + lengths[i] + 3) >>> 2;
    const shift = base >>> 2;
    for (let w = word; w < end; w++) target[w] = source[shift + w];
  }
}

const spares: (PageItems | undefined)[] = [];

/** Items for a scan to fill: those of one that has ended, if there are any. They are large, and most scans are short. */
export function takeItems(g: BlockGeometry): PageItems {
  const spare = spares[g.shift];
  spares[g.shift] = undefined;
  return spare ?? new PageItems(g);
}

/** Gives them to the next scan. */
export function giveItems(g: BlockGeometry, items: PageItems): void {
  spares[g.shift] = items;
}
