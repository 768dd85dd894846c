import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WORD_BLOCK, WORD_FORK } from '../src/frames.ts';
import { BufferTable } from '../src/table.ts';

const key = fc.record({
  fork: fc.integer({ min: 0, max: 2 }),
  block: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(0x7fff_ffff, 0x8000_0000, 0xffff_fffe)),
});

test('the table finds what a Map finds, through insertions and removals', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key), { maxLength: 200, size: 'max' }), (steps) => {
      const buffers = 32;
      const words = new Int32Array(buffers << 2);
      const table = new BufferTable(words, buffers);
      const model = new Map<string, { id: number; fork: number; block: number }>();
      const unused = Array.from({ length: buffers }, (_, i) => i);
      for (const [add, { fork, block }] of steps) {
        const name = `${fork}/${block}`;
        const known = model.get(name);
        if (add && known === undefined && unused.length > 0) {
          const id = unused.shift() as number;
          words[(id << 2) + WORD_FORK] = fork;
          words[(id << 2) + WORD_BLOCK] = block;
          table.insert(id);
          model.set(name, { id, fork, block });
        } else if (!add && known !== undefined) {
          table.remove(known.id);
          model.delete(name);
          unused.push(known.id);
        }
        for (const entry of model.values()) expect(table.find(entry.fork, entry.block)).toBe(entry.id);
        if (!model.has(name)) expect(table.find(fork, block)).toBe(-1);
        const neighbour = `${fork}/${(block + 1) >>> 0}`;
        if (!model.has(neighbour)) expect(table.find(fork, (block + 1) >>> 0)).toBe(-1);
      }
    }),
    { numRuns: 100 },
  );
});

test('a table that was filled and emptied many times probes no further than a new one', () => {
  const buffers = 64;
  const words = new Int32Array(buffers << 2);
  const table = new BufferTable(words, buffers);
  for (let round = 0; round < 1000; round++) {
    for (let id = 0; id < buffers; id++) {
      words[(id << 2) + WORD_BLOCK] = round * buffers + id;
      table.insert(id);
    }
    for (let id = 0; id < buffers; id++) table.remove(id);
  }
  // Were removed entries left behind as tombstones, the table would be full of them, and this would not return.
  expect(table.find(0, 5)).toBe(-1);
});
