// AssemblyScript, compiled to WebAssembly (scripts/kernel.ts): proves that pages hold nothing which a check would
// report. It says yes only of what the TypeScript beside it would find clean, in one pass and without an object; of the
// rest it says "not proven", and the TypeScript looks and tells. Every rule here is one of tuple-header.ts,
// tuple-attributes.ts, tuple-fate.ts, heap-page.ts, pages.ts or @blockwright/page's findings.ts.
//
// A run of pages lies in the imported memory; behind it the host lends a work area, from byte `area` on:
//
//   +0      steps: the attributes of a tuple without nulls, fixed neighbours put together, 8 bytes each
//   +12800  columns: one by one, 8 bytes each
//   +25600  for each 8 bytes of a page, the length of the item that begins there, in units of 8, uint16
//   +33792  for each page of the run, its bits in the visibility map, 0xff where there is no map, uint8
//   +34816  for each page of the run, uint8: before, 1 when its checksum is right; after, 1 when it is clean
//
//   step or column: u8 verification, u8 alignment − 1, u16 unused, u32 bytes (of the fixed ones)
//   verification: 0 any bytes, 1 bool, 2 name; of variable width: 3 any bytes, 4 text, 5 numeric

const STEPS: usize = 0;
const COLUMNS: usize = 12800;
const ITEMS: usize = 25600;
const MAP_BITS: usize = 33792;
const VERDICTS: usize = 34816;

// How attributes are verified.
const BOOL: u32 = 1;
const NAME: u32 = 2;
const TEXT: u32 = 4;
const NUMERIC: u32 = 5;

/** Added to a digit of a numeric, it sets the highest bit where the digit is above 9999. */
const BEYOND_DIGITS: i16 = 22768;

/** What the first byte of a varlena may be above 3, so that it has a header of one byte and at most 62 of data. */
const SHORT_FIRST_RANGE: u32 = 124;

const HEAP: i32 = 0;

const PD_HAS_FREE_LINES: u32 = 1;
const PD_ALL_VISIBLE: u32 = 4;

const HASNULL: u32 = 0x0001;
const HASVARWIDTH: u32 = 0x0002;
const KEYSHR_LOCK: u32 = 0x0010;
const EXCL_LOCK: u32 = 0x0040;
const LOCK_ONLY: u32 = 0x0080;
const XMIN_COMMITTED: u32 = 0x0100;
const XMIN_INVALID: u32 = 0x0200;
const XMIN_FROZEN: u32 = 0x0300;
const XMAX_COMMITTED: u32 = 0x0400;
const XMAX_INVALID: u32 = 0x0800;
/** All bits about t_xmax. */
const XMAX_BITS: u32 = 0x1cd0;
/** An object id, a multixact, an update, moved by an old VACUUM: all that is left to the TypeScript. */
const INFOMASK_RARE: u32 = 0xf008;
/** Bits without a meaning, HOT-updated, heap-only: left to it, too. */
const INFOMASK2_RARE: u32 = 0xd800;
const KEYS_UPDATED: u32 = 0x2000;

let area: usize = 0;
let size: u32 = 0;
let kind: i32 = HEAP;
let maxTuples: u32 = 0;
let stepsEnd: usize = 0;
/** Columns of the table, -1 when they are not known. */
let columns: i32 = -1;
let hasVarlena: bool = false;
let hasXids: bool = false;
let nextXid: u32 = 0;
let isFirstEpoch: bool = false;
let oldestXid: u32 = 0;
let oldestInRelation: u32 = 0;
/** Whether there is a commit log; then a bit an xid from `committedFrom` on, set where it committed. */
let hasCommitted: bool = false;
let committedBits: usize = 0;
let committedFrom: u32 = 0;
let committedCount: u32 = 0;
let endHigh: u32 = 0;
let endLow: u32 = 0;
/** The t_xmin that was found right last: neighbours mostly have the same. */
let knownXid: u32 = 0;

