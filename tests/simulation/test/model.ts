// What the database should hold: states that never change, transactions as lists of changes on top of them. Obviously
// right, and slow.

/** A row as a transaction sees it, and where it is found. */
export interface ModelRow {
  readonly n: number;
  readonly note: string | null;
  readonly block: number;
  readonly offset: number;
}

export interface ModelTable {
  readonly name: string;
  /** Tells two tables apart that had the name one after the other, and one before and after a load. */
  readonly identity: number;
  readonly unlogged: boolean;
  readonly fillfactor: number;
  /** Kinds of its indexes, a primary key first. */
  readonly indexes: readonly string[];
  readonly rows: ReadonlyMap<number, ModelRow>;
}

/** Tables by name. */
export type ModelState = ReadonlyMap<string, ModelTable>;

export type Change =
  | { readonly kind: 'row'; readonly table: string; readonly id: number; readonly row: ModelRow | undefined }
  | { readonly kind: 'table'; readonly table: string; readonly as: ModelTable | undefined };

/** A state with some changes made. */
export function applied(state: ModelState, changes: readonly Change[]): ModelState {
  if (changes.length === 0) return state;
  const tables = new Map(state);
  const own = new Map<string, Map<number, ModelRow>>();
  for (const change of changes) {
    if (change.kind === 'table') {
      own.delete(change.table);
      if (change.as === undefined) tables.delete(change.table);
      else tables.set(change.table, change.as);
      continue;
    }
    const table = tables.get(change.table) as ModelTable;
    let rows = own.get(change.table);
    if (rows === undefined) {
      rows = new Map(table.rows);
      own.set(change.table, rows);
      tables.set(change.table, { ...table, rows });
    }
    if (change.row === undefined) rows.delete(change.id);
    else rows.set(change.id, change.row);
  }
  return tables;
}

/** What is left of a state after a crash: unlogged tables are empty. */
export function afterCrash(state: ModelState): ModelState {
  return new Map(
    [...state].map(([name, table]) => [name, table.unlogged ? { ...table, rows: new Map<number, ModelRow>() } : table]),
  );
}

/** A state as text, to be compared: each table on a line, rows in order. */
export function stateText(state: ModelState): string {
  const tables = [...state.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return tables
    .map(({ name, unlogged, fillfactor, indexes, rows }) => {
      const ids = [...rows.keys()].sort((a, b) => a - b);
      return tableText(
        name,
        unlogged,
        fillfactor,
        indexes,
        ids.map((id) => rowText(id, rows.get(id) as ModelRow)),
      );
    })
    .join('\n');
}

export function tableText(
  name: string,
  unlogged: boolean,
  fillfactor: number,
  indexes: readonly string[],
  rows: readonly string[],
): string {
  const by = [...indexes].sort().join(',');
  return `${name}${unlogged ? ' unlogged' : ''} ${fillfactor} [${by}]: ${rows.join(' ')}`;
}

/** A row in short: notes are one letter, repeated. */
export function rowText(id: number, row: { readonly n: number; readonly note: string | null }): string {
  const { n, note } = row;
  if (note === null) return `${id}=${n}`;
  const isEven = note === (note[0] ?? '').repeat(note.length);
  return `${id}=${n}${isEven ? `${note[0] ?? ''}${note.length}` : JSON.stringify(note)}`;
}

/** How strongly a row is held. */
export type HoldMode = 'key share' | 'share' | 'no key update' | 'update';
const STRENGTH: Readonly<Record<HoldMode, number>> = { 'key share': 0, share: 1, 'no key update': 2, update: 3 };

export function holdsConflict(a: HoldMode, b: HoldMode): boolean {
  return STRENGTH[a] + STRENGTH[b] >= 3;
}

/** A row that a transaction has written or locked. */
export interface Hold {
  readonly table: number;
  readonly id: number;
  readonly mode: HoldMode;
}

/** A transaction beside the engine's. */
export class ModelTransaction {
  readonly isRepeatable: boolean;
  readonly isSynchronous: boolean;
  changes: Change[] = [];
  holds: Hold[] = [];
  /** Its snapshot, once a statement ran in repeatable read. */
  snapshot: ModelState | undefined = undefined;
  private readonly savepoints: { readonly changes: number; readonly holds: number }[] = [];

  constructor(isRepeatable: boolean, isSynchronous: boolean) {
    this.isRepeatable = isRepeatable;
    this.isSynchronous = isSynchronous;
  }

  get level(): number {
    return this.savepoints.length;
  }

  /** A statement runs: the first one fixes what all see in repeatable read. */
  fixSnapshot(committed: ModelState): void {
    if (this.isRepeatable) this.snapshot ??= committed;
  }

  /** What a statement sees. */
  view(committed: ModelState): ModelState {
    return applied(this.snapshot ?? committed, this.changes);
  }

  savepoint(): void {
    this.savepoints.push({ changes: this.changes.length, holds: this.holds.length });
  }

  release(level: number): void {
    this.savepoints.length = level - 1;
  }

  rollbackTo(level: number): void {
    const { changes, holds } = this.savepoints[level - 1] as { changes: number; holds: number };
    this.savepoints.length = level;
    this.changes.length = changes;
    this.holds.length = holds;
  }
}
