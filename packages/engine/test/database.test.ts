// The façade: tables, rows, scans, and every way in which opening or using a directory is refused.

import { BLOCK_SIZES } from '@blockwright/geometry';
import { bool, char, date, int4, int8, numeric, text, varchar } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';
import { Database, initdb, type Row, table } from '../src/index.ts';

const part = table('part', {
  p_partkey: int8(),
  p_name: varchar(55),
  p_size: int4().nullable(),
  p_price: numeric(15, 2),
  p_made: date(),
  p_brand: char(10),
  p_sold: bool(),
  p_comment: text().nullable(),
});

function row(i: number): Row<typeof part> {
  return {
    p_partkey: BigInt(i),
    p_name: `part ${i}`,
    p_size: i % 7 === 0 ? null : i,
    p_price: `${i}.25`,
    p_made: '1998-12-01',
    p_brand: 'Brand#12  ',
    p_sold: i % 2 === 0,
    p_comment: i % 3 === 0 ? null : 'x'.repeat(i % 50),
  };
}

/** Operations that change what is on a disk. */
const CHANGING = [
  'mkdir',
  'rmdir',
  'unlink',
  'rename',
  'link',
  'write',
  'truncate',
  'sync',
  'datasync',
  'syncDirectory',
];
const rows = Array.from({ length: 500 }, (_, i) => row(i));
const allColumns = Object.keys(part.columns) as (keyof typeof part.columns)[];

/** Rows by key: a short row may have gone into the room that an earlier page had left. */
function byKey(found: Iterable<Row<typeof part>>): Row<typeof part>[] {
  return [...found].sort((a, b) => Number(a.p_partkey - b.p_partkey));
}

function made(blockSize: (typeof BLOCK_SIZES)[number] = 8192): MemoryVfs {
  const vfs = new MemoryVfs();
  initdb('/data', { blockSize, vfs });
  return vfs;
}

function filled(blockSize: (typeof BLOCK_SIZES)[number] = 8192): MemoryVfs {
  const vfs = made(blockSize);
  const database = Database.open('/data', { vfs });
  database.createTable(part);
  database.insert(part, rows);
  database.close();
  return vfs;
}

function flip(vfs: MemoryVfs, path: string, at: number): void {
  const file = vfs.open(path, 'r+');
  const byte = new Uint8Array(1);
  file.read(byte, 0, 1, at);
  byte[0] ^= 0x40;
  file.write(byte, 0, 1, at);
  file.close();
}

describe.each(BLOCK_SIZES)('a database of %i-byte blocks', (blockSize) => {
  it('gives the rows back, in this process and after opening again', () => {
    const vfs = made(blockSize);
    const first = Database.open('/data', { vfs });
    first.createTable(part);
    expect(first.insert(part, rows)).toBe(rows.length);
    expect(byKey(first.scan(part, { columns: allColumns }).rows())).toEqual(rows);
    first.close();
    const second = Database.open('/data', { vfs, readOnly: true });
    expect(byKey(second.scan(part, { columns: allColumns }).rows())).toEqual(rows);
    const byName = second.table('part');
    expect([...second.scan(byName, { columns: ['p_name'] }).rows()]).toHaveLength(rows.length);
    expect(second.count(part).rows).toBe(rows.length);
    expect(second.tables().find(({ name }) => name === 'part')).toMatchObject({ columns: 8, isCatalog: false });
    second.close();
  });

  it('loads the vectors that a scan lends', () => {
    const vfs = filled(blockSize);
    const database = Database.open('/data', { vfs });
    const copy = table('copy', part.columns);
    database.createTable(copy);
    const batches = function* () {
      for (const { length, vectors } of database.scan(part, { columns: allColumns }))
        yield { length, columns: vectors };
    };
    expect(database.loadSync(copy, batches())).toBe(rows.length);
    expect(byKey(database.scan(copy, { columns: allColumns }).rows())).toEqual(rows);
    expect(database.count(copy)).toMatchObject({ rows: rows.length, pagesByMap: database.count(copy).pages });
    database.close();
  });
});

