// The ways to compute the checksums of many pages that lie one behind the other. Each fills an array with one checksum a
// page, page i being block i.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  checksumOfHash,
  kernelMemory,
  type PageMemory,
  PageMemoryViews,
  pageChecksum,
  pageHashes,
  pageHashPortable,
} from '@blockwright/page';

/** Pages under two kinds of memory: one that a kernel reads in place, and the same bytes without one. */
export interface Pages {
  readonly inPlace: PageMemory;
  readonly ordinary: PageMemory;
}

/** Room for `bytes` bytes, all zero. */
export function makePages(bytes: number): Pages {
  const inPlace = kernelMemory(bytes);
  return { inPlace, ordinary: new PageMemoryViews(inPlace.u8.buffer, 0, bytes) };
}

/** Fills `out` with the checksums of its `out.length` first pages. */
export type Checksums = (pages: Pages, g: BlockGeometry, out: Uint32Array) => void;

export const TYPESCRIPT = 'typescript';
export const IN_PLACE = 'simd in place';
export const COPIED = 'simd copied';

export const VARIANTS: Readonly<Record<string, { readonly meaning: string; readonly run: Checksums }>> = {
  [TYPESCRIPT]: {
    meaning: 'pageHashPortable, page by page',
    run: ({ ordinary }, g, out) => {
      for (let i = 0; i < out.length; i++) out[i] = checksumOfHash(pageHashPortable(ordinary, i << g.shift, g), i);
    },
  },
  [IN_PLACE]: {
    meaning: 'pageChecksum over kernelMemory, page by page',
    run: ({ inPlace }, g, out) => {
      for (let i = 0; i < out.length; i++) out[i] = pageChecksum(inPlace, i << g.shift, g, i);
    },
  },
  'simd in place, batch': {
    meaning: 'pageHashes over kernelMemory',
    run: ({ inPlace }, g, out) => batch(inPlace, g, out),
  },
  [COPIED]: {
    meaning: 'pageChecksum over ordinary memory: each page is copied to where the kernel reads it',
    run: ({ ordinary }, g, out) => {
      for (let i = 0; i < out.length; i++) out[i] = pageChecksum(ordinary, i << g.shift, g, i);
    },
  },
  'simd copied, batch': {
    meaning: 'pageHashes over ordinary memory: up to 32 kB are copied at a time',
    run: ({ ordinary }, g, out) => batch(ordinary, g, out),
  },
};

function batch(m: PageMemory, g: BlockGeometry, out: Uint32Array): void {
  pageHashes(m, 0, g, out.length, out);
  for (let i = 0; i < out.length; i++) out[i] = checksumOfHash(out[i] as number, i);
}
