// Random transactions through the engine's API, each statement beside the model: what it must give, or be refused with.
import { isStorageError } from '@blockwright/base';
import type { Database, DatabaseTransaction } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import type { SimulatedVfs } from '@blockwright/vfs/simulated';
import { loadBatch, markAllVisible, open, rowsText, tableOf, writeIndexes } from './engine.ts';
import { INDEX_KINDS, indexName, indexOptions, vacuumIndexes, wrongThroughIndexes } from './indexes.ts';
import {
  applied,
  type Change,
  type Hold,
  type HoldMode,
  holdsConflict,
  type ModelRow,
  type ModelState,
  type ModelTable,
  ModelTransaction,
  rowText,
} from './model.ts';
import { Random } from './random.ts';

/** The database as one more commit left it. */
export interface CommitPoint {
  readonly state: ModelState;
  /** Operations of the disk before the commit began: a crash up to there knows nothing of it. */
  readonly startedAt: number;
  /** Operations of the disk once it was promised to be durable; Infinity: it never was. */
  readonly durableAt: number;
}

/** A commit on its way to being one. */
interface Commit {
  readonly changes: readonly Change[];
  readonly startedAt: number;
  durableAt: number;
}

export interface WorkloadOptions {
  readonly seed: number;
  readonly blockSize: BlockSize;
  readonly hasChecksums: boolean;
  readonly actions: number;
  readonly disk: SimulatedVfs;
  /** What the database holds already. */
  readonly state?: ModelState;
  /** SQLSTATEs by which a statement or commit may fail because of a fault that was planted: the transaction is over then. */
  readonly tolerated?: readonly string[];
  /** Whether the engine may go on after 58030: nothing was lost by it. */
  readonly mayGoOn?: boolean;
}

interface Open {
  readonly number: number;
  readonly tx: DatabaseTransaction;
  readonly model: ModelTransaction;
  /** Names of tables that it may have used. */
  readonly used: Set<string>;
  /** Set while a commit off the thread is on its way. */
  isCommitting: boolean;
}

const ACTIONS = {
  insert: 12,
  update: 20,
  delete: 5,
  lock: 4,
  look: 4,
  savepoint: 4,
  release: 2,
  rollbackTo: 3,
  createTable: 2,
  dropTable: 1,
  load: 1,
  commit: 9,
  rollback: 2,
  begin: 2,
  checkpoint: 1,
  markAllVisible: 3,
  createIndex: 3,
  dropIndex: 1,
  duplicate: 2,
  deleteMany: 1,
  vacuum: 2,
  killEntries: 0,
} as const;
type Action = keyof typeof ACTIONS;
/** No action at all. */
const NOTHING = Object.fromEntries(Object.keys(ACTIONS).map((action) => [action, 0])) as Record<Action, number>;
/** What fails in them is no transaction's failure. */
const UNDER_NO_TRANSACTION: ReadonlySet<Action> = new Set(['checkpoint', 'markAllVisible', 'vacuum']);

/** How often what is done. */
interface Profile {
  readonly actions: Readonly<Record<Action, number>>;
  /** One transaction in so many commits asynchronously. */
  readonly asynchronous: number;
  /** Rows that an insert of many has at most. */
  readonly rows: number;
  /** Transactions that are open at a time, at most. */
  readonly open: number;
  /** Different values of a row's number. */
  readonly values: number;
}

/**
 * Workloads of five kinds, taken in turn: of everything; of tables made and loaded; of locks; of commits not waited for; of
 * indexes that grow and are emptied.
 */
const PROFILES: readonly Profile[] = [
  { actions: ACTIONS, asynchronous: 4, rows: 20, open: 4, values: 1000 },
  {
    actions: { ...ACTIONS, createTable: 10, dropTable: 3, load: 12, checkpoint: 0 },
    asynchronous: 4,
    rows: 20,
    open: 4,
    values: 1000,
  },
  {
    actions: { ...ACTIONS, lock: 30, look: 12, checkpoint: 6, insert: 8, update: 3, commit: 14 },
    asynchronous: 4,
    rows: 40,
    open: 4,
    values: 1000,
  },
  {
    actions: { ...ACTIONS, look: 16, commit: 18, insert: 18, checkpoint: 0 },
    asynchronous: 1,
    rows: 60,
    open: 4,
    values: 1000,
  },
  {
    actions: {
      ...NOTHING,
      createTable: 2,
      createIndex: 8,
      insert: 16,
      update: 4,
      deleteMany: 9,
      vacuum: 14,
      commit: 16,
      look: 2,
      rollback: 1,
      begin: 1,
      checkpoint: 1,
    },
    asynchronous: 4,
    rows: 90,
    open: 1,
    values: 5,
  },
];
/**
 * Without data checksums a hint is in no WAL, so pages that have nothing but hints to say go to the disk by themselves, and
 * most commits do not wait.
 */