describe('opening', () => {
  it('is refused to a second opener in the same process, and the first goes on', () => {
    const vfs = made();
    const first = Database.open('/data', { vfs });
    expect(() => Database.open('/data', { vfs })).toThrow(
      expect.objectContaining({ code: 'F0001', detail: expect.stringContaining(String(process.pid)) }),
    );
    expect(() => Database.open('/data', { vfs, readOnly: true })).toThrow(expect.objectContaining({ code: 'F0001' }));
    first.createTable(part);
    first.close();
    Database.open('/data', { vfs }).close();
  });

  it('recovers a directory that was not shut down, and is refused for reading only: not a byte of it changes', () => {
    const vfs = made();
    const crashed = Database.open('/data', { vfs });
    crashed.createTable(part);
    crashed.insert(part, rows); // and the process dies: the lock is gone with it
    vfs.unlink('/data/blockwright.pid');
    const other = new MemoryVfs();
    copyTree(vfs, other, '/data');
    copyTree(vfs, other, '/data', '/moved');
    other.journal.length = 0;
    expect(() => Database.open('/moved', { vfs: other, readOnly: true })).toThrow(
      expect.objectContaining({ code: '55000', hint: expect.stringContaining('blockwright recover -D /moved') }),
    );
    expect(other.journal.filter(({ operation }) => CHANGING.includes(operation))).toEqual([]);
    const log: string[] = [];
    const recovered = Database.open('/moved', { vfs: other, onLog: (line) => log.push(line) });
    expect(recovered.recovery).toMatchObject({ records: expect.any(Number), isRequired: true });
    expect(log[0]).toMatch(/^redo starts at 0\/1[0-9A-F]{6}$/);
    expect(log[1]).toMatch(/^redo done at 0\/1[0-9A-F]{6} system usage: CPU: user: .* s, system: .* s, elapsed: .* s$/);
    expect(log.join('\n')).toContain('checkpoint complete (end-of-recovery)');
    expect(byKey(recovered.scan(part, { columns: allColumns }).rows())).toEqual(rows);
    recovered.close();
    const again = Database.open('/moved', { vfs: other, readOnly: true });
    expect(again.recovery).toBeUndefined();
    expect(again.count(part).rows).toBe(rows.length);
    again.close();
  });

  it.each<[string, (vfs: MemoryVfs) => void, string]>([
    ['nothing there', (vfs) => vfs.rename('/data', '/elsewhere'), '58P01'],
    ['no version file', (vfs) => vfs.unlink('/data/BLOCKWRIGHT_VERSION'), '55000'],
    ['another version', (vfs) => write(vfs, '/data/BLOCKWRIGHT_VERSION', '7\n'), '0A000'],
    ['a version that is no number', (vfs) => write(vfs, '/data/BLOCKWRIGHT_VERSION', 'seven'), 'XX001'],
    ['no control file', (vfs) => vfs.unlink('/data/global/control'), '58P01'],
    ['a truncated control file', (vfs) => vfs.open('/data/global/control', 'r+').truncate(100), 'XX001'],
    ['an empty control file', (vfs) => vfs.open('/data/global/control', 'r+').truncate(0), 'XX001'],
    ['a flipped bit in the control file', (vfs) => flip(vfs, '/data/global/control', 17), 'XX001'],
    ['a flipped bit in a catalog', (vfs) => flip(vfs, '/data/base/5/1259', 8100), 'XX001'],
    ['a catalog without rows', (vfs) => vfs.open('/data/base/5/1259', 'r+').truncate(0), 'XX001'],
  ])('is refused with %s, and leaves no lock behind', (_, damage, code) => {
    const vfs = made();
    damage(vfs);
    expect(() => Database.open('/data', { vfs })).toThrow(expect.objectContaining({ name: 'StorageError', code }));
    expect(vfs.exists('/data/blockwright.pid')).toBe(false);
  });

  it('refuses unknown and impossible options', () => {
    const vfs = made();
    expect(() => Database.open('/data', { vfs, readonly: true } as never)).toThrow(/did you mean "readOnly"/);
    expect(() => Database.open('/data', { vfs, sharedBuffers: 'huge' })).toThrow(RangeError);
    expect(() => Database.open('/data', { vfs, sharedBuffers: '100000GB' })).toThrow(RangeError);
    expect(vfs.exists('/data/blockwright.pid')).toBe(false);
  });
});

