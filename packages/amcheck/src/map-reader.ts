// The bits of a visibility map, read from its file page by page: what the heap's pages are compared with.
import { type BlockNumber, isStorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { PageFault, type PageMemory, pageIsNew, pageMemory, pageVerify } from '@blockwright/page';
import type { BlockReader } from './block-reader.ts';

/** Reads bits in ascending order of heap blocks; a damaged or missing map page gives 0. */
export class MapReader {
  private readonly geometry: BlockGeometry;
  private readonly reader: BlockReader;
  private readonly checksums: boolean;
  private memory: PageMemory | undefined = undefined;
  private page = -1;
  private isReadable = false;

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
      this.isReadable = this.readPage(page);
    }
    if (!this.isReadable || this.memory === undefined) return 0;
    const byte = this.memory.u8[SIZE_OF_PAGE_HEADER + this.geometry.vmByteOf(block)];
    return (byte >>> this.geometry.vmShiftOf(block)) & 3;
  }

  private readPage(page: number): boolean {
    const { geometry, reader } = this;
    this.memory ??= pageMemory(new ArrayBuffer(geometry.size));
    const { memory } = this;
    const segment = reader.segmentOf(page);
    if (segment === undefined) return false;
    try {
      if (reader.read(segment, page - segment.firstBlock, 1, memory.u8) === 0) return false;
    } catch (error) {
      if (isStorageError(error)) return false; // said where the map's own file is checked
      throw error;
    }
    return !pageIsNew(memory, 0) && pageVerify(memory, 0, geometry, page, this.checksums) === PageFault.none;
  }
}
