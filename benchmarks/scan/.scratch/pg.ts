import { PostgresDirectory } from '../../../packages/catalog/src/index.ts';

for (const k of [1, 2, 4, 8, 16, 32]) {
  const d = PostgresDirectory.open(`/work/main/fixtures/pg/${k}k/pgdata`);
  console.log(
    d.version,
    d.database,
    d.relations().length,
    d
      .relations()
      .filter((r) => r.oid >= 16384)
      .map((r) => r.name + r.kind)
      .join(' '),
  );
  const t = d.table('types');
  console.log(
    t.descriptor.columns.map((c) => c.name + ' ' + c.type.sqlName).join(', '),
    t.unreadable,
    t.withMissingValue,
    d.table('altered').withMissingValue,
  );
  d.close();
}
