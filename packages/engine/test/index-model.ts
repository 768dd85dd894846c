// Rows as a sorted array has them: what a scan of an index is held against.
import { table } from '@blockwright/engine';
import { char, int4, text } from '@blockwright/tuple';

export const events = table(
  'events',
  { id: int4(), kind: int4().nullable(), code: char(6), note: text() },
  { primaryKey: ['id'], fillfactor: 80 },
);
export type Event = { id: number; kind: number | null; code: string; note: string };

/** Indexes beside the primary key: one that carries a column along, one of two columns in different orders. */
export const KIND_INDEX = {
  columns: [{ column: 'kind', descending: true }],
  include: ['code'],
  name: 'events_kind',
} as const;
export const CODE_INDEX = { columns: ['code', { column: 'id', descending: true }], name: 'events_code' } as const;

type Order = (a: Event, b: Event) => number;

const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Of the keys alone: rows of equal keys come in any order. */
export const ORDERS: Readonly<Record<string, Order>> = {
  events_pkey: (a, b) => a.id - b.id,
  // Descending, so that nulls come first.
  events_kind: (a, b) =>
    a.kind === null || b.kind === null ? Number(a.kind !== null) - Number(b.kind !== null) : b.kind - a.kind,
  events_code: (a, b) => byBytes(a.code.trimEnd(), b.code.trimEnd()) || b.id - a.id,
};

export const ALL_COLUMNS = ['id', 'kind', 'code', 'note'] as const;
/** Columns that the index itself holds. */
export const OWN_COLUMNS: Readonly<Record<string, readonly (keyof Event)[]>> = {
  events_pkey: ['id'],
  events_kind: ['kind', 'code'],
  events_code: ['id', 'code'],
};

export function event(id: number, kind: number | null): Event {
  return { id, kind, code: `c${id % 17}`.padEnd(6), note: `note ${id} `.repeat(1 + (id % 5)) };
}

/** Some columns of the rows, in the order of an index: equal keys in the order of all of their columns. */
export function wanted(
  rows: Iterable<Event>,
  index: string,
  columns: readonly (keyof Event)[],
  desc: boolean,
): unknown[] {
  const order = ORDERS[index];
  const sorted = [...rows].sort((a, b) => order(a, b) || byText(a, b, columns));
  return (desc ? sorted.reverse() : sorted).map((row) => columns.map((column) => row[column]));
}

/** What a scan gave, in the same form: runs of equal keys are put in the order of their columns. */
export function given(
  rows: readonly Partial<Event>[],
  index: string,
  columns: readonly (keyof Event)[],
  desc: boolean,
): unknown[] {
  const order = ORDERS[index];
  const runs: Event[][] = [];
  for (const row of rows as Event[]) {
    const last = runs[runs.length - 1];
    if (last !== undefined && order(last[0], row) === 0) last.push(row);
    else runs.push([row]);
  }
  const sign = desc ? -1 : 1;
  return runs.flatMap((run) =>
    run.sort((a, b) => sign * byText(a, b, columns)).map((row) => columns.map((column) => row[column])),
  );
}

function byText(a: Event, b: Event, columns: readonly (keyof Event)[]): number {
  const text = (row: Event): string => JSON.stringify(columns.map((column) => row[column]));
  return byBytes(text(a), text(b));
}
