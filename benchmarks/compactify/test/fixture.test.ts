// fixtures/compactify holds pages that updates made, as they were captured when they were chosen: the benchmark makes the
// same from the same seed. To write them anew: `BLOCKWRIGHT_WRITE_FIXTURES=1 npx vitest run test/fixture.test.ts`.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { linePointer, lpLength, pageMaxOffset, pageMemory, pageUpper } from '@blockwright/page';
import { describe, expect, it } from 'vitest';
import { capturedPages, hasOrder, isIndexWidth, WIDTHS, type Width } from '../src/page-set.ts';

const FOLDER = fileURLToPath(new URL('../../../fixtures/compactify/', import.meta.url));
const SEED = 1;
const PAGES = 4;
const MOST_BYTES = 2_000_000;

const ORDERS = ['updates', 'batches'] as const;
const CELLS = WIDTHS.flatMap((width) =>
  ORDERS.filter((order) => hasOrder(width, order)).map((order) => ({ width, order })),
);
const fileName = (size: BlockSize, width: Width, order: string): string => `${size >>> 10}k-${width}-${order}.gz`;

describe.each(BLOCK_SIZES)('captured pages of %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  it.each(CELLS)('with items of $width bytes, $order, are those of the fixture', ({ width, order }) => {
    const made = capturedPages(g, width, order, PAGES, SEED).u8;
    const path = FOLDER + fileName(size, width, order);
    if (process.env.BLOCKWRIGHT_WRITE_FIXTURES !== undefined) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(path, gzipSync(made, { level: 9 }));
    }
    expect(Buffer.compare(gunzipSync(readFileSync(path)), made)).toBe(0);
  });

  it.each(CELLS)('with items of $width bytes, $order, have gaps and are not in order', ({ width, order }) => {
    const m = pageMemory(new Uint8Array(gunzipSync(readFileSync(FOLDER + fileName(size, width, order)))).buffer);
    let disorder = 0;
    for (let base = 0; base < m.u8.length; base += size) {
      const items = Array.from({ length: pageMaxOffset(m, base) }, (_, i) => linePointer(m, base, i + 1));
      const kept = items.filter((lp) => lpLength(lp) > 0 && !(isIndexWidth(width) && lp >>> 15 === (width << 2) + 3));
      const bytes = kept.reduce((sum, lp) => sum + lpLength(lp), isIndexWidth(width) ? 16 : 0);
      expect(size - pageUpper(m, base) - bytes).toBeGreaterThanOrEqual(width);
      disorder += kept.filter((lp, i) => i > 0 && (lp & 0x7fff) > ((kept[i - 1] as number) & 0x7fff)).length;
    }
    expect(disorder).toBeGreaterThan(0);
  });
});

it('holds nothing else, and little', () => {
  const files = readdirSync(FOLDER).sort();
  expect(files).toEqual(
    [
      ...BLOCK_SIZES.flatMap((size) => CELLS.map(({ width, order }) => fileName(size, width, order))),
      'README.md',
    ].sort(),
  );
  expect(files.reduce((sum, file) => sum + statSync(FOLDER + file).size, 0)).toBeLessThan(MOST_BYTES);
});
