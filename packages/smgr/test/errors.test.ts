// Each way in which a file can be wrong has its own error, with relation, fork, segment, block and path in it.
import { createFile } from '@blockwright/vfs';
import { describe, expect, test } from 'vitest';
import { blocks, DIRECTORY, disk, filled, LOCATOR, managerOf, PATH, readAll, refused, SIZE, same } from './support.ts';

describe('reading', () => {
  test('short reads of the system are gone on with', () => {
    const vfs = disk();
    const fork = filled(vfs, 10);
    vfs.maxReadBytes = 333;
    same(readAll(fork, 1, 8), blocks(1, 8));
  });

  test('past the end', () => {
    const fork = filled(disk(), 6);
    refused(
      () => readAll(fork, 6, 1),
      'XX001',
      'relation base/5/16384, fork main, segment 1, block 6: the file ends before it',
      `"${PATH}.1"`,
    );
    refused(() => readAll(fork, 4, 4), 'XX001', 'block 6: the file ends before it');
    refused(() => readAll(fork, 8, 1), '58P01', 'segment 2, block 8: the segment does not exist', `"${PATH}.2"`);
  });

  test('a fork that does not exist', () => {
    const vfs = disk();
    const relation = managerOf(vfs).open(LOCATOR);
    expect(relation.fork(2).exists()).toBe(false);
    refused(() => relation.fork(2).blockCount(), '58P01', 'fork vm', 'the fork does not exist', `"${PATH}_vm"`);
    refused(() => readAll(relation.fork(2), 0, 1), '58P01', 'fork vm, segment 0, block 0', `"${PATH}_vm"`);
    refused(() => relation.fork(2).extend(0, 1, blocks(0, 1), 0), '58P01', 'the fork does not exist');
    refused(() => relation.fork(2).write(0, 1, blocks(0, 1), 0), '58P01', 'the fork does not exist');
    refused(() => relation.fork(2).truncate(0), '58P01', 'the fork does not exist');
    expect(vfs.readdir(DIRECTORY)).toEqual([]); // nothing was made
    relation.fork(2).unlink(); // nothing to remove
  });

  test('a size that is no multiple of the block: whole blocks are there, the tail is reported', () => {
    const vfs = disk();
    const fork = filled(vfs, 6);
    const file = vfs.open(`${PATH}.1`, 'r+');
    file.truncate(2 * SIZE - 1);
    expect(fork.blockCount()).toBe(5);
    expect(fork.tailBytes()).toBe(SIZE - 1);
    expect(fork.tailBytes(0)).toBe(0);
    same(readAll(fork, 0, 5), blocks(0, 5));
    refused(
      () => readAll(fork, 5, 1),
      'XX001',
      'segment 1, block 5: the file ends within it, after 1023 of 1024 bytes',
    );
    expect(fork.segments()).toEqual([
      { segment: 0, path: PATH, sizeBytes: 4 * SIZE, blocks: 4, tailBytes: 0 },
      { segment: 1, path: `${PATH}.1`, sizeBytes: 2 * SIZE - 1, blocks: 1, tailBytes: SIZE - 1 },
    ]);
    fork.extend(5, 1, blocks(5, 1), 0); // what a write cut short has left is written over
    expect(fork.tailBytes()).toBe(0);
    same(readAll(fork, 0, 6), blocks(0, 6));
  });

  test('a tail after a full segment, and after nothing', () => {
    const vfs = disk();
    const fork = filled(vfs, 4);
    vfs.open(PATH, 'r+').truncate(4 * SIZE + 7);
    expect(fork.blockCount()).toBe(4);
    expect(fork.tailBytes(0)).toBe(7);
    createFile(vfs, `${PATH}_fsm`, new Uint8Array(9));
    expect(fork.relation.fork(1).blockCount()).toBe(0);
    expect(fork.relation.fork(1).tailBytes()).toBe(9);
  });

  test('the system fails', () => {
    const vfs = disk();
    const fork = filled(vfs, 10);
    const fault = vfs.plant({ operation: 'read', path: '16384.1', errno: 'EIO' });
    refused(
      () => readAll(fork, 2, 4),
      '58030',
      'relation base/5/16384, fork main, segment 1, block 4: could not read file',
      `"${PATH}.1"`,
      'EIO',
    );
    expect(fault.hits).toBe(1);
    vfs.plant({ operation: 'read', bytes: 0 });
    refused(() => readAll(fork, 3, 1), '58030', 'block 3: could not read: the system gave 0 of 1024 bytes');
    vfs.plant({ operation: 'open', errno: 'EACCES' });
    refused(() => managerOf(vfs).open(LOCATOR).fork(0).blockCount(), '42501', 'segment 0', `"${PATH}"`);
    fork.blockCount();
    vfs.plant({ operation: 'size', errno: 'EIO' });
    refused(() => fork.blockCount(), '58030', 'segment 2', `"${PATH}.2"`);
  });
});

