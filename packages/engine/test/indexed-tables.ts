// What the tests of indexes share: a directory in memory that can crash, and a look at an index that trusts nothing of it.
import { HeapTableAccess } from '@blockwright/heap';
import { BtreeScan } from '@blockwright/nbtree';
import { IndexTupleFormer, RowDecoder, type TupleMemory, tupleMemory } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect } from 'vitest';
import type { Core } from '../src/core.ts';
import type { Database, TableDef } from '../src/index.ts';

/** What a killed process leaves: the same files, nothing closed. */
export function crashed(vfs: MemoryVfs): MemoryVfs {
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
  return left;
}

/**
 * Holds each index of a table against the table: in order, it leads to every row that is seen, once and by the row's own
 * key, and to nothing else that is seen.
 */
export function checkIndexes(db: Database, table: TableDef): void {
  const { core } = db as unknown as { core: Core };
  const entry = core.catalog.find(table.name);
  if (entry === undefined) throw new Error(`there is no table ${table.name}`);
  const columns = entry.descriptor.columns.map(({ name }) => name);
  const rows = [...db.scan(table, { columns }).rows()].map(text).sort();
  const { relations, transactions } = core.parts;
  const decoder = RowDecoder.for(entry.descriptor);
  for (const index of entry.indexes) {
    const { btree, format } = relations.indexOf(entry, index);
    const former = new IndexTupleFormer(format, entry.descriptor, index.columns);
    const found: string[] = [];
    const snapshot = transactions.snapshot();
    const access = new HeapTableAccess(relations.handleOf(entry), transactions);
    let previous: TupleMemory | undefined;
    const scan = new BtreeScan(btree, {});
    try {
      for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
        for (let i = 0; i < count; i++) {
          const tuple = copy(scan.memory, scan.positions[i], scan.lengths[i]);
          if (previous !== undefined) expect(format.compare(previous, 0, tuple, 0, format.keyCount)).toBeLessThan(1);
          previous = tuple;
          if (access.fetch(scan.blocks[i], scan.offsets[i], snapshot) === 0) continue;
          const row = decoder.object(access.memory, access.position, access.length);
          former.fromValues(index.columns.map((column) => row[columns[column]]));
          expect(format.compare(former.memory, 0, tuple, 0, format.keyCount)).toBe(0);
          found.push(text(row));
        }
      }
    } finally {
      access.release();
      scan.close();
      snapshot.release();
    }
    expect(found.sort(), `index ${index.name}`).toEqual(rows);
  }
}

function copy(m: TupleMemory, position: number, length: number): TupleMemory {
  return tupleMemory(m.u8.slice(position, position + length));
}

function text(row: object): string {
  return JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
}