function uncheckedOf(profile: Profile): Profile {
  const actions = { ...profile.actions, commit: 24, killEntries: 16 };
  return { ...profile, actions, asynchronous: 1, open: 1 };
}

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const MODES: readonly HoldMode[] = ['key share', 'share', 'no key update', 'update'];

/** Something that the engine did and should not have done. */
export class Mismatch extends Error {}

/** One run of a workload on a disk. */
export class Workload {
  readonly disk: SimulatedVfs;
  readonly db: Database;
  /** Operations until it was open. */
  readonly opened: number;
  /** The last actions, for messages. */
  readonly log: string[] = [];
  private readonly random: Random;
  private readonly options: WorkloadOptions;
  private readonly before: ModelState;
  private history: Commit[] = [];
  /** Whether the engine refuses everything, because the disk failed. */
  hasStopped = false;
  /** Whether it was shut down as it should be. */
  isClosed = false;
  private committed: ModelState;
  private open: Open[] = [];
  private nextId: number;
  private nextIdentity: number;
  private readonly commits: Promise<void>[] = [];
  private begun = 0;
  private readonly profile: Profile;

  constructor(options: WorkloadOptions) {
    this.options = options;
    this.disk = options.disk;
    this.random = new Random(options.seed);
    const profile = PROFILES[options.seed % PROFILES.length] as Profile;
    this.profile = options.hasChecksums ? profile : uncheckedOf(profile);
    this.before = options.state ?? new Map();
    this.committed = this.before;
    const all = [...this.committed.values()];
    this.nextId = Math.max(0, ...all.flatMap((one) => [...one.rows.keys()])) + 1;
    this.nextIdentity = Math.max(0, ...all.map((one) => one.identity)) + 1;
    this.db = this.openDatabase();
    this.opened = this.disk.operations;
  }

  /** A fault may hit here, too: it does so once. */
  private openDatabase(): Database {
    try {
      return open(this.disk, this.options.blockSize);
    } catch (error) {
      this.tolerate(error);
      return open(this.disk, this.options.blockSize);
    }
  }

  private isRefused(call: () => void): boolean {
    try {
      call();
      return false;
    } catch {
      return true;
    }
  }

  /** What was there at the beginning, and after each commit. */
  points(): CommitPoint[] {
    let state = this.before;
    const points = [{ state, startedAt: -1, durableAt: 0 }];
    for (const { changes, startedAt, durableAt } of this.history) {
      state = applied(state, changes);
      points.push({ state, startedAt, durableAt });
    }
    return points;
  }

  /** Makes the actions; what is open at the end stays open. @throws Mismatch when the engine and the model differ. */
  async run(): Promise<void> {
    for (let i = 0; i < this.options.actions && !this.hasStopped; i++) {
      // Nothing else runs meanwhile: a commit off the thread ends only while it is awaited.
      this.act(this.random.weighted(this.profile.actions));
      if (this.commits.length > 0 && this.random.once(3)) await this.awaitCommits();
    }
    await this.awaitCommits();
  }

  /** Ends what is open, and the database. */
  close(): void {
    if (!this.hasStopped) for (const one of [...this.open]) this.rollback(one);
    try {
      this.db.close();
    } catch (error) {
      this.tolerate(error);
      return;
    }
    this.isClosed = !this.hasStopped;
    if (this.isClosed) this.promiseDurable();
  }

