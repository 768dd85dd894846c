// Our own indexes, checked with their tables: clean as they are, at every block size; one bit of an entry changed, found.
import { type Finding, runSync } from '@blockwright/base';
import { checkPath, Database, initdb, table } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { btIsLeaf, firstDataKey } from '@blockwright/nbtree';
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
});
