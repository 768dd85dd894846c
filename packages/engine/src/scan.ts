// A scan as users see it: typed batches, and row objects on top of them.
import type { Relation } from '@blockwright/access';
import { checkOptions, nearestName, StorageError } from '@blockwright/base';
import { type HeapBatch, HeapScan, type UnknownPolicy } from '@blockwright/heap';
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
}

/** What a scan holds until it ends. */
export interface ScanHold {
  readonly snapshot: Snapshot;
  /** Why somebody else has ended the scan; undefined while it goes on. */
  readonly stopped: string | undefined;
  /** Called when it has ended, more than once perhaps. */
  release(): void;
}

/** Rows, column by column; lent until the next batch. */
export interface Batch<Table extends TableDef, Name extends ColumnName<Table>> {
  readonly length: number;
  /** Block and line pointer of each row. */
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
  private readonly heapScan: HeapScan;
  private readonly names: readonly Name[];
  private readonly types: readonly ColumnType<unknown>[];
  private readonly columns: { [Column in Name]: Vector };
  private readonly hold: ScanHold | undefined;
  private readonly table: string;
  private started = false;

  /** @param hold the snapshot that decides what is seen; without one, hint bits do */
  constructor(relation: Relation, descriptor: TupleDescriptor, options: ScanOptions<Name>, hold?: ScanHold) {
    checkOptions('scan', options, ['columns', 'unknown', 'charCodes', 'fetchToast']);
    if (!Array.isArray(options.columns)) throw new TypeError('a scan needs the columns to read, as an array of names');
    const indexes = options.columns.map((name) => columnIndex(relation.name, descriptor, name));
    this.heapScan = new HeapScan(relation, descriptor, {
      columns: indexes,
      snapshot: hold?.snapshot,
      unknown: options.unknown,
      charCodes: options.charCodes,
      fetchToast: options.fetchToast,
    });
    this.hold = hold;
    this.table = relation.name;
    this.names = options.columns;
    this.types = indexes.map((index) => descriptor.columns[index]?.type as ColumnType<unknown>);
    const byName: Record<string, Vector> = {};
    this.names.forEach((name, k) => {
      byName[name] = this.heapScan.vectors[k] as Vector;
    });
    this.columns = byName as { [Column in Name]: Vector };
  }

  /** Rows met so far of which nothing that is read says whether they are visible. */
  get unknown(): number {
    return this.heapScan.unknown;
  }

  /** The next batch, or undefined at the end: for loops that want no iterator. */
  next(): HeapBatch | undefined {
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
    this.heapScan.close();
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
    const { names, types } = this;
    for (const batch of this) {
      for (let i = 0; i < batch.length; i++) {
        const row: Record<string, unknown> = {};
        for (let k = 0; k < types.length; k++) row[names[k]] = vectorValue(types[k], batch.vectors[k], i);
        yield row as Pick<Row<Table>, Name>;
      }
    }
  }

  private step(): HeapBatch | undefined {
    const { hold, heapScan } = this;
    if (hold?.stopped !== undefined) {
      throw new StorageError('55000', `the scan of table "${this.table}" was closed: ${hold.stopped}`);
    }
    let batch: HeapBatch | undefined;
    try {
      batch = heapScan.next();
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