  /** A disk that failed stops the engine: everything is refused. Where it need not, nothing is. */
  private lookWhetherStopped(error: unknown): void {
    if (!isStorageError(error) || error.code !== '58030') return;
    if (this.options.mayGoOn === true && !this.isRefused(() => this.db.begin().rollback())) return;
    this.hasStopped = true;
    const codes = [
      () => this.db.begin(),
      () => this.db.tables(),
      () => this.db.checkpoint(),
      () => this.open[0]?.tx.savepoint(),
    ].map((call) => {
      try {
        return call() === undefined ? '58030' : 'done';
      } catch (error) {
        return isStorageError(error) ? error.code : String(error);
      }
    });
    if (!codes.every((code) => code === '58030'))
      throw new Mismatch(`the disk has failed, and the engine goes on: ${codes.join(', ')}`);
  }

  /** One action. The engine may refuse what the model says it may refuse; everything else is a mismatch. */
  private act(action: Action): void {
    if (action === 'begin') {
      if (this.open.length < this.profile.open) this.begin();
      return;
    }
    const one = this.idle();
    try {
      this[action](one);
    } catch (error) {
      this.tolerate(error);
      this.lookWhetherStopped(error);
      if (!UNDER_NO_TRANSACTION.has(action) && one.tx.isOpen && !this.hasStopped) this.rollback(one);
    }
  }

  private note({ number }: Open, what: string): void {
    this.log.push(`${this.disk.operations}: T${number} ${what}`);
  }

  /** Notes an error that a planted fault explains. @throws any other */
  private tolerate(error: unknown): void {
    if (!isStorageError(error) || this.options.tolerated?.includes(error.code) !== true) throw error;
    this.log.push(`${this.disk.operations}: ${error.message}`);
  }

  private checkpoint(): void {
    this.log.push(`${this.disk.operations}: checkpoint`);
    this.db.checkpoint();
    this.promiseDurable();
  }

  /** One that is open and not on its way to its commit, begun if there is none. */
  private idle(): Open {
    const idle = this.open.filter((one) => !one.isCommitting);
    return idle.length === 0 || (this.open.length < this.profile.open && this.random.once(6))
      ? this.begin()
      : this.random.pick(idle);
  }

  private begin(): Open {
    const isRepeatable = this.random.once(4);
    const isSynchronous = !this.random.once(this.profile.asynchronous);
    const tx = this.db.begin({
      isolation: isRepeatable ? 'repeatable read' : 'read committed',
      synchronousCommit: isSynchronous,
    });
    const one = {
      number: ++this.begun,
      tx,
      model: new ModelTransaction(isRepeatable, isSynchronous),
      used: new Set<string>(),
      isCommitting: false,
    };
    this.open.push(one);
    this.note(one, `begin ${isRepeatable ? 'repeatable ' : ''}${isSynchronous ? '' : 'asynchronous'}`);
    return one;
  }

  /** A table that a transaction may use, and what it sees there. */
  private someTable({ model, used }: Open): ModelTable | undefined {
    const view = model.view(this.committed);
    const usable = [...view.values()].filter(
      // A snapshot does not cover tables that were made or loaded since, nor those dropped and made again.
      ({ name, identity }) => !model.isRepeatable || this.committed.get(name)?.identity === identity,
    );
    if (usable.length === 0) return undefined;
    const table = this.random.pick(usable);
    used.add(table.name);
    return table;
  }

  private newRow(): { n: number; note: string | null } {
    const { random } = this;
    const longest = random.once(4) ? this.options.blockSize >> 2 : 60;
    const note = random.once(5) ? null : String.fromCharCode(97 + random.below(26)).repeat(random.below(longest));
    return { n: random.below(this.profile.values), note };
  }

  private insert(one: Open): void {
    const target = this.someTable(one);
    if (target === undefined) return this.createTable(one);
    const rows = Array.from({ length: 1 + this.random.below(this.random.once(4) ? this.profile.rows : 3) }, () => ({
      id: this.nextId++,
      ...this.newRow(),
    }));
    this.note(one, `insert ${target.name} ${rows.map(({ id }) => id).join(' ')}`);
    const tids: { block: number; offset: number }[] = [];
    if (!this.attempt(target, one, () => one.tx.insert(tableOf(target), rows, { tids }))) return;
    rows.forEach(({ id, n, note }, i) => {
      const row: ModelRow = { n, note, ...(tids[i] as { block: number; offset: number }) };
      this.wrote(one, target, id, row, 'update');
    });
  }

