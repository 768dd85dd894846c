// Our catalogs: read into memory when a directory is opened, held there as they were committed last, and changed by
// transactions: what one has not committed yet is its own affair (CatalogWriter gives it the entry), until `put` and `remove`.
import type { Relation } from '@blockwright/access';
import type { Oid } from '@blockwright/base';
import { frozenEncoder, HeapInserter, HeapScan } from '@blockwright/heap';
import type { Snapshot } from '@blockwright/transam';
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
import { BW_ATTRIBUTE, BW_CLASS, CATALOG_TABLES, type CatalogTable } from './tables.ts';

/** Opens the relation with a file number; `name` is for messages. */
export type OpenRelation = (relfilenode: Oid, name: string) => Relation;

/** The catalogs of an open data directory. */
export class Catalog {
  private readonly byName = new Map<string, CatalogEntry>();

  /**
   * Fills the empty files of the catalogs with the rows that describe the catalogs themselves, frozen and not logged:
   * nobody can read them before they are synced.
   */
  static bootstrap(open: OpenRelation): Catalog {
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
    for (const table of CATALOG_TABLES) {
      const shape = shapeOf(table);
      const attributes = attributeRows(shape).map(insertAttribute);
      catalog.put({ ...shape, kind: 'r', row: insertClass(classRow(shape)), attributeRows: attributes });
    }
    return catalog;
  }

  /**
   * Reads the catalogs.
   * @param snapshot what is visible; without it, hint bits decide.
   * @throws StorageError XX001 when they contradict each other or name a type that does not exist.
   */
  static read(open: OpenRelation, snapshot?: Snapshot): Catalog {
    const catalog = new Catalog();
    const columns = new Map<Oid, CatalogRow[]>();
    const numbers = new Set<unknown>();
    for (const row of rowsOf(open, BW_ATTRIBUTE, snapshot)) {
      const oid = row.values[0] as Oid;
      const list = columns.get(oid);
      if (list === undefined) columns.set(oid, [row]);
      else list.push(row);
    }
    for (const row of rowsOf(open, BW_CLASS, snapshot)) {
      const entry = entryOfRows(row, columns.get(row.values[0] as Oid) ?? []);
      if (catalog.byName.has(entry.name) || numbers.has(entry.oid) || numbers.has(entry.relfilenode)) {
        throw damaged(`name or number of table "${entry.name}" is there twice in bw_class`);
      }
      numbers.add(entry.oid).add(entry.relfilenode);
      catalog.put(entry);
    }
    for (const table of CATALOG_TABLES) {
      const entry = catalog.byName.get(table.name);
      if (entry?.oid !== table.oid || entry.relfilenode !== table.oid) {
        throw damaged(`bw_class does not list "${table.name}" as it should`);
      }
    }
    return catalog;
  }

  /** The table of that name, a catalog too, as committed last. */
  find(name: string): CatalogEntry | undefined {
    return this.byName.get(name);
  }

  /** Every table, catalogs included, by name. */
  entries(): CatalogEntry[] {
    return [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Takes a committed table in, in place of one of that name. */
  put(entry: CatalogEntry): void {
    this.byName.set(entry.name, entry);
  }

  /** Forgets a table whose dropping was committed. */
  remove(name: string): void {
    this.byName.delete(name);
  }
}

function shapeOf(table: CatalogTable): TableShape {
  const { oid, name, descriptor } = table;
  return { oid, name, relfilenode: oid, descriptor, persistence: 'p', fillfactor: 100 };
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
