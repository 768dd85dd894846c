// The engine as the simulation uses it: everything that knows its API is here.
import './no-kernels.ts';
import { resolve } from 'node:path';
import type { Relation } from '@blockwright/access';
import { type Finding, runSync } from '@blockwright/base';
import { checkPath, Database, initdb, type LoadBatch, type TableDef, table } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { heapMarkAllVisible } from '@blockwright/heap';
import type { BtreeIndex } from '@blockwright/nbtree';
import { parseRelationFileName } from '@blockwright/smgr';
import type { Transactions } from '@blockwright/transam';
import { int4, text } from '@blockwright/tuple';
import { createFile } from '@blockwright/vfs';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import type { VisibilityMap } from '@blockwright/visibilitymap';
import { wrongThroughIndexes } from './indexes.ts';
import { type ModelState, type ModelTable, rowText, tableText } from './model.ts';
import type { Random } from './random.ts';

const DIRECTORY: string = resolve('/data');

const COLUMNS = { id: int4(), n: int4(), note: text().nullable() };
export type TestTable = TableDef<typeof COLUMNS>;
const tables = new Map<string, TestTable>();

/** The declaration of a table of the model. */
export function tableOf({ name, unlogged, fillfactor, indexes }: ModelTable): TestTable {
  const hasKey = indexes.includes('pkey');
  const key = `${name} ${unlogged} ${fillfactor} ${hasKey}`;
  let found = tables.get(key);
  if (found === undefined) {
    found = table(name, COLUMNS, { unlogged, fillfactor, ...(hasKey && { primaryKey: ['id'] }) }) as TestTable;
    tables.set(key, found);
  }
  return found;
}

const SEGMENT_BYTES = 1 << 20;
/** What is left of the first segment of the WAL. */
const SEGMENT_REST = 20_000;
const fresh = new Map<string, SimulatedVfs>();

function fillSegment(disk: SimulatedVfs, blockSize: BlockSize): void {
  const db = open(disk, blockSize);
  const filler = table('filler', COLUMNS);
  db.createTable(filler);
  const note = 'x'.repeat(blockSize >> 3);
  while ((db.walStats?.bytes ?? SEGMENT_BYTES) < SEGMENT_BYTES - SEGMENT_REST)
    db.insert(filler, [{ id: 0, n: 0, note }]);
  db.dropTable(filler);
  db.close();
}

/**
 * A disk with a new data directory on it, durable, and no operation counted. At 1 kB nothing has
 * happened there yet; at other sizes its WAL is near the end of a segment, so that a run begins another one.
 */
export function newDisk(blockSize: BlockSize, dataChecksums = true): SimulatedVfs {
  const kind = `${blockSize} ${dataChecksums}`;
  let disk = fresh.get(kind);
  if (disk === undefined) {
    disk = new SimulatedVfs();
    initdb(DIRECTORY, { vfs: disk, blockSize, walSegmentSize: SEGMENT_BYTES, dataChecksums });
    if (blockSize !== 1024) fillSegment(disk, blockSize);
    disk.settle();
    fresh.set(kind, disk);
  }
  return disk.crash('all');
}

/** Rows as a load takes them. */
export function loadBatch(rows: readonly { id: number; n: number; note: string | null }[]): LoadBatch {
  const ints = (values: number[]): LoadBatch['columns'][number] => ({
    kind: 'int',
    values: Int32Array.from(values),
    nulls: undefined,
  });
  const notes = rows.map(({ note }) => new TextEncoder().encode(note ?? ''));
  const starts = new Int32Array(rows.length + 1);
  notes.forEach((note, i) => {
    starts[i + 1] = (starts[i] as number) + note.length;
  });
  const data = new Uint8Array(starts[rows.length] as number);
  notes.forEach((note, i) => {
    data.set(note, starts[i]);
  });
  const nulls = Uint8Array.from(rows, ({ note }) => (note === null ? 1 : 0));
  return {
    length: rows.length,
    columns: [ints(rows.map(({ id }) => id)), ints(rows.map(({ n }) => n)), { kind: 'bytes', starts, data, nulls }],
  };
}

/** A pid that no process has. */
const NO_PROCESS = '4194305';

/** After a crash the process that held the locks is gone; here it is this one, and goes on. */
export function endProcess(disk: SimulatedVfs, settled = true): void {
  for (const name of ['blockwright.pid', 'blockwright.pid.claim']) {
    const path = `${DIRECTORY}/${name}`;
    if (!disk.exists(path)) continue;
    const text = new TextDecoder().decode(disk.readFile(path));
    if (!text.startsWith(`${process.pid}\n`)) continue;
    disk.unlink(path);
    createFile(disk, path, new TextEncoder().encode(text.replace(String(process.pid), NO_PROCESS)));
    if (settled) disk.settle();
  }
}

/** Marks pages of a table that everybody sees, as vacuum will: what no statement does yet. */
export function markAllVisible(db: Database, name: string, random: Random): void {
  const { parts, catalog } = insideOf(db);
  const entry = catalog.find(name);
  if (entry === undefined) return;
  const relation = parts.relations.handleOf(entry);
  const map = parts.relations.mapOf(entry);
  for (let block = 0; block < relation.blockCount(); block++) {
    if (random.once(2)) heapMarkAllVisible(relation, map, block, parts.transactions, random.once(2));
  }
}

