// Tables within transactions: who sees them when, what becomes of their files, whose way they stand in; loads; table options.
import { isStorageError } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { Database, initdb, type LoadBatch, table } from '../src/index.ts';

const parts = table('parts', { id: int4(), name: text() });
const others = table('others', { id: int4(), name: text() });

let vfs: MemoryVfs;

beforeEach(() => {
  vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, walSegmentSize: '1MB' });
});

const open = (): Database => Database.open('/data', { vfs });
const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ id: from + i, name: `part ${i}` }));
const names = (from: Pick<Database, 'tables'>): string[] =>
  from
    .tables()
    .filter(({ isCatalog }) => !isCatalog)
    .map(({ name }) => name);
/** Relation files that are not a catalog's, by number; those that only keep a number taken are left out. */
const files = (): string[] =>
  vfs
    .readdir('/data/base/5')
    .filter((name) => Number.parseInt(name, 10) >= 16384 && (vfs.stat(`/data/base/5/${name}`)?.size ?? 0) > 0);
/** Every file, the ones that keep a number taken too. */
const allFiles = (): string[] => vfs.readdir('/data/base/5').filter((name) => Number.parseInt(name, 10) >= 16384);

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return isStorageError(error) ? error.code : String(error);
  }
  return undefined;
}

/** What a killed process leaves: the same files, nothing closed. */
function crash(): void {
  const left = new MemoryVfs();
  left.recording = false;
  const copy = (path: string): void => {
    left.mkdir(path);
    for (const name of vfs.readdir(path)) {
      const full = `${path}/${name}`;
      if (vfs.stat(full)?.isDirectory === true) copy(full);
      else if (name !== 'blockwright.pid') {
        const bytes = vfs.readFile(full);
        const file = left.open(full, 'create');
        file.write(bytes, 0, bytes.length, 0);
        file.close();
      }
    }
  };
  copy('/data');
  vfs = left;
}

describe('a table that is created', () => {
  it('is its transaction’s alone until that commits, and gone when it does not', () => {
    const db = open();
    const tx = db.begin();
    tx.createTable(parts);
    expect(tx.insert(parts, rows(10))).toBe(10);
    expect(names(tx)).toEqual(['parts']);
    expect(names(db)).toEqual([]);
    expect(codeOf(() => db.count(parts))).toBe('42P01');
    expect(codeOf(() => db.createTable(parts))).toBe('55P03'); // the name may be given
    expect(codeOf(() => tx.createTable(parts))).toBe('42P07');
    tx.rollback();
    expect(names(db)).toEqual([]);
    expect(files()).toEqual([]);
    db.createTable(parts); // and its name is free
    db.insert(parts, rows(3));
    expect(db.count(parts).rows).toBe(3);
    db.close();
    const again = open();
    expect(names(again)).toEqual(['parts']);
    again.close();
    expect(allFiles()).toHaveLength(1); // the checkpoint has removed what kept numbers taken
  });

  it('in a savepoint goes with it', () => {
    const db = open();
    db.transaction((tx) => {
      tx.createTable(parts);
      tx.savepoint();
      tx.createTable(others);
      tx.insert(others, rows(5));
      tx.dropTable(parts);
      expect(names(tx)).toEqual(['others']);
      tx.rollbackTo();
      expect(names(tx)).toEqual(['parts']);
      tx.createTable(others);
      tx.releaseSavepoint();
      expect(names(tx)).toEqual(['others', 'parts']);
    });
    expect(names(db)).toEqual(['others', 'parts']);
    expect(db.count(others).rows).toBe(0);
    db.close();
  });

  it('by a transaction that a crash ends leaves no file', () => {
    let db = open();
    db.createTable(others);
    db.insert(others, rows(20));
    db.checkpoint();
    const tx = db.begin();
    tx.createTable(parts);
    tx.insert(parts, rows(500));
    db.checkpoint(); // the file is made before the redo point
    tx.insert(parts, rows(500));
    crash();
    db = open();
    expect(names(db)).toEqual(['others']);
    expect(db.count(others).rows).toBe(20);
    expect(db.recovery?.filesRemoved).toBe(1);
    db.close();
    expect(allFiles()).toHaveLength(1);
  });
});

