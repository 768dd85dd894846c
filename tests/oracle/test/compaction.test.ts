// The pages that benchmarks/compactify measures are those that PostgreSQL's updates make: the same updates, one by one on
// a live server, leave the same line pointers and the same items in the same places, after hundreds of compactions by
// `adaptive`. A run whose pages `sort` compacts is told apart, though its rows are the same.
import {
  type HeapUpdateOptions,
  HeapUpdateRun,
  type HeapWorkload,
  IndexUpdateRun,
} from '@blockwright/benchmark-compactify';
import { BlockGeometry } from '@blockwright/geometry';
import {
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageFlags,
  pageLower,
  pageMaxOffset,
  pageMemory,
  pagePruneXid,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import type { PostgresServer } from '@blockwright/peers';
import { startPostgres } from '@blockwright/peers';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_INVALID,
  setTupleInfomask,
  tupleInfomask,
} from '@blockwright/tuple';
import { afterAll, beforeAll, expect } from 'vitest';
import { describe, it, SERVER_BLOCK_SIZE } from './oracle.ts';

/** To repeat a run: `ORACLE_SEED=… vitest run test/compaction.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
const GEOMETRY = BlockGeometry.of(SERVER_BLOCK_SIZE);
const PAGES = 3;
const HINT_BITS = HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID;

let server: PostgresServer;

beforeAll(async () => {
  // Rows are found through an index: a scan of the table would prune other pages than the row's, too.
  const settings = { enable_seqscan: 'off', enable_bitmapscan: 'off', enable_indexonlyscan: 'off' };
  server = await startPostgres({ extensions: ['pageinspect'], settings });
}, 300_000);

afterAll(() => server?.close(), 60_000);

/** The server's table, filled, and the model of it. */
async function heapTable(name: string, options: HeapUpdateOptions): Promise<HeapUpdateRun> {
  const letters = { 40: 0, 136: 103, 200: 164 }[options.width] as number;
  const filler = letters === 0 ? '0' : `repeat('x', ${letters})`;
  await server.query(`
    CREATE TABLE ${name} (id int4 PRIMARY KEY, n int4 NOT NULL, filler ${letters === 0 ? 'int8' : 'text'} NOT NULL)
    WITH (fillfactor = 75, autovacuum_enabled = off)`);
  const { rows } = new HeapUpdateRun(GEOMETRY, options);
  await server.query(`INSERT INTO ${name} SELECT id, 0, ${filler} FROM generate_series(1, ${rows}) id`);
  const [{ xid }] = (await server.query(`SELECT xmin::text::int4 AS xid FROM ${name} WHERE id = 1`)) as [
    { xid: number },
  ];
  return new HeapUpdateRun(GEOMETRY, { ...options, xid });
}

/** Does the run's next transactions on both sides. */
async function updateBoth(name: string, run: HeapUpdateRun, transactions: number): Promise<void> {
  const lists = Array.from({ length: transactions }, () => run.transaction());
  const isSingle = lists.every((keys) => keys.length === 1);
  const update = `UPDATE ${name} SET n = n + 1 WHERE id = key`;
  const loop = (keys: readonly number[], then: string): string =>
    `DO $$ DECLARE key int4; BEGIN FOREACH key IN ARRAY '{${keys.join()}}'::int4[] LOOP ${update}; ${then} END LOOP; END $$`;
  if (isSingle) await server.query(loop(lists.flat(), 'COMMIT;'));
  else for (const keys of lists) await server.query(loop(keys, ''));
}

async function serverPage(name: string, block: number): Promise<PageMemory> {
  const [{ page }] = (await server.query(`SELECT get_raw_page($1, ${block}) AS page`, [name])) as [
    { page: Uint8Array },
  ];
  return pageMemory(Uint8Array.from(page).buffer);
}

/** Header, line pointers and items of a page, as lines of text that can be compared. */
function described(m: PageMemory, base: number, item: (m: PageMemory, position: number) => string): string[] {
  const bounds = `lower ${pageLower(m, base)}, upper ${pageUpper(m, base)}, special ${pageSpecial(m, base)}`;
  const lines = [`${bounds}, flags ${pageFlags(m, base)}, prune xid ${pagePruneXid(m, base)}`];
  for (let o = 1; o <= pageMaxOffset(m, base); o++) {
    const lp = linePointer(m, base, o);
    const bytes = lpLength(lp) === 0 ? '' : item(m, base + lpOffset(lp));
    lines.push(`${o}: lp_off ${lpOffset(lp)}, lp_flags ${lpFlags(lp)}, lp_len ${lpLength(lp)} ${bytes}`);
  }
  return lines;
}

