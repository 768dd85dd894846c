// PostgreSQL's directories of versions 13 to 17, as real servers wrote them (18 is judged live), and every way in which a
// directory cannot be read. Not a byte of one is ever written.
import { BlockGeometry } from '@blockwright/geometry';
import { HeapScan } from '@blockwright/heap';
import { linePointer, lpOffset, pageMaxOffset, pageMemory, pageSetChecksum } from '@blockwright/page';
import { setTupleInfomask, tupleInfomask, vectorValue } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { PostgresDirectory, type PostgresOptions } from '../src/index.ts';
import { POSTGRES_VERSIONS, postgresFiles, postgresVfs } from './bench.ts';

const GEOMETRY = BlockGeometry.of(8192);
const FILES = new Map(POSTGRES_VERSIONS.map((version) => [version, postgresFiles(version)] as const));
const PG_CLASS = 1259;

/** The directory of a version with some of its files changed, or removed by `undefined`. */
function changed(version: (typeof POSTGRES_VERSIONS)[number], changes: Record<string, Uint8Array | undefined> = {}) {
  const files = new Map(FILES.get(version));
  for (const [path, bytes] of Object.entries(changes)) {
    if (bytes === undefined) files.delete(path);
    else files.set(path, bytes);
  }
  return postgresVfs(files);
}

function open(vfs: PostgresOptions['vfs'], options: PostgresOptions = {}): PostgresDirectory {
  return PostgresDirectory.open('/pg', { vfs, database: 'postgres', sharedBuffers: 1 << 21, ...options });
}

function rowsOf(postgres: PostgresDirectory, name: string): unknown[][] {
  const table = postgres.table(name);
  const columns = table.descriptor.liveColumns();
  const scan = new HeapScan(postgres.relation(table), table.descriptor, {
    columns,
    fetchToast: postgres.toastReader(table),
  });
  const rows: unknown[][] = [];
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
    for (let i = 0; i < batch.length; i++) {
      rows.push(columns.map((c, k) => vectorValue(table.descriptor.columns[c].type, batch.vectors[k], i)));
    }
  }
  return rows;
}

/** The database directory's path in the kept files: the only one that they are of. */
function databasePath(version: (typeof POSTGRES_VERSIONS)[number]): string {
  const path = [...(FILES.get(version)?.keys() ?? [])].find((name) => name.startsWith('base/')) as string;
  return path.slice(0, path.lastIndexOf('/'));
}

/** A catalog file with each of its tuples changed; checksums stay right. */
function withTuples(
  bytes: Uint8Array,
  change: (m: ReturnType<typeof pageMemory>, pos: number, length: number) => void,
): Uint8Array {
  const m = pageMemory(bytes.slice().buffer);
  for (let base = 0, block = 0; base < bytes.length; base += 8192, block++) {
    for (let o = 1; o <= pageMaxOffset(m, base); o++) {
      const lp = linePointer(m, base, o);
      if (((lp >>> 15) & 3) === 1) change(m, base + lpOffset(lp), lp >>> 17);
    }
    if (pageMaxOffset(m, base) > 0) pageSetChecksum(m, base, GEOMETRY, block);
  }
  return m.u8;
}

