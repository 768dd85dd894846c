// When the files of tables came, counted in commits: a snapshot knows nothing of files that came after it. Frozen rows in
// them would be seen by it none the less, and those of the files whose place they took would not.
import type { Oid } from '@blockwright/base';

export class FileAges {
  /** How many commits have made files. */
  now = 0;
  private readonly madeAt = new Map<Oid, number>();

  /** A commit has made these files known, and those unknown. */
  commit(made: readonly Oid[], gone: readonly Oid[]): void {
    for (const relfilenode of gone) this.madeAt.delete(relfilenode);
    if (made.length === 0) return;
    this.now++;
    for (const relfilenode of made) this.madeAt.set(relfilenode, this.now);
  }

  /** Whether a file came after `time`, a value of {@link now}. */
  isNewer(relfilenode: Oid, time: number): boolean {
    return (this.madeAt.get(relfilenode) ?? 0) > time;
  }
}
