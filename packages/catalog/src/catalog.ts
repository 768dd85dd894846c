// Our catalogs: read into memory when a directory is opened, held there as they were committed last, and changed by
// transactions: what one has not committed yet is its own affair (CatalogWriter gives it the entry), until `put` and `remove`.
import type { Relation } from '@blockwright/access';
import { type Oid, runSync, type StorageError } from '@blockwright/base';
import { frozenEncoder, HeapInserter, HeapScan, HeapTableAccess } from '@blockwright/heap';
import { type BuildOptions, btreeBuild } from '@blockwright/nbtree';
import { CommitLog, type Snapshot, Transactions } from '@blockwright/transam';
import { vectorValue } from '@blockwright/tuple';
import {
  attributeRows,
  type CatalogEntry,
  type CatalogRow,
  type CatalogTid,
  classRow,
  damaged,
  entryOfRows,
  type TableShape,
} from './entry.ts';
import {
  DEFAULT_INDEX_FILLFACTOR,
  type IndexEntry,
  type IndexShape,
  indexClassRow,
  indexDescriptor,
  indexEntryOf,
  indexRow,
} from './index-entry.ts';
import { OpenIndex } from './open-index.ts';
import {
  BW_ATTRIBUTE,
  BW_CLASS,
  BW_INDEX,
  CATALOG_INDEXES,
  CATALOG_TABLES,
  type CatalogIndex,
  type CatalogTable,
} from './tables.ts';

/** Opens the relation with a file number; `name` is for messages. */
export type OpenRelation = (relfilenode: Oid, name: string) => Relation;

/** An index, and the table that it is of. */
export interface FoundIndex {
  readonly table: CatalogEntry;
  readonly index: IndexEntry;
}

/** Where a build may put files that do not outlive it. */
export type TemporaryFiles = Pick<BuildOptions, 'vfs' | 'tempDirectory'>;

/** The catalogs of an open data directory. */
export class Catalog {
  private readonly byName = new Map<string, CatalogEntry>();
  /** The tables of indexes, by the indexes' names. */
  private readonly tableOfIndex = new Map<string, string>();

  /**
   * Fills the empty files of the catalogs with the rows that describe the catalogs themselves, frozen and not logged:
   * nobody can read them before they are synced; then builds the files of their indexes.
   */
  static bootstrap(open: OpenRelation, temporary: TemporaryFiles): Catalog {
    const catalog = new Catalog();
    const inserter = (table: CatalogTable): ((values: readonly unknown[]) => CatalogTid) => {
      const relation = open(table.oid, table.name);
      const inserter = new HeapInserter(relation, frozenEncoder(table.descriptor, relation.geometry));
      return (values) => {
        inserter.insert(values);
        return { block: inserter.block, offset: inserter.offset };
      };
    };
    const insertClass = inserter(BW_CLASS);
    const insertAttribute = inserter(BW_ATTRIBUTE);
    const insertIndex = inserter(BW_INDEX);
    for (const table of CATALOG_TABLES) {
      const shape = shapeOf(table);
      const attributes = attributeRows(shape).map(insertAttribute);
      const row = insertClass(classRow(shape));
      const indexes = CATALOG_INDEXES.filter((index) => index.table === table).map((index): IndexEntry => {
        const shape = indexShapeOf(index);
        return {
          ...shape,
          attributeRows: attributeRows(shape).map(insertAttribute),
          row: insertClass(indexClassRow(shape)),
          indexRow: insertIndex(indexRow(shape)),
        };
      });
      catalog.put({ ...shape, row, attributeRows: attributes, indexes });
    }
    for (const table of catalog.entries()) for (const index of table.indexes) build(open, table, index, temporary);
    return catalog;
  }

  /**
   * Reads the catalogs.
   * @param snapshot what is visible; without it, hint bits decide.
   * @throws StorageError XX001 when they contradict each other or name a type that does not exist.
   */
  static read(open: OpenRelation, snapshot?: Snapshot): Catalog {
    const rows = new CatalogRows(open, snapshot);
    const catalog = new Catalog();
    for (const entry of rows.tables()) catalog.put(entry);
    for (const table of CATALOG_TABLES) {
      const entry = catalog.byName.get(table.name);
      const { oid } = table;
      if (entry?.oid !== oid || entry.relfilenode !== oid) throw notListed(table.name);
      for (const { name, oid } of CATALOG_INDEXES.filter((index) => index.table === table)) {
        const index = entry.indexes.find((index) => index.name === name);
        if (index?.oid !== oid || index.relfilenode !== oid) throw notListed(name);
      }
    }
    return catalog;
  }

  /** The table of that name, a catalog too, as committed last. */
  find(name: string): CatalogEntry | undefined {
    return this.byName.get(name);
  }

  /** The index of that name, and its table, as committed last. */
  findIndex(name: string): FoundIndex | undefined {
    const table = this.byName.get(this.tableOfIndex.get(name) ?? '');
    const index = table?.indexes.find((one) => one.name === name);
    return table === undefined || index === undefined ? undefined : { table, index };
  }

