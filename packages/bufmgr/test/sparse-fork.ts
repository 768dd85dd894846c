// A fork in memory that keeps only the blocks that were written, so that it can be as long as a fork can be. It counts
// calls, can fail them, and refuses what a real one refuses.
import { StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';

let lastId = 1000;

export class SparseFork {
  readonly id: number;
  readonly name: string;
  readonly written = new Map<number, Uint8Array>();
  /** Every call, such as `read 3+2`. */
  readonly calls: string[] = [];
  blocks: number;
  failReads = false;
  failWrites = false;
  failExtends = false;
  private readonly size: number;

  constructor(geometry: BlockGeometry, blocks = 0, name = 'base/5/16384') {
    this.id = ++lastId;
    this.name = name;
    this.size = geometry.size;
    this.blocks = blocks;
  }

  exists(): boolean {
    return true;
  }

  create(): void {
    throw new Error('it exists');
  }

  blockCount(): number {
    return this.blocks;
  }

  read(first: number, count: number, dest: Uint8Array, at: number): void {
    this.calls.push(`read ${first}+${count}`);
    if (this.failReads) throw new StorageError('58030', `could not read ${this.name}`);
    if (first + count > this.blocks)
      throw new StorageError('XX001', `block ${first} is beyond the end of ${this.name}`);
    for (let i = 0; i < count; i++) {
      const from = at + i * this.size;
      const page = this.written.get(first + i);
      if (page === undefined) dest.fill(0, from, from + this.size);
      else dest.set(page, from);
    }
  }

  write(first: number, count: number, src: Uint8Array, at: number): void {
    this.calls.push(`write ${first}+${count}`);
    if (this.failWrites) throw new StorageError('53100', `could not write ${this.name}: disk full`);
    if (first + count > this.blocks) throw new Error(`write of ${first}+${count} beyond ${this.blocks} blocks`);
    for (let i = 0; i < count; i++) {
      const from = at + i * this.size;
      this.written.set(first + i, src.slice(from, from + this.size));
    }
  }

  zeroExtend(first: number, count: number): void {
    this.calls.push(`extend ${first}+${count}`);
    if (this.failExtends) throw new StorageError('53100', `could not extend ${this.name}: disk full`);
    if (first !== this.blocks) throw new Error(`extension at ${first}, not at the end ${this.blocks}`);
    this.blocks += count;
  }

  truncate(blocks: number): void {
    this.calls.push(`truncate ${blocks}`);
    for (const block of this.written.keys()) if (block >= blocks) this.written.delete(block);
    this.blocks = blocks;
  }

  /** The calls since the last time, that begin with `what`. */
  take(what: string): string[] {
    return this.calls.splice(0).filter((call) => call.startsWith(what));
  }
}
