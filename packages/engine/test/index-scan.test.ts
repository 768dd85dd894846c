// Queries through indexes against a sorted array: random changes, ranges, paused scans, rows by their keys.
import { Database, initdb, type LoadBatch, type Scan, table } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ALL_COLUMNS,
  CODE_INDEX,
  type Event,
  event,
  events,
  given,
  KIND_INDEX,
  ORDERS,
  OWN_COLUMNS,
  wanted,
} from './index-model.ts';

const INDEXES = Object.keys(ORDERS);

function opened(blockSize: BlockSize): Database {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, blockSize, walSegmentSize: '1MB' });
  const db = Database.open('/data', { vfs });
  db.createTable(events);
  db.createIndexSync(events, KIND_INDEX);
  db.createIndexSync(events, CODE_INDEX);
  return db;
}

/** Frozen rows, on pages that the visibility map calls all-visible. */
function load(db: Database, rows: readonly Event[]): void {
  const source = table('source', events.columns);
  db.createTable(source);
  db.insert(source, rows);
  const batches = function* (): Generator<LoadBatch> {
    for (const { length, vectors } of db.scan(source, { columns: ALL_COLUMNS })) yield { length, columns: vectors };
  };
  db.loadSync(events, batches());
}

interface Range {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly fromExclusive?: boolean;
  readonly toExclusive?: boolean;
}

function inRange(id: number, { from, to, fromExclusive, toExclusive }: Range): boolean {
  return (
    (from === undefined || (fromExclusive === true ? id > from : id >= from)) &&
    (to === undefined || (toExclusive === true ? id < to : id <= to))
  );
}

type Step =
  | {
      readonly kind: 'insert' | 'delete' | 'update' | 'move';
      readonly id: number;
      readonly to: number | null;
      readonly keep: boolean;
    }
  | { readonly kind: 'open'; readonly index: string; readonly desc: boolean; readonly own: boolean }
  | { readonly kind: 'next'; readonly id: number }
  | ({ readonly kind: 'range'; readonly desc: boolean } & Range);

const ids = fc.integer({ min: 0, max: 400 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom('insert', 'delete', 'update', 'move'),
      id: ids,
      to: fc.option(fc.integer({ min: 0, max: 9 }), { freq: 5 }),
      keep: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      index: fc.constantFrom(...INDEXES),
      desc: fc.boolean(),
      own: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('next' as const), id: fc.nat(10) }) },
  {
    weight: 2,
    arbitrary: fc
      .record({
        kind: fc.constant('range' as const),
        desc: fc.boolean(),
        from: fc.option(ids, { nil: undefined }),
        to: fc.option(ids, { nil: undefined }),
        fromExclusive: fc.boolean(),
        toExclusive: fc.boolean(),
      })
      .map((one) => ({
        ...one,
        fromExclusive: one.fromExclusive && one.from !== undefined,
        toExclusive: one.toExclusive && one.to !== undefined,
      })),
  },
);

/** A scan that was begun, and what it must give in the end, whatever happens meanwhile. */
interface Paused {
  readonly rows: Iterator<Partial<Event>>;
  readonly scan: Scan<typeof events, keyof Event>;
  readonly got: Partial<Event>[];
  readonly check: () => void;
}

class World {
  readonly db: Database;
  readonly rows = new Map<number, Event>();
  readonly paused: Paused[] = [];

  constructor(size: BlockSize, loaded: readonly Event[]) {
    this.db = opened(size);
    load(this.db, loaded);
    for (const row of loaded) this.rows.set(row.id, row);
  }

  step(step: Step): void {
    if (step.kind === 'open') this.open(step.index, step.desc, step.own);
    else if (step.kind === 'next') this.goOn(step.id);
    else if (step.kind === 'range') {
      const { kind: _, desc, ...range } = step;
      this.range(range, desc);
    } else this.change(step);
  }