  /** Every table, catalogs included, by name. */
  entries(): CatalogEntry[] {
    return [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Takes a committed table in, in place of one of that name. */
  put(entry: CatalogEntry): void {
    this.remove(entry.name);
    this.byName.set(entry.name, entry);
    for (const { name } of entry.indexes) this.tableOfIndex.set(name, entry.name);
  }

  /** Forgets a table whose dropping was committed. */
  remove(name: string): void {
    for (const index of this.byName.get(name)?.indexes ?? []) this.tableOfIndex.delete(index.name);
    this.byName.delete(name);
  }
}

/** Bytes that building an index of a catalog may take: more than all their rows have. */
const BOOTSTRAP_BYTES = 0x10_0000;

function build(open: OpenRelation, table: CatalogEntry, index: IndexEntry, temporary: TemporaryFiles): void {
  const heap = open(table.relfilenode, table.name);
  const { vfs, tempDirectory } = temporary;
  const commitLog = new CommitLog({ vfs, directory: tempDirectory, pageBytes: heap.geometry.size, readOnly: true });
  const access = new HeapTableAccess(heap, Transactions.offline({ commitLog }));
  const { descriptor } = table;
  const { btree, former } = new OpenIndex(
    index,
    open(index.relfilenode, index.name),
    { descriptor, access },
    undefined,
  );
  runSync(btreeBuild(btree, undefined, { former, maintenanceWorkMem: BOOTSTRAP_BYTES, ...temporary }));
}

/** What is in the catalogs, put together. */
class CatalogRows {
  private readonly classes: CatalogRow[];
  private readonly attributes = new Map<Oid, CatalogRow[]>();
  private readonly indexes = new Map<Oid, CatalogRow>();

  constructor(open: OpenRelation, snapshot: Snapshot | undefined) {
    for (const row of rowsOf(open, BW_ATTRIBUTE, snapshot)) {
      const oid = row.values[0] as Oid;
      const list = this.attributes.get(oid);
      if (list === undefined) this.attributes.set(oid, [row]);
      else list.push(row);
    }
    for (const row of rowsOf(open, BW_INDEX, snapshot)) {
      const oid = row.values[0] as Oid;
      if (this.indexes.has(oid)) throw damaged(`index ${oid} is there twice in bw_index`);
      this.indexes.set(oid, row);
    }
    this.classes = [...rowsOf(open, BW_CLASS, snapshot)];
    this.refuseTwins();
  }

  /** @throws StorageError XX001 */
  tables(): CatalogEntry[] {
    const tables = new Map<Oid, CatalogEntry & { indexes: IndexEntry[] }>();
    for (const row of this.classes.filter((row) => kindOf(row) === 'r')) {
      const entry = { ...entryOfRows(row, this.attributesOf(row)), indexes: [] };
      tables.set(entry.oid, entry);
    }
    const indexes = this.classes.filter((row) => kindOf(row) === 'i');
    for (const row of indexes) {
      const [oid, name] = row.values;
      const index = this.indexes.get(oid as Oid);
      if (index === undefined) throw damaged(`index "${String(name)}" is in bw_class and not in bw_index`);
      const table = tables.get(index.values[1] as Oid);
      if (table === undefined) {
        throw damaged(`index "${String(name)}" is of table ${String(index.values[1])}, which is not there`);
      }
      table.indexes.push(indexEntryOf({ class: row, index, attributes: this.attributesOf(row) }, table));
    }
    if (indexes.length !== this.indexes.size) throw damaged('bw_index has indexes that are not in bw_class');
    for (const { indexes } of tables.values()) indexes.sort((a, b) => a.oid - b.oid);
    return [...tables.values()];
  }

  private attributesOf(row: CatalogRow): CatalogRow[] {
    return this.attributes.get(row.values[0] as Oid) ?? [];
  }

  private refuseTwins(): void {
    const seen: readonly Set<unknown>[] = [new Set(), new Set(), new Set()];
    for (const row of this.classes) {
      const [oid, name, kind, relfilenode] = row.values;
      const what = kind === 'i' ? 'index' : 'table';
      if (kind !== 'r' && kind !== 'i') throw damaged(`"${String(name)}" has relkind "${String(kind)}" in bw_class`);
      [oid, name, relfilenode].forEach((value, i) => {
        if (seen[i].has(value)) throw damaged(`name or number of ${what} "${String(name)}" is there twice in bw_class`);
        seen[i].add(value);
      });
    }
  }
}

function kindOf(row: CatalogRow): unknown {
  return row.values[2];
}

function notListed(name: string): StorageError {
  return damaged(`bw_class does not list "${name}" as it should`);
}

function shapeOf(table: CatalogTable): TableShape {
  const { oid, name, descriptor } = table;
  return { oid, name, relfilenode: oid, descriptor, persistence: 'p', fillfactor: 100 };
}

function indexShapeOf({ oid, name, table, columns: names, isUnique, isPrimary }: CatalogIndex): IndexShape {
  const columns = names.map((column) => table.descriptor.indexOf(column));
  return {
    oid,
    name,
    relfilenode: oid,
    table: table.oid,
    columns,
    keys: columns.map(() => ({ descending: false, nullsFirst: false })),
    isUnique,
    isPrimary,
    nullsNotDistinct: false,
    descriptor: indexDescriptor(table.descriptor, columns),
    persistence: 'p',
    fillfactor: DEFAULT_INDEX_FILLFACTOR,
    deduplicate: true,
  };
}

function* rowsOf(open: OpenRelation, table: CatalogTable, snapshot?: Snapshot): Generator<CatalogRow> {
  const columns = table.descriptor.columns.map((_, index) => index);
  const types = table.descriptor.columns.map(({ type }) => type);
  const scan = new HeapScan(open(table.oid, table.name), table.descriptor, { columns, snapshot });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
    const { vectors, blocks, offsets } = batch;
    for (let i = 0; i < batch.length; i++) {
      const values = types.map((type, k) => vectorValue(type, vectors[k], i));
      yield { values, tid: { block: blocks[i], offset: offsets[i] } };
    }
  }
}
