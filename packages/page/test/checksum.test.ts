// The checksum against a second implementation, written from the description and not from the first: 32 separate
// columns, BigInt arithmetic, bytes put together one by one, a plain remainder.
import { INVALID_BLOCK_NUMBER } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  blockOfChecksum,
  checksumOfHash,
  copyPage,
  findPageFaults,
  Page,
  PageFault,
  PageMemoryViews,
  pageAddItem,
  pageChecksum,
  pageHash,
  pageInit,
  pageSetChecksum,
  pageStoredChecksum,
  pageVerify,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const STARTS = (
  '5B1F36E9 B8525960 02AB50AA 1DE66D2A 79FF467A 9BB9F8A3 217E7CD2 83E13D2C F8D4474F E39EB970 42C6AE16 993216FA ' +
  '7B093B5D 98DAFF3C F718902A 0B1C9CDB E58F764B 187636BC 5D7B3BB1 E73DE7DE 92BEC979 CCA6C0B2 304A0979 85AA43D4 ' +
  '783125BB 6CA8EAA2 E407EAC6 4B5CFC3E 9FBF8C76 15CA20BE F2CA9FD3 959BD756'
)
  .split(' ')
  .map((hex) => BigInt(`0x${hex}`));

function secondOpinion(page: Uint8Array, block: number): number {
  let hash = 0n;
  for (let column = 0; column < 32; column++) {
    let sum = STARTS[column] as bigint;
    for (let at = column * 4; at < page.length + 256; at += 128) {
      let value = 0n;
      for (let byte = 3; byte >= 0; byte--) {
        const isChecksum = at + byte === 8 || at + byte === 9;
        value = value * 256n + BigInt(isChecksum ? 0 : (page[at + byte] ?? 0));
      }
      const mixed = sum ^ value;
      sum = ((mixed * 16777619n) & 0xffff_ffffn) ^ (mixed >> 17n);
    }
    hash ^= sum;
  }
  return Number((hash ^ BigInt(block)) % 65535n) + 1;
}

const BLOCKS = [0, 50, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];
const PATTERNS: Record<string, (i: number) => number> = {
  '0x00': () => 0x00,
  '0xFF': () => 0xff,
  '0x01': () => 0x01,
  '0x80': () => 0x80,
  'counting bytes': (i) => i & 0xff,
  'random bytes': (i) => Math.imul(i + 12345, 2654435761) >>> 24,
};

