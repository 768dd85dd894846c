// What PostgreSQL's own files say when they are read here: databases, tables, rows, out-of-line values, counts, checks.
import { createHash } from 'node:crypto';
import { type Finding, runSync } from '@blockwright/base';
import { checkPath, PostgresDatabase } from '@blockwright/engine';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { expected, expectedText, pgData, relations } from './fixtures.ts';

/** Values in the form of PostgreSQL's row_to_json, as the fixtures list them. */
function jsonValue(value: unknown, typeName: string): unknown {
  if (value === null) return null;
  switch (typeName) {
    case 'int8':
      return Number(value);
    case 'numeric':
      return value === 'NaN' ? 'NaN' : Number(value);
    case 'bytea':
      return `\\x${Buffer.from(value as Uint8Array).toString('hex')}`;
    case 'float4':
    case 'float8':
      return Number.isFinite(value) ? value : String(value);
    case 'timestamptz':
      return String(value)
        .replace(' ', 'T')
        .replace(/\+00( BC)?$/, '+00:00$1');
    default:
      return value;
  }
}

describe.each(BLOCK_SIZES)('PostgreSQL files of %i-byte blocks', (size) => {
  const open = (): PostgresDatabase => PostgresDatabase.open(pgData(size));

  it('are found by the catalogs as PostgreSQL lists them', () => {
    using postgres = open();
    expect(postgres.name).toBe('fix');
    const found = new Map(postgres.tables().map(({ name, path }) => [name, path]));
    for (const { name, kind, path } of relations(size)) {
      if (kind === 'r' && !name.startsWith('pg_')) expect(found.get(name)).toBe(path);
    }
  });

  it('give exactly the rows of types', () => {
    using postgres = open();
    const table = postgres.table('types');
    const columns = Object.keys(table.columns);
    const rows = [...postgres.scan(table, { columns }).rows()].map((row) =>
      Object.fromEntries(columns.map((name) => [name, jsonValue(row[name], table.columns[name].name)])),
    );
    const key = (row: Record<string, unknown>): number => Number(row.id);
    const theirs = expected<Record<string, unknown>>(size, 'types.rows.jsonl.gz').sort((a, b) => key(a) - key(b));
    expect(theirs).toHaveLength(452);
    expect(rows.sort((a, b) => key(a) - key(b))).toEqual(theirs);
  });

  it('give as many rows as PostgreSQL sees, by scan and by count, where hint bits decide', () => {
    using postgres = open();
    for (const { table: name, rows } of expected<{ table: string; rows: number }>(size, 'tables.jsonl')) {
      if (name === 'churn' || name === 'altered') continue; // the commit log, and defaults of added columns
      const table = postgres.table(name);
      let scanned = 0;
      const scan = postgres.scan(table, { columns: Object.keys(table.columns) });
      for (let batch = scan.next(); batch !== undefined; batch = scan.next()) scanned += batch.length;
      expect([name, scanned, postgres.count(table).rows, postgres.count(table, { map: false }).rows]).toEqual([
        name,
        rows,
        rows,
        rows,
      ]);
    }
  });

  it('give out-of-line and compressed values', () => {
    using postgres = open();
    const table = postgres.table('toasted');
    const theirs = expected<Record<string, number | string>>(size, 'toasted.rows.jsonl.gz');
    const rows = [...postgres.scan(table, { columns: ['id', 'ext', 'comp'] }).rows()] as {
      id: number;
      ext: string;
      comp: string;
    }[];
    expect(rows).toHaveLength(theirs.length);
    for (const { id, ext, comp } of rows) {
      const row = theirs.find((one) => one.id === id) ?? {};
      const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
      const values = Object.values(row).map(String);
      expect(values).toContain(md5(ext));
      expect(values).toContain(md5(comp));
      expect(values).toContain(String(ext.length));
      expect(values).toContain(String(comp.length));
    }
  });

  it('say that a column was added with a default instead of giving null for it', () => {
    using postgres = open();
    const table = postgres.table('altered');
    expect(() => postgres.scan(table, { columns: ['d'] })).toThrow(expect.objectContaining({ code: '0A000' }));
    expect([...postgres.scan(table, { columns: ['a', 'c'] }).rows()]).toHaveLength(60);
  });

  it('are checked without a finding, and the numbers are those of the files', () => {
    const findings: Finding[] = [];
    const report = runSync(checkPath(pgData(size), (finding) => findings.push(finding)));
    expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([]);
    expect(report).toMatchObject({ kind: 'postgresql', blockSize: size, dataChecksums: true, errors: 0, warnings: 0 });
    for (const name of ['vacuumed', 'words', 'churn', 'types', 'toasted']) {
      const path = relations(size).find((relation) => relation.name === name)?.path;
      const items = expected<{ lp_flags: number }>(size, `${name}.items.jsonl.gz`);
      const pages = expected<object>(size, `${name}.page_header.jsonl`);
      const tuples = items.filter(({ lp_flags }) => lp_flags === 1).length;
      expect(
        report.files.find(({ file }) => file === path),
        name,
      ).toMatchObject({
        kind: 'heap',
        pages: pages.length,
        checksums: pages.length,
        linePointers: items.length,
        tuples,
        decodedTuples: tuples,
      });
    }
    for (const name of ['vacuumed', 'words', 'lineitem', ...(size === 1024 ? ['crossing'] : [])]) {
      const path = relations(size).find((relation) => relation.name === name)?.path;
      const bits = expected<{ all_visible: boolean; all_frozen: boolean }>(size, `${name}.visibility.jsonl`).reduce(
        (sum, { all_visible, all_frozen }) => sum + Number(all_visible) + Number(all_frozen),
        0,
      );
      for (const file of [path, `${path}_vm`]) {
        expect(report.files.find((summary) => summary.file === file)?.mapBits, file).toBe(bits);
      }
    }
    expect(expectedText(size, 'checksums.txt')).toMatch(/Bad checksums:\s+0/);
  });
});
