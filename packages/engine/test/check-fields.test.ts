// For each bit of each field of the page header, line pointer and tuple header: flipped, with the checksum made right
// again, it is found, or is one of those that nothing contradicts: the page, the maps, the control file, the commit log.
// Those are listed here with the reason, and in amcheck's README.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Fates, type RelationCheckOptions, type XidRange } from '@blockwright/amcheck';
import { highWord, lowWord, parseLsn } from '@blockwright/base';
import { PostgresDirectory } from '@blockwright/catalog';
import { readControlFile } from '@blockwright/control';
import { Database, initdb, table } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { linePointer, lpFlags, lpOffset } from '@blockwright/page';
import { CommitLog, Transactions } from '@blockwright/transam';
import { date, int4, isXminFrozen, numeric, text, tupleInfomask, tupleXmax } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterAll, describe, expect, it } from 'vitest';
import { type Flip, FlipSubject, flipsOfPage, tellingOffsets } from './flips.ts';

/** Most line pointers of a page that are flipped; each flip is a check of the whole page. */
const mostOffsets = (size: BlockSize): number => (size > 8192 ? 2 : size > 2048 ? 4 : 6);

interface TupleState {
  readonly infomask: number;
  readonly xmax: number;
}

interface Undetectable {
  readonly what: string;
  readonly reason: string;
  matches(flip: Flip, tuple: TupleState): boolean;
}

const bits =
  (...which: number[]) =>
  (flip: Flip): boolean =>
    which.includes(flip.bit);
const isMulti = ({ infomask }: TupleState): boolean => (infomask & 0x1000) !== 0;

/** What cannot be found, and why. A row that nothing needs any more fails the test below. */
const UNDETECTABLE: readonly Undetectable[] = [
  {
    what: 'pd_lsn, another multiple of 8 up to the end of the WAL',
    reason: 'nothing else says when a page was last changed',
    matches: (flip) => flip.field === 'pd_lsn high' || (flip.field === 'pd_lsn low' && flip.bit > 2),
  },
  {
    what: 'pd_flags, PD_HAS_FREE_LINES and PD_PAGE_FULL',
    reason: 'hints, which may be wrong either way',
    matches: (flip) => flip.field === 'pd_flags' && bits(0, 1)(flip),
  },
  {
    what: 'pd_flags, PD_ALL_VISIBLE, where neither a tuple nor the map contradicts',
    reason: 'a page of visible rows may have the flag or not',
    matches: (flip) => flip.field === 'pd_flags' && flip.bit === 2,
  },
  {
    what: 'pd_prune_xid, another id that was given out',
    reason: 'a hint, which is not logged and may be old',
    matches: (flip) => flip.field === 'pd_prune_xid',
  },
  {
    what: 'pd_lower, line pointers at the end that have no item',
    reason: 'unused ones may stand there or be cut off, and nothing on the page leads to dead ones',
    matches: (flip) => flip.field === 'pd_lower',
  },
  {
    what: 't_xmin of a frozen tuple',
    reason: 'kept for people to look at; nothing goes by it',
    matches: (flip, tuple) => flip.field === 't_xmin' && isXminFrozen(tuple.infomask),
  },
  {
    what: 't_xmin, another id in use',
    reason: 'the commit log says how it ended, and not which row it wrote',
    matches: (flip) => flip.field === 't_xmin',
  },
  {
    what: 't_xmax, another id in use',
    reason: 'as t_xmin',
    matches: (flip, tuple) => flip.field === 't_xmax' && tuple.xmax !== 0,
  },
  {
    what: 't_cid',
    reason: 'counts commands of one transaction; any value is possible',
    matches: (flip) => flip.field === 't_cid',
  },
  {
    what: 't_ctid of a tuple with a t_xmax that may have updated it, or that is frozen',
    reason: 'a failed update leaves it behind, and it may lead to what is no more',
    matches: (flip, tuple) => flip.field.startsWith('t_ctid') && (isXminFrozen(tuple.infomask) || tuple.xmax !== 0),
  },
  {
    what: 't_infomask, HEAP_UPDATED of a tuple that is not heap-only',
    reason: 'the version before it may be gone',
    matches: (flip) => flip.field === 't_infomask' && flip.bit === 13,
  },
  {
    what: 't_infomask, HEAP_COMBOCID',
    reason: 'says how to read t_cid, and is never cleared',
    matches: (flip) => flip.field === 't_infomask' && flip.bit === 5,
  },
  {
    what: 't_infomask, hints about t_xmin that the commit log does not contradict',
    reason: 'one that is missing is no fault, and a row may be frozen at any time',
    matches: (flip) => flip.field === 't_infomask' && bits(8, 9)(flip),
  },
  {
    what: 't_infomask, hints about a t_xmax that is there, and that the commit log does not contradict',
    reason: 'one that is missing is no fault',
    matches: (flip, tuple) => flip.field === 't_infomask' && bits(10, 11)(flip) && tuple.xmax !== 0,
  },
  {
    what: 't_infomask, kind and strength of lock of a t_xmax that is there',
    reason: 'a lock and an update look alike without the transaction',
    matches: (flip, tuple) => flip.field === 't_infomask' && bits(4, 6, 7)(flip) && tuple.xmax !== 0,
  },
  {
    what: 't_infomask2, the number of attributes of a tuple that ends in nulls',
    reason: 'columns that were added later are not stored, and read as null too',
    matches: (flip, tuple) => flip.field === 't_infomask2' && flip.bit < 11 && (tuple.infomask & 1) !== 0,
  },
  {
    what: 't_infomask2, HEAP_KEYS_UPDATED of a tuple with a t_xmax',
    reason: 'which columns an update changed is not written down',
    matches: (flip, tuple) => flip.field === 't_infomask2' && flip.bit === 13 && tuple.xmax !== 0,
  },
  {
    what: 't_infomask2, HEAP_HOT_UPDATED of a tuple whose t_xmax is a multixact or failed',
    reason: 'one that only locks leads nowhere; a failed update leaves the flag behind',
    matches: (flip, tuple) =>
      flip.field === 't_infomask2' &&
      flip.bit === 14 &&
      (isMulti(tuple) || (tuple.infomask & 0x0800) !== 0) &&
      tuple.xmax !== 0,
  },
];

