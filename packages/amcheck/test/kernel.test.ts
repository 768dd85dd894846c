// The kernel's bytes against its source; and that checks with it, without it, and with threads say the same.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { checkRelation, PageProver, ProofThreads, type RelationCheckOptions } from '@blockwright/amcheck';
import { type Finding, runSync } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { pageMaxOffset, pageSetAllVisible } from '@blockwright/page';
import { bool, MAX_HEAP_ATTRIBUTES, TupleDescriptor } from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { KERNEL } from '../scripts/kernel.ts';
import { RUN_BYTES, WORK_AREA } from '../src/page-prover.ts';
import { provenColumns } from '../src/proven-columns.ts';
import { ABORTED, COLUMNS, makeFates, NEVER_ENDED, PLAIN, TestPage, TestRelation, XIDS } from './relation.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe('the bytes of the kernel', () => {
  const source = readFileSync(KERNEL.source, 'utf8');

  it('are what its source compiles to', async () => {
    expect(KERNEL.textOf(await KERNEL.compile(source))).toBe(readFileSync(KERNEL.file, 'utf8'));
  });

  it('canary: a source that was changed since is found', async () => {
    const changed = source.replace('length < 24', 'length < 23');
    expect(changed).not.toBe(source);
    expect(KERNEL.textOf(await KERNEL.compile(changed))).not.toBe(readFileSync(KERNEL.file, 'utf8'));
  });
});

describe('the work area of the kernel', () => {
  it('is laid out alike on both sides, with room for all that can be', () => {
    const inSource = [...readFileSync(KERNEL.source, 'utf8').matchAll(/^const ([A-Z_]+): usize = (\d+);$/gm)];
    expect(Object.fromEntries(inSource.map(([, name, at]) => [name, Number(at)]))).toEqual(WORK_AREA);
    const { STEPS, COLUMNS: columnsAt, ITEMS, MAP_BITS, VERDICTS } = WORK_AREA;
    const entries = MAX_HEAP_ATTRIBUTES * 8;
    expect(columnsAt - STEPS).toBeGreaterThanOrEqual(entries);
    expect(ITEMS - columnsAt).toBeGreaterThanOrEqual(entries);
    expect(MAP_BITS - ITEMS).toBeGreaterThanOrEqual((32_768 / 8) * 2);
    expect(VERDICTS - MAP_BITS).toBeGreaterThanOrEqual(RUN_BYTES / 1024);
  });

  it('has no room for more columns than a table can have: their pages are not proven', () => {
    const columns = (count: number): TupleDescriptor => {
      const all = Array.from({ length: 1600 }, (_, i) => ({ name: `c${i}`, type: bool() }));
      const descriptor = TupleDescriptor.of(all);
      const more = (list: readonly unknown[]): unknown[] => Array.from({ length: count }, (_, i) => list[i % 1600]);
      const { alignments, attlens } = descriptor;
      return { columns: more(all), alignments: more([...alignments]), attlens: more([...attlens]) } as never;
    };
    expect(provenColumns(columns(1600), true)?.columns.length).toBe(1600 * 8);
    expect(provenColumns(columns(1601), true)).toBe(undefined);
    const relation = new TestRelation(8192);
    relation.write(plainPages(relation, 3));
    const prove = vi.spyOn(PageProver.prototype, 'prove');
    relation.check({ descriptor: columns(1601) });
    expect(prove).not.toHaveBeenCalled();
  });
});

/** One change of a page: 16 bits at a byte, in the header, the line pointers or a tuple. */
interface Change {
  readonly block: number;
  /** What is changed: 0 the header, 1 a line pointer, 2 a tuple's header, 3 its attributes, else any byte. */
  readonly region: number;
  readonly at: number;
  readonly bits: number;
}

const change: fc.Arbitrary<Change> = fc.record({
  block: fc.nat(99),
  region: fc.nat(4),
  at: fc.nat(1 << 16),
  bits: fc.oneof(fc.integer({ min: 1, max: 0xffff }), fc.constantFrom(1, 2, 4, 8, 0x80, 0x100, 0x800, 0x8000)),
});

/** Pages of every sort that there can be without a fault: full, sparse, with dead and unused lines, chains, locks. */
function soundPages(relation: TestRelation, count: number): TestPage[] {
  return Array.from({ length: count }, (_, block) => {
    const page = new TestPage(relation.geometry, block);
    if (block % 4 === 1) page.addDead();
    if (block % 4 === 2) page.addUnused();
    for (let i = 0; i < 4; i++) page.add({}, [i, `row ${i} of block ${block}`, `${i}${block}.25`, i % 2 === 0]);
    page.add({}, [5, null, '-1234567.5', true]);
    page.add({}, [6, 'größer als ASCII', null, false]);
    page.add({ xmax: 1600, infomask: PLAIN & 0x100 }, [7, '', '0', true]); // deleted, as far as is known
    if (block % 4 === 3) page.add({ xmax: 0, infomask: PLAIN | 0x200 }, [8, 'frozen', '77.01', true]);
    return page;
  });
}

