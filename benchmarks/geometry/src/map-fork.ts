// A visibility map's fork that lies in no file: its pages are computed when the pool reads them.
import type { BlockNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { pageInit, pageMemory } from '@blockwright/page';
import type { VisibilityFork } from '@blockwright/visibilitymap';
import { fillMapPage } from './walks.ts';

let lastId = 0x4000_0000;

/** Pages [0, pages) of the map that `isAllVisible` describes. */
export class ComputedMapFork implements VisibilityFork {
  readonly id: number = ++lastId;
  readonly name: string = 'computed_vm';
  private readonly geometry: BlockGeometry;
  private readonly pages: number;

  constructor(geometry: BlockGeometry, pages: number) {
    this.geometry = geometry;
    this.pages = pages;
  }

  exists(): boolean {
    return true;
  }

  blockCount(): number {
    return this.pages;
  }

  read(first: BlockNumber, count: number, dest: Uint8Array, at: number): void {
    const page = new Uint8Array(this.geometry.size);
    for (let i = 0; i < count; i++) {
      page.fill(0);
      pageInit(pageMemory(page.buffer), 0, this.geometry);
      fillMapPage(this.geometry, first + i, page, 0);
      dest.set(page, at + i * this.geometry.size);
    }
  }

  write(): void {
    throw new Error('the computed map is read only');
  }

  create(): void {
    this.write();
  }

  zeroExtend(): void {
    this.write();
  }

  truncate(): void {
    this.write();
  }
}
