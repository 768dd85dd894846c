// A scan as users see it: typed batches, and row objects on top of them. Where the batches come from is its source's affair:
// the pages of a table in their order, or an index.
import type { Relation } from '@blockwright/access';
import { checkOptions, nearestName, StorageError } from '@blockwright/base';
import { HeapScan, type UnknownPolicy } from '@blockwright/heap';
import type { Snapshot } from '@blockwright/transam';
import {
  type ColumnType,
  type FetchToast,
  type TupleDescriptor,
  type Vector,
  type VectorOptions,
  vectorValue,
} from '@blockwright/tuple';
import type { ColumnName, Row, TableDef } from './table.ts';

export interface ScanOptions<Name extends string> extends VectorOptions {
  /** Fetches values stored out of line; without it they are an error. */
  readonly fetchToast?: FetchToast;
  readonly columns: readonly Name[];
  /**
   * What to do with rows of which nothing that is read says whether they are visible (a part of the commit log is gone; a
   * lone file has none): `error` by default.
   */
  readonly unknown?: UnknownPolicy;
  /** With the name of an index it is an index scan, which takes other options. */
  readonly index?: undefined;
}

/** What a scan holds until it ends. */
export interface ScanHold {
  readonly snapshot: Snapshot;
  /** Why somebody else has ended the scan; undefined while it goes on. */
  readonly stopped: string | undefined;
  /** Called when it has ended, more than once perhaps. */
  release(): void;
}

/** What a scan has done so far. Of a scan without an index all are 0. */
export interface ScanStats {
  /** Leaf pages of the index that had entries of the range. */
  readonly indexPages: number;
  /** Entries of the range, those of rows that are not seen too. */
  readonly entries: number;
  /** Entries for which the table was asked: all, unless the index holds every column and the visibility map spares it. */
  readonly heapFetches: number;
  /** Entries that were marked dead, since nobody sees a row of theirs any more: no later scan looks at them. */
  readonly killed: number;
}

/** Rows, column by column, as a source gives them; lent until the next batch. */
export interface RowBatch {
  readonly length: number;
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  readonly vectors: readonly Vector[];
}

/** Where a scan's batches come from. */
export interface RowSource {
  /** The vectors that every batch lends. */
  readonly vectors: readonly Vector[];
  readonly types: readonly ColumnType<unknown>[];
  readonly unknown: number;
  readonly stats: ScanStats;
  next(): RowBatch | undefined;
  close(): void;
}

/** What {@link Scan} needs to know beside its source. */
export interface ScanParts<Name extends string> {
  readonly table: string;
  readonly names: readonly Name[];
  /** The snapshot that decides what is seen, and more; without one, hint bits do. */
  readonly hold: ScanHold | undefined;
}

/** Rows, column by column; lent until the next batch. */
export interface Batch<Table extends TableDef, Name extends ColumnName<Table>> {
  readonly length: number;
  /** Block and line pointer of each row: in an index's order those by which the index knows it, where its HOT chain begins. */
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  /** By column name. */
  readonly columns: { readonly [Column in Name]: Vector };
  /** The same vectors in the order in which the columns were asked for. */
  readonly vectors: readonly Vector[];
}