describe('segments', () => {
  test('a missing middle segment', () => {
    const vfs = disk();
    filled(vfs, 14);
    vfs.unlink(`${PATH}.1`);
    const fork = managerOf(vfs).open(LOCATOR).fork(0);
    refused(
      () => fork.blockCount(),
      '58P01',
      'relation base/5/16384, fork main, segment 1: the segment is missing, but segment 2 has data',
      `"${PATH}.1"`,
    );
    refused(() => fork.blockCount(), '58P01', 'segment 1'); // and again
    refused(() => readAll(fork, 3, 2), '58P01', 'segment 1, block 4: the segment does not exist');
    refused(() => fork.extend(4, 1, blocks(4, 1), 0), '58P01', 'segment 1');
    expect(vfs.exists(`${PATH}.1`)).toBe(false);
    // What is there can still be read by number.
    same(readAll(fork, 8, 6), blocks(8, 6));
    same(readAll(fork, 0, 4), blocks(0, 4));
    expect(fork.segments().map(({ segment }) => segment)).toEqual([0, 2, 3]);
  });

  test('two missing segments, and a missing first one', () => {
    const vfs = disk();
    filled(vfs, 14);
    vfs.unlink(`${PATH}.1`);
    vfs.unlink(`${PATH}.2`);
    refused(() => managerOf(vfs).open(LOCATOR).fork(0).blockCount(), '58P01', 'segment 1', 'segment 3 has data');
    vfs.unlink(PATH);
    const fork = managerOf(vfs).open(LOCATOR).fork(0);
    expect(fork.exists()).toBe(false);
    refused(() => fork.blockCount(), '58P01', 'the fork does not exist');
    same(readAll(fork, 12, 2), blocks(12, 2));
  });

  test('a segment cut in the middle of a relation', () => {
    const vfs = disk();
    filled(vfs, 14);
    vfs.open(`${PATH}.1`, 'r+').truncate(3 * SIZE);
    refused(
      () => managerOf(vfs).open(LOCATOR).fork(0).blockCount(),
      'XX001',
      'segment 1: it ends after 3 of 4 blocks, but segment 2 has data',
    );
  });

  test('empty segments after the end are no fault', () => {
    const vfs = disk();
    const fork = filled(vfs, 14);
    fork.truncate(2);
    expect(vfs.readdir(DIRECTORY)).toEqual(['16384', '16384.1', '16384.2', '16384.3']);
    const again = managerOf(vfs).open(LOCATOR).fork(0);
    expect(again.blockCount()).toBe(2);
    again.extend(2, 12, blocks(2, 12), 0);
    same(readAll(again, 0, 14), blocks(0, 14));
  });

  test('names that are no segments are not taken for any', () => {
    const vfs = disk();
    filled(vfs, 2);
    for (const name of ['16384.01', '16384.x', '16384.1.bak', '163840.1', '16384_vm.1', '16384.', 't1_16384.1']) {
      createFile(vfs, `${DIRECTORY}/${name}`, new Uint8Array(SIZE));
    }
    expect(managerOf(vfs).open(LOCATOR).fork(0).blockCount()).toBe(2);
  });

  test('a file written with larger segments', () => {
    const vfs = disk();
    filled(vfs, 8, managerOf(vfs, { segmentBlocks: 8 }));
    refused(
      () => managerOf(vfs).open(LOCATOR).fork(0).blockCount(),
      'XX001',
      'segment 0: it has 8 blocks, a segment 4',
    );
    vfs.open(PATH, 'r+').truncate(2 ** 32 + SIZE); // as many bytes, modulo 2^32, as one block
    refused(() => managerOf(vfs).open(LOCATOR).fork(0).blockCount(), 'XX001', 'segment 0: it has 4194305 blocks');
  });
});

