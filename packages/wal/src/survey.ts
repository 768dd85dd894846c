// What a directory of segments says of itself, for who has nothing but the segments.
import type { Lsn } from '@blockwright/base';
import { joinPath, readFully, type Vfs } from '@blockwright/vfs';
import { LONG_HEADER_BYTES, longHeader } from './page-format.ts';
import { isSegmentSize, listSegments, SegmentLayout } from './segments.ts';

export interface WalSurvey {
  /** Bytes of a segment. */
  readonly segmentSize: number;
  readonly systemIdentifier: string;
  /** Where each segment that is there begins, rising; those made for what comes are among them. */
  readonly segments: readonly Lsn[];
}

/**
 * Looks at the segments in a directory: the first one whose first page is good tells. Nothing is written.
 * @returns undefined when there is none, so no WAL.
 */
export function surveyWal(vfs: Vfs, directory: string): WalSurvey | undefined {
  const bytes = new Uint8Array(LONG_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  for (const name of vfs.readdir(directory)) {
    if (!/^[0-9A-F]{24}$/.test(name)) continue;
    const file = vfs.open(joinPath(directory, name), 'r');
    try {
      if (readFully(file, bytes, 0, LONG_HEADER_BYTES, 0) < LONG_HEADER_BYTES) continue;
    } finally {
      file.close();
    }
    const header = longHeader(view, 0);
    if (header === undefined || !isSegmentSize(header.segmentSize)) continue;
    const { segmentSize, systemIdentifier } = header;
    return { segmentSize, systemIdentifier, segments: listSegments(vfs, directory, new SegmentLayout(segmentSize)) };
  }
  return undefined;
}
