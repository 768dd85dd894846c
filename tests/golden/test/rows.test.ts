// What PostgreSQL's own files say when they are read here: databases, tables, rows, out-of-line values, counts, checks.
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Finding, runSync } from '@blockwright/base';
import { checkPath, PostgresDatabase } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  itemPosition,
  LP_NORMAL,
  linePointer,
  lpFlags,
  pageClearAllVisible,
  pageIsNew,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
} from '@blockwright/page';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_FROZEN,
  setTupleInfomask,
  tupleInfomask,
  vectorValue,
} from '@blockwright/tuple';
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

/** Scanned, and fetched by their TIDs, the rows are those that PostgreSQL sees; what stands at other TIDs is not seen. */
function expectRowsOf(postgres: PostgresDatabase, size: BlockSize, name: string): void {
  const table = postgres.table(name);
  const columns = Object.keys(table.columns);
  const theirs = expected<Record<string, unknown>>(size, `${name}.rows.jsonl.gz`);
  expect(theirs.length).toBeGreaterThan(50);
  const inJson = (row: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(columns.map((column) => [column, jsonValue(row[column], table.columns[column].name)]));

  const scanned: Record<string, unknown>[] = [];
  for (const { length, blocks, offsets, vectors } of postgres.scan(table, { columns })) {
    for (let i = 0; i < length; i++) {
      const row = columns.map((column, k) => [column, vectorValue(table.columns[column], vectors[k], i)]);
      scanned.push({ ctid: `(${blocks[i]},${offsets[i]})`, ...inJson(Object.fromEntries(row)) });
    }
  }
  const byCtid = (rows: readonly Record<string, unknown>[]): Map<unknown, unknown> =>
    new Map(rows.map((row) => [row.ctid, row]));
  expect(byCtid(scanned)).toEqual(byCtid(theirs));
  expect(scanned).toHaveLength(theirs.length);

  const seen = new Set(theirs.map(({ ctid }) => ctid));
  for (const { ctid, ...row } of theirs) {
    const [block, offset] = String(ctid).slice(1, -1).split(',').map(Number);
    expect(inJson(postgres.fetch(table, block, offset) ?? {}), String(ctid)).toEqual(row);
  }
  const items = expected<{ block: number; lp: number }>(size, `${name}.items.jsonl.gz`);
  const others = items.filter(({ block, lp }) => !seen.has(`(${block},${lp})`));
  for (const { block, lp } of others) expect(postgres.fetch(table, block, lp), `(${block},${lp})`).toBeUndefined();
  expect(others.length > 0).toBe(name === 'churn');
}

/** A copy of a fixture in whose tables no tuple has a hint bit, frozen ones aside, and no page is called all-visible. */
function copyWithoutHints(size: BlockSize, tables: readonly string[]): { directory: string } & Disposable {
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-golden-'));
  cpSync(pgData(size), directory, { recursive: true });
  const geometry = BlockGeometry.of(size);
  for (const { name, path } of relations(size)) {
    if (!tables.includes(name)) continue;
    const bytes = readFileSync(join(directory, path));
    const m = pageMemory(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    for (let block = 0; block < bytes.length / size; block++) {
      const base = block * size;
      if (pageIsNew(m, base)) continue;
      pageClearAllVisible(m, base);
      for (let offset = 1; offset <= pageMaxOffset(m, base); offset++) {
        if (lpFlags(linePointer(m, base, offset)) !== LP_NORMAL) continue;
        const pos = itemPosition(m, base, offset);
        const infomask = tupleInfomask(m, pos);
        const frozen = infomask & HEAP_XMIN_FROZEN;
        const kept = frozen === HEAP_XMIN_FROZEN ? frozen : 0;
        setTupleInfomask(m, pos, (infomask & ~(HEAP_XMIN_FROZEN | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)) | kept);
      }
      pageSetChecksum(m, base, geometry, block);
    }
    writeFileSync(join(directory, path), m.u8);
    rmSync(join(directory, `${path}_vm`), { force: true });
  }
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
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

  it('give as many rows as PostgreSQL sees, by scan and by count', () => {
    using postgres = open();
    for (const { table: name, rows } of expected<{ table: string; rows: number }>(size, 'tables.jsonl')) {
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

  // churn: dead, aborted, sub-aborted, locked rows and multixacts, of which the commit log knows; altered: columns that
  // were added with defaults, and one that was dropped.
  it.each(['churn', 'altered'])('give exactly the rows of %s, each where PostgreSQL says it is', (name) => {
    using postgres = open();
    expectRowsOf(postgres, size, name);
  });

  it('give the same rows without a single hint bit', () => {
    using copy = copyWithoutHints(size, ['churn', 'altered', 'vacuumed']);
    using postgres = PostgresDatabase.open(copy.directory);
    for (const name of ['churn', 'altered']) expectRowsOf(postgres, size, name);
    const counts = expected<{ table: string; rows: number }>(size, 'tables.jsonl');
    for (const { table: name, rows } of counts) {
      const table = postgres.table(name);
      expect([name, postgres.count(table).rows, postgres.count(table, { map: false }).rows]).toEqual([
        name,
        rows,
        rows,
      ]);
    }
  });

  it('are read by hint bits alone where the commit log is gone, on request, and what is unknown is counted', () => {
    using copy = copyWithoutHints(size, ['churn']);
    rmSync(join(copy.directory, 'pg_xact', '0000'));
    using postgres = PostgresDatabase.open(copy.directory);
    const table = postgres.table('churn');
    const missing = expect.objectContaining({ code: '58P01', message: expect.stringContaining('pg_xact/0000') });
    expect(() => [...postgres.scan(table, { columns: ['id'] }).rows()]).toThrow(missing);
    expect(() => postgres.count(table)).toThrow(missing);
    expect(() => postgres.fetch(table, 0, 1)).toThrow(missing);
    const count = (unknown: 'skip' | 'include'): number[] => {
      const scan = postgres.scan(table, { columns: ['id'], unknown });
      const rows = [...scan.rows()].length;
      const counted = postgres.count(table, { unknown });
      expect([counted.rows, counted.unknown]).toEqual([rows, scan.unknown]);
      return [rows, scan.unknown];
    };
    const [known, unknown] = count('skip');
    expect(count('include')).toEqual([known + unknown, unknown]);
    const items = expected<{ lp_flags: number; t_infomask: number }>(size, 'churn.items.jsonl.gz');
    const tuples = items.filter(({ lp_flags }) => lp_flags === 1);
    const frozen = tuples.filter(({ t_infomask }) => (t_infomask & 0x300) === 0x300);
    expect([frozen.length, known, unknown]).toEqual([0, 0, tuples.length]);
    // What needs no commit log is read as ever.
    const { rows } =
      expected<{ table: string; rows: number }>(size, 'tables.jsonl').find((t) => t.table === 'words') ?? {};
    expect(postgres.count(postgres.table('words')).rows).toBe(rows);
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