describe('writing', () => {
  test('beyond the end is refused, and nothing is written', () => {
    const vfs = disk();
    const fork = filled(vfs, 6);
    refused(
      () => fork.write(5, 2, blocks(0, 2), 0),
      'XX001',
      'segment 1, block 6: cannot write beyond the end: 6 blocks',
    );
    refused(() => fork.write(9, 1, blocks(0, 1), 0), 'XX001', 'block 9');
    expect(vfs.calls('write')).toEqual([]);
    same(readAll(fork, 0, 6), blocks(0, 6));
  });

  test('a full disk, at a write', () => {
    const vfs = disk();
    const fork = filled(vfs, 6);
    const fault = vfs.plant({ operation: 'write', nth: 2, errno: 'ENOSPC' });
    refused(
      () => fork.write(2, 4, blocks(2, 4), 0),
      '53100',
      'relation base/5/16384, fork main, segment 1, block 4: could not write file',
      `"${PATH}.1"`,
      'ENOSPC',
    );
    expect(fault.hits).toBe(1);
  });

  test.each([0, 1, 500, SIZE, 2 * SIZE + 1, 5 * SIZE])(
    'a full disk, at an extension, with %i bytes left',
    (freeBytes) => {
      const vfs = disk();
      const fork = filled(vfs, 3);
      vfs.freeBytes = freeBytes;
      for (const extend of [() => fork.extend(3, 6, blocks(3, 6), 0), () => fork.zeroExtend(3, 6)]) {
        // The block that could not be written whole is the one named.
        const block = 3 + (freeBytes >>> 10);
        refused(extend, '53100', `segment ${block >>> 2}, block ${block}: could not write file`, 'ENOSPC');
        expect(fork.blockCount()).toBe(3);
        expect(fork.tailBytes()).toBe(0);
        expect(vfs.freeBytes).toBe(freeBytes); // nothing is left behind
        same(readAll(fork, 0, 3), blocks(0, 3));
      }
      vfs.freeBytes = 6 * SIZE;
      fork.extend(3, 6, blocks(3, 6), 0);
      same(readAll(fork, 0, 9), blocks(0, 9));
    },
  );

  test('a write that takes nothing and says nothing is a full disk', () => {
    const vfs = disk();
    const fork = filled(vfs, 3);
    vfs.plant({ operation: 'write', bytes: 0 });
    refused(
      () => fork.write(1, 1, blocks(1, 1), 0),
      '53100',
      'block 1: could not write: the system took 0 of 1024 bytes',
    );
  });

  test('a segment that cannot be made leaves the fork as it was', () => {
    const vfs = disk();
    const fork = filled(vfs, 3);
    const fault = vfs.plant({ operation: 'open', path: '16384.1', nth: 2, times: 9, errno: 'EMFILE' });
    refused(() => fork.extend(3, 4, blocks(3, 4), 0), '58030', 'segment 1, block 4', 'EMFILE');
    expect(fault.hits).toBeGreaterThan(0);
    fault.remove();
    expect(fork.blockCount()).toBe(3);
  });

  test('A12: extending over a block with data is refused, the block kept', () => {
    const vfs = disk();
    const fork = filled(vfs, 6);
    refused(
      () => fork.extend(5, 2, blocks(100, 2), 0),
      'XX001',
      'relation base/5/16384, fork main, segment 1, block 5: cannot extend over a block with data in it',
    );
    refused(() => fork.zeroExtend(0, 1), 'XX001', 'block 0');
    same(readAll(fork, 0, 6), blocks(0, 6));
    expect(fork.blockCount()).toBe(6);
    // One byte that is not zero is data; a block of zeros is not.
    fork.zeroExtend(6, 2);
    const speck = new Uint8Array(SIZE);
    speck[SIZE - 1] = 1;
    fork.write(7, 1, speck, 0);
    refused(() => fork.extend(6, 2, blocks(6, 2), 0), 'XX001', 'block 7');
    same(readAll(fork, 6, 1), new Uint8Array(SIZE));
    fork.write(7, 1, new Uint8Array(SIZE), 0);
    fork.extend(6, 4, blocks(6, 4), 0);
    same(readAll(fork, 0, 10), blocks(0, 10));
  });

  test('what another handle added is seen before it is extended over', () => {
    const vfs = disk();
    const fork = filled(vfs, 3);
    const other = managerOf(vfs).open(LOCATOR).fork(0);
    other.extend(3, 1, blocks(3, 1), 0);
    refused(() => fork.extend(3, 1, blocks(50, 1), 0), 'XX001', 'block 3');
    same(readAll(fork, 3, 1), blocks(3, 1));
  });

  test('an extension that would leave a hole is the caller’s error', () => {
    const vfs = disk();
    const fork = filled(vfs, 3);
    expect(() => fork.extend(4, 1, blocks(4, 1), 0)).toThrow(RangeError);
    expect(() => fork.extend(4, 1, blocks(4, 1), 0)).toThrow(/leave a hole after its 3 blocks/);
    expect(fork.blockCount()).toBe(3);
  });

  test('numbers that are no blocks are the caller’s errors', () => {
    const fork = filled(disk(), 3);
    const page = new Uint8Array(SIZE);
    for (const [first, count] of [
      [-1, 1],
      [1.5, 1],
      [0, -1],
      [0, 0.5],
      [Number.NaN, 1],
      [2 ** 32, 1],
      [2 ** 32 - 1, 1],
    ] as const) {
      expect(() => fork.read(first, count, page, 0)).toThrow(RangeError);
      expect(() => fork.write(first, count, page, 0)).toThrow(RangeError);
    }
    expect(() => fork.extend(-1, 1, page, 0)).toThrow(RangeError);
    expect(() => fork.truncate(-1)).toThrow(RangeError);
    expect(() => fork.truncate(4)).toThrow(/cannot truncate to 4 blocks, it has 3/);
    expect(() => fork.read(0, 2, page, 0)).toThrow(RangeError); // no room in the page
    expect(() => fork.relation.fork(4 as 3)).toThrow(/not one of 0 to 3/);
  });
});

