// Checks the tree of a B-tree index: its meta page, every level from the root down, what the entries of the leaves lead to,
// and that every row of the table has its entry. Nothing is thrown for damage, and no link is followed twice. PostgreSQL:
// bt_index_parent_check with heapallindexed, rootdescend and checkunique, verify_nbtree.c.
import { type BlockNumber, type Finding, type FindingSink, highWord, lowWord, type Progress } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  BTP_DELETED,
  BTP_HALF_DEAD,
  BTP_HAS_FULLXID,
  BTP_META,
  BTREE_MAGIC,
  BTREE_METAPAGE,
  BTREE_VERSION,
  btFlags,
  btIsDeleted,
  btIsLeaf,
  btSafeXid,
  type MetaData,
  metaMagic,
  readMeta,
} from '@blockwright/nbtree';
import { pageLower } from '@blockwright/page';
import type { IndexTupleFormat, IndexTupleFormer } from '@blockwright/tuple';
import type { BlockReader } from './block-reader.ts';
import { Downlinks } from './btree-downlinks.ts';
import { BtreeLevelWalk } from './btree-level.ts';
import { BtreePageCheck } from './btree-page.ts';
import { BtreePages, PAGE_SOUND, PAGE_UNSOUND } from './btree-pages.ts';
import { BtreeReport } from './btree-report.ts';
import { UniqueKeys } from './btree-unique.ts';
import type { Fates } from './fates.ts';
import { HeapRows } from './heap-rows.ts';
import type { XidRange } from './xids.ts';

/** The table that an index is of. */
interface BtreeHeap {
  readonly reader: BlockReader;
  readonly name: string;
  /** Makes the index's tuples from the table's. */
  readonly former: IndexTupleFormer;
}

export interface BtreeCheckOptions {
  readonly geometry: BlockGeometry;
  readonly reader: BlockReader;
  /** For messages. */
  readonly name: string;
  /** File, fork and segment of a block. */
  readonly whereOf: (block: BlockNumber) => Partial<Finding>;
  /** How its tuples lie and compare; without it the structure alone is checked. */
  readonly format?: IndexTupleFormat;
  readonly isUnique?: boolean;
  readonly nullsNotDistinct?: boolean;
  /** Its table; without it what entries lead to is not looked at. */
  readonly heap?: BtreeHeap;
  readonly fates?: Fates;
  readonly xids?: XidRange;
}

/** What was verified. */
export interface BtreeCounts {
  /** Tuples of all levels. */
  indexTuples: number;
  /** Entries of the leaves that were held against what they lead to; of posting lists each TID. */
  heldEntries: number;
  levels: number;
}

/** No tree is as high: with two entries a page it would have more pages than there are block numbers. */
const MOST_LEVELS = 40;
/** Bit 9 and above of btpo_flags have no meaning. */
const FLAG_BITS = 0x1ff;
const DELETED_LOWER = 32;
const NO_COUNTS: BtreeCounts = { indexTuples: 0, heldEntries: 0, levels: 0 };

/** Checks one index. */
export function* checkBtree(options: BtreeCheckOptions, sink: FindingSink): Generator<Progress, BtreeCounts> {
  const { geometry, reader, format } = options;
  const report = new BtreeReport(options.whereOf, sink);
  const pages = new BtreePages(geometry, reader);
  if (pages.blockCount === 0) return NO_COUNTS;
  const meta = checkMeta(pages, report, format);
  if (meta === undefined) return NO_COUNTS;
  const rows = heapRows(options, pages, report);
  if (rows !== undefined) yield* rows.read();
  const keepsUnique = options.isUnique === true && rows !== undefined && format !== undefined;
  const unique = keepsUnique ? new UniqueKeys(format, options.nullsNotDistinct === true, report) : undefined;
  const page = new BtreePageCheck({ pages, report, format, rows, unique });
  page.tuples.mayDeduplicate = meta.allequalimage;
  const walk = new BtreeLevelWalk(page, meta.root);
  if (meta.root !== 0) yield* walkLevels(walk, page, meta);
  yield* checkOthers(pages, report, walk.visited, options.xids);
  rows?.finish();
  const levels = meta.root === 0 ? 0 : meta.level + 1;
  return { indexTuples: page.indexTuples, heldEntries: rows?.held ?? 0, levels };
}

function heapRows(
  { heap, fates, name }: BtreeCheckOptions,
  pages: BtreePages,
  report: BtreeReport,
): HeapRows | undefined {
  if (heap === undefined) return undefined;
  const { reader, former } = heap;
  return new HeapRows({ reader, former, fates, report, tableName: heap.name, indexName: name }, pages);
}

