// The end of the WAL where records are added.
import type { Lsn, Xid } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { RecordBuilder } from './record-builder.ts';

export interface WalWriterOptions {
  readonly vfs: Vfs;
  /** Of the segments: the data directory's `wal`. */
  readonly directory: string;
  readonly segmentSize: number;
  readonly systemIdentifier: string;
  readonly incarnation: number;
  /** Where the next record goes. */
  readonly start: Lsn;
  /** Start of the last record; 0 when there is none. */
  readonly previous: Lsn;
  readonly bufferBytes?: number;
  /** `fdatasync`, or `off`: nothing is ever forced to the disk. */
  readonly syncMethod?: 'fdatasync' | 'off';
}

export interface WalStats {
  records: number;
  bytes: number;
  images: number;
  imageBytes: number;
  writes: number;
  syncs: number;
}

/** A position to go back to. */
export interface WalMark {
  readonly lsn: Lsn;
}

export class WalWriter {
  readonly record: RecordBuilder = new RecordBuilder();
  readonly lastStart: Lsn = 0;
  readonly insertedUpTo: Lsn = 0;
  readonly writtenUpTo: Lsn = 0;
  readonly flushedUpTo: Lsn = 0;
  readonly failed: unknown = undefined;
  readonly stats: WalStats = { records: 0, bytes: 0, images: 0, imageBytes: 0, writes: 0, syncs: 0 };

  constructor(_options: WalWriterOptions) {
    throw new Error('not yet');
  }

  reserve(_bytes: number): void {}
  insert(_xid: Xid): Lsn {
    return 0;
  }
  write(_upTo: Lsn): void {}
  flush(_upTo: Lsn): void {}
  flushAsync(_upTo: Lsn): Promise<void> {
    return Promise.resolve();
  }
  mark(): WalMark {
    return { lsn: 0 };
  }
  rewind(_mark: WalMark): boolean {
    return false;
  }
  fail(_cause: unknown): void {}
  recycle(_keepFrom: Lsn, _spare: number): { removed: number; recycled: number } {
    return { removed: 0, recycled: 0 };
  }
  close(): void {}
}

/** Makes the directory of the WAL with its first segment, for a new data directory; the WAL starts where it returns. */
export function createWal(_options: {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly segmentSize: number;
}): Lsn {
  throw new Error('not yet');
}

/** The first page boundary at or after `lsn`: where a new incarnation begins. */
export function walPageBoundary(_lsn: Lsn): Lsn {
  throw new Error('not yet');
}