/** The attributes of a tuple that wait for those of another, to be walked together; the end is 0 when none wait. */
let waiting: usize = 0;
let waitingEnd: usize = 0;

/** What the clean pages of the last run hold. */
export let linePointers: u32 = 0;
export let tuples: u32 = 0;
export let mapBits: u32 = 0;

export function setPages(workArea: usize, blockSize: u32, pageKind: i32, maxTuplesPerPage: u32): void {
  area = workArea;
  size = blockSize;
  kind = pageKind;
  maxTuples = maxTuplesPerPage;
}

export function setColumns(count: i32, steps: u32, anyVarlena: bool): void {
  columns = count;
  stepsEnd = area + STEPS + ((<usize>steps) << 3);
  hasVarlena = anyVarlena;
}

export function setXids(known: bool, next: u32, firstEpoch: bool, oldest: u32, inRelation: u32): void {
  hasXids = known;
  nextXid = next;
  isFirstEpoch = firstEpoch;
  oldestXid = oldest;
  oldestInRelation = inRelation;
  knownXid = 0;
}

export function setCommitted(known: bool, bits: usize, from: u32, count: u32): void {
  hasCommitted = known;
  committedBits = bits;
  committedFrom = from;
  committedCount = count;
  knownXid = 0;
}

export function setEndOfWal(high: u32, low: u32): void {
  endHigh = high;
  endLow = low;
}

/** Judges `count` pages from byte `at` on, the first of them block `block`; gives how many are clean. */
export function provePages(at: usize, count: u32, block: u32): u32 {
  linePointers = 0;
  tuples = 0;
  mapBits = 0;
  let clean: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    let isClean = load<u8>(area + i, VERDICTS) !== 0;
    if (isClean) {
      const bits = <u32>load<u8>(area + i, MAP_BITS);
      isClean = kind === HEAP ? heapPageIsClean(at, block + i, bits) : indexPageIsClean(at);
    }
    store<u8>(area + i, <u8>isClean, VERDICTS);
    clean += <u32>isClean;
    at += size;
  }
  return clean;
}

function precedes(a: u32, b: u32): bool {
  return <i32>(a - b) < 0;
}

/** Not in the future, nor before what is kept; special ids are always right. */
function xidIsRight(xid: u32): bool {
  if (!hasXids || xid < 3) return true;
  if (!precedes(xid, nextXid)) return false;
  const age = isFirstEpoch && xid > nextXid ? 3 : xid;
  if (precedes(age, oldestXid)) return false;
  return oldestInRelation < 3 || !precedes(age, oldestInRelation);
}

/** Whether the commit log says that the xid, no special one, has committed; false where it was not asked. */
function isCommitted(xid: u32): bool {
  const at = xid - committedFrom;
  return at < committedCount && ((<u32>load<u8>(committedBits + (at >>> 3)) >> (at & 7)) & 1) !== 0;
}

/** LSN, flags, size and bounds. */
function headerIsClean(at: usize): bool {
  const high = load<u32>(at);
  const low = load<u32>(at, 4);
  if ((low & 7) !== 0 || high > endHigh || (high === endHigh && low > endLow)) return false;
  const lower = <u32>load<u16>(at, 12);
  const upper = <u32>load<u16>(at, 14);
  const special = <u32>load<u16>(at, 16);
  if (load<u16>(at, 10) > 7 || <u32>load<u16>(at, 18) !== (size | 4) || upper === 0) return false;
  if (special > size || upper > special || lower < 24 || lower > upper) return false;
  return ((special | upper) & 7) === 0 && (lower & 3) === 0;
}