describe('a table that is dropped', () => {
  it('is back when its transaction is rolled back; its files go at the commit, its number at the next checkpoint', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(500));
    const path = db.tables().find(({ name }) => name === 'parts')?.path;
    const tx = db.begin();
    tx.dropTable('parts');
    expect(codeOf(() => tx.count(parts))).toBe('42P01');
    expect(codeOf(() => db.count(parts))).toBe('55P03');
    expect(codeOf(() => db.createTable(parts))).toBe('42P07');
    tx.rollback();
    expect(db.count(parts).rows).toBe(500);
    db.dropTable(parts);
    expect(names(db)).toEqual([]);
    expect(vfs.stat(`/data/${path}`)?.size).toBe(0);
    db.createTable(parts);
    expect(db.tables().find(({ name }) => name === 'parts')?.path).not.toBe(path);
    db.checkpoint();
    expect(vfs.exists(`/data/${path}`)).toBe(false);
    db.close();
  });

  it('stays while another transaction uses it; the catalogs stay always', () => {
    const db = open();
    db.createTable(parts);
    const reader = db.begin();
    expect(reader.count(parts).rows).toBe(0);
    expect(codeOf(() => db.dropTable(parts))).toBe('55006');
    reader.commit();
    expect(codeOf(() => db.dropTable('bw_class'))).toBe('42501');
    expect(codeOf(() => db.dropTable('part'))).toBe('42P01');
    db.dropTable(parts);
    db.close();
  });

  it('may be made again under its name in the same transaction', () => {
    const db = open();
    db.createTable(parts);
    db.insert(parts, rows(5));
    db.transaction((tx) => {
      tx.dropTable(parts);
      tx.createTable(parts);
      tx.insert(parts, rows(2));
    });
    expect(db.count(parts).rows).toBe(2);
    db.close();
  });

  it('stays dropped after a crash, and is there again if the drop was not committed', () => {
    for (const committed of [true, false]) {
      let db = open();
      const definition = committed ? parts : others;
      db.createTable(definition);
      db.insert(definition, rows(300));
      const tx = db.begin();
      tx.dropTable(definition);
      if (committed) tx.commit();
      crash();
      db = open();
      expect(names(db).includes(definition.name)).toBe(!committed);
      if (!committed) expect(db.count(definition).rows).toBe(300);
      db.close();
      expect(allFiles().filter((name) => !name.includes('_'))).toHaveLength(committed ? 0 : 1);
    }
  });
});

describe('a load', () => {
  const batches = (count: number, from = 0): LoadBatch[] => {
    const source = new MemoryVfs();
    source.recording = false;
    initdb('/source', { vfs: source, walSegmentSize: '1MB' });
    const db = Database.open('/source', { vfs: source });
    try {
      db.createTable(parts);
      db.insert(parts, rows(count, from));
      const found: LoadBatch[] = [];
      for (const { length, vectors } of db.scan(parts, { columns: ['id', 'name'] })) {
        found.push({ length, columns: structuredClone(vectors) });
      }
      return found;
    } finally {
      db.close();
    }
  };

  it('into a table of the same transaction fills its file; into one that was there, a new one', () => {
    const db = open();
    db.transaction((tx) => {
      tx.createTable(parts);
      const { path } = tx.tables().find(({ name }) => name === 'parts') ?? {};
      expect(tx.loadSync(parts, batches(700))).toBe(700);
      expect(tx.tables().find(({ name }) => name === 'parts')?.path).toBe(path);
      expect(tx.count(parts)).toMatchObject({ rows: 700 });
      expect(codeOf(() => db.count(parts))).toBe('42P01');
    });
    expect(db.count(parts)).toMatchObject({ rows: 700, pagesByMap: db.count(parts).pages });
    db.createTable(others);
    const before = db.tables().find(({ name }) => name === 'others')?.path;
    expect(db.loadSync(others, batches(40))).toBe(40);
    expect(db.tables().find(({ name }) => name === 'others')?.path).not.toBe(before);
    expect(codeOf(() => db.loadSync(others, batches(40)))).toBe('55000');
    expect(db.count(others).rows).toBe(40);
    expect(db.loadSync(others, batches(60, 40), { freeze: false })).toBe(60);
    expect(db.count(others).rows).toBe(100);
    db.close();
  });

  it('is there after a crash once it was committed, and leaves nothing when it was not', () => {
    let db = open();
    db.createTable(parts);
    db.createTable(others);
    db.loadSync(parts, batches(900));
    const tx = db.begin();
    tx.loadSync(others, batches(900));
    crash();
    db = open();
    expect(db.count(parts).rows).toBe(900);
    expect(db.count(others)).toMatchObject({ rows: 0, pages: 0 });
    db.close();
    expect(allFiles().filter((name) => !name.includes('_'))).toHaveLength(2);
  });

  it('leaves the room that the fillfactor asks for', () => {
    const db = open();
    const pages = [100, 50].map((fillfactor) => {
      const definition = table(`filled${fillfactor}`, parts.columns, { fillfactor });
      db.createTable(definition);
      db.loadSync(definition, batches(2000));
      expect(db.count(definition).rows).toBe(2000);
      return db.count(definition).pages;
    });
    expect(pages[1] / pages[0]).toBeGreaterThan(1.8);
    db.close();
  });

  it('is taken back with its savepoint: the old file is there again', () => {
    const db = open();
    db.createTable(parts);
    db.transaction((tx) => {
      expect(() =>
        tx.savepoint(() => {
          tx.loadSync(parts, batches(100));
          throw new Error('no');
        }),
      ).toThrow('no');
      expect(tx.count(parts).rows).toBe(0);
      tx.insert(parts, rows(7));
    });
    expect(db.count(parts).rows).toBe(7);
    db.close();
  });

  it('fails its transaction when it fails half-way, and keeps writes of its transaction out while it goes on', () => {
    const db = open();
    db.createTable(parts);
    const tx = db.begin();
    const failing = function* () {
      yield* batches(10);
      expect(codeOf(() => tx.insert(parts, rows(1)))).toBe('55006');
      expect(codeOf(() => tx.commit())).toBe('55006');
      expect(codeOf(() => db.count(parts))).toBe('55006');
      throw new Error('boom');
    };
    expect(() => tx.loadSync(parts, failing())).toThrow('boom');
    expect(codeOf(() => tx.count(parts))).toBe('25P02');
    tx.rollback();
    expect(db.count(parts).rows).toBe(0);
    db.close();
  });
});

