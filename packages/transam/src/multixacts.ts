// Multixacts: a number in xmax that stands for several transactions that locked or updated a row together. PostgreSQL's
// are read; ours are never written, see RowLocks. PostgreSQL: multixact.c.
//
//   DIR/offsets/0000  4 bytes a multixact: its first member       DIR/members/0000  groups of 4 members, 20 bytes
//   Both in files of 32 pages; a multixact's members end where the next one's begin.

import { StorageError, uint32, type Xid } from '@blockwright/base';
import { joinPath, readFully, type Vfs } from '@blockwright/vfs';
import { memberFlagsAt, memberPage, memberXidAt } from './multixact-members.cold.ts';

/** What a member did to the row, weakest first; from `no key update` on twice: locked so, or updated so. PostgreSQL: `MultiXactStatus`. */
export type MultiXactStatus =
  | 'for key share'
  | 'for share'
  | 'for no key update'
  | 'for update'
  | 'no key update'
  | 'update';

const STATUSES: readonly MultiXactStatus[] = [
  'for key share',
  'for share',
  'for no key update',
  'for update',
  'no key update',
  'update',
];
const FIRST_UPDATE = 4;

export interface MultiXactMember {
  readonly xid: Xid;
  readonly status: MultiXactStatus;
}

export interface MultiXactsOptions {
  readonly vfs: Vfs;
  /** PostgreSQL's `pg_multixact`. */
  readonly directory: string;
  /** The block size. */
  readonly pageBytes: number;
  /** From the control file: the first multixact and member not in use, and the oldest multixact that is. */
  readonly nextMultiXact: number;
  readonly nextMultiOffset: number;
  readonly oldestMultiXact: number;
}
const PAGES_SHIFT = 5;
const PAGES_MASK = (1 << PAGES_SHIFT) - 1;
/** No multixact has so many: a length beyond it is damage. */
const MOST_MEMBERS = 0x1_0000;

export class MultiXacts {
  private readonly options: MultiXactsOptions;
  private readonly shift: number;
  /** Members of the multixacts asked for, by number. */
  private readonly known: Map<number, readonly MultiXactMember[]> = new Map();
  private readonly pages: Map<string, Map<number, DataView>> = new Map([
    ['offsets', new Map()],
    ['members', new Map()],
  ]);

  constructor(options: MultiXactsOptions) {
    uint32(options.nextMultiXact, 'nextMultiXact');
    uint32(options.nextMultiOffset, 'nextMultiOffset');
    uint32(options.oldestMultiXact, 'oldestMultiXact');
    this.options = options;
    this.shift = 31 - Math.clz32(options.pageBytes);
  }

  /**
   * The members of a multixact. PostgreSQL: `GetMultiXactIdMembers`.
   * @throws StorageError XX001 when it does not exist yet or no more, or its members make no sense; 58P01 naming the segment
   *   file when it is missing.
   */
  members(multi: number): readonly MultiXactMember[] {
    let members = this.known.get(multi);
    if (members === undefined) {
      members = this.read(multi);
      this.known.set(multi, members);
    }
    return members;
  }

  /** The transaction that updated or deleted the row; 0 when all only locked it. PostgreSQL: `MultiXactIdGetUpdateXid`. */
  updateXid(multi: number): Xid {
    for (const member of this.members(multi)) {
      if (STATUSES.indexOf(member.status) >= FIRST_UPDATE) return member.xid;
    }
    return 0;
  }

  private read(multi: number): MultiXactMember[] {
    const { nextMultiXact, nextMultiOffset, oldestMultiXact, pageBytes } = this.options;
    if (multi === 0) throw new StorageError('XX001', 'multixact 0 cannot exist');
    if (((multi - nextMultiXact) | 0) >= 0) {
      throw new StorageError('XX001', `multixact ${multi} has not been made yet: the next is ${nextMultiXact}`);
    }
    if (((multi - oldestMultiXact) | 0) < 0) {
      throw new StorageError('XX001', `multixact ${multi} does not exist any more: the oldest is ${oldestMultiXact}`);
    }
    const first = this.offset(multi);
    const next = nextMulti(multi);
    const end = next === nextMultiXact ? nextMultiOffset : this.offset(next);
    const count = (end - first) >>> 0;
    if (first === 0 || count === 0 || count > MOST_MEMBERS) {
      throw new StorageError('XX001', `multixact ${multi} has ${count} members, from ${first} to ${end}`);
    }
    const members: MultiXactMember[] = [];
    for (let i = 0; i < count; i++) {
      const offset = (first + i) >>> 0;
      const page = this.page('members', memberPage(offset, pageBytes));
      const xid = page.getUint32(memberXidAt(offset, pageBytes), true);
      if (xid === 0) continue; // member 0, left out when offsets wrapped around
      const status = STATUSES[page.getUint8(memberFlagsAt(offset, pageBytes))];
      if (status === undefined) {
        throw new StorageError('XX001', `member ${i} of multixact ${multi} has an unknown status`);
      }
      members.push({ xid, status });
    }
    return members;
  }

  /** The first member of a multixact. */
  private offset(multi: number): number {
    const perPageShift = this.shift - 2;
    const index = multi & ((1 << perPageShift) - 1);
    return this.page('offsets', multi >>> perPageShift).getUint32(index << 2, true);
  }

  private page(kind: 'offsets' | 'members', number: number): DataView {
    const pages = this.pages.get(kind) as Map<number, DataView>;
    let page = pages.get(number);
    if (page === undefined) {
      page = this.readPage(kind, number);
      pages.set(number, page);
    }
    return page;
  }

  private readPage(kind: 'offsets' | 'members', number: number): DataView {
    const { vfs, directory, pageBytes } = this.options;
    const name = (number >>> PAGES_SHIFT).toString(16).toUpperCase().padStart(4, '0');
    const path = joinPath(joinPath(directory, kind), name);
    if (!vfs.exists(path)) {
      throw new StorageError('58P01', `segment file "${path}" of the multixacts is missing`, {
        detail: `It holds page ${number} of their ${kind}.`,
      });
    }
    const file = vfs.open(path, 'r');
    const bytes = new Uint8Array(pageBytes);
    try {
      const count = readFully(file, bytes, 0, pageBytes, (number & PAGES_MASK) << this.shift);
      if (count === pageBytes) return new DataView(bytes.buffer);
      throw new StorageError('XX001', `segment file "${path}" of the multixacts ends before page ${number}`);
    } finally {
      file.close();
    }
  }
}

/** The multixact after `multi`: 0 is left out. */
function nextMulti(multi: number): number {
  const next = (multi + 1) >>> 0;
  return next === 0 ? 1 : next;
}
