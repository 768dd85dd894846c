// The cap on descriptors: files stay usable, nothing is created or confused when one is opened again, and no error of a
// sync is lost on the way.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errnoOf, NodeVfs, readFully, type VfsFile, writeFully } from '@blockwright/vfs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-nodevfs-'));
});
afterAll(() => rmSync(root, { recursive: true }));
let serial = 0;
function fresh(): string {
  const directory = join(root, String(serial++));
  mkdirSync(directory);
  return directory;
}
const bytes = (...values: number[]): Uint8Array => Uint8Array.of(...values);
function content(file: VfsFile): number[] {
  const all = new Uint8Array(file.size());
  readFully(file, all, 0, all.length, 0);
  return [...all];
}
const onLinux = process.platform === 'linux';

test('options are checked', () => {
  expect(() => new NodeVfs({ maxOpenFiles: 0 })).toThrow(RangeError);
  expect(() => new NodeVfs({ maxOpenFiles: 1.5 })).toThrow(RangeError);
  expect(() => new NodeVfs({ maxOpenfiles: 3 } as object)).toThrow(/did you mean "maxOpenFiles"/);
});

test('data is for its owner alone', () => {
  if (process.platform === 'win32') return;
  const directory = fresh();
  const vfs = new NodeVfs();
  vfs.mkdir(join(directory, 'd'));
  vfs.open(join(directory, 'f'), 'create').close();
  expect(statSync(join(directory, 'd')).mode & 0o777).toBe(0o700);
  expect(statSync(join(directory, 'f')).mode & 0o777).toBe(0o600);
});

test('errors name the path and say what to do', () => {
  const vfs = new NodeVfs();
  const path = join(fresh(), 'no', 'f');
  expect(() => vfs.open(path, 'r')).toThrow(
    expect.objectContaining({
      code: '58P01',
      message: `could not open file "${path}": no such file or directory (ENOENT)`,
    }),
  );
  if (!onLinux) return;
  const full = vfs.open('/dev/full', 'r+');
  expect(() => full.write(bytes(1), 0, 1, 0)).toThrow(
    expect.objectContaining({
      code: '53100',
      message: 'could not write file "/dev/full": no space left on device (ENOSPC)',
      hint: 'Free some disk space.',
    }),
  );
  full.close();
  expect(() => vfs.syncDirectory('/proc')).not.toThrow(); // EINVAL: it cannot be synced, and need not
});

test.skipIf(process.platform === 'win32')('a pipe is refused at once: to open it would wait for its other end', () => {
  const path = join(fresh(), 'pipe');
  execFileSync('mkfifo', [path]);
  const vfs = new NodeVfs();
  const refusal = expect.objectContaining({
    code: '58030',
    message: `could not open file "${path}": it is a pipe, socket or device`,
    hint: expect.stringContaining('regular file'),
  });
  expect(() => vfs.open(path, 'r')).toThrow(refusal);
  expect(() => vfs.readFile(path)).toThrow(refusal);
  expect(() => vfs.open('/dev/null', 'r')).toThrow(expect.objectContaining({ code: '58030' }));
  expect(vfs.openDescriptors).toBe(0);
});

