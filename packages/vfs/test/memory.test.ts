// Faults of the file system in memory, which other packages' tests rely on.
import { createFile, errnoOf, readFully, replaceFile, writeFully } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const some = (length: number, value = 7): Uint8Array => new Uint8Array(length).fill(value);

test('a file is an array of bytes', () => {
  const operation = fc.record({
    do: fc.constantFrom('write', 'truncate'),
    position: fc.nat(20_000),
    length: fc.nat(9000),
    value: fc.integer({ min: 1, max: 255 }),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 12 }), (operations) => {
      const file = new MemoryVfs().open('/f', 'create');
      let model = new Uint8Array(0);
      for (const { do: what, position, length, value } of operations) {
        if (what === 'write') {
          const longer = new Uint8Array(length === 0 ? model.length : Math.max(model.length, position + length));
          longer.set(model);
          longer.fill(value, position, position + length);
          model = longer;
          writeFully(file, some(length, value), 0, length, position);
        } else {
          const cut = new Uint8Array(position);
          cut.set(model.subarray(0, position));
          model = cut;
          file.truncate(position);
        }
        const all = new Uint8Array(file.size());
        readFully(file, all, 0, all.length, 0);
        expect(Buffer.compare(all, model)).toBe(0);
      }
    }),
  );
});

test('a sync off the thread is a datasync, a little later', async () => {
  const vfs = new MemoryVfs();
  const file = vfs.open('/f', 'create');
  const sync = file.datasyncAsync();
  expect(vfs.calls('datasync')).toHaveLength(0);
  await sync;
  expect(vfs.calls('datasync', '/f')).toHaveLength(1);
  vfs.plant({ operation: 'datasync', errno: 'EIO' });
  await expect(file.datasyncAsync()).rejects.toThrow(expect.objectContaining({ code: '58030' }));
  file.close();
  await expect(file.datasyncAsync()).rejects.toThrow(TypeError);
});

test('a file of a terabyte takes the memory of what was written', () => {
  const file = new MemoryVfs().open('/f', 'create');
  file.truncate(2 ** 40);
  writeFully(file, some(3), 0, 3, 2 ** 40 - 2);
  expect(file.size()).toBe(2 ** 40 + 1);
  const dest = new Uint8Array(8);
  expect(readFully(file, dest, 0, 8, 2 ** 40 - 4)).toBe(5);
  expect([...dest]).toEqual([0, 0, 7, 7, 7, 0, 0, 0]);
});

