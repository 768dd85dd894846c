// Every bit of every field of page headers, line pointers and tuple headers, flipped one at a time on copies of pages,
// the checksum made right again: does a check find it?
import { checkRelation, type RelationCheckOptions } from '@blockwright/amcheck';
import { type Finding, runSync } from '@blockwright/base';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
} from '@blockwright/page';
import { tupleInfomask, tupleNatts } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';

/** A bit of a field. */
export interface Flip {
  readonly field: string;
  readonly bit: number;
  /** Byte of the page's memory. */
  readonly byte: number;
  readonly mask: number;
  /** Line pointer, 0 for the page header. */
  readonly offset: number;
}

interface Field {
  readonly name: string;
  readonly byte: number;
  readonly bits: number;
}

const PAGE_HEADER: readonly Field[] = [
  // pd_lsn is two words, the high one first.
  { name: 'pd_lsn high', byte: 0, bits: 32 },
  { name: 'pd_lsn low', byte: 4, bits: 32 },
  { name: 'pd_checksum', byte: 8, bits: 16 },
  { name: 'pd_flags', byte: 10, bits: 16 },
  { name: 'pd_lower', byte: 12, bits: 16 },
  { name: 'pd_upper', byte: 14, bits: 16 },
  { name: 'pd_special', byte: 16, bits: 16 },
  { name: 'pd_pagesize_version', byte: 18, bits: 16 },
  { name: 'pd_prune_xid', byte: 20, bits: 32 },
];

const TUPLE_HEADER: readonly Field[] = [
  { name: 't_xmin', byte: 0, bits: 32 },
  { name: 't_xmax', byte: 4, bits: 32 },
  { name: 't_cid', byte: 8, bits: 32 },
  { name: 't_ctid block high', byte: 12, bits: 16 },
  { name: 't_ctid block low', byte: 14, bits: 16 },
  { name: 't_ctid offset', byte: 16, bits: 16 },
  { name: 't_infomask2', byte: 18, bits: 16 },
  { name: 't_infomask', byte: 20, bits: 16 },
  { name: 't_hoff', byte: 22, bits: 8 },
];

function flipsOf(field: Field, base: number, offset: number): Flip[] {
  return Array.from({ length: field.bits }, (_, bit) => ({
    field: field.name,
    bit,
    byte: base + field.byte + (bit >> 3),
    mask: 1 << (bit & 7),
    offset,
  }));
}

/** Every flip of a page: of its header, and of line pointer and tuple header of `offsets`. */
export function flipsOfPage(m: PageMemory, base: number, offsets: readonly number[]): Flip[] {
  const flips = PAGE_HEADER.flatMap((field) => flipsOf(field, base, 0));
  for (const offset of offsets) {
    const at = base + 24 + 4 * (offset - 1);
    for (let bit = 0; bit < 32; bit++) {
      const field = bit < 15 ? 'lp_off' : bit < 17 ? 'lp_flags' : 'lp_len';
      const within = bit < 15 ? bit : bit < 17 ? bit - 15 : bit - 17;
      flips.push({ field, bit: within, byte: at + (bit >> 3), mask: 1 << (bit & 7), offset });
    }
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) !== 1 || lpLength(lp) === 0) continue;
    const tuple = base + lpOffset(lp);
    for (const field of TUPLE_HEADER) flips.push(...flipsOf(field, tuple, offset));
    const natts = tupleNatts(m, tuple);
    const bitmap = (tupleInfomask(m, tuple) & 1) === 0 ? 0 : (natts + 7) >> 3;
    if (bitmap > 0) flips.push(...flipsOf({ name: 't_bits', byte: 23, bits: 8 * bitmap }, tuple, offset));
  }
  return flips;
}

/** Line pointers of a page worth flipping: the first and last of each kind of line pointer and of tuple. */
export function tellingOffsets(m: PageMemory, base: number, most: number): number[] {
  const byKind = new Map<string, number[]>();
  for (let offset = 1; offset <= pageMaxOffset(m, base); offset++) {
    const lp = linePointer(m, base, offset);
    const flags = lpFlags(lp);
    const tuple = base + lpOffset(lp);
    const kind = flags === 1 ? `${tupleInfomask(m, tuple)} ${m.u16[(tuple + 18) >> 1] & 0xe000}` : `lp ${flags}`;
    const one = byKind.get(kind);
    if (one === undefined) byKind.set(kind, [offset]);
    else one[1] = offset;
  }
  return [...byKind.values()]
    .flat()
    .slice(0, most)
    .sort((a, b) => a - b);
}

/** The files of a relation, cut down to its blocks up to `block`, in a file system of its own. */
export class FlipSubject {
  readonly geometry: BlockGeometry;
  readonly memory: PageMemory;
  readonly base: number;
  readonly block: number;
  private readonly vfs = new MemoryVfs();
  private readonly options: RelationCheckOptions;

  constructor(
    size: BlockSize,
    main: Uint8Array,
    map: Uint8Array | undefined,
    block: number,
    options: Omit<RelationCheckOptions, 'vfs' | 'geometry' | 'path'>,
  ) {
    this.geometry = BlockGeometry.of(size);
    this.block = block;
    this.base = block * size;
    this.memory = pageMemory(new Uint8Array(main.subarray(0, (block + 1) * size)).buffer);
    this.vfs.recording = false;
    this.write('/1000', this.memory.u8);
    if (map !== undefined) this.write('/1000_vm', this.cutMap(map, block + 1));
    this.options = { ...options, vfs: this.vfs, geometry: this.geometry, path: '/1000' };
  }

  /** The map's first page, without bits for blocks from `blocks` on. */
  private cutMap(map: Uint8Array, blocks: number): Uint8Array {
    const m = pageMemory(new Uint8Array(map.subarray(0, this.geometry.size)).buffer);
    for (let pair = blocks; pair < (this.geometry.size - 24) * 4; pair++)
      m.u8[24 + (pair >> 2)] &= ~(3 << ((pair & 3) * 2));
    pageSetChecksum(m, 0, this.geometry, 0);
    return m.u8;
  }

  private write(path: string, bytes: Uint8Array): void {
    const file = this.vfs.open(path, 'create');
    file.write(bytes, 0, bytes.length, 0);
    file.close();
  }

  check(): Finding[] {
    const findings: Finding[] = [];
    runSync(checkRelation(this.options, (finding) => findings.push(finding)));
    return findings;
  }

  /** Whether a check of the page with the bit flipped finds anything. */
  findings(flip: Flip): Finding[] {
    const { memory: m, base, geometry } = this;
    const before = m.u8.slice(base, base + geometry.size);
    m.u8[flip.byte] ^= flip.mask;
    if (flip.field !== 'pd_checksum' && this.options.checksums) pageSetChecksum(m, base, geometry, this.block);
    this.writePage();
    const findings = this.check();
    m.u8.set(before, base);
    this.writePage();
    return findings;
  }

  private writePage(): void {
    const file = this.vfs.open('/1000', 'r+');
    file.write(this.memory.u8, this.base, this.geometry.size, this.base);
    file.close();
  }
}
