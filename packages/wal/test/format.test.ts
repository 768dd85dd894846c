// The pictures and tables of the format, in the sources, against the constants.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LONG_HEADER_BYTES, PAGE_FIELDS, SHORT_HEADER_BYTES, WAL_MAGIC, WAL_PAGE_BYTES } from '../src/page-format.ts';
import { MAX_BLOCK_REFERENCES, MAX_RECORD_BYTES } from '../src/record-format.ts';
import { isSegmentSize, SegmentLayout } from '../src/segments.ts';

describe('page header', () => {
  const source = readFileSync(new URL('../src/page-format.ts', import.meta.url), 'utf8');
  const rows = [...source.matchAll(/^\/\/ \| +(\d+) \| +(\d+) \| (\w+)/gm)].map(
    (m) => [m[3], Number(m[1]), Number(m[2])] as const,
  );
  test('the table has each field where the constants have it, without gap or overlap', () => {
    expect(Object.fromEntries(rows.map(([name, at]) => [name, at]))).toEqual({ ...PAGE_FIELDS });
    let end = 0;
    for (const [, at, bytes] of rows) {
      expect(at).toBe(end);
      end = at + bytes;
    }
    expect(end).toBe(LONG_HEADER_BYTES);
    expect(rows.find(([name]) => name === 'systemIdentifier')?.[1]).toBe(SHORT_HEADER_BYTES);
  });
  test('the README has the same table, and the numbers that the sources have', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const shown = [...readme.matchAll(/^\| +(\d+) \| +(\d+) \| (\w+)/gm)].map((m) => [
      m[3],
      Number(m[1]),
      Number(m[2]),
    ]);
    expect(shown).toEqual(rows);
    const crc = readFileSync(new URL('../src/crc.ts', import.meta.url), 'utf8');
    expect(readme).toContain(`from ${/ZLIB_FROM = (\d+)/.exec(crc)?.[1]} bytes on by`);
    expect(readme).toContain(`at most ${MAX_RECORD_BYTES / 1024 / 1024} MB`);
    expect(readme).toContain(`up to ${MAX_BLOCK_REFERENCES} block references`);
  });
  test('numbers in the text are the constants', () => {
    expect(source).toContain(`0x${WAL_MAGIC.toString(16).toUpperCase()}; not`);
    expect(WAL_PAGE_BYTES).toBe(8192);
  });
});

describe('segments', () => {
  test('are called as PostgreSQL calls them', () => {
    expect(new SegmentLayout(1 << 24).name(0x1_5000_0000)).toBe('000000010000000100000050');
    expect(new SegmentLayout(1 << 24).name(2 ** 24)).toBe('000000010000000000000001');
    expect(new SegmentLayout(1 << 20).name(0xffff_ffff)).toBe('000000010000000000000FFF');
    expect(new SegmentLayout(1 << 30).name(0xffff_ffff)).toBe('000000010000000000000003');
  });
  test('and found by their names', () => {
    for (let shift = 20; shift <= 30; shift++) {
      const layout = new SegmentLayout(2 ** shift);
      for (const number of [0, 1, 2, 3, 4, 5000, 2 ** (53 - shift) - 1]) {
        const start = number * 2 ** shift;
        expect(layout.startOf(layout.name(start))).toBe(start);
        expect(layout.start(start + 2 ** shift - 1)).toBe(start);
        expect(layout.offset(start + 12345)).toBe(12345);
      }
      for (const name of [
        '',
        'segment.tmp',
        '000000020000000000000001',
        '0000000100000000000000001',
        '00000001000000000000000g',
        '000000010000000000000001.partial',
        '00000001FFFFFFFF00000001',
        `0000000100000000${(2 ** (32 - shift)).toString(16).toUpperCase().padStart(8, '0')}`,
      ]) {
        expect(layout.startOf(name)).toBe(-1);
      }
    }
  });
  test('have sizes from 1 MB to 1 GB, powers of two', () => {
    const good = Array.from({ length: 11 }, (_, i) => 2 ** (20 + i));
    for (const size of good) expect(isSegmentSize(size)).toBe(true);
    for (const size of [
      0,
      1,
      2 ** 19,
      2 ** 31,
      2 ** 32,
      2 ** 52,
      3 * 2 ** 20,
      2 ** 20 + 0.5,
      -(2 ** 20),
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ]) {
      expect(isSegmentSize(size)).toBe(false);
    }
  });
});
