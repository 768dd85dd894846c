// Forks against a plain array of blocks: random reads, writes, extensions, truncations, reopenings, at every block size,
// with segments so small that every run crosses edges, and a file system that transfers a few bytes at a time.
import { FORK_NAMES, type ForkNumber } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { StorageManager } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

type Command =
  | { do: 'extend'; count: number; zeros: boolean }
  | { do: 'write' | 'read'; at: number; count: number }
  | { do: 'truncate'; to: number }
  | { do: 'reopen' | 'sync' | 'recreate' };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('extend' as const), count: fc.nat(9), zeros: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('write' as const, 'read' as const),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      count: fc.nat(9),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('truncate' as const), to: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reopen' as const, 'sync' as const, 'recreate' as const) }) },
);

/** A block whose every byte depends on `stamp`. */
function block(size: number, stamp: number): Uint8Array {
  return new Uint8Array(size).fill((stamp % 255) + 1);
}

describe.each(BLOCK_SIZES)('blocks of %i bytes', (size) => {
  test('a fork is an array of blocks', () => {
    fc.assert(
      fc.property(
        fc.array(command, { maxLength: 30, size: 'max' }),
        fc.constantFrom(1, 2, 4),
        fc.constantFrom<ForkNumber>(0, 1, 2, 3),
        fc.constantFrom(Number.POSITIVE_INFINITY, 700, size + 1),
        (commands, segmentBlocks, forkNumber, transfer) => {
          const vfs = new MemoryVfs();
          vfs.maxReadBytes = transfer;
          vfs.maxWriteBytes = transfer;
          vfs.mkdir('/data');
          vfs.mkdir('/data/base');
          vfs.mkdir('/data/base/5');
          const locator = { tablespace: 1663, database: 5, relfilenode: 16384 };
          const open = () =>
            new StorageManager({ vfs, directory: '/data', geometry: BlockGeometry.of(size), segmentBlocks });
          let manager = open();
          let fork = manager.open(locator).fork(forkNumber);
          fork.create();
          const model: Uint8Array[] = [];
          let stamp = 0;
          for (const one of commands) {
            if (one.do === 'extend') {
              const blocks = Array.from({ length: one.count }, () =>
                one.zeros ? new Uint8Array(size) : block(size, stamp++),
              );
              if (one.zeros) fork.zeroExtend(model.length, one.count);
              else fork.extend(model.length, one.count, concat(blocks, size), 3);
              model.push(...blocks);
            } else if (one.do === 'write' || one.do === 'read') {
              const at = Math.floor(one.at * model.length);
              const count = Math.min(one.count, model.length - at);
              if (one.do === 'write') {
                const blocks = Array.from({ length: count }, () => block(size, stamp++));
                fork.write(at, count, concat(blocks, size), 3);
                model.splice(at, count, ...blocks);
              } else {
                const dest = new Uint8Array(3 + count * size);
                fork.read(at, count, dest, 3);
                expect(equal(dest, concat(model.slice(at, at + count), size))).toBe(true);
              }
            } else if (one.do === 'truncate') {
              model.length = Math.round(one.to * model.length);
              fork.truncate(model.length);
            } else if (one.do === 'sync') {
              fork.sync();
            } else if (one.do === 'reopen') {
              manager.close();
              manager = open();
              fork = manager.open(locator).fork(forkNumber);
            } else {
              fork.unlink();
              expect(vfs.readdir('/data/base/5')).toEqual([]);
              fork.create();
              model.length = 0;
            }
            expect(fork.hasBlock(model.length)).toBe(false);
            expect(model.length > 0 && fork.hasBlock(model.length - 1)).toBe(model.length > 0);
            expect(fork.blockCount()).toBe(model.length);
          }
          const all = new Uint8Array(3 + model.length * size);
          fork.read(0, model.length, all, 3);
          expect(equal(all, concat(model, size))).toBe(true);
          // The files themselves: full segments, one that is not full, then empty ones; the name says the fork.
          const name = `16384${forkNumber === 0 ? '' : `_${FORK_NAMES[forkNumber]}`}`;
          fork.segments().forEach((file, i) => {
            expect(file.path).toBe(`/data/base/5/${name}${i === 0 ? '' : `.${i}`}`);
            expect(file.blocks).toBe(Math.min(segmentBlocks, Math.max(0, model.length - i * segmentBlocks)));
            expect(file.tailBytes).toBe(0);
          });
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** The blocks after three bytes of nothing, so that an index that is ignored shows. */
function concat(blocks: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(3 + blocks.length * size);
  blocks.forEach((one, i) => {
    all.set(one, 3 + i * size);
  });
  return all;
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