describe.each(POSTGRES_VERSIONS)('a directory of PostgreSQL %i', (version) => {
  it('lists its relations, and its tables have their columns and rows', () => {
    const warnings: string[] = [];
    const postgres = open(changed(version), { onWarning: (message) => warnings.push(message) });
    try {
      expect(postgres).toMatchObject({ version, database: 'postgres', isUtf8: true });
      const classes = postgres.relations();
      expect(classes.filter(({ schema }) => schema === 'public').map(({ name, kind }) => [name, kind])).toEqual([
        ['plain', 'r'],
        ['toasted', 'r'],
      ]);
      expect(classes.find(({ name }) => name === 'pg_database')).toMatchObject({
        schema: 'pg_catalog',
        locator: { tablespace: 1664, database: 0, relfilenode: 1262 },
      });
      const plain = postgres.table('plain');
      expect(plain.descriptor.columns.map(({ name, type }) => `${name} ${type.sqlName} ${type.isNullable}`)).toEqual([
        'id int8 false',
        'a int4 true',
        't text true',
        'n numeric(12,2) true',
        'd date true',
        'c character(3) true',
      ]);
      expect(rowsOf(postgres, 'plain')).toEqual(
        Array.from({ length: 50 }, (_, i) => [
          BigInt(i + 1),
          2 * (i + 1),
          'x'.repeat((i + 1) % 50),
          ((i + 1) / 4).toFixed(2),
          new Date(Date.UTC(2000, 0, 2 + i)).toISOString().slice(0, 10),
          'ab ',
        ]),
      );
      expect(postgres.table('s.dropped').descriptor.columns.map(({ isDropped }) => isDropped)).toEqual([
        false,
        true,
        false,
      ]);
      expect(rowsOf(postgres, 's.dropped')).toEqual(Array.from({ length: 20 }, (_, i) => [i + 1, -(i + 1)]));
      expect(rowsOf(postgres, 'toasted')).toEqual([1, 2, 3].map((g) => [g, '0123456789'.repeat(210 * g)]));
      expect(postgres.path(plain)).toBe(`${databasePath(version)}/${plain.locator.relfilenode}`);
      expect(warnings).toEqual([]);
    } finally {
      postgres.close();
      postgres.close();
    }
  });

  it('lists the databases whose files are there, and refuses the others', () => {
    const vfs = changed(version);
    expect(PostgresDirectory.databases('/pg', { vfs })).toEqual(['postgres']);
    expect(() => open(vfs, { database: 'other' })).toThrow(
      expect.objectContaining({ code: '58P01', message: 'the files of database "other" are not there' }),
    );
    expect(() => open(vfs, { database: 'othr' })).toThrow(
      expect.objectContaining({ code: '42704', hint: 'It has "postgres", "other", "template1", "template0".' }),
    );
  });

  it('is read without its maps where they would say nothing, and refused with a damaged one', () => {
    const path = `${databasePath(version)}/pg_filenode.map`;
    const map = FILES.get(version)?.get(path) as Uint8Array;
    const flipped = map.slice();
    flipped[9] ^= 1;
    for (const [name, bytes] of [
      [path, flipped],
      [path, map.subarray(0, 400)],
      ['global/pg_filenode.map', new Uint8Array(512)],
    ] as const) {
      expect(() => open(changed(version, { [name]: bytes })).relations()).toThrow(
        expect.objectContaining({ code: 'XX001', message: `relation map "/pg/${name}" is damaged` }),
      );
    }
    // Object ids are then the file numbers; pg_attribute was rewritten, and nothing has that name any more.
    const withoutMap = open(changed(version, { [path]: undefined }));
    expect(withoutMap.relations().length).toBeGreaterThan(300);
    expect(() => withoutMap.table('plain')).toThrow(expect.objectContaining({ code: '58P01' }));
    withoutMap.close();
  });
});

describe('a directory is refused', () => {
  const text = (s: string): Uint8Array => new TextEncoder().encode(s);

  it('when a server may be running on it', () => {
    const vfs = changed(15, { 'postmaster.pid': text('1\n') });
    const refused = expect.objectContaining({ code: '55006', detail: 'It has a postmaster.pid.' });
    expect(() => open(vfs)).toThrow(refused);
    expect(() => PostgresDirectory.databases('/pg', { vfs })).toThrow(refused);
  });

  it.each([
    ['without a version', undefined, '58P01'],
    ['with a version that is none', 'fifteen\n', 'XX001'],
    ['of version 12', '12\n', '0A000'],
    ['of version 9.6', '9.6\n', '0A000'],
    ['of version 19', '19\n', '0A000'],
  ])('%s', (_, version, code) => {
    const bytes = version === undefined ? undefined : text(version);
    expect(() => open(changed(15, { PG_VERSION: bytes }))).toThrow(expect.objectContaining({ code }));
  });

  it('when it is not there, or has no control file, or a damaged one', () => {
    expect(() => PostgresDirectory.open('/nowhere', { vfs: changed(15) })).toThrow(
      expect.objectContaining({ code: '58P01' }),
    );
    expect(() => open(changed(15, { 'global/pg_control': undefined }))).toThrow(
      expect.objectContaining({ code: '58P01' }),
    );
    const control = FILES.get(15)?.get('global/pg_control')?.slice() as Uint8Array;
    control[100] ^= 1;
    expect(() => open(changed(15, { 'global/pg_control': control }))).toThrow(
      expect.objectContaining({ code: 'XX001' }),
    );
  });

  it('when its catalogs are those of another version than it says', () => {
    for (const [version, said] of [
      [15, 16],
      [16, 15],
      [13, 14],
      [17, 18],
    ] as const) {
      const vfs = changed(version, { PG_VERSION: text(`${said}\n`) });
      expect(() => open(vfs).table('plain')).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^(0A000|XX001|58P01|42704)$/) }),
      );
    }
  });

  it('when no database is named and there are several, or none but templates', () => {
    const vfs = changed(15);
    expect(() => PostgresDirectory.open('/pg', { vfs })).toThrow(
      expect.objectContaining({ code: '58P01', message: 'the files of database "other" are not there' }),
    );
    // Every name but the templates' becomes one of two that are a user's own.
    const database = FILES.get(15)?.get('global/1262') as Uint8Array;
    const renamed = withTuples(database, (m, pos) => {
      const at = pos + m.u8[pos + 22] + 4;
      if (Buffer.from(m.u8.subarray(at, at + 9)).toString('latin1') === 'postgres\0') m.u8[at] = 'q'.charCodeAt(0);
    });
    expect(() => PostgresDirectory.open('/pg', { vfs: changed(15, { 'global/1262': renamed }) })).toThrow(
      expect.objectContaining({
        code: '42704',
        message: '"/pg" has several databases, and none was named',
        hint: 'Name one of "qostgres", "other" with --database.',
      }),
    );
  });

  it('for a misspelt option', () => {
    expect(() => PostgresDirectory.open('/pg', { databse: 'x' } as never)).toThrow(/database/);
  });
});