  private change({ kind, id, to, keep }: Exclude<Step, { kind: 'open' | 'next' | 'range' }>): void {
    const { db, rows } = this;
    const tx = db.begin();
    const before = rows.get(id);
    let after: Event | undefined;
    if (kind === 'insert') {
      after = event(id, to);
      if (before !== undefined) {
        expect(() => tx.insert(events, [after as Event])).toThrow(
          'duplicate key value violates unique constraint "events_pkey"',
        );
        tx.rollback();
        return;
      }
      tx.insert(events, [after]);
    } else if (kind === 'delete') {
      expect(tx.deleteByKey(events, id)).toBe(before !== undefined);
    } else if (kind === 'update') {
      // No indexed column changes: a HOT update, where the page has room.
      expect(tx.updateByKey(events, id, (row) => ({ note: `${row.note}+` }))).toBe(before !== undefined);
      after = before && { ...before, note: `${before.note}+` };
    } else {
      expect(tx.updateByKey(events, id, { kind: to })).toBe(before !== undefined);
      after = before && { ...before, kind: to };
    }
    expect(tx.get(events, id)).toEqual(after);
    if (keep) {
      tx.commit();
      if (after === undefined) rows.delete(id);
      else rows.set(id, after);
    } else tx.rollback();
    expect(db.get(events, id)).toEqual(rows.get(id));
  }

  open(index: string, desc: boolean, own: boolean): void {
    const columns = own ? OWN_COLUMNS[index] : ALL_COLUMNS;
    const expected = wanted(this.rows.values(), index, columns, desc);
    const scan = this.db.scan(events, { index, columns, order: desc ? 'desc' : 'asc' });
    const got: Partial<Event>[] = [];
    this.paused.push({
      rows: scan.rows(),
      scan,
      got,
      check: () => expect(given(got, index, columns, desc)).toEqual(expected),
    });
  }

  goOn(which: number): void {
    const paused = this.paused[which % Math.max(this.paused.length, 1)];
    for (let i = 0; paused !== undefined && i < 40; i++) {
      const { value, done } = paused.rows.next();
      if (done === true) return;
      paused.got.push(value);
    }
  }

  private range(range: Range, desc: boolean): void {
    const { db, rows } = this;
    const inside = [...rows.values()].filter(({ id }) => inRange(id, range));
    const options = { index: 'events_pkey', ...range } as const;
    const order: 'asc' | 'desc' = desc ? 'desc' : 'asc';
    const scan = db.scan(events, { ...options, columns: ALL_COLUMNS, order });
    expect(given([...scan.rows()], 'events_pkey', ALL_COLUMNS, desc)).toEqual(
      wanted(inside, 'events_pkey', ALL_COLUMNS, desc),
    );
    expect(db.count(events, options).rows).toBe(inside.length);
    expect(db.count(events, { ...options, map: false }).rows).toBe(inside.length);
  }

  finish(): void {
    for (const { rows, got, check } of this.paused) {
      for (let next = rows.next(); next.done !== true; next = rows.next()) got.push(next.value);
      check();
    }
    for (const index of INDEXES) {
      for (const own of [false, true]) {
        for (const desc of [false, true]) {
          const columns = own ? OWN_COLUMNS[index] : ALL_COLUMNS;
          const rows = [...this.db.scan(events, { index, columns, order: desc ? 'desc' : 'asc' }).rows()];
          expect(given(rows, index, columns, desc)).toEqual(wanted(this.rows.values(), index, columns, desc));
        }
      }
    }
    this.db.close();
  }
}

