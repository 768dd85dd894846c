// Group commit on a disk whose syncs end when the test says so.
import type { MemoryVfs } from '@blockwright/vfs/memory';
import type { WalWriter } from '@blockwright/wal';
import { describe, expect, test } from 'vitest';
import { insert, newDirectory, newWriter, recordOfLength, SEGMENT } from './support.ts';

interface Sync {
  readonly path: string;
  succeed(): void;
  fail(cause: unknown): void;
}

/** A directory whose asynchronous syncs wait in `syncs`. */
function controlled(): { vfs: MemoryVfs; wal: WalWriter; syncs: Sync[] } {
  const vfs = newDirectory();
  const syncs: Sync[] = [];
  const open = vfs.open.bind(vfs);
  vfs.open = (path, mode) => {
    const file = open(path, mode);
    file.datasyncAsync = () => new Promise<void>((succeed, fail) => syncs.push({ path, succeed, fail }));
    return file;
  };
  return { vfs, wal: newWriter(vfs), syncs };
}

/** Lets all that is due happen. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Commits, and notes how that ended. */
function commit(wal: WalWriter, log: string[], name: string): void {
  wal.flushAsync(insert(wal, recordOfLength(100))).then(
    () => log.push(name),
    (error: unknown) => log.push(`${name} ${(error as { code?: string }).code ?? (error as Error).name}`),
  );
}

