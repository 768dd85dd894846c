// One to eight fields of a page, changed: of the page header, of line pointers, of tuple headers, of attributes' first
// bytes, or anywhere. Then the checksum is made right again, so that readers look further.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageSetChecksum,
} from '@blockwright/page';
import { tupleHoff } from '@blockwright/tuple';
import type { Random } from './random.ts';

const MOST_FIELDS = 8;
const PAGE_HEADER_FIELDS: readonly (readonly [byte: number, bytes: number])[] = [
  [0, 8],
  [10, 2],
  [12, 2],
  [14, 2],
  [16, 2],
  [18, 2],
  [20, 4],
];
const TUPLE_HEADER_FIELDS: readonly (readonly [byte: number, bytes: number])[] = [
  [0, 4],
  [4, 4],
  [8, 4],
  [12, 4],
  [16, 2],
  [18, 2],
  [20, 2],
  [22, 1],
  [23, 1],
];

/** What was changed: in words, and which line pointers or tuples. */
export interface Changes {
  readonly words: string[];
  readonly offsets: number[];
}

/** Changes a page whose header is sane. */
export function mutate(m: PageMemory, base: number, g: BlockGeometry, random: Random): Changes {
  const lines = pageMaxOffset(m, base);
  const changes: Changes = { words: [], offsets: [] };
  for (let left = 1 + random.below(MOST_FIELDS); left > 0; left--) {
    const what = random.below(100);
    if (what < 6) change(m, base, random, changes, 'page header', ...random.pick(PAGE_HEADER_FIELDS));
    else if (what < 22 && lines > 0) mutateLine(m, base, g, 1 + random.below(lines), random, changes);
    else if (what < 92 && lines > 0) mutateTuple(m, base, g, 1 + random.below(lines), random, changes);
    else change(m, base, random, changes, 'anywhere', 24 + random.below(g.size - 24), 1);
  }
  pageSetChecksum(m, base, g, 0);
  return changes;
}

/** Changes bytes of a map page after its header, or its header. */
export function mutateMap(m: PageMemory, base: number, g: BlockGeometry, random: Random): Changes {
  const changes: Changes = { words: [], offsets: [] };
  for (let left = 1 + random.below(MOST_FIELDS); left > 0; left--) {
    if (random.oneIn(16)) change(m, base, random, changes, 'page header', ...random.pick(PAGE_HEADER_FIELDS));
    else change(m, base, random, changes, 'map', 24 + random.below(g.size - 24), 1);
  }
  pageSetChecksum(m, base, g, 0);
  return changes;
}

function change(
  m: PageMemory,
  base: number,
  random: Random,
  changes: Changes,
  what: string,
  byte: number,
  bytes: number,
): void {
  for (let i = 0; i < bytes; i++) m.u8[base + byte + i] = newByte(m.u8[base + byte + i], i, bytes, random);
  changes.words.push(`${what} byte ${byte}`);
}

/** A value that is near the old one, at an edge, or anything. */
function newByte(old: number, i: number, bytes: number, random: Random): number {
  switch (random.below(5)) {
    case 0:
      return old ^ (1 << random.below(8));
    case 1:
      return i === 0 ? old + 1 : old;
    case 2:
      return i === 0 ? old - 1 : old;
    case 3:
      return i === bytes - 1 ? random.pick([0, 0x7f, 0x80, 0xff]) : random.pick([0, 0xff]);
    default:
      return random.below(256);
  }
}

function mutateLine(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  offset: number,
  random: Random,
  changes: Changes,
): void {
  const at = (base + 24 + 4 * (offset - 1)) >> 2;
  const lp = m.u32[at];
  const near = [0, 1, 23, 24, 25, g.size - 24, g.size - 8, g.size - 1, g.size, 0x7fff];
  const field = random.below(4);
  if (field === 0) m.u32[at] = (lp & ~0x7fff) | (random.oneIn(2) ? random.pick(near) & 0x7fff : random.below(0x8000));
  else if (field === 1)
    m.u32[at] = (lp & 0x1_ffff) | ((random.oneIn(2) ? random.pick(near) & 0x7fff : random.below(0x8000)) << 17);
  else if (field === 2) m.u32[at] = (lp & ~0x1_8000) | (random.below(4) << 15);
  else m.u32[at] = lp ^ (1 << random.below(32));
  changes.words.push(`line pointer ${offset}`);
  changes.offsets.push(offset);
}

function mutateTuple(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  offset: number,
  random: Random,
  changes: Changes,
): void {
  const lp = linePointer(m, base, offset);
  const [position, length] = [lpOffset(lp), lpLength(lp)];
  if (lpFlags(lp) !== 1 || (position & 7) !== 0 || position < 24 || length < 24 || position + length > g.size) {
    mutateLine(m, base, g, offset, random, changes);
    return;
  }
  changes.offsets.push(offset);
  const hoff = Math.min(tupleHoff(m, base + position), length - 1);
  if (random.oneIn(2)) {
    const [byte, bytes] = random.pick(TUPLE_HEADER_FIELDS);
    change(m, base, random, changes, `tuple ${offset} header`, position + byte, bytes);
  } else {
    // Lengths and compressed values stand at the beginning of attributes, and attributes begin mostly at the front.
    const reach = random.oneIn(2) ? length - hoff : Math.min(length - hoff, 48);
    change(m, base, random, changes, `tuple ${offset} data`, position + hoff + random.below(reach), 1);
  }
}
