// What statements do to rows: values in, values out, and the way from a TID to the version that may be written.
import {
  type BlockNumber,
  checkFlag,
  checkOptions,
  isStorageError,
  type OffsetNumber,
  StorageError,
} from '@blockwright/base';
import type { CatalogEntry, IndexedWriter } from '@blockwright/catalog';
import { type HeapCount, heapCount, heapFetch, TM_DELETED, TM_INVISIBLE, TM_OK, TM_UPDATED } from '@blockwright/heap';
import type { RowLockMode, Snapshot } from '@blockwright/transam';
import { RowDecoder } from '@blockwright/tuple';
import type { Core } from './core.ts';
import { RowFinder } from './row-finder.ts';
import type { TableDef } from './table.ts';
import type { CountOptions } from './table-info.ts';
import type { DatabaseTransaction } from './transaction.ts';
import type { Changes, InsertOptions } from './transaction-options.ts';

const finder = new RowFinder();

/** The row that `snapshot` sees when it follows a TID. */
export function fetchRow(
  core: Core,
  entry: CatalogEntry,
  block: BlockNumber,
  offset: OffsetNumber,
  snapshot: Snapshot,
): Record<string, unknown> | undefined {
  checkTid(entry, block, offset);
  const relation = core.parts.relations.handleOf(entry);
  const decoder = decoderOf(entry);
  const row = heapFetch(relation, decoder, block, offset, { snapshot, followChain: true });
  if (row !== undefined || !finder.find(relation, block, offset, snapshot)) return row;
  return heapFetch(relation, decoder, finder.block, finder.offset, { snapshot });
}

export function countRows(core: Core, entry: CatalogEntry, options: CountOptions, snapshot: Snapshot): HeapCount {
  checkOptions('a count without an index', options, ['map', 'unknown', 'index']);
  checkFlag('a count without an index', 'map', options.map);
  const { relations } = core.parts;
  const map = options.map === false ? undefined : relations.mapOf(entry);
  return heapCount(relations.handleOf(entry), { map, snapshot, unknown: options.unknown });
}

/** A row that was just looked up. */
interface FoundRow {
  /** The offset of the version that is seen, on the block of its TID. */
  readonly version: OffsetNumber;
  readonly row: Record<string, unknown>;
}

/** Writes rows for one transaction. */
export class RowStatements {
  private readonly owner: DatabaseTransaction;

  constructor(owner: DatabaseTransaction) {
    this.owner = owner;
  }

  insert(entry: CatalogEntry, rows: Iterable<object>, options: InsertOptions): number {
    checkOptions('insert', options, ['tids']);
    const { owner } = this;
    const names = columnNames(entry);
    const writer = this.writerOf(entry);
    const { upkeep } = owner.core.parts;
    let count = 0;
    for (const row of rows) {
      try {
        checkOptions('the row', row, names);
        writer.heap.insert(owner.inner, valuesOf(row, names));
        owner.changes++;
        writer.insertEntries(owner.inner);
      } catch (error) {
        throw inTable(error, entry.name, count);
      }
      owner.lastBlock = writer.block;
      owner.lastOffset = writer.offset;
      options.tids?.push({ block: writer.block, offset: writer.offset });
      count++;
      upkeep.tickByVolume();
    }
    return count;
  }

  /** @param found what a look-up in this statement has found there */
  update(
    entry: CatalogEntry,
    block: BlockNumber,
    offset: OffsetNumber,
    changes: Changes<TableDef>,
    found?: FoundRow,
  ): boolean {
    const { owner } = this;
    const names = columnNames(entry);
    if (typeof changes !== 'function') checkOptions(`a change of "${entry.name}"`, changes, names);
    const relation = owner.core.parts.relations.handleOf(entry);
    const decoder = decoderOf(entry);
    const writer = this.writerOf(entry);
    let known = found?.row;
    const write = (b: BlockNumber, o: OffsetNumber, root: OffsetNumber, snapshot: Snapshot): number => {
      const row = known ?? heapFetch(relation, decoder, b, o, { snapshot });
      known = undefined; // what it is when another one was committed meanwhile, only the table says
      if (row === undefined) return TM_INVISIBLE;
      const changed = typeof changes === 'function' ? changes(row) : changes;
      if (changed === undefined) return UNCHANGED;
      if (typeof changes === 'function') checkChange(entry, changed, names);
      let verdict: number;
      try {
        verdict = writer.updateRow(owner.inner, b, o, changedValuesOf(row, changed, names), snapshot);
        if (verdict === TM_OK) {
          owner.changes++;
          writer.updateEntries(owner.inner);
        }
      } catch (error) {
        throw inTable(error, entry.name); // not what the caller's function throws
      }
      if (verdict === TM_OK) {
        owner.lastWasHot = writer.heap.wasHot;
        owner.lastBlock = writer.block;
        owner.lastOffset = writer.heap.wasHot ? root : writer.offset;
      }
      return verdict;
    };
    return this.onVersion(entry, block, offset, write, found?.version);
  }

  delete(entry: CatalogEntry, block: BlockNumber, offset: OffsetNumber): boolean {
    const { inner } = this.owner;
    const writer = this.writerOf(entry);
    return this.onVersion(entry, block, offset, (b, o, _root, snapshot) => writer.delete(inner, b, o, snapshot));
  }

  lock(entry: CatalogEntry, block: BlockNumber, offset: OffsetNumber, mode: RowLockMode): boolean {
    const { inner } = this.owner;
    const writer = this.writerOf(entry).heap;
    return this.onVersion(entry, block, offset, (b, o, _root, snapshot) => writer.lock(inner, b, o, mode, snapshot));
  }