describe('read-only', () => {
  it('changes not one byte and refuses every change', () => {
    const vfs = filled();
    vfs.journal.length = 0;
    const database = Database.open('/data', { vfs, readOnly: true });
    expect([...database.scan(part, { columns: ['p_partkey'] }).rows()]).toHaveLength(rows.length);
    const other = table('other', { a: int4() });
    for (const change of [
      () => database.createTable(other),
      () => database.insert(part, rows),
      () => database.loadSync(part, []),
      () => database.checkpoint(),
    ]) {
      expect(change).toThrow(expect.objectContaining({ code: '25006' }));
    }
    database.close();
    expect(vfs.journal.filter(({ operation }) => CHANGING.includes(operation))).toEqual([]);
  });
});

describe('tables', () => {
  it('are created once, and unknown ones are refused with the nearest name', () => {
    const vfs = made();
    const database = Database.open('/data', { vfs });
    database.createTable(part);
    expect(() => database.createTable(part)).toThrow(expect.objectContaining({ code: '42P07' }));
    expect(() => database.table('parts')).toThrow(
      expect.objectContaining({ code: '42P01', hint: expect.stringContaining('"part"') }),
    );
    expect(() => database.scan(part, { columns: ['p_nane' as 'p_name'] })).toThrow(
      expect.objectContaining({ code: '42703', hint: expect.stringContaining('"p_name"') }),
    );
    const differs = table('part', { p_partkey: int4() });
    expect(() => database.insert(differs, [{ p_partkey: 1 }])).toThrow(expect.objectContaining({ code: '55000' }));
    database.close();
  });

  it('have names of 1 to 63 bytes', () => {
    expect(() => table('', { a: int4() })).toThrow(RangeError);
    expect(() => table('t', { ['ä'.repeat(32)]: int4() })).toThrow(RangeError);
    expect(table('t', { ['ä'.repeat(31)]: int4() }).descriptor.columns).toHaveLength(1);
  });

  it('take no null for NOT NULL, no value of another type, no column they do not have', () => {
    const vfs = made();
    const database = Database.open('/data', { vfs });
    database.createTable(part);
    expect(() => database.insert(part, [{ ...row(1), p_name: null as never }])).toThrow(
      expect.objectContaining({ code: '23502', message: expect.stringContaining('p_name') }),
    );
    expect(() => database.insert(part, [{ ...row(1), p_partkey: 'one' as never }])).toThrow(/p_partkey/);
    expect(() => database.insert(part, [{ ...row(1), p_nam: 'x' } as never])).toThrow(/did you mean "p_name"/);
    expect(database.count(part).rows).toBe(0);
    database.close();
  });
});

describe('damage', () => {
  it('one byte of a page in the file changes the answer when checksums are off, and is refused when they are on', () => {
    for (const dataChecksums of [false, true]) {
      const vfs = new MemoryVfs();
      initdb('/data', { dataChecksums, vfs });
      const database = Database.open('/data', { vfs });
      database.createTable(part);
      database.insert(part, rows);
      const path = database.tables().find(({ name }) => name === 'part')?.path ?? '';
      database.close();
      const sum = (): number => {
        const open = Database.open('/data', { vfs, readOnly: true });
        try {
          let total = 0;
          for (const { length, columns } of open.scan(part, { columns: ['p_size'] })) {
            const vector = columns.p_size;
            if (vector.kind === 'int') for (let i = 0; i < length; i++) total += vector.values[i];
          }
          return total;
        } finally {
          open.close();
        }
      };
      const before = sum();
      // p_size of the second row: after the tuple's header, eight bytes of p_partkey and "part 1" with its length byte
      const page = new DataView(vfs.readFile(`/data/${path}`).buffer);
      const tuple = page.getUint32(24 + 4, true) & 0x7fff;
      flip(vfs, `/data/${path}`, tuple + page.getUint8(tuple + 22) + 16);
      if (dataChecksums) {
        expect(sum).toThrow(expect.objectContaining({ code: 'XX001', message: expect.stringMatching(/block 0/) }));
      } else {
        expect(sum()).not.toBe(before);
      }
    }
  });
});

