// initdb: what it makes, what it refuses, and that a failure at any file operation leaves nothing behind.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { MemoryVfs, type VfsOperation } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';
import { Database, initdb } from '../src/index.ts';

/** Every path with its size, and the bytes of every file. */
function tree(vfs: MemoryVfs, path = '/', into = new Map<string, string>()): Map<string, string> {
  for (const name of vfs.readdir(path)) {
    const full = path === '/' ? `/${name}` : `${path}/${name}`;
    if (vfs.stat(full)?.isDirectory === true) {
      into.set(full, 'directory');
      tree(vfs, full, into);
    } else into.set(full, Buffer.from(vfs.readFile(full)).toString('base64'));
  }
  return into;
}

function quietTree(vfs: MemoryVfs): Map<string, string> {
  vfs.recording = false;
  const found = tree(vfs);
  vfs.recording = true;
  return found;
}

describe('initdb', () => {
  it.each(BLOCK_SIZES)('makes a directory of %i-byte blocks that opens, with its catalogs', (blockSize) => {
    const vfs = new MemoryVfs();
    const control = initdb('/data', { blockSize, vfs });
    expect(control).toMatchObject({ blockSize, dataChecksums: true, state: 'shut down' });
    const database = Database.open('/data', { vfs });
    expect(database.blockSize).toBe(blockSize);
    expect(database.tables().map(({ name, isCatalog }) => [name, isCatalog])).toEqual([
      ['bw_attribute', true],
      ['bw_class', true],
      ['bw_index', true],
    ]);
    const classes = database.table('bw_class');
    expect([...database.scan(classes, { columns: ['relname', 'relnatts'] }).rows()]).toEqual([
      { relname: 'bw_class', relnatts: 7 },
      { relname: 'bw_class_oid_index', relnatts: 1 },
      { relname: 'bw_class_relname_index', relnatts: 1 },
      { relname: 'bw_attribute', relnatts: 6 },
      { relname: 'bw_attribute_relid_attnum_index', relnatts: 2 },
      { relname: 'bw_index', relnatts: 9 },
      { relname: 'bw_index_indrelid_index', relnatts: 1 },
      { relname: 'bw_index_indexrelid_index', relnatts: 1 },
    ]);
    expect(database.indexes('bw_attribute')).toMatchObject([
      { name: 'bw_attribute_relid_attnum_index', isUnique: true, isPrimary: true, isCatalog: true },
    ]);
    database.close();
    expect([...quietTree(vfs).keys()].sort()).toEqual(
      [
        '/data',
        '/data/BLOCKWRIGHT_VERSION',
        '/data/base',
        '/data/base/5',
        // At 1 kB bw_attribute has more than one page, and so a free space map.
        ...['1249', ...(blockSize === 1024 ? ['1249_fsm'] : []), '1259', '2610'].map((name) => `/data/base/5/${name}`),
        ...['2659', '2662', '2663', '2678', '2679'].map((name) => `/data/base/5/${name}`),
        '/data/global',
        '/data/global/control',
        '/data/wal',
        '/data/wal/000000010000000000000001',
        '/data/xact',
      ].sort(),
    );
  });

  it('makes the directory and its missing parents, and uses one that is there and empty', () => {
    const vfs = new MemoryVfs();
    initdb('/a/b/c', { vfs });
    vfs.mkdir('/empty');
    initdb('/empty', { vfs });
    expect(vfs.exists('/a/b/c/global/control') && vfs.exists('/empty/global/control')).toBe(true);
  });

  it.each([
    ['a data directory', (vfs: MemoryVfs) => initdb('/data', { blockSize: 1024, vfs }), 'data directory already'],
    ['lost+found', (vfs: MemoryVfs) => ['/data', '/data/lost+found'].forEach((path) => vfs.mkdir(path)), 'mount point'],
    ['a stranger', (vfs: MemoryVfs) => ['/data', '/data/photos'].forEach((path) => vfs.mkdir(path)), '"photos"'],
    [
      "PostgreSQL's files",
      (vfs: MemoryVfs) => {
        vfs.mkdir('/data');
        vfs.open('/data/PG_VERSION', 'create').close();
      },
      "PostgreSQL's",
    ],
  ])('refuses a directory with %s in it, and changes nothing', (_, prepare, detail) => {
    const vfs = new MemoryVfs();
    prepare(vfs);
    const before = quietTree(vfs);
    expect(() => initdb('/data', { blockSize: 16384, vfs })).toThrow(
      expect.objectContaining({ code: '58P02', detail: expect.stringContaining(detail) }),
    );
    expect(quietTree(vfs)).toEqual(before);
  });

  it('refuses a file in place of the directory', () => {
    const vfs = new MemoryVfs();
    vfs.open('/data', 'create').close();
    expect(() => initdb('/data', { vfs })).toThrow(expect.objectContaining({ code: '58P02' }));
  });

  it.each([
    [{ blockSize: 3000 }, /1 ?kB, 2 ?kB, 4 ?kB, 8 ?kB, 16 ?kB(,| or) 32 ?kB|1024, 2048/],
    [{ blockSize: '64kB' }, /1 ?kB, 2 ?kB, 4 ?kB, 8 ?kB, 16 ?kB(,| or) 32 ?kB|1024, 2048/],
    [{ walSegmentSize: '3MB' }, /power of two from 1MB to 1GB/],
    [{ walSegmentSize: 'lots' }, /not a size/],
    [{ blocksize: 8192 }, /did you mean "blockSize"/],
  ])('refuses the options %j', (options, message) => {
    const vfs = new MemoryVfs();
    expect(() => initdb('/data', { ...options, vfs } as never)).toThrow(message);
    expect(vfs.exists('/data')).toBe(false);
  });

  it.each([1024, 8192])('removes what it made when any of its file operations fails, at %i bytes', (blockSize) => {
    const model = new MemoryVfs();
    model.mkdir('/there');
    model.journal.length = 0;
    initdb('/there/new/data', { blockSize, vfs: model });
    const counts = new Map<VfsOperation, number>();
    for (const { operation } of model.journal) counts.set(operation, (counts.get(operation) ?? 0) + 1);
    let failures = 0;
    for (const [operation, count] of counts) {
      for (let nth = 1; nth <= count; nth++) {
        const vfs = new MemoryVfs();
        vfs.mkdir('/there');
        const before = quietTree(vfs);
        const fault = vfs.plant({ operation, nth, errno: 'EIO' });
        expect(() => initdb('/there/new/data', { blockSize, vfs }), `${operation} ${nth}`).toThrow(
          expect.objectContaining({ name: 'StorageError' }),
        );
        expect(fault.hits, `${operation} ${nth}`).toBe(1);
        expect(quietTree(vfs), `${operation} ${nth}`).toEqual(before);
        failures++;
      }
    }
    expect(failures).toBeGreaterThan(40);
  });

  it('ends in "disk full" on a full disk, and leaves nothing', () => {
    const vfs = new MemoryVfs();
    vfs.freeBytes = 10_000;
    expect(() => initdb('/data', { vfs })).toThrow(expect.objectContaining({ code: '53100' }));
    expect(vfs.exists('/data')).toBe(false);
  });
});
