// The tables and the transaction of pgbench, which follow TPC-B: an account, a teller and a branch get an amount added,
// and the history a row. Nothing measured here can be compared with published results of TPC.
import type { Database, DatabaseTransaction, TableDef } from '@blockwright/engine';
import { table } from '@blockwright/engine';
import { type ColumnType, char, int4, timestamptz } from '@blockwright/tuple';

export const TELLERS_A_BRANCH = 10;
export const ACCOUNTS_A_BRANCH = 100_000;

/** Amounts lie between minus and plus this many. */
const MOST_DELTA = 5000;
const ROWS_A_STEP = 10_000;

type Int4 = ColumnType<number>;
type Filler = ColumnType<string | null>;

/** PostgreSQL: pgbench_branches, with room for updates on the page where `fillfactor` says so. */
export interface TpcbTables {
  readonly branches: TableDef<{ bid: Int4; bbalance: Int4; filler: Filler }>;
  readonly tellers: TableDef<{ tid: Int4; bid: Int4; tbalance: Int4; filler: Filler }>;
  readonly accounts: TableDef<{ aid: Int4; bid: Int4; abalance: Int4; filler: Filler }>;
  readonly history: TableDef<{
    tid: Int4;
    bid: Int4;
    aid: Int4;
    delta: Int4;
    mtime: ColumnType<string>;
    filler: Filler;
  }>;
}

/** The four tables, three of them with a primary key. */
export function tpcbTables(fillfactor: number = 100): TpcbTables {
  const filler = (length: number): Filler => char(length).nullable();
  return {
    branches: table(
      'branches',
      { bid: int4(), bbalance: int4(), filler: filler(88) },
      { primaryKey: ['bid'], fillfactor },
    ),
    tellers: table(
      'tellers',
      { tid: int4(), bid: int4(), tbalance: int4(), filler: filler(84) },
      { primaryKey: ['tid'], fillfactor },
    ),
    accounts: table(
      'accounts',
      { aid: int4(), bid: int4(), abalance: int4(), filler: filler(84) },
      { primaryKey: ['aid'], fillfactor },
    ),
    history: table('history', {
      tid: int4(),
      bid: int4(),
      aid: int4(),
      delta: int4(),
      mtime: timestamptz(),
      filler: filler(22),
    }),
  };
}

/** How large the tables are. */
export interface TpcbSize {
  readonly branches: number;
  /** Of each branch. */
  readonly accountsABranch: number;
}

/** What one transaction is about. */
export interface TpcbParameters {
  readonly aid: number;
  readonly bid: number;
  readonly tid: number;
  readonly delta: number;
}

/** Draws a transaction's numbers, each evenly from its range. */
export function drawTpcb(random: () => number, { branches, accountsABranch }: TpcbSize): TpcbParameters {
  const upTo = (most: number): number => 1 + Math.floor(random() * most);
  return {
    aid: upTo(branches * accountsABranch),
    bid: upTo(branches),
    tid: upTo(branches * TELLERS_A_BRANCH),
    delta: upTo(2 * MOST_DELTA + 1) - MOST_DELTA - 1,
  };
}

/** What a transaction has to tell. */
export interface TpcbResult {
  /** The account's new balance. */
  readonly balance: number;
  /** How many of its three updates stayed on their page (HOT). */
  readonly hot: number;
}

/** The transaction. @throws StorageError 55P03 or 40001 when a row is another's. */
export function runTpcb(
  tx: DatabaseTransaction,
  { branches, tellers, accounts, history }: TpcbTables,
  { aid, bid, tid, delta }: TpcbParameters,
): TpcbResult {
  let hot = 0;
  tx.updateByKey(accounts, aid, ({ abalance }) => ({ abalance: abalance + delta }));
  if (tx.lastWasHot) hot++;
  const account = tx.get(accounts, aid, { columns: ['abalance'] });
  tx.updateByKey(tellers, tid, ({ tbalance }) => ({ tbalance: tbalance + delta }));
  if (tx.lastWasHot) hot++;
  tx.updateByKey(branches, bid, ({ bbalance }) => ({ bbalance: bbalance + delta }));
  if (tx.lastWasHot) hot++;
  tx.insert(history, [{ tid, bid, aid, delta, mtime: now(), filler: null }]);
  if (account === undefined) throw new RangeError(`there is no account ${aid}`);
  return { balance: account.abalance, hot };
}

/** As PostgreSQL writes it. */
function now(): string {
  return new Date().toISOString().replace('T', ' ').replace('Z', '+00');
}

/** Makes the tables and fills them; accounts are loaded last, which takes longest. */
export function createTpcb(db: Database, tables: TpcbTables, size: TpcbSize): void {
  const { branches, tellers, accounts, history } = tables;
  const blank = '';
  for (const definition of [branches, tellers, accounts, history]) db.createTable(definition);
  db.transaction((tx) => {
    for (let bid = 1; bid <= size.branches; bid++) {
      tx.insert(branches, [{ bid, bbalance: 0, filler: blank }]);
      for (let t = 1; t <= TELLERS_A_BRANCH; t++) {
        const tid = (bid - 1) * TELLERS_A_BRANCH + t;
        tx.insert(tellers, [{ tid, bid, tbalance: 0, filler: blank }]);
      }
    }
  });
  const total = size.branches * size.accountsABranch;
  for (let from = 0; from < total; from += ROWS_A_STEP) {
    const step = Array.from({ length: Math.min(ROWS_A_STEP, total - from) }, (_, i) => {
      const aid = from + i + 1;
      return { aid, bid: 1 + Math.floor((aid - 1) / size.accountsABranch), abalance: 0, filler: blank };
    });
    db.transaction((tx) => tx.insert(accounts, step));
  }
}

/** What has to agree after any number of transactions. */
export interface TpcbSums {
  readonly accounts: number;
  readonly tellers: number;
  readonly branches: number;
  readonly history: number;
  /** Rows of the history: transactions that committed. */
  readonly transactions: number;
}

/** Adds up what the tables hold. */
export function sumTpcb(db: Database, { branches, tellers, accounts, history }: TpcbTables): TpcbSums {
  return {
    accounts: sumOf(db, accounts, 'abalance'),
    tellers: sumOf(db, tellers, 'tbalance'),
    branches: sumOf(db, branches, 'bbalance'),
    history: sumOf(db, history, 'delta'),
    transactions: db.count(history).rows,
  };
}

/** Whether the sums agree with each other, and with how many transactions were told that they had committed. */
export function tpcbSumsAgree(sums: TpcbSums, transactions: number): boolean {
  const { accounts, tellers, branches, history } = sums;
  return accounts === tellers && tellers === branches && branches === history && sums.transactions === transactions;
}

function sumOf(db: Database, definition: TableDef, column: string): number {
  let sum = 0;
  for (const { length, columns } of db.scan(definition, { columns: [column] })) {
    const vector = columns[column];
    if (vector?.kind !== 'int') throw new TypeError(`column "${column}" came as ${String(vector?.kind)}`);
    for (let i = 0; i < length; i++) sum += vector.values[i];
  }
  return sum;
}
