// Our side: a data directory of one block size.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { WrongAnswerError } from '@blockwright/benchmark';
import { Database, initdb, type TableDef, table } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { type ColumnType, int4, int8, uuid } from '@blockwright/tuple';
import { drawLookUps, type Keys, makeKeys } from './keys.ts';
import { A_CALL_EACH, expectRows, type IndexPlan, type IndexSize, type IndexSubject, type Work } from './subject.ts';

const ROWS_A_STEP = 10_000;
/** Keys that are looked up once an index is there. */
const LOOKED_UP = 100;

type Rows = TableDef<{ id: ColumnType<bigint | string>; val: ColumnType<number> }>;

/** Makes the directory and the tables. */
export function openOurs(plan: IndexPlan, blockSize: BlockSize): IndexSubject {
  const directory = mkdtempSync(join(plan.folder, 'blockwright-index-'));
  let database: Database | undefined;
  const close = (): void => {
    try {
      database?.close();
    } finally {
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    }
  };
  try {
    initdb(directory, { blockSize });
    const db = Database.open(directory, { sharedBuffers: plan.buffers, maintenanceWorkMem: plan.workMem });
    database = db;
    const settings = { sharedBuffers: plan.buffers, maintenanceWorkMem: plan.workMem };
    const works = plan.kinds.flatMap((kind) => {
      const keys = makeKeys(kind, plan.rows, plan.seed);
      return plan.parts.map((part) => {
        if (part === 'build') return buildOf(db, keys);
        return part === 'insert' ? insertOf(db, keys) : lookUpOf(db, keys, plan);
      });
    });
    return { engine: 'blockwright', blockSize, isPeer: false, settings, works, close };
  } catch (error) {
    close();
    throw error;
  }
}

function rowsTable(keys: Keys, name: string, hasKey: boolean): Rows {
  const id = keys.kind === 'uuid' ? uuid() : int8();
  return table(`${name}_${keys.kind}`, { id, val: int4() }, hasKey ? { primaryKey: ['id'] } : {}) as unknown as Rows;
}

function insertAll(db: Database, definition: Rows, { values }: Keys): number {
  return db.transaction((tx) => {
    let inserted = 0;
    for (let from = 0; from < values.length; from += ROWS_A_STEP) {
      const step = values.slice(from, from + ROWS_A_STEP).map((id, i) => ({ id, val: from + i }));
      inserted += tx.insert(definition, step);
    }
    return inserted;
  });
}

function sizeOf(db: Database, definition: Rows): IndexSize | undefined {
  const [index] = db.indexes(definition);
  return index === undefined ? undefined : { bytes: index.bytes, levels: index.levels };
}

function buildOf(db: Database, keys: Keys): Work {
  const definition = rowsTable(keys, 'build', false);
  const name = `${definition.name}_id`;
  let isBuilt = false;
  return {
    query: 'build',
    kind: keys.kind,
    form: undefined,
    units: keys.values.length,
    prepare: () => {
      if (db.tables().every((known) => known.name !== definition.name)) {
        db.createTable(definition);
        insertAll(db, definition, keys);
      }
      if (isBuilt) db.dropIndex(name);
      isBuilt = false;
      db.checkpoint();
    },
    run: () => {
      db.createIndexSync(definition, { name, columns: ['id'], unique: true });
      isBuilt = true;
      return keys.values.length;
    },
    expected: keys.values.length,
    verify: () => verifyIndex(db, definition, name, keys),
    size: () => sizeOf(db, definition),
  };
}

function insertOf(db: Database, keys: Keys): Work {
  const definition = rowsTable(keys, 'insert', true);
  let isThere = false;
  return {
    query: 'insert',
    kind: keys.kind,
    form: A_CALL_EACH,
    units: keys.values.length,
    prepare: () => {
      if (isThere) db.dropTable(definition.name);
      db.createTable(definition);
      isThere = true;
      db.checkpoint();
    },
    run: () => insertAll(db, definition, keys),
    expected: keys.values.length,
    verify: () => verifyIndex(db, definition, `${definition.name}_pkey`, keys),
    size: () => sizeOf(db, definition),
  };
}

/** Every row is counted through the index, and some are found by their key. */
function verifyIndex(db: Database, definition: Rows, index: string, { values }: Keys): void {
  expectRows('blockwright', `index "${index}"`, db.count(definition, { index }).rows, values.length);
  const step = Math.ceil(values.length / LOOKED_UP);
  for (let row = 0; row < values.length; row += step) {
    const found = db.get(definition, values[row] as bigint | string, { index });
    if (found?.val !== row)
      throw new WrongAnswerError(`blockwright: key ${String(values[row])} gives row ${found?.val}`);
  }
}

function lookUpOf(db: Database, keys: Keys, { lookups, seed }: IndexPlan): Work {
  const definition = rowsTable(keys, 'look_up', true);
  const { rows, sum } = drawLookUps(keys, lookups, seed);
  return {
    query: 'look-up',
    kind: keys.kind,
    form: A_CALL_EACH,
    units: lookups,
    prepare: () => {
      if (db.tables().some((known) => known.name === definition.name)) return;
      db.createTable(definition);
      insertAll(db, definition, keys);
      db.checkpoint();
    },
    run: () => {
      let total = 0;
      for (const row of rows) total += db.get(definition, keys.values[row] as bigint | string)?.val ?? 0;
      return total;
    },
    expected: sum,
    verify: () => {},
    size: () => undefined,
  };
}