/** Whether the items, whose lengths stand in the work area, follow each other from `upper` to `special`. */
function itemsTile(at: usize, upper: u32, special: u32, items: u32): bool {
  const table = area + ITEMS;
  const last = (<u32>load<u16>(at, 12) - 24) >> 2;
  memory.fill(table, 0, <usize>(size >> 2));
  for (let o: u32 = 0; o < last; o++) {
    const lp = load<u32>(at + ((<usize>o) << 2), 24);
    if (lp >>> 17 !== 0) store<u16>(table + ((lp & 0x7ff8) >> 2), <u16>(((lp >>> 17) + 7) >> 3));
  }
  let unit = upper >> 3;
  const end = special >> 3;
  let seen: u32 = 0;
  while (unit < end) {
    const length = <u32>load<u16>(table + (unit << 1));
    if (length === 0) return false;
    unit += length;
    seen++;
  }
  return unit === end && seen === items;
}

function indexPageIsClean(at: usize): bool {
  if (!headerIsClean(at)) return false;
  const upper = <u32>load<u16>(at, 14);
  const special = <u32>load<u16>(at, 16);
  if (special + 16 !== size || <u32>load<u16>(at + size - 2) > 0xff7f) return false;
  const flags = <u32>load<u16>(at + special, 12);
  if (flags > 0x1ff) return false; // of no B-tree
  if ((flags & 12) !== 0) return true; // a metapage or a deleted page has no line pointers
  const last = (<u32>load<u16>(at, 12) - 24) >> 2;
  let items: u32 = 0;
  let due = special;
  let inOrder = true;
  for (let o: u32 = 0; o < last; o++) {
    const lp = load<u32>(at + ((<usize>o) << 2), 24);
    const state = (lp >>> 15) & 3;
    if (state === 0 && lp === 0) continue;
    const offset = lp & 0x7fff;
    const length = lp >>> 17;
    if ((state & 1) === 0 || length < 8 || (offset & 7) !== 0 || offset < upper || offset + length > special)
      return false;
    items++;
    due -= (length + 7) & ~7;
    inOrder = inOrder && offset === due;
  }
  if (!(inOrder && due === upper) && !itemsTile(at, upper, special, items)) return false;
  linePointers += last;
  return true;
}

function heapPageIsClean(at: usize, block: u32, bits: u32): bool {
  if (!headerIsClean(at)) return false;
  const upper = <u32>load<u16>(at, 14);
  const last = (<u32>load<u16>(at, 12) - 24) >> 2;
  if (<u32>load<u16>(at, 16) !== size || last > maxTuples) return false;
  const pruneXid = load<u32>(at, 20);
  if (
    pruneXid !== 0 &&
    (pruneXid < 3 || (hasXids && isFirstEpoch && (pruneXid >= nextXid || !precedes(pruneXid, nextXid))))
  )
    return false;
  const flags = <u32>load<u16>(at, 10);
  const isAllVisible = (flags & PD_ALL_VISIBLE) !== 0;
  const hasMapBits = bits === 1 || bits === 3;
  if (bits === 2 || (hasMapBits && !isAllVisible)) return false;
  const isAllFrozen = bits === 3;
  waitingEnd = 0;
  let items: u32 = 0;
  let due = size;
  let inOrder = true;
  for (let o: u32 = 0; o < last; o++) {
    const lp = load<u32>(at + ((<usize>o) << 2), 24);
    const state = (lp >>> 15) & 3;
    if (state !== 1) {
      if (lp === 0 ? (flags & PD_HAS_FREE_LINES) !== 0 : lp === 3 << 15 && !isAllVisible) continue;
      return false;
    }
    const offset = lp & 0x7fff;
    const length = lp >>> 17;
    if (length < 24 || (offset & 7) !== 0 || offset < upper || offset + length > size) return false;
    items++;
    due -= (length + 7) & ~7;
    inOrder = inOrder && offset === due;
    if (!tupleIsClean(at + offset, length, block, o + 1, isAllVisible, isAllFrozen)) return false;
  }
  if (waitingEnd !== 0 && !stepsAreClean(waiting, waitingEnd, waiting, waitingEnd)) return false;
  if (!(inOrder && due === upper) && !itemsTile(at, upper, size, items)) return false;
  linePointers += last;
  tuples += items;
  mapBits += bits === 3 ? 2 : bits === 1 ? 1 : 0;
  return true;
}

