// Pages on their way from the files into buffers that were claimed for them: read, verified, put right or refused.
import { type BlockNumber, type BufferId, isStorageError } from '@blockwright/base';
import { describePageFault, PageFault, pageVerify } from '@blockwright/page';
import { invalidPage } from './errors.ts';
import type { BufferedFork } from './fork.ts';
import { type PoolParts, sideBySide } from './write-back.ts';

/** A page that is not right, and one whose segment file is gone. */
const DAMAGE: readonly string[] = ['XX001', '58P01'];

/** Reads pages for a pool. */
export class ReadIn {
  private readonly parts: PoolParts;
  private readonly checksums: boolean;
  private readonly onWarning: ((message: string) => void) | undefined;
  /** Forks whose damage was reported. */
  private readonly reported = new Set<number>();

  constructor(parts: PoolParts, checksums: boolean, onWarning: ((message: string) => void) | undefined) {
    this.parts = parts;
    this.checksums = checksums;
    this.onWarning = onWarning;
  }

  /**
   * Reads one page into a claimed buffer.
   * @param zeroOnError a damaged page becomes zeros, is counted, and reported once a fork. PostgreSQL: `RBM_ZERO_ON_ERROR`.
   * @throws StorageError XX001 when the page is invalid.
   */
  read(f: BufferedFork, b: BlockNumber, id: BufferId, zeroOnError: boolean): void {
    const { frames, stats } = this.parts;
    const m = frames.memory(id);
    const base = frames.base(id);
    try {
      f.read(b, 1, m.u8, base);
      stats.reads++;
      const fault = this.fault(b, id);
      if (fault !== PageFault.none) throw invalidPage(f, b, describePageFault(m, base, frames.geometry, b, fault));
    } catch (error) {
      if (!zeroOnError || !isStorageError(error) || !DAMAGE.includes(error.code)) throw error;
      m.u8.fill(0, base, base + frames.geometry.size);
      stats.zeroed++;
      if (this.reported.has(f.id)) return;
      this.reported.add(f.id);
      this.onWarning?.(`${error.message}; zeroing out page: ${error.detail ?? ''}`);
    }
  }

  /**
   * Reads a run of blocks into claimed buffers with one call.
   * @returns whether that worked; each page is still to be verified.
   */
  readRun(f: BufferedFork, first: BlockNumber, ids: Int32Array, count: number): boolean {
    const { frames, stats, scratch } = this.parts;
    const { blockShift } = frames;
    try {
      if (sideBySide(frames, ids, count)) {
        f.read(first, count, frames.memory(ids[0]).u8, frames.base(ids[0]));
      } else {
        const bytes = scratch();
        f.read(first, count, bytes, 0);
        for (let i = 0; i < count; i++) {
          frames.memory(ids[i]).u8.set(bytes.subarray(i << blockShift, (i + 1) << blockShift), frames.base(ids[i]));
        }
      }
    } catch (error) {
      // The pin that needs the block meets the same trouble by itself, and says which block it is.
      if (isStorageError(error)) return false;
      throw error;
    }
    stats.reads += count;
    stats.readAheads++;
    return true;
  }

  /** What is wrong with the page in a buffer. PostgreSQL: `PageIsVerified`, bufpage.c. */
  fault(b: BlockNumber, id: BufferId): PageFault {
    const { frames } = this.parts;
    return pageVerify(frames.memory(id), frames.base(id), frames.geometry, b, this.checksums);
  }
}