describe('loading', () => {
  const batchOf = (database: Database) =>
    function* () {
      for (const { length, vectors } of database.scan(part, { columns: allColumns }))
        yield { length, columns: vectors };
    };

  it('keeps inserts and other loads out of the table, and loses none of its rows to them', async () => {
    const vfs = filled();
    const database = Database.open('/data', { vfs });
    const copy = table('copy', part.columns);
    database.createTable(copy);
    const batches = batchOf(database);
    let attempts = 0;
    const loading = database.load(
      copy,
      (function* () {
        for (const batch of batches()) {
          yield batch;
          expect(() => database.insert(copy, rows)).toThrow(expect.objectContaining({ code: '55006' }));
          expect(() => database.loadSync(copy, [])).toThrow(expect.objectContaining({ code: '55006' }));
          attempts++;
        }
      })(),
    );
    await expect(loading).resolves.toBe(rows.length);
    expect(attempts).toBeGreaterThan(0);
    expect(database.insert(copy, rows.slice(0, 10))).toBe(10);
    expect(database.count(copy).rows).toBe(rows.length + 10);
    // The insertion cleared the marks of the page it changed: the map is never ahead of the heap.
    expect(database.count(copy).pagesByMap).toBeLessThan(database.count(copy).pages);
    database.close();
  });

  it('leaves the table empty when it fails or is stopped, and the first error is the one that is seen', async () => {
    const vfs = filled();
    const database = Database.open('/data', { vfs });
    const copy = table('copy', part.columns);
    database.createTable(copy);
    const batches = batchOf(database);
    const boom = new Error('boom');
    const failing = function* () {
      yield* batches();
      throw boom;
    };
    expect(() => database.loadSync(copy, failing())).toThrow(boom);
    expect(database.count(copy)).toMatchObject({ rows: 0, pages: 0 });
    const unlucky = table('unlucky', part.columns);
    database.createTable(unlucky);
    const fault = vfs.plant({
      operation: 'truncate',
      path: 'base/5/',
      errno: 'EIO',
      times: Number.POSITIVE_INFINITY,
    });
    expect(() => database.loadSync(unlucky, failing())).toThrow(boom);
    fault.remove();
    expect(fault.hits).toBeGreaterThan(0);
    expect(database.count(unlucky)).toMatchObject({ rows: 0, pages: 0 });
    const stopped = new AbortController();
    await expect(
      database.load(
        copy,
        (function* () {
          yield* batches();
          stopped.abort(boom);
          for (;;) yield { length: 0, columns: [...batches()][0].columns };
        })(),
        { signal: stopped.signal },
      ),
    ).rejects.toThrow(boom);
    expect(database.loadSync(copy, batches())).toBe(rows.length);
    database.close();
  });

  it('is stopped by closing, and the directory is clean and without its rows', async () => {
    const vfs = filled();
    const database = Database.open('/data', { vfs });
    const copy = table('copy', part.columns);
    database.createTable(copy);
    const first = [...batchOf(database)()][0];
    const loading = database.load(
      copy,
      (function* () {
        for (;;) yield first;
      })(),
    );
    await new Promise((resolve) => setTimeout(resolve, 5));
    database.close();
    await expect(loading).rejects.toThrow(expect.objectContaining({ code: '57014' }));
    const again = Database.open('/data', { vfs });
    expect(again.count(copy)).toMatchObject({ rows: 0, pages: 0 });
    expect(again.count(part).rows).toBe(rows.length);
    again.close();
  });

  it('takes no batch that is shorter than it says, and names the table in what an encoder throws', () => {
    const vfs = filled();
    const database = Database.open('/data', { vfs });
    const copy = table('copy', part.columns);
    database.createTable(copy);
    const { columns } = [...batchOf(database)()][0];
    expect(() => database.loadSync(copy, [{ length: 1e6, columns }])).toThrow(
      /table "copy": the vector of column "p_partkey"/,
    );
    expect(() => database.loadSync(copy, [{ length: 1, columns: columns.slice(1) }])).toThrow(
      /8 columns, and the batch 7/,
    );
    expect(() => database.insert(part, [{ ...row(1), p_brand: 'x'.repeat(11) }])).toThrow(
      /table "part", rows\[0\]: column "p_brand"/,
    );
    database.close();
  });
});

