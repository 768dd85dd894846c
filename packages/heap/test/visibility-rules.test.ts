// Who sees a tuple, may change it, or may remove it: for inserters and deleters of every fate, alone and in multixacts,
// with every set of hint bits that can be true, against a model that says it in words. And which hints are then set.
import { pageMemory } from '@blockwright/page';
import {
  setTupleCommandId,
  setTupleCtid,
  setTupleInfomask,
  setTupleXmax,
  setTupleXmin,
  tupleInfomask,
} from '@blockwright/tuple';
import { afterAll, describe, expect, it } from 'vitest';
import { HintSink, NO_HINTS } from '../src/hints.ts';
import {
  HEAPTUPLE_DEAD,
  HEAPTUPLE_DELETE_IN_PROGRESS,
  HEAPTUPLE_INSERT_IN_PROGRESS,
  HEAPTUPLE_LIVE,
  HEAPTUPLE_RECENTLY_DEAD,
  satisfiesMvcc,
  satisfiesUpdate,
  satisfiesVacuum,
  TM_BEING_MODIFIED,
  TM_DELETED,
  TM_INVISIBLE,
  TM_OK,
  TM_SELF_MODIFIED,
  TM_UPDATED,
} from '../src/index.ts';
import { FATES, type Fate, makeWorld, type World } from './fates.ts';

const XMIN_COMMITTED = 0x100;
const XMIN_INVALID = 0x200;
const XMAX_COMMITTED = 0x400;
const XMAX_INVALID = 0x800;
const IS_MULTI = 0x1000;
const LOCK_ONLY = 0x80;
const EXCL_LOCK = 0x40;
const COMBOCID = 0x20;

/** The command of the snapshot; rows of command 3 are not seen, those of 1 are. */
const NOW = 2;
const EARLIER = 1;
const LATER = 3;

type Kind = 'nothing' | 'delete' | 'update' | 'lock' | 'multi lock' | 'multi update';
interface Case {
  readonly inserter: Fate | 'frozen';
  readonly cmin: number;
  readonly kind: Kind;
  /** Who deleted, updated or locked. */
  readonly other: Fate;
  readonly cmax: number;
  /** In a multixact: who else locks. */
  readonly locker: Fate;
}

const isOwn = (fate: Fate | 'frozen'): boolean => fate === 'own' || fate === 'child';
const committedNow = (fate: Fate | 'frozen'): boolean => ['frozen', 'committed', 'later', 'newer'].includes(fate);
const runsNow = (fate: Fate | 'frozen'): boolean => fate === 'running' || isOwn(fate);
const removes = (kind: Kind): boolean => ['delete', 'update', 'multi update'].includes(kind);

/** Whether the snapshot takes what a transaction of that fate did, in that command, for done. */
function isDone(fate: Fate | 'frozen', command: number): boolean {
  return isOwn(fate) ? command < NOW : fate === 'frozen' || fate === 'committed';
}

function expectedMvcc({ inserter, cmin, kind, other, cmax }: Case): boolean {
  return isDone(inserter, cmin) && !(removes(kind) && isDone(other, cmax));
}

function expectedUpdate(c: Case): number {
  const { inserter, cmin, kind, other, cmax, locker } = c;
  if (isOwn(inserter) ? cmin >= NOW : !committedNow(inserter)) return TM_INVISIBLE;
  const isRunning = runsNow(other) || (kind.startsWith('multi') && runsNow(locker));
  if (kind === 'nothing') return TM_OK;
  if (!removes(kind)) return isRunning ? TM_BEING_MODIFIED : TM_OK;
  if (isOwn(other)) return cmax >= NOW ? TM_SELF_MODIFIED : TM_INVISIBLE;
  if (isRunning) return TM_BEING_MODIFIED;
  if (!committedNow(other)) return TM_OK;
  return kind === 'delete' ? TM_DELETED : TM_UPDATED;
}

function expectedVacuum({ inserter, kind, other }: Case): number {
  if (runsNow(inserter)) {
    return removes(kind) && runsNow(other) ? HEAPTUPLE_DELETE_IN_PROGRESS : HEAPTUPLE_INSERT_IN_PROGRESS;
  }
  if (!committedNow(inserter)) return HEAPTUPLE_DEAD;
  if (!removes(kind)) return HEAPTUPLE_LIVE;
  if (runsNow(other)) return HEAPTUPLE_DELETE_IN_PROGRESS;
  if (!committedNow(other)) return HEAPTUPLE_LIVE;
  return other === 'committed' ? HEAPTUPLE_DEAD : HEAPTUPLE_RECENTLY_DEAD;
}

