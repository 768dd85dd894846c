// Indexes of the fixtures that PostgreSQL built in bulk, at all six block sizes, built again from the same rows: the same
// bytes but for LSN and checksum.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runSync } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  pageMaxOffset,
  pageMemory,
  pageSetLsn,
  pageStoreChecksum,
} from '@blockwright/page';
import { char, date, int4, int8, numeric, RowDecoder, TupleDescriptor, text, varchar } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { btreeBulkDelete } from '../src/bulk-delete.ts';
import { BuildWorld, type WorldOptions, type WorldRow } from './build-world.ts';

const ROOT = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

/** The main fork of a relation of the fixtures. */
function fixture(size: BlockSize, name: string): Uint8Array {
  const folder = `${ROOT}${size / 1024}k`;
  const line = readFileSync(`${folder}/expect/relations.txt`, 'utf8')
    .split('\n')
    .find((relation) => relation.startsWith(`${name} `));
  return readFileSync(`${folder}/pgdata/${line?.split(' ')[2]}`);
}

/** Where two index files differ, in words; undefined when nowhere. LSN and checksum may. */
function difference(ours: Uint8Array, theirs: Uint8Array, size: BlockSize): string | undefined {
  if (ours.length !== theirs.length) return `${ours.length / size} pages instead of ${theirs.length / size}`;
  const [a, b] = [ours, theirs].map((file) => {
    const m = pageMemory(new Uint8Array(file).buffer);
    for (let base = 0; base < file.length; base += size) {
      pageSetLsn(m, base, 0, 0);
      pageStoreChecksum(m, base, 0);
    }
    return m.u8;
  });
  const at = a.findIndex((byte, i) => byte !== b[i]);
  return at < 0 ? undefined : `page ${Math.floor(at / size)}, byte ${at % size}`;
}

const LINEITEM = TupleDescriptor.of([
  { name: 'l_orderkey', type: int8() },
  { name: 'l_partkey', type: int4() },
  { name: 'l_suppkey', type: int4() },
  { name: 'l_linenumber', type: int4() },
  { name: 'l_quantity', type: numeric(15, 2) },
  { name: 'l_extendedprice', type: numeric(15, 2) },
  { name: 'l_discount', type: numeric(15, 2) },
  { name: 'l_tax', type: numeric(15, 2) },
  { name: 'l_returnflag', type: char(1) },
  { name: 'l_linestatus', type: char(1) },
  { name: 'l_shipdate', type: date() },
  { name: 'l_commitdate', type: date() },
  { name: 'l_receiptdate', type: date() },
  { name: 'l_shipinstruct', type: char(25) },
  { name: 'l_shipmode', type: char(10) },
  { name: 'l_comment', type: varchar(44) },
]);

/** At 1 kB and 4 kB the free space map sent a few rows to earlier pages, and where those now gone lay cannot be told. */
const WORDS_IN_ORDER: readonly BlockSize[] = [2048, 8192, 16384, 32768];

/**
 * The rows of `words` as they were before every third was deleted and vacuumed away: they were inserted in the order of
 * `n`, then those without a word, so the ones that are left tell where the others were.
 */
function words(size: BlockSize): { rows: WorldRow[]; live: ReadonlySet<string> } {
  const descriptor = TupleDescriptor.of([
    { name: 'w', type: text().nullable() },
    { name: 'n', type: int4() },
  ]);
  const decoder = RowDecoder.for(descriptor);
  const file = fixture(size, 'words');
  const m = pageMemory(new Uint8Array(file).buffer);
  const live = new Set<string>();
  const firsts: number[] = [];
  for (let base = 0, block = 0; base < file.length; base += size, block++) {
    for (let o = 1; o <= pageMaxOffset(m, base); o++) {
      const lp = linePointer(m, base, o);
      if (lpFlags(lp) !== LP_NORMAL) continue;
      const [w, n] = decoder.array(m, base + lpOffset(lp), lpLength(lp)) as [string | null, number];
      live.add(`${block},${o}`);
      firsts[block] ??= (w === null ? 3000 + n : n) - o + 1;
    }
  }
  const rows = Array.from({ length: 3025 }, (_, i): WorldRow => {
    const block = firsts.findLastIndex((first) => first <= i + 1);
    const values = i < 3000 ? [`w${((i + 1) * (i + 1)) % 211}`, i + 1] : [null, i - 2999];
    return { values, block, offset: i + 2 - firsts[block] };
  });
  return { rows, live };
}

const COLUMNS = { w: text().nullable(), n: int4() };
const INDEXES: Readonly<Record<string, { columns: WorldOptions['columns']; keys?: WorldOptions['keys']; at: number }>> =
  {
    words_w: { columns: { w: COLUMNS.w }, at: 0 },
    words_desc: { columns: { n: COLUMNS.n }, keys: [{ descending: true, nullsFirst: false }], at: 1 },
  };

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  const heap = { file: fixture(size, 'lineitem'), descriptor: LINEITEM, columns: [0] };
  const lineitem = (options: Partial<WorldOptions> = {}): Uint8Array => {
    const world = new BuildWorld(size, { columns: { l_orderkey: int8() }, heap, ...options });
    expect(world.build([]).tuples).toBe(3000);
    return world.file();
  };

  it('lineitem_orderkey is what PostgreSQL built, in memory and from runs', () => {
    const theirs = fixture(size, 'lineitem_orderkey');
    expect(difference(lineitem(), theirs, size)).toBeUndefined();
    expect(difference(lineitem({ maintenanceWorkMem: 1000 }), theirs, size)).toBeUndefined();
  });

  it('another fillfactor, and no posting lists, are noticed', () => {
    const theirs = fixture(size, 'lineitem_orderkey');
    expect(difference(lineitem({ fillfactor: 91 }), theirs, size)).toBeDefined();
    expect(difference(lineitem({ deduplicate: false }), theirs, size)).toBeDefined();
  });
});

describe.each(WORDS_IN_ORDER)('at %i-byte blocks', (size) => {
  it.each(Object.keys(INDEXES))('%s, after the same rows went, is what PostgreSQL left', (name) => {
    const { columns, keys, at } = INDEXES[name];
    const { rows, live } = words(size);
    const world = new BuildWorld(size, { columns, keys });
    world.build(rows.map((row) => ({ ...row, values: [row.values[at]] })));
    runSync(btreeBulkDelete(world.index, (block, offset) => !live.has(`${block},${offset}`)));
    expect(difference(world.file(), fixture(size, name), size)).toBeUndefined();
  });
});