describe('options and failures', () => {
  it('that are misspelt are refused', () => {
    const vfs = filled();
    const database = Database.open('/data', { vfs });
    expect(() => database.scan(part, { colums: ['p_name'] } as never)).toThrow(/did you mean "columns"/);
    expect(() => database.scan(part, {} as never)).toThrow(/needs the columns/);
    expect(() => database.count(part, { maps: false } as never)).toThrow(/did you mean "map"/);
    expect(() => database.loadSync(part, [], { freez: true } as never)).toThrow(/did you mean "freeze"/);
    database.close();
  });

  it('of opening leave no file open', () => {
    const vfs = new MemoryVfs();
    initdb('/data', { vfs });
    flip(vfs, '/data/base/5/1249', 8100);
    const opened: string[] = [];
    const closed: string[] = [];
    const open = vfs.open.bind(vfs);
    vfs.open = (path, mode) => {
      const file = open(path, mode);
      const close = file.close.bind(file);
      opened.push(path);
      file.close = () => {
        closed.push(path);
        close();
      };
      return file;
    };
    expect(() => Database.open('/data', { vfs })).toThrow(expect.objectContaining({ code: 'XX001' }));
    expect([...new Set(closed)].sort()).toEqual([...new Set(opened)].sort());
  });

  it('of creating a table leave no file behind, and the name is free', () => {
    const vfs = made();
    const database = Database.open('/data', { vfs });
    const files = (): string[] => vfs.readdir('/data/base/5');
    const before = files();
    const fault = vfs.plant({ operation: 'open', path: 'base/5/16384', errno: 'EIO' });
    expect(() => database.createTable(part)).toThrow(expect.objectContaining({ code: '58030' }));
    fault.remove();
    expect(files()).toEqual(before);
    database.createTable(part);
    database.close();
    Database.open('/data', { vfs }).close();
  });

  it('everything is synced before the control file says "shut down"', () => {
    const vfs = made();
    const database = Database.open('/data', { vfs });
    database.createTable(part);
    database.insert(part, rows);
    vfs.journal.length = 0;
    database.close();
    const at = (operation: string, path: string): number =>
      vfs.journal.findLastIndex((entry) => entry.operation === operation && entry.path.includes(path));
    expect(at('write', 'base/5/16384')).toBeGreaterThanOrEqual(0);
    expect(Math.max(at('sync', 'base/5/16384'), at('datasync', 'base/5/16384'))).toBeGreaterThan(
      at('write', 'base/5/16384'),
    );
    expect(at('rename', 'global/control')).toBeGreaterThan(
      Math.max(at('sync', 'base/5/16384'), at('datasync', 'base/5/16384')),
    );
  });
});

describe('closing', () => {
  it('twice is fine, and using a closed database is refused', () => {
    const vfs = made();
    const database = Database.open('/data', { vfs });
    database.close();
    database.close();
    expect(() => database.tables()).toThrow(expect.objectContaining({ code: '55000' }));
  });

  it('in the middle of a scan releases everything, and the body keeps its own exception', () => {
    const vfs = filled();
    const database = Database.open('/data', { vfs });
    const boom = new Error('boom');
    expect(() => {
      try {
        for (const _ of database.scan(part, { columns: ['p_name'] })) throw boom;
      } finally {
        database.close();
      }
    }).toThrow(boom);
    expect(vfs.exists('/data/blockwright.pid')).toBe(false);
    Database.open('/data', { vfs }).close();
  });

  it('fails with the disk’s error when the disk is full, gives the lock back, and the directory says it is not clean', () => {
    const vfs = made();
    const database = Database.open('/data', { vfs });
    database.createTable(part);
    const fault = vfs.plant({
      operation: 'write',
      path: 'base/5/16384',
      errno: 'ENOSPC',
      times: Number.POSITIVE_INFINITY,
    });
    expect(() => {
      database.insert(part, rows);
      database.close();
    }).toThrow(expect.objectContaining({ code: '53100' }));
    expect(() => database.close()).not.toThrow();
    fault.remove();
    expect(fault.hits).toBeGreaterThan(0);
  });
});

function write(vfs: MemoryVfs, path: string, content: string): void {
  const file = vfs.open(path, 'create');
  const bytes = new TextEncoder().encode(content);
  file.truncate(0);
  file.write(bytes, 0, bytes.length, 0);
  file.close();
}

function copyTree(from: MemoryVfs, to: MemoryVfs, path: string, target = path): void {
  to.mkdir(target);
  for (const name of from.readdir(path)) {
    if (from.stat(`${path}/${name}`)?.isDirectory === true) copyTree(from, to, `${path}/${name}`, `${target}/${name}`);
    else {
      const bytes = from.readFile(`${path}/${name}`);
      const file = to.open(`${target}/${name}`, 'create');
      file.write(bytes, 0, bytes.length, 0);
      file.close();
    }
  }
}
