// Real PostgreSQL relation files of every block size, on disk and copied into memory, and what that server said of them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BlockSize } from '@blockwright/geometry';
import { char, date, int4, int8, numeric, text, varchar } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { table } from '../src/index.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

/** The data directory of a block size. */
export function pgData(size: BlockSize): string {
  return `${FIXTURES}${size >>> 10}k/pgdata`;
}

/** The objects of a `.jsonl` file of what PostgreSQL said. */
export function expected<Row>(size: BlockSize, name: string): Row[] {
  const lines = readFileSync(`${FIXTURES}${size >>> 10}k/expect/${name}`, 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Row);
}

/** Path of a relation's main file. */
export function pgFile(size: BlockSize, name: string): string {
  const relations = readFileSync(`${FIXTURES}${size >>> 10}k/expect/relations.txt`, 'utf8').split('\n');
  const line = relations.find((one) => one.startsWith(`${name} `));
  if (line === undefined) throw new Error(`the fixtures have no relation "${name}"`);
  return `${pgData(size)}/${line.split(' ')[2]}`;
}

/** A file in memory, with the bytes given. */
export function put(vfs: MemoryVfs, path: string, bytes: Uint8Array): void {
  const file = vfs.open(path, 'create');
  file.truncate(0);
  file.write(bytes, 0, bytes.length, 0);
  file.close();
}

/** The bytes of a relation file as a file of that name in memory, changed if asked. */
export function inMemory(path: string, name: string, change: (bytes: Uint8Array) => void = () => {}): MemoryVfs {
  const bytes = new Uint8Array(readFileSync(path));
  change(bytes);
  const vfs = new MemoryVfs();
  put(vfs, name, bytes);
  return vfs;
}

export const lineitem = table('lineitem', {
  l_orderkey: int8(),
  l_partkey: int4(),
  l_suppkey: int4(),
  l_linenumber: int4(),
  l_quantity: numeric(15, 2),
  l_extendedprice: numeric(15, 2),
  l_discount: numeric(15, 2),
  l_tax: numeric(15, 2),
  l_returnflag: char(1),
  l_linestatus: char(1),
  l_shipdate: date(),
  l_commitdate: date(),
  l_receiptdate: date(),
  l_shipinstruct: char(25),
  l_shipmode: char(10),
  l_comment: varchar(44),
});
export const vacuumed = table('vacuumed', {
  id: int8().nullable(),
  grp: int4().nullable(),
  pad: text().nullable(),
});
export const churn = table('churn', { id: int4(), k: int4().nullable(), val: text().nullable() });
export const toasted = table('toasted', {
  id: int4().nullable(),
  ext: text().nullable(),
  comp: text().nullable(),
});
