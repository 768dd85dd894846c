// Data directories whose control files, relation maps or catalogs are damaged, with every checksum right: into everything
// that opens a directory.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isStorageError, runSync } from '@blockwright/base';
import { PostgresDirectory, readFilenodeMap } from '@blockwright/catalog';
import {
  crc32c,
  decodeControlFile,
  encodeControlFile,
  initialControlFile,
  PG_CONTROL_PATH,
  readPgControl,
} from '@blockwright/control';
import { checkPath, Database, initdb, PostgresDatabase, table } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { pageBoundsAreSane, pageMemory, pageSetChecksum } from '@blockwright/page';
import { decompress, int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { pgData } from './corpus.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';

/** Offsets of the CRC in the pg_control of PostgreSQL 15. */
const PG_CONTROL_CRC = 288;
const FILENODE_MAP_CRC = 8 + 62 * 8;

/** A copy of a directory in memory. */
function copyToMemory(directory: string, below = ''): MemoryVfs {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  const visit = (path: string): void => {
    vfs.mkdir(`/d${path}`);
    for (const name of readdirSync(`${directory}${path}`)) {
      const full = `${path}/${name}`;
      if (statSync(`${directory}${full}`).isDirectory()) visit(full);
      else put(vfs, `/d${full}`, readFileSync(`${directory}${full}`));
    }
  };
  visit(below);
  return vfs;
}

function put(vfs: MemoryVfs, path: string, bytes: Uint8Array): void {
  const file = vfs.open(path, 'create');
  file.write(bytes, 0, bytes.length, 0);
  file.close();
}

function damageBytes(bytes: Uint8Array, random: Random, upTo: number): void {
  for (let left = 1 + random.below(8); left > 0; left--) {
    const at = random.below(upTo);
    bytes[at] = random.oneIn(2) ? bytes[at] ^ (1 << random.below(8)) : random.pick([0, 1, 0x7f, 0x80, 0xff]);
  }
}

function putCrc(bytes: Uint8Array, at: number): void {
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, crc32c(bytes.subarray(0, at)), true);
}

/** What goes wrong other than by a StorageError or RangeError. */
function faultOf(what: string, read: () => void): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (isStorageError(error) || error instanceof RangeError) return undefined;
    return `${what}: ${error instanceof Error ? error.stack : String(error)}`;
  }
}

/** Control files, relation maps and compressed values, by themselves: quick, so many. */
export function fuzzSmallFiles(seed: number, count: number): string[] {
  const control = new Uint8Array(readFileSync(`${pgData(8192)}/${PG_CONTROL_PATH}`));
  const map = new Uint8Array(readFileSync(`${pgData(8192)}/global/pg_filenode.map`));
  const ours = encodeControlFile(initialControlFile({ blockSize: 8192 }));
  const faults: (string | undefined)[] = [];
  for (let index = 0; index < count; index++) {
    const random = Random.ofInput(seed, index);
    const name = `input ${index} of seed ${seed}`;
    const one = control.slice(0, random.oneIn(8) ? random.below(control.length) : control.length);
    damageBytes(one, random, Math.max(1, Math.min(PG_CONTROL_CRC, one.length)));
    if (one.length >= PG_CONTROL_CRC + 4) putCrc(one, PG_CONTROL_CRC);
    faults.push(faultOf(`readPgControl, ${name}`, () => readPgControl(one)));
    const two = map.slice(0, random.oneIn(8) ? random.below(map.length) : map.length);
    damageBytes(two, random, Math.max(1, Math.min(16, two.length)));
    if (two.length >= FILENODE_MAP_CRC + 4) putCrc(two, FILENODE_MAP_CRC);
    faults.push(faultOf(`readFilenodeMap, ${name}`, () => readFilenodeMap(two, 'map')));
    const three = ours.slice(0, random.oneIn(8) ? random.below(ours.length) : ours.length);
    damageBytes(three, random, Math.max(1, three.length));
    faults.push(faultOf(`decodeControlFile, ${name}`, () => decodeControlFile(three, 'control')));
    const four = Uint8Array.from({ length: random.below(200) }, () => random.below(random.oneIn(2) ? 256 : 8));
    const claimed = random.oneIn(4) ? random.uint32() & 0x3fff_ffff : random.below(400);
    const method = random.pick(['pglz', 'lz4'] as const);
    faults.push(
      faultOf(`decompress ${method}, ${name}`, () => {
        const bytes = decompress(method, four, 0, four.length, claimed);
        if (bytes.length !== claimed) throw new Error(`${bytes.length} bytes instead of ${claimed}`);
      }),
    );
  }
  return faults.filter((fault) => fault !== undefined);
}

