// Bottom-up deletion: a leaf page that would be split by new versions of rows whose keys did not change has old versions,
// too; the table is asked for them, the likeliest blocks first, until enough is free or it does not pay.
// PostgreSQL: `_bt_bottomupdel_pass`, nbtdedup.c, and the bottom-up part of `heap_index_delete_tuples`, heapam.c.
import type { TableAccess } from '@blockwright/access';
import type { BufferId, OffsetNumber } from '@blockwright/base';
import {
  itemPosition,
  linePointer,
  lpLength,
  type PageMemory,
  pageExactFreeSpace,
  pageMaxOffset,
} from '@blockwright/page';
import type { Snapshot, Transaction } from '@blockwright/transam';
import type { BtreeIndex } from './btree.ts';
import type { DedupState } from './dedup-state.ts';
import { blockAtWord, type DeletionList, tidCountOf, tidWordAfter, tidWordOf } from './deletion-list.ts';
import { firstDataKey } from './page.ts';
import { deleteListed } from './simple-delete.ts';
import { isPosting } from './tuples.ts';
import { workspaceOf } from './workspace.ts';

const LINE_POINTER_BYTES = 4;
const TID_BYTES = 6;
/** The most blocks of the table that are read. PostgreSQL: `BOTTOMUP_MAX_NBLOCKS`. */
const MOST_BLOCKS = 6;
/** Blocks so near to the one before count as read in order. PostgreSQL: `BOTTOMUP_TOLERANCE_NBLOCKS`. */
const NEAR_BLOCKS = 3;
/** Fewer promising TIDs of a block are as good as these. */
const FEW_PROMISING = 4;

/**
 * Deletes old versions from a leaf page that has no room for a new tuple of `newLength` bytes.
 * @returns whether the page is not to be deduplicated: enough was freed, or there are no duplicates.
 * @throws StorageError 53100 when the WAL has no room, and what reading the table throws: nothing has changed.
 */
export function bottomUpPass(index: BtreeIndex, buffer: BufferId, newLength: number): boolean {
  const { pool, geometry, table } = index;
  const needed = newLength + LINE_POINTER_BYTES;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const { deletions, dedup } = workspaceOf(geometry);
  const hasDuplicates = gather(index, m, base, dedup, deletions);
  if (table !== undefined) {
    const sixteenth = geometry.size >>> 4;
    askTable(table, deletions, sixteenth > needed ? sixteenth : needed);
    deleteListed(index, buffer, deletions);
  }
  if (!hasDuplicates) return true;
  const part = 0x5555_5555 >>> (35 - geometry.shift); // a third of an eighth of the page
  return pageExactFreeSpace(m, base) >= (part > needed ? part : needed);
}

/** All TIDs of the page, those of equal keys marked as promising. @returns whether there are equal keys */
function gather(index: BtreeIndex, m: PageMemory, base: number, state: DedupState, list: DeletionList): boolean {
  const { geometry, format } = index;
  const first = firstDataKey(m, base, geometry.size);
  const last = pageMaxOffset(m, base);
  list.clear();
  state.begin(geometry.size);
  for (let o = first; o <= last; o++) {
    const pos = itemPosition(m, base, o);
    if (o > first) {
      const isEqual = format.firstDifferentImage(m, state.basePos, m, pos, format.keyCount) > format.keyCount;
      if (isEqual && state.save(m, pos)) continue;
      finishPending(m, base, state, list);
    }
    state.start(m, pos, o);
  }
  if (state.itemCount > 0) finishPending(m, base, state, list);
  return state.intervalCount > 0;
}

/** PostgreSQL: `_bt_bottomupdel_finish_pending`. */
function finishPending(m: PageMemory, base: number, state: DedupState, list: DeletionList): void {
  const isDuplicate = state.itemCount > 1;
  const end = state.baseOffset + state.itemCount;
  for (let o = state.baseOffset; o < end; o++) {
    const pos = itemPosition(m, base, o);
    const word = tidWordOf(m, pos);
    if (isPosting(m, pos)) addPosting(m, pos, o, isDuplicate, list);
    else {
      const bytes = lpLength(linePointer(m, base, o)) + LINE_POINTER_BYTES;
      list.add(blockAtWord(m, word), m.u16[word + 2], o, 0, false, isDuplicate, bytes);
    }
  }
  if (isDuplicate) state.closeInterval();
  state.reset();
}