function tupleIsClean(pos: usize, length: u32, block: u32, offset: u32, allVisible: bool, allFrozen: bool): bool {
  const xmin = load<u32>(pos);
  const xmax = load<u32>(pos, 4);
  const infomask = <u32>load<u16>(pos, 20);
  const infomask2 = <u32>load<u16>(pos, 18);
  if ((infomask & INFOMASK_RARE) !== 0 || (infomask2 & INFOMASK2_RARE) !== 0) return false;
  const isFrozen = (infomask & XMIN_FROZEN) === XMIN_FROZEN;
  if (!isFrozen && xmin !== knownXid) {
    if (!xidIsRight(xmin) || (hasCommitted && xmin >= 3 && !isCommitted(xmin))) return false;
    knownXid = xmin;
  }
  if (hasCommitted && (infomask & XMIN_FROZEN) === XMIN_INVALID) return false;
  const isPlain = xmax === 0 && (infomask & XMAX_BITS) === XMAX_INVALID && (infomask2 & KEYS_UPDATED) === 0;
  if (!isPlain && !xmaxIsClean(xmax, infomask)) return false;
  if (allVisible) {
    const isInserted =
      (infomask & XMIN_COMMITTED) !== 0 || ((infomask & XMIN_FROZEN) === 0 && (xmin === 1 || xmin === 2));
    if (!isInserted || ((infomask & (XMAX_INVALID | LOCK_ONLY)) === 0 && xmax !== 0)) return false;
    if (allFrozen && ((!isFrozen && xmin >= 3) || xmax >= 3)) return false;
  }
  const ctidBlock = ((<u32>load<u16>(pos, 12)) << 16) | <u32>load<u16>(pos, 14);
  const ctidOffset = <u32>load<u16>(pos, 16);
  if ((ctidBlock !== block || ctidOffset !== offset) && ctidOffset < 0xfffd) {
    if (
      ctidOffset < 1 ||
      ctidOffset > maxTuples ||
      (xmax === 0 && !isFrozen) ||
      (infomask & (LOCK_ONLY | 0x50)) >= 0x40
    )
      return false;
  } else if (ctidOffset === 0xffff) return false;
  const natts = infomask2 & 0x7ff;
  const hoff = <u32>load<u8>(pos, 22);
  if (columns >= 0 && natts > <u32>columns) return false;
  if ((infomask & HASNULL) === 0) {
    if (hoff !== 24 || load<u8>(pos, 23) !== 0) return false;
    if (columns < 0) return true;
    if (natts !== <u32>columns) return columnsAreClean(pos, length, hoff, natts, infomask);
    if ((infomask & 7) !== (hasVarlena ? HASVARWIDTH : 0)) return false;
    if (waitingEnd === 0) {
      waiting = pos + 24;
      waitingEnd = pos + length;
      return true;
    }
    const end = waitingEnd;
    waitingEnd = 0;
    return stepsAreClean(waiting, end, pos + 24, pos + length);
  }
  const bitmap = (natts + 7) >> 3;
  if (hoff !== ((23 + bitmap + 7) & ~7) || hoff > length) return false;
  if ((natts & 7) !== 0 && <u32>load<u8>(pos + bitmap, 22) >> (natts & 7) !== 0) return false;
  for (let byte: u32 = 23 + bitmap; byte < hoff; byte++) if (load<u8>(pos + byte) !== 0) return false;
  return columns < 0 || columnsAreClean(pos, length, hoff, natts, infomask);
}

/** Flags about a t_xmax that is there, or that is 0 and has flags. */
function xmaxIsClean(xmax: u32, infomask: u32): bool {
  if (xmax < 3 || !xidIsRight(xmax)) return false; // a t_xmax of 0 with no more than "invalid" did not come here
  if ((infomask & XMAX_COMMITTED) !== 0 && (infomask & (XMAX_INVALID | LOCK_ONLY)) !== 0) return false;
  if ((infomask & LOCK_ONLY) === 0) {
    if (hasCommitted && ((infomask & XMAX_INVALID) !== 0 || !isCommitted(xmax))) return false;
    return (infomask & KEYSHR_LOCK) === 0;
  }
  return (infomask & (KEYSHR_LOCK | EXCL_LOCK)) !== 0;
}