/** Hint bits that say what is so: they may stand there or not. */
function trueHints(c: Case): number[] {
  const xmin =
    runsNow(c.inserter) || c.inserter === 'frozen'
      ? [0]
      : [0, committedNow(c.inserter) ? XMIN_COMMITTED : XMIN_INVALID];
  let xmax = [0];
  const isOver = !runsNow(c.other) && !(c.kind.startsWith('multi') && runsNow(c.locker));
  if (c.kind === 'nothing') xmax = [0, XMAX_INVALID];
  else if (isOver && !(removes(c.kind) && committedNow(c.other))) xmax = [0, XMAX_INVALID];
  else if (isOver && !c.kind.startsWith('multi')) xmax = [0, XMAX_COMMITTED];
  return xmin.flatMap((a) => xmax.map((b) => a | b));
}

/** What may stand there afterwards: nothing that is not so. */
function mayBeSet(c: Case): number {
  return trueHints(c).reduce((all, bits) => all | bits, 0);
}

const BLOCK = 7;
const OFFSET = 3;
const m = pageMemory(new ArrayBuffer(64));

function putTuple(world: World, c: Case, hints: number): void {
  const { me, xidOf } = world;
  let infomask = hints;
  m.u8.fill(0);
  if (c.inserter === 'frozen') infomask |= XMIN_COMMITTED | XMIN_INVALID;
  setTupleXmin(m, 0, c.inserter === 'frozen' ? 3 : xidOf[c.inserter]);
  const other = xidOf[c.other];
  if (c.kind.startsWith('multi')) {
    infomask |= IS_MULTI | (c.kind === 'multi lock' ? LOCK_ONLY | 0x10 : 0);
    const lockers = [xidOf[c.locker], ...(c.kind === 'multi lock' ? [other] : [])];
    setTupleXmax(m, 0, world.multi(lockers, c.kind === 'multi update' ? other : 0));
  } else if (c.kind !== 'nothing') {
    if (c.kind === 'lock') infomask |= LOCK_ONLY | EXCL_LOCK;
    setTupleXmax(m, 0, other);
  }
  const both =
    (isOwn(c.inserter) || c.inserter === 'undone') && removes(c.kind) && (isOwn(c.other) || c.other === 'undone');
  if (both) {
    setTupleCommandId(m, 0, me.comboCid(c.cmin, c.cmax));
    infomask |= COMBOCID;
  } else {
    setTupleCommandId(m, 0, isOwn(c.inserter) ? c.cmin : c.cmax);
  }
  setTupleCtid(m, 0, BLOCK, c.kind === 'update' || c.kind === 'multi update' ? OFFSET + 1 : OFFSET);
  setTupleInfomask(m, 0, infomask);
}

/** Cases that can be: nobody deletes what he cannot see, others do not write what is not committed. */
function* cases(): Generator<Case> {
  const commands = (fate: Fate | 'frozen'): number[] => (isOwn(fate) ? [EARLIER, NOW, LATER] : [EARLIER]);
  for (const inserter of [...FATES, 'frozen'] as const) {
    for (const cmin of commands(inserter)) {
      for (const kind of ['nothing', 'delete', 'update', 'lock', 'multi lock', 'multi update'] as const) {
        for (const other of kind === 'nothing' ? (['committed'] as const) : FATES) {
          if (kind !== 'nothing' && !isDeletable(inserter, other)) continue;
          for (const cmax of removes(kind) ? commands(other) : [EARLIER]) {
            if (isOwn(inserter) && isOwn(other) && cmax < cmin) continue;
            for (const locker of kind.startsWith('multi') ? FATES : (['committed'] as const)) {
              yield { inserter, cmin, kind, other, cmax, locker };
            }
          }
        }
      }
    }
  }
}

/** Whether the one could find the other's row: committed before, or its own. */
function isDeletable(inserter: Fate | 'frozen', other: Fate): boolean {
  if (inserter === 'frozen' || inserter === 'committed' || inserter === other) return true;
  if (inserter === 'later' || inserter === 'newer') return ['running', 'later', 'newer'].includes(other);
  return isMine(inserter) && isMine(other);
}

const isMine = (fate: Fate): boolean => isOwn(fate) || fate === 'undone';

/** As `expect(found).toBe(wanted)`, which is slow when asked thousands of times. */
function same(found: unknown, wanted: unknown, what: string): void {
  if (found !== wanted) expect(found, what).toBe(wanted);
}

let judged = 0;

