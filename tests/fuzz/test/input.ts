// One input: a relation of one mutated page and its mutated maps, in a file system in memory and as bytes between two
// stretches that no reader may look at.
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageMemory, pageSetChecksum } from '@blockwright/page';
import { MemoryVfs } from '@blockwright/vfs/memory';
import type { CorpusRelation } from './corpus.ts';
import { type Changes, mutate, mutateMap } from './mutate.ts';
import { Random } from './random.ts';

/** Where the relation's files lie. */
export const RELATION_PATH = '/base/16384';

export interface FuzzInput {
  readonly index: number;
  readonly relation: CorpusRelation;
  readonly geometry: BlockGeometry;
  /** The page at {@link base}, and as many bytes of something else on both sides. */
  readonly memory: PageMemory;
  readonly base: number;
  readonly vfs: MemoryVfs;
  readonly changes: Changes;
  /** For what a reader chooses by itself. */
  readonly random: Random;
}

const LARGE = 4096;
const LARGEST = 0x8000;
const memory: PageMemory = pageMemory(new ArrayBuffer(3 * LARGEST));
const mapMemory: PageMemory = pageMemory(new ArrayBuffer(LARGEST));

/** Fills what lies around the page. Readers must give the same whatever it is. */
export function surround(input: FuzzInput, byte: number): void {
  const { base, geometry } = input;
  input.memory.u8.fill(byte, base - geometry.size, base);
  input.memory.u8.fill(byte, base + geometry.size, base + 2 * geometry.size);
}

/** Makes input `index` of a run. The memory is used again for the next one. */
export function makeInput(corpus: readonly CorpusRelation[], seed: number, index: number): FuzzInput {
  const random = Random.ofInput(seed, index);
  let relation = random.pick(corpus);
  // Large pages take long and show little that small ones do not.
  if (relation.geometry.size > LARGE && !random.oneIn(4)) relation = random.pick(corpus);
  const { geometry } = relation;
  const base = geometry.size;
  memory.u8.set(random.pick(relation.pages), base);
  const changes = mutate(memory, base, geometry, random);
  const vfs = new MemoryVfs();
  vfs.recording = false;
  vfs.mkdir('/base');
  write(vfs, RELATION_PATH, memory.u8, base, geometry.size);
  for (const [suffix, bytes] of [
    ['_vm', relation.map],
    ['_fsm', relation.freeSpace],
  ] as const) {
    if (bytes === undefined) continue;
    mapMemory.u8.set(bytes, 0);
    pageSetChecksum(mapMemory, 0, geometry, 0);
    if (random.oneIn(2)) mutateMap(mapMemory, 0, geometry, random);
    write(vfs, `${RELATION_PATH}${suffix}`, mapMemory.u8, 0, geometry.size);
  }
  return { index, relation, geometry, memory, base, vfs, changes, random };
}

function write(vfs: MemoryVfs, path: string, bytes: Uint8Array, at: number, length: number): void {
  const file = vfs.open(path, 'create');
  file.write(bytes, at, length, 0);
  file.close();
}
