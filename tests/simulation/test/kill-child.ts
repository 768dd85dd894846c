// The child that is killed: `kill-child.ts DIRECTORY LOG SEED LIFE`. It opens the directory, recovering it, and works until
// it is killed: four slots, each with a transaction of its own, open at once; commits that wait by themselves, in groups,
// or not at all; savepoints, rollbacks, tables made, filled and dropped; checkpoints; a pool that holds little.
// LIFE `idle`: it opens the directory and does nothing. `early`: it acknowledges its 20th transaction before the commit, and dies between the two (the canary).
import { openSync, writeSync } from 'node:fs';
import { Database, type DatabaseTransaction, type Tid, table } from '@blockwright/engine';
import { int4 } from '@blockwright/tuple';
import { accounts, KEYS_A_SLOT, type LoggedTransaction, noteOf, rowsOfTable, SLOTS } from './kill-log.ts';

const [directory, logPath, seed, life] = process.argv.slice(2) as [string, string, string, string];
const log = openSync(logPath, 'a');
let state = Number(seed) >>> 0 || 1;
let transactions = 0;

/** A whole number from 0 to `below` less one; xorshift32. */
function random(below: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % below;
}

function write(line: object): void {
  writeSync(log, `${JSON.stringify(line)}\n`);
}

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One slot: its rows by key, and its further table. */
class Slot {
  private readonly db: Database;
  private readonly slot: number;
  private readonly tids = new Map<number, Tid>();
  private extra: string | undefined;

  constructor(db: Database, slot: number) {
    this.db = db;
    this.slot = slot;
    this.extra = db.tables().find(({ name }) => name.startsWith(`slot${slot}_`))?.name;
    for (const { length, columns, blocks, offsets } of db.scan(accounts, { columns: ['id'] })) {
      const { id } = columns;
      if (id.kind !== 'int') throw new TypeError('int4 is no int vector');
      for (let i = 0; i < length; i++) {
        if (Math.floor(id.values[i] / KEYS_A_SLOT) === slot) this.tids.set(id.values[i], tid(blocks[i], offsets[i]));
      }
    }
  }

  async work(): Promise<never> {
    for (;;) {
      const tx = this.db.begin({
        isolation: random(2) === 0 ? 'read committed' : 'repeatable read',
        synchronousCommit: random(4) !== 0,
      });
      const tids = new Map(this.tids);
      const rows = new Map<number, number | null>();
      const changes = 1 + random(12);
      for (let i = 0; i < changes; i++) {
        this.change(tx, tids, rows);
        if (random(3) === 0) await pause(); // others come between
        if (random(8) === 0) this.regretted(tx, tids);
      }
      const tables = random(12) === 0 ? this.changeTable(tx) : {};
      if (random(10) === 0) {
        tx.rollback();
        continue;
      }
      await this.commit(tx, { slot: this.slot, number: nextNumber(), rows: [...rows], ...tables });
      this.tids.clear();
      for (const [id, at] of tids) this.tids.set(id, at);
      if (tables.created !== undefined) this.extra = tables.created;
      if (tables.dropped !== undefined) this.extra = undefined;
      if (random(60) === 0) this.db.checkpoint();
      await pause();
    }
  }

  private async commit(tx: DatabaseTransaction, what: LoggedTransaction): Promise<void> {
    write({ try: what });
    if (life === 'early' && transactions++ === 20) {
      write({ ack: what.number });
      process.kill(process.pid, 'SIGKILL');
    }
    if (random(2) === 0) tx.commit();
    else await tx.commitAsync();
    write({ ack: what.number });
    process.stdout.write('.'); // counted by the parent
  }

  /** Inserts, updates or deletes the row of a key. */
  private change(tx: DatabaseTransaction, tids: Map<number, Tid>, rows: Map<number, number | null>): void {
    const id = this.slot * KEYS_A_SLOT + random(KEYS_A_SLOT);
    const amount = random(100_000);
    const at = tids.get(id);
    if (at === undefined) {
      tx.insert(accounts, [{ id, amount, note: noteOf(id, amount) }]);
      tids.set(id, tx.lastTid);
      rows.set(id, amount);
    } else if (random(6) === 0) {
      expect(tx.delete(accounts, at.block, at.offset), `deleting ${id}`);
      tids.delete(id);
      rows.set(id, null);
    } else {
      expect(tx.update(accounts, at.block, at.offset, { amount, note: noteOf(id, amount) }), `updating ${id}`);
      tids.set(id, tx.lastTid);
      rows.set(id, amount);
    }
  }

  /** Work in a savepoint that is rolled back: nothing of it may ever be seen. */
  private regretted(tx: DatabaseTransaction, tids: ReadonlyMap<number, Tid>): void {
    const level = tx.savepoint();
    const scratch = new Map(tids);
    for (let i = 0; i < 3; i++) this.change(tx, scratch, new Map());
    tx.rollbackTo(level);
    tx.releaseSavepoint(level);
  }

  private changeTable(tx: DatabaseTransaction): { created?: string; dropped?: string } {
    if (this.extra !== undefined) {
      tx.dropTable(this.extra);
      return { dropped: this.extra };
    }
    const created = `slot${this.slot}_${random(1_000_000)}`;
    const definition = table(created, { n: int4() });
    tx.createTable(definition);
    tx.insert(
      definition,
      Array.from({ length: rowsOfTable(created) }, (_, n) => ({ n })),
    );
    return { created };
  }
}

function tid(block: number, offset: number): Tid {
  return { block, offset };
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`${what}: the row is not there`);
}

let number = Date.now() * 1000;
function nextNumber(): number {
  return number++;
}

process.stdout.write('opening\n');
const database = Database.open(directory, {
  sharedBuffers: '256kB',
  checkpointTimeoutMs: 150,
  maxWalBytes: '3MB',
  walBufferBytes: '64kB',
});
if (!database.tables().some(({ name }) => name === accounts.name)) database.createTable(accounts);
process.stdout.write('open\n');
if (life === 'idle') await new Promise(() => setInterval(() => {}, 1000));
const slots = Array.from({ length: SLOTS }, (_, slot) => new Slot(database, slot));
await Promise.all(slots.map((slot) => slot.work()));
