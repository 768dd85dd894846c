// The pages that benchmarks/compactify measures, and those that the heap's own updates make, are those that PostgreSQL's
// updates make: the same updates, one by one on a live server, leave the same line pointers and the same items in the same places, after hundreds of compactions by
// `adaptive`. A run whose pages `sort` compacts is told apart, though its rows are the same.
import {
  type HeapUpdateOptions,
  HeapUpdateRun,
  type HeapWorkload,
  IndexUpdateRun,
} from '@blockwright/benchmark-compactify';
import { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageMemory } from '@blockwright/page';
import type { PostgresServer } from '@blockwright/peers';
import { startPostgres } from '@blockwright/peers';
import { afterAll, beforeAll, expect } from 'vitest';
import { described, heapTuple } from './described-pages.ts';
import { describe, it, SERVER_BLOCK_SIZE } from './oracle.ts';
import { WriterRun } from './writer-run.ts';

/** To repeat a run: `ORACLE_SEED=… vitest run test/compaction.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
const GEOMETRY = BlockGeometry.of(SERVER_BLOCK_SIZE);
const PAGES = 3;

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
async function updateBoth(name: string, run: HeapUpdateRun, transactions: number, heap?: WriterRun): Promise<void> {
  const lists = Array.from({ length: transactions }, () => run.transaction());
  if (heap !== undefined) for (const keys of lists) heap.update(keys);
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

async function expectSamePages(name: string, run: HeapUpdateRun, width: number, heap: WriterRun): Promise<void> {
  for (let block = 0; block < PAGES; block++) {
    const theirs = described(await serverPage(name, block), 0, heapTuple(width));
    expect(described(run.memory, block * SERVER_BLOCK_SIZE, heapTuple(width))).toEqual(theirs);
    expect(described(heap.page(block), 0, heapTuple(width))).toEqual(theirs);
  }
}

describe.each([40, 136, 200])(`updated rows of %i bytes (seed ${SEED})`, (width) => {
  it.each<HeapWorkload>(['updates', 'batches'])('lie where PostgreSQL puts them: %s', async (workload) => {
    const name = `${workload}_${width}`;
    const run = await heapTable(name, { width, pages: PAGES, seed: SEED, workload });
    const heap = new WriterRun(GEOMETRY, { width, rows: run.rows, xid: run.firstXid });
    let compactions = 0;
    run.onCompaction = () => compactions++;
    await expectSamePages(name, run, width, heap);
    const steps =
      workload === 'updates' ? [1, 1, 1, 2, 5, 10, ...Array<number>(10).fill(120)] : Array<number>(20).fill(1);
    for (const step of steps) {
      await updateBoth(name, run, step, heap);
      await expectSamePages(name, run, width, heap);
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
