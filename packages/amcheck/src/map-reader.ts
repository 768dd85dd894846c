// The bits of a visibility map, read from its file page by page: what the heap's pages are compared with.
import type { BlockNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { PageFault, type PageMemory, pageIsNew, pageVerify } from '@blockwright/page';
import type { BlockReader } from './block-reader.ts';

/** Reads bits in ascending order of heap blocks; a damaged or missing map page gives 0. */
export class MapReader {
  private readonly geometry: BlockGeometry;
  private readonly reader: BlockReader;
  private readonly checksums: boolean;
  private page = -1;
  private readable = false;

  constructor(geometry: BlockGeometry, reader: BlockReader, checksums: boolean) {
    this.geometry = geometry;
    this.reader = reader;
    this.checksums = checksums;
  }

  /** The two bits of a heap block. */
  bits(block: BlockNumber): number {
    const page = this.geometry.vmBlockOf(block);
    if (page !== this.page) {
      this.page = page;
      this.readable = page < this.reader.blockCount && this.readPage(page);
    }
    if (!this.readable) return 0;
    const byte = this.reader.memory.u8[SIZE_OF_PAGE_HEADER + this.geometry.vmByteOf(block)];
    return (byte >>> this.geometry.vmShiftOf(block)) & 3;
  }

  private readPage(page: number): boolean {
    const m: PageMemory = this.reader.memory;
    this.reader.read(page, 1);
    return !pageIsNew(m, 0) && pageVerify(m, 0, this.geometry, page, this.checksums) === PageFault.none;
  }
}
