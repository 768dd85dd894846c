// A bulk load into an empty table, in steps. Either every row is there at its end, or the table is empty again.
import { checkOptions, isStorageError, type Steps, StorageError } from '@blockwright/base';
import type { CatalogEntry } from '@blockwright/catalog';
import { BulkLoader, frozenEncoder, hintedEncoder } from '@blockwright/heap';
import { type Vector, vectorCapacity } from '@blockwright/tuple';
import type { Relations } from './relations.ts';

/** Column vectors of rows to load. */
export interface LoadBatch {
  readonly length: number;
  /** In the table's column order. */
  readonly columns: readonly Vector[];
}

export interface LoadOptions {
  /**
   * true, the default: rows are frozen and pages marked all-visible, as PostgreSQL's COPY FREEZE leaves them. false:
   * rows carry hint bits only, as an ordinary load leaves them after its first scan, and no page is marked.
   */
  readonly freeze?: boolean;
}

/** One load that is going on. */
export class TableLoad {
  private readonly relations: Relations;
  private readonly entry: CatalogEntry;
  private readonly loader: BulkLoader;
  private state: 'loading' | 'whole' | 'undone' = 'loading';

  /** @throws StorageError 55000 when the table has rows; TypeError for an unknown option. */
  constructor(relations: Relations, entry: CatalogEntry, options: LoadOptions) {
    const { freeze = true } = options;
    const encoder = (freeze ? frozenEncoder : hintedEncoder)(entry.descriptor, relations.geometry);
    this.relations = relations;
    this.entry = entry;
    this.loader = new BulkLoader(relations.handleOf(entry), encoder, relations.mapOf(entry), { allVisible: freeze });
  }

  /** Loads the batches; gives the number of rows. When it fails or is returned from early, {@link undo} has been called. */
  *run(batches: Iterable<LoadBatch>): Steps<number> {
    const { loader, entry } = this;
    try {
      for (const batch of batches) {
        this.refuseWhenUndone();
        checkBatch(entry, batch);
        loader.append(batch.columns, batch.length);
        yield { phase: `loading ${entry.name}`, done: loader.rows, total: 0, unit: 'rows' };
      }
      this.refuseWhenUndone();
      loader.finish();
      this.state = 'whole';
      return loader.rows;
    } catch (error) {
      throw inTable(error, entry.name);
    } finally {
      this.undo();
    }
  }

  /** Empties the table, unless every row is in. A failure on the way is left to the error that brought us here. */
  undo(): void {
    if (this.state !== 'loading') return;
    this.state = 'undone';
    this.loader.abandon();
    try {
      this.relations.empty(this.entry);
    } catch (error) {
      if (!isStorageError(error)) throw error;
    }
  }

  private refuseWhenUndone(): void {
    if (this.state === 'undone') {
      throw new StorageError('57014', `the load was stopped: the database was closed meanwhile`);
    }
  }
}

/** Options that a load takes; those of running it in slices among them. */
export function checkLoadOptions(options: object): void {
  checkOptions('load', options, ['freeze', 'signal', 'onProgress']);
}

function checkBatch(entry: CatalogEntry, { length, columns }: LoadBatch): void {
  const names = entry.descriptor.columns.map((column) => column.name);
  if (columns.length !== names.length) {
    throw new TypeError(`table "${entry.name}" has ${names.length} columns, and the batch ${columns.length}`);
  }
  columns.forEach((vector, i) => {
    if (!(length >= 0 && length <= vectorCapacity(vector))) {
      throw new RangeError(
        `a batch of ${String(length)} rows for table "${entry.name}": the vector of column "${names[i]}" has room for ${vectorCapacity(vector)}`,
      );
    }
  });
}

/** Adds the table's name to what an encoder threw, which knows the column only. */
export function inTable(error: unknown, table: string): unknown {
  if (!isStorageError(error) || error.message.includes(`"${table}"`)) return error;
  const { code, message, detail, hint } = error;
  return new StorageError(code, `table "${table}": ${message}`, { detail, hint, cause: error });
}
