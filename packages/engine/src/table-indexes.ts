// The indexes of a database's tables as queries use them, and what look-ups by them keep: made when first asked for.
import type { CatalogEntry, IndexEntry } from '@blockwright/catalog';
import type { Transactions } from '@blockwright/transam';
import { RowDecoder } from '@blockwright/tuple';
import { KeyLookup } from './get.ts';
import { noPrimaryKey, unknownIndex } from './index-queries.ts';
import type { QueryIndex } from './query-index.ts';
import type { Relations } from './relations.ts';
import { columnIndexes } from './scan.ts';

export class TableIndexes {
  private readonly relations: Relations;
  private readonly transactions: Transactions;
  /** By the catalogs' entry of the index, which is another one once its files, or its table's, are others. */
  private readonly known = new WeakMap<IndexEntry, QueryIndex>();
  private readonly lookups = new WeakMap<IndexEntry, KeyLookup>();
  private readonly primaryKeys = new WeakMap<CatalogEntry, KeyLookup>();
  /** Of the columns that were asked for last of a table. */
  private readonly decoders = new WeakMap<CatalogEntry, { names: readonly string[]; decoder: RowDecoder }>();

  constructor(relations: Relations, transactions: Transactions) {
    this.relations = relations;
    this.transactions = transactions;
  }

  /** @throws StorageError 42704 when the table has no index of that name, with the one that was probably meant. */
  indexOf(table: CatalogEntry, name: string): QueryIndex {
    return this.queryIndex(table, entryOf(table, name));
  }

  /**
   * What looks rows up by a unique index, or by the table's primary key.
   * @throws StorageError 42704 when there is none; TypeError for an index that is not unique.
   */
  lookupOf(table: CatalogEntry, name: string | undefined): KeyLookup {
    if (name === undefined) {
      const known = this.primaryKeys.get(table);
      if (known !== undefined) return known;
    }
    const entry = name === undefined ? primaryKeyOf(table) : entryOf(table, name);
    let lookup = this.lookups.get(entry);
    if (lookup === undefined) {
      lookup = new KeyLookup(this.queryIndex(table, entry));
      this.lookups.set(entry, lookup);
    }
    if (name === undefined) this.primaryKeys.set(table, lookup);
    return lookup;
  }

  /** Decodes rows of these columns. @throws StorageError 42703 for one that the table has not. */
  decoderOf(table: CatalogEntry, names: readonly string[]): RowDecoder {
    const last = this.decoders.get(table);
    if (last !== undefined && areSame(last.names, names)) return last.decoder;
    const decoder = RowDecoder.for(table.descriptor, columnIndexes(table.name, table.descriptor, names));
    this.decoders.set(table, { names: [...names], decoder });
    return decoder;
  }

  private queryIndex(table: CatalogEntry, entry: IndexEntry): QueryIndex {
    let index = this.known.get(entry);
    if (index === undefined) {
      const { relations, transactions } = this;
      index = {
        name: entry.name,
        oid: entry.oid,
        table: table.name,
        btree: relations.indexOf(table, entry).btree,
        isUnique: entry.isUnique,
        columns: entry.columns,
        heap: relations.handleOf(table),
        descriptor: table.descriptor,
        map: relations.mapOf(table),
        transactions,
      };
      this.known.set(entry, index);
    }
    return index;
  }
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

function entryOf({ name: table, indexes }: CatalogEntry, name: string): IndexEntry {
  const found = indexes.find((index) => index.name === name);
  if (found !== undefined) return found;
  const names = indexes.map((index) => index.name);
  throw unknownIndex(table, name, names);
}

function primaryKeyOf({ name: table, indexes }: CatalogEntry): IndexEntry {
  const found = indexes.find(({ isPrimary }) => isPrimary);
  if (found !== undefined) return found;
  const unique = indexes.filter(({ isUnique }) => isUnique);
  throw noPrimaryKey(
    table,
    unique.map(({ name }) => name),
  );
}