describe.each([
  ['early xids', 100],
  ['xids beyond 2^31', 0x8000_0005],
  ['xids about to wrap around', 0xffff_fffc],
])('visibility, %s', (_, nextXid) => {
  it('follows the rules for every fate, with any hints that are true, and sets none that is not', () => {
    const world = makeWorld(nextXid, NOW);
    const { transactions, snapshot, me } = world;
    const horizon = transactions.horizon();
    for (const c of cases()) {
      for (const hints of trueHints(c)) {
        const what = JSON.stringify({ ...c, hints });
        const sink = new HintSink(true, true);
        const check = (found: () => unknown, wanted: unknown): void => {
          putTuple(world, c, hints);
          const before = tupleInfomask(m, 0);
          same(found(), wanted, what);
          const set = tupleInfomask(m, 0) & ~before;
          same(set & ~mayBeSet(c), 0, `hints set of ${what}`);
          same(set !== 0 && !sink.changed, false, what);
          same(found(), wanted, `again, ${what}`); // as its own hints say it
        };
        check(() => satisfiesMvcc(m, 0, snapshot, sink), expectedMvcc(c));
        check(() => satisfiesUpdate(m, 0, BLOCK, OFFSET, transactions, me, NOW, sink), expectedUpdate(c));
        check(() => satisfiesVacuum(m, 0, transactions, horizon, sink), expectedVacuum(c));
        putTuple(world, c, hints);
        const before = m.u8.slice();
        satisfiesMvcc(m, 0, snapshot, NO_HINTS);
        satisfiesUpdate(m, 0, BLOCK, OFFSET, transactions, me, NOW, NO_HINTS);
        satisfiesVacuum(m, 0, transactions, horizon, NO_HINTS);
        same(m.u8.join(), before.join(), `read only, ${what}`);
        judged++;
      }
    }
  });
});

afterAll(() => expect(judged).toBeGreaterThan(3 * 800));

describe('hints', () => {
  const world = makeWorld(100, NOW);
  const inserted: Case = {
    inserter: 'committed',
    cmin: EARLIER,
    kind: 'delete',
    other: 'committed',
    cmax: EARLIER,
    locker: 'own',
  };

  it('are set where they spare asking again', () => {
    putTuple(world, inserted, 0);
    const sink = new HintSink(true, true);
    satisfiesMvcc(m, 0, world.snapshot, sink);
    expect(tupleInfomask(m, 0)).toBe(XMIN_COMMITTED | XMAX_COMMITTED);
    expect(sink.changed).toBe(true);
    putTuple(world, { ...inserted, inserter: 'aborted', kind: 'nothing' }, 0);
    satisfiesMvcc(m, 0, world.snapshot, sink);
    expect(tupleInfomask(m, 0)).toBe(XMIN_INVALID);
    putTuple(world, { ...inserted, other: 'aborted' }, 0);
    satisfiesMvcc(m, 0, world.snapshot, sink);
    expect(tupleInfomask(m, 0)).toBe(XMIN_COMMITTED | XMAX_INVALID);
    putTuple(world, { ...inserted, kind: 'multi lock', locker: 'aborted' }, 0);
    satisfiesVacuum(m, 0, world.transactions, world.transactions.horizon(), sink);
    expect(tupleInfomask(m, 0) & XMAX_INVALID).toBe(XMAX_INVALID);
  });

  it('of a commit that a crash can undo wait, unless the relation would be gone, too', () => {
    const transactions = Object.create(world.transactions) as typeof world.transactions;
    transactions.hintAllowed = () => false;
    for (const [permanent, wanted] of [
      [true, 0],
      [false, XMIN_COMMITTED | XMAX_COMMITTED],
    ] as const) {
      const sink = new HintSink(true, permanent);
      putTuple(world, inserted, 0);
      expect(satisfiesVacuum(m, 0, transactions, transactions.horizon(), sink)).toBe(HEAPTUPLE_DEAD);
      expect(tupleInfomask(m, 0)).toBe(wanted);
      expect(sink.changed).toBe(wanted !== 0);
    }
    putTuple(world, { ...inserted, inserter: 'aborted', kind: 'nothing' }, 0);
    satisfiesVacuum(m, 0, transactions, transactions.horizon(), new HintSink(true, true));
    expect(tupleInfomask(m, 0)).toBe(XMIN_INVALID); // an abort cannot be undone
  });
});

describe('tuples that an old VACUUM FULL moved', () => {
  const world = makeWorld(100, NOW);
  it.each([
    ['off, which committed', 0x4000, 'committed', false],
    ['off, which aborted', 0x4000, 'aborted', true],
    ['in, which committed', 0x8000, 'committed', true],
    ['in, which aborted', 0x8000, 'aborted', false],
  ] as const)('%s', (_, bit, mover, isThere) => {
    const sink = new HintSink(true, true);
    putTuple(
      world,
      { inserter: 'committed', cmin: 1, kind: 'nothing', other: 'own', cmax: 1, locker: 'own' },
      XMAX_INVALID,
    );
    setTupleInfomask(m, 0, tupleInfomask(m, 0) | bit);
    setTupleCommandId(m, 0, world.xidOf[mover]);
    expect(satisfiesMvcc(m, 0, world.snapshot, NO_HINTS)).toBe(isThere);
    expect(satisfiesUpdate(m, 0, BLOCK, OFFSET, world.transactions, world.me, NOW, NO_HINTS)).toBe(
      isThere ? TM_OK : TM_INVISIBLE,
    );
    expect(satisfiesVacuum(m, 0, world.transactions, 100, sink)).toBe(isThere ? HEAPTUPLE_LIVE : HEAPTUPLE_DEAD);
    expect(tupleInfomask(m, 0) & (XMIN_COMMITTED | XMIN_INVALID)).toBe(isThere ? XMIN_COMMITTED : XMIN_INVALID);
  });
});
