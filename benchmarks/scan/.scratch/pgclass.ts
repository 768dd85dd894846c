import { RelationFile } from '@blockwright/engine';
import { bool, float4, int2, int4, name, oid, quotedChar, TupleDescriptor } from '@blockwright/tuple';

for (const k of [1, 8]) {
  const descriptor = TupleDescriptor.of(
    [
      ['oid', oid()],
      ['relname', name],
      ['relnamespace', oid()],
      ['reltype', oid()],
      ['reloftype', oid()],
      ['relowner', oid()],
      ['relam', oid()],
      ['relfilenode', oid()],
      ['reltablespace', oid()],
      ['relpages', int4()],
      ['reltuples', float4()],
      ['relallvisible', int4()],
      ['reltoastrelid', oid()],
      ['relhasindex', bool()],
      ['relisshared', bool()],
      ['relpersistence', quotedChar],
      ['relkind', quotedChar],
      ['relnatts', int2()],
    ].map(([n, t]) => ({ name: n, type: typeof t === 'function' ? t() : t }) as never),
  );
  for (const u of ['skip', 'include'] as const) {
    const f = RelationFile.open(`/work/main/fixtures/pg/${k}k/pgdata/base/16384/1259`, {
      name: 'pg_class',
      columns: {},
      descriptor,
    } as never);
    const s = f.scan(f.table, {
      columns: ['oid', 'relname', 'relkind', 'relfilenode', 'relnatts'] as never,
      unknown: u,
    });
    let n = 0;
    for (const r of s.rows() as any) {
      n++;
      if (r.oid >= 16384) process.stdout.write(r.relname + ' ');
    }
    console.log(k, u, n, s.unknown);
    f.close();
  }
}
