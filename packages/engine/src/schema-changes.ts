// What one open transaction has changed of the tables: seen by itself at once, by others from its commit on.
import type { Oid, Xid } from '@blockwright/base';
import type { Catalog, CatalogEntry, FoundIndex } from '@blockwright/catalog';
import type { FileAges } from './file-ages.ts';

interface Change {
  /** Level of the savepoint in which it was made, 0 outside of any. */
  level: number;
  readonly name: string;
  /** What the name stands for from here on; undefined when its table was dropped. */
  readonly entry: CatalogEntry | undefined;
  /** Of the subtransaction that made the entry's files, 0 when they were there before. */
  readonly madeBy: Xid;
}

/** The catalogs as one transaction sees them. */
export class SchemaChanges {
  private readonly catalog: Catalog;
  private changes: Change[] = [];
  /** The last change of each name. */
  private readonly latest = new Map<string, Change>();

  constructor(catalog: Catalog) {
    this.catalog = catalog;
  }

  find(name: string): CatalogEntry | undefined {
    if (this.latest.size === 0) return this.catalog.find(name);
    const change = this.latest.get(name);
    return change === undefined ? this.catalog.find(name) : change.entry;
  }

  /** The index of that name, and its table. */
  findIndex(name: string): FoundIndex | undefined {
    for (const { entry } of this.latest.values()) {
      const index = entry?.indexes.find((one) => one.name === name);
      if (entry !== undefined && index !== undefined) return { table: entry, index };
    }
    const found = this.catalog.findIndex(name);
    return found === undefined || this.latest.has(found.table.name) ? undefined : found;
  }

  /** Every table, by name. */
  entries(): CatalogEntry[] {
    if (this.latest.size === 0) return this.catalog.entries();
    const names = new Set([...this.catalog.entries().map(({ name }) => name), ...this.latest.keys()]);
    const entries = [...names].map((name) => this.find(name)).filter((entry) => entry !== undefined);
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The subtransaction in which a table's files were made, as far as it is this transaction's; 0 when it is not. */
  madeBy(name: string): Xid {
    return this.latest.get(name)?.madeBy ?? 0;
  }

  note(level: number, name: string, entry: CatalogEntry | undefined, madeBy: Xid): void {
    const change: Change = { level, name, entry, madeBy };
    this.changes.push(change);
    this.latest.set(name, change);
  }

  /** Forgets what was changed in savepoints of `level` and deeper. */
  rollbackTo(level: number): void {
    this.changes = this.changes.filter((change) => change.level < level);
    this.latest.clear();
    for (const change of this.changes) this.latest.set(change.name, change);
  }

  /** What was changed in savepoints of `level` and deeper belongs to the one around it. */
  release(level: number): void {
    for (const change of this.changes) if (change.level >= level) change.level = level - 1;
  }

  /** Others see it from now on. */
  commit(files: FileAges): void {
    if (this.latest.size === 0) return;
    const made: Oid[] = [];
    const gone: Oid[] = [];
    for (const { name, entry } of this.latest.values()) {
      const before = filesOf(this.catalog.find(name));
      const after = filesOf(entry);
      gone.push(...before.filter((file) => !after.includes(file)));
      made.push(...after.filter((file) => !before.includes(file)));
      if (entry === undefined) this.catalog.remove(name);
      else this.catalog.put(entry);
    }
    files.commit(made, gone);
  }
}

/** The files of a table and its indexes. */
function filesOf(entry: CatalogEntry | undefined): Oid[] {
  return entry === undefined ? [] : [entry.relfilenode, ...entry.indexes.map(({ relfilenode }) => relfilenode)];
}