/** A heap tuple's bytes, hint bits left out: who looked at it sets those. */
function heapTuple(length: number): (m: PageMemory, position: number) => string {
  return (m, position) => {
    const copy = pageMemory(m.u8.slice(position, position + length).buffer);
    setTupleInfomask(copy, 0, tupleInfomask(copy, 0) & ~HINT_BITS);
    return Buffer.from(copy.u8).toString('hex');
  };
}

async function expectSamePages(name: string, run: HeapUpdateRun, width: number): Promise<void> {
  for (let block = 0; block < PAGES; block++) {
    const ours = described(run.memory, block * SERVER_BLOCK_SIZE, heapTuple(width));
    expect(ours).toEqual(described(await serverPage(name, block), 0, heapTuple(width)));
  }
}

describe.each([40, 136, 200])(`updated rows of %i bytes (seed ${SEED})`, (width) => {
  it.each<HeapWorkload>(['updates', 'batches'])('lie where PostgreSQL puts them: %s', async (workload) => {
    const name = `${workload}_${width}`;
    const run = await heapTable(name, { width, pages: PAGES, seed: SEED, workload });
    let compactions = 0;
    run.onCompaction = () => compactions++;
    await expectSamePages(name, run, width);
    const steps =
      workload === 'updates' ? [1, 1, 1, 2, 5, 10, ...Array<number>(10).fill(120)] : Array<number>(20).fill(1);
    for (const step of steps) {
      await updateBoth(name, run, step);
      await expectSamePages(name, run, width);
    }
    expect(compactions).toBeGreaterThan(steps.length);
    expect(await server.query(`SELECT pg_relation_size('${name}')::int4 AS bytes`)).toEqual([
      { bytes: PAGES * SERVER_BLOCK_SIZE },
    ]);
  });
});

describe(`rows under another strategy (seed ${SEED})`, () => {
  it.each(['workspace', 'sort'] as const)(
    'are the same at the same line pointers; in the same places: %s',
    async (how) => {
      const name = `rows_${how}`;
      const run = await heapTable(name, { width: 40, pages: PAGES, seed: SEED, workload: 'updates', how });
      await updateBoth(name, run, 300);
      const ours = described(run.memory, 0, heapTuple(40));
      const theirs = described(await serverPage(name, 0), 0, heapTuple(40));
      const withoutPlaces = (lines: string[]): string[] =>
        lines.map((line) => line.replace(/lp_off \d+, lp_flags 1/, ''));
      expect(withoutPlaces(ours)).toEqual(withoutPlaces(theirs));
      if (how === 'workspace') expect(ours).toEqual(theirs);
      else expect(ours).not.toEqual(theirs);
    },
  );
});

describe(`an index whose keys are updated (seed ${SEED})`, () => {
  const key = (m: PageMemory, position: number): string => String(m.u32[(position >>> 2) + 2]);
  /** Block 1 of the index is its leaf. Heap TIDs are not compared: the model has none. */
  const expectSamePage = async (run: IndexUpdateRun): Promise<void> => {
    const page = await serverPage('keys_k', 1);
    expect(described(run.memory, 0, key)).toEqual(described(page, 0, key));
  };

  it('has its entries where PostgreSQL puts them, after each simple deletion', async () => {
    const run = new IndexUpdateRun(GEOMETRY, { seed: SEED });
    await server.query('CREATE TABLE keys (k int8 NOT NULL) WITH (autovacuum_enabled = off)');
    await server.query('INSERT INTO keys SELECT unnest($1::int8[])', [run.keys]);
    await server.query('CREATE INDEX keys_k ON keys (k) WITH (deduplicate_items = off)');
    await expectSamePage(run);
    let compactions = 0;
    run.onCompaction = () => compactions++;
    while (compactions < 12) {
      const changes = Array.from({ length: 45 }, () => run.update());
      const statements = changes.map(({ from, to, afterScan }) => {
        const scan = afterScan ? 'PERFORM sum(k) FROM keys WHERE k >= 0; ' : '';
        return `${scan}UPDATE keys SET k = ${to} WHERE k = ${from}; COMMIT;`;
      });
      await server.query(`DO $$ BEGIN ${statements.join(' ')} END $$`);
      await expectSamePage(run);
    }
  });
});
