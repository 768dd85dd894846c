// Our catalogs, read into memory when a directory is opened, and added to by DDL.
import type { Relation } from '@blockwright/access';
import { type Oid, StorageError } from '@blockwright/base';
import { frozenEncoder, HeapInserter, HeapScan } from '@blockwright/heap';
import { type ColumnType, columnTypeOf, TupleDescriptor, vectorValue } from '@blockwright/tuple';
import { BW_ATTRIBUTE, BW_CLASS, CATALOG_TABLES, type CatalogTable } from './tables.ts';

/** A table as the catalogs know it. */
export interface CatalogEntry {
  readonly oid: Oid;
  readonly name: string;
  /** `r` a table, `i` an index. */
  readonly kind: string;
  readonly relfilenode: Oid;
  readonly descriptor: TupleDescriptor;
}

/** Opens the relation with a file number; `name` is for messages. */
export type OpenRelation = (relfilenode: Oid, name: string) => Relation;

/** The catalogs of an open data directory. */
export class Catalog {
  private readonly open: OpenRelation;
  private readonly byName = new Map<string, CatalogEntry>();

  private constructor(open: OpenRelation) {
    this.open = open;
  }

  /** Fills the empty files of the catalogs with the rows that describe the catalogs themselves. */
  static bootstrap(open: OpenRelation): Catalog {
    const catalog = new Catalog(open);
    for (const table of CATALOG_TABLES) catalog.write(entryOf(table));
    return catalog;
  }

  /**
   * Reads the catalogs.
   * @throws StorageError XX001 when they contradict each other or name a type that does not exist.
   */
  static read(open: OpenRelation): Catalog {
    const catalog = new Catalog(open);
    const columns = new Map<Oid, unknown[][]>();
    const numbers = new Set<unknown>();
    for (const row of rowsOf(open, BW_ATTRIBUTE)) {
      const oid = row[0] as Oid;
      const list = columns.get(oid);
      if (list === undefined) columns.set(oid, [row]);
      else list.push(row);
    }
    for (const [oid, name, kind, relfilenode, natts] of rowsOf(open, BW_CLASS)) {
      const attributes = columns.get(oid as Oid) ?? [];
      if (attributes.length !== natts) {
        throw new StorageError(
          'XX001',
          `the catalogs are damaged: table "${String(name)}" has ${String(natts)} columns in bw_class and ${attributes.length} in bw_attribute`,
        );
      }
      if (catalog.byName.has(String(name)) || numbers.has(oid) || numbers.has(relfilenode)) {
        throw new StorageError(
          'XX001',
          `the catalogs are damaged: name or number of table "${String(name)}" is there twice in bw_class`,
        );
      }
      numbers.add(oid).add(relfilenode);
      const descriptor = descriptorOf(String(name), attributes);
      catalog.byName.set(String(name), {
        oid: oid as Oid,
        name: String(name),
        kind: String(kind),
        relfilenode: relfilenode as Oid,
        descriptor,
      });
    }
    for (const table of CATALOG_TABLES) {
      const entry = catalog.byName.get(table.name);
      if (entry?.oid !== table.oid || entry.relfilenode !== table.oid) {
        throw new StorageError(
          'XX001',
          `the catalogs are damaged: bw_class does not list "${table.name}" as it should`,
        );
      }
    }
    return catalog;
  }

  /** The table of that name, a catalog too. */
  find(name: string): CatalogEntry | undefined {
    return this.byName.get(name);
  }

  /** Every table, catalogs included, by name. */
  entries(): CatalogEntry[] {
    return [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Adds a table. Its files are the caller's to make.
   * @throws StorageError 42P07 when the name is taken.
   */
  add(oid: Oid, name: string, descriptor: TupleDescriptor): CatalogEntry {
    if (this.byName.has(name)) throw new StorageError('42P07', `table "${name}" already exists`);
    const entry: CatalogEntry = { oid, name, kind: 'r', relfilenode: oid, descriptor };
    this.write(entry);
    return entry;
  }

  private write(entry: CatalogEntry): void {
    const attributes = this.inserter(BW_ATTRIBUTE);
    entry.descriptor.columns.forEach(({ name, type }, index) => {
      attributes.insert([entry.oid, index + 1, name, type.oid, type.typmod, !type.isNullable]);
    });
    const classes = this.inserter(BW_CLASS);
    classes.insert([entry.oid, entry.name, entry.kind, entry.relfilenode, entry.descriptor.columns.length]);
    this.byName.set(entry.name, entry);
  }

  private inserter(table: CatalogTable): HeapInserter {
    const relation = this.open(table.oid, table.name);
    return new HeapInserter(relation, frozenEncoder(table.descriptor, relation.geometry));
  }
}

function entryOf(table: CatalogTable): CatalogEntry {
  return { oid: table.oid, name: table.name, kind: 'r', relfilenode: table.oid, descriptor: table.descriptor };
}

function* rowsOf(open: OpenRelation, table: CatalogTable): Generator<unknown[]> {
  const columns = table.descriptor.columns.map((_, index) => index);
  const scan = new HeapScan(open(table.oid, table.name), table.descriptor, { columns });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
    for (let i = 0; i < batch.length; i++) {
      yield columns.map((column, k) => vectorValue(table.descriptor.columns[column].type, batch.vectors[k], i));
    }
  }
}

function descriptorOf(name: string, attributes: unknown[][]): TupleDescriptor {
  attributes.sort((a, b) => (a[1] as number) - (b[1] as number));
  const seen = new Set<string>();
  return TupleDescriptor.of(
    attributes.map(([, number, column, typeOid, typmod, notNull], index) => {
      const type = columnType(typeOid as Oid, typmod as number, notNull !== true);
      if (type === undefined || number !== index + 1 || seen.has(String(column))) {
        throw new StorageError(
          'XX001',
          `the catalogs are damaged: column ${index + 1} of table "${name}" has number ${String(number)}, name "${String(column)}" and type ${String(typeOid)}`,
        );
      }
      seen.add(String(column));
      return { name: String(column), type };
    }),
  );
}

/** The type with these numbers; undefined when there is none, or none of this modifier. */
function columnType(typeOid: Oid, typmod: number, nullable: boolean): ColumnType<unknown> | undefined {
  try {
    return columnTypeOf(typeOid, typmod, nullable);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
