// Indexes beside the model: which there are, what rows they must give in which order, and a vacuum of them.
import { runSync } from '@blockwright/base';
import type { Database, DatabaseTransaction, IndexOptions } from '@blockwright/engine';
import { heapPrunePage } from '@blockwright/heap';
import { btreeBulkDelete, btreeVacuumCleanup } from '@blockwright/nbtree';
import { LP_DEAD, linePointer, lpFlags, pageIsNew, pageMaxOffset } from '@blockwright/page';
import { insideOf, type TestTable, tableOf } from './engine.ts';
import { type ModelTable, rowText } from './model.ts';

type Column = 'id' | 'n' | 'note';

interface Key {
  readonly column: Column;
  readonly descending?: boolean;
  readonly nullsFirst?: boolean;
}

interface Kind {
  readonly columns: readonly Key[];
  readonly include?: readonly Column[];
  readonly unique?: boolean;
  readonly fillfactor?: number;
  readonly deduplicate?: boolean;
}

/** The kinds of indexes that tables get, by what their name ends in. */
const KINDS: Readonly<Record<string, Kind>> = {
  pkey: { columns: [{ column: 'id' }], unique: true },
  n: { columns: [{ column: 'n' }] },
  note: { columns: [{ column: 'note', descending: true }] },
  wide: { columns: [{ column: 'note', nullsFirst: true }, { column: 'n' }], include: ['id'] },
  both: { columns: [{ column: 'n', descending: true, nullsFirst: false }, { column: 'id' }], unique: true },
  plain: { columns: [{ column: 'note' }], deduplicate: false, fillfactor: 50 },
};

/** Those that {@link indexOptions} can make: a primary key is part of its table. */
export const INDEX_KINDS: readonly string[] = Object.keys(KINDS).filter((kind) => kind !== 'pkey');

export function indexName({ name }: ModelTable, kind: string): string {
  return `${name}_${kind}`;
}

export function indexOptions(table: ModelTable, kind: string): IndexOptions<Column> {
  return { name: indexName(table, kind), ...(KINDS[kind] as Kind) };
}

/** Whoever reads: the database, or a transaction. */
type Reader = Pick<Database | DatabaseTransaction, 'scan' | 'count' | 'get'>;

/** Reads a table through each of its indexes: says what is wrong, if anything. */
export function wrongThroughIndexes(reader: Reader, model: ModelTable): string | undefined {
  for (const kind of model.indexes) {
    const wrong = wrongThrough(reader, model, kind);
    if (wrong !== undefined) return `index ${indexName(model, kind)}: ${wrong}`;
  }
  return undefined;
}

function wrongThrough(reader: Reader, model: ModelTable, kind: string): string | undefined {
  const definition = tableOf(model);
  const index = indexName(model, kind);
  const { columns, include = [] } = KINDS[kind] as Kind;
  const expected = [...model.rows].map(([id, row]) => ({ id, ...row }));
  const all: readonly Column[] = ['id', 'n', 'note'];
  const own = all.filter((column) => include.includes(column) || columns.some((key) => key.column === column));
  for (const order of ['asc', 'desc'] as const) {
    // The index alone, and the index with its table.
    for (const asked of [own, all]) {
      const found = [...reader.scan(definition, { index, columns: asked, order }).rows()] as unknown as Found[];
      const wrong = disordered(found, columns, order) ?? differing(found, expected, asked);
      if (wrong !== undefined) return `${order} ${asked.join(' ')}: ${wrong}`;
    }
  }
  const { rows } = reader.count(definition, { index });
  if (rows !== expected.length) return `a count gives ${rows} instead of ${expected.length}`;
  return kind === 'pkey' ? wrongByKey(reader, definition, model) : undefined;
}

type Found = { readonly id: number; readonly n: number; readonly note: string | null };

function wrongByKey(reader: Reader, definition: TestTable, model: ModelTable): string | undefined {
  for (const [id, row] of model.rows) {
    const found = reader.get(definition, id);
    const is = found === undefined ? 'nothing' : rowText(found.id, found);
    if (is !== rowText(id, row)) return `key ${id} gives ${is} instead of ${rowText(id, row)}`;
  }
  const absent = reader.get(definition, -1);
  return absent === undefined ? undefined : `key -1 gives ${rowText(absent.id, absent)}`;
}

function disordered(found: readonly Found[], keys: readonly Key[], order: 'asc' | 'desc'): string | undefined {
  for (let i = 1; i < found.length; i++) {
    const [before, after] = [found[i - 1] as Found, found[i] as Found];
    const sign = compareKeys(before, after, keys) * (order === 'asc' ? 1 : -1);
    if (sign > 0) return `${JSON.stringify(before)} comes before ${JSON.stringify(after)}`;
  }
  return undefined;
}

function compareKeys(a: Found, b: Found, keys: readonly Key[]): number {
  for (const { column, descending = false, nullsFirst = descending } of keys) {
    const [x, y] = [a[column], b[column]];
    if (x === y) continue;
    if (x === null || y === null) return (x === null) === nullsFirst ? -1 : 1;
    return x < y === descending ? 1 : -1;
  }
  return 0;
}

/** Rows are the same whatever their order, as far as they were asked for. */
function differing(found: readonly Found[], expected: readonly Found[], asked: readonly Column[]): string | undefined {
  const text = (rows: readonly Found[]): string =>
    rows
      .map((row) => asked.map((column) => String(row[column])).join('/'))
      .sort()
      .join(' ');
  const [is, should] = [text(found), text(expected)];
  return is === should ? undefined : `\n${is}\ninstead of\n${should}`;
}

/**
 * What vacuum will do to a table's indexes: the pages pruned, the entries of dead line pointers removed, emptied pages
 * deleted. The line pointers stay dead.
 */
export function vacuumIndexes(db: Database, name: string): void {
  const { parts, catalog } = insideOf(db);
  const entry = catalog.find(name);
  if (entry === undefined) return;
  const { relations, transactions } = parts;
  const relation = relations.handleOf(entry);
  const { pool, main } = relation;
  const dead = new Set<string>();
  for (let block = 0; block < relation.blockCount(); block++) {
    const id = pool.pin(main, block);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      if (pageIsNew(m, base) || pool.pinCount(id) !== 1) continue;
      heapPrunePage(relation, id, transactions);
      for (let o = 1; o <= pageMaxOffset(m, base); o++) {
        if (lpFlags(linePointer(m, base, o)) === LP_DEAD) dead.add(`${block}/${o}`);
      }
    } finally {
      pool.unpin(id);
    }
  }
  for (const index of entry.indexes) {
    const { btree } = relations.indexOf(entry, index);
    const stats = runSync(btreeBulkDelete(btree, (block, offset) => dead.has(`${block}/${offset}`)));
    runSync(btreeVacuumCleanup(btree, stats));
  }
}
