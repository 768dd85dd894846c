// Gaps between the segments of a fork: filled as far as a crash explains them, which is to be known before anything is
// changed, for a gap that was filled shows no more.
import { ForkNumber, type Lsn, StorageError } from '@blockwright/base';
import type { Gap, StorageManager } from '@blockwright/smgr';
import { RM_SMGR, RM_XACT, type WalReader } from '@blockwright/wal';

/** What the WAL from the redo point on says of one relation. */
interface Mentioned {
  /** It was made, removed or cut. */
  files: boolean;
  /** Blocks of its main fork that records change. */
  readonly blocks: Set<number>;
}

/**
 * A crash leaves a gap where the fork was made longer since the redo point: so a page after it that was written is in the
 * WAL, or the files themselves are, as those that a transaction made.
 * @param made whether the last checkpoint knows the relation as one that a transaction was making
 * @throws StorageError XX001 naming a file that was cut or lost in another way.
 */
export function refuseUnexplainedGaps(
  storage: StorageManager,
  reader: WalReader,
  redo: Lsn,
  made: (relfilenode: number) => boolean,
): void {
  const gaps = storage.gaps();
  if (gaps.length === 0) return;
  const mentioned = mentionedInWal(reader, redo, gaps);
  for (const gap of gaps) refuseUnexplained(gap, mentioned.get(relfilenodeOf(gap)) as Mentioned, made);
}

/** Fills the gaps, and says which. */
export function fillGaps(storage: StorageManager, onLog: ((line: string) => void) | undefined): void {
  for (const { fork, segment, block, blocks } of storage.fillGaps()) {
    const what = blocks === 1 ? '1 block' : `${blocks} blocks`;
    onLog?.(`filled ${what} of ${fork.name} with zeros: segment ${segment} ended before block ${block}`);
  }
}

function refuseUnexplained(gap: Gap, mentioned: Mentioned, made: (relfilenode: number) => boolean): void {
  const { fork, segment, block, blocks } = gap;
  // Of pages of the maps the WAL does not tell; they are hints, and are made anew.
  if (fork.forkNumber !== ForkNumber.main || mentioned.files || made(relfilenodeOf(gap))) return;
  if (fork.relation.fork(ForkNumber.init).exists()) return; // unlogged: it is emptied
  const written = fork.firstWrittenAfter(segment);
  if (written < 0 || mentioned.blocks.has(written)) return;
  throw new StorageError('XX001', `"${fork.segmentPath(segment)}" lacks ${blocks} blocks, from block ${block} on`, {
    detail: `Block ${written}, which comes after them, was written, and the WAL to be replayed does not speak of it: no crash explains this.`,
    hint: 'The file was removed or cut. Put it back and open again, or restore the directory from a backup. Nothing has been changed.',
  });
}

function mentionedInWal(reader: WalReader, redo: Lsn, gaps: readonly Gap[]): Map<number, Mentioned> {
  const all = new Map<number, Mentioned>();
  for (const gap of gaps) all.set(relfilenodeOf(gap), { files: false, blocks: new Set() });
  const { record } = reader;
  reader.seek(redo);
  while (reader.next()) {
    for (let i = 0; i < record.blockCount; i++) {
      if (record.fork[i] === ForkNumber.main) all.get(record.relfilenode[i])?.blocks.add(record.block[i]);
    }
    // Records of files name them in their own data; a number that is another thing by chance does little harm.
    if (record.rmgr !== RM_SMGR && record.rmgr !== RM_XACT) continue;
    for (let at = 0; at + 4 <= record.dataLength; at += 4) {
      const relation = all.get(record.u32(record.dataAt + at));
      if (relation !== undefined) relation.files = true;
    }
  }
  return all;
}

function relfilenodeOf({ fork }: Gap): number {
  return fork.relation.locator?.relfilenode ?? 0;
}