  private update(one: Open): void {
    const target = this.someRow(one);
    if (target === undefined) return this.insert(one);
    const { table, id, row } = target;
    const next = this.random.once(2) ? { ...row, n: this.random.below(1000) } : { ...row, ...this.newRow() };
    const done = this.onRow(one, target, 'no key update', 'update', () =>
      one.tx.update(tableOf(table), row.block, row.offset, { n: next.n, note: next.note }),
    );
    if (done) this.wrote(one, table, id, { ...next, ...one.tx.lastTid }, 'no key update');
  }

  private delete(one: Open): void {
    const target = this.someRow(one);
    if (target === undefined) return;
    const { table, id, row } = target;
    const done = this.onRow(one, target, 'update', 'delete', () =>
      one.tx.delete(tableOf(table), row.block, row.offset),
    );
    if (done) this.wrote(one, table, id, undefined, 'update');
  }

  private lock(one: Open): void {
    const target = this.someRow(one);
    if (target === undefined) return;
    const { table, id, row } = target;
    const mode = this.random.pick(MODES);
    const done = this.onRow(one, target, mode, `lock ${mode}`, () =>
      one.tx.lock(tableOf(table), row.block, row.offset, mode),
    );
    if (done) one.model.holds.push({ table: table.identity, id, mode });
  }

  private someRow(one: Open): { table: ModelTable; id: number; row: ModelRow } | undefined {
    const table = this.someTable(one);
    if (table === undefined || table.rows.size === 0) return undefined;
    const id = this.random.pick([...table.rows.keys()]);
    return { table, id, row: table.rows.get(id) as ModelRow };
  }

  /** Runs a statement on a row that is visible. @returns whether it was done */
  private onRow(
    one: Open,
    { table, id, row }: { table: ModelTable; id: number; row: ModelRow },
    mode: HoldMode,
    statementName: string,
    statement: () => boolean,
  ): boolean {
    const others = this.holds(one).filter((hold) => hold.table === table.identity && hold.id === id);
    const mustRefuse = others.some((hold) => holdsConflict(hold.mode, mode));
    // Of an update it is the engine's to say whether it changes what others refer to.
    const strongest = (held: HoldMode): HoldMode => (held === 'no key update' ? 'update' : held);
    const mayRefuse = others.some((hold) => holdsConflict(strongest(hold.mode), strongest(mode)));
    const isStale = one.model.isRepeatable && this.isStale(one, table, id, row);
    const what = `${table.name} ${rowText(id, row)} (${row.block},${row.offset})`;
    this.note(one, `${statementName} ${what}`);
    one.model.fixSnapshot(this.committed);
    try {
      const done = statement();
      if (!done) throw new Mismatch(`${what} is visible, and was not found`);
      if (mustRefuse) throw new Mismatch(`${what} is held by another transaction, and was not refused`);
      if (isStale) throw new Mismatch(`${what} was changed since the snapshot, and was not refused`);
      return true;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (error.code === '55P03' && (mayRefuse || mustRefuse || this.othersHave(one, table))) return false;
      if (error.code === '40001' && isStale) return false;
      throw error;
    }
  }

  /** Whether a row that a snapshot sees was changed by a transaction that has been committed since. */
  private isStale({ model }: Open, { name }: ModelTable, id: number, row: ModelRow): boolean {
    const isOwn = model.changes.some((change) => change.kind === 'row' && change.table === name && change.id === id);
    return !isOwn && this.committed.get(name)?.rows.get(id) !== row;
  }

  private holds(except: Open): Hold[] {
    return this.open.filter((other) => other !== except).flatMap((other) => other.model.holds);
  }

  private wrote(
    one: Open,
    { name, identity }: ModelTable,
    id: number,
    row: ModelRow | undefined,
    mode: HoldMode,
  ): void {
    one.model.changes.push({ kind: 'row', table: name, id, row });
    one.model.holds.push({ table: identity, id, mode });
  }