function tupleState(subject: FlipSubject, offset: number): TupleState {
  const { memory: m, base } = subject;
  const lp = offset === 0 ? 0 : linePointer(m, base, offset);
  if (lpFlags(lp) !== 1) return { infomask: 0, xmax: 0 };
  const tuple = base + lpOffset(lp);
  return { infomask: tupleInfomask(m, tuple), xmax: tupleXmax(m, tuple) };
}

interface Outcome {
  readonly flips: number;
  readonly found: number;
  /** Flips that are neither found nor in the list. */
  readonly missed: readonly string[];
}

const used = new Set<Undetectable>();

function flipAll(subject: FlipSubject): Outcome {
  const most = mostOffsets(subject.geometry.size);
  expect(subject.check()).toEqual([]);
  const flips = flipsOfPage(subject.memory, subject.base, tellingOffsets(subject.memory, subject.base, most));
  const missed: string[] = [];
  let found = 0;
  for (const flip of flips) {
    if (subject.findings(flip).length > 0) {
      found++;
      continue;
    }
    const tuple = tupleState(subject, flip.offset);
    const row = UNDETECTABLE.find((one) => one.matches(flip, tuple));
    if (row === undefined) {
      missed.push(
        `${flip.field} bit ${flip.bit} of (${subject.block},${flip.offset}), t_infomask 0x${tuple.infomask.toString(16)}, t_xmax ${tuple.xmax}`,
      );
    } else used.add(row);
  }
  return { flips: flips.length, found, missed };
}

/** Their commit logs are read as long as there are flips. */
const opened: PostgresDirectory[] = [];
afterAll(() => {
  for (const postgres of opened) postgres.close();
});

function onUnreadable(error: Error): never {
  throw error;
}

