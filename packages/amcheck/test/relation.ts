// A small heap relation in memory, made for being damaged: pages built tuple by tuple, its files, and what a check of
// them finds.
import { checkRelation, Fates, type FileSummary, type RelationCheckOptions, type XidRange } from '@blockwright/amcheck';
import { type Finding, runSync, StorageError, type Xid } from '@blockwright/base';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  linePointer,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  pageAddItem,
  pageInit,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
  pageSetHasFreeLines,
  setLinePointer,
} from '@blockwright/page';
import { CommitLog, type MultiXacts, Transactions, XID_ABORTED, XID_COMMITTED } from '@blockwright/transam';
import {
  bool,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_COMMITTED,
  int4,
  numeric,
  setTupleCtid,
  TupleDescriptor,
  TupleEncoder,
  type TupleHeader,
  text,
} from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';

export const COLUMNS: TupleDescriptor = TupleDescriptor.of([
  { name: 'id', type: int4() },
  { name: 'name', type: text().nullable() },
  { name: 'amount', type: numeric(10, 2).nullable() },
  { name: 'paid', type: bool() },
]);

/** A row that is visible by its hint bits. */
export const PLAIN: number = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

export const XIDS: XidRange = {
  next: 2000,
  nextEpoch: 0,
  oldest: 700,
  oldestInRelation: 1000,
  multixacts: { next: 50, oldest: 10, oldestInRelation: 20 },
};

/** Transactions that did not commit: of all others of {@link XIDS} the commit log says that they did. */
export const ABORTED: readonly Xid[] = [1700, 1701];
export const NEVER_ENDED: readonly Xid[] = [1800];
/** Multixact 30 has an updater that committed, 31 one that aborted, 32 none, 33 one from the future; others have none. */
const UPDATERS: ReadonlyMap<number, Xid> = new Map([
  [30, 1600],
  [31, 1700],
  [32, 0],
  [33, 2500],
]);

/** What became of the transactions; `messages` gets why something cannot be said. */
export function makeFates(messages: string[] = [], vfs: MemoryVfs = commitLogVfs()): Fates {
  const commitLog = new CommitLog({ vfs, directory: '/xact', pageBytes: 1024, readOnly: true });
  const multixacts = {
    members: (multi: number) => multixacts.updateXid(multi) === undefined,
    updateXid: (multi: number) => {
      const updater = UPDATERS.get(multi);
      if (updater === undefined) throw new StorageError('XX001', `multixact ${multi} has 0 members`);
      return updater;
    },
  };
  const transactions = Transactions.offline({ commitLog, multixacts: multixacts as unknown as MultiXacts });
  return new Fates({ transactions, xids: XIDS, onUnreadable: ({ message }) => messages.push(message) });
}

/** The commit log's files. */
export function commitLogVfs(): MemoryVfs {
  const vfs = new MemoryVfs();
  vfs.mkdir('/xact');
  const log = new CommitLog({ vfs, directory: '/xact', pageBytes: 1024 });
  log.zeroPage(0);
  for (let xid = XIDS.oldest; xid < XIDS.next; xid++) {
    if (!NEVER_ENDED.includes(xid)) log.set(xid, ABORTED.includes(xid) ? XID_ABORTED : XID_COMMITTED, 0);
  }
  log.flush();
  log.close();
  return vfs;
}

const encoder = TupleEncoder.for(COLUMNS);

/** One page being built or damaged. */
export class TestPage {
  readonly memory: PageMemory;
  readonly geometry: BlockGeometry;
  readonly block: number;

  constructor(geometry: BlockGeometry, block: number) {
    this.geometry = geometry;
    this.block = block;
    this.memory = pageMemory(new ArrayBuffer(geometry.size));
    pageInit(this.memory, 0, geometry);
  }

