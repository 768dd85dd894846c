// Puts one record together: calls say what is in it, in the order that suits the caller; `assemble` lays it out as the
// WAL has it. One builder serves all records of a writer and allocates nothing. PostgreSQL: xloginsert.c.
import type { BlockNumber, ForkNumber, RelationLocator } from '@blockwright/base';
import { crc32 } from './crc.ts';
import {
  BLOCK_HAS_DATA,
  BLOCK_HAS_IMAGE,
  BLOCK_SAME_RELATION,
  BLOCK_WILL_INIT,
  IMAGE_APPLY,
  IMAGE_HAS_HOLE,
  IMAGE_SIZE_SHIFT,
  LONG_DATA,
  MAX_BLOCK_DATA_BYTES,
  MAX_BLOCK_REFERENCES,
  MAX_RECORD_BYTES,
  RECORD_FIELDS,
  RECORD_HEADER_BYTES,
  SHORT_DATA,
} from './record-format.ts';

const F = RECORD_FIELDS;
const HEADER_BYTES = RECORD_HEADER_BYTES;
const HAS_IMAGE = BLOCK_HAS_IMAGE;
const SAME_RELATION = BLOCK_SAME_RELATION;
const crcOf = crc32;

/** Below so many bytes a loop, over bytes or over words, is quicker than making a view for a `set`. */
const BYTE_LOOP = 26;
const WORD_LOOP = 88;

const FIRST_MAIN_BYTES = 1 << 12;
const FIRST_BLOCK_BYTES = 1 << 16;

/** Where puts go. */
const NOWHERE = 0;
const MAIN = 1;
const BLOCK = 2;

/** Bytes that grow. */
class Scratch {
  bytes: Uint8Array;
  view: DataView;
  length: number = 0;

  constructor(bytes: number) {
    this.bytes = new Uint8Array(bytes);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `bytes` in all. */
  ensure(bytes: number): void {
    if (bytes <= this.bytes.length) return;
    let size = this.bytes.length;
    while (size < bytes) size += size;
    const larger = new Uint8Array(size);
    larger.set(this.bytes);
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }
}

export class RecordBuilder {
  private readonly mainData: Scratch = new Scratch(FIRST_MAIN_BYTES);
  private readonly blockData: Scratch = new Scratch(FIRST_BLOCK_BYTES);
  /** The one of the two that puts go to, taken apart for speed. */
  private bytes_: Uint8Array;
  private view: DataView;
  private at: number = 0;
  private limit: number = -1;
  private target: number = NOWHERE;

