// The commit log against a Map, at every block size; its pages against the files of PostgreSQL (golden.test.ts has those).
import { BLOCK_SIZES } from '@blockwright/geometry';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CommitLog, XID_ABORTED, XID_COMMITTED, XID_IN_PROGRESS, XID_SUB_COMMITTED } from '../src/index.ts';
import { codeOf } from './engine.ts';
import { loggedEngine } from './wal.ts';

function fresh(pageBytes: number): { vfs: MemoryVfs; log: CommitLog } {
  const vfs = new MemoryVfs();
  vfs.mkdir('/xact');
  return { vfs, log: new CommitLog({ vfs, directory: '/xact', pageBytes }) };
}

/** Makes every page that lies between two xids. */
function fill(log: CommitLog, pageBytes: number, from: number, to: number): void {
  const perPage = pageBytes * 4;
  for (let page = Math.floor(from / perPage); page <= Math.floor(to / perPage); page++) {
    log.extendTo(Math.max(3, page * perPage));
  }
}

describe.each(BLOCK_SIZES)('pages of %i bytes', (pageBytes) => {
  const perPage = pageBytes * 4;
  const perSegment = perPage * 32;

  test('agree with a Map, through flushes, evictions and reopening', () => {
    const pages = 3;
    const starts = [0, perSegment - perPage, 0x8000_0000 - perPage, 2 ** 32 - perPage * pages];
    fc.assert(
      fc.property(
        fc.constantFrom(...starts),
        fc.array(fc.tuple(fc.nat(perPage * pages - 1), fc.integer({ min: 0, max: 3 }), fc.nat(9)), {
          maxLength: 60,
          size: 'max',
        }),
        (start, writes) => {
          const { vfs, log: first } = fresh(pageBytes);
          let log = first;
          fill(log, pageBytes, start, start + perPage * pages - 1);
          const model = new Map<number, number>();
          for (const [index, status, how] of writes) {
            const xid = start + index;
            if (xid < 3) continue;
            if (how === 0) {
              log.flush();
              log.close();
              log = new CommitLog({ vfs, directory: '/xact', pageBytes });
            }
            const children = [1, 2]
              .map((step) => xid + step * how * 500)
              .filter((x) => x < start + perPage * pages && x > xid);
            log.setTree(xid, children, status, 0);
            for (const one of [xid, ...children]) model.set(one, status);
          }
          const reopened = new CommitLog({ vfs, directory: '/xact', pageBytes, readOnly: true });
          log.flush();
          for (const [near] of model) {
            for (let xid = Math.max(3, start, near - 5); xid < Math.min(near + 5, start + perPage * pages); xid++) {
              const expected = model.get(xid) ?? XID_IN_PROGRESS;
              if (log.status(xid) !== expected || reopened.status(xid) !== expected)
                expect.fail(`${xid} is ${expected}`);
            }
          }
          log.close();
          reopened.close();
        },
      ),
      { numRuns: 25 },
    );
  });

  test('permanent xids need no file', () => {
    const { log } = fresh(pageBytes);
    expect([0, 1, 2].map((xid) => log.status(xid))).toEqual([XID_ABORTED, XID_COMMITTED, XID_COMMITTED]);
  });

  test('lie in files of 32 pages, named in hexadecimal', () => {
    const { vfs, log } = fresh(pageBytes);
    log.extendTo(3);
    log.extendTo(perSegment);
    log.extendTo(2 ** 32 - perPage);
    log.set(perSegment + 5, XID_COMMITTED, 0);
    log.flush();
    const last = (2 ** 32 / perSegment - 1).toString(16).toUpperCase().padStart(4, '0');
    expect(vfs.readdir('/xact')).toEqual(['0000', '0001', last].sort());
    expect(vfs.readFile('/xact/0001')).toHaveLength(pageBytes);
    expect(vfs.readFile(`/xact/${last}`)).toHaveLength(pageBytes * 32);
    expect(vfs.readFile('/xact/0001').subarray(0, 3)).toEqual(Uint8Array.of(0, 0b00_00_01_00, 0));
  });

  test('a missing segment is an error that names it; so is one that is too short', () => {
    const { vfs, log } = fresh(pageBytes);
    log.extendTo(3);
    log.flush();
    const xid = perSegment * 2 + 7;
    const missing = codeOf(() => log.status(xid), '58P01');
    expect(missing.message).toContain('"/xact/0002"');
    expect(missing.detail).toContain(`${perSegment * 2} to ${perSegment * 2 + perPage - 1}`);
    const short = codeOf(() => log.status(perPage * 3), 'XX001');
    expect(short.message).toContain('"/xact/0000"');
    expect(short.message).toContain('page 3');
    log.recovering = true;
    expect([log.status(xid), log.status(perPage * 3)]).toEqual([XID_IN_PROGRESS, XID_IN_PROGRESS]);
    log.recovering = false;
    expect(vfs.readdir('/xact')).toEqual(['0000']);
  });

  test('a full disk leaves all as it was', () => {
    const { vfs, log } = fresh(pageBytes);
    log.extendTo(3);
    log.set(3, XID_COMMITTED, 0);
    log.flush();
    vfs.freeBytes = 512;
    codeOf(() => log.extendTo(perPage), '53100');
    expect(vfs.readFile('/xact/0000')).toHaveLength(pageBytes);
    expect(vfs.freeBytes).toBe(512);
    codeOf(() => log.status(perPage), 'XX001');
    vfs.freeBytes = Number.POSITIVE_INFINITY;
    log.extendTo(perPage);
    expect([log.status(3), log.status(perPage)]).toEqual([XID_COMMITTED, XID_IN_PROGRESS]);
  });

  test('is cut to zero from the next xid on', () => {
    const next = perPage + 6;
    const { log } = fresh(pageBytes);
    log.extendTo(3);
    log.extendTo(perPage);
    for (let xid = perPage; xid < perPage + 20; xid++) log.set(xid, XID_ABORTED, 0);
    log.set(perPage * 2 - 1, XID_COMMITTED, 0);
    log.trim(next);
    for (let xid = perPage; xid < perPage + 20; xid++) {
      expect(log.status(xid)).toBe(xid < next ? XID_ABORTED : XID_IN_PROGRESS);
    }
    expect(log.status(perPage * 2 - 1)).toBe(XID_IN_PROGRESS);
    log.trim(perPage * 2); // the first of a page that is not there yet: nothing to do
  });

  describe('truncation', () => {
    function threeSegments(): { vfs: MemoryVfs; log: CommitLog } {
      const made = fresh(pageBytes);
      for (const segment of [0, 1, 2]) {
        for (let page = 0; page < 32; page += 31) made.log.extendTo(Math.max(3, segment * perSegment + page * perPage));
      }
      made.log.flush();
      return made;
    }

    test('removes the segments that are wholly older', () => {
      const { vfs, log } = threeSegments();
      expect(log.truncate(perSegment - 1)).toBe(0);
      expect(log.truncate(perSegment + 1)).toBe(1);
      expect(vfs.readdir('/xact')).toEqual(['0001', '0002']);
      codeOf(() => log.status(perSegment - perPage), '58P01');
      expect(log.status(perSegment)).toBe(XID_IN_PROGRESS);
      expect(log.truncate(3 * perSegment - 1)).toBe(0); // newer than the newest
      expect(log.truncate(3 * perSegment - perPage)).toBe(1);
    });

    test('by a horizon in the future removes nothing', () => {
      const { vfs, log } = threeSegments();
      for (const horizon of [3 * perSegment, 0x7000_0000, 0x8000_0000 + 3 * perSegment, 0xffff_ffff, 0, 1, 2]) {
        log.truncate(horizon);
      }
      expect(vfs.readdir('/xact')).toEqual(['0000', '0001', '0002']);
      // One that does not know its newest xid removes nothing at all.
      expect(new CommitLog({ vfs, directory: '/xact', pageBytes }).truncate(perSegment * 2)).toBe(0);
    });

    test('works across the wraparound, and leaves other files alone', () => {
      const { vfs, log } = fresh(pageBytes);
      const lastSegment = 2 ** 32 - perSegment;
      for (const xid of [lastSegment - perSegment, lastSegment, 2 ** 32 - perPage, 3, perPage]) log.extendTo(xid);
      vfs.open('/xact/junk', 'create').close();
      vfs.open('/xact/00000', 'create').close();
      log.flush();
      expect(log.truncate(2 ** 32 - 5)).toBe(1);
      expect(log.truncate(3)).toBe(1);
      expect(vfs.readdir('/xact')).toEqual(['0000', '00000', 'junk']);
    });
  });

  test('read only, not a byte is written', () => {
    const { vfs, log } = fresh(pageBytes);
    log.extendTo(3);
    log.set(3, XID_SUB_COMMITTED, 0);
    log.flush();
    vfs.journal.length = 0;
    const reader = new CommitLog({ vfs, directory: '/xact', pageBytes, readOnly: true });
    expect(reader.status(3)).toBe(XID_SUB_COMMITTED);
    reader.trim(3);
    reader.trim(4);
    reader.flush();
    for (const write of [
      () => reader.set(3, XID_ABORTED, 0),
      () => reader.extendTo(perPage),
      () => reader.truncate(3),
    ]) {
      codeOf(write, '25006');
    }
    reader.close();
    expect(
      vfs.journal.map(({ operation }) => operation).filter((name) => !['open', 'stat', 'read', 'size'].includes(name)),
    ).toEqual([]);
  });
});

