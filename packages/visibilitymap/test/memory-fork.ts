// A map's fork in memory, which keeps only the pages that were written, so that it can be as long as a map can be.
import { StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import type { VisibilityFork } from '@blockwright/visibilitymap';

let lastId = 5000;

export class MemoryFork implements VisibilityFork {
  readonly id: number;
  readonly name = 'base/5/16384_vm';
  readonly pages = new Map<number, Uint8Array>();
  blocks: number;
  reads = 0;
  /** What blockCount throws, as a fork with a missing segment does. */
  hole: StorageError | undefined = undefined;
  private made: boolean;
  private readonly size: number;

  constructor(geometry: BlockGeometry, bytes?: Uint8Array) {
    this.id = ++lastId;
    this.size = geometry.size;
    this.made = bytes !== undefined;
    this.blocks = (bytes?.length ?? 0) / geometry.size;
    for (let b = 0; b < this.blocks; b++)
      this.pages.set(b, (bytes as Uint8Array).slice(b * this.size, (b + 1) * this.size));
  }

  exists(): boolean {
    return this.made;
  }

  create(): void {
    if (this.made) throw new Error('it exists');
    this.made = true;
  }

  blockCount(): number {
    if (!this.made) throw new Error('it does not exist');
    if (this.hole !== undefined) throw this.hole;
    return this.blocks;
  }

  read(first: number, count: number, dest: Uint8Array, at: number): void {
    this.reads++;
    if (first + count > this.blocks)
      throw new StorageError('XX001', `block ${first} is beyond the end of ${this.name}`);
    for (let i = 0; i < count; i++) {
      const from = at + i * this.size;
      const page = this.pages.get(first + i);
      if (page === undefined) dest.fill(0, from, from + this.size);
      else dest.set(page, from);
    }
  }

  write(first: number, count: number, src: Uint8Array, at: number): void {
    if (first + count > this.blocks) throw new Error('a write beyond the end');
    for (let i = 0; i < count; i++) {
      const from = at + i * this.size;
      this.pages.set(first + i, src.slice(from, from + this.size));
    }
  }

  zeroExtend(first: number, count: number): void {
    if (!this.made || first !== this.blocks) throw new Error(`an extension at ${first}, not at the end`);
    this.blocks += count;
  }

  truncate(blocks: number): void {
    if (blocks > this.blocks) throw new Error('a truncation that lengthens');
    for (const b of this.pages.keys()) if (b >= blocks) this.pages.delete(b);
    this.blocks = blocks;
  }
}