/** Mutates some pages of a file, each checksum right again. */
function damagePages(vfs: MemoryVfs, path: string, size: BlockSize, random: Random): void {
  const g = BlockGeometry.of(size);
  const bytes = vfs.readFile(path);
  const m = pageMemory(bytes.buffer as ArrayBuffer);
  const pages = bytes.length >>> g.shift;
  for (let left = 1 + random.below(3); left > 0 && pages > 0; left--) {
    const block = random.below(pages);
    const base = block << g.shift;
    if (!pageBoundsAreSane(m, base, g)) continue;
    mutate(m, base, g, random);
    pageSetChecksum(m, base, g, block);
  }
  put(vfs, path, bytes);
}

function withControlDamage(vfs: MemoryVfs, random: Random): void {
  const bytes = vfs.readFile(`/d/${PG_CONTROL_PATH}`);
  damageBytes(bytes, random, PG_CONTROL_CRC);
  putCrc(bytes, PG_CONTROL_CRC);
  put(vfs, `/d/${PG_CONTROL_PATH}`, bytes);
}

/** PostgreSQL's directories: their catalogs and control file damaged, then opened, listed, scanned, checked. */
export function fuzzPostgresDirectories(seed: number, count: number): string[] {
  const faults: (string | undefined)[] = [];
  const copies = new Map<BlockSize, { vfs: MemoryVfs; files: string[] }>();
  for (let index = 0; index < count; index++) {
    const random = Random.ofInput(seed, index);
    const size = random.pick(BLOCK_SIZES.slice(0, 4));
    let copy = copies.get(size);
    if (copy === undefined) {
      const vfs = copyToMemory(pgData(size));
      copy = { vfs, files: catalogFiles(vfs) };
      copies.set(size, copy);
    }
    const { vfs, files } = copy;
    const damaged = random.oneIn(6) ? `/d/${PG_CONTROL_PATH}` : random.pick(files);
    const before = vfs.readFile(damaged);
    if (damaged.endsWith('pg_control')) withControlDamage(vfs, random);
    else damagePages(vfs, damaged, size, random);
    const name = `input ${index} of seed ${seed}, ${damaged} at ${size}`;
    faults.push(
      faultOf(`PostgresDatabase, ${name}`, () => {
        using postgres = PostgresDatabase.open('/d', { vfs, sharedBuffers: '4MB' });
        for (const { name: table, isCatalog } of postgres.tables()) {
          if (isCatalog) continue;
          postgres.count(postgres.table(table), { unknown: 'skip' });
        }
      }),
    );
    if (index % 4 === 0) faults.push(faultOf(`checkPath, ${name}`, () => runSync(checkPath('/d', () => {}, { vfs }))));
    put(vfs, damaged, before);
  }
  return faults.filter((fault) => fault !== undefined);
}

/** Files of pg_database, pg_class, pg_attribute, pg_namespace. */
function catalogFiles(vfs: MemoryVfs): string[] {
  using postgres = PostgresDirectory.open('/d', { vfs });
  const wanted = ['pg_database', 'pg_class', 'pg_attribute', 'pg_namespace'];
  return postgres
    .relations()
    .filter(({ name, schema }) => schema === 'pg_catalog' && wanted.includes(name))
    .map((relation) => `/d/${postgres.relation(relation).storage.name}`);
}

const NOTES = table('notes', { id: int4(), note: text().nullable() });

/** Directories of ours: any of their relation files damaged. */
export function fuzzOurDirectories(seed: number, count: number): string[] {
  const faults: (string | undefined)[] = [];
  for (const size of BLOCK_SIZES) {
    const vfs = new MemoryVfs();
    vfs.recording = false;
    initdb('/d', { vfs, blockSize: size });
    const database = Database.open('/d', { vfs });
    database.createTable(NOTES);
    database.insert(
      NOTES,
      Array.from({ length: 200 }, (_, id) => ({ id, note: id % 3 === 0 ? null : `note ${id}` })),
    );
    const files = database.tables().map(({ path }) => `/d/${path}`);
    database.close();
    for (let index = 0; index < count; index++) {
      const random = Random.ofInput(seed, index);
      const damaged = random.pick(files);
      const before = vfs.readFile(damaged);
      damagePages(vfs, damaged, size, random);
      const name = `input ${index} of seed ${seed}, ${damaged} at ${size}`;
      faults.push(
        faultOf(`Database, ${name}`, () => {
          using again = Database.open('/d', { vfs, readOnly: true });
          for (const { name: table, isCatalog } of again.tables()) {
            if (isCatalog) continue;
            const definition = again.table(table);
            for (const _ of again.scan(definition, { columns: Object.keys(definition.columns) }).rows());
            again.count(definition);
          }
        }),
        faultOf(`checkPath, ${name}`, () => runSync(checkPath('/d', () => {}, { vfs }))),
      );
      put(vfs, damaged, before);
    }
  }
  return faults.filter((fault) => fault !== undefined);
}
