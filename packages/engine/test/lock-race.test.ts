// Three openers and a lock whose process is gone: in whatever order their calls come, one at most has the directory.
import { hostname } from 'node:os';
import { isStorageError } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect, it } from 'vitest';
import { DirectoryLock } from '../src/lock.ts';

/** Of a process that is gone. */
const STALE = new TextEncoder().encode(`999999999\n${hostname()}\n1\n`);

/** The disk as one process sees it, which lets others go first before some of its calls. */
function seenBy(disk: Vfs, before: (call: number) => void): Vfs {
  let calls = 0;
  return new Proxy(disk, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        before(calls++);
        return Reflect.apply(member, target, args);
      };
    },
  });
}

/** @returns the lock, when it could be taken. */
function take(vfs: Vfs): DirectoryLock | undefined {
  try {
    return DirectoryLock.take(vfs, '/data', '/data');
  } catch (error) {
    if (isStorageError(error) && error.code === 'F0001') return undefined;
    throw error;
  }
}

it('a process that went in the middle of taking over stands in nobody’s way', () => {
  const disk = new MemoryVfs();
  disk.mkdir('/data');
  for (const name of ['', '.claim', '.claim.claim']) {
    disk.open(`/data/blockwright.pid${name}`, 'create').write(STALE, 0, STALE.length, 0);
  }
  const lock = take(disk);
  expect(disk.readdir('/data')).toEqual(['blockwright.pid']);
  expect(take(seenBy(disk, () => {}))).toBeUndefined();
  lock?.release();
  expect(disk.readdir('/data')).toEqual([]);
});

it.each([false, true])('one at most has it; the second one gives it up at once: %s', (isShort) => {
  let ends = 0;
  for (let second = 0; second < 14; second++) {
    for (let third = second; third < 14; third++) {
      const disk = new MemoryVfs();
      disk.mkdir('/data');
      const file = disk.open('/data/blockwright.pid', 'create');
      file.write(STALE, 0, STALE.length, 0);
      const held: DirectoryLock[] = [];
      const other = (): void => {
        const lock = take(seenBy(disk, () => {}));
        if (lock === undefined) return;
        if (isShort && held.length === 0) lock.release();
        else held.push(lock);
      };
      const first = take(
        seenBy(disk, (call) => {
          if (call === second) other();
          if (call === third) other();
        }),
      );
      if (first !== undefined) held.push(first);
      expect(held.length, `second before call ${second}, third before ${third}`).toBeLessThanOrEqual(1);
      ends += held.length;
      for (const lock of held) {
        expect(disk.exists('/data/blockwright.pid')).toBe(true);
        lock.release();
      }
      expect(disk.readdir('/data').filter((name) => name !== 'blockwright.pid')).toEqual([]);
    }
  }
  expect(ends).toBeGreaterThan(50);
});
