// PostgreSQL's catalogs with a few bytes changed and their checksums right again: whatever they then say, it is read or
// refused with a StorageError, and nothing else.
import { isStorageError } from '@blockwright/base';
import { BlockGeometry } from '@blockwright/geometry';
import { HeapScan } from '@blockwright/heap';
import { pageMemory, pageSetChecksum } from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIRST_NORMAL_OID, PostgresDirectory } from '../src/index.ts';
import { POSTGRES_VERSIONS, postgresFiles, postgresVfs } from './bench.ts';

const GEOMETRY = BlockGeometry.of(8192);
/** More of them: `DAMAGE_RUNS=300 vitest run test/damage.test.ts`. */
const RUNS = Number(process.env.DAMAGE_RUNS ?? 8);

/** Reads all that there is to read; how far it came. */
function readAll(files: ReadonlyMap<string, Uint8Array>): { tables: number; rows: number; refused: number } {
  const vfs = postgresVfs(files);
  const seen = { tables: 0, rows: 0, refused: 0 };
  const attempt = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      if (!isStorageError(error)) throw error;
      seen.refused++;
    }
  };
  attempt(() => PostgresDirectory.databases('/pg', { vfs }));
  attempt(() => {
    const postgres = PostgresDirectory.open('/pg', { vfs, database: 'postgres' });
    try {
      for (const { schema, name, kind, oid } of postgres.relations()) {
        if (!'rmt'.includes(kind)) continue;
        attempt(() => {
          const table = postgres.table(`${schema}.${name}`);
          seen.tables++;
          // Files of the catalogs, and TOAST tables without a row, were not kept.
          if (oid < FIRST_NORMAL_OID || !postgres.relation(table).main.exists()) return;
          const columns = table.descriptor.liveColumns();
          const fetchToast = postgres.toastReader(table);
          const scan = new HeapScan(postgres.relation(table), table.descriptor, { columns, fetchToast });
          for (let batch = scan.next(); batch !== undefined; batch = scan.next()) seen.rows += batch.length;
        });
      }
    } finally {
      postgres.close();
    }
  });
  return seen;
}

describe.each(POSTGRES_VERSIONS)('damaged catalogs of PostgreSQL %i', (version) => {
  const files = postgresFiles(version);
  const damageable = [...files].filter(([path, { length }]) => !path.includes('pg_') && length >= 8192);

  /** Changes a byte of a page, counted from 0 and begun again past the end, and makes its checksum right. */
  function damage(damaged: Map<string, Uint8Array>, file: number, block: number, at: number, byte: number): void {
    const [path] = damageable[file % damageable.length];
    const m = pageMemory((damaged.get(path) as Uint8Array).slice().buffer);
    const number = block % (m.u8.length / 8192);
    m.u8[number * 8192 + at] = byte;
    pageSetChecksum(m, number * 8192, GEOMETRY, number);
    damaged.set(path, m.u8);
  }

  it('are read or refused', () => {
    const sound = readAll(files);
    expect(sound).toEqual({ tables: expect.any(Number), rows: 50 + 20 + 3 + 9, refused: 0 }); // 9 chunks
    expect(sound.tables).toBeGreaterThan(60);
    const withoutEnd = new Map(files);
    for (let file = 0; file < damageable.length; file++) damage(withoutEnd, file, 0, 13, 0xff); // pd_lower
    expect(readAll(withoutEnd)).toEqual({ tables: 0, rows: 0, refused: 2 });
    const change = fc.record({ file: fc.nat(), block: fc.nat(), at: fc.nat(8191), byte: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const damaged = new Map(files);
        for (const { file, block, at, byte } of changes) damage(damaged, file, block, at, byte);
        readAll(damaged);
      }),
      { numRuns: RUNS },
    );
  });
});