/** The pages of a table's indexes go to the disk, and nothing else does: as when only they are evicted, or written behind. */
export function writeIndexes(db: Database, name: string, random: Random): void {
  const { parts, catalog } = insideOf(db);
  const entry = catalog.find(name);
  for (const index of entry?.indexes ?? []) {
    const { relation } = parts.relations.indexOf(entry as Entry, index).btree;
    relation.flush();
    if (random.once(2)) relation.main.sync();
  }
}

/** A database's inside, for what no statement does yet. */
export function insideOf(db: Database): Inside {
  return (db as unknown as { readonly core: Inside }).core;
}

interface Entry {
  readonly relfilenode: number;
  readonly indexes: readonly Entry[];
}

interface Inside {
  readonly catalog: { find(name: string): Entry | undefined };
  readonly parts: {
    readonly relations: {
      handleOf(entry: Entry): Relation;
      mapOf(entry: Entry): VisibilityMap;
      indexOf(table: Entry, index: Entry): { readonly btree: BtreeIndex };
    };
    readonly transactions: Transactions;
  };
}

/** Few buffers, so that pages go to the disk before their transaction ends. */
const BUFFERS = 16;
/** Checkpoints begin by themselves after so many bytes, and never by time: the same ones in each run. */
const WAL_BYTES = 200_000;

/** Opens the directory, after a crash too. */
export function open(disk: SimulatedVfs, blockSize: BlockSize): Database {
  return Database.open(DIRECTORY, {
    vfs: disk,
    sharedBuffers: BUFFERS * blockSize,
    maxWalBytes: WAL_BYTES,
    walBufferBytes: 1 << 16,
    checkpointTimeoutMs: 1e12,
    walWriterDelayMs: Number.POSITIVE_INFINITY, // no sync that a seed does not ask for
  });
}

/** Everything that a new transaction sees, as {@link stateText} has it. */
export function databaseText(db: Database): string {
  const lines: string[] = [];
  for (const { name, isCatalog } of db.tables()) {
    if (isCatalog) continue;
    const definition = db.table(name) as TestTable;
    lines.push(
      tableText(
        name,
        definition.unlogged ?? false,
        definition.fillfactor ?? 100,
        db.indexes(name).map((index) => index.name.slice(name.length + 1)),
        rowsText(db.scan(definition, { columns: ['id', 'n', 'note'] }).rows()),
      ),
    );
  }
  return lines.join('\n');
}

/** Rows of a scan, in the order of their ids. */
export function rowsText(rows: Iterable<{ id: number; n: number; note: string | null }>): string[] {
  return [...rows].sort((a, b) => a.id - b.id).map((row) => rowText(row.id, row));
}

/** Finds each row by its TID, and counts with the visibility map and without: says what is wrong, if anything. */
export function wrongLookUp(db: Database, state: ModelState): string | undefined {
  for (const model of state.values()) {
    const definition = tableOf(model);
    for (const [id, row] of model.rows) {
      const found = db.fetch(definition, row.block, row.offset);
      const is = found === undefined ? 'nothing' : rowText(found.id, found);
      if (is !== rowText(id, row))
        return `${model.name} (${row.block},${row.offset}) is ${is}, not ${rowText(id, row)}`;
    }
    const wrong = wrongThroughIndexes(db, model);
    if (wrong !== undefined) return wrong;
    for (const map of [true, false]) {
      const { rows } = db.count(definition, { map });
      if (rows !== model.rows.size) {
        return `count of ${model.name} ${map ? 'with' : 'without'} the map is ${rows}, not ${model.rows.size}`;
      }
    }
  }
  return undefined;
}

/** What the checker finds in a directory that was closed, and what lies there that no table owns. */
export function wrongFiles(disk: SimulatedVfs, owned: ReadonlySet<string>, hasChecksums: boolean): string | undefined {
  const findings: Finding[] = [];
  runSync(checkPath(DIRECTORY, (finding) => findings.push(finding), { vfs: disk }));
  // A page of a free space map may be torn: it is in no WAL, and without a checksum nobody sees it.
  const isTorn = ({ fork }: Finding): boolean => !hasChecksums && fork === 'fsm';
  const bad = findings.filter((finding) => finding.severity !== 'info' && !isTorn(finding));
  if (bad.length > 0) return `check: ${JSON.stringify(bad.slice(0, 3))}`;
  for (const database of disk.readdir(`${DIRECTORY}/base`)) {
    for (const name of disk.readdir(`${DIRECTORY}/base/${database}`)) {
      const path = `base/${database}/${name}`;
      const relation = parseRelationFileName(path)?.relation ?? path;
      if (!owned.has(relation)) return `${path} belongs to no table`;
    }
  }
  for (const name of disk.readdir(`${DIRECTORY}/wal`)) {
    if (!/^[0-9A-F]{24}$/.test(name)) return `wal/${name} is no segment`;
  }
  return undefined;
}

/** Main forks that the tables own, as paths below the directory. */
export function ownedFiles(db: Database): Set<string> {
  const files = db.tables().flatMap(({ path, indexes }) => [path, ...indexes.map((index) => index.path)]);
  return new Set(files.map((path) => (path.startsWith(DIRECTORY) ? path.slice(DIRECTORY.length + 1) : path)));
}