describe('queries through indexes', () => {
  it.each(BLOCK_SIZES)('give what a sorted array gives, with blocks of %i bytes', (size) => {
    fc.assert(
      fc.property(
        fc.uniqueArray(ids, { maxLength: 250 }),
        fc.array(steps, { maxLength: 120, size: 'max' }),
        (loaded, plan) => {
          const world = new World(
            size,
            loaded.map((id) => event(id, id % 3 === 0 ? null : id % 10)),
          );
          for (const step of plan) world.step(step);
          world.finish();
        },
      ),
      { numRuns: size === 1024 ? 12 : 3 },
    );
  });

  it('go on after the pages under them were split, and their rows deleted and put elsewhere', () => {
    const world = new World(
      1024,
      Array.from({ length: 200 }, (_, i) => event(i * 2, i % 10)),
    );
    for (const index of INDEXES)
      for (const desc of [false, true]) for (const own of [false, true]) world.open(index, desc, own);
    for (let i = 0; i < world.paused.length; i++) world.goOn(i);
    const fresh = Array.from({ length: 3000 }, (_, i) => event(1000 + i, i % 10));
    world.db.insert(events, fresh);
    world.db.insert(
      events,
      Array.from({ length: 200 }, (_, i) => event(i * 2 + 1, i % 10)),
    );
    for (let id = 0; id < 400; id += 3) world.db.deleteByKey(events, id);
    for (let id = 1000; id < 4000; id += 5) world.db.updateByKey(events, id, { kind: 99 });
    for (const { rows, got, check } of world.paused) {
      for (let next = rows.next(); next.done !== true; next = rows.next()) got.push(next.value);
      check();
    }
    world.db.close();
  });
});

describe('entries that are dead to everybody', () => {
  it('are killed by the scan that meets them, and passed over by the next', () => {
    const { db } = new World(1024, []);
    db.insert(
      events,
      Array.from({ length: 100 }, (_, id) => event(id, 1)),
    );
    db.transaction((tx) => {
      for (let id = 0; id < 100; id += 2) tx.deleteByKey(events, id);
    });
    const options = { index: 'events_kind' } as const;
    expect(db.count(events, options)).toMatchObject({ rows: 50, entries: 100, killed: 50 });
    expect(db.count(events, options)).toMatchObject({ rows: 50, entries: 50, killed: 0 });
    db.close();
  });

  it('are not killed as long as an older snapshot sees them', () => {
    const { db } = new World(1024, []);
    db.insert(
      events,
      Array.from({ length: 100 }, (_, id) => event(id, 1)),
    );
    using old = db.scan(events, { index: 'events_pkey', columns: ['id'] });
    for (let id = 0; id < 100; id += 2) db.deleteByKey(events, id);
    expect(db.count(events, { index: 'events_pkey' })).toMatchObject({ rows: 50, entries: 100, killed: 0 });
    expect([...old.rows()]).toHaveLength(100);
    expect(db.count(events, { index: 'events_pkey' })).toMatchObject({ rows: 50, killed: 50 });
    db.close();
  });
});

describe('an index-only scan', () => {
  it('asks the table only where the visibility map does not vouch for it, and gives whole values', () => {
    const rows = Array.from({ length: 300 }, (_, id) => event(id, id % 7));
    const { db } = new World(1024, rows);
    const scan = (): Scan<typeof events, 'kind' | 'code'> =>
      db.scan(events, { index: 'events_kind', columns: ['kind', 'code'] });
    const first = scan();
    const got = [...first.rows()];
    expect(given(got as Event[], 'events_kind', ['kind', 'code'], false)).toEqual(
      wanted(rows, 'events_kind', ['kind', 'code'], false),
    );
    expect(got[0].code).toHaveLength(6); // char(6), with its blanks
    expect(first.stats).toMatchObject({ entries: 300, heapFetches: 0 });
    db.updateByKey(events, 7, { note: 'changed' });
    const second = scan();
    expect([...second.rows()]).toHaveLength(300);
    expect(second.stats.heapFetches).toBeGreaterThan(0);
    expect(second.stats.heapFetches).toBeLessThan(60); // the rows of one page, and one more entry at most
    db.close();
  });

  it('sees, within a transaction, what that wrote, and of others only what was committed', () => {
    const { db } = new World(8192, [event(1, 1), event(2, 2)]);
    using mine = db.begin();
    mine.insert(events, [event(3, 3)]);
    mine.deleteByKey(events, 1);
    const idsOf = (from: Pick<Database, 'scan'>): number[] =>
      [...from.scan(events, { index: 'events_pkey', columns: ['id'] }).rows()].map(({ id }) => id);
    expect(idsOf(mine as never)).toEqual([2, 3]);
    expect(idsOf(db)).toEqual([1, 2]);
    mine.rollback();
    expect(idsOf(db)).toEqual([1, 2]);
    db.close();
  });
});