describe('a table is refused', () => {
  it('when there is none of that name, and the nearest is named', () => {
    const postgres = open(changed(15));
    expect(() => postgres.table('plan')).toThrow(
      expect.objectContaining({ code: '42P01', hint: 'Perhaps "plain" was meant.' }),
    );
    expect(postgres.table('public.plain').oid).toBe(postgres.table('plain').oid);
    expect(() => postgres.table('dropped_')).toThrow(expect.objectContaining({ code: '42P01' }));
    expect(() => postgres.table('plain_pkey')).toThrow(expect.objectContaining({ code: '42P01' })); // an index is none
    postgres.close();
  });

  it('when rows of pg_attribute say other than pg_class', () => {
    const path = [...(FILES.get(15)?.keys() ?? [])].find((name) => name.endsWith(`/${attributeFile()}`)) as string;
    const attributes = FILES.get(15)?.get(path) as Uint8Array;
    const plain = open(changed(15)).table('plain').oid;
    const damagedColumn = (change: (m: ReturnType<typeof pageMemory>, row: number) => void) => () => {
      const bytes = withTuples(attributes, (m, pos) => {
        const row = pos + m.u8[pos + 22];
        if (m.u32[row >> 2] === plain && m.u16[(row + 78) >> 1] === 2) change(m, row); // attrelid; attnum of "a"
      });
      expect(Buffer.compare(bytes, attributes)).not.toBe(0);
      open(changed(15, { [path]: bytes })).table('plain');
    };
    const damaged = expect.objectContaining({ code: 'XX001' });
    expect(damagedColumn((m, row) => (m.u32[row >> 2] = 4711))).toThrow(damaged); // of another table
    expect(damagedColumn((m, row) => (m.u16[(row + 78) >> 1] = 7))).toThrow(damaged); // of another number
    expect(damagedColumn((m, row) => (m.u8[row + 4] = 't'.charCodeAt(0)))).toThrow(damaged); // of another's name
    expect(damagedColumn((m, row) => (m.u8[row + 93] = 'z'.charCodeAt(0)))).toThrow(damaged); // attalign
    const impossible = damagedColumn((m, row) => {
      m.u32[(row + 68) >> 2] = 1700; // atttypid: numeric
      m.u32[(row + 88) >> 2] = 0x7fff0004; // atttypmod: of 32767 digits
    });
    expect(impossible).toThrow(damaged);
  });

  it('when only a commit log that is not there knows whether its rows of pg_class are visible', () => {
    const path = `${databasePath(15)}/${PG_CLASS}`;
    const bytes = withTuples(FILES.get(15)?.get(path) as Uint8Array, (m, pos) => {
      setTupleInfomask(m, pos, tupleInfomask(m, pos) & ~0x0b00); // neither frozen nor committed
    });
    for (let base = 0; base < bytes.length; base += 8192) bytes[base + 10] &= ~4; // nor on a page marked all-visible
    const warnings: string[] = [];
    const postgres = open(changed(15, { [path]: withTuples(bytes, () => {}) }), {
      onWarning: (message) => warnings.push(message),
    });
    expect(() => postgres.table('plain')).toThrow(
      expect.objectContaining({
        code: '42P01',
        detail: expect.stringMatching(
          /^\d+ rows of the catalogs were left out.*pg_xact\/0000" of the commit log is missing/,
        ),
        hint: expect.stringContaining('commit log (pg_xact)'),
      }),
    );
    expect(warnings).toEqual([expect.stringMatching(/rows of pg_class were left out/)]);
    postgres.close();
  });
});

/** pg_attribute's file, which a rewrite gave another number. */
function attributeFile(): number {
  const postgres = open(changed(15));
  try {
    return postgres.relations().find(({ name }) => name === 'pg_attribute')?.locator.relfilenode as number;
  } finally {
    postgres.close();
  }
}

it('nothing is written, and every file is closed', () => {
  const files = FILES.get(15) as Map<string, Uint8Array>;
  const vfs = postgresVfs(files);
  const postgres = open(vfs);
  for (const name of ['plain', 's.dropped', 'toasted']) rowsOf(postgres, name);
  postgres.close();
  for (const [path, bytes] of files) expect(Buffer.compare(vfs.readFile(`/pg/${path}`), bytes)).toBe(0);
});
