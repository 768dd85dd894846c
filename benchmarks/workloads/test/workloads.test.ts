// The workloads on a small database: what they change is what their sums say, and a change that is lost is seen.
import { seededRandom } from '@blockwright/benchmark';
import { Database, initdb } from '@blockwright/engine';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createNarrow,
  createTpcb,
  drawTpcb,
  narrowTable,
  runTpcb,
  scanNarrow,
  sumTpcb,
  TELLERS_A_BRANCH,
  tpcbSumsAgree,
  tpcbTables,
  updateNarrow,
} from '../src/index.ts';

let db: Database;
beforeEach(() => {
  const vfs = new MemoryVfs();
  initdb('/data', { blockSize: 1024, vfs });
  db = Database.open('/data', { vfs });
});
afterEach(() => db.close());

describe('tpcb', () => {
  const size = { branches: 3, accountsABranch: 40 };
  const tables = tpcbTables(85);

  it('adds the same amount everywhere, and gives the balance', () => {
    createTpcb(db, tables, size);
    const random = seededRandom(1);
    let sum = 0;
    const balances = new Map<number, number>();
    for (let i = 0; i < 100; i++) {
      const parameters = drawTpcb(random, size);
      const { aid, delta } = parameters;
      sum += delta;
      balances.set(aid, (balances.get(aid) ?? 0) + delta);
      expect(db.transaction((tx) => runTpcb(tx, tables, parameters)).balance).toBe(balances.get(aid));
    }
    const sums = sumTpcb(db, tables);
    expect(sums).toEqual({ accounts: sum, tellers: sum, branches: sum, history: sum, transactions: 100 });
    expect(tpcbSumsAgree(sums, 100)).toBe(true);
    expect(tpcbSumsAgree(sums, 101)).toBe(false);
    expect(tpcbSumsAgree({ ...sums, tellers: sum + 1 }, 100)).toBe(false);
  });

  it('draws from the whole of each range', () => {
    const random = seededRandom(2);
    const drawn = Array.from({ length: 5000 }, () => drawTpcb(random, size));
    const range = (values: number[]): number[] => [Math.min(...values), Math.max(...values)];
    expect(range(drawn.map(({ aid }) => aid))).toEqual([1, 120]);
    expect(range(drawn.map(({ bid }) => bid))).toEqual([1, 3]);
    expect(range(drawn.map(({ tid }) => tid))).toEqual([1, 3 * TELLERS_A_BRANCH]);
    const [least, most] = range(drawn.map(({ delta }) => delta)) as [number, number];
    expect(least).toBeGreaterThanOrEqual(-5000);
    expect(least).toBeLessThan(-4900);
    expect(most).toBeLessThanOrEqual(5000);
    expect(most).toBeGreaterThan(4900);
  });

  it('refuses an account that is not there', () => {
    createTpcb(db, tables, size);
    const parameters = { aid: 121, bid: 1, tid: 1, delta: 1 };
    expect(() => db.transaction((tx) => runTpcb(tx, tables, parameters))).toThrow(/account 121/);
    expect(tpcbSumsAgree(sumTpcb(db, tables), 0)).toBe(true);
  });
});

describe('narrow', () => {
  it.each([true, false])('counts its updates in the rows, unlogged: %s', (unlogged) => {
    const narrow = narrowTable(unlogged);
    createNarrow(db, narrow, 200);
    expect(scanNarrow(db, narrow)).toEqual({ rows: 200, updates: 0 });
    const random = seededRandom(3);
    let hot = 0;
    for (let i = 0; i < 300; i++)
      if (db.transaction((tx) => updateNarrow(tx, narrow, Math.floor(random() * 200)))) hot++;
    expect(scanNarrow(db, narrow)).toEqual({ rows: 200, updates: 300 });
    expect(hot).toBeGreaterThan(150);
    expect(() => db.transaction((tx) => updateNarrow(tx, narrow, 200))).toThrow(/row 200/);
  });
});