/** Without text beyond ASCII, deletions and holes: what the kernel is for. */
function plainPages(relation: TestRelation, count: number): TestPage[] {
  return Array.from({ length: count }, (_, block) => {
    const page = relation.page(block, 6);
    if (block % 2 === 0) pageSetAllVisible(page.memory, 0);
    return page;
  });
}

function damage(pages: readonly TestPage[], { block, region, at, bits }: Change): void {
  const { memory: m, geometry } = pages[block % pages.length];
  const lines = pageMaxOffset(m, 0);
  const known = lines > 0 && lines < 40 ? pages[block % pages.length].tuple(1 + (at % lines)) : 0;
  const tuple = known >= 24 && known < geometry.size - 64 ? known : 64;
  const starts = [(at % 12) * 2, 24 + (at % 16) * 2, tuple + (at % 12) * 2, tuple + 24 + (at % 16) * 2];
  const byte = starts[region] ?? at % (geometry.size - 1);
  m.u16[byte >> 1] ^= bits;
}

/** A check with the kernel and one without: their findings and summaries. */
function bothWays(relation: TestRelation, options: Partial<RelationCheckOptions> = {}): [unknown, unknown] {
  const withKernel = relation.check(options);
  vi.stubGlobal('WebAssembly', undefined);
  const without = relation.check(options);
  vi.unstubAllGlobals();
  return [withKernel, without];
}

const FATES = makeFates();

const VARIANTS: readonly Partial<RelationCheckOptions>[] = [
  {},
  { fates: FATES },
  { fates: FATES, descriptor: undefined },
  { descriptor: undefined, xids: undefined, endOfWal: undefined },
  { utf8: false },
  { checksums: false },
];