/**
 * The attributes of two tuples that have all of them and no nulls: two at once, because where an attribute begins is
 * known late, and the processor has time for another. Short values are verified without a branch; what is wrong with any
 * gathers in `wrong` and `bytesSeen`.
 */
function stepsAreClean(from0: usize, end0: usize, from1: usize, end1: usize): bool {
  const last = stepsEnd;
  const beyondDigits = i16x8.splat(BEYOND_DIGITS);
  let bytesSeen = i8x16.splat(0);
  let wrong: u32 = 0;
  let at0 = from0;
  let at1 = from1;
  for (let step = area + STEPS; step < last; step += 8) {
    const form = load<u32>(step);
    const verification = form & 0xff;
    if (verification <= NAME) {
      const below = <usize>((form >>> 8) & 0xff);
      const width = <usize>load<u32>(step, 4);
      const start0 = (at0 + below) & ~below;
      const start1 = (at1 + below) & ~below;
      at0 = start0 + width;
      at1 = start1 + width;
      if (at0 > end0 || at1 > end1) return false;
      if (verification === 0) continue;
      if (!fixedIsClean(verification, start0, at0) || !fixedIsClean(verification, start1, at1)) return false;
      continue;
    }
    const first0 = <u32>load<u8>(at0);
    const first1 = <u32>load<u8>(at1);
    // A length with its header, twice, plus one: 3 is the least of a short value, 1 stands for one out of line.
    if ((first0 & first1 & 1) === 0 || first0 - 3 > SHORT_FIRST_RANGE || first1 - 3 > SHORT_FIRST_RANGE) {
      at0 = afterVarlena(step, verification, at0, end0);
      at1 = afterVarlena(step, verification, at1, end1);
      if (at0 === 0 || at1 === 0) return false;
      continue;
    }
    const data0 = at0 + 1;
    const data1 = at1 + 1;
    const bytes0 = (first0 >>> 1) - 1;
    const bytes1 = (first1 >>> 1) - 1;
    at0 = data0 + <usize>bytes0;
    at1 = data1 + <usize>bytes1;
    if (at0 > end0 || at1 > end1) return false;
    if (verification === NUMERIC) {
      const headers = ((<u32>load<u8>(data0, 1)) << 8) | <u32>load<u8>(data1, 1);
      if (bytes0 - 2 > 16 || bytes1 - 2 > 16 || (headers & 0xc0c0) !== 0x8080) {
        if (!numericIsClean(data0, at0) || !numericIsClean(data1, at1)) return false;
      } else {
        const wrong0 = <u32>i16x8.bitmask(i16x8.add_sat_u(v128.load(data0, 2), beyondDigits));
        const wrong1 = <u32>i16x8.bitmask(i16x8.add_sat_u(v128.load(data1, 2), beyondDigits));
        wrong |= (wrong0 & ((1 << ((bytes0 - 2) >>> 1)) - 1)) | (wrong1 & ((1 << ((bytes1 - 2) >>> 1)) - 1));
        wrong |= (bytes0 | bytes1) & 1;
      }
    } else if (verification === TEXT) {
      if (bytes0 >= 16) bytesSeen = v128.or(bytesSeen, bytesOf(data0, at0 - 16));
      else wrong |= <u32>i8x16.bitmask(v128.load(data0)) & ((1 << bytes0) - 1);
      if (bytes1 >= 16) bytesSeen = v128.or(bytesSeen, bytesOf(data1, at1 - 16));
      else wrong |= <u32>i8x16.bitmask(v128.load(data1)) & ((1 << bytes1) - 1);
    }
  }
  return at0 === end0 && at1 === end1 && wrong === 0 && i8x16.bitmask(bytesSeen) === 0;
}