/** Of a posting list one TID at most is promising: it was made long ago, and at most one of its rows was changed now. */
function addPosting(m: PageMemory, pos: number, o: OffsetNumber, isDuplicate: boolean, list: DeletionList): void {
  const word = tidWordOf(m, pos);
  const count = tidCountOf(m, pos);
  const middle = blockAtWord(m, tidWordAfter(word, count >>> 1));
  let promising = -1;
  if (isDuplicate) {
    if (blockAtWord(m, word) === middle) promising = 0;
    else if (blockAtWord(m, tidWordAfter(word, count - 1)) === middle) promising = count - 1;
  }
  for (let i = 0; i < count; i++) {
    const at = tidWordAfter(word, i);
    list.add(blockAtWord(m, at), m.u16[at + 2], o, i, false, i === promising, TID_BYTES);
  }
}

/** The entries of one block of the table, a run of the list's order. PostgreSQL: `IndexDeleteCounts`. */
interface BlockGroup {
  readonly block: number;
  readonly from: number;
  to: number;
  promising: number;
}

/** Asks the table about the likeliest blocks, until `target` bytes would be free. */
function askTable(table: TableAccess<Transaction, Snapshot>, list: DeletionList, target: number): void {
  list.sortByTid();
  const groups = bestGroups(list);
  let favorable = favorableCount(groups);
  let wanted = target;
  let free = 0;
  let before = 0;
  for (let i = 0; i < groups.length; i++) {
    if (i > 0 && (free >= wanted || free === before)) return;
    before = free;
    if (favorable > 0) favorable--;
    else wanted >>>= 1;
    free = askGroup(table, list, groups[i], free);
  }
}

/** Marks what is dead of a block's entries. @returns the bytes that are free then */
function askGroup(
  table: TableAccess<Transaction, Snapshot>,
  list: DeletionList,
  group: BlockGroup,
  free: number,
): number {
  const { order, answers, isDead, freeBytes } = list;
  const count = group.to - group.from;
  for (let i = 0; i < count; i++) {
    const entry = order[group.from + i];
    list.askedBlocks[i] = list.blocks[entry];
    list.askedOffsets[i] = list.offsets[entry];
  }
  if (table.deletable(list.askedBlocks, list.askedOffsets, count, answers, 1) === 0) return free;
  let sum = free;
  for (let i = 0; i < count; i++) {
    if (answers[i] !== 1) continue;
    const entry = order[group.from + i];
    isDead[entry] = 1;
    sum += freeBytes[entry];
  }
  return sum;
}

/** The blocks with most promising entries, then most entries, then in order. PostgreSQL: `bottomup_sort_and_shrink`. */
function bestGroups(list: DeletionList): readonly BlockGroup[] {
  const { order, blocks, isPromising, count } = list;
  const groups: BlockGroup[] = [];
  let group: BlockGroup | undefined;
  for (let i = 0; i < count; i++) {
    const block = blocks[order[i]];
    if (group?.block !== block) {
      group = { block, from: i, to: i, promising: 0 };
      groups.push(group);
    }
    group.to = i + 1;
    group.promising += isPromising[order[i]];
  }
  groups.sort(
    (a, b) =>
      promisingRank(b) - promisingRank(a) ||
      nextPowerOfTwo(b.to - b.from) - nextPowerOfTwo(a.to - a.from) ||
      a.from - b.from,
  );
  return groups.slice(0, MOST_BLOCKS);
}

function promisingRank(group: BlockGroup): number {
  return group.promising > FEW_PROMISING ? nextPowerOfTwo(group.promising) : FEW_PROMISING;
}

function nextPowerOfTwo(n: number): number {
  return n <= 1 ? 1 : 1 << (32 - Math.clz32(n - 1));
}

/** How many of the blocks, from the first on, are read nearly in order. PostgreSQL: `bottomup_nblocksfavorable`. */
function favorableCount(groups: readonly BlockGroup[]): number {
  let count = 0;
  for (const group of groups) {
    const last = count > 0 ? groups[count - 1].block : group.block;
    if (group.block < last - NEAR_BLOCKS || group.block > last + NEAR_BLOCKS) break;
    count++;
  }
  return count;
}
