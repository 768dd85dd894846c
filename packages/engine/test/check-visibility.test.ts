// What a check says with the commit log at hand: an old map put back, hint bits that lie, a log that is gone, a directory
// that was not shut down. Of directories of ours and of PostgreSQL's, at all block sizes.
import { type Finding, runSync } from '@blockwright/base';
import { PostgresDirectory } from '@blockwright/catalog';
import { type CheckReport, checkPath, Database, initdb, table } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  itemPosition,
  LP_NORMAL,
  linePointer,
  lpFlags,
  type PageMemory,
  pageClearAllVisible,
  pageIsAllVisible,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
} from '@blockwright/page';
import {
  createVectors,
  HEAP_HOT_UPDATED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  int4,
  isXmaxLockOnly,
  setTupleInfomask,
  setTupleXmax,
  TupleDescriptor,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterAll, describe, expect, it } from 'vitest';
import { postgresCopy, writeFile } from './directories.ts';

function check(vfs: MemoryVfs, path: string): { report: CheckReport; findings: Finding[]; codes: string[] } {
  const findings: Finding[] = [];
  const report = runSync(checkPath(path, (finding) => findings.push(finding), { vfs }));
  return { report, findings, codes: findings.map(({ code }) => code) };
}

/** Changes a relation file's pages; checksums are made right again. */
function changePages(
  vfs: MemoryVfs,
  path: string,
  size: BlockSize,
  change: (m: PageMemory, base: number, block: number) => void,
): void {
  const bytes = vfs.readFile(path);
  const m = pageMemory(bytes.slice().buffer);
  for (let block = 0; block < bytes.length / size; block++) {
    change(m, block * size, block);
    pageSetChecksum(m, block * size, BlockGeometry.of(size), block);
  }
  writeFile(vfs, path, m.u8);
}

/** Changes each tuple of a relation file. */
function changeTuples(
  vfs: MemoryVfs,
  path: string,
  size: BlockSize,
  change: (m: PageMemory, pos: number) => void,
): void {
  changePages(vfs, path, size, (m, base) => {
    for (let offset = 1; offset <= pageMaxOffset(m, base); offset++) {
      if (lpFlags(linePointer(m, base, offset)) === LP_NORMAL) change(m, itemPosition(m, base, offset));
    }
  });
}

/** Changes what the commit log says of an xid. */
function setFate(vfs: MemoryVfs, path: string, xid: number, status: number): void {
  const bytes = vfs.readFile(path);
  const shift = (xid & 3) * 2;
  bytes[xid >> 2] = (bytes[xid >> 2] & ~(3 << shift)) | (status << shift);
  writeFile(vfs, path, bytes);
}
const COMMITTED = 1;
const ABORTED = 2;

const NUMBERS = table('numbers', { id: int4(), n: int4() });
const LOADED = 12; // few enough that no page is full, which would prune it

interface Ours {
  readonly vfs: MemoryVfs;
  readonly path: string;
  /** The map before anything was deleted. */
  readonly oldMap: Uint8Array;
  readonly database: Database;
}

/**
 * A table that was loaded frozen, then changed: row 1 deleted, row 2 updated, two inserted, and the same again rolled back.
 * Nobody has looked at it since, so no hint bit is set.
 */
function changedTable(size: BlockSize): Ours {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { blockSize: size, vfs });
  const database = Database.open('/data', { vfs });
  database.createTable(NUMBERS);
  const columns = createVectors(
    TupleDescriptor.of([
      { name: 'id', type: int4() },
      { name: 'n', type: int4() },
    ]),
    [0, 1],
    LOADED,
  );
  for (let i = 0; i < LOADED; i++) for (const vector of columns) if (vector.kind === 'int') vector.values[i] = i;
  database.loadSync(NUMBERS, [{ columns, length: LOADED }]);
  database.checkpoint();
  const path = `/data/${database.tables().find(({ name }) => name === 'numbers')?.path}`;
  const oldMap = vfs.readFile(`${path}_vm`).slice();
  const work = (tx: Pick<Database, 'insert' | 'delete' | 'update'>, first: number): void => {
    tx.delete(NUMBERS, 0, first);
    tx.update(NUMBERS, 0, first + 1, { n: -1 });
    tx.insert(NUMBERS, [
      { id: 100, n: 100 },
      { id: 101, n: 101 },
    ]);
  };
  database.transaction((tx) => work(tx, 1));
  const undone = database.begin();
  work(undone, 5);
  undone.rollback();
  return { vfs, path, oldMap, database };
}