  /** Writes to the version of a row that may be written: when another one was committed meanwhile, to that. */
  private onVersion(
    entry: CatalogEntry,
    block: BlockNumber,
    offset: OffsetNumber,
    write: (block: BlockNumber, offset: OffsetNumber, root: OffsetNumber, snapshot: Snapshot) => number,
    found: OffsetNumber = 0,
  ): boolean {
    const { owner } = this;
    checkTid(entry, block, offset);
    const relation = owner.core.parts.relations.handleOf(entry);
    for (let known = found; ; known = 0) {
      let isVersion = false;
      const snapshot = owner.inner.snapshot();
      try {
        if (known !== 0) finder.set(block, known, offset);
        else if (!finder.find(relation, block, offset, snapshot)) return false;
        isVersion = finder.block !== block || finder.offset !== offset;
        const verdict = write(finder.block, finder.offset, finder.root, snapshot);
        if (verdict === TM_OK) {
          owner.changes++;
          return true;
        }
        if (verdict === UNCHANGED || verdict === TM_DELETED || verdict === TM_INVISIBLE) return false;
        if (verdict !== TM_UPDATED) throw modifiedMeanwhile(entry);
      } catch (error) {
        throw isVersion ? askedFor(error, entry, block, offset) : storageErrorIn(error, entry.name);
      } finally {
        snapshot.release();
      }
    }
  }

  private writerOf(entry: CatalogEntry): IndexedWriter {
    return this.owner.core.parts.relations.writerOf(entry);
  }
}

/** PostgreSQL: `MaxBlockNumber`, and the greatest offset number that a TID can hold. */
const MAX_BLOCK_NUMBER = 0xffff_fffe;
const MAX_OFFSET_NUMBER = 0xffff;
/** Beside the heap's own verdicts: the caller wanted no change. */
const UNCHANGED = -1;

/** The function that an update was given has itself updated or deleted the row. PostgreSQL: 27000. */
function modifiedMeanwhile(entry: CatalogEntry): StorageError {
  return new StorageError('55000', `table "${entry.name}": the row was changed by the function that was to change it`);
}

function columnNames(entry: CatalogEntry): readonly string[] {
  let names = namesOf.get(entry);
  if (names === undefined) {
    names = entry.descriptor.columns.map((column) => column.name);
    namesOf.set(entry, names);
  }
  return names;
}
const namesOf = new WeakMap<CatalogEntry, readonly string[]>();

function decoderOf(entry: CatalogEntry): RowDecoder {
  let decoder = decoders.get(entry);
  if (decoder === undefined) {
    decoder = RowDecoder.for(entry.descriptor);
    decoders.set(entry, decoder);
  }
  return decoder;
}
const decoders = new WeakMap<CatalogEntry, RowDecoder>();

function valuesOf(row: object, names: readonly string[]): unknown[] {
  return names.map((name) => (row as Record<string, unknown>)[name]);
}

/** What the caller's function gave. @throws TypeError for what is no change, a promise above all: it would be lost. */
function checkChange({ name }: CatalogEntry, changed: object, names: readonly string[]): void {
  if (typeof (changed as { then?: unknown } | null)?.then === 'function' && !names.includes('then')) {
    throw new TypeError(
      `a change of "${name}": the function returned a promise; what it changes must be known when it returns`,
    );
  }
  checkOptions(`a change of "${name}"`, changed, names);
}

/** Of the row with the changes made to it. */
function changedValuesOf(row: object, changes: object, names: readonly string[]): unknown[] {
  return names.map((name) => ((Object.hasOwn(changes, name) ? changes : row) as Record<string, unknown>)[name]);
}

/**
 * Says where it happened to what an encoder threw, which knows the column only: the table and, of several, which row.
 * Mistakes of the caller stay of their class.
 */
export function inTable(error: unknown, table: string, row?: number): unknown {
  const where = row === undefined ? `table "${table}"` : `table "${table}", rows[${row}]`;
  for (const Mistake of [TypeError, RangeError]) {
    if (error instanceof Mistake && error.constructor === Mistake) {
      return new Mistake(`${where}: ${error.message}`, { cause: error });
    }
  }
  return storageErrorIn(error, table, where);
}

function storageErrorIn(error: unknown, table: string, where = `table "${table}"`): unknown {
  if (!isStorageError(error) || error.code === '23505' || error.message.includes(`"${table}"`)) return error;
  const { code, message, detail, hint } = error;
  return new StorageError(code, `${where}: ${message}`, { detail, hint, cause: error });
}

/** A refusal names the version that is held or was changed: the caller knows the row by another TID. */
function askedFor(error: unknown, entry: CatalogEntry, block: BlockNumber, offset: OffsetNumber): unknown {
  const named = storageErrorIn(error, entry.name);
  if (!isStorageError(named) || (named.code !== '55P03' && named.code !== '40001')) return named;
  const { code, message, detail, hint } = named;
  const asked = `The row was asked for as block ${block}, offset ${offset}.`;
  return new StorageError(code, message, {
    detail: detail === undefined ? asked : `${detail} ${asked}`,
    hint,
    cause: named,
  });
}

/** @throws RangeError for numbers at which no row can stand. */
function checkTid({ name }: CatalogEntry, block: BlockNumber, offset: OffsetNumber): void {
  if (!Number.isInteger(block) || block < 0 || block > MAX_BLOCK_NUMBER) {
    throw new RangeError(`table "${name}": block ${String(block)} is not an integer from 0 to ${MAX_BLOCK_NUMBER}`);
  }
  if (!Number.isInteger(offset) || offset < 1 || offset > MAX_OFFSET_NUMBER) {
    throw new RangeError(`table "${name}": offset ${String(offset)} is not an integer from 1 to ${MAX_OFFSET_NUMBER}`);
  }
}