describe('truncating', () => {
  test('goes from the last segment backwards, so that a failure leaves a shorter fork without a gap', () => {
    for (let nth = 1; nth <= 3; nth++) {
      const vfs = disk();
      const fork = filled(vfs, 14);
      const fault = vfs.plant({ operation: 'truncate', nth, errno: 'EIO' });
      refused(() => fork.truncate(5), '58030', `segment ${4 - nth}`, 'EIO');
      expect(fault.hits).toBe(1);
      // What was known of the end is not believed any more.
      if (nth > 1) refused(() => fork.write(13, 1, blocks(13, 1), 0), 'XX001', 'cannot write beyond the end');
      const left = 14 - [0, 2, 6][nth - 1]!;
      expect(fork.blockCount()).toBe(left);
      expect(managerOf(vfs).open(LOCATOR).fork(0).blockCount()).toBe(left);
      same(readAll(fork, 0, left), blocks(0, left));
      fork.truncate(5);
      expect(fork.blockCount()).toBe(5);
      fork.extend(5, 4, blocks(5, 4), 0);
      same(readAll(fork, 0, 9), blocks(0, 9));
    }
  });

  test('to what it has does nothing', () => {
    const vfs = disk();
    const fork = filled(vfs, 8);
    fork.truncate(8);
    expect(vfs.calls('truncate')).toEqual([]);
    fork.truncate(4);
    expect(vfs.calls('truncate').map(({ path, position }) => [path, position])).toEqual([[`${PATH}.1`, 0]]);
  });
});

describe('read only', () => {
  test('no file is opened for writing, and every change is refused', () => {
    const vfs = disk();
    filled(vfs, 6);
    const modes: string[] = [];
    const open = vfs.open.bind(vfs);
    vfs.open = (path, mode) => {
      modes.push(mode);
      return open(path, mode);
    };
    const fork = managerOf(vfs, { readOnly: true }).open(LOCATOR).fork(0);
    same(readAll(fork, 0, 6), blocks(0, 6));
    for (const change of [
      () => fork.write(0, 1, blocks(9, 1), 0),
      () => fork.extend(6, 1, blocks(6, 1), 0),
      () => fork.zeroExtend(6, 1),
      () => fork.truncate(0),
      () => fork.unlink(),
      () => fork.relation.fork(1).create(),
      () => fork.relation.unlink(),
    ]) {
      refused(change, '25006', 'relation base/5/16384', 'it is opened read only');
    }
    expect(modes.every((mode) => mode === 'r')).toBe(true);
    same(readAll(fork, 0, 6), blocks(0, 6));
  });
});
