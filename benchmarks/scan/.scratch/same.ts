import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Database, initdb, PostgresDatabase, table } from '@blockwright/engine';
import { MemoryVfs } from '@blockwright/vfs/memory';

for (const k of [1, 2, 4, 8, 16, 32])
  for (const name of ['lineitem', 'types']) {
    const size = k * 1024;
    const pg = PostgresDatabase.open(`/work/main/fixtures/pg/${k}k/pgdata`);
    const def = pg.table(name);
    const cols = Object.keys(def.columns);
    const rows = [...pg.scan(def, { columns: cols }).rows()] as any[];
    if (name === 'lineitem')
      rows.sort((a, b) => Number(a.l_orderkey - b.l_orderkey) || a.l_linenumber - b.l_linenumber);
    else rows.sort((a, b) => Number(a.id - b.id));
    const path = pg.tables().find((t) => t.name === name)!.path;
    const theirs = readFileSync(`/work/main/fixtures/pg/${k}k/pgdata/${path}`);
    pg.close();
    const vfs = new MemoryVfs();
    initdb('/d', { blockSize: size, vfs });
    const db = Database.open('/d', { vfs });
    const t = table(name, def.columns);
    db.createTable(t);
    try {
      db.insert(t, rows);
    } catch (e: any) {
      console.log(k, name, e.message);
      db.close();
      continue;
    }
    const p2 = db.tables().find((t) => t.name === name)!.path;
    db.close();
    const ours = Buffer.from(vfs.readFile('/d/' + p2));
    const mask = (b: Buffer) => {
      b = Buffer.from(b);
      for (let o = 0; o < b.length; o += size) {
        b.fill(0, o, o + 12);
        b.writeUInt32LE(0, o + 20);
        const n = (b.readUInt16LE(o + 12) - 24) / 4;
        for (let i = 0; i < n; i++) {
          const lp = b.readUInt32LE(o + 24 + 4 * i);
          const p = o + (lp & 0x7fff);
          b.fill(0, p, p + 12);
          b.writeUInt16LE(b.readUInt16LE(p + 20) & 0x000f, p + 20);
        }
      }
      return b;
    };
    const a = mask(theirs),
      b = mask(ours);
    let diff = -1;
    for (let i = 0; i < Math.max(a.length, b.length); i++)
      if (a[i] !== b[i]) {
        diff = i;
        break;
      }
    console.log(
      k,
      name,
      theirs.length / size,
      ours.length / size,
      diff < 0 ? 'SAME' : `diff at page ${Math.floor(diff / size)} byte ${diff % size}`,
    );
  }
