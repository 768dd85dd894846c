// What runs before the crash: the tables, one transaction, and what has to be true of the tables afterwards.
import { expectAnswer, WrongAnswerError } from '@blockwright/benchmark';
import {
  ACCOUNTS_A_BRANCH,
  createNarrow,
  createTpcb,
  drawTpcb,
  narrowTable,
  runTpcb,
  scanNarrow,
  sumTpcb,
  tpcbSumsAgree,
  tpcbTables,
  updateNarrow,
} from '@blockwright/benchmark-workloads';
import { type Database, type DatabaseTransaction, type Row, type TableDef, type Tid, table } from '@blockwright/engine';
import { type ColumnType, int4 } from '@blockwright/tuple';

export const FILLFACTOR = 85;
const ROWS_A_STEP = 10_000;

export const WORKLOADS = ['update', 'tpcb', 'narrow'] as const;
export type WorkloadName = (typeof WORKLOADS)[number];

/** One run of a workload, on one database; afterwards `verify` also judges a copy that was recovered. */
export interface Workload {
  readonly name: WorkloadName;
  /** Tables whose bytes are counted. */
  readonly tables: readonly string[];
  /** Updates of rows of one transaction. */
  readonly updatesEach: number;
  /** Makes the tables and fills them. */
  create(db: Database): void;
  /** One transaction; gives how many of its updates stayed on their page (HOT). */
  step(tx: DatabaseTransaction, random: () => number): number;
  /** @throws WrongAnswerError when a row or one of `transactions` is missing. */
  verify(db: Database, transactions: number): void;
}

/** A workload on tables of about `rows` rows. */
export function workloadOf(name: WorkloadName, rows: number): Workload {
  switch (name) {
    case 'update':
      return updatesByTid(rows);
    case 'tpcb':
      return tpcb(rows);
    case 'narrow':
      return narrow(rows);
  }
}

/** As narrow as rows are where compaction weighs most: 32 bytes and a line pointer. */
const updatesTable: TableDef<{ id: ColumnType<number>; val: ColumnType<number> }> = table(
  'updates',
  { id: int4(), val: int4() },
  { fillfactor: FILLFACTOR },
);

/** Rows that are found by their TID: no index. */
function updatesByTid(rows: number): Workload {
  const tids: Tid[] = [];
  const increment = ({ val }: Row<typeof updatesTable>): { val: number } => ({ val: val + 1 });
  return {
    name: 'update',
    tables: [updatesTable.name],
    updatesEach: 1,
    create: (db) => {
      db.createTable(updatesTable);
      for (let from = 0; from < rows; from += ROWS_A_STEP) {
        const step = Array.from({ length: Math.min(ROWS_A_STEP, rows - from) }, (_, i) => ({ id: from + i, val: 0 }));
        db.transaction((tx) => tx.insert(updatesTable, step, { tids }));
      }
    },
    step: (tx, random) => {
      const row = Math.floor(random() * rows);
      const { block, offset } = tids[row] as Tid;
      tx.update(updatesTable, block, offset, increment);
      if (tx.lastWasHot) return 1;
      tids[row] = tx.lastTid;
      return 0;
    },
    verify: (db, transactions) => {
      let found = 0;
      let total = 0;
      for (const { length, columns } of db.scan(updatesTable, { columns: ['val'] })) {
        const { val } = columns;
        if (val.kind !== 'int') throw new WrongAnswerError(`val came as ${val.kind}`);
        found += length;
        for (let i = 0; i < length; i++) total += val.values[i];
      }
      expectAnswer('rows after recovery', rows)(found);
      expectAnswer('sum of val after recovery', transactions)(total);
    },
  };
}

/** pgbench's transaction: three updates by key, a look-up, and a row of the history. */
function tpcb(rows: number): Workload {
  const branches = Math.ceil(rows / ACCOUNTS_A_BRANCH);
  const size = { branches, accountsABranch: Math.ceil(rows / branches) };
  const tables = tpcbTables(FILLFACTOR);
  return {
    name: 'tpcb',
    tables: Object.values(tables).map((definition: TableDef) => definition.name),
    updatesEach: 3,
    create: (db) => createTpcb(db, tables, size),
    step: (tx, random) => runTpcb(tx, tables, drawTpcb(random, size)).hot,
    verify: (db, transactions) => {
      const sums = sumTpcb(db, tables);
      if (!tpcbSumsAgree(sums, transactions))
        throw new WrongAnswerError(`after ${transactions} transactions and recovery: ${JSON.stringify(sums)}`);
    },
  };
}

/** A narrow table with a primary key, looked up and updated by it. */
function narrow(rows: number): Workload {
  const definition = narrowTable(false);
  return {
    name: 'narrow',
    tables: [definition.name],
    updatesEach: 1,
    create: (db) => createNarrow(db, definition, rows),
    step: (tx, random) => (updateNarrow(tx, definition, Math.floor(random() * rows)) ? 1 : 0),
    verify: (db, transactions) => {
      const found = scanNarrow(db, definition);
      expectAnswer('rows after recovery', rows)(found.rows);
      expectAnswer('updates after recovery', transactions)(found.updates);
    },
  };
}
