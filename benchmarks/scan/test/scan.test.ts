// The scan benchmark: right answers are believed, wrong ones are not, and every kind of input works.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchmarkContext, BenchmarkReport } from '@blockwright/benchmark';
import { Database, initdb } from '@blockwright/engine';
import { TextPool, tableBatches } from '@blockwright/tpch';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { publishedAnswers, q1Difference, q6Difference } from '../src/answers.ts';
import { tryHtml } from '../src/html.ts';
import { scanBenchmark } from '../src/index.ts';
import { lineitemTable } from '../src/lineitem.ts';
import { fileSubject, loadSubject, openSubject, runQ1, runQ6 } from '../src/our-subject.ts';
import { type Subject, withSubjects } from '../src/subject.ts';

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
    expect(report.results).toHaveLength(6 * 10);
    for (const cell of report.results) {
      const units = cell.query === 'keysum' ? 3002 : 6005;
      expect(cell).toMatchObject({ engine: 'blockwright', units, rounds: 9 });
      expect(cell.poolHits).toBe(1); // what loading read and wrote is not counted
      expect(cell.bytes).toBe(Number(cell.pages) * Number(cell.blockSize));
      expect(cell.medianNs).toBeGreaterThan(0);
      expect(Number(cell.tailWaste)).toBeGreaterThan(0);
      expect(Number(cell.tailWaste)).toBeLessThan(160); // no page has room for another row
    }
    expect(report.aims.map(({ name, met }) => [name, met === null]).filter(([, unknown]) => unknown)).toHaveLength(10);
    expect(report.notes?.join(' ')).toContain('the known answers at scale 0.001');
    expect(report.notes?.join(' ')).not.toContain('as they are');
    expect(report.settings).toMatchObject({ scale: SCALE, blockSizes: ['1kB', '2kB', '4kB', '8kB', '16kB', '32kB'] });
  });

  it('runs each thing once that is named twice', async () => {
    const options = { scale: SCALE, blockSizes: ['8kB', '8192', '1kB', '8kB'], queries: ['count', 'q6', 'count'] };
    const report = await run(options);
    const ran = report.results.map(({ query, blockSize }) => [query, blockSize]);
    expect(ran).toEqual([8192, 1024].flatMap((size) => ['count', 'q6'].map((query) => [query, size])));
    expect(report.settings).toMatchObject({ blockSizes: ['8kB', '1kB'], queries: ['count', 'q6'] });
    // Peers are found and started: here it is enough that the second mention starts no second one.
    const peers = await run({ scale: SCALE, blockSizes: ['8kB'], queries: ['count'], peers: ['sqlite', 'sqlite'] });
    expect(peers.results.map(({ engine }) => String(engine).split(' ')[0])).toEqual(['blockwright', 'SQLite']);
  });

  it('computes the answers itself where none are known', async () => {
    const report = await run({ scale: 0.002, blockSizes: ['8kB'], queries: ['q1', 'q6'] });
    expect(report.notes?.join(' ')).toContain('computed from the rows by other code');
  });

  it('counts and sums from an index alone, and says what the map costs', async () => {
    const queries = ['keys', 'keysum', 'keys-unasked', 'keys-window', 'keys-multiplying', 'keys-dividing'];
    const report = await run({ scale: 0.002, blockSizes: ['1kB', '8kB'], queries });
    expect(report.results.map(({ query, blockSize }) => [query, blockSize])).toEqual(
      [1024, 8192].flatMap((size) => queries.map((query) => [query, size])),
    );
    const rows = report.results[0].units;
    expect(report.results.map(({ units }) => units)).toEqual(
      [0, 1].flatMap(() => queries.map((query) => (query === 'keysum' ? rows >>> 1 : rows))),
    );
    const costs = report.notes?.filter((note) => note.startsWith('The map at'));
    expect(costs).toHaveLength(2);
    expect(costs?.[0]).toMatch(/^The map at 1kB: -?[\d.]+ ns an entry by its window, .* by a dividing one\.$/);
    expect(report.aims?.at(-1)).toMatchObject({ aim: 1.5, comparison: 'at most', measured: null });
  });

  it("scans PostgreSQL's own file, and its data directory", async () => {
    const relations = readFileSync(`${FIXTURES}4k/expect/relations.txt`, 'utf8').split('\n');
    const path = relations.find((line) => line.startsWith('lineitem '))?.split(' ')[2];
    for (const options of [{ file: `${FIXTURES}4k/pgdata/${path}` }, { directory: `${FIXTURES}4k/pgdata` }]) {
      const report = await run({ ...options, queries: ['count', 'judged', 'q1', 'q6'] });
      expect(report.results.map(({ query, units, blockSize, pages }) => [query, units, blockSize, pages])).toEqual(
        ['count', 'judged', 'q1', 'q6'].map((query) => [query, 3000, 4096, 117]),
      );
      expect(report.notes?.join(' ')).toContain('judging ran on the pages as they are');
      expect(report.settings).not.toHaveProperty('scale', expect.anything());
    }
  });

  it('refuses a file and a table without rows', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'blockwright-test-'));
    try {
      const file = join(directory, '16384');
      writeFileSync(file, '');
      await expect(run({ file })).rejects.toThrow(
        expect.objectContaining({ code: '55000', message: `"${file}" has no rows to scan` }),
      );
      const data = join(directory, 'data');
      initdb(data);
      const database = Database.open(data);
      database.createTable(lineitemTable('lineitem'));
      database.close();
      await expect(run({ directory: data })).rejects.toThrow(/table "lineitem" of ".*" has no rows to scan/);
      Database.open(data).close(); // and nothing holds it
    } finally {
      rmSync(directory, { recursive: true });
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
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('refuses a page that cannot be written before it does anything, and leaves what is there as it is', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'blockwright-test-'));
    try {
      const started: string[] = [];
      const noting = { ...context(), progress: ({ phase }: { phase: string }) => started.push(phase) };
      for (const html of [join(directory, 'no', 'file'), directory]) {
        await expect(scanBenchmark.run({ scale: SCALE, html }, noting)).rejects.toThrow(
          expect.objectContaining({ code: '58030', message: expect.stringContaining(html) }),
        );
      }
      expect(started).toEqual([]);
      const [fresh, kept, link] = ['fresh.html', 'kept.html', 'link.html'].map((name) => join(directory, name));
      writeFileSync(kept, 'kept');
      symlinkSync(join(directory, 'not-yet.html'), link);
      for (const html of [fresh, kept, link]) {
        tryHtml(html);
        // A run that fails later leaves no page and takes none away.
        await expect(run({ file: join(directory, 'missing'), html })).rejects.toThrow(/missing/);
      }
      expect(readdirSync(directory).sort()).toEqual(['kept.html', 'link.html']);
      expect(readFileSync(kept, 'utf8')).toBe('kept');
      expect(existsSync(link)).toBe(false); // it still leads nowhere
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each([
    [{ directory: 'a', file: 'b' }, /not both/],
    [{ directory: 'a', scale: 0.01 }, /--scale/],
    [{ file: 'a', scale: 0.1 }, /--scale/],
    [{ directory: 'a', blockSizes: ['8kB'] }, /--block-sizes/],
    [{ file: 'a', blockSizes: ['8kB'] }, /--block-sizes/],
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

describe('the judged count', () => {
  /** Flags of a page's header with PostgreSQL's PD_ALL_VISIBLE, 4, set. */
  function markedPages(database: Database, name: string): boolean[] {
    const path = database.tables().find((table) => table.name === name)?.path ?? '';
    const bytes = readFileSync(join(database.directory, path));
    const pages = Array.from({ length: bytes.length / database.blockSize }, (_, page) => page * database.blockSize);
    return pages.map((page) => (bytes.readUInt16LE(page + 10) & 4) !== 0);
  }

  it.each([1024, 8192, 32768] as const)(
    'judges at %i-byte blocks: no page is marked, in map or header',
    async (size) => {
      const { signal, progress } = context();
      const load = { scale: SCALE, pool: TextPool.open(), signal, progress, withUnmarked: true, withIndex: false };
      const subject = await loadSubject(size, load);
      try {
        const database = subject.target as Database;
        const counted = vi.spyOn(subject.target, 'count');
        expect(subject.answer.judged?.()).toBe(6005);
        expect(subject.answer.count?.()).toBe(6005);
        const [judged, spared] = counted.mock.results.map(({ value }) => value);
        expect(counted.mock.calls.map(([table]) => table.name)).toEqual(['lineitem_unmarked', 'lineitem']);
        expect(judged).toMatchObject({ pagesByMap: 0, unknown: 0 });
        expect(spared).toMatchObject({ pages: subject.pages, pagesByMap: subject.pages });
        // Asking the map would spare nothing either.
        expect(database.count(database.table('lineitem_unmarked'))).toMatchObject({ rows: 6005, pagesByMap: 0 });
        expect(new Set(markedPages(database, 'lineitem_unmarked'))).toEqual(new Set([false]));
        expect(new Set(markedPages(database, 'lineitem'))).toEqual(new Set([true]));
      } finally {
        await subject.close();
      }
    },
  );

  it('asks no map in a file that stands', () => {
    const relations = readFileSync(`${FIXTURES}8k/expect/relations.txt`, 'utf8').split('\n');
    const path = relations.find((line) => line.startsWith('lineitem '))?.split(' ')[2];
    const subject = fileSubject(`${FIXTURES}8k/pgdata/${path}`);
    const counted = vi.spyOn(subject.target, 'count');
    expect(subject.answer.judged?.()).toBe(3000);
    expect(counted.mock.results[0].value).toMatchObject({ pagesByMap: 0 });
    void subject.close();
  });
});

describe('subjects', () => {
  function fake(name: string, log: string[], fails = false): Subject {
    const close = (): void => {
      log.push(name);
      if (fails) throw new Error(`${name} does not close`);
    };
    return { engine: name, close } as unknown as Subject;
  }

  it('are all closed when one does not close, and its error is told', async () => {
    const log: string[] = [];
    const subjects = [fake('a', log), fake('b', log, true), fake('c', log, true), fake('d', log)];
    await expect(withSubjects(subjects, async () => 1)).rejects.toThrow('b does not close');
    expect(log).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are all closed after an error, which is the one that is told', async () => {
    const log: string[] = [];
    const subjects = [fake('a', log, true), fake('b', log)];
    await expect(withSubjects(subjects, () => Promise.reject(new Error('first')))).rejects.toThrow('first');
    async function* opening(): AsyncGenerator<Subject> {
      yield* subjects;
      throw new Error('the third does not open');
    }
    await expect(withSubjects(opening(), async () => 1)).rejects.toThrow('the third does not open');
    expect(log).toEqual(['a', 'b', 'a', 'b']);
    const good = [fake('c', log), fake('d', log)];
    expect(await withSubjects(good, (given) => Promise.resolve(given.length))).toBe(2);
    expect(log).toEqual(['a', 'b', 'a', 'b', 'c', 'd']);
  });
});

describe('the answers', () => {
  let home: string;
  let data: string;
  let file: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'blockwright-test-'));
    data = join(home, 'data');
    initdb(data, { blockSize: 8192, dataChecksums: false });
    const database = Database.open(data);
    const table = lineitemTable('lineitem');
    database.createTable(table);
    database.loadSync(table, tableBatches('lineitem', SCALE, { pool: TextPool.open() }));
    file = join(data, database.tables().find(({ name }) => name === 'lineitem')?.path ?? '');
    database.close();
  });
  afterAll(() => rmSync(home, { recursive: true }));

  it('come from the stored bytes: one changed byte of a page changes them', () => {
    const answers = publishedAnswers(SCALE);
    if (answers === undefined) throw new Error('scale 0.001 has known answers');
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
