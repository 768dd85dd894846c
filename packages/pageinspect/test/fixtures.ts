// The fixtures that real PostgreSQL servers of all six block sizes wrote.
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

export const FIXTURE_SIZES = ['1k', '2k', '4k', '8k', '16k', '32k'] as const;
export type FixtureSize = (typeof FIXTURE_SIZES)[number];

const root = new URL('../../../fixtures/pg/', import.meta.url);

export interface FixtureRelation {
  readonly name: string;
  /** r table, i index, t TOAST table. */
  readonly kind: string;
  readonly path: string;
}

export function relations(size: FixtureSize): FixtureRelation[] {
  const text = readFileSync(new URL(`${size}/expect/relations.txt`, root), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [name, kind, path] = line.split(' ') as [string, string, string];
      return { name, kind, path };
    });
}

export function relationBytes(size: FixtureSize, path: string): Uint8Array | undefined {
  const file = new URL(`${size}/pgdata/${path}`, root);
  return existsSync(file) ? new Uint8Array(readFileSync(file)) : undefined;
}

/** The objects of a `.jsonl` or `.jsonl.gz` file of `expect`; undefined where the file does not exist. */
export function expected<Row>(size: FixtureSize, name: string): Row[] | undefined {
  for (const ending of ['.jsonl', '.jsonl.gz']) {
    const file = new URL(`${size}/expect/${name}${ending}`, root);
    if (!existsSync(file)) continue;
    const bytes = readFileSync(file);
    const text = (ending === '.jsonl' ? bytes : gunzipSync(bytes)).toString('utf8').trim();
    return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
  }
  return undefined;
}
