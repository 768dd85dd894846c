// The fixtures: data directories that real PostgreSQL servers of all six block sizes wrote, and what they said of them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { BlockSize } from '@blockwright/geometry';

const ROOT = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

function folder(size: BlockSize): string {
  return `${ROOT}${size / 1024}k`;
}

/** The data directory of a block size. */
export function pgData(size: BlockSize): string {
  return `${folder(size)}/pgdata`;
}

/** The objects of a `.jsonl` or `.jsonl.gz` file of what PostgreSQL said. */
export function expected<Row>(size: BlockSize, name: string): Row[] {
  const bytes = readFileSync(`${folder(size)}/expect/${name}`);
  const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').trim();
  return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
}

/** What pg_checksums or pg_controldata printed. */
export function expectedText(size: BlockSize, name: string): string {
  return readFileSync(`${folder(size)}/expect/${name}`, 'utf8');
}

export interface FixtureRelation {
  readonly name: string;
  /** r table, i index, t TOAST table. */
  readonly kind: string;
  /** Below the data directory. */
  readonly path: string;
}

export function relations(size: BlockSize): FixtureRelation[] {
  return expectedText(size, 'relations.txt')
    .trim()
    .split('\n')
    .map((line) => {
      const [name, kind, path] = line.split(' ');
      return { name, kind, path };
    });
}
