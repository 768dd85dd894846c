// The pages of the WAL as a reader fetches them: from segment files, many at a time, each header checked.
import { isStorageError, type Lsn, lsnText, StorageError } from '@blockwright/base';
import { joinPath, readFully, type Vfs, type VfsFile } from '@blockwright/vfs';
import {
  LONG_HEADER_BYTES,
  longHeader,
  pageDurableUpTo,
  pageHeaderFault,
  pageIncarnation,
  WAL_PAGE_BYTES,
  walPageStart,
} from './page-format.ts';
import { SegmentLayout } from './segments.ts';

const PAGE_BYTES = WAL_PAGE_BYTES;
/** Bytes read at once. */
const WINDOW_BYTES = WAL_PAGE_BYTES << 5;

export class PageSource {
  readonly layout: SegmentLayout;
  /** Pages that were read; {@link load} says where one lies. Lent until the next {@link load}. */
  readonly bytes: Uint8Array = new Uint8Array(WINDOW_BYTES);
  readonly view: DataView = new DataView(this.bytes.buffer);
  /** Why {@link load} gave -1. */
  fault: string = '';
  private readonly vfs: Vfs;
  private readonly directory: string;
  private readonly systemIdentifier: string | undefined;
  private windowStart: Lsn = -1;
  private windowEnd: Lsn = -1;
  private file: VfsFile | undefined = undefined;
  private fileStart: Lsn = -1;

  constructor(vfs: Vfs, directory: string, segmentSize: number, systemIdentifier: string | undefined) {
    this.vfs = vfs;
    this.directory = directory;
    this.layout = new SegmentLayout(segmentSize);
    this.systemIdentifier = systemIdentifier;
  }

  /**
   * Where in {@link bytes} the page at `lsn` lies; -1 when it is not there or its header is wrong: see {@link fault}.
   * @throws StorageError XX001 when its segment is of another system or has another size; what reading throws.
   */
  load(lsn: Lsn): number {
    if (!(lsn >= this.windowStart && lsn < this.windowEnd) && !this.fill(lsn)) return -1;
    const at = lsn - this.windowStart;
    const fault = pageHeaderFault(this.view, at, lsn, this.layout.offset(lsn) === 0);
    if (fault === '') return at;
    this.fault = `${fault} ${this.place(lsn)}`;
    return -1;
  }

  /** Forgets what was read. */
  forget(): void {
    this.windowStart = -1;
    this.windowEnd = -1;
  }

  /** Where a page is, for messages. */
  place(lsn: Lsn): string {
    return `in WAL segment ${this.layout.name(lsn)}, LSN ${lsnText(lsn)}, offset ${this.layout.offset(lsn)}`;
  }

  /** The greatest `durableUpTo` of the pages of `incarnation` from that of `from` on, as far as there are segments; 0: none. */
  greatestDurable(from: Lsn, incarnation: number): Lsn {
    const { layout } = this;
    const bytes = new Uint8Array(LONG_HEADER_BYTES);
    const view = new DataView(bytes.buffer);
    let greatest = 0;
    for (let page = walPageStart(from); ; page += PAGE_BYTES) {
      const offset = layout.offset(page);
      const file = this.open(layout.start(page));
      if (file === undefined) return greatest;
      if (readFully(file, bytes, 0, LONG_HEADER_BYTES, offset) < LONG_HEADER_BYTES) continue;
      if (pageHeaderFault(view, 0, page, offset === 0) !== '' || pageIncarnation(view, 0) !== incarnation) continue;
      greatest = Math.max(greatest, pageDurableUpTo(view, 0));
    }
  }

  close(): void {
    this.file?.close();
    this.file = undefined;
    this.fileStart = -1;
    this.forget();
  }

  /** Reads the page at `lsn`, and what follows it in its segment as far as there is room. @returns whether it is there. */
  private fill(lsn: Lsn): boolean {
    const { layout } = this;
    this.forget();
    const file = this.open(layout.start(lsn));
    if (file === undefined) {
      this.fault = `there is no WAL segment ${layout.name(lsn)}`;
      return false;
    }
    const offset = layout.offset(lsn);
    const length = Math.min(WINDOW_BYTES, layout.size - offset);
    const count = readFully(file, this.bytes, 0, length, offset);
    if (count < PAGE_BYTES) {
      this.fault = `the file ends after ${count} bytes of a page ${this.place(lsn)}`;
      return false;
    }
    this.windowStart = lsn;
    this.windowEnd = walPageStart(lsn + count);
    return true;
  }

  /** The segment that begins at `start`; undefined when there is none. */
  private open(start: Lsn): VfsFile | undefined {
    if (this.fileStart === start) return this.file;
    const path = joinPath(this.directory, this.layout.name(start));
    let file: VfsFile;
    try {
      file = this.vfs.open(path, 'r');
    } catch (error) {
      if (isStorageError(error) && error.code === '58P01') return undefined;
      throw error;
    }
    try {
      this.refuseForeign(file);
    } catch (error) {
      file.close();
      throw error;
    }
    this.file?.close();
    this.file = file;
    this.fileStart = start;
    return file;
  }

  /** @throws StorageError XX001 when the first page says that the segment is none of this WAL's. */
  private refuseForeign(file: VfsFile): void {
    const bytes = new Uint8Array(LONG_HEADER_BYTES);
    if (readFully(file, bytes, 0, LONG_HEADER_BYTES, 0) < LONG_HEADER_BYTES) return;
    const header = longHeader(new DataView(bytes.buffer), 0);
    if (header === undefined) return; // never written, or damaged: its pages will tell
    const of = (what: string, is: string | number, expected: string | number) =>
      new StorageError('XX001', `WAL segment "${file.path}" is of another WAL: ${what} ${is} instead of ${expected}`, {
        hint: 'Put back the segments that belong to this data directory.',
      });
    if (header.segmentSize !== this.layout.size) throw of('segment size', header.segmentSize, this.layout.size);
    if (header.pageBytes !== PAGE_BYTES) throw of('page size', header.pageBytes, PAGE_BYTES);
    if (this.systemIdentifier !== undefined && header.systemIdentifier !== this.systemIdentifier) {
      throw of('system identifier', header.systemIdentifier, this.systemIdentifier);
    }
  }
}
