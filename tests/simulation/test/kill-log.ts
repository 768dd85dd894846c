// What a child that is going to be killed writes down, and what that proves of the directory that it leaves.
//
// Every line is written to a file by one call before the child goes on, so a kill loses none. `try`: a transaction of one
// slot is about to be committed, with all that it changes. `ack`: its commit has returned. Slots own keys of their own
// and work on one transaction after the other; so of each slot at most the last transaction is in doubt, and that one
// must be there as a whole or not at all.
import { type Database, table } from '@blockwright/engine';
import { int4, text } from '@blockwright/tuple';

export const SLOTS = 4;
/** Keys of a slot: `slot * KEYS_A_SLOT` and on. */
export const KEYS_A_SLOT = 150;

export const accounts = table('accounts', { id: int4(), amount: int4(), note: text().nullable() }, { fillfactor: 80 });

/** What a transaction does: keys with their new amounts (null: deleted), and tables made or dropped. */
export interface LoggedTransaction {
  readonly slot: number;
  readonly number: number;
  readonly rows: readonly (readonly [id: number, amount: number | null])[];
  readonly created?: string;
  readonly dropped?: string;
}

type LogLine = { readonly try: LoggedTransaction } | { readonly ack: number };

/** What there is after some transactions. */
interface Contents {
  readonly rows: Map<number, number>;
  readonly tables: Set<string>;
}

/** Tells, from the lines of a child's life, what must be there after it. */
export class Expected {
  /** By slot: what its acknowledged transactions left. */
  private readonly slots: Contents[] = Array.from({ length: SLOTS }, () => ({ rows: new Map(), tables: new Set() }));
  /** By slot: the transaction in doubt. */
  private readonly doubtful: (LoggedTransaction | undefined)[] = [];
  acknowledged = 0;

  /** Takes in what one child has written. */
  read(log: string): void {
    for (const line of log.split('\n')) {
      if (line === '') continue;
      const entry = JSON.parse(line) as LogLine;
      if ('try' in entry) {
        this.doubtful[entry.try.slot] = entry.try;
        continue;
      }
      const slot = this.doubtful.findIndex((one) => one?.number === entry.ack);
      apply(this.slots[slot], this.doubtful[slot] as LoggedTransaction);
      this.doubtful[slot] = undefined;
      this.acknowledged++;
    }
  }

  /**
   * Holds a database against it, slot by slot; what was in doubt is then known.
   * @returns what is wrong, in words.
   */
  faults(database: Database): string[] {
    const found = contentsOf(database);
    const faults: string[] = [];
    this.slots.forEach((before, slot) => {
      const doubtful = this.doubtful[slot];
      const after: Contents = { rows: new Map(before.rows), tables: new Set(before.tables) };
      if (doubtful !== undefined) apply(after, doubtful);
      const there = ofSlot(found, slot);
      if (describe(there) === describe(after)) this.slots[slot] = after;
      else if (describe(there) !== describe(before)) faults.push(difference(slot, before, there, doubtful));
    });
    this.doubtful.length = 0;
    return faults;
  }
}

function apply(contents: Contents, { rows, created, dropped }: LoggedTransaction): void {
  for (const [id, amount] of rows) {
    if (amount === null) contents.rows.delete(id);
    else contents.rows.set(id, amount);
  }
  if (created !== undefined) contents.tables.add(created);
  if (dropped !== undefined) contents.tables.delete(dropped);
}

function contentsOf(database: Database): Contents {
  const tables = new Set(database.tables().map(({ name }) => name));
  const rows = new Map<number, number>();
  if (!tables.has(accounts.name)) return { rows, tables };
  for (const { id, amount, note } of database.scan(accounts, { columns: ['id', 'amount', 'note'] }).rows()) {
    if (rows.has(id)) throw new Error(`key ${id} is there twice`);
    if (note !== noteOf(id, amount)) throw new Error(`key ${id} has amount ${amount} and the note "${note}"`);
    rows.set(id, amount);
  }
  for (const name of tables) {
    if (!name.startsWith('slot')) continue;
    const count = database.count(database.table(name)).rows;
    if (count !== rowsOfTable(name)) throw new Error(`table ${name} has ${count} rows, not ${rowsOfTable(name)}`);
  }
  return { rows, tables };
}

function ofSlot({ rows, tables }: Contents, slot: number): Contents {
  return {
    rows: new Map([...rows].filter(([id]) => Math.floor(id / KEYS_A_SLOT) === slot)),
    tables: new Set([...tables].filter((name) => name.startsWith(`slot${slot}_`))),
  };
}

function describe({ rows, tables }: Contents): string {
  const sorted = [...rows].sort(([a], [b]) => a - b);
  return JSON.stringify([sorted, [...tables].sort()]);
}

function difference(slot: number, before: Contents, there: Contents, doubtful: LoggedTransaction | undefined): string {
  const keys = new Set([...before.rows.keys(), ...there.rows.keys()]);
  const differing = [...keys].filter((id) => before.rows.get(id) !== there.rows.get(id));
  const shown = differing.slice(0, 5).map((id) => `${id}: ${before.rows.get(id)} → ${there.rows.get(id)}`);
  return `slot ${slot}: neither with nor without the transaction in doubt (${JSON.stringify(doubtful)}); acknowledged → found: ${shown.join(', ')}; tables ${[...before.tables]} → ${[...there.tables]}`;
}

/** A note that follows from the row: a mixture of two versions is seen. Its length moves rows about. */
export function noteOf(id: number, amount: number): string | null {
  return amount % 5 === 0 ? null : `${id}:${amount} `.repeat(1 + ((id + amount) % 7));
}

/** Rows of a slot's further table, from the number in its name. */
export function rowsOfTable(name: string): number {
  return 1 + (Number(name.split('_')[1]) % 300);
}