describe('flushAsync', () => {
  test('one sync covers all who came before it, the next those who came meanwhile', async () => {
    const { wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    commit(wal, log, 'b');
    await settle();
    expect(syncs).toHaveLength(1);
    commit(wal, log, 'c');
    commit(wal, log, 'd');
    await settle();
    expect([syncs.length, log]).toEqual([1, []]);
    const before = wal.flushedUpTo;
    syncs[0]?.succeed();
    await settle();
    expect(log).toEqual(['a', 'b']);
    expect(wal.flushedUpTo).toBeGreaterThan(before);
    expect(wal.flushedUpTo).toBeLessThan(wal.writtenUpTo);
    expect(syncs).toHaveLength(2);
    syncs[1]?.succeed();
    await settle();
    expect(log).toEqual(['a', 'b', 'c', 'd']);
    expect(wal.flushedUpTo).toBe(wal.insertedUpTo);
    expect(syncs).toHaveLength(2);
    expect(wal.stats.syncs).toBe(2);
  });

  test('those whom one sync lets go join the next, all of them', async () => {
    const { wal, syncs } = controlled();
    let commits = 0;
    const client = async (rounds: number) => {
      for (let i = 0; i < rounds; i++) {
        await wal.flushAsync(insert(wal, recordOfLength(100)));
        commits++;
      }
    };
    const clients = Promise.all(Array.from({ length: 8 }, () => client(5)));
    for (let round = 1; round <= 5; round++) {
      await settle();
      expect(syncs).toHaveLength(round);
      syncs.at(-1)?.succeed();
    }
    await clients;
    expect(commits).toBe(40);
    expect(wal.stats.syncs).toBe(5);
  });

  test('what is durable already waits for nothing', async () => {
    const { wal, syncs } = controlled();
    const end = insert(wal, recordOfLength(100));
    wal.flush(end);
    await wal.flushAsync(end);
    await wal.flushAsync(0);
    expect(syncs).toHaveLength(0);
  });

  test('a flush meanwhile lets go those whom it covers', async () => {
    const { wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    await settle();
    commit(wal, log, 'b');
    wal.flush(wal.insertedUpTo);
    await settle();
    expect(log).toEqual(['a', 'b']);
    syncs[0]?.succeed();
    await settle();
    expect(syncs).toHaveLength(1);
  });

  test('is written when it returns: a crash of the process loses nothing of it', () => {
    const { wal } = controlled();
    void wal.flushAsync(insert(wal, recordOfLength(100))).catch(() => {});
    expect(wal.writtenUpTo).toBe(wal.insertedUpTo);
    wal.close();
  });

  test('a write that fails rejects only that one, which can be taken back', async () => {
    const { vfs, wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    const mark = wal.mark();
    vfs.plant({ operation: 'write', errno: 'ENOSPC' });
    const end = insert(wal, recordOfLength(100));
    await expect(wal.flushAsync(end)).rejects.toMatchObject({ code: '53100' });
    expect(wal.rewind(mark)).toBe(true);
    commit(wal, log, 'c');
    await settle();
    syncs[0]?.succeed();
    await settle();
    syncs[1]?.succeed();
    await settle();
    expect(log).toEqual(['a', 'c']);
  });

  test('a sync that fails turns everybody away, those who came meanwhile too, and is not tried again', async () => {
    const { wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    await settle();
    commit(wal, log, 'b');
    await settle();
    const { flushedUpTo } = wal;
    const cause = new Error('EIO');
    syncs[0]?.fail(cause);
    await settle();
    expect(log.sort()).toEqual(['a 58030', 'b 58030']);
    expect(wal.failed).toBe(cause);
    expect(wal.flushedUpTo).toBe(flushedUpTo);
    expect(syncs).toHaveLength(1);
    await expect(wal.flushAsync(wal.insertedUpTo)).rejects.toMatchObject({ code: '58030', cause });
    expect(() => wal.flush(wal.insertedUpTo)).toThrow(expect.objectContaining({ code: '58030' }));
  });

  test('after another sync failed, the success of the one under way means nothing', async () => {
    const { vfs, wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    await settle();
    const { flushedUpTo } = wal;
    insert(wal, recordOfLength(100));
    vfs.plant({ operation: 'datasync', errno: 'EIO' });
    expect(() => wal.flush(wal.insertedUpTo)).toThrow(expect.objectContaining({ code: '58030' }));
    await settle();
    expect(log).toEqual(['a 58030']);
    syncs[0]?.succeed();
    await settle();
    expect(wal.flushedUpTo).toBe(flushedUpTo);
  });

  test('closing lets the sync under way end, and turns the others away', async () => {
    const { wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    await settle();
    commit(wal, log, 'b');
    wal.close();
    await settle();
    expect(log).toEqual([]);
    syncs[0]?.succeed();
    await settle();
    expect(log).toEqual(['a', 'b TypeError']);
    expect(syncs).toHaveLength(1);
  });

  test('closing before the sync began turns all away', async () => {
    const { wal, syncs } = controlled();
    const log: string[] = [];
    commit(wal, log, 'a');
    wal.close();
    await settle();
    expect([log, syncs.length]).toEqual([['a TypeError'], 0]);
  });

  test('over the end of a segment: each file is synced before anybody is let go', async () => {
    const { vfs, wal, syncs } = controlled();
    const log: string[] = [];
    while (wal.insertedUpTo < 2 * SEGMENT - 400) insert(wal, recordOfLength(200));
    commit(wal, log, 'a');
    await settle();
    vfs.recording = true;
    for (const name of ['b', 'c', 'd', 'e', 'f']) commit(wal, log, name);
    expect(wal.insertedUpTo).toBeGreaterThan(2 * SEGMENT);
    expect(vfs.calls('datasync', '000000010000000000000001')).toHaveLength(1);
    syncs[0]?.succeed();
    await settle();
    expect(log).toEqual(['a']);
    expect(syncs[1]?.path).toMatch(/000000010000000000000002$/);
    syncs[1]?.succeed();
    await settle();
    expect(log).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  test('with syncs off it resolves all the same', async () => {
    const vfs = newDirectory();
    const wal = newWriter(vfs, { syncMethod: 'off' });
    await wal.flushAsync(insert(wal, recordOfLength(100)));
    expect(wal.flushedUpTo).toBe(wal.insertedUpTo);
    expect(wal.stats.syncs).toBe(0);
  });
});