const place = ({ block, offsetNumber }: Finding): string => `(${block},${offsetNumber})`;

describe.each(BLOCK_SIZES)('a directory of ours, of %i-byte blocks', (size) => {
  const closed = (): Ours => {
    const ours = changedTable(size);
    ours.database.close();
    return ours;
  };

  it('is clean, and says that it was held against the commit log', () => {
    const { vfs, path } = closed();
    const { report, findings } = check(vfs, '/data');
    expect(findings).toEqual([]);
    expect(report.isShutDown).toBe(true);
    const file = report.files.find((one) => one.file === path.replace('/data/', ''));
    expect(file?.judgedTuples).toBe(file?.tuples);
    expect(file?.tuples).toBeGreaterThan(LOADED);
  });

  it('with an old map put back over the newer heap: the rows that are gone are named, without a single hint bit', () => {
    const { vfs, path, oldMap } = closed();
    writeFile(vfs, `${path}_vm`, oldMap);
    const { findings } = check(vfs, '/data');
    const of = (code: string): Finding[] => findings.filter((finding) => finding.code === code);
    expect(of('heap.map.set_without_page_flag').map(({ block }) => block)).toContain(0);
    const gone = of('heap.all_visible.tuple');
    // Deleted and updated by who committed; what was inserted by who did not. Of who deleted and was rolled back, nothing.
    expect(gone.map(place)).toEqual(expect.arrayContaining(['(0,1)', '(0,2)']));
    expect(gone.map(place)).not.toEqual(expect.arrayContaining(['(0,5)']));
    expect(gone.map(place)).not.toEqual(expect.arrayContaining(['(0,6)']));
    expect(gone.every(({ severity, message }) => severity === 'error' && message.includes('visibility map'))).toBe(
      true,
    );
  });

  it('with hint bits that the commit log contradicts: each tuple is named, and what is wrong with it', () => {
    const { vfs, path } = closed();
    let inserter = 0;
    let rolledBack = 0;
    changeTuples(vfs, path, size, (m, pos) => {
      const infomask = tupleInfomask(m, pos);
      if ((infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_FROZEN) return;
      if (inserter === 0) inserter = tupleXmin(m, pos);
      else if (tupleXmin(m, pos) !== inserter) rolledBack = tupleXmin(m, pos);
    });
    expect(inserter * rolledBack).toBeGreaterThan(0);
    changeTuples(vfs, path, size, (m, pos) => {
      const infomask = tupleInfomask(m, pos);
      const isFrozen = (infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_FROZEN;
      const xmin = isFrozen ? 0 : tupleXmin(m, pos) === inserter ? HEAP_XMIN_COMMITTED : HEAP_XMIN_INVALID;
      const xmax = tupleXmax(m, pos) === inserter ? HEAP_XMAX_COMMITTED : HEAP_XMAX_INVALID;
      setTupleInfomask(m, pos, infomask | xmin | xmax);
    });
    expect(check(vfs, '/data').codes).toEqual([]); // true ones
    setFate(vfs, '/data/xact/0000', inserter, ABORTED);
    setFate(vfs, '/data/xact/0000', rolledBack, COMMITTED);
    const codes = check(vfs, '/data').codes.filter((code) => code.startsWith('heap.tuple.'));
    const count = (code: string): number => codes.filter((one) => one === `heap.tuple.${code}`).length;
    expect([count('xmin.not_committed'), count('xmax.not_committed')]).toEqual([3, 2]);
    expect([count('xmin.not_aborted'), count('xmax.not_aborted')]).toEqual([3, 2]);
    expect(codes).toHaveLength(10);
  });

  it('whose commit log is gone: that is an error, said once, and the rest is checked', () => {
    const { vfs } = closed();
    vfs.unlink('/data/xact/0000');
    const { findings } = check(vfs, '/data');
    const unreadable = findings.filter(({ code }) => code === 'commit_log.unreadable');
    expect(unreadable).toEqual([
      expect.objectContaining({ severity: 'error', message: expect.stringContaining('xact/0000') }),
    ]);
    expect(findings.filter(({ code }) => code.startsWith('heap.'))).toEqual([]);
  });

  it('that was not shut down is checked as it lies, and says so; a map that is ahead of its heap is a warning', () => {
    const { vfs, path, oldMap, database } = changedTable(size);
    database.checkpoint();
    const crashed = new MemoryVfs();
    copyTree(vfs, crashed, '/data');
    database.close();
    const before = check(crashed, '/data');
    expect(before.report).toMatchObject({ isShutDown: false, errors: 0, warnings: 0 });
    expect(before.findings).toEqual([
      expect.objectContaining({
        code: 'control.not_shut_down',
        severity: 'info',
        message: expect.stringMatching(/before recovery\. .*commit log are left out/),
      }),
    ]);
    expect(before.report.files.reduce((sum, { judgedTuples }) => sum + judgedTuples, 0)).toBe(0);
    writeFile(crashed, `${path}_vm`, oldMap);
    const ahead = check(crashed, '/data');
    expect(ahead.codes).toContain('heap.map.set_without_page_flag');
    expect(ahead.report).toMatchObject({ errors: 0 });
    expect(ahead.report.warnings).toBeGreaterThan(0);
  });
});

function copyTree(from: MemoryVfs, to: MemoryVfs, path: string): void {
  to.mkdir(path);
  for (const name of from.readdir(path)) {
    const child = `${path}/${name}`;
    if (from.stat(child)?.isDirectory === true) copyTree(from, to, child);
    else if (name !== 'blockwright.pid') writeFile(to, child, from.readFile(child));
  }
}

/** Sizes at which the fixture has such rows: on full pages some were pruned before they were kept. */
let chains = 0;
let multixacts = 0;
afterAll(() => expect(chains * multixacts).toBeGreaterThan(0));

describe.each(BLOCK_SIZES)('a directory of PostgreSQL, of %i-byte blocks', (size) => {
  const fileOf = (vfs: MemoryVfs, name: string): string => {
    using postgres = PostgresDirectory.open('/pg', { vfs });
    return `/pg/${postgres.path(postgres.table(name))}`;
  };

  it('is held against its commit log, every tuple', () => {
    const vfs = postgresCopy(size);
    const { report, findings } = check(vfs, '/pg');
    expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([]);
    expect(report.isShutDown).toBe(true);
    for (const { judgedTuples, tuples, kind, file } of report.files) {
      if (kind === 'heap') expect(judgedTuples, file).toBe(tuples);
    }
    const sum = (field: 'hotChains' | 'hotLinks') => report.files.reduce((total, file) => total + file[field], 0);
    expect(sum('hotChains')).toBeGreaterThan(0);
    expect(sum('hotLinks')).toBeGreaterThanOrEqual(sum('hotChains'));
  });

  it('without a hint bit in churn is clean all the same', () => {
    const vfs = postgresCopy(size);
    changeTuples(vfs, fileOf(vfs, 'churn'), size, (m, pos) => {
      const infomask = tupleInfomask(m, pos);
      const frozen = (infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_FROZEN ? HEAP_XMIN_FROZEN : 0;
      const xmax = tupleXmax(m, pos) === 0 ? HEAP_XMAX_INVALID : 0; // nothing writes 0 without it
      setTupleInfomask(
        m,
        pos,
        (infomask & ~(HEAP_XMIN_FROZEN | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)) | frozen | xmax,
      );
    });
    expect(check(vfs, '/pg').findings.filter(({ severity }) => severity !== 'info')).toEqual([]);
  });

  it('with a deleted row, by who committed, on a page that its map calls all-visible: the row is named', () => {
    const vfs = postgresCopy(size);
    using postgres = PostgresDirectory.open('/pg', { vfs });
    const log = vfs.readFile('/pg/pg_xact/0000');
    let committed = postgres.table('lineitem').frozenXid;
    while (((log[committed >> 2] >> ((committed & 3) * 2)) & 3) !== COMMITTED) committed++;
    expect(committed).toBeLessThan(postgres.control.checkpoint.nextXid);
    const path = fileOf(vfs, 'lineitem');
    let marked = -1;
    changePages(vfs, path, size, (m, base, block) => {
      if (marked >= 0 || !pageIsAllVisible(m, base)) return;
      marked = block;
      pageClearAllVisible(m, base);
      const pos = itemPosition(m, base, 2);
      setTupleXmax(m, pos, committed);
      setTupleInfomask(m, pos, tupleInfomask(m, pos) & ~HEAP_XMAX_INVALID);
    });
    const found = check(vfs, '/pg').findings.filter(({ severity }) => severity === 'error');
    expect(found.map((one) => [one.code, one.block, one.offsetNumber])).toEqual([
      ['heap.map.set_without_page_flag', marked, undefined],
      ['heap.all_visible.tuple', marked, 2],
    ]);
  });

  it('with the fate of one transaction changed in the log: its hints are contradicted', () => {
    const vfs = postgresCopy(size);
    const path = fileOf(vfs, 'churn');
    const committed = new Map<number, number>();
    const aborted = new Map<number, number>();
    changeTuples(vfs, path, size, (m, pos) => {
      const infomask = tupleInfomask(m, pos);
      const hint = infomask & HEAP_XMIN_FROZEN;
      const count = (of: Map<number, number>, xid: number): unknown => of.set(xid, (of.get(xid) ?? 0) + 1);
      if (hint === HEAP_XMIN_COMMITTED) count(committed, tupleXmin(m, pos));
      if (hint === HEAP_XMIN_INVALID) count(aborted, tupleXmin(m, pos));
      const deletes = tupleXmax(m, pos) !== 0 && !isXmaxLockOnly(infomask) && (infomask & 0x1000) === 0;
      if (deletes && (infomask & HEAP_XMAX_COMMITTED) !== 0) count(committed, tupleXmax(m, pos));
      if (deletes && (infomask & HEAP_XMAX_INVALID) !== 0) count(aborted, tupleXmax(m, pos));
    });
    for (const [fates, status, word] of [
      [committed, ABORTED, 'not_committed'],
      [aborted, COMMITTED, 'not_aborted'],
    ] as const) {
      for (const [xid, times] of fates) {
        const copy = postgresCopy(size);
        setFate(copy, '/pg/pg_xact/0000', xid, status);
        const codes = check(copy, '/pg').findings.filter(({ file }) => `/pg/${file}` === path);
        expect(
          codes.filter(({ code }) => code.endsWith(word)),
          `xid ${xid}`,
        ).toHaveLength(times);
        break; // one of each kind: a check of the whole directory takes its time
      }
    }
    expect(committed.size).toBeGreaterThan(0);
  });

  it('whose HOT chain lost its first inserter: what the log says of it is believed', () => {
    const vfs = postgresCopy(size);
    const path = fileOf(vfs, 'churn');
    const log = vfs.readFile('/pg/pg_xact/0000');
    const fateOf = (xid: number): number => (log[xid >> 2] >> ((xid & 3) * 2)) & 3;
    let inserter = 0;
    changeTuples(vfs, path, size, (m, pos) => {
      const isHot = (tupleInfomask2(m, pos) & HEAP_HOT_UPDATED) !== 0 && (tupleInfomask(m, pos) & 0x1000) === 0;
      if (isHot && fateOf(tupleXmax(m, pos)) === COMMITTED) inserter ||= tupleXmin(m, pos);
      setTupleInfomask(m, pos, tupleInfomask(m, pos) & ~HEAP_XMIN_FROZEN);
    });
    if (inserter === 0) return;
    chains++;
    setFate(vfs, '/pg/pg_xact/0000', inserter, 0);
    expect(new Set(check(vfs, '/pg').codes)).toContain('heap.hot_chain.in_progress_then_committed');
    setFate(vfs, '/pg/pg_xact/0000', inserter, ABORTED);
    expect(new Set(check(vfs, '/pg').codes)).toContain('heap.hot_chain.aborted_then_committed');
  });

  it('whose multixact lost its members: the tuple is named', () => {
    const vfs = postgresCopy(size);
    const path = fileOf(vfs, 'churn');
    let updated = 0;
    let multis = 0;
    changeTuples(vfs, path, size, (m, pos) => {
      const infomask = tupleInfomask(m, pos);
      if ((infomask & 0x1000) === 0) return;
      multis++;
      if (!isXmaxLockOnly(infomask) && (infomask & HEAP_XMAX_INVALID) === 0) updated++;
      else setTupleInfomask(m, pos, infomask & ~(HEAP_XMAX_INVALID | 0x80 | 0x50)); // as if it had updated the row
    });
    if (multis === 0) return;
    multixacts++;
    const before = check(vfs, '/pg').codes.filter((code) => code.startsWith('heap.tuple.xmax.'));
    expect(before).toEqual(Array(multis - updated).fill('heap.tuple.xmax.no_updater'));
    const members = vfs.readFile('/pg/pg_multixact/offsets/0000');
    writeFile(vfs, '/pg/pg_multixact/offsets/0000', members.fill(0));
    const after = check(vfs, '/pg').codes.filter((code) => code.startsWith('heap.tuple.xmax.'));
    expect(after).toEqual(Array(multis).fill('heap.tuple.xmax.members'));
  });
});