test('more pages than the memory takes', () => {
  const pageBytes = 32768;
  const perPage = pageBytes * 4;
  const { vfs, log } = fresh(pageBytes);
  for (let page = 0; page < 40; page++) {
    log.extendTo(Math.max(3, page * perPage));
    log.set(page * perPage + 17, XID_COMMITTED, 0);
  }
  for (let page = 0; page < 40; page++) {
    expect(log.status(page * perPage + 17)).toBe(XID_COMMITTED);
    log.set(page * perPage + 18, XID_ABORTED, 0);
  }
  // A page that cannot be written stays in memory.
  const fault = vfs.plant({ operation: 'write', path: '/xact', errno: 'EIO', times: Number.POSITIVE_INFINITY });
  for (let page = 0; page < 40; page++) log.status(page * perPage + 18);
  expect(fault.hits).toBeGreaterThan(0);
  fault.remove();
  log.flush();
  const reopened = new CommitLog({ vfs, directory: '/xact', pageBytes });
  for (let page = 0; page < 40; page++) {
    expect([17, 18, 19].map((index) => reopened.status(page * perPage + index))).toEqual([
      XID_COMMITTED,
      XID_ABORTED,
      XID_IN_PROGRESS,
    ]);
  }
});

test('a page that an extension without success has put out of memory is read again', () => {
  const pageBytes = 32768;
  const perPage = pageBytes * 4;
  const { vfs, log } = fresh(pageBytes);
  for (let page = 0; page < 32; page++) log.extendTo(Math.max(3, page * perPage));
  log.flush();
  for (let page = 1; page < 32; page++) log.set(page * perPage, XID_ABORTED, 0);
  expect(log.status(3)).toBe(XID_IN_PROGRESS); // the last one asked for, and the only one that need not be written to go
  const fault = vfs.plant({ operation: 'write', path: '/xact/0001', errno: 'ENOSPC' });
  codeOf(() => log.extendTo(32 * perPage), '53100');
  expect(fault.hits).toBe(1);
  log.set(3, XID_COMMITTED, 0);
  log.flush();
  expect(new CommitLog({ vfs, directory: '/xact', pageBytes }).status(3)).toBe(XID_COMMITTED);
});

