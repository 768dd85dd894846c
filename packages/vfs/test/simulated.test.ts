// The disk that can crash, against a model that keeps a whole copy of everything after each operation.
import { createFile, replaceFile, type VfsFile, writeFully } from '@blockwright/vfs';
import { vfsContract } from '@blockwright/vfs/contract';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const SECTOR = 512;
const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value);
function put(file: VfsFile, value: number, length: number, position: number): void {
  writeFully(file, filled(length, value), 0, length, position);
}
function content(disk: SimulatedVfs, path: string): Uint8Array | undefined {
  return disk.exists(path) ? disk.readFile(path) : undefined;
}
function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}
/** A file of so many sectors whose bytes and name are durable. */
function durableFile(disk: SimulatedVfs, path: string, bytes: number): VfsFile {
  const file = disk.open(path, 'createExclusive');
  put(file, 1, bytes, 0);
  disk.settle();
  return file;
}

describe('the laws of every file system', () => {
  for (const law of vfsContract(() => ({ vfs: new SimulatedVfs(), root: '/' }))) test(law.name, () => law.run());
  describe('hold after a crash too', () => {
    const make = () => {
      const disk = new SimulatedVfs();
      disk.mkdir('/root');
      put(disk.open('/root/x', 'create'), 1, 9000, 0);
      const crashed = disk.crash('all');
      crashed.unlink('/root/x');
      return { vfs: crashed, root: '/root' };
    };
    for (const law of vfsContract(make)) test(law.name, () => law.run());
  });
});

type FileStep = { do: 'write' | 'truncate' | 'sync' | 'datasync'; position: number; length: number };
const fileStep = (kinds: readonly FileStep['do'][]): fc.Arbitrary<FileStep> =>
  fc.record({ do: fc.constantFrom(...kinds), position: fc.nat(6000), length: fc.integer({ min: 1, max: 5000 }) });

/** Makes the steps, and gives the file's bytes after each operation and which of them were synced. */
function history(disk: SimulatedVfs, steps: readonly FileStep[]): { copies: Uint8Array[]; syncs: Set<number> } {
  const file = durableFile(disk, '/f', 3000);
  const copies = [disk.readFile('/f')];
  const syncs = new Set([0]);
  steps.forEach(({ do: what, position, length }, i) => {
    if (what === 'write') put(file, i + 2, length, position);
    else if (what === 'truncate') file.truncate(position);
    else file[what]();
    copies.push(disk.readFile('/f'));
    expect(disk.operations).toBe(copies.length - 1);
    if (what === 'sync' || what === 'datasync') syncs.add(copies.length - 1);
  });
  return { copies, syncs };
}

/** What is wrong with the files after every crash of a history, if anything. */
function wrongCrash(disk: SimulatedVfs, steps: readonly FileStep[], seeds: number): string | undefined {
  const { copies, syncs } = history(disk, steps);
  const hasTruncates = steps.some((step) => step.do === 'truncate');
  for (let k = 0; k < copies.length; k++) {
    let synced = k;
    while (!syncs.has(synced)) synced--;
    const versions = copies.slice(synced, k + 1);
    if (!sameBytes(content(disk.crashedAt(k, 'all'), '/f'), copies[k])) return `all at ${k}`;
    if (!sameBytes(content(disk.crashedAt(k, 'synced'), '/f'), copies[synced])) return `synced at ${k}`;
    for (let seed = 0; seed < seeds; seed++) {
      const bytes = content(disk.crashedAt(k, seed), '/f') as Uint8Array;
      if (!versions.some((version) => version.length === bytes.length)) return `size at ${k}, seed ${seed}`;
      // A sector is as it was at one moment. (With truncates each byte is: the rest of its sector may be cut off.)
      const unit = hasTruncates ? 1 : SECTOR;
      for (let at = 0; at < bytes.length; at += unit) {
        const part = bytes.subarray(at, at + unit);
        const isOne = versions.some((version) => {
          const before = new Uint8Array(part.length);
          before.set(version.subarray(at, at + part.length));
          return sameBytes(before, part);
        });
        if (!isOne) return `byte ${at} at ${k}, seed ${seed}`;
      }
    }
  }
  return undefined;
}

