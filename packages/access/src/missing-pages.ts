// Pages that a record changed and that were not there when it was replayed. That is right if the relation was dropped or
// cut later on, and damage if not: so each is noted, and forgotten when a later record explains it. PostgreSQL:
// `invalid_page_tab`, xlogutils.c.
import {
  type BlockNumber,
  ForkNumber,
  forkSuffix,
  type Lsn,
  lsnText,
  type RelationLocator,
  relationPath,
  StorageError,
} from '@blockwright/base';

/** A page that was not there. */
export interface MissingPage {
  readonly locator: RelationLocator;
  readonly fork: ForkNumber;
  readonly block: BlockNumber;
  /** It is there, all zero. */
  readonly zero: boolean;
  /** Start of the first record that wanted it. */
  readonly lsn: Lsn;
}

/** How many of them an error names. */
const MOST_NAMED = 10;

/** The table of pages missed during one redo. */
export class MissingPages {
  private readonly relations: Map<string, Map<string, MissingPage>> = new Map();

  get size(): number {
    let size = 0;
    for (const pages of this.relations.values()) size += pages.size;
    return size;
  }

  /** Notes a page; the first record that wanted it is kept. */
  note(locator: RelationLocator, fork: ForkNumber, block: BlockNumber, zero: boolean, lsn: Lsn): void {
    const path = relationPath(locator, ForkNumber.main);
    let pages = this.relations.get(path);
    if (pages === undefined) {
      pages = new Map();
      this.relations.set(path, pages);
    }
    const key = `${fork} ${block}`;
    if (!pages.has(key)) pages.set(key, { locator, fork, block, zero, lsn });
  }

  /** The relation was dropped. PostgreSQL: `XLogDropRelation`. */
  forgetRelation(locator: RelationLocator): void {
    this.relations.delete(relationPath(locator, ForkNumber.main));
  }

  /** A fork was cut to `blocks` blocks. PostgreSQL: `XLogTruncateRelation`. */
  forgetFrom(locator: RelationLocator, fork: ForkNumber, blocks: BlockNumber): void {
    const pages = this.relations.get(relationPath(locator, ForkNumber.main));
    if (pages === undefined) return;
    for (const [key, page] of pages) if (page.fork === fork && page.block >= blocks) pages.delete(key);
  }

  /** What is left. */
  all(): readonly MissingPage[] {
    const found: MissingPage[] = [];
    for (const pages of this.relations.values()) found.push(...pages.values());
    return found;
  }

  /**
   * At the end of redo nothing may be left. PostgreSQL: `XLogCheckInvalidPages`.
   * @throws StorageError XX001 naming the pages.
   */
  check(): void {
    const left = this.all();
    if (left.length === 0) return;
    const named = left.slice(0, MOST_NAMED).map((page) => {
      const file = `${relationPath(page.locator, ForkNumber.main)}${forkSuffix(page.fork)}`;
      return `block ${page.block} of ${file} ${page.zero ? 'is all zero' : 'does not exist'} (${lsnText(page.lsn)})`;
    });
    const more = left.length > named.length ? `, and ${left.length - named.length} more` : '';
    const what = left.length === 1 ? 'a page that is not there' : `${left.length} pages that are not there`;
    throw new StorageError('XX001', `the WAL changes ${what}, and says nowhere that they were removed`, {
      detail: `${named.join('; ')}${more}.`,
      hint: 'A file was lost or cut. Restore the data directory from a backup.',
    });
  }
}
