// Data directories in memory: copies of the fixtures, and ours.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Database, initdb, table } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { int4, numeric, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';

export function writeFile(vfs: MemoryVfs, path: string, bytes: Uint8Array, position = 0): void {
  const file = vfs.open(path, 'create');
  file.write(bytes, 0, bytes.length, position);
  file.close();
}

/** A copy of what a PostgreSQL 15 of this block size wrote, at `/pg`. */
export function postgresCopy(size: BlockSize): MemoryVfs {
  const directory = fileURLToPath(new URL(`../../../fixtures/pg/${size / 1024}k/pgdata`, import.meta.url));
  const vfs = new MemoryVfs();
  vfs.recording = false;
  const visit = (path: string): void => {
    vfs.mkdir(`/pg${path}`);
    for (const name of readdirSync(`${directory}${path}`)) {
      const full = `${path}/${name}`;
      if (statSync(`${directory}${full}`).isDirectory()) visit(full);
      else writeFile(vfs, `/pg${full}`, readFileSync(`${directory}${full}`));
    }
  };
  visit('');
  return vfs;
}

const BILLS = table('bills', { id: int4(), amount: numeric(12, 2), note: text().nullable() });

/** A directory of ours at `/data` with one table, and the path of the table's main file. */
export function ourDirectory(
  size: BlockSize,
  options: { dataChecksums?: boolean } = {},
): { vfs: MemoryVfs; path: string } {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { blockSize: size, vfs, ...options });
  const database = Database.open('/data', { vfs });
  database.createTable(BILLS);
  const rows = Array.from({ length: 500 }, (_, id) => ({
    id,
    amount: `${id}.50`,
    note: id % 4 === 0 ? null : `bill number ${id}`,
  }));
  database.insert(BILLS, rows);
  const path = `/data/${database.tables().find(({ name }) => name === 'bills')?.path}`;
  database.close();
  return { vfs, path };
}