function fixture(size: BlockSize, name: string, block: number): FlipSubject {
  const directory = fileURLToPath(new URL(`../../../fixtures/pg/${size / 1024}k/pgdata`, import.meta.url));
  const postgres = PostgresDirectory.open(directory);
  opened.push(postgres);
  const relation = postgres.table(name);
  const path = `${directory}/${postgres.relation(relation).storage.name}`;
  const { nextXid, nextXidEpoch, oldestXid, nextMultiXact, oldestMultiXact, location } = postgres.control.checkpoint;
  const xids: XidRange = {
    next: nextXid,
    nextEpoch: nextXidEpoch,
    oldest: oldestXid,
    oldestInRelation: relation.frozenXid,
    multixacts: { next: nextMultiXact, oldest: oldestMultiXact, oldestInRelation: relation.minMultiXact },
  };
  const options: Omit<RelationCheckOptions, 'vfs' | 'geometry' | 'path'> = {
    segmentBlocks: postgres.control.segmentBlocks,
    checksums: true,
    descriptor: relation.descriptor,
    utf8: true,
    xids,
    fates: new Fates({ transactions: postgres.transactions, xids, onUnreadable }),
    endOfWal: parseLsn(location),
  };
  const map = existsSync(`${path}_vm`) ? readFileSync(`${path}_vm`) : undefined;
  return new FlipSubject(size, readFileSync(path), map, block, options);
}

const NOTES = table('notes', { id: int4(), day: date(), price: numeric(15, 2), note: text().nullable() });

function ours(size: BlockSize, freeze: boolean): FlipSubject {
  const vfs = new MemoryVfs();
  initdb('/data', { blockSize: size, vfs });
  const database = Database.open('/data', { vfs });
  database.createTable(NOTES);
  const rows = Array.from({ length: 300 }, (_, i) => ({
    id: i,
    day: '1996-03-13',
    price: `${i}.25`,
    note: i % 3 === 0 ? null : 'x'.repeat(i % 20),
  }));
  database.insert(NOTES, rows);
  const copy = table('copy', NOTES.columns);
  database.createTable(copy);
  const batches = [...database.scan(NOTES, { columns: ['id', 'day', 'price', 'note'] })].slice(0, 1);
  database.loadSync(
    copy,
    batches.map(({ length, vectors }) => ({ length, columns: vectors })),
    { freeze },
  );
  const path = `/data/${database.tables().find(({ name }) => name === 'copy')?.path}`;
  database.close();
  const map = vfs.exists(`${path}_vm`) ? vfs.readFile(`${path}_vm`) : undefined;
  const { nextXid, nextXidEpoch, oldestXid, checkpoint } = readControlFile(vfs, '/data');
  const xids = { next: nextXid, nextEpoch: nextXidEpoch, oldest: oldestXid };
  const commitLog = new CommitLog({ vfs, directory: '/data/xact', pageBytes: size, readOnly: true });
  return new FlipSubject(size, vfs.readFile(path), map, 0, {
    segmentBlocks: 0x4000_0000 / size,
    checksums: true,
    descriptor: NOTES.descriptor,
    utf8: true,
    xids,
    fates: new Fates({ transactions: Transactions.offline({ commitLog }), xids, onUnreadable }),
    endOfWal: { high: highWord(checkpoint.record), low: lowWord(checkpoint.record) },
  });
}

describe.each(BLOCK_SIZES)('flipped bits of pages of %i bytes are found or listed', (size) => {
  it.each(['types', 'lineitem', 'vacuumed', 'churn'])('in %s, as PostgreSQL wrote it', (name) => {
    const block = name === 'vacuumed' || name === 'churn' ? 0 : 1;
    expect(flipAll(fixture(size, name, block)).missed).toEqual([]);
  });

  it.each([true, false])('in a table that was loaded here, frozen: %s', (freeze) => {
    expect(flipAll(ours(size, freeze)).missed).toEqual([]);
  });
});

describe('the list', () => {
  it('holds nothing that is found after all', () => {
    expect(UNDETECTABLE.filter((row) => !used.has(row)).map(({ what }) => what)).toEqual([]);
  });

  it('stands in the README of amcheck, row by row', () => {
    const readme = readFileSync(new URL('../../amcheck/README.md', import.meta.url), 'utf8');
    const rows = UNDETECTABLE.map(({ what, reason }) => `| ${what} | ${reason} |`);
    expect(readme.split('\n').filter((line) => rows.includes(line))).toEqual(rows);
    expect(readme).toContain(`These ${UNDETECTABLE.length} are not found`);
  });

  it('is short: of all flips of a frozen, vacuumed page, so many are found', () => {
    const { flips, found } = flipAll(fixture(8192, 'types', 1));
    expect([flips, found]).toEqual([624, 514]);
  });
});
