// The same rows, inserted in the same order, make the same pages as in PostgreSQL, byte for byte, at every block size:
// tuples, line pointers, page headers, which page each row goes to, which values are compressed and to what bytes. Left
// out are LSN, checksum, xids and hint bits.
import { readFileSync } from 'node:fs';
import { Database, initdb, PostgresDatabase, type TableDef, table } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { maskHeapPage } from '@blockwright/heap';
import { pageMemory } from '@blockwright/page';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';
import { pgData } from './fixtures.ts';

/** The order in which the rows were inserted. */
const KEYS: Readonly<Record<string, readonly string[]>> = { lineitem: ['l_orderkey', 'l_linenumber'], types: ['id'] };

type AnyRow = Record<string, bigint | number | string>;

function fixture(size: BlockSize, name: string): { definition: TableDef; rows: AnyRow[]; bytes: Uint8Array } {
  const postgres = PostgresDatabase.open(pgData(size));
  try {
    const definition = postgres.table(name);
    const rows = [...postgres.scan(definition, { columns: Object.keys(definition.columns) }).rows()] as AnyRow[];
    for (const key of [...KEYS[name]].reverse()) rows.sort((a, b) => Number(a[key]) - Number(b[key]));
    const path = postgres.tables().find((info) => info.name === name)?.path;
    return { definition, rows, bytes: readFileSync(`${pgData(size)}/${path}`) };
  } finally {
    postgres.close();
  }
}

function insertedPages(size: BlockSize, name: string, definition: TableDef, rows: AnyRow[]): Uint8Array {
  const vfs = new MemoryVfs();
  initdb('/data', { blockSize: size, vfs });
  const database = Database.open('/data', { vfs });
  const own = table(name, definition.columns);
  database.createTable(own);
  database.insert(own, rows as never);
  const path = database.tables().find((info) => info.name === name)?.path;
  database.close();
  return vfs.readFile(`/data/${path}`);
}

/** A copy without what may differ where rows are the same: LSN, checksum, flags, xids, hint bits. */
function masked(bytes: Uint8Array, size: BlockSize): Uint8Array {
  const memory = pageMemory(new Uint8Array(bytes).buffer);
  const geometry = BlockGeometry.of(size);
  for (let base = 0; base < bytes.length; base += size) maskHeapPage(memory, base, geometry);
  return memory.u8;
}

/** Where two files differ, in words; undefined when nowhere. */
function difference(ours: Uint8Array, theirs: Uint8Array, size: BlockSize): string | undefined {
  if (ours.length !== theirs.length) return `${ours.length / size} pages instead of ${theirs.length / size}`;
  const [a, b] = [masked(ours, size), masked(theirs, size)];
  const at = a.findIndex((byte, i) => byte !== b[i]);
  return at < 0 ? undefined : `page ${Math.floor(at / size)}, byte ${at % size}`;
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it.each(Object.keys(KEYS))('%s has the pages that PostgreSQL made', (name) => {
    const { definition, rows, bytes } = fixture(size, name);
    expect(difference(insertedPages(size, name, definition, rows), bytes, size)).toBeUndefined();
  });

  it('and one row less, or one byte of one, is noticed', () => {
    const { definition, rows, bytes } = fixture(size, 'types');
    expect(difference(insertedPages(size, 'types', definition, rows.slice(0, -1)), bytes, size)).toBeDefined();
    const changed = rows.map((row, i) => (i === 100 ? { ...row, i4: Number(row.i4) + 1 } : row));
    expect(difference(insertedPages(size, 'types', definition, changed), bytes, size)).toMatch(/^page \d+, byte \d+$/);
  });
});
