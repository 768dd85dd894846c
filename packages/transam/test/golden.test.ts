// pg_xact and pg_multixact of real servers of all six block sizes: what the commit log and the multixacts say of every
// row version of `churn`, without a hint bit, gives the rows that PostgreSQL saw.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { PG_CONTROL_PATH, readPgControl } from '@blockwright/control';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { HEAP_XMAX_IS_MULTI, HEAP_XMAX_LOCK_ONLY, HEAP_XMIN_FROZEN } from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, test } from 'vitest';
import { CommitLog, MultiXacts, Transactions, XID_ABORTED, XID_COMMITTED, XID_IN_PROGRESS } from '../src/index.ts';
import { codeOf } from './engine.ts';

interface Item {
  readonly block: number;
  readonly lp: number;
  readonly lp_flags: number;
  readonly t_xmin: string;
  readonly t_xmax: string;
  readonly t_infomask: number;
}

const ROOT = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

function lines<Row>(size: BlockSize, name: string): Row[] {
  const text = gunzipSync(readFileSync(`${ROOT}${size / 1024}k/expect/${name}`)).toString('utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

describe.each(BLOCK_SIZES)('written by a server with blocks of %i bytes', (size) => {
  const data = `${ROOT}${size / 1024}k/pgdata`;
  const vfs = new NodeVfs();
  const { checkpoint } = readPgControl(vfs.readFile(`${data}/${PG_CONTROL_PATH}`));
  const commitLog = new CommitLog({ vfs, directory: `${data}/pg_xact`, pageBytes: size, readOnly: true });
  const multixacts = new MultiXacts({
    vfs,
    directory: `${data}/pg_multixact`,
    pageBytes: size,
    nextMultiXact: checkpoint.nextMultiXact,
    nextMultiOffset: checkpoint.nextMultiOffset,
    oldestMultiXact: checkpoint.oldestMultiXact,
  });
  const transactions = Transactions.offline({ commitLog, multixacts });
  const items = lines<Item>(size, 'churn.items.jsonl.gz').filter((item) => item.lp_flags === 1);

  /** Whether a row version is seen by a snapshot taken after everything. */
  function isVisible(item: Item): boolean {
    const mask = item.t_infomask;
    const xmin = Number(item.t_xmin);
    const xmax = Number(item.t_xmax);
    if ((mask & HEAP_XMIN_FROZEN) !== HEAP_XMIN_FROZEN && !transactions.didCommit(xmin)) return false;
    if (xmax === 0 || (mask & HEAP_XMAX_LOCK_ONLY) !== 0) return true;
    const deleter = (mask & HEAP_XMAX_IS_MULTI) !== 0 ? multixacts.updateXid(xmax) : xmax;
    return deleter === 0 || !transactions.didCommit(deleter);
  }

  test('the versions that are visible are the rows that PostgreSQL saw', () => {
    const rows = lines<{ ctid: string }>(size, 'churn.rows.jsonl.gz').map(({ ctid }) => ctid);
    const visible = items.filter(isVisible).map(({ block, lp }) => `(${block},${lp})`);
    expect(visible.sort()).toEqual(rows.sort());
    expect(rows.length).toBeGreaterThan(1000);
  });

  test('aborted transactions and savepoints are told from committed ones', () => {
    const fates = new Map<number, number>();
    for (const item of items) fates.set(Number(item.t_xmin), commitLog.status(Number(item.t_xmin)));
    const counts = [XID_IN_PROGRESS, XID_COMMITTED, XID_ABORTED].map(
      (fate) => [...fates.values()].filter((one) => one === fate).length,
    );
    expect(counts[0]).toBe(0);
    expect(counts[1]).toBeGreaterThanOrEqual(4);
    expect(counts[2]).toBeGreaterThanOrEqual(2); // the ROLLBACK, and the ROLLBACK TO
    // No xid that a transaction has had is left in progress: the server was shut down.
    const { nextXid } = checkpoint;
    for (let xid = checkpoint.oldestXid; xid < nextXid; xid++) {
      expect([XID_COMMITTED, XID_ABORTED]).toContain(commitLog.status(xid));
    }
    expect(commitLog.status(nextXid)).toBe(XID_IN_PROGRESS);
  });

  test('a row locked by a transaction and updated in its savepoint has both as members', () => {
    // At some sizes pruning has removed the versions that had them; pg_multixact still knows.
    const multis = [1, 2].filter((multi) => multi < checkpoint.nextMultiXact);
    for (const { t_infomask, t_xmax } of items) {
      if ((t_infomask & HEAP_XMAX_IS_MULTI) !== 0) expect(multis).toContain(Number(t_xmax));
    }
    expect(multis).toHaveLength(checkpoint.nextMultiXact - 1);
    expect(multis.length).toBeGreaterThan(0);
    for (const multi of multis) {
      const members = multixacts.members(multi);
      const [locker, updater] = members as [{ xid: number }, { xid: number; status: string }];
      expect(members).toHaveLength(2);
      // A row that had to move to another page was locked until the new version was there.
      expect(['no key update', 'for no key update']).toContain(updater.status);
      expect(members[0]).toEqual({ xid: updater.xid - 1, status: 'for key share' });
      expect(multixacts.updateXid(multi)).toBe(updater.status === 'no key update' ? updater.xid : 0);
      expect(transactions.didCommit(locker.xid)).toBe(true);
      expect(transactions.didCommit(updater.xid)).toBe(true);
    }
  });

  test('a multixact that does not exist is an error', () => {
    codeOf(() => multixacts.members(0), 'XX001');
    expect(codeOf(() => multixacts.members(checkpoint.nextMultiXact), 'XX001').message).toContain('not been made yet');
    expect(codeOf(() => multixacts.members(0xffff_fff0), 'XX001').message).toContain('any more');
  });
});

describe('members over many pages', () => {
  /** Writes multixacts as PostgreSQL lays them out, with plain arithmetic, the first member at `start`. */
  function write(size: number, start: number, counts: readonly number[]): MultiXacts {
    const vfs = new MemoryVfs();
    vfs.recording = false;
    for (const name of ['/m', '/m/offsets', '/m/members']) vfs.mkdir(name);
    const put = (kind: string, page: number, at: number, bytes: Uint8Array): void => {
      const name = Math.floor(page / 32)
        .toString(16)
        .toUpperCase()
        .padStart(4, '0');
      const file = vfs.open(`/m/${kind}/${name}`, 'create');
      const whole = ((page % 32) + 1) * size;
      if (file.size() < whole) file.truncate(whole);
      file.write(bytes, 0, bytes.length, (page % 32) * size + at);
    };
    const perPage = Math.floor(size / 20) * 4;
    let offset = start;
    counts.forEach((count, i) => {
      const multi = i + 1;
      put('offsets', Math.floor((multi * 4) / size), (multi * 4) % size, new Uint8Array(Uint32Array.of(offset).buffer));
      for (let k = 0; k < count; k++) {
        const member = (offset + k) % 2 ** 32;
        const index = member % perPage;
        const group = Math.floor(index / 4) * 20;
        const page = Math.floor(member / perPage);
        put('members', page, group + (index % 4), Uint8Array.of(k % 6));
        const xid = member === 0 ? 0 : 1000 * multi + k;
        put('members', page, group + 4 + (index % 4) * 4, new Uint8Array(Uint32Array.of(xid).buffer));
      }
      offset = (offset + count) % 2 ** 32;
    });
    const next = counts.length + 1;
    put('offsets', Math.floor((next * 4) / size), (next * 4) % size, new Uint8Array(4)); // the next one has none yet
    return new MultiXacts({
      vfs,
      directory: '/m',
      pageBytes: size,
      nextMultiXact: next,
      nextMultiOffset: offset,
      oldestMultiXact: 1,
    });
  }

  test.each(BLOCK_SIZES)('of %i bytes', (size) => {
    const perPage = Math.floor(size / 20) * 4;
    const counts = Array.from({ length: Math.min(size / 4 + 5, 1500) }, (_, i) => 2 + (i % 5));
    for (const start of [1, perPage * 32 * 3 - 7, 2 ** 31 - 100, 2 ** 32 - 50]) {
      const multixacts = write(size, start, counts);
      let offset = start;
      counts.forEach((count, i) => {
        const xids = Array.from({ length: count }, (_, k) => 1000 * (i + 1) + k).filter(
          (_, k) => (offset + k) % 2 ** 32 !== 0,
        );
        // A multixact never begins at member 0.
        if (offset !== 0) expect(multixacts.members(i + 1).map(({ xid }) => xid)).toEqual(xids);
        offset = (offset + count) % 2 ** 32;
      });
    }
  });

  test('the last of all is followed by the first: 0 is left out', () => {
    const vfs = new MemoryVfs();
    for (const name of ['/m', '/m/offsets', '/m/members']) vfs.mkdir(name);
    const last = vfs.open('/m/offsets/7FFFF', 'create'); // 2^32 / 256 / 32 segments at 1 kB
    last.truncate(32 * 1024);
    last.write(Uint8Array.of(8, 0, 0, 0), 0, 4, 32 * 1024 - 4);
    const first = vfs.open('/m/offsets/0000', 'create');
    first.truncate(1024);
    first.write(Uint8Array.of(10, 0, 0, 0), 0, 4, 4);
    const members = vfs.open('/m/members/0000', 'create');
    members.truncate(1024);
    members.write(Uint8Array.of(1, 5, 0, 0, 77, 0, 0, 0, 78, 0, 0, 0), 0, 12, 40);
    const options = { vfs, directory: '/m', pageBytes: 1024, nextMultiOffset: 12, oldestMultiXact: 0xffff_fff0 };
    for (const nextMultiXact of [1, 2]) {
      const multixacts = new MultiXacts({ ...options, nextMultiOffset: 8 + nextMultiXact * 2, nextMultiXact });
      expect(multixacts.members(0xffff_ffff)).toEqual([
        { xid: 77, status: 'for share' },
        { xid: 78, status: 'update' },
      ]);
    }
  });

  test('a missing segment is an error that names it', () => {
    const vfs = new MemoryVfs();
    for (const name of ['/m', '/m/offsets', '/m/members']) vfs.mkdir(name);
    const multixacts = new MultiXacts({
      vfs,
      directory: '/m',
      pageBytes: 8192,
      nextMultiXact: 9,
      nextMultiOffset: 9,
      oldestMultiXact: 1,
    });
    expect(codeOf(() => multixacts.members(1), '58P01').message).toContain('/m/offsets/0000');
  });
});
