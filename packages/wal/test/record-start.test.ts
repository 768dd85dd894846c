// Where the next record begins is told before it is inserted: in the middle of a page, at the start of one, of a segment.

import { MemoryVfs } from '@blockwright/vfs/memory';
import { createWal, WalWriter, walRecordStart } from '@blockwright/wal';
import { expect, test } from 'vitest';

test('the start of every record, page and segment boundaries among them', () => {
  const vfs = new MemoryVfs();
  const segmentSize = 1 << 20;
  const start = createWal({ vfs, directory: '/wal', segmentSize });
  const wal = new WalWriter({
    vfs,
    directory: '/wal',
    segmentSize,
    systemIdentifier: '1',
    incarnation: 1,
    start,
    previous: 0,
  });
  const atBoundary = { page: 0, segment: 0 };
  const insert = (bytes: number): void => {
    const before = wal.insertedUpTo;
    wal.reserve(bytes + 64);
    wal.record.begin(200, 0);
    wal.record.bytes(new Uint8Array(bytes), 0, bytes);
    wal.insert(0);
    expect(walRecordStart(before, segmentSize)).toBe(wal.lastStart);
    if (before % segmentSize === 0) atBoundary.segment++;
    else if (before % 0x2000 === 0) atBoundary.page++;
  };
  insert(100);
  while (wal.insertedUpTo < 3 * segmentSize) {
    // A record of this length ends where the page does, unless so little is left that it must cross.
    const left = 0x2000 - (wal.insertedUpTo % 0x2000);
    insert(left > 64 && left < 0x2000 ? left - 24 - (left - 26 > 255 ? 5 : 2) : 1000);
  }
  expect(atBoundary.page).toBeGreaterThan(100);
  expect(atBoundary.segment).toBeGreaterThan(0);
});