describe.each(BLOCK_SIZES)('the checksum of a page of %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  it.each(Object.keys(PATTERNS))('agrees with a second implementation on %s', (name) => {
    const page = Uint8Array.from({ length: size }, (_, i) => (PATTERNS[name] as (i: number) => number)(i));
    const m = new PageMemoryViews(new ArrayBuffer(size * 3));
    m.u8.fill(0x77);
    m.u8.set(page, size);
    for (const block of BLOCKS) expect(pageChecksum(m, size, g, block)).toBe(secondOpinion(page, block));
    expect(m.u8.slice(size, size * 2)).toEqual(page);
  });

  it('agrees with it on random pages, and does not see the stored checksum', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: size, maxLength: size }),
        fc.integer({ min: 0, max: 2 ** 32 - 2 }),
        (bytes, block) => {
          const page = Page.copyOf(bytes);
          const sum = page.checksum(block);
          expect(sum).toBe(secondOpinion(bytes, block));
          page.memory.u16[4] = (page.memory.u16[4] as number) ^ 0x5a5a;
          expect(page.checksum(block)).toBe(sum);
          page.memory.u16[5] = (page.memory.u16[5] as number) ^ 1;
          expect(pageHash(page.memory, 0, g)).not.toBe(undefined);
          expect(page.checksum(block)).toBe(secondOpinion(page.bytes, block));
        },
      ),
      { numRuns: 12, endOnFailure: true }, // to shrink 32 kB takes for ever
    );
  });

  it('is salted with the block of the relation, not of the segment file', () => {
    const m = new PageMemoryViews(new ArrayBuffer(size));
    pageInit(m, 0, g);
    pageAddItem(m, 0, g, Uint8Array.of(1, 2, 3), 0, 3);
    const block = g.blockOfSegment(1, 2 << g.shift);
    pageSetChecksum(m, 0, g, block);
    expect(pageVerify(m, 0, g, block, true)).toBe(PageFault.none);
    expect(pageVerify(m, 0, g, 2, true)).toBe(PageFault.checksum);
    expect(pageVerify(m, 0, g, 2, false)).toBe(PageFault.none);
  });

  it('of two swapped blocks says where each belongs', () => {
    const m = new PageMemoryViews(new ArrayBuffer(size * 6));
    for (let block = 0; block < 6; block++) {
      pageInit(m, size * block, g);
      pageAddItem(m, size * block, g, Uint8Array.of(block, 1, 2), 0, 3);
      pageSetChecksum(m, size * block, g, block);
    }
    const swap = new PageMemoryViews(new ArrayBuffer(size));
    copyPage(m, size * 1, swap, 0, g);
    copyPage(m, size * 4, m, size * 1, g);
    copyPage(swap, 0, m, size * 4, g);
    const messages: string[] = [];
    for (let block = 0; block < 6; block++) {
      findPageFaults(m, size * block, g, { block, checksum: true, blockCount: 6 }, (f) => messages.push(f.message));
    }
    expect(messages).toEqual([
      expect.stringMatching(/^the checksum is \d+ and should be \d+; it matches block 4$/),
      expect.stringMatching(/^the checksum is \d+ and should be \d+; it matches block 1$/),
    ]);
    expect(blockOfChecksum(m, size * 1, g, 1, 4)).toBe(INVALID_BLOCK_NUMBER);
    expect(blockOfChecksum(m, size * 1, g, 1, 5)).toBe(4);
  });

  it('finds the nearest block that a checksum fits, of as many as there can be', () => {
    const m = new PageMemoryViews(new ArrayBuffer(size));
    pageInit(m, 0, g);
    fc.assert(
      fc.property(fc.nat(200_000), fc.nat(200_000), fc.integer({ min: 1, max: 200_001 }), (truth, block, count) => {
        pageSetChecksum(m, 0, g, truth);
        const fitting: number[] = [];
        const hash = pageHash(m, 0, g);
        for (let b = 0; b < count; b++) {
          if (b !== block && checksumOfHash(hash, b) === pageStoredChecksum(m, 0)) fitting.push(b);
        }
        const found = blockOfChecksum(m, 0, g, block, count);
        if (fitting.length === 0) expect(found).toBe(INVALID_BLOCK_NUMBER);
        else {
          expect(fitting).toContain(found);
          expect(Math.abs(found - block)).toBe(Math.min(...fitting.map((b) => Math.abs(b - block))));
        }
      }),
      { numRuns: 10 },
    );
    pageSetChecksum(m, 0, g, 2 ** 32 - 2);
    expect(blockOfChecksum(m, 0, g, 2 ** 32 - 3, 2 ** 32 - 1)).toBe(2 ** 32 - 2);
    m.u16[4] = 0;
    expect(blockOfChecksum(m, 0, g, 0, 2 ** 32 - 1)).toBe(INVALID_BLOCK_NUMBER);
  });

  it('finds every flipped bit of a page', () => {
    fc.assert(
      fc.property(fc.nat(size * 8 - 1), fc.nat(255), (bit, seed) => {
        const m = new PageMemoryViews(new ArrayBuffer(size));
        pageInit(m, 0, g);
        m.u8.fill(seed, 24);
        pageSetChecksum(m, 0, g, seed);
        m.u8[bit >>> 3] = (m.u8[bit >>> 3] as number) ^ (1 << (bit & 7));
        expect(pageVerify(m, 0, g, seed, true)).toBe(PageFault.checksum);
      }),
      { numRuns: 40 },
    );
  });

  it('takes random bytes for damaged, whatever their LSN', () => {
    const m = new PageMemoryViews(new ArrayBuffer(size));
    m.u8.fill(0xff);
    expect(pageVerify(m, 0, g, 0, true)).toBe(PageFault.checksum);
  });
});

describe('checksumOfHash', () => {
  it('is the remainder modulo 65535, and one, for every hash', () => {
    const edges = [0, 1, 65534, 65535, 65536, 131069, 131070, 131071, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1];
    for (const hash of edges) expect(checksumOfHash(hash, 0)).toBe((hash % 65535) + 1);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(...BLOCKS), (hash, block) => {
        expect(checksumOfHash(hash, block)).toBe((((hash ^ block) >>> 0) % 65535) + 1);
      }),
    );
  });
});

describe('pageSetChecksum', () => {
  it('leaves a page alone that was never initialised', () => {
    const m = new PageMemoryViews(new ArrayBuffer(1024));
    pageSetChecksum(m, 0, BlockGeometry.of(1024), 5);
    expect(pageStoredChecksum(m, 0)).toBe(0);
    expect(pageVerify(m, 0, BlockGeometry.of(1024), 5, true)).toBe(PageFault.none);
  });
});
