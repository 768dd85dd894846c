// What statements do to rows that they name by a key.
import { checkOptions } from '@blockwright/base';
import type { CatalogEntry } from '@blockwright/catalog';
import type { Snapshot } from '@blockwright/transam';
import type { Core } from './core.ts';
import type { KeyLookup } from './get.ts';
import { indexCount } from './index-queries.ts';
import type { ByKeyOptions, GetOptions, IndexCount, IndexCountOptions } from './index-range.ts';
import type { TableDef } from './table.ts';
import type { Tid } from './transaction-options.ts';

/** What is not given; not looked at. */
export const NO_OPTIONS: Readonly<Record<string, never>> = Object.freeze({});

/** The row with this key that `snapshot` sees. */
export function getRow(
  core: Core,
  entry: CatalogEntry,
  key: unknown,
  options: GetOptions<string>,
  snapshot: Snapshot,
): Record<string, unknown> | undefined {
  const { indexes } = core;
  if (options === NO_OPTIONS) return indexes.lookupOf(entry, undefined).get(key, snapshot);
  checkOptions('get', options, ['index', 'columns']);
  const { index, columns } = options;
  const decoder = columns === undefined ? undefined : indexes.decoderOf(entry, columns);
  return indexes.lookupOf(entry, index).get(key, snapshot, decoder);
}

/** What looks rows up by the index that a statement names, or by the primary key. */
export function lookupFor(core: Core, entry: CatalogEntry, options: ByKeyOptions): KeyLookup {
  if (options !== NO_OPTIONS) checkOptions('a look-up by key', options, ['index']);
  return core.indexes.lookupOf(entry, options.index);
}

/** Where it stands: the TID by which the index knows it. */
export function findRow(
  core: Core,
  entry: CatalogEntry,
  key: unknown,
  options: ByKeyOptions,
  snapshot: Snapshot,
): Tid | undefined {
  const lookup = lookupFor(core, entry, options);
  return lookup.find(key, snapshot) ? { block: lookup.block, offset: lookup.offset } : undefined;
}

export function countByIndex(
  core: Core,
  entry: CatalogEntry,
  options: IndexCountOptions<TableDef>,
  snapshot: Snapshot,
): IndexCount {
  return indexCount(core.indexes.indexOf(entry, options.index), options, snapshot);
}