  /** Adds a row; t_ctid is its own place, or the offset number given. */
  add(header: TupleHeader = {}, row: readonly unknown[] = [1, 'a name', '12.50', true], next = 0): number {
    encoder.setHeader({ xmin: 1500, infomask: PLAIN, ...header });
    const bytes = new Uint8Array(512);
    const length = encoder.encode(row, bytes, 0);
    const offset = pageAddItem(this.memory, 0, this.geometry, bytes, 0, length);
    setTupleCtid(this.memory, this.tuple(offset), this.block, next === 0 ? offset : next);
    return offset;
  }

  /** Byte of the tuple of a line pointer. */
  tuple(offset: number): number {
    return lpOffset(linePointer(this.memory, 0, offset));
  }

  /** Replaces a line pointer. */
  line(offset: number, lpOff: number, flags: number, length: number): void {
    setLinePointer(this.memory, 0, offset, makeLinePointer(lpOff, flags, length));
  }

  /** Adds a redirect (which must come before the rows, so that items stay without gaps). */
  addRedirect(target: number): number {
    return this.addLine(target, 2);
  }

  addDead(): number {
    return this.addLine(0, 3);
  }

  addUnused(): number {
    pageSetHasFreeLines(this.memory, 0);
    return this.addLine(0, 0);
  }

  private addLine(lpOff: number, flags: number): number {
    const offset = pageMaxOffset(this.memory, 0) + 1;
    this.memory.u16[6] += 4;
    this.line(offset, lpOff, flags, 0);
    return offset;
  }
}

export interface CheckedRelation {
  readonly findings: readonly Finding[];
  readonly summaries: readonly FileSummary[];
}

/** A relation's files in memory. */
export class TestRelation {
  readonly vfs: MemoryVfs = new MemoryVfs();
  readonly geometry: BlockGeometry;

  constructor(size: BlockSize) {
    this.geometry = BlockGeometry.of(size);
    this.vfs.mkdir('/d');
    this.vfs.recording = false;
  }

  /** A page with rows that is not in a file yet. */
  page(block = 0, rows = 3): TestPage {
    const page = new TestPage(this.geometry, block);
    for (let i = 0; i < rows; i++) page.add({}, [i, i % 2 === 0 ? null : `row ${i}`, `${i}.00`, i % 2 === 0]);
    return page;
  }

  /** Writes pages to a file, one after the other, each with its checksum. */
  write(pages: readonly TestPage[], name = '1000'): this {
    const { size } = this.geometry;
    const bytes = new Uint8Array(pages.length * size);
    for (const [i, page] of pages.entries()) {
      pageSetChecksum(page.memory, 0, this.geometry, page.block);
      bytes.set(page.memory.u8, i * size);
    }
    return this.writeBytes(bytes, name);
  }

  writeBytes(bytes: Uint8Array, name = '1000', position = 0): this {
    const file = this.vfs.open(`/d/${name}`, 'create');
    file.write(bytes, 0, bytes.length, position);
    file.close();
    return this;
  }

  /** Writes a visibility map whose first page has these bits, block by block. */
  writeMap(bits: readonly number[]): this {
    const page = new TestPage(this.geometry, 0);
    for (const [block, pair] of bits.entries()) page.memory.u8[24 + (block >> 2)] |= pair << ((block & 3) * 2);
    return this.write([page], '1000_vm');
  }

  check(options: Partial<RelationCheckOptions> = {}): CheckedRelation {
    const findings: Finding[] = [];
    const summaries = runSync(
      checkRelation(
        {
          vfs: this.vfs,
          geometry: this.geometry,
          path: '/d/1000',
          shown: (path) => path.replace('/d/', ''),
          segmentBlocks: 1 << this.geometry.segmentShift,
          checksums: true,
          descriptor: COLUMNS,
          utf8: true,
          xids: XIDS,
          endOfWal: { high: 5, low: 0 },
          ...options,
        },
        (finding) => findings.push(finding),
      ),
    );
    return { findings, summaries };
  }
}

/** What a check of one page finds: code, and line pointer where there is one. */
export function codesOf({ findings }: CheckedRelation): string[] {
  return findings.map(({ code, offsetNumber }) => (offsetNumber === undefined ? code : `${code} ${offsetNumber}`));
}