describe.each(BLOCK_SIZES)('a check of pages of %i bytes', (size: BlockSize) => {
  const mapped = (relation: TestRelation, pages: readonly TestPage[]): void => {
    relation.write(pages);
    if (size > 1024) relation.writeMap(pages.map(({ memory }) => ((memory.u16[5] & 4) === 0 ? 0 : 1)));
  };

  it('says the same with the kernel and without, whatever is damaged', () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 8 }),
        fc.boolean(),
        fc.nat(VARIANTS.length - 1),
        (changes, sound, v) => {
          const relation = new TestRelation(size);
          const pages = sound ? soundPages(relation, 5) : plainPages(relation, 5);
          for (const one of changes) damage(pages, one);
          mapped(relation, pages);
          const [withKernel, without] = bothWays(relation, VARIANTS[v]);
          expect(withKernel).toEqual(without);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('canary: a kernel that looks at no attributes is found out', () => {
    const { setPremises } = PageProver.prototype;
    vi.spyOn(PageProver.prototype, 'setPremises').mockImplementation(function (this: PageProver, premises) {
      setPremises.call(this, { ...premises, columns: undefined });
    });
    let differences = 0;
    for (let at = 0; at < 64; at++) {
      const relation = new TestRelation(size);
      const pages = plainPages(relation, 3);
      damage(pages, { block: 1, region: 3, at, bits: 0x80 });
      mapped(relation, pages);
      const [withKernel, without] = bothWays(relation);
      if (JSON.stringify(withKernel) !== JSON.stringify(without)) differences++;
    }
    expect(differences).toBeGreaterThan(0);
  });

  /** Rows of transactions of every fate, with every hint about them that there is. */
  const fatefulPages = (relation: TestRelation, picks: readonly number[]): TestPage[] =>
    Array.from({ length: 4 }, (_, block) => {
      const page = new TestPage(relation.geometry, block);
      for (let i = 0; i < 5; i++) {
        const pick = picks[(block * 5 + i) % picks.length];
        const xids = [1500, 1501, ...ABORTED, ...NEVER_ENDED, 2, 1000];
        const xmin = xids[pick % xids.length];
        const xmax = (pick & 8) === 0 ? 0 : xids[(pick >> 4) % 5];
        const hints = ((pick >> 7) & 3) << 8;
        const xmaxHints = xmax === 0 ? 0x800 : (((pick >> 9) & 3) << 10) | ((pick & 0x800) === 0 ? 0 : 0xc0);
        page.add({ xmin, xmax, infomask: hints | xmaxHints }, [i, `row ${i}`, '1.25', true]);
      }
      if ((picks[block % picks.length] & 1) !== 0) pageSetAllVisible(page.memory, 0);
      return page;
    });

  it('holds hint bits against the commit log with the kernel and without', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xfff), { minLength: 1, maxLength: 20 }), (picks) => {
        const relation = new TestRelation(size);
        mapped(relation, fatefulPages(relation, picks));
        const [withKernel, without] = bothWays(relation, { fates: makeFates() });
        expect(withKernel).toEqual(without);
      }),
      { numRuns: 150 },
    );
  });

  it('canary: a kernel that knows nothing of the commit log is found out', () => {
    const { setPremises } = PageProver.prototype;
    vi.spyOn(PageProver.prototype, 'setPremises').mockImplementation(function (this: PageProver, premises) {
      setPremises.call(this, { ...premises, committed: undefined });
    });
    const relation = new TestRelation(size);
    const page = new TestPage(relation.geometry, 0);
    page.add({ xmin: ABORTED[0] }); // called committed
    relation.write([page]);
    const [withKernel, without] = bothWays(relation, { fates: FATES });
    expect(JSON.stringify(withKernel)).not.toContain('not_committed');
    expect(JSON.stringify(without)).toContain('heap.tuple.xmin.not_committed');
  });

  it('proves rows of transactions that committed, and no other: deleted ones, locked ones, others in between', () => {
    const relation = new TestRelation(size);
    const pages = Array.from({ length: 8 }, (_, block) => relation.page(block, 2));
    pages[1].add({ xmax: 1600, infomask: PLAIN & 0x100 }); // deleted
    pages[2].add({ xmax: ABORTED[0], infomask: (PLAIN & 0x100) | 0xc0 }); // locked by one that aborted
    pages[3].add({ xmin: 1501, infomask: 0x800 }); // no hint yet
    pages[4].add({ xmax: ABORTED[0], infomask: PLAIN }); // not deleted after all
    pages[5].add({ xmin: ABORTED[0], infomask: 0xa00 }); // never inserted
    pages[6].add({ xmin: NEVER_ENDED[0], infomask: 0x800 }); // lost in a crash
    relation.write(pages);
    const prove = vi.spyOn(PageProver.prototype, 'prove');
    const { findings, summaries } = relation.check({ fates: FATES });
    expect(findings).toEqual([]);
    expect(summaries[0]?.judgedTuples).toBe(8 * 2 + 6);
    expect(prove.mock.results.reduce((sum, { value }) => sum + Number(value), 0)).toBe(5);
  });

  it('proves plain pages clean, all-visible ones and others, and no damaged one', () => {
    const relation = new TestRelation(size);
    const pages = plainPages(relation, 40);
    damage(pages, { block: 7, region: 2, at: 9, bits: 0x1000 });
    mapped(relation, pages);
    const prove = vi.spyOn(PageProver.prototype, 'prove');
    const { findings } = relation.check();
    expect(new Set(findings.map(({ block }) => block))).toEqual(new Set([7]));
    expect(prove.mock.results.reduce((sum, { value }) => sum + Number(value), 0)).toBe(39);
  });
});