/** A scan: iterate it for batches, or its {@link rows} for row objects. It can be iterated once. */
export class Scan<Table extends TableDef, Name extends ColumnName<Table>>
  implements Iterable<Batch<Table, Name>>, Disposable
{
  private readonly source: RowSource;
  private readonly names: readonly Name[];
  private readonly columns: { [Column in Name]: Vector };
  private readonly hold: ScanHold | undefined;
  private readonly table: string;
  private started = false;

  /** @internal */
  constructor(source: RowSource, { table, names, hold }: ScanParts<Name>) {
    this.source = source;
    this.hold = hold;
    this.table = table;
    this.names = names;
    const byName: Record<string, Vector> = {};
    names.forEach((name, k) => {
      byName[name] = source.vectors[k] as Vector;
    });
    this.columns = byName as { [Column in Name]: Vector };
  }

  /** Rows met so far of which nothing that is read says whether they are visible. */
  get unknown(): number {
    return this.source.unknown;
  }

  /** What it has done so far. */
  get stats(): ScanStats {
    return this.source.stats;
  }

  /** The next batch, or undefined at the end: for loops that want no iterator. */
  next(): RowBatch | undefined {
    this.started = true;
    return this.step();
  }

  [Symbol.iterator](): Generator<Batch<Table, Name>> {
    return this.closedBy(this.batches());
  }

  /** The rows as objects, values as the package README of `tuple` lists them. */
  rows(): Generator<Pick<Row<Table>, Name>> {
    return this.closedBy(this.rowObjects());
  }

  /** Ends the scan, and gives back what it holds; again is fine. */
  close(): void {
    this.source.close();
    this.hold?.release();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private *batches(): Generator<Batch<Table, Name>> {
    this.begin();
    try {
      for (let next = this.step(); next !== undefined; next = this.step()) {
        const batch = next;
        const { length, offsets, vectors } = batch;
        yield {
          length,
          offsets,
          vectors,
          columns: this.columns,
          get blocks(): Uint32Array {
            return batch.blocks; // written out only when asked for
          },
        };
      }
    } finally {
      this.close();
    }
  }

  private *rowObjects(): Generator<Pick<Row<Table>, Name>> {
    const { names } = this;
    const { types } = this.source;
    for (const batch of this) {
      for (let i = 0; i < batch.length; i++) {
        const row: Record<string, unknown> = {};
        for (let k = 0; k < types.length; k++) row[names[k]] = vectorValue(types[k], batch.vectors[k], i);
        yield row as Pick<Row<Table>, Name>;
      }
    }
  }

  private step(): RowBatch | undefined {
    const { hold, source } = this;
    if (hold?.stopped !== undefined) {
      throw new StorageError('55000', `the scan of table "${this.table}" was closed: ${hold.stopped}`);
    }
    let batch: RowBatch | undefined;
    try {
      batch = source.next();
    } finally {
      if (batch === undefined) this.close(); // at the end, and when it fails
    }
    return batch;
  }

  /** A generator that was returned from before its first step never enters its `finally`. */
  private closedBy<Value>(generator: Generator<Value>): Generator<Value> {
    const end = generator.return.bind(generator);
    generator.return = (value) => {
      this.close();
      return end(value);
    };
    return generator;
  }

  private begin(): void {
    if (this.started) throw new StorageError('55000', 'the scan has been iterated already: make a new one');
    this.started = true;
  }
}

/**
 * A scan of a table's pages in their order.
 * @throws StorageError 42703 for an unknown column, naming the one that was probably meant; TypeError for an unknown option.
 */
export function heapScanOf<Table extends TableDef, Name extends ColumnName<Table>>(
  relation: Relation,
  descriptor: TupleDescriptor,
  options: ScanOptions<Name>,
  hold?: ScanHold,
): Scan<Table, Name> {
  checkOptions('a scan without an index', options, ['columns', 'unknown', 'charCodes', 'fetchToast', 'index']);
  if (options.index !== undefined) throw new TypeError(`"${relation.name}" has no indexes here: leave out "index"`);
  const columns = columnIndexes(relation.name, descriptor, options.columns);
  const { unknown, charCodes, fetchToast } = options;
  const scan = new HeapScan(relation, descriptor, {
    columns,
    snapshot: hold?.snapshot,
    unknown,
    charCodes,
    fetchToast,
  });
  const source = new HeapSource(
    scan,
    columns.map((index) => descriptor.columns[index].type),
  );
  return new Scan(source, { table: relation.name, names: options.columns, hold });
}

const NO_INDEX: ScanStats = Object.freeze({ indexPages: 0, entries: 0, heapFetches: 0, killed: 0 });

class HeapSource implements RowSource {
  readonly types: readonly ColumnType<unknown>[];
  private readonly scan: HeapScan;

  constructor(scan: HeapScan, types: readonly ColumnType<unknown>[]) {
    this.scan = scan;
    this.types = types;
  }

  get vectors(): readonly Vector[] {
    return this.scan.vectors;
  }

  get unknown(): number {
    return this.scan.unknown;
  }

  get stats(): ScanStats {
    return NO_INDEX;
  }

  next(): RowBatch | undefined {
    return this.scan.next();
  }

  close(): void {
    this.scan.close();
  }
}

/** Places of the columns asked for. @throws TypeError when they are no array; StorageError 42703 for an unknown one. */
export function columnIndexes(table: string, descriptor: TupleDescriptor, names: readonly string[]): number[] {
  if (!Array.isArray(names)) throw new TypeError('a scan needs the columns to read, as an array of names');
  return names.map((name) => columnIndex(table, descriptor, name));
}

function columnIndex(table: string, descriptor: TupleDescriptor, name: string): number {
  const index = descriptor.columns.findIndex((column) => column.name === name && !column.isDropped);
  if (index >= 0) return index;
  const nearest = nearestName(
    name,
    descriptor.columns.map((column) => column.name),
  );
  throw new StorageError('42703', `table "${table}" has no column "${name}"`, {
    hint: nearest === undefined ? undefined : `Perhaps "${nearest}" was meant.`,
  });
}