  /** Runs a statement that another transaction may be in the way of. @returns whether it was done */
  private attempt(target: ModelTable, one: Open, statement: () => void, isRead = false): boolean {
    // What is refused before it reads anything has fixed no snapshot.
    if (!isRead) one.model.fixSnapshot(this.committed);
    try {
      statement();
      one.model.fixSnapshot(this.committed);
      return true;
    } catch (error) {
      const refusals = ['55P03', '55006', '42P07'];
      if (isStorageError(error) && refusals.includes(error.code) && this.othersHave(one, target)) return false;
      throw error;
    }
  }

  /** Whether another open transaction has dropped, loaded or made a table of that name, or may be using it. */
  private othersHave(one: Open, { name }: ModelTable): boolean {
    return this.open.some(
      (other) =>
        other !== one &&
        (other.model.changes.some((change) => change.table === name) ||
          other.model.holds.length > 0 ||
          other.used.has(name)),
    );
  }

  private look(one: Open): void {
    const table = this.someTable(one);
    if (table === undefined) return;
    const { tx } = one;
    this.note(one, `look ${table.name}`);
    const definition = tableOf(table);
    const done = this.attempt(
      table,
      one,
      () => {
        const rows = rowsText(tx.scan(definition, { columns: ['id', 'n', 'note'] }).rows()).join(' ');
        const expected = rowsText([...table.rows].map(([id, { n, note }]) => ({ id, n, note }))).join(' ');
        if (rows !== expected) throw new Mismatch(`a scan of ${table.name} gives\n${rows}\ninstead of\n${expected}`);
      },
      true,
    );
    if (!done) return;
    for (const [id, row] of table.rows) {
      if (!this.random.once(8)) continue;
      const found = tx.fetch(definition, row.block, row.offset);
      const text = found === undefined ? 'nothing' : rowText(found.id, found);
      if (text !== rowText(id, row)) {
        throw new Mismatch(`${table.name} (${row.block},${row.offset}) is ${text}, not ${rowText(id, row)}`);
      }
    }
    // A snapshot may be older than an index, or see one that is gone.
    const isBoth = this.committed.get(table.name)?.indexes === table.indexes;
    const wrong = one.model.isRepeatable && !isBoth ? undefined : wrongThroughIndexes(tx, table);
    if (wrong !== undefined) throw new Mismatch(wrong);
    const { rows } = tx.count(definition, { map: !this.random.once(3) });
    if (rows !== table.rows.size) throw new Mismatch(`count of ${table.name} is ${rows}, not ${table.rows.size}`);
  }

  private savepoint(one: Open): void {
    const { tx, model } = one;
    if (model.level === 4) return;
    this.note(one, `savepoint ${model.level + 1}`);
    tx.savepoint();
    model.savepoint();
  }

  private release(one: Open): void {
    const { tx, model } = one;
    if (model.level === 0) return;
    const level = 1 + this.random.below(model.level);
    this.note(one, `release ${level}`);
    tx.releaseSavepoint(level);
    model.release(level);
  }

  private rollbackTo(one: Open): void {
    const { tx, model } = one;
    if (model.level === 0) return;
    const level = 1 + this.random.below(model.level);
    this.note(one, `rollback to ${level}`);
    tx.rollbackTo(level);
    model.rollbackTo(level);
  }

  private createTable(one: Open): void {
    if (one.model.isRepeatable) return;
    const view = one.model.view(this.committed);
    const free = NAMES.filter((name) => !view.has(name));
    if (free.length === 0) return;
    const as: ModelTable = {
      name: this.random.pick(free),
      identity: this.nextIdentity++,
      unlogged: this.random.once(6),
      fillfactor: this.random.pick([100, 100, 85, 50]),
      indexes: this.random.once(2) ? ['pkey'] : [],
      rows: new Map(),
    };
    this.note(one, `create ${as.name}`);
    if (!this.attempt(as, one, () => one.tx.createTable(tableOf(as)))) return;
    one.model.changes.push({ kind: 'table', table: as.name, as });
  }

  private dropTable(one: Open): void {
    if (one.model.isRepeatable) return;
    const target = this.someTable(one);
    if (target === undefined) return;
    this.note(one, `drop ${target.name}`);
    if (!this.attempt(target, one, () => one.tx.dropTable(target.name))) return;
    one.model.changes.push({ kind: 'table', table: target.name, as: undefined });
  }

