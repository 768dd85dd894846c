// Whole indexes that PostgreSQL wrote, one byte of one page changed, checked with their tables: the check ends, with
// findings and without any error, wherever links, levels, downlinks and counts lead then.
import { readFileSync } from 'node:fs';
import { checkRelation, type IndexCheckOptions, PageProver } from '@blockwright/amcheck';
import { runSync } from '@blockwright/base';
import { PostgresDirectory } from '@blockwright/catalog';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  linePointer,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
} from '@blockwright/page';
import { IndexTupleFormat, IndexTupleFormer, TupleDescriptor } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { pgData } from './corpus.ts';
import { Random } from './random.ts';

interface IndexTree {
  readonly name: string;
  readonly geometry: BlockGeometry;
  readonly bytes: Uint8Array;
  readonly vfs: MemoryVfs;
  /** With the table, and without. */
  readonly index: IndexCheckOptions;
}

const HEAP = '/heap';
const INDEX = '/index';
/** Larger files take long and show nothing that small ones do not. */
const MOST_BYTES = 200_000;

let made: IndexTree[] | undefined;

function trees(): IndexTree[] {
  made ??= readTrees();
  return made;
}

function readTrees(): IndexTree[] {
  return BLOCK_SIZES.flatMap((size) => {
    using postgres = PostgresDirectory.open(pgData(size));
    const tables = postgres.relations().filter(({ kind, schema }) => kind === 'r' && schema === 'public');
    return tables
      .map((table) => postgres.tableOf(table))
      .flatMap((table) =>
        postgres.indexesOf(table).map((index): IndexTree => {
          const vfs = new MemoryVfs();
          vfs.recording = false;
          const bytesOf = (path: string): Uint8Array => new Uint8Array(readFileSync(`${pgData(size)}/${path}`));
          const bytes = bytesOf(postgres.path(index));
          write(vfs, HEAP, bytesOf(postgres.path(table)));
          write(vfs, INDEX, bytes);
          const { descriptor } = table;
          const { name, columns, keys, isUnique, nullsNotDistinct } = index;
          const format = IndexTupleFormat.of(
            TupleDescriptor.of(columns.map((column) => descriptor.columns[column])),
            keys,
          );
          const former = new IndexTupleFormer(format, descriptor, columns);
          const heap = { name: table.name, path: HEAP, former };
          const options = { name, format, isUnique, nullsNotDistinct, heap };
          return { name, geometry: BlockGeometry.of(size), bytes, vfs, index: options };
        }),
      )
      .filter(({ bytes, geometry }) => bytes.length > geometry.size && bytes.length < MOST_BYTES);
  });
}

function write(vfs: MemoryVfs, path: string, bytes: Uint8Array): void {
  const file = vfs.open(path, 'create');
  file.write(bytes, 0, bytes.length, 0);
  file.close();
}

/** Changes one byte: of the special area, a line pointer, a tuple's header or data, the meta page, the page header. */
function change(m: PageMemory, base: number, { size }: BlockGeometry, random: Random): string {
  const last = pageMaxOffset(m, base);
  const isMeta = base === 0;
  const field = random.below(isMeta ? 3 : 10);
  let at: number;
  if (field === 0) at = size - 16 + random.below(16);
  else if (field === 1) at = isMeta ? 24 + random.below(48) : 10 + random.below(10);
  else if (isMeta || last === 0) at = 24 + random.below(48);
  else if (field < 4) at = 24 + random.below(4 * last);
  else {
    const lp = linePointer(m, base, 1 + random.below(last));
    at = (lpOffset(lp) + random.below(random.oneIn(2) ? 8 : lpLength(lp))) % size;
  }
  const old = m.u8[base + at];
  const values = [old ^ (1 << random.below(8)), old + 1, old - 1, random.below(256), 0, 0xff];
  m.u8[base + at] = random.pick(values);
  return `block ${base / size}, byte ${at}: ${old} became ${m.u8[base + at]}`;
}

export interface TreeFuzzReport {
  readonly faults: string[];
  /** Inputs whose bytes changed, and those of them in which an error was found. */
  readonly changed: number;
  readonly found: number;
}

/** Checks so many indexes with a changed byte. Whatever is thrown is a fault. */
export function fuzzIndexTrees(seed: number, count: number, from = 0): TreeFuzzReport {
  const all = trees();
  const prover = new PageProver();
  const faults: string[] = [];
  let changed = 0;
  let found = 0;
  for (let number = from; number < from + count && faults.length < 5; number++) {
    const random = Random.ofInput(seed, number);
    const { name, geometry, bytes, vfs, index } = random.pick(all);
    const m = pageMemory(bytes.slice().buffer as ArrayBuffer);
    const block = random.oneIn(12) ? 0 : random.below(bytes.length >>> geometry.shift);
    const base = block << geometry.shift;
    const words = change(m, base, geometry, random);
    if (m.u8.every((byte, i) => byte === bytes[i])) continue;
    changed++;
    pageSetChecksum(m, base, geometry, block);
    write(vfs, INDEX, m.u8);
    // The table in some of them: to read it takes longer than all the rest.
    const withHeap = random.oneIn(8);
    const options = {
      vfs,
      geometry,
      path: INDEX,
      segmentBlocks: 1 << geometry.segmentShift,
      checksums: true,
      prover,
      index: withHeap ? index : { ...index, heap: undefined },
    };
    let errors = 0;
    try {
      runSync(checkRelation(options, ({ severity }) => (severity === 'error' ? errors++ : 0)));
    } catch (error) {
      const what = error instanceof Error ? error.stack : String(error);
      faults.push(`index tree ${number} of seed ${seed} (${name} at ${geometry.size}; ${words}): ${what}`);
    }
    if (errors > 0) found++;
    write(vfs, INDEX, bytes);
  }
  return { faults, changed, found };
}