describe('the cap on descriptors', () => {
  test('many files behave as if each had its own', () => {
    // Operations on 6 files with 1 to 4 descriptors, against 6 arrays of bytes.
    const operation = fc.record({
      file: fc.nat(5),
      do: fc.constantFrom('write', 'read', 'truncate', 'sync', 'size', 'reopen'),
      position: fc.nat(20),
      value: fc.integer({ min: 1, max: 255 }),
    });
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        (operations, maxOpenFiles) => {
          const directory = fresh();
          const vfs = new NodeVfs({ maxOpenFiles });
          const path = (i: number) => join(directory, `f${i}`);
          const files = Array.from({ length: 6 }, (_, i) => vfs.open(path(i), i < 3 ? 'create' : 'createExclusive'));
          const models: number[][] = files.map(() => []);
          for (const { file: i, do: what, position, value } of operations) {
            const file = files[i] as VfsFile;
            const model = models[i] as number[];
            if (what === 'write') {
              while (model.length < position) model.push(0);
              model[position] = value;
              writeFully(file, bytes(value), 0, 1, position);
            } else if (what === 'truncate') {
              while (model.length < position) model.push(0);
              model.length = position;
              file.truncate(position);
            } else if (what === 'sync') {
              if (value & 1) file.sync();
              else file.datasync();
            } else if (what === 'size') {
              expect(file.size()).toBe(model.length);
            } else if (what === 'reopen') {
              file.close();
              files[i] = vfs.open(path(i), 'r+');
            }
            expect(content(files[i] as VfsFile)).toEqual(model);
            expect(vfs.openDescriptors).toBeLessThanOrEqual(maxOpenFiles);
          }
          models.forEach((model, i) => {
            expect([...readFileSync(path(i))]).toEqual(model);
          });
          for (const file of files) file.close();
          expect(vfs.openDescriptors).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('a file that is being synced off the thread keeps its descriptor, closed or not', async () => {
    const directory = fresh();
    const vfs = new NodeVfs({ maxOpenFiles: 1 });
    const file = vfs.open(join(directory, 'a'), 'create');
    writeFully(file, bytes(1), 0, 1, 0);
    const syncs = [file.datasyncAsync(), file.datasyncAsync()];
    const other = vfs.open(join(directory, 'b'), 'create');
    expect(vfs.openDescriptors).toBe(2); // one more than the cap, while it lasts
    writeFully(file, bytes(2), 0, 1, 1); // and it can be used
    file.close();
    expect(() => file.size()).toThrow(TypeError);
    expect(vfs.openDescriptors).toBe(2);
    await Promise.all(syncs);
    expect(vfs.openDescriptors).toBe(1);
    await expect(file.datasyncAsync()).rejects.toThrow(TypeError);
    writeFully(other, bytes(3), 0, 1, 0);
    await other.datasyncAsync();
    vfs.open(join(directory, 'c'), 'create');
    expect(vfs.openDescriptors).toBe(1); // the other one had its own to give again
    expect([...readFileSync(join(directory, 'a'))]).toEqual([1, 2]);
  });

  test.runIf(onLinux)('a sync that fails off the thread is final too', async () => {
    const file = new NodeVfs().open('/dev/null', 'r+');
    await expect(file.datasyncAsync()).rejects.toThrow(
      expect.objectContaining({ code: '58030', message: expect.stringContaining('/dev/null') }),
    );
    expect(() => file.sync()).toThrow(/EINVAL/);
    await expect(file.datasyncAsync()).rejects.toThrow(/EINVAL/);
  });

  test('the file used least recently gives its descriptor up', () => {
    const directory = fresh();
    const vfs = new NodeVfs({ maxOpenFiles: 2 });
    const [a, b] = ['a', 'b'].map((name) => vfs.open(join(directory, name), 'create')) as [VfsFile, VfsFile];
    a.size();
    vfs.open(join(directory, 'c'), 'create'); // b is the older one
    rmSync(join(directory, 'a'));
    rmSync(join(directory, 'b'));
    expect(a.size()).toBe(0); // through the descriptor it kept
    expect(() => b.size()).toThrow(expect.objectContaining({ code: '58P01' }));
    expect(readdirSync(directory)).toEqual(['c']); // opening b again did not create it
  });

  test('files with unsynced writes keep theirs while others have one to give', () => {
    const directory = fresh();
    const vfs = new NodeVfs({ maxOpenFiles: 2 });
    const dirty = vfs.open(join(directory, 'dirty'), 'create');
    writeFully(dirty, bytes(1), 0, 1, 0);
    for (let i = 0; i < 5; i++) vfs.open(join(directory, `f${i}`), 'create');
    rmSync(join(directory, 'dirty'));
    expect(content(dirty)).toEqual([1]); // never closed
    dirty.sync();
    vfs.open(join(directory, 'g'), 'create');
    vfs.open(join(directory, 'h'), 'create');
    expect(() => dirty.size()).toThrow(expect.objectContaining({ code: '58P01' })); // clean: closed like any other
  });

  test('a file that took the name is not taken for the file', () => {
    const directory = fresh();
    const vfs = new NodeVfs({ maxOpenFiles: 1 });
    const a = vfs.open(join(directory, 'a'), 'create');
    const other = vfs.open(join(directory, 'b'), 'create');
    writeFully(other, bytes(9), 0, 1, 0);
    vfs.rename(join(directory, 'b'), join(directory, 'a'));
    expect(() => a.read(new Uint8Array(1), 0, 1, 0)).toThrow(/another file has its name now/);
    expect(() => a.write(bytes(1), 0, 1, 0)).toThrow(/another file has its name now/);
    expect([...readFileSync(join(directory, 'a'))]).toEqual([9]);
  });

  test('a file opened exclusively is not created a second time', () => {
    const directory = fresh();
    const vfs = new NodeVfs({ maxOpenFiles: 1 });
    const file = vfs.open(join(directory, 'a'), 'createExclusive');
    writeFully(file, bytes(1, 2), 0, 2, 0);
    vfs.open(join(directory, 'b'), 'create');
    expect(content(file)).toEqual([1, 2]);
  });

  test.runIf(onLinux)('a sync that fails when a descriptor is given up is reported by the file itself', () => {
    // Linux cannot sync /dev/null and says so: EINVAL.
    const directory = fresh();
    const vfs = new NodeVfs({ maxOpenFiles: 1 });
    const file = vfs.open('/dev/null', 'r+');
    writeFully(file, bytes(1), 0, 1, 0);
    const innocent = vfs.open(join(directory, 'a'), 'create');
    writeFully(innocent, bytes(1), 0, 1, 0);
    innocent.sync();
    expect(() => file.sync()).toThrow(
      expect.objectContaining({ code: '58030', message: expect.stringContaining('/dev/null') }),
    );
    expect(() => file.sync()).toThrow(/EINVAL/); // and for good: a second sync would prove nothing
    expect(() => file.datasync()).toThrow(/EINVAL/);
  });

  test.runIf(onLinux)('a sync that failed is not tried again', () => {
    const vfs = new NodeVfs();
    const file = vfs.open('/dev/null', 'r+');
    let first: unknown;
    try {
      file.sync();
    } catch (error) {
      first = error;
    }
    expect(errnoOf(first)).toBe('EINVAL');
    let second: unknown;
    try {
      file.sync();
    } catch (error) {
      second = error;
    }
    expect(second).toBe(first);
  });

  test.runIf(process.platform !== 'win32')('when the system has no descriptor left, one is given up', () => {
    const script = fileURLToPath(new URL('./few-descriptors.ts', import.meta.url));
    const run = (limit: string) =>
      execFileSync(
        'sh',
        [
          '-c',
          `${limit} exec "$0" "$@"`,
          process.execPath,
          '--conditions=@blockwright/source',
          '--import',
          'tsx',
          script,
          fresh(),
        ],
        {
          encoding: 'utf8',
        },
      );
    expect(run('ulimit -n 60;')).toMatch(/^200 files right, (\d|[1-5]\d) descriptors\n$/);
    expect(run('')).toBe('200 files right, 200 descriptors\n'); // the canary: without the limit none is given up
  });
});

test('files that cannot be read are refused with 42501', () => {
  if (process.platform === 'win32' || process.getuid?.() === 0) return; // root reads everything
  const directory = fresh();
  writeFileSync(join(directory, 'f'), 'x', { mode: 0 });
  expect(() => new NodeVfs().open(join(directory, 'f'), 'r')).toThrow(expect.objectContaining({ code: '42501' }));
});
