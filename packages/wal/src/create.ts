// The WAL of a new data directory.
import type { Lsn } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { makeSegment, SegmentLayout } from './segments.ts';

/**
 * Makes the directory of the WAL, whose parent exists, and the first segment in it, all zero and synced. It is segment
 * 1, as PostgreSQL's, so that no record has position 0.
 * @returns where the WAL starts: `start` of the {@link WalWriter} to come.
 */
export function createWal(options: {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly segmentSize: number;
}): Lsn {
  const { vfs, directory } = options;
  const layout = new SegmentLayout(options.segmentSize);
  vfs.mkdir(directory);
  makeSegment(vfs, directory, layout, layout.size, (file) => file.sync());
  vfs.syncDirectory(directory);
  return layout.size;
}