describe('bytes', () => {
  test('each sector is as it was when synced, or after any write since', () => {
    fc.assert(
      fc.property(fc.array(fileStep(['write', 'write', 'write', 'sync', 'datasync']), { maxLength: 8 }), (steps) => {
        expect(wrongCrash(new SimulatedVfs(), steps, 6)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  test('with truncates, each byte is as it was when synced, or after any change since, or zero', () => {
    fc.assert(
      fc.property(fc.array(fileStep(['write', 'write', 'truncate', 'sync', 'datasync']), { maxLength: 8 }), (steps) => {
        expect(wrongCrash(new SimulatedVfs(), steps, 6)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  test('the model finds a disk whose datasync does nothing, and one that tears nothing', () => {
    class LazyDisk extends SimulatedVfs {
      override syncEnded(): void {}
    }
    const steps: FileStep[] = [
      { do: 'write', position: 0, length: 600 },
      { do: 'datasync', position: 0, length: 1 },
    ];
    expect(() => wrongCrash(new LazyDisk(), steps, 1)).toThrow(); // counts no operation
    class OddDisk extends SimulatedVfs {
      override crashedAt(operation: number, survival: 'all' | 'synced' | number): SimulatedVfs {
        const disk = super.crashedAt(operation, survival);
        put(disk.open('/f', 'r+'), 99, 1, 700);
        return disk;
      }
    }
    expect(wrongCrash(new OddDisk(), steps, 1)).toBe('all at 0');
  });

  test('whatever can survive does, for some seed: three sectors, three writes', () => {
    const disk = new SimulatedVfs();
    const file = durableFile(disk, '/f', 3 * SECTOR);
    put(file, 2, 2 * SECTOR, 0);
    put(file, 3, 2 * SECTOR, SECTOR);
    put(file, 4, SECTOR, 0);
    const possible = new Set<string>();
    for (const a of [1, 2, 4]) for (const b of [1, 2, 3]) for (const c of [1, 3]) possible.add(`${a}${b}${c}`);
    const seen = new Set<string>();
    for (let seed = 0; seed < 3000; seed++) {
      const bytes = disk.crash(seed).readFile('/f');
      seen.add([0, 1, 2].map((sector) => bytes[sector * SECTOR]).join(''));
    }
    expect([...seen].sort()).toEqual([...possible].sort());
  });

  test('a write is torn at each of its sectors', () => {
    const disk = new SimulatedVfs();
    put(durableFile(disk, '/f', 8192), 2, 8192, 0);
    const heads = new Set<number>();
    const tails = new Set<number>();
    for (let seed = 0; seed < 3000; seed++) {
      const bytes = disk.crash(seed).readFile('/f');
      const sectors = Array.from({ length: 16 }, (_, i) => bytes[i * SECTOR]).join('');
      if (/^2*1*$/.test(sectors)) heads.add(sectors.indexOf('1'));
      if (/^1*2*$/.test(sectors)) tails.add(sectors.indexOf('2'));
    }
    for (let sector = 1; sector < 16; sector++) {
      expect(heads.has(sector)).toBe(true);
      expect(tails.has(sector)).toBe(true);
    }
  });

  test('a file that grew has the old size, or the new one with zeros or bytes in it', () => {
    const disk = new SimulatedVfs();
    put(durableFile(disk, '/f', SECTOR), 2, SECTOR, SECTOR);
    const seen = new Set<string>();
    for (let seed = 0; seed < 300; seed++) {
      const bytes = disk.crash(seed).readFile('/f');
      seen.add(bytes.length === SECTOR ? 'short' : String(bytes[SECTOR]));
    }
    expect([...seen].sort()).toEqual(['0', '2', 'short']);
  });

  test('what was written after a truncate that was lost does not show', () => {
    const disk = new SimulatedVfs();
    const file = durableFile(disk, '/f', 2 * SECTOR);
    file.truncate(0);
    put(file, 2, 2 * SECTOR, 0);
    const seen = new Set<string>();
    for (let seed = 0; seed < 1000; seed++) {
      const bytes = disk.crash(seed).readFile('/f');
      seen.add(Array.from({ length: bytes.length / SECTOR }, (_, i) => bytes[i * SECTOR]).join(''));
    }
    // Whole as before; empty; or cut off and written again, each sector or not. Never one of the old beside a new one.
    expect([...seen].sort()).toEqual(['', '00', '02', '11', '20', '22']);
  });

  test('a sync off the thread covers what was written before it began', async () => {
    const disk = new SimulatedVfs();
    const file = durableFile(disk, '/f', SECTOR);
    put(file, 2, 10, 0);
    const sync = file.datasyncAsync();
    put(file, 3, 10, 10);
    expect(disk.operations).toBe(2);
    expect(disk.crash('synced').readFile('/f')[0]).toBe(1);
    await sync;
    expect(disk.operations).toBe(3);
    const bytes = disk.crash('synced').readFile('/f');
    expect([bytes[0], bytes[10]]).toEqual([2, 1]);
    expect(disk.crash('all').readFile('/f')[10]).toBe(3);
    // One that began earlier and ends later takes nothing back.
    const late = file.datasyncAsync();
    put(file, 4, 10, 0);
    file.sync();
    await late;
    expect(disk.crash('synced').readFile('/f')[0]).toBe(4);
  });

  test('disks go their own ways after a crash', () => {
    const disk = new SimulatedVfs();
    const file = durableFile(disk, '/f', 10_000);
    const crashed = disk.crash('all');
    put(crashed.open('/f', 'r+'), 7, 100, 4096);
    file.truncate(50);
    put(file, 8, 10, 0);
    const before = crashed.crashedAt(0, 'all');
    expect(sameBytes(before.readFile('/f'), filled(10_000, 1))).toBe(true);
    expect(crashed.readFile('/f')[4096]).toBe(7);
    expect(crashed.readFile('/f')[0]).toBe(1);
    expect(sameBytes(crashed.crash('synced').readFile('/f'), filled(10_000, 1))).toBe(true);
    expect(disk.readFile('/f')).toHaveLength(50);
    expect(sameBytes(disk.crashedAt(0, 3).readFile('/f'), filled(10_000, 1))).toBe(true);
  });
});

describe('names', () => {
  const listing = (disk: SimulatedVfs, directory: string): string =>
    disk.exists(directory)
      ? disk
          .readdir(directory)
          .map(
            (name) =>
              `${name}${disk.stat(`${directory}/${name}`)?.isFile ? disk.readFile(`${directory}/${name}`)[0] : '/'}`,
          )
          .join(' ')
      : 'gone';
  type NameStep = { do: 'create' | 'unlink' | 'rename' | 'link' | 'sync'; from: string; to: string };
  const name = fc.constantFrom('a', 'b', 'c');
  const nameStep: fc.Arbitrary<NameStep> = fc.record({
    do: fc.constantFrom('create', 'create', 'unlink', 'rename', 'link', 'sync'),
    from: name,
    to: name,
  });

  test('a directory has what it had when synced, and the first few changes since', () => {
    fc.assert(
      fc.property(fc.array(nameStep, { maxLength: 12 }), (steps) => {
        const disk = new SimulatedVfs();
        disk.mkdir('/d');
        disk.settle();
        const listings = [listing(disk, '/d')];
        let value = 0;
        let syncedAt = 0;
        for (const { do: what, from, to } of steps) {
          const before = disk.operations;
          if (what === 'sync') disk.syncDirectory('/d');
          else if (what === 'create' && !disk.exists(`/d/${from}`)) createFile(disk, `/d/${from}`, filled(1, ++value));
          else if (what === 'unlink' && disk.exists(`/d/${from}`)) disk.unlink(`/d/${from}`);
          else if (what === 'rename' && disk.exists(`/d/${from}`)) disk.rename(`/d/${from}`, `/d/${to}`);
          else if (what === 'link' && disk.exists(`/d/${from}`) && !disk.exists(`/d/${to}`))
            disk.link(`/d/${from}`, `/d/${to}`);
          if (disk.operations > before) listings.push(listing(disk, '/d'));
          if (what === 'sync') syncedAt = listings.length - 1;
        }
        expect(listing(disk.crash('all'), '/d')).toBe(listings.at(-1));
        expect(listing(disk.crash('synced'), '/d')).toBe(listings[syncedAt]);
        for (let seed = 0; seed < 20; seed++) {
          expect(listings.slice(syncedAt)).toContain(listing(disk.crash(seed), '/d'));
        }
      }),
      { numRuns: 100 },
    );
  });

  test('each prefix is seen; a synced file whose name was not is missing, a name whose file was not has no bytes', () => {
    const disk = new SimulatedVfs();
    put(disk.open('/a', 'create'), 1, 10, 0);
    createFile(disk, '/b', filled(10, 2));
    const seen = new Set<string>();
    for (let seed = 0; seed < 500; seed++) {
      const crashed = disk.crash(seed);
      seen.add(`a${content(crashed, '/a') ?? '-'} b${content(crashed, '/b') ?? '-'}`);
    }
    const [none, ones, twos] = ['', filled(10, 1).join(), filled(10, 2).join()];
    const zeros = filled(10, 0).join();
    expect([...seen].sort()).toEqual(
      [
        'a- b-',
        `a${none} b-`,
        `a${ones} b-`,
        `a${zeros} b-`,
        `a${none} b${twos}`,
        `a${ones} b${twos}`,
        `a${zeros} b${twos}`,
      ].sort(),
    );
  });

  test('a move between directories is in both or in none, and syncing one makes it durable in both', () => {
    for (const synced of ['', '/d', '/e']) {
      const disk = new SimulatedVfs();
      disk.mkdir('/d');
      disk.mkdir('/e');
      createFile(disk, '/d/x', filled(1, 1));
      disk.settle();
      createFile(disk, '/d/y', filled(1, 2));
      createFile(disk, '/e/z', filled(1, 3));
      disk.rename('/d/x', '/e/x');
      disk.unlink('/d/y');
      if (synced !== '') disk.syncDirectory(synced);
      const seen = new Set<string>();
      for (let seed = 0; seed < 1000; seed++) {
        const crashed = disk.crash(seed);
        seen.add(`${listing(crashed, '/d')}|${listing(crashed, '/e')}`);
      }
      const moved = ['y2|x1 z3', '|x1 z3'];
      const expected = {
        '': ['x1|', 'x1|z3', 'x1 y2|', 'x1 y2|z3', ...moved],
        '/d': ['|x1 z3'],
        '/e': moved,
      }[synced] as string[];
      expect([...seen].sort()).toEqual(expected.sort());
    }
  });

  test('directories come, go and move with what is in them', () => {
    const disk = new SimulatedVfs();
    disk.mkdir('/d');
    createFile(disk, '/d/x', filled(1, 1));
    disk.rename('/d', '/e');
    disk.mkdir('/f');
    disk.rmdir('/f');
    const seen = new Set<string>();
    for (let seed = 0; seed < 500; seed++) {
      const crashed = disk.crash(seed);
      seen.add(`${listing(crashed, '/')} ${listing(crashed, '/d')} ${listing(crashed, '/e')}`);
    }
    expect([...seen].sort()).toEqual(
      [' gone gone', 'd/  gone', 'd/ x1 gone', 'e/ gone ', 'e/ gone x1', 'e/ f/ gone ', 'e/ f/ gone x1'].sort(),
    );
  });

  test('replaceFile leaves the old file or the new one, whole, at every crash', () => {
    const disk = new SimulatedVfs();
    createFile(disk, '/f', filled(3000, 1));
    disk.settle();
    replaceFile(disk, '/f', filled(2000, 2));
    let both = 0;
    for (let k = 0; k <= disk.operations; k++) {
      for (let seed = 0; seed < 50; seed++) {
        const bytes = disk.crashedAt(k, seed).readFile('/f');
        const isNew = sameBytes(bytes, filled(2000, 2));
        expect(isNew || sameBytes(bytes, filled(3000, 1))).toBe(true);
        if (k === disk.operations) expect(isNew).toBe(true);
        both |= isNew ? 1 : 2;
      }
    }
    expect(both).toBe(3);
  });
});

describe('a disk that fails', () => {
  test.each([true, false])('what a failed sync did not write is lost for good; the process sees it: %s', (keeps) => {
    const disk = new SimulatedVfs();
    disk.failedSyncKeepsPages = keeps;
    const file = durableFile(disk, '/f', 3 * 4096);
    put(file, 2, 10, 0);
    put(file, 2, 10, 4096);
    disk.plant({ operation: 'datasync', errno: 'EIO' });
    expect(() => file.datasync()).toThrow(expect.objectContaining({ code: '58030' }));
    expect(disk.operations).toBe(3);
    const byte = (at: number): number | undefined => disk.readFile('/f')[at];
    expect([byte(0), byte(4096)]).toEqual(keeps ? [2, 2] : [1, 1]);
    put(file, 3, 10, 4096 + 20); // makes that page dirty again, as a whole
    put(file, 3, 10, 2 * 4096);
    file.datasync(); // and says nothing
    for (let seed = 0; seed < 20; seed++) {
      const bytes = disk.crash(seed).readFile('/f');
      expect([bytes[0], bytes[4096], bytes[4096 + 20], bytes[2 * 4096]]).toEqual([1, keeps ? 2 : 1, 3, 3]);
    }
  });

  test('a full disk is full after a crash, and what was lost gave its room back', () => {
    const disk = new SimulatedVfs();
    disk.freeBytes = 1000;
    const file = disk.open('/f', 'create');
    put(file, 1, 400, 0);
    disk.syncDirectory('/');
    file.sync();
    put(file, 2, 400, 400);
    expect(disk.freeBytes).toBe(200);
    expect(disk.crash('all').freeBytes).toBe(200);
    expect(disk.crash('synced').freeBytes).toBe(600);
    expect(() => put(file, 3, 400, 800)).toThrow(expect.objectContaining({ code: '53100' }));
  });

  test('short writes are operations, refused calls are none', () => {
    const disk = new SimulatedVfs();
    const file = disk.open('/f', 'create');
    disk.plant({ operation: 'write', bytes: 3, nth: 2 });
    disk.plant({ operation: 'write', errno: 'EIO', nth: 4 });
    put(file, 1, 10, 0);
    put(file, 2, 10, 0);
    expect(disk.operations).toBe(4);
    expect(() => put(file, 3, 10, 0)).toThrow();
    expect(disk.operations).toBe(4);
    expect(disk.describe(0)).toBe('open /f');
    expect(disk.describe(3)).toBe('write /f at 3, 7 bytes');
    expect(disk.describe(4)).toBe('the end');
  });
});

test('a seed gives the same disk again, and wrong numbers are refused', () => {
  const disk = new SimulatedVfs();
  const file = durableFile(disk, '/f', 20_000);
  for (let i = 0; i < 20; i++) put(file, i + 2, 3000, i * 700);
  const differing = new Set<string>();
  for (let seed = 0; seed < 20; seed++) {
    const bytes = disk.crashedAt(15, seed).readFile('/f');
    expect(sameBytes(disk.crashedAt(15, seed).readFile('/f'), bytes)).toBe(true);
    differing.add(Buffer.from(bytes).toString('base64'));
  }
  expect(differing.size).toBeGreaterThan(10);
  expect(() => disk.crashedAt(21, 1)).toThrow(RangeError);
  expect(() => disk.crashedAt(-1, 1)).toThrow(RangeError);
  expect(() => disk.crashedAt(1, 0.5)).toThrow(RangeError);
});

test('files filled with zeros, as segments of the WAL are, are zeros of some length, with what was written in them', () => {
  const disk = new SimulatedVfs();
  const seen = new Set<string>();
  const zeros = new Uint8Array(2 << 20);
  const file = disk.open('/f', 'create');
  disk.settle();
  put(file, 0, 1 << 20, 0);
  put(file, 0, 1 << 20, 1 << 20);
  put(file, 1, SECTOR, 8192);
  put(file, 0, SECTOR, 8192);
  for (let seed = 0; seed < 200; seed++) {
    for (const k of [2, 3, 4]) {
      const bytes = disk.crashedAt(k, seed).readFile('/f');
      seen.add(`${k} ${bytes.length >> 20} ${bytes[8192] ?? ''}`);
      bytes.fill(0, 8192, 8192 + SECTOR);
      expect(Buffer.compare(bytes, zeros.subarray(0, bytes.length))).toBe(0);
    }
  }
  expect([...seen].sort()).toEqual([
    '2 0 ',
    '2 1 0',
    '2 2 0',
    '3 0 ',
    '3 1 0',
    '3 1 1',
    '3 2 0',
    '3 2 1',
    '4 0 ',
    '4 1 0',
    '4 1 1',
    '4 2 0',
    '4 2 1',
  ]);
});