/** A relation's files on the machine's disk. */
function onDisk<Result>(relation: TestRelation, use: (path: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'blockwright-proofs-'));
  try {
    for (const name of relation.vfs.readdir('/d'))
      writeFileSync(join(folder, name), relation.vfs.readFile(`/d/${name}`));
    return use(join(folder, '1000'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const UNIT_PAGES_SHIFT = 2;

function diskOptions(relation: TestRelation, path: string): RelationCheckOptions & { names: string[] } {
  const vfs = new NodeVfs();
  const { geometry } = relation;
  const names = relation.vfs.readdir('/d');
  const segmentBlocks = 16;
  const shown = (file: string): string => file.replace(/^.*[\\/]/, '');
  return {
    vfs,
    geometry,
    path,
    names,
    shown,
    segmentBlocks,
    checksums: true,
    descriptor: COLUMNS,
    utf8: true,
    xids: XIDS,
  };
}

function checkWith(options: RelationCheckOptions): { findings: Finding[]; summaries: unknown } {
  const findings: Finding[] = [];
  const summaries = runSync(checkRelation(options, (finding) => findings.push(finding)));
  return { findings, summaries };
}

interface Insides {
  readonly board: { claim(): number; state(unit: number): number; readonly units: number };
  readonly workers: readonly Worker[];
}

describe.each([1024, 8192, 32768] as const)('threads over pages of %i bytes', (size) => {
  const damaged = (changes: readonly Change[]): TestRelation => {
    const relation = new TestRelation(size);
    const pages = plainPages(relation, 37);
    for (const one of changes) damage(pages, one);
    const name = (block: number): string => (block < 16 ? '1000' : `1000.${block >> 4}`);
    for (let first = 0; first < pages.length; first += 16) relation.write(pages.slice(first, first + 16), name(first));
    return relation;
  };
  const planned = (
    options: RelationCheckOptions & { names: string[] },
    helpers: number,
    unitShift = options.geometry.shift + UNIT_PAGES_SHIFT,
  ): ProofThreads => {
    const { vfs, geometry } = options;
    const threads = new ProofThreads(vfs, geometry, new PageProver(), helpers, unitShift);
    threads.add(options);
    threads.start();
    return threads;
  };

  it('find and count what one thread does, in the same order', { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.nat(2), (changes, helpers) => {
        const relation = damaged(changes);
        onDisk(relation, (path) => {
          const options = diskOptions(relation, path);
          const threads = planned(options, helpers);
          try {
            expect(checkWith({ ...options, threads })).toEqual(checkWith(options));
          } finally {
            threads.close();
          }
        });
      }),
      { numRuns: 20 },
    );
  });

  it('prove all units by themselves, when nobody else does', async () => {
    const relation = damaged([{ block: 20, region: 2, at: 9, bits: 0x1000 }]);
    const folder = mkdtempSync(join(tmpdir(), 'blockwright-proofs-'));
    for (const name of relation.vfs.readdir('/d'))
      writeFileSync(join(folder, name), relation.vfs.readFile(`/d/${name}`));
    const options = diskOptions(relation, join(folder, '1000'));
    const threads = planned(options, 2);
    try {
      const { board } = threads as unknown as Insides;
      expect(board.units).toBe(10);
      const states = (): number[] => Array.from({ length: board.units }, (_, unit) => board.state(unit));
      await vi.waitFor(() => {
        expect(states()).toEqual(Array(10).fill(2));
      }, 30_000);
      expect(checkWith({ ...options, threads })).toEqual(checkWith(options));
    } finally {
      threads.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('leave no step longer than a run of 256 kB, however large the units are', () => {
    const relation = new TestRelation(size);
    const pages = (RUN_BYTES / size) * 3 + 1;
    const [sound] = plainPages(relation, 1);
    relation.write(Array.from({ length: pages }, () => sound));
    onDisk(relation, (path) => {
      const options = { ...diskOptions(relation, path), segmentBlocks: 1 << 17, checksums: false };
      const threads = planned(options, 0, 23);
      const prove = vi.spyOn(PageProver.prototype, 'prove');
      const check = checkRelation({ ...options, threads }, () => {});
      let steps = 0;
      for (let last = 0; check.next().done !== true; last = prove.mock.calls.length) {
        expect(prove.mock.calls.length - last).toBeLessThanOrEqual(1);
        steps++;
      }
      expect(steps).toBeGreaterThanOrEqual(4);
      threads.close();
    });
  });

  it('stop at their next run, with the unit in hand given up, when the check is left half-way', async () => {
    const relation = damaged([]);
    const folder = mkdtempSync(join(tmpdir(), 'blockwright-proofs-'));
    for (const name of relation.vfs.readdir('/d'))
      writeFileSync(join(folder, name), relation.vfs.readFile(`/d/${name}`));
    const options = diskOptions(relation, join(folder, '1000'));
    const threads = planned(options, 2);
    const check = checkRelation({ ...options, threads }, () => {});
    check.next();
    check.return([]);
    threads.close();
    const { board, workers } = threads as unknown as Insides;
    expect(board.claim()).toBe(-1);
    for (const worker of workers) if (worker.threadId !== -1) await once(worker, 'exit');
    rmSync(folder, { recursive: true });
  });

  it('that never end a unit hold nobody up', () => {
    const relation = damaged([{ block: 3, region: 1, at: 2, bits: 0x8000 }]);
    onDisk(relation, (path) => {
      const options = diskOptions(relation, path);
      const threads = planned(options, 0);
      const { board } = threads as unknown as Insides;
      expect([board.claim(), board.claim()]).toEqual([0, 1]);
      expect(checkWith({ ...options, threads })).toEqual(checkWith(options));
      threads.close();
    });
  });

  it('leave a file that cannot be read, or is shorter by now, to the one that checks', () => {
    const relation = damaged([]);
    onDisk(relation, (path) => {
      const options = diskOptions(relation, path);
      const threads = planned(options, 0);
      writeFileSync(`${path}.2`, relation.vfs.readFile('/d/1000.2').subarray(0, size));
      rmSync(`${path}.1`);
      const names = options.names.filter((name) => name !== '1000.1');
      const later = { ...options, names };
      expect(checkWith({ ...later, threads })).toEqual(checkWith(later));
      threads.close();
    });
  });
});