/** All bytes, put together by "or", of a text of 16 to 64 bytes, the last 16 of which begin at `tail`. */
function bytesOf(data: usize, tail: usize): v128 {
  const second = data + 16 < tail ? data + 16 : tail;
  const third = tail - data > 16 ? tail - 16 : data;
  return v128.or(v128.or(v128.load(data), v128.load(tail)), v128.or(v128.load(second), v128.load(third)));
}

/** The attributes of a tuple with nulls, or that was made before the last columns were added. */
function columnsAreClean(pos: usize, length: u32, hoff: u32, natts: u32, infomask: u32): bool {
  const end = pos + length;
  const hasNulls = (infomask & HASNULL) !== 0;
  let at = pos + hoff;
  let due: u32 = 0;
  for (let i: u32 = 0; i < natts; i++) {
    if (hasNulls && ((<u32>load<u8>(pos + (i >> 3), 23) >> (i & 7)) & 1) === 0) {
      due |= HASNULL;
      continue;
    }
    const column = area + COLUMNS + ((<usize>i) << 3);
    const verification = <u32>load<u8>(column);
    if (verification <= NAME) {
      const below = <usize>load<u8>(column, 1);
      at = (at + below) & ~below;
      const behind = at + <usize>load<u32>(column, 4);
      if (behind > end || (verification !== 0 && !fixedIsClean(verification, at, behind))) return false;
      at = behind;
    } else {
      due |= HASVARWIDTH;
      at = afterVarlena(column, verification, at, end);
      if (at === 0) return false;
    }
  }
  return at === end && (infomask & 7) === due;
}

function fixedIsClean(verification: u32, at: usize, behind: usize): bool {
  return verification === BOOL ? load<u8>(at) <= 1 : textIsClean(at, behind);
}

/** The byte behind the varlena at `at`; 0 when it is not plain, or not proven to be a value. */
function afterVarlena(step: usize, verification: u32, at: usize, end: usize): usize {
  if (at >= end) return 0;
  const first = <u32>load<u8>(at);
  let data: usize;
  let behind: usize;
  if ((first & 1) !== 0) {
    if (first === 1) return 0;
    data = at + 1;
    behind = at + (first >> 1);
  } else {
    const below = <usize>load<u8>(step, 1);
    const start = (at + below) & ~below;
    if ((start !== at && first !== 0) || start + 4 > end) return 0;
    const word = load<u32>(start);
    if ((word & 3) !== 0 || word < 16 || word >> 2 > <u32>(end - start)) return 0;
    data = start + 4;
    behind = start + (word >> 2);
  }
  if (behind > end) return 0;
  if (verification === NUMERIC) return numericIsClean(data, behind) ? behind : 0;
  if (verification === TEXT) return textIsClean(data, behind) ? behind : 0;
  return behind;
}

/** A finite number whose digits are below 10000. */
function numericIsClean(data: usize, behind: usize): bool {
  const bytes = behind - data;
  if (bytes < 2 || (bytes & 1) !== 0) return false;
  const header = <u32>load<u8>(data, 1);
  if (header >= 0xc0) return false;
  let at = data + 2;
  if (header < 0x80) {
    if (bytes < 4) return false;
    at += 2;
  }
  const most = i16x8.splat(9999);
  while (at < behind) {
    let wrong = i16x8.bitmask(i16x8.gt_u(v128.load(at), most));
    const digits = <i32>((behind - at) >> 1);
    if (digits < 8) wrong &= (1 << digits) - 1;
    if (wrong !== 0) return false;
    at += 16;
  }
  return true;
}

/** ASCII. */
function textIsClean(data: usize, behind: usize): bool {
  while (data < behind) {
    let wrong = i8x16.bitmask(v128.load(data));
    const bytes = <i32>(behind - data);
    if (bytes < 16) wrong &= (1 << bytes) - 1;
    if (wrong !== 0) return false;
    data += 16;
  }
  return true;
}
