// PostgreSQL's data directories behind the façade: the pool's size, tables, options, and what is refused.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';
import { PostgresDatabase } from '../src/index.ts';
import { expected, pgData, put } from './postgres-files.ts';

/** A fixture directory in memory. */
function copied(from: string, vfs: MemoryVfs = new MemoryVfs(), to = '/pg'): MemoryVfs {
  vfs.mkdir(to);
  for (const name of readdirSync(from)) {
    if (statSync(`${from}/${name}`).isDirectory()) copied(`${from}/${name}`, vfs, `${to}/${name}`);
    else put(vfs, `${to}/${name}`, new Uint8Array(readFileSync(`${from}/${name}`)));
  }
  return vfs;
}

describe.each(BLOCK_SIZES)('a directory of %i-byte blocks', (size) => {
  it.each([
    [undefined, 2 ** 27],
    ['128MB', 2 ** 27],
    [2 ** 22, 2 ** 22],
    ['100kB', Math.max(16, Math.floor(102400 / size)) * size],
    [0, 16 * size],
  ])('has a pool of as many bytes as asked: %s', (sharedBuffers, bytes) => {
    using database = PostgresDatabase.open(pgData(size), { sharedBuffers });
    const { pool } = (database as unknown as { postgres: { pool: { buffers: number } } }).postgres;
    expect(pool.buffers * database.blockSize).toBe(bytes);
    expect(database.blockSize).toBe(size);
  });

  it('lists its tables with their sizes, and counts and scans them', () => {
    using database = PostgresDatabase.open(pgData(size));
    const found = database.tables().find(({ name }) => name === 'vacuumed');
    const blocks = expected(size, 'vacuumed.page_header.jsonl').length;
    expect(found).toMatchObject({ columns: 3, blocks, bytes: blocks * size, isCatalog: false });
    const table = database.table('vacuumed');
    const marked = expected<{ all_visible: boolean }>(size, 'vacuumed.visibility.jsonl').filter((p) => p.all_visible);
    expect(database.count(table)).toMatchObject({ rows: 3202, pages: blocks, pagesByMap: marked.length });
    expect(database.count(table, { map: false })).toMatchObject({ rows: 3202, pagesByMap: 0 });
    expect([...database.scan(table, { columns: ['id'] }).rows()]).toHaveLength(3202);
    expect(database.pageStats(table).pages).toBe(blocks);
  });
});

describe('options', () => {
  it('that are misspelt are refused, and the right one named', () => {
    expect(() => PostgresDatabase.open(pgData(8192), { sharedbuffers: 1 } as never)).toThrow(/mean "sharedBuffers"/);
    expect(() => PostgresDatabase.open(pgData(8192), { buffers: 16 } as never)).toThrow(TypeError);
    using database = PostgresDatabase.open(pgData(8192));
    expect(() => database.scan('churn' as never, { columns: ['id'] as never })).toThrow(/not as "churn", a string/);
    const table = database.table('words');
    expect(() => database.count(table, { maps: false } as never)).toThrow(/did you mean "map"/);
    expect(() => database.scan(table, { columns: ['n'], unknwon: 'skip' } as never)).toThrow(/did you mean "unknown"/);
    expect(() => database.scan(table, {} as never)).toThrow(TypeError);
  });

  it('of no size of memory are refused, and of more than the machine has', () => {
    expect(() => PostgresDatabase.open(pgData(8192), { sharedBuffers: 'huge' })).toThrow(RangeError);
    expect(() => PostgresDatabase.open(pgData(8192), { sharedBuffers: '100000GB' })).toThrow(RangeError);
  });
});

describe('opening', () => {
  it('is refused while the server runs', () => {
    const vfs = copied(pgData(8192));
    put(vfs, '/pg/postmaster.pid', new TextEncoder().encode(`${process.pid}\n/pg\n`));
    expect(() => PostgresDatabase.open('/pg', { vfs })).toThrow(expect.objectContaining({ code: '55006' }));
  });

  it('is refused for a database, a table or a column that is not there, with what is', () => {
    expect(() => PostgresDatabase.open(pgData(8192), { database: 'fixx' })).toThrow(
      expect.objectContaining({ code: '42704' }),
    );
    using database = PostgresDatabase.open(pgData(8192));
    expect(() => database.table('vacumed')).toThrow(
      expect.objectContaining({ code: '42P01', hint: expect.stringContaining('"vacuumed"') }),
    );
    expect(() => database.scan(database.table('words'), { columns: ['m'] })).toThrow(
      expect.objectContaining({ code: '42703' }),
    );
  });

  it('changes not one byte, and closes twice', () => {
    const vfs = copied(pgData(8192));
    vfs.journal.length = 0;
    const database = PostgresDatabase.open('/pg', { vfs });
    for (const { name, blocks } of database.tables()) {
      if (blocks > 0) database.count(database.table(name), { unknown: 'skip' });
    }
    database.close();
    database.close();
    const changing = ['mkdir', 'rmdir', 'unlink', 'rename', 'link', 'write', 'truncate', 'sync', 'datasync', 'create'];
    expect(vfs.journal.length).toBeGreaterThan(0);
    expect(vfs.journal.filter(({ operation }) => changing.includes(operation))).toEqual([]);
  });
});