describe('faults', () => {
  test('hit the nth call of a kind, to paths that match, as often as asked', () => {
    const vfs = new MemoryVfs();
    const a = vfs.open('/a', 'create');
    const b = vfs.open('/b', 'create');
    const fault = vfs.plant({ operation: 'sync', path: 'b', nth: 2, times: 2, errno: 'EIO' });
    a.sync();
    b.sync();
    expect(() => b.sync()).toThrow(
      expect.objectContaining({ code: '58030', message: 'could not fsync file "/b": i/o error (EIO)' }),
    );
    a.sync();
    expect(() => b.sync()).toThrow(/EIO/);
    b.sync();
    expect(fault.hits).toBe(2);
    vfs.plant({ operation: 'sync', path: /^\/a$/, times: Number.POSITIVE_INFINITY, errno: 'EROFS' }).remove();
    a.sync();
    expect(() => vfs.plant({ operation: 'sync' })).toThrow(TypeError);
  });

  test.each([
    ['ENOSPC', '53100'],
    ['EDQUOT', '53100'],
    ['ENOENT', '58P01'],
    ['EEXIST', '58P02'],
    ['EACCES', '42501'],
    ['EPERM', '42501'],
    ['EROFS', '42501'],
    ['EIO', '58030'],
    ['EMFILE', '58030'],
    ['ESTALE', '58030'],
  ])('%s is %s', (errno, code) => {
    const vfs = new MemoryVfs();
    for (const operation of [
      'open',
      'stat',
      'readdir',
      'mkdir',
      'unlink',
      'rename',
      'link',
      'syncDirectory',
    ] as const) {
      vfs.plant({ operation, errno });
    }
    for (const call of [
      () => vfs.open('/f', 'create'),
      () => vfs.stat('/f'),
      () => vfs.readdir('/f'),
      () => vfs.mkdir('/f'),
      () => vfs.unlink('/f'),
      () => vfs.rename('/e', '/f'),
      () => vfs.link('/e', '/f'),
      () => vfs.syncDirectory('/f'),
    ]) {
      let thrown: unknown;
      try {
        call();
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({ code, message: expect.stringContaining('"/f"') });
      expect(errnoOf(thrown)).toBe(errno);
    }
  });

  test('shorten reads and writes', () => {
    const vfs = new MemoryVfs();
    const file = vfs.open('/f', 'create');
    vfs.plant({ operation: 'write', nth: 2, bytes: 3 });
    vfs.plant({ operation: 'read', bytes: 0 });
    expect(file.write(some(10), 0, 10, 0)).toBe(10);
    expect(file.write(some(10), 0, 10, 10)).toBe(3);
    expect(file.read(some(10), 0, 10, 0)).toBe(0);
    expect(file.read(some(10), 0, 10, 0)).toBe(10);
    vfs.plant({ operation: 'write', bytes: 0 });
    expect(() => writeFully(file, some(5), 0, 5, 0)).toThrow(
      expect.objectContaining({ code: '53100', message: 'could not write file "/f": wrote only 0 of 5 bytes' }),
    );
  });

  test('of a write with an errno and bytes: they reach the file, and the call fails all the same', () => {
    const one = fc.record({
      position: fc.nat(2000),
      length: fc.integer({ min: 1, max: 1500 }),
      value: fc.integer({ min: 1, max: 255 }),
      reach: fc.option(fc.nat(2000), { nil: undefined }),
    });
    for (const make of [() => new MemoryVfs(), () => new SimulatedVfs()]) {
      fc.assert(
        fc.property(fc.array(one, { maxLength: 10 }), (writes) => {
          const vfs = make();
          const file = vfs.open('/f', 'create');
          const model = new Uint8Array(4000);
          let size = 0;
          for (const { position, length, value, reach } of writes) {
            const fault = reach === undefined ? undefined : { operation: 'write' as const, errno: 'EIO', bytes: reach };
            const planted = fault && vfs.plant(fault);
            const write = (): number => file.write(some(length, value), 0, length, position);
            if (planted === undefined) expect(write()).toBe(length);
            else expect(write).toThrow(expect.objectContaining({ code: '58030' }));
            expect(planted?.hits ?? 1).toBe(1);
            const reached = Math.min(length, reach ?? length);
            model.fill(value, position, position + reached);
            if (reached > 0) size = Math.max(size, position + reached);
          }
          const wanted = model.subarray(0, size);
          expect(Buffer.compare(vfs.readFile('/f'), wanted)).toBe(0);
          if (!(vfs instanceof SimulatedVfs)) return;
          // What reached the cache is an operation like another: a killed process leaves it there, a sync keeps it.
          file.sync();
          vfs.syncDirectory('/');
          const { operations } = vfs;
          expect(operations).toBe(3 + writes.filter(({ reach }) => reach !== 0).length);
          for (const [at, survival] of [
            [operations - 2, 'all'],
            [operations, 'synced'],
          ] as const) {
            expect(Buffer.compare(vfs.crashedAt(at, survival).readFile('/f'), wanted)).toBe(0);
          }
        }),
      );
    }
    const vfs = new MemoryVfs();
    expect(() => vfs.plant({ operation: 'read', errno: 'EIO', bytes: 3 })).toThrow(TypeError);
    expect(() => vfs.plant({ operation: 'write' })).toThrow(TypeError);
  });

  test('the disk fills up, and has room again when files go', () => {
    const vfs = new MemoryVfs();
    vfs.freeBytes = 10;
    const file = vfs.open('/f', 'create');
    expect(file.write(some(8), 0, 8, 0)).toBe(8);
    expect(file.write(some(8), 0, 8, 4)).toBe(8 - 2); // 4 over what is there, 2 more fit
    expect(() => file.write(some(8), 0, 8, 10)).toThrow(expect.objectContaining({ code: '53100' }));
    expect(file.write(some(10), 0, 10, 0)).toBe(10); // overwriting takes no room
    file.truncate(4);
    expect(vfs.freeBytes).toBe(6);
    vfs.link('/f', '/g');
    vfs.unlink('/f');
    expect(vfs.freeBytes).toBe(6); // still has a name
    vfs.unlink('/g');
    expect(vfs.freeBytes).toBe(10);
  });

  test('every call is in the journal', () => {
    const vfs = new MemoryVfs();
    createFile(vfs, '/f', some(3));
    vfs.syncDirectory('/');
    expect(vfs.journal).toEqual([
      { operation: 'open', path: '/f', position: undefined, length: undefined },
      { operation: 'truncate', path: '/f', position: 0, length: undefined },
      { operation: 'write', path: '/f', position: 0, length: 3 },
      { operation: 'sync', path: '/f', position: undefined, length: undefined },
      { operation: 'syncDirectory', path: '/', position: undefined, length: undefined },
    ]);
    expect(vfs.calls('write', 'f')).toHaveLength(1);
    vfs.recording = false;
    vfs.syncDirectory('/');
    expect(vfs.journal).toHaveLength(5);
  });
});

describe('replaceFile', () => {
  test.each(['open', 'truncate', 'write', 'sync', 'rename'] as const)(
    'when %s fails, the old file stays and nothing beside it',
    (operation) => {
      const vfs = new MemoryVfs();
      replaceFile(vfs, '/f', some(5, 1));
      const fault = vfs.plant({ operation, errno: 'EIO' });
      expect(() => replaceFile(vfs, '/f', some(9, 2))).toThrow(/EIO/);
      expect(fault.hits).toBe(1);
      expect([...vfs.readFile('/f')]).toEqual([1, 1, 1, 1, 1]);
      expect(vfs.readdir('/')).toEqual(['f']);
    },
  );

  test('when the directory cannot be synced, that is an error', () => {
    const vfs = new MemoryVfs();
    vfs.plant({ operation: 'syncDirectory', errno: 'EIO' });
    expect(() => replaceFile(vfs, '/f', some(1))).toThrow(/EIO/);
  });

  test('a failed createFile leaves nothing', () => {
    const vfs = new MemoryVfs();
    vfs.plant({ operation: 'write', errno: 'ENOSPC' });
    expect(() => createFile(vfs, '/f', some(1))).toThrow(/ENOSPC/);
    expect(vfs.readdir('/')).toEqual([]);
  });
});
