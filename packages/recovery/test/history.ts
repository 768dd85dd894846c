// Random histories of the small engine, and the model that says what every table holds at every position of the WAL.
import type { Lsn } from '@blockwright/base';
import type { Transaction } from '@blockwright/transam';
import { type Cell, type Engine, FIRST_CELL } from './engine.ts';

/** What happened to a table, and up to which position of the WAL. */
interface Event {
  readonly lsn: Lsn;
  readonly table: number;
  readonly what: 'create' | 'set' | 'truncate' | 'gone';
  readonly cells?: readonly Cell[];
  readonly blocks?: number;
}

/** A transaction whose end is known to whoever asked for it. */
interface Ended {
  readonly xid: number;
  readonly lsn: Lsn;
  readonly committed: boolean;
  /** Operations of the disk when it was acknowledged. */
  readonly operations: number;
}

export class History {
  readonly events: Event[] = [];
  readonly ended: Ended[] = [];
  /** Every transaction id that wrote. */
  readonly xids: number[] = [];
  private readonly engine: Engine;
  private readonly operations: () => number;
  private readonly cellCount: number;
  private readonly sizes: Map<number, number> = new Map();
  private open: Transaction | undefined = undefined;
  private made: number[] = [];
  private dropped: number[] = [];

  /** @param operations how many the disk has made */
  constructor(engine: Engine, operations: () => number = () => 0) {
    this.engine = engine;
    this.operations = operations;
    this.cellCount = engine.geometry.size - FIRST_CELL;
  }

  /** One random step, from a number that decides everything. */
  step(choose: (n: number) => number): void {
    const tx = this.transaction();
    const tables = [...this.sizes.keys()].filter((table) => !this.dropped.includes(table));
    const kind = choose(20);
    if (tables.length === 0 || (kind === 0 && tables.length < 5)) return this.create(tx);
    const table = tables[choose(tables.length)];
    const blocks = this.sizes.get(table) as number;
    if (kind < 3) return this.end(tx, kind === 1 || choose(3) > 0);
    if (kind === 3 && choose(2) === 0) return this.drop(tx, table);
    if (kind === 4 && blocks > 0) return this.truncate(tx, table, choose(blocks));
    if (kind === 5) return this.engine.checkpoint();
    if (kind < 9 || blocks === 0) return this.set(tx, table, this.cells(choose, [blocks]));
    const several = kind === 9 ? [choose(blocks), choose(blocks)] : [choose(blocks)];
    this.set(tx, table, this.cells(choose, several));
  }

  /** What a table must hold when exactly the WAL up to `end` was replayed: undefined when it is not there. */
  at(end: Lsn): Map<number, Uint8Array[]> {
    const tables = new Map<number, Uint8Array[]>();
    for (const event of this.events) {
      if (event.lsn > end) continue;
      const pages = tables.get(event.table);
      if (event.what === 'create') tables.set(event.table, []);
      else if (event.what === 'gone') tables.delete(event.table);
      else if (event.what === 'truncate') pages?.splice(event.blocks as number);
      else if (pages !== undefined) this.apply(pages, event.cells ?? []);
    }
    for (const table of this.unfinished(end)) tables.delete(table);
    return tables;
  }

  /** Every table that there ever was. */
  get tables(): Set<number> {
    return new Set(this.creations.map(({ table }) => table));
  }

  private apply(pages: Uint8Array[], cells: readonly Cell[]): void {
    for (const { block, at, value } of cells) {
      if (block === pages.length) pages.push(new Uint8Array(this.cellCount));
      pages[block][at] = value;
    }
  }

  /** Tables whose transactions had not ended: a recovery removes them. */
  private unfinished(end: Lsn): Set<number> {
    const open = new Set<number>();
    for (const { table, xid, lsn } of this.creations) if (lsn <= end && !this.hadEnded(xid, end)) open.add(table);
    return open;
  }

  private readonly creations: { table: number; xid: number; lsn: Lsn }[] = [];

  private hadEnded(xid: number, end: Lsn): boolean {
    return this.ended.some((one) => one.xid === xid && one.lsn <= end);
  }

  private transaction(): Transaction {
    this.open ??= this.engine.transactions.begin();
    return this.open;
  }

  private create(tx: Transaction): void {
    const table = this.engine.create(tx);
    const lsn = this.engine.wal.insertedUpTo;
    this.sizes.set(table, 0);
    this.made.push(table);
    this.creations.push({ table, xid: tx.topXid, lsn });
    this.note({ lsn, table, what: 'create' }, tx);
  }

  private set(tx: Transaction, table: number, cells: Cell[]): void {
    const lsn = this.engine.set(tx, table, cells);
    const blocks = this.sizes.get(table) as number;
    if (cells[0].block === blocks) this.sizes.set(table, blocks + 1);
    this.note({ lsn, table, what: 'set', cells, blocks }, tx);
  }

  private truncate(tx: Transaction, table: number, blocks: number): void {
    this.engine.truncate(tx, table, blocks);
    this.sizes.set(table, blocks);
    this.note({ lsn: this.engine.wal.insertedUpTo, table, what: 'truncate', blocks }, tx);
  }

  private drop(tx: Transaction, table: number): void {
    this.engine.drop(tx, table);
    this.dropped.push(table);
  }

  private end(tx: Transaction, committed: boolean): void {
    const xid = tx.topXid;
    this.open = undefined;
    const before = this.engine.wal.insertedUpTo;
    const gone = committed ? this.dropped : this.made;
    this.made = [];
    this.dropped = [];
    for (const table of gone) this.sizes.delete(table);
    if (committed) tx.commit();
    else tx.abort();
    const lsn = this.engine.wal.insertedUpTo;
    if (xid === 0 || lsn === before) return;
    this.ended.push({ xid, lsn, committed, operations: this.operations() });
    for (const table of gone) this.events.push({ lsn, table, what: 'gone' });
  }

  private note(event: Event, tx: Transaction): void {
    this.events.push(event);
    if (this.xids.at(-1) !== tx.topXid) this.xids.push(tx.topXid);
  }

  private cells(choose: (n: number) => number, blocks: readonly number[]): Cell[] {
    const unique = [...new Set(blocks)];
    return unique.flatMap((block) =>
      Array.from({ length: 1 + choose(3) }, () => ({ block, at: choose(this.cellCount), value: 1 + choose(255) })),
    );
  }
}
