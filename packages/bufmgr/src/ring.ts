// A ring of buffers for one large scan or load: it reuses its own few buffers, so that it does not empty the pool.
import type { BufferId } from '@blockwright/base';
import { type BufferFrames, NO_BUFFER, STATE_VALID, USAGE_MASK, WORD_PINS, WORD_STATE } from './frames.ts';

/** Bytes of the ring of a large scan. PostgreSQL: `BAS_BULKREAD`, freelist.c. */
export const BULK_READ_RING_BYTES = 0x4_0000;
/** Bytes of the ring of a bulk load. PostgreSQL: `BAS_BULKWRITE`, freelist.c. */
export const BULK_WRITE_RING_BYTES = 0x100_0000;

/**
 * Buffers that one scan or load goes round in; made by the pool, given to its calls. It owns none of them: a page that
 * somebody else uses too stays, and the ring takes another buffer in its place. PostgreSQL: `BufferAccessStrategy`.
 */
export class BufferRing {
  /** The most buffers it goes round in. */
  readonly size: number;
  /**
   * Whether it gives up a page whose write would have to wait for the WAL, and takes another buffer: a scan that sets hint
   * bits would wait at every turn. PostgreSQL: `StrategyRejectBuffer`.
   * @internal
   */
  readonly rejects: boolean;
  private readonly ids: Int32Array;
  private current = -1;

  /** @internal */
  constructor(size: number, rejects: boolean) {
    this.size = size;
    this.rejects = rejects;
    this.ids = new Int32Array(size).fill(NO_BUFFER);
  }

  /**
   * The next buffer of the ring, if nobody but the ring's user has touched its page; else -1, and the caller puts
   * another there with {@link replace}. PostgreSQL: `GetBufferFromRing`.
   * @internal
   */
  next(frames: BufferFrames): BufferId {
    this.current = this.current + 1 === this.size ? 0 : this.current + 1;
    const id = this.ids[this.current];
    if (id === NO_BUFFER) return NO_BUFFER;
    const at = id << 2;
    const state = frames.words[at + WORD_STATE];
    // A usage count of 2 or more is somebody else's doing: a pin through the ring raises it to 1 and no further.
    const reusable = (state & STATE_VALID) !== 0 && frames.words[at + WORD_PINS] === 0 && (state & USAGE_MASK) <= 1;
    return reusable ? id : NO_BUFFER;
  }

  /**
   * Puts a buffer in the place that {@link next} asked for. PostgreSQL: `AddBufferToRing`.
   * @internal
   */
  replace(id: BufferId): void {
    this.ids[this.current] = id;
  }
}
