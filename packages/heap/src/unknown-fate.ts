// Tuples whose fate only the commit log knows, where a part of the log is gone: found one by one, counted, and left out or
// taken as the caller asked. Off the usual path: a page comes here after its loop failed.
import { type BlockNumber, isStorageError } from '@blockwright/base';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageIsAllVisible,
} from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import type { PageTuples } from './collect.ts';
import { corruptLinePointer, tooManyTuples } from './errors.ts';
import type { HintSink } from './hints.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { INVISIBLE, UNKNOWN, VISIBLE } from './visibility.ts';
import { satisfiesMvcc } from './visibility-mvcc.ts';

/** What to do with a tuple of which nothing that is read says whether it is visible. */
export type UnknownPolicy = 'error' | 'skip' | 'include';

/** A tuple's verdict, UNKNOWN where what should know cannot tell; `cause` is called with what it said. */
export function judgeIfKnown(
  m: PageMemory,
  position: number,
  snapshot: Snapshot,
  hints: HintSink,
  cause: (error: Error) => void,
): number {
  try {
    return satisfiesMvcc(m, position, snapshot, hints) ? VISIBLE : INVISIBLE;
  } catch (error) {
    if (!isStorageError(error)) throw error;
    cause(error);
    return UNKNOWN;
  }
}

/**
 * As `collectForSnapshot`, for a page on which that failed: what cannot be judged is counted in `into.unknown`, the first
 * reason noted in `into.unknownCause`, and the tuple taken or left out.
 * @throws StorageError XX001 for a page or a line pointer that is damaged.
 */
export function collectIfKnown(
  m: PageMemory,
  base: number,
  size: number,
  block: BlockNumber,
  name: string,
  snapshot: Snapshot,
  hints: HintSink,
  unknown: 'skip' | 'include',
  into: PageTuples,
): number {
  const lines = linePointerCount(m, base, size, name, block);
  const lower = linePointersEnd(lines);
  const allVisible = pageIsAllVisible(m, base);
  let count = 0;
  for (let offset = 1; offset <= lines; offset++) {
    const lp = linePointer(m, base, offset);
    if (!leadsToTuple(lp, lower, size)) {
      if (lpFlags(lp) !== LP_NORMAL) continue;
      throw corruptLinePointer(name, block, offset, lpOffset(lp), lpLength(lp));
    }
    const position = base + lpOffset(lp);
    const verdict = allVisible
      ? VISIBLE
      : judgeIfKnown(m, position, snapshot, hints, (cause) => into.noteUnknown(cause));
    if (verdict === INVISIBLE || (verdict === UNKNOWN && unknown === 'skip')) continue;
    if (count === into.positions.length) throw tooManyTuples(name, block, into.positions.length);
    into.positions[count] = position;
    into.lengths[count] = lpLength(lp);
    into.offsets[into.offsetsAt + count] = offset;
    count++;
  }
  into.count = count;
  return count;
}