describe('options of a table', () => {
  it('are remembered: fillfactor and unlogged', () => {
    expect(() => table('t', { id: int4() }, { fillfactor: 9 })).toThrow(RangeError);
    expect(() => table('t', { id: int4() }, { fillfactor: 101 })).toThrow(RangeError);
    expect(() => table('t', { id: int4() }, { fillfacter: 90 } as never)).toThrow(/did you mean "fillfactor"/);
    let db = open();
    db.createTable(table('roomy', { id: int4() }, { fillfactor: 10 }));
    db.createTable(table('tight', { id: int4() }));
    db.createTable(table('hasty', { id: int4() }, { unlogged: true }));
    for (const name of ['roomy', 'tight'])
      db.insert(
        db.table(name),
        Array.from({ length: 1000 }, (_, id) => ({ id })),
      );
    db.close();
    db = open();
    expect(db.table('roomy')).toMatchObject({ fillfactor: 10, unlogged: false });
    expect(db.table('tight')).toMatchObject({ fillfactor: 100, unlogged: false });
    expect(db.table('hasty')).toMatchObject({ fillfactor: 100, unlogged: true });
    const pages = (name: string): number => db.count(db.table(name)).pages;
    expect(pages('roomy')).toBeGreaterThan(8 * pages('tight'));
    expect(
      [...db.scan(db.table('bw_class'), { columns: ['relname', 'relpersistence', 'reloptions'] }).rows()].filter(
        ({ relname }) => !String(relname).startsWith('bw_'),
      ),
    ).toEqual([
      { relname: 'roomy', relpersistence: 'p', reloptions: 'fillfactor=10' },
      { relname: 'tight', relpersistence: 'p', reloptions: null },
      { relname: 'hasty', relpersistence: 'u', reloptions: null },
    ]);
    db.close();
  });

  it('unlogged: rows stay over a shutdown, and are gone after a crash', () => {
    const hasty = table('hasty', { id: int4() }, { unlogged: true });
    let db = open();
    db.createTable(hasty);
    db.insert(
      hasty,
      Array.from({ length: 2000 }, (_, id) => ({ id })),
    );
    db.close();
    db = open();
    expect(db.count(hasty).rows).toBe(2000);
    db.insert(hasty, [{ id: 1 }]);
    db.checkpoint();
    crash();
    db = open();
    expect(db.recovery?.unloggedReset).toBe(1);
    expect(db.count(hasty)).toMatchObject({ rows: 0, pages: 0 });
    db.insert(hasty, [{ id: 1 }]);
    expect(db.count(hasty).rows).toBe(1);
    db.close();
  });
});

describe.each(BLOCK_SIZES)('at %i bytes', (blockSize) => {
  it('a crash between transactions loses nothing, one within takes all of it back', () => {
    vfs = new MemoryVfs();
    vfs.recording = false;
    initdb('/data', { vfs, blockSize, walSegmentSize: '1MB' });
    let db = Database.open('/data', { vfs, sharedBuffers: 16 * blockSize });
    db.createTable(parts);
    const tids: { block: number; offset: number }[] = [];
    db.insert(parts, rows(400), { tids });
    db.transaction((tx) => {
      for (let i = 0; i < 400; i += 2) tx.update(parts, tids[i].block, tids[i].offset, { name: `new ${i}` });
      for (let i = 1; i < 400; i += 4) tx.delete(parts, tids[i].block, tids[i].offset);
    });
    const before = [...db.scan(parts, { columns: ['id', 'name'] }).rows()];
    const tx = db.begin();
    tx.insert(parts, rows(400, 1000));
    tx.delete(parts, tids[3].block, tids[3].offset);
    crash();
    db = open();
    expect([...db.scan(parts, { columns: ['id', 'name'] }).rows()]).toEqual(before);
    db.close();
  });
});
