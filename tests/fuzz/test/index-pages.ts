// Pages that are no heap pages, mutated: of B-trees that PostgreSQL wrote. They are inspected and checked, and never taken
// for tuples.
import { readFileSync } from 'node:fs';
import { checkRelation } from '@blockwright/amcheck';
import { isStorageError, runSync } from '@blockwright/base';
import { PostgresDirectory } from '@blockwright/catalog';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageBoundsAreSane, pageMemory, pageSetChecksum } from '@blockwright/page';
import { inspectRelation } from '@blockwright/pageinspect';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { pgData } from './corpus.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';

interface IndexFile {
  readonly geometry: BlockGeometry;
  readonly bytes: Uint8Array;
}

function indexFiles(): IndexFile[] {
  return BLOCK_SIZES.flatMap((size) => {
    using postgres = PostgresDirectory.open(pgData(size));
    return postgres
      .relations()
      .filter(({ kind, schema }) => kind === 'i' && schema === 'public')
      .map((relation) => ({
        geometry: BlockGeometry.of(size),
        bytes: new Uint8Array(readFileSync(`${pgData(size)}/${postgres.path(relation)}`)).slice(0, 4 * size),
      }));
  });
}

/** Faults of readers over so many mutated index files, and how many were looked at. */
export function fuzzIndexPages(seed: number, count: number): { faults: string[]; files: number } {
  const files = indexFiles();
  const faults: string[] = [];
  for (let index = 0; index < count; index++) {
    const random = Random.ofInput(seed, index);
    const { geometry, bytes } = random.pick(files);
    const m = pageMemory(bytes.slice().buffer as ArrayBuffer);
    const block = random.below(bytes.length >>> geometry.shift);
    const base = block << geometry.shift;
    if (!pageBoundsAreSane(m, base, geometry)) continue;
    mutate(m, base, geometry, random);
    pageSetChecksum(m, base, geometry, block);
    try {
      read(geometry, m.u8);
    } catch (error) {
      if (isStorageError(error) || error instanceof RangeError) continue;
      faults.push(
        `input ${index} of seed ${seed} at ${geometry.size}: ${error instanceof Error ? error.stack : String(error)}`,
      );
    }
  }
  return { faults, files: files.length };
}

function read(geometry: BlockGeometry, bytes: Uint8Array): void {
  for (const { items } of inspectRelation(bytes, { geometry, checksums: true })) {
    for (const item of items ?? []) if ('t_xmin' in item && item.t_xmin !== null) break;
  }
  const vfs = new MemoryVfs();
  vfs.recording = false;
  const file = vfs.open('/20000', 'create');
  file.write(bytes, 0, bytes.length, 0);
  file.close();
  const options = { vfs, geometry, path: '/20000', segmentBlocks: 1 << geometry.segmentShift, checksums: true };
  const [{ kind, tuples }] = runSync(checkRelation(options, () => {}));
  if (kind === 'btree' && tuples > 0) throw new Error(`${tuples} tuples were made up`);
}
