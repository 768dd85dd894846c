import { BLOCK_SIZES } from '@blockwright/geometry';
import { expect, test } from 'vitest';

test('there are block sizes to simulate at', () => {
  expect(BLOCK_SIZES.length).toBe(6);
});