/** The meta page; undefined when nothing can be found from it. */
function checkMeta(pages: BtreePages, report: BtreeReport, format: IndexTupleFormat | undefined): MetaData | undefined {
  const fault = (code: string, message: string): undefined =>
    report.error(`meta.${code}`, BTREE_METAPAGE, 0, message) as undefined;
  if (pages.load(BTREE_METAPAGE) !== PAGE_SOUND) return fault('no_page', 'block 0 is no meta page of a B-tree');
  const { memory: m, base, geometry, blockCount } = pages;
  const magic = metaMagic(m, base);
  if (btFlags(m, base, geometry.size) !== BTP_META || magic !== BTREE_MAGIC) {
    return fault('magic', `block 0 is no meta page of a B-tree: its magic number is 0x${magic.toString(16)}`);
  }
  const meta = readMeta(m, base);
  if (meta.version !== BTREE_VERSION) {
    if (meta.version === 2 || meta.version === 3) {
      const message = `the index is of version ${meta.version}, from before PostgreSQL 12: its tree is not checked`;
      report.say('info', 'meta.version', BTREE_METAPAGE, 0, message);
      return undefined;
    }
    return fault('version', `version mismatch: the file's version is ${meta.version}, ${BTREE_VERSION} is due`);
  }
  for (const [name, block, level] of [
    ['root', meta.root, meta.level],
    ['fast root', meta.fastroot, meta.fastlevel],
  ] as const) {
    if (block >= blockCount) return fault('root', `the ${name} is block ${block}; the index has ${blockCount} blocks`);
    if (level > MOST_LEVELS) return fault('level', `the ${name} is on level ${level}`);
  }
  if ((meta.root === 0) !== (meta.fastroot === 0))
    fault('fastroot', `the root is block ${meta.root} and the fast root block ${meta.fastroot}`);
  if (meta.root === 0 && (meta.level !== 0 || meta.fastlevel !== 0))
    fault('level', `there is no root, but its level is ${meta.level}`);
  if (meta.fastlevel > meta.level)
    fault('fastroot', `the fast root's level ${meta.fastlevel} is above the root's, ${meta.level}`);
  if (meta.allequalimage && format?.allEqualImage === false) {
    fault('allequalimage', 'the meta page says that equal keys are identical, which in this index they are not');
  }
  return meta;
}

function* walkLevels(walk: BtreeLevelWalk, page: BtreePageCheck, meta: MetaData): Generator<Progress> {
  let above: Downlinks | undefined;
  let leftmost = meta.root;
  for (let level = meta.level; level >= 0; level--) {
    const below = new Downlinks();
    yield* walk.walk(leftmost, level, above, below);
    if (level === meta.fastlevel) checkFastRoot(walk, page, meta, above);
    if (level === 0) return;
    if (below.count === 0) {
      page.report.error('level.no_downlinks', leftmost, 0, `level ${level} has no downlink to the level below`);
      return;
    }
    above = below;
    leftmost = firstInRange(below, page.pages.blockCount);
    if (leftmost < 0) return;
  }
}

function firstInRange({ children, count }: Downlinks, blocks: number): number {
  for (let i = 0; i < count; i++) if (children[i] < blocks) return children[i];
  return -1;
}

/** The fast root is on its level, and alone there but for what is being deleted. */
function checkFastRoot(walk: BtreeLevelWalk, page: BtreePageCheck, meta: MetaData, above: Downlinks | undefined): void {
  const { fastroot, fastlevel } = meta;
  if (walk.visited[fastroot] !== fastlevel + 1) {
    page.report.error(
      'meta.fastroot',
      BTREE_METAPAGE,
      0,
      `the fast root, block ${fastroot}, is not on level ${fastlevel}`,
    );
  } else if (above !== undefined && above.count > 1) {
    const message = `the fast root, block ${fastroot}, is not alone on level ${fastlevel}: ${above.count} downlinks lead there`;
    page.report.error('meta.fastroot', BTREE_METAPAGE, 0, message);
  }
}

/** Pages that no link leads to are free, deleted, or lost. */
function* checkOthers(
  pages: BtreePages,
  report: BtreeReport,
  visited: Uint8Array,
  xids: XidRange | undefined,
): Generator<Progress> {
  const { memory: m, geometry, blockCount } = pages;
  for (let block = 1; block < blockCount; block++) {
    if ((block & 0x3ff) === 0)
      yield { phase: 'looking for lost pages', done: block, total: blockCount, unit: 'blocks' };
    if (visited[block] !== 0) continue;
    const state = pages.load(block);
    if (state !== PAGE_SOUND) {
      // One that makes no sense is said where pages are checked one by one, unless its special space alone is at fault.
      if (state === PAGE_UNSOUND)
        report.say('warning', 'page.not_reached', block, 0, 'no link leads to the page, which is none of a B-tree');
      continue;
    }
    const { base } = pages;
    const flags = btFlags(m, base, geometry.size);
    if ((flags & BTP_META) !== 0) report.error('page.meta', block, 0, `block ${block} is marked as a meta page`);
    else if (btIsDeleted(m, base, geometry.size)) checkDeleted(pages, report, block, flags, xids);
    else if ((flags & BTP_HALF_DEAD) !== 0) {
      report.error('page.not_reached', block, 0, `half-dead block ${block} is in no chain of siblings`);
    } else {
      const kind = btIsLeaf(m, base, geometry.size) ? 'leaf' : 'internal';
      report.error('page.not_reached', block, 0, `no link leads to ${kind} block ${block}`);
    }
  }
}

function checkDeleted(
  pages: BtreePages,
  report: BtreeReport,
  block: BlockNumber,
  flags: number,
  xids: XidRange | undefined,
): void {
  const { memory: m, base, geometry } = pages;
  if ((flags & BTP_HALF_DEAD) !== 0) report.error('page.flags', block, 0, 'the page is marked deleted and half-dead');
  if ((flags & ~FLAG_BITS) !== 0) report.error('page.flags', block, 0, `btpo_flags is 0x${flags.toString(16)}`);
  if ((flags & BTP_DELETED) === 0 || (flags & BTP_HAS_FULLXID) === 0) return;
  if (pageLower(m, base) < DELETED_LOWER) {
    report.error('deleted.no_safexid', block, 0, `pd_lower is ${pageLower(m, base)}: the deleted page has no safexid`);
    return;
  }
  const safeXid = btSafeXid(m, base, geometry);
  if (xids === undefined) return;
  const epoch = highWord(safeXid);
  if (epoch < xids.nextEpoch || (epoch === xids.nextEpoch && lowWord(safeXid) <= xids.next)) return;
  const message = `the deleted page's safexid ${safeXid} is in the future: the next transaction id is ${xids.nextEpoch}:${xids.next}`;
  report.error('deleted.safexid', block, 0, message);
}
