// What a lone relation file says of itself: its block size and whether its pages carry checksums. Nothing is assumed:
// the size is the one that the headers of most of its pages agree with.
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { readFully, type Vfs } from '@blockwright/vfs';

export interface DetectedPages {
  /** undefined when the headers say no one size, as in an empty file. */
  readonly blockSize: BlockSize | undefined;
  readonly hasChecksums: boolean;
}

/** Bytes looked at: enough for pages of every size. */
const SAMPLE_BYTES = 0x10_0000;
const CHECKSUM_WORD = 8;
const SIZE_WORD = 18;
const LAYOUT_VERSION = 4;

/** Looks at the first megabyte of a file. */
export function detectBlockSize(vfs: Vfs, path: string): DetectedPages {
  const file = vfs.open(path, 'r');
  let sample: Uint8Array;
  try {
    sample = new Uint8Array(Math.min(file.size(), SAMPLE_BYTES));
    readFully(file, sample, 0, sample.length, 0);
  } finally {
    file.close();
  }
  const word = (at: number): number => sample[at] | (sample[at + 1] << 8);
  let best: BlockSize | undefined;
  let bestShare = 0.5; // a majority of the pages that are not empty
  for (const size of BLOCK_SIZES) {
    let agreeing = 0;
    let pages = 0;
    for (let page = 0; page + size <= sample.length; page += size) {
      const said = word(page + SIZE_WORD);
      if (said === 0) continue;
      pages++;
      if (said === (size | LAYOUT_VERSION)) agreeing++;
    }
    if (pages > 0 && agreeing / pages > bestShare) {
      best = size;
      bestShare = agreeing / pages;
    }
  }
  return { blockSize: best, hasChecksums: best !== undefined && firstChecksum(best, sample.length, word) !== 0 };
}

function firstChecksum(size: BlockSize, length: number, word: (at: number) => number): number {
  for (let page = 0; page + size <= length; page += size) {
    if (word(page + SIZE_WORD) !== 0) return word(page + CHECKSUM_WORD);
  }
  return 0;
}
