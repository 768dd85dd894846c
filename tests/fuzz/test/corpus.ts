// What is mutated: pages that real PostgreSQL servers of all six block sizes wrote, with the columns of their tables.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PostgresDirectory } from '@blockwright/catalog';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { TupleDescriptor } from '@blockwright/tuple';

export interface CorpusRelation {
  readonly name: string;
  readonly geometry: BlockGeometry;
  readonly descriptor: TupleDescriptor;
  /** Pages of the main fork that hold tuples. */
  readonly pages: readonly Uint8Array[];
  /** First pages of the maps, where there are any. */
  readonly map: Uint8Array | undefined;
  readonly freeSpace: Uint8Array | undefined;
}

const TABLES = ['types', 'churn', 'vacuumed', 'words', 'toasted', 'altered', 'lineitem', 'nocols'];
/** Pages of a relation that are taken, evenly apart. */
const MOST_PAGES = 6;

export function pgData(size: BlockSize): string {
  return fileURLToPath(new URL(`../../../fixtures/pg/${size / 1024}k/pgdata`, import.meta.url));
}

function pagesOf(path: string, size: number, most: number): Uint8Array[] {
  if (!existsSync(path)) return [];
  const bytes = new Uint8Array(readFileSync(path));
  const count = Math.floor(bytes.length / size);
  const step = Math.max(1, Math.floor(count / most));
  const pages: Uint8Array[] = [];
  for (let page = 0; page < count && pages.length < most; page += step) {
    const one = bytes.subarray(page * size, (page + 1) * size);
    if (one.some((byte) => byte !== 0)) pages.push(one);
  }
  return pages;
}

function relationsOf(size: BlockSize): CorpusRelation[] {
  const directory = pgData(size);
  using postgres = PostgresDirectory.open(directory);
  return TABLES.map((name) => {
    const table = postgres.table(name);
    const path = `${directory}/${postgres.relation(table).storage.name}`;
    return {
      name,
      geometry: BlockGeometry.of(size),
      descriptor: table.descriptor,
      pages: pagesOf(path, size, MOST_PAGES),
      map: pagesOf(`${path}_vm`, size, 1)[0],
      freeSpace: pagesOf(`${path}_fsm`, size, 1)[0],
    };
  }).filter(({ pages }) => pages.length > 0);
}

/** Every table at every block size. */
export function readCorpus(): CorpusRelation[] {
  return BLOCK_SIZES.flatMap(relationsOf);
}