describe('flushing', () => {
  test('syncs the files that were written, and the directory when names are new', () => {
    const { vfs, log } = fresh(1024);
    log.extendTo(3);
    log.extendTo(4096 * 32);
    vfs.journal.length = 0;
    log.flush();
    const calls = vfs.journal.filter(({ operation }) => /^(write|datasync|syncDirectory)$/.test(operation));
    expect(calls.map(({ operation, path }) => `${operation} ${path}`)).toEqual([
      'write /xact/0000',
      'write /xact/0001',
      'datasync /xact/0000',
      'datasync /xact/0001',
      'syncDirectory /xact',
    ]);
    vfs.journal.length = 0;
    log.flush();
    expect(vfs.journal).toEqual([]);
  });

  test('that fails to write may be tried again, that fails to sync never', () => {
    const { vfs, log } = fresh(1024);
    log.extendTo(3);
    vfs.plant({ operation: 'write', errno: 'ENOSPC' });
    codeOf(() => log.flush(), '53100');
    log.flush();
    log.set(3, XID_COMMITTED, 0);
    vfs.plant({ operation: 'datasync', errno: 'EIO' });
    codeOf(() => log.flush(), '58030');
    codeOf(() => log.flush(), '58030');
    codeOf(() => log.extendTo(4096), '58030');
    const { vfs: disk, wal, commitLog, transactions } = loggedEngine();
    transactions.begin().writeXid();
    disk.plant({ operation: 'datasync', path: '/xact', errno: 'EIO' });
    codeOf(() => commitLog.flush(), '58030');
    expect(wal.failed).not.toBeUndefined();
  });
});

test('a page has a size that a block can have', () => {
  for (const pageBytes of [0, 512, 1000, 8191, 65536, Number.NaN, 1024.5]) {
    expect(() => new CommitLog({ vfs: new MemoryVfs(), directory: '/xact', pageBytes })).toThrow(RangeError);
  }
});
