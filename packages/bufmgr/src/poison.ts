// The debug switch against pages that are used after their pin is gone: while nobody has a page pinned, its buffer
// reads as 0x5A bytes, and what is written into it then is found out at the next pin.
import type { BufferId } from '@blockwright/base';
import type { BufferFrames } from './frames.ts';

/** What every byte of an unpinned page reads as under `debugPoison`. */
export const POISON_BYTE = 0x5a;

/** Keeps the true bytes of unpinned pages aside. */
export class PagePoison {
  private readonly frames: BufferFrames;
  private readonly aside = new Map<BufferId, Uint8Array>();

  constructor(frames: BufferFrames) {
    this.frames = frames;
  }

  /** At the last unpin: puts the page's bytes aside and poison in their place. */
  conceal(id: BufferId): void {
    const page = this.page(id);
    this.aside.set(id, page.slice());
    page.fill(POISON_BYTE);
  }

  /**
   * Before the next use: puts the page's bytes back.
   * @throws Error when the poison was written over: somebody kept the page after unpinning it.
   */
  reveal(id: BufferId, name: string): void {
    const bytes = this.aside.get(id);
    if (bytes === undefined) return;
    const page = this.page(id);
    const changed = page.findIndex((byte) => byte !== POISON_BYTE);
    page.set(bytes);
    this.aside.delete(id);
    if (changed >= 0) {
      throw new Error(`block ${this.frames.block(id)} of ${name} was written at byte ${changed} after its last unpin`);
    }
  }

  /** When a page leaves its buffer for good. @throws Error as {@link reveal} */
  forget(id: BufferId, name: string): void {
    this.reveal(id, name);
    this.page(id).fill(POISON_BYTE);
  }

  clear(): void {
    this.aside.clear();
  }

  private page(id: BufferId): Uint8Array {
    const base = this.frames.base(id);
    return this.frames.memory(id).u8.subarray(base, base + this.frames.geometry.size);
  }
}