  /** An index on what the table holds; a transaction that looks by an older snapshot does without. */
  private createIndex(one: Open): void {
    if (one.model.isRepeatable) return;
    const target = this.someTable(one);
    if (target === undefined) return this.createTable(one);
    const missing = INDEX_KINDS.filter((kind) => !target.indexes.includes(kind));
    if (missing.length === 0) return;
    const kind = this.random.pick(missing);
    this.note(one, `create index ${indexName(target, kind)}`);
    const create = (): unknown => one.tx.createIndexSync(tableOf(target), indexOptions(target, kind));
    if (!this.attempt(target, one, create)) return;
    const as = { ...target, indexes: [...target.indexes, kind] };
    one.model.changes.push({ kind: 'table', table: target.name, as });
  }

  private dropIndex(one: Open): void {
    if (one.model.isRepeatable) return;
    const target = this.someTable(one);
    const kind = target?.indexes.find((known) => known !== 'pkey');
    if (target === undefined || kind === undefined) return;
    this.note(one, `drop index ${indexName(target, kind)}`);
    if (!this.attempt(target, one, () => one.tx.dropIndex(indexName(target, kind)))) return;
    const as = { ...target, indexes: target.indexes.filter((known) => known !== kind) };
    one.model.changes.push({ kind: 'table', table: target.name, as });
  }

  /** A row with a key that is taken: refused, and the transaction has failed. */
  private duplicate(one: Open): void {
    const target = this.someRow(one);
    // A snapshot may see a row whose key is free by now.
    if (target === undefined || one.model.isRepeatable || !target.table.indexes.includes('pkey')) return;
    const { table, id } = target;
    this.note(one, `insert ${id} into ${table.name} once more`);
    try {
      one.tx.insert(tableOf(table), [{ id, ...this.newRow() }]);
      throw new Mismatch(`key ${id} of ${table.name} was taken, and was not refused`);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      const isHeld = this.holds(one).some((hold) => hold.table === table.identity && hold.id === id);
      const isRight = error.code === '23505' || (error.code === '55P03' && (isHeld || this.othersHave(one, table)));
      if (!isRight) throw error;
    }
    if (one.model.level > 0) this.rollbackTo(one);
    else this.rollback(one);
  }

  /** Most of a table's rows, so that pages of its indexes become empty. */
  private deleteMany(one: Open): void {
    const table = this.someTable(one);
    if (table === undefined) return;
    for (const [id, row] of [...table.rows]) {
      if (this.random.once(6) || !one.tx.isOpen) continue;
      const done = this.onRow(one, { table, id, row }, 'update', 'delete', () =>
        one.tx.delete(tableOf(table), row.block, row.offset),
      );
      if (done) this.wrote(one, table, id, undefined, 'update');
    }
  }

  private vacuum(): void {
    const tables = [...this.committed.values()];
    if (tables.length === 0) return;
    const { name } = this.random.pick(tables);
    this.log.push(`${this.disk.operations}: vacuum ${name}`);
    vacuumIndexes(this.db, name);
  }

