// One relation on disk: its four forks, closed and removed together. PostgreSQL: `SMgrRelationData`, smgr.h.
import { FORK_NAMES, ForkNumber, type RelationLocator } from '@blockwright/base';
import { Fork } from './fork.ts';
import type { StorageManager } from './manager.ts';

const FORKS: readonly ForkNumber[] = [ForkNumber.main, ForkNumber.fsm, ForkNumber.vm, ForkNumber.init];

export class StoredRelation {
  /** Path below the directory, such as `base/5/16384`; of a relation opened by path, that path. */
  readonly name: string;
  readonly locator: RelationLocator | undefined;
  /** Path of the main fork's first segment. */
  readonly path: string;
  /** Nothing of it is ever written. */
  readonly readOnly: boolean;
  /** @internal */
  readonly manager: StorageManager;
  private readonly forks: readonly Fork[];
  private isClosed: boolean = false;

  /** @internal */
  constructor(
    manager: StorageManager,
    name: string,
    path: string,
    locator: RelationLocator | undefined,
    readOnly: boolean,
  ) {
    this.manager = manager;
    this.name = name;
    this.path = path;
    this.locator = locator;
    this.readOnly = readOnly;
    this.forks = FORKS.map((fork) => new Fork(this, fork));
  }

  /** Whether {@link close} was called: then no fork of it can be used. */
  get closed(): boolean {
    return this.isClosed;
  }

  /**
   * One of the four forks, whether it exists or not: always the same object.
   * @throws RangeError for a number that is no fork's.
   */
  fork(fork: ForkNumber): Fork {
    const found = this.forks[fork];
    if (found === undefined) {
      throw new RangeError(`fork number ${String(fork)} is not one of 0 to 3 (${FORK_NAMES.join(', ')})`);
    }
    return found;
  }

  /**
   * Removes all segments of all forks, the main fork last: as long as one is left, the relation can still be seen.
   * PostgreSQL: `smgrdounlinkall`.
   */
  unlink(): void {
    for (let fork = this.forks.length - 1; fork >= 0; fork--) (this.forks[fork] as Fork).unlink();
  }

  /**
   * Removes all of it but the first segment of the main fork, which stays without a block, and keeps the number taken.
   * PostgreSQL: `mdunlink`, md.c.
   */
  empty(): void {
    for (let fork = this.forks.length - 1; fork > 0; fork--) (this.forks[fork] as Fork).unlink();
    (this.forks[0] as Fork).empty();
  }

  /**
   * Closes its files, and gives up the handle: opening the relation again makes another. What is written and not yet
   * synced stays on the list of the manager. Closing twice is fine.
   */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const fork of this.forks) fork.releaseFiles();
    this.manager.drop(this);
  }
}
