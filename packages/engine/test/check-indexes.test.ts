// Our own indexes, checked with their tables: clean as they are, at every block size; one bit of an entry changed, found.
import { type Finding, runSync } from '@blockwright/base';
import { checkPath, Database, initdb, table } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { BTP_INCOMPLETE_SPLIT, btIsLeaf, firstDataKey } from '@blockwright/nbtree';
import {
  itemPosition,
  linePointer,
  lpLength,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
  setLinePointer,
} from '@blockwright/page';
import { int4, numeric, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, it } from 'vitest';

const goods = table(
  'goods',
  { id: int4(), name: text().nullable(), price: numeric(12, 2) },
  { primaryKey: ['id'], unique: [['name', 'id']] },
);
const CARRYING = 'goods_name_id_price_idx';

interface Made {
  readonly vfs: MemoryVfs;
  readonly path: string;
}

/** A directory that was shut down, with rows that came, changed and went. */
function make(blockSize: BlockSize): Made {
  const vfs = new MemoryVfs();
  initdb('/data', { vfs, blockSize, dataChecksums: false });
  const db = Database.open('/data', { vfs });
  db.createTable(goods);
  const row = (id: number): { id: number; name: string | null; price: string } => ({
    id,
    name: id % 7 === 0 ? null : `name ${id % 50}`,
    price: `${id}.25`,
  });
  db.insert(
    goods,
    Array.from({ length: 300 }, (_, id) => row(id)),
  );
  for (let id = 0; id < 300; id += 3) db.updateByKey(goods, id, { price: '1.50' });
  for (let id = 1; id < 300; id += 5) db.deleteByKey(goods, id);
  db.createIndexSync(goods, { columns: ['name'], include: ['id', 'price'] }); // each of its entries is a row
  db.insert(
    goods,
    Array.from({ length: 200 }, (_, i) => row(300 + i)),
  );
  const { path } = db.indexes(goods).find(({ name }) => name === CARRYING) as { path: string };
  db.close();
  return { vfs, path: path.startsWith('/data/') ? path : `/data/${path}` };
}

function check(vfs: MemoryVfs): Finding[] {
  const findings: Finding[] = [];
  runSync(checkPath('/data', (finding) => findings.push(finding), { vfs }));
  return findings.filter(({ severity }) => severity !== 'info');
}

/** Changes the last entry of the leftmost leaf that has some, and checks. */
function broken(
  { vfs, path }: Made,
  size: BlockSize,
  change: (m: PageMemory, base: number, o: number) => void,
): string[] {
  const m = pageMemory(new Uint8Array(vfs.readFile(path)).buffer as ArrayBuffer);
  for (let base = size; base < m.u8.length; base += size) {
    if (!btIsLeaf(m, base, size) || pageMaxOffset(m, base) <= firstDataKey(m, base, size)) continue;
    change(m, base, pageMaxOffset(m, base));
    break;
  }
  const file = vfs.open(path, 'r+');
  file.write(m.u8, 0, m.u8.length, 0);
  file.close();
  return [...new Set(check(vfs).map(({ code }) => code))];
}

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  it('indexes of a directory that was shut down are clean', () => {
    expect(check(make(size).vfs)).toEqual([]);
  });

  it('an entry that is called dead, of a row that is not, is a row that the index lacks', () => {
    const codes = broken(make(size), size, (m, base, o) => {
      const lp = linePointer(m, base, o);
      setLinePointer(m, base, o, lp | (3 << 15));
    });
    expect(codes).toEqual(['btree.heap_tuple_lacks_entry']);
  });

  it('another value of a column that is only carried along is found', () => {
    const codes = broken(make(size), size, (m, base, o) => {
      const end = itemPosition(m, base, o) + lpLength(linePointer(m, base, o));
      let at = end - 1;
      while (m.u8[at] === 0) at--; // what pads the tuple
      m.u8[at] = (m.u8[at] as number) ^ 1;
    });
    expect(codes.length).toBeGreaterThan(0);
    expect(codes.every((code) => code.startsWith('btree.'))).toBe(true);
  });

  // What a crash leaves between the records of a split and of the new root: the meta page leads to the left half.
  it.each([
    [true, []],
    [false, ['btree.page.root_flag']],
  ])('a root whose split is not complete is no fault, unless nothing says so: %s', (isSaid, expected) => {
    const vfs = new MemoryVfs();
    initdb('/data', { vfs, blockSize: size, dataChecksums: false });
    const numbers = table('numbers', { id: int4() }, { primaryKey: ['id'] });
    let db = Database.open('/data', { vfs });
    db.createTable(numbers);
    const fitting = (size - 40) / 20; // entries on a leaf
    const ids = Array.from({ length: Math.ceil(fitting) + 1 }, (_, id) => ({ id }));
    db.insert(numbers, ids);
    const [{ path }] = db.indexes(numbers);
    db.close();
    const file = vfs.open(path.startsWith('/data/') ? path : `/data/${path}`, 'r+');
    const m = pageMemory(new ArrayBuffer(4 * size));
    expect(file.read(m.u8, 0, 4 * size, 0)).toBe(4 * size);
    expect([m.u32[8], m.u32[9]]).toEqual([3, 1]); // root and level
    m.u32.set([1, 0, 1, 0], 8);
    const flags = (2 * size - 4) >> 1;
    if (isSaid) m.u16[flags] = (m.u16[flags] as number) | BTP_INCOMPLETE_SPLIT;
    file.write(m.u8, 0, 3 * size, 0);
    file.truncate(3 * size);
    file.close();
    expect([...new Set(check(vfs).map(({ code }) => code))]).toEqual(
      isSaid ? expected : expect.arrayContaining(expected),
    );
    if (!isSaid) return;
    db = Database.open('/data', { vfs });
    db.insert(numbers, [{ id: ids.length }]);
    expect(db.count(numbers, { index: 'numbers_pkey' }).rows).toBe(ids.length + 1);
    db.close();
    expect(check(vfs)).toEqual([]);
  });
});