  private rmgr: number = 0;
  private info: number = 0;
  private count: number = 0;
  private total: number = 0;
  private readonly id: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES);
  private readonly flags: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES);
  private readonly tablespace: Uint32Array = new Uint32Array(MAX_BLOCK_REFERENCES);
  private readonly database: Uint32Array = new Uint32Array(MAX_BLOCK_REFERENCES);
  private readonly relfilenode: Uint32Array = new Uint32Array(MAX_BLOCK_REFERENCES);
  private readonly block_: Uint32Array = new Uint32Array(MAX_BLOCK_REFERENCES);
  private readonly dataAt: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES + 1);
  private readonly keepsData: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES);
  private readonly imageBytes: Uint8Array[] = new Array<Uint8Array>(MAX_BLOCK_REFERENCES).fill(new Uint8Array(0));
  private readonly imageAt: Float64Array = new Float64Array(MAX_BLOCK_REFERENCES);
  private readonly imageSize: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES);
  private readonly holeOffset: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES);
  private readonly holeLength: Int32Array = new Int32Array(MAX_BLOCK_REFERENCES);

  /** Images of the record, and their bytes without the holes; right after {@link seal}. */
  images: number = 0;
  imagesLength: number = 0;

  constructor() {
    this.bytes_ = this.mainData.bytes;
    this.view = this.mainData.view;
  }

  /**
   * Begins a record; one that was begun and never inserted is forgotten. What is put next is main data.
   * @throws RangeError when an argument is no byte.
   */
  begin(rmgr: number, info: number): void {
    if (rmgr >>> 8 !== 0 || info >>> 8 !== 0) {
      throw new RangeError(`resource manager ${rmgr} and info ${info} must be integers from 0 to 255`);
    }
    this.rmgr = rmgr;
    this.info = info;
    this.count = 0;
    this.mainData.length = 0;
    this.blockData.length = 0;
    this.aim(this.mainData, MAIN);
  }

  /**
   * Adds a reference to a block. What is put next is its data, at most 65535 bytes, which redo gets with the block.
   * `blockId` is 0 to 32 and higher than the one before. `willInit`: redo makes the page anew, whatever it was.
   */
  block(blockId: number, locator: RelationLocator, fork: ForkNumber, block: BlockNumber, willInit: boolean): void {
    if (this.target === NOWHERE) throw notBegun();
    this.leave();
    const i = this.count;
    const before = i === 0 ? -1 : this.id[i - 1];
    if (!(blockId > before && blockId < MAX_BLOCK_REFERENCES && blockId >>> 0 === blockId)) {
      throw new TypeError(`block id ${blockId} after ${before} does not rise, or is none of 0 to 32`);
    }
    if (block >>> 0 !== block || block === 0xffff_ffff) {
      throw new RangeError(`block number ${block} is not an integer from 0 to 4294967294`);
    }
    const { tablespace, database, relfilenode } = locator;
    let flags: number = fork | (willInit ? BLOCK_WILL_INIT : 0);
    if (
      i !== 0 &&
      relfilenode === this.relfilenode[i - 1] &&
      database === this.database[i - 1] &&
      tablespace === this.tablespace[i - 1]
    ) {
      flags |= SAME_RELATION;
    }
    this.id[i] = blockId;
    this.flags[i] = flags;
    this.tablespace[i] = tablespace;
    this.database[i] = database;
    this.relfilenode[i] = relfilenode;
    this.block_[i] = block;
    this.dataAt[i] = this.blockData.length;
    this.keepsData[i] = 1;
    this.count = i + 1;
    this.aim(this.blockData, BLOCK);
  }

  /**
   * Gives the block just begun an image of its page, `size` bytes (a power of two from 1 to 32 kB) of `bytes` from index
   * `at`, without the hole. The bytes are fetched when the record is inserted: they must not change before. The block's
   * data, put before or after, is dropped unless `keepData`.
   */
  image(bytes: Uint8Array, at: number, size: number, holeOffset: number, holeLength: number, keepData: boolean): void {
    if (this.target !== BLOCK) throw new TypeError('an image belongs to a block: begin the block first');
    const i = this.count - 1;
    if (size < 1024 || size > 0x8000 || (size & (size - 1)) !== 0) {
      throw new RangeError(`image of ${size} bytes: block sizes are powers of two from 1024 to 32768`);
    }
    if (!(at >= 0 && at + size <= bytes.length)) {
      throw new RangeError(`image of ${size} bytes at index ${at} of an array of ${bytes.length}`);
    }
    if (!(holeOffset >= 0 && holeLength >= 0 && holeOffset + holeLength <= size && holeLength < size)) {
      throw new RangeError(`hole of ${holeLength} bytes at ${holeOffset} in an image of ${size}`);
    }
    this.flags[i] |= HAS_IMAGE;
    this.imageBytes[i] = bytes;
    this.imageAt[i] = at;
    this.imageSize[i] = size;
    this.holeOffset[i] = holeLength === 0 ? 0 : holeOffset;
    this.holeLength[i] = holeLength;
    this.keepsData[i] = keepData ? 1 : 0;
  }

  /** What is put next is main data again, after what was put there before. */
  main(): void {
    if (this.target === NOWHERE) throw notBegun();
    this.leave();
    this.aim(this.mainData, MAIN);
  }

  u8(v: number): void {
    const at = this.at;
    if (at + 1 > this.limit) this.grow(1);
    this.view.setUint8(at, v);
    this.at = at + 1;
  }

  u16(v: number): void {
    const at = this.at;
    if (at + 2 > this.limit) this.grow(2);
    this.view.setUint16(at, v, true);
    this.at = at + 2;
  }

  u32(v: number): void {
    const at = this.at;
    if (at + 4 > this.limit) this.grow(4);
    this.view.setInt32(at, v, true);
    this.at = at + 4;
  }

  /** Puts `length` bytes of `src` from index `from`; they are copied. */
  bytes(src: Uint8Array, from: number, length: number): void {
    const at = this.at;
    if (!(length >= 0 && from >= 0 && from + length <= src.length)) {
      throw new RangeError(`${length} bytes at index ${from} of an array of ${src.length}`);
    }
    if (at + length > this.limit) this.grow(length);
    copyBytes(this.bytes_, at, src, from, length);
    this.at = at + length;
  }

  /** @internal Makes room for a record of `bytes`, so that puts cannot fail for want of memory. */
  ensure(bytes: number): void {
    if (bytes <= FIRST_MAIN_BYTES) return;
    this.leave();
    this.mainData.ensure(bytes);
    this.blockData.ensure(bytes);
    this.aim(this.target === BLOCK ? this.blockData : this.mainData, this.target);
  }

  /**
   * @internal Ends the record. @returns its length, header included.
   * @throws TypeError when none was begun; RangeError when it is too long.
   */
  seal(): number {
    if (this.target === NOWHERE) throw notBegun();
    this.leave();
    const { count, dataAt } = this;
    dataAt[count] = this.blockData.length;
    const main = this.mainData.length;
    let total = HEADER_BYTES + main + (main === 0 ? 0 : main < 256 ? 2 : 5);
    let images = 0;
    let imagesLength = 0;
    for (let i = 0; i < count; i++) {
      const flags = this.flags[i];
      const length = dataAt[i + 1] - dataAt[i];
      if (length > MAX_BLOCK_DATA_BYTES && this.keepsData[i] === 1) {
        throw new RangeError(`block ${this.id[i]} of a record has ${length} bytes of data: at most 65535`);
      }
      total += (flags & SAME_RELATION) === 0 ? 20 : 8;
      if (this.keepsData[i] === 1) total += length;
      if ((flags & HAS_IMAGE) !== 0) {
        images++;
        imagesLength += this.imageSize[i] - this.holeLength[i];
        total += 5;
      }
    }
    total += imagesLength;
    if (total > MAX_RECORD_BYTES) throw tooLong(total);
    this.images = images;
    this.imagesLength = imagesLength;
    this.total = total;
    return total;
  }

  /**
   * @internal Lays the sealed record out at `at` of `out`, which `view` looks at from the same first byte, and forgets it.
   * `previousHigh`, `previousLow`: LSN of the record before.
   */
  assemble(
    out: Uint8Array,
    view: DataView,
    at: number,
    xid: number,
    previousHigh: number,
    previousLow: number,
    incarnation: number,
  ): void {
    const total = this.total;
    view.setInt32(at, total, true);
    view.setInt32(at + F.xid, xid, true);
    view.setInt32(at + F.prev, previousLow, true);
    view.setInt32(at + F.prev + 4, previousHigh, true);
    // info, rmgr and the two zeros
    view.setInt32(at + F.info, this.info | (this.rmgr << 8), true);
    this.data(out, view, this.references(view, at + HEADER_BYTES));
    const crc = crcOf(out, view, at + HEADER_BYTES, total - HEADER_BYTES, incarnation);
    view.setInt32(at + F.crc, crcOf(out, view, at, F.crc, crc), true);
    this.target = NOWHERE;
    this.limit = -1;
  }

  /** Writes the block references and the main data's header. @returns where the data begins. */
  private references(view: DataView, from: number): number {
    const { count, dataAt } = this;
    let p = from;
    for (let i = 0; i < count; i++) {
      let flags = this.flags[i];
      const length = this.keepsData[i] === 1 ? dataAt[i + 1] - dataAt[i] : 0;
      if (length !== 0) flags |= BLOCK_HAS_DATA;
      view.setInt32(p, this.id[i] | (flags << 8) | (length << 16), true);
      p += 4;
      if ((flags & HAS_IMAGE) !== 0) {
        const hole = this.holeLength[i];
        const shift = 31 - Math.clz32(this.imageSize[i]);
        view.setInt32(p, (this.imageSize[i] - hole) | (this.holeOffset[i] << 16), true);
        view.setUint8(p + 4, (hole === 0 ? 0 : IMAGE_HAS_HOLE) | IMAGE_APPLY | (shift << IMAGE_SIZE_SHIFT));
        p += 5;
      }
      if ((flags & SAME_RELATION) === 0) {
        view.setInt32(p, this.tablespace[i], true);
        view.setInt32(p + 4, this.database[i], true);
        view.setInt32(p + 8, this.relfilenode[i], true);
        p += 12;
      }
      view.setInt32(p, this.block_[i], true);
      p += 4;
    }
    const main = this.mainData.length;
    if (main === 0) return p;
    if (main < 256) {
      view.setUint16(p, SHORT_DATA | (main << 8), true);
      return p + 2;
    }
    view.setUint8(p, LONG_DATA);
    view.setInt32(p + 1, main, true);
    return p + 5;
  }

  /** Copies images and data. */
  private data(out: Uint8Array, view: DataView, from: number): void {
    const { count, dataAt, blockData } = this;
    let p = from;
    for (let i = 0; i < count; i++) {
      if ((this.flags[i] & HAS_IMAGE) !== 0) p = this.copyImage(out, p, i);
      const length = dataAt[i + 1] - dataAt[i];
      if (length !== 0 && this.keepsData[i] === 1) {
        copyScratch(out, view, p, blockData, dataAt[i], length);
        p += length;
      }
    }
    copyScratch(out, view, p, this.mainData, 0, this.mainData.length);
  }

  private copyImage(out: Uint8Array, to: number, i: number): number {
    const bytes = this.imageBytes[i];
    const at = this.imageAt[i];
    const holeOffset = this.holeOffset[i];
    const hole = this.holeLength[i];
    if (hole === 0) {
      copyBytes(out, to, bytes, at, this.imageSize[i]);
      return to + this.imageSize[i];
    }
    const rest = this.imageSize[i] - holeOffset - hole;
    copyBytes(out, to, bytes, at, holeOffset);
    copyBytes(out, to + holeOffset, bytes, at + holeOffset + hole, rest);
    return to + holeOffset + rest;
  }

  /** Puts go to `scratch` from now on. */
  private aim(scratch: Scratch, target: number): void {
    this.bytes_ = scratch.bytes;
    this.view = scratch.view;
    this.at = scratch.length;
    this.limit = target === NOWHERE ? -1 : scratch.bytes.length;
    this.target = target;
  }

  /** Notes how much was put to where puts went until now. */
  private leave(): void {
    if (this.target === MAIN) this.mainData.length = this.at;
    else if (this.target === BLOCK) this.blockData.length = this.at;
  }

  private grow(bytes: number): void {
    if (this.target === NOWHERE) throw notBegun();
    const wanted = this.at + bytes;
    if (wanted > MAX_RECORD_BYTES) throw tooLong(wanted);
    this.leave();
    const scratch = this.target === BLOCK ? this.blockData : this.mainData;
    scratch.ensure(wanted);
    this.aim(scratch, this.target);
  }
}

function copyBytes(to: Uint8Array, at: number, from: Uint8Array, start: number, length: number): void {
  if (length < BYTE_LOOP) {
    for (let i = 0; i < length; i++) to[at + i] = from[start + i];
  } else {
    to.set(from.subarray(start, start + length), at);
  }
}

/** As {@link copyBytes}, between bytes that both have a view. */
function copyScratch(to: Uint8Array, view: DataView, at: number, from: Scratch, start: number, length: number): void {
  if (length >= WORD_LOOP) {
    to.set(from.bytes.subarray(start, start + length), at);
    return;
  }
  const source = from.view;
  const words = length - 3;
  let i = 0;
  for (; i < words; i += 4) view.setInt32(at + i, source.getInt32(start + i, true), true);
  for (; i < length; i++) view.setUint8(at + i, source.getUint8(start + i));
}

function notBegun(): TypeError {
  return new TypeError('no record was begun');
}

function tooLong(bytes: number): RangeError {
  return new RangeError(`a record of ${bytes} bytes is longer than any may be: ${MAX_RECORD_BYTES}`);
}