  /** A load: of frozen rows into a table that is empty, or of ordinary ones. */
  private load(one: Open): void {
    if (one.model.isRepeatable) return;
    const freeze = !this.random.once(3);
    const usable = [...one.model.view(this.committed).values()].filter(({ rows }) => !freeze || rows.size === 0);
    if (usable.length === 0) return this.createTable(one);
    const target = this.random.pick(usable);
    one.used.add(target.name);
    const definition = tableOf(target);
    const rows = Array.from({ length: 1 + this.random.below(60) }, () => ({ id: this.nextId++, ...this.newRow() }));
    this.note(one, `load ${target.name} ${rows.length} rows${freeze ? ', frozen' : ''}`);
    const batches = [loadBatch(rows.slice(0, 20)), loadBatch(rows.slice(20))];
    if (!this.attempt(target, one, () => one.tx.loadSync(definition, batches, { freeze }))) return;
    const loaded = new Map<number, ModelRow>();
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { length, blocks, offsets, columns } of one.tx.scan(definition, { columns: ['id'] })) {
      const ids = (columns.id as { values: Int32Array }).values;
      for (let i = 0; i < length; i++) {
        const row = byId.get(ids[i] as number);
        if (row === undefined) continue;
        loaded.set(row.id, { ...row, block: blocks[i] as number, offset: offsets[i] as number });
      }
    }
    if (loaded.size !== rows.length) throw new Mismatch(`${loaded.size} of ${rows.length} loaded rows are visible`);
    if (freeze) {
      const as = { ...target, identity: this.nextIdentity++, rows: loaded };
      one.model.changes.push({ kind: 'table', table: target.name, as });
    } else {
      for (const [id, row] of loaded) this.wrote(one, target, id, row, 'update');
    }
  }

  /** Commits one at once, or some together off the thread. */
  private commit(one: Open): void {
    if (!mayWait(one) || !this.random.once(3)) {
      const commit = this.beginCommit(one);
      try {
        one.tx.commit();
      } catch (error) {
        this.forget(one, commit, error);
        throw error;
      }
      this.endCommit(one, commit);
      return;
    }
    const idle = this.open.filter((other) => !other.isCommitting && mayWait(other));
    const group = idle.filter((other) => other === one || this.random.once(2));
    for (const member of group) {
      member.isCommitting = true;
      const commit = this.beginCommit(member);
      const done = member.tx.commitAsync().then(
        () => this.endCommit(member, commit),
        (error: unknown) => {
          this.forget(member, commit, error);
          this.tolerate(error);
          this.lookWhetherStopped(error);
        },
      );
      done.catch(() => {}); // it is awaited later
      this.commits.push(done);
    }
  }

  private async awaitCommits(): Promise<void> {
    await Promise.all(this.commits.splice(0));
  }

  /** The commit record goes into the WAL now: what comes later cannot be there without it. */
  private beginCommit(one: Open): Commit {
    const { model } = one;
    this.note(one, `commit${one.isCommitting ? ' in a group' : ''}`);
    const commit = {
      changes: model.changes,
      startedAt: this.disk.operations,
      durableAt: Number.POSITIVE_INFINITY,
    };
    if (model.changes.length > 0) this.history.push(commit);
    return commit;
  }

  private endCommit(one: Open, commit: Commit): void {
    this.open = this.open.filter((other) => other !== one);
    this.committed = applied(this.committed, one.model.changes);
    if (one.model.isSynchronous) commit.durableAt = this.disk.operations;
  }

  /** A commit that failed. After a failed sync nobody knows whether it is one; else it is none. */
  private forget(one: Open, commit: Commit, error: unknown): void {
    this.open = this.open.filter((other) => other !== one);
    const isUncertain = isStorageError(error) && error.code === '58030';
    if (!isUncertain) this.history = this.history.filter((other) => other !== commit);
  }

  /** All that was committed has been promised to be durable. */
  private promiseDurable(): void {
    for (const commit of this.history) commit.durableAt = Math.min(commit.durableAt, this.disk.operations);
  }

  private rollback(one: Open): void {
    this.note(one, 'rollback');
    one.tx.rollback();
    this.open = this.open.filter((other) => other !== one);
  }

  /**
   * Rows go, whoever looks for them by an index marks its entries dead, and the index goes to the disk before the commit.
   * Recovery begins behind the last change of the index: no image takes the marks away.
   */
  private killEntries(one: Open): void {
    this.checkpoint();
    this.deleteMany(one);
    if (!one.tx.isOpen) return;
    this.commit(one);
    const reader = this.begin();
    for (const { name } of reader.model.view(this.committed).values()) {
      const { tx } = reader;
      this.note(reader, `look ${name}, and write its indexes`);
      const wrong = wrongThroughIndexes(tx, reader.model.view(this.committed).get(name) as ModelTable);
      if (wrong !== undefined) throw new Mismatch(wrong);
      writeIndexes(this.db, name, this.random);
    }
  }

  private markAllVisible(): void {
    const tables = [...this.committed.values()];
    if (tables.length > 0) markAllVisible(this.db, this.random.pick(tables).name, this.random);
  }
}

/**
 * Whether a commit off the thread ends later than it began: not when it waits for nothing, nor when it removes files, of a
 * table that was dropped or loaded: that is done at once.
 */
function mayWait({ model }: Open): boolean {
  const removes = model.changes.some(
    (change) => change.kind === 'table' && (change.as === undefined || change.as.rows.size > 0),
  );
  return model.isSynchronous && !removes;
}
