// The scan benchmark: right answers are believed, wrong ones are not, and every kind of input works.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchmarkContext, BenchmarkReport } from '@blockwright/benchmark';
import { Database, initdb } from '@blockwright/engine';
import { TextPool, tableBatches } from '@blockwright/tpch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishedAnswers, q1Difference, q6Difference } from '../src/answers.ts';
import { scanBenchmark } from '../src/index.ts';
import { lineitemTable } from '../src/lineitem.ts';
import { openSubject, runQ1, runQ6 } from '../src/our-subject.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));
const SCALE = 0.001;

function context(signal: AbortSignal = new AbortController().signal): BenchmarkContext {
  return { log: () => {}, progress: () => {}, signal };
}

const run = (options: Parameters<Benchmark['run']>[0]): Promise<BenchmarkReport> =>
  scanBenchmark.run(options, context());

describe('bench scan', () => {
  it('runs every query at every block size, with pages, bytes and waste beside the times', async () => {
    const report = await run({ scale: SCALE });
    expect(report.results).toHaveLength(6 * 4);
    for (const cell of report.results) {
      expect(cell).toMatchObject({ engine: 'blockwright', units: 6005, rounds: 9 });
      expect(cell.bytes).toBe(Number(cell.pages) * Number(cell.blockSize));
      expect(cell.medianNs).toBeGreaterThan(0);
      expect(Number(cell.tailWaste)).toBeGreaterThan(0);
      expect(Number(cell.tailWaste)).toBeLessThan(160); // no page has room for another row
    }
    expect(report.aims.map(({ name, met }) => [name, met === null]).filter(([, unknown]) => unknown)).toHaveLength(7);
    expect(report.notes?.join(' ')).toContain('the known answers at scale 0.001');
  });

  it('computes the answers itself where none are known', async () => {
    const report = await run({ scale: 0.002, blockSizes: ['8kB'], queries: ['q1', 'q6'] });
    expect(report.notes?.join(' ')).toContain('computed from the rows by other code');
  });

  it("scans PostgreSQL's own file, and its data directory", async () => {
    const relations = readFileSync(`${FIXTURES}4k/expect/relations.txt`, 'utf8').split('\n');
    const path = relations.find((line) => line.startsWith('lineitem '))?.split(' ')[2];
    for (const options of [{ file: `${FIXTURES}4k/pgdata/${path}` }, { directory: `${FIXTURES}4k/pgdata` }]) {
      const report = await run({ ...options, queries: ['count', 'judged', 'q1', 'q6'] });
      expect(report.results.map(({ query, units, blockSize, pages }) => [query, units, blockSize, pages])).toEqual(
        ['count', 'judged', 'q1', 'q6'].map((query) => [query, 3000, 4096, 117]),
      );
    }
  });

  it('writes a page that needs nothing from elsewhere', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'blockwright-test-'));
    try {
      const html = join(directory, 'scan.html');
      await run({ scale: SCALE, blockSizes: ['1kB', '8kB'], queries: ['count', 'q1'], html });
      const page = readFileSync(html, 'utf8');
      expect(page).toContain('<meta name="viewport"');
      expect(page.match(/<canvas /g)).toHaveLength(3);
      expect(page).toContain('Chart.js');
      expect(page).not.toMatch(/<(script|link|img)[^>]+(src|href)=/);
      await expect(
        run({ scale: SCALE, blockSizes: ['8kB'], queries: ['count'], html: join(directory, 'no', 'file') }),
      ).rejects.toThrow(expect.objectContaining({ code: '58030' }));
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each([
    [{ directory: 'a', file: 'b' }, /not both/],
    [{ directory: 'a', peers: ['sqlite'] }, /peers/],
    [{ blockSizes: ['3kB'] }, /block size/],
    [{ queries: ['q7'] }, /q7/],
    [{ peers: ['oracle'] }, /oracle/],
    [{ rounds: 3 }, /at least 9|from 9/],
    [{ blocksizes: ['8kB'] }, /did you mean "blockSizes"/],
  ])('refuses %j', async (options, message) => {
    await expect(run(options as never)).rejects.toThrow(message);
  });

  it('stops when it is told to, and leaves nothing behind', async () => {
    const leftovers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('blockwright-bench-'));
    const before = leftovers();
    const controller = new AbortController();
    const reason = new Error('enough');
    const running = scanBenchmark.run(
      { scale: SCALE },
      { ...context(controller.signal), progress: ({ phase }) => phase === 'scanning' && controller.abort(reason) },
    );
    await expect(running).rejects.toThrow(reason);
    expect(leftovers().filter((name) => !before.includes(name))).toEqual([]);
  });
});

describe('the answers', () => {
  let home: string;
  let data: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'blockwright-test-'));
    data = join(home, 'data');
    initdb(data, { blockSize: 8192, dataChecksums: false });
    const database = Database.open(data);
    const table = lineitemTable('lineitem');
    database.createTable(table);
    database.loadSync(table, tableBatches('lineitem', SCALE, { pool: TextPool.open() }));
    database.close();
  });
  afterAll(() => rmSync(home, { recursive: true }));

  it('come from the stored bytes: one changed byte of a page changes them', () => {
    const answers = publishedAnswers(SCALE);
    if (answers === undefined) throw new Error('scale 0.001 has known answers');
    const file = `${data}/base/5/16384`;
    const bytes = readFileSync(file);
    // l_quantity's only digit of the first row (17): after int8 and three int4 come its length byte and its header.
    const tuple = bytes.readUInt32LE(24) & 0x7fff;
    const digit = tuple + (bytes[tuple + 22] as number) + 20 + 3;
    expect(bytes[digit]).toBe(17);
    const ask = (): [string | undefined, string | undefined] => {
      const subject = openSubject(data);
      try {
        return [
          q1Difference(runQ1(subject.target, subject.table), answers),
          q6Difference(runQ6(subject.target, subject.table), answers),
        ];
      } finally {
        void subject.close();
      }
    };
    expect(ask()).toEqual([undefined, undefined]);
    const changed = Buffer.from(bytes);
    changed[digit] = 18;
    writeFileSync(file, changed);
    expect(ask()[0]).toMatch(/sumQuantity of group NO is \d+ where \d+ is right/);
    writeFileSync(file, bytes);
    expect(ask()).toEqual([undefined, undefined]);
  });

  it('that are wrong stop the benchmark', async () => {
    // A row less: the count and both queries differ from what other code computes only if that code is wrong too; so
    // the known answers of another scale stand in for wrong ones.
    const answers = publishedAnswers(0.01);
    if (answers === undefined) throw new Error('scale 0.01 has known answers');
    const subject = openSubject(data);
    expect(q1Difference(runQ1(subject.target, subject.table), answers)).toBeDefined();
    expect(q6Difference(runQ6(subject.target, subject.table), answers)).toMatch(/revenue/);
    await subject.close();
  });
});
