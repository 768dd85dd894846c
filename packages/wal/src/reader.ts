// Reads records until the WAL ends, and says why it does.
import type { Lsn } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { WalRecord } from './record.ts';

export interface WalReaderOptions {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly segmentSize: number;
  readonly systemIdentifier?: string;
  /** Only records of this one; if not given, of the page that is read first. */
  readonly incarnation?: number;
  /** Whether to go on into higher incarnations where one ends. */
  readonly followIncarnations?: boolean;
}

export class WalReader {
  readonly record: WalRecord = new WalRecord();
  readonly endReason: string = '';
  readonly endLsn: Lsn = 0;
  constructor(_options: WalReaderOptions) {
    throw new Error('not yet');
  }
  /** The next record to read begins at `lsn`. */
  seek(_lsn: Lsn): void {}
  /** Looks for the first record that begins at or after `lsn`; the next {@link next} reads it. @returns where, 0: none. */
  find(_lsn: Lsn): Lsn {
    return 0;
  }
  next(): boolean {
    return false;
  }
  durableBeyondEnd(): Lsn {
    return 0;
  }
  close(): void {}
}
