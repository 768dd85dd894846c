// What is known of a data directory before its files are looked at: from the control file, its geometry and the ids in
// use; from the catalogs, which file holds which table's columns.
import { Fates, type IndexCheckOptions, type ToastLookup, type XidRange } from '@blockwright/amcheck';
import {
  type FindingSink,
  highWord,
  isStorageError,
  lowWord,
  parseLsn,
  runSync,
  type Severity,
  StorageError,
} from '@blockwright/base';
import {
  type CatalogEntry,
  PostgresDirectory,
  type PostgresIndex,
  type PostgresRelation,
  type PostgresTable,
} from '@blockwright/catalog';
import { readControlFile, readPgControlFile, readPgVersion } from '@blockwright/control';
import { BlockGeometry } from '@blockwright/geometry';
import { CommitLog, MultiXacts, Transactions } from '@blockwright/transam';
import { bytea, IndexTupleFormat, IndexTupleFormer, int4, oid, TupleDescriptor } from '@blockwright/tuple';
import type { Vfs } from '@blockwright/vfs';
import type { CheckReport } from './check.ts';
import type { Core } from './core.ts';
import { openSteps } from './open.ts';
import { openSettings } from './open-options.ts';

export interface CheckPremises {
  readonly kind: CheckReport['kind'];
  readonly geometry: BlockGeometry;
  readonly segmentBlocks: number;
  readonly checksums: boolean;
  /** Whether the files are all that there is: nothing is in progress, and nothing is in the WAL alone. */
  readonly isShutDown: boolean;
  /** undefined when what the control file says may have been overtaken. */
  readonly xids: XidRange | undefined;
  /** What became of transactions, by the commit log; undefined as `xids`. */
  readonly fates: Fates | undefined;
  readonly endOfWal: { readonly high: number; readonly low: number } | undefined;
  /** Reads the catalogs: by the path of a relation's main file below the directory, what they say of it. */
  readTables(): ReadonlyMap<string, CheckedTable>;
  /** Name of the directory in a tablespace that belongs to this cluster. */
  readonly tablespaceDirectory: string | undefined;
  /** Closes the databases that are open for their TOAST tables. */
  close(): void;
}

/** What the catalogs say of one table, or of one index. */
interface CheckedTable {
  /** Of a table. */
  readonly descriptor?: TupleDescriptor;
  /** Of a B-tree index whose order is known, by the path of its table below the directory. */
  readonly index?: IndexCheckOptions;
  readonly isUtf8: boolean;
  readonly xids: XidRange | undefined;
  /** What its rows store out of line; until the premises are closed. */
  readonly toast?: ToastLookup;
}

/** @throws StorageError when the control file is missing or damaged. */
export function directoryPremises(
  vfs: Vfs,
  directory: string,
  kind: 'blockwright' | 'postgresql',
  sink: FindingSink,
): CheckPremises {
  return kind === 'blockwright' ? ourPremises(vfs, directory, sink) : postgresPremises(vfs, directory, sink);
}

function ourPremises(vfs: Vfs, directory: string, sink: FindingSink): CheckPremises {
  const control = readControlFile(vfs, directory);
  const { checkpoint, nextXid, nextXidEpoch, oldestXid } = control;
  const isShutDown = control.state === 'shut down';
  if (!isShutDown) sayNotShutDown(control.state, sink);
  const xids = isShutDown ? { next: nextXid, nextEpoch: nextXidEpoch, oldest: oldestXid } : undefined;
  const geometry = BlockGeometry.of(control.blockSize);
  const commitLog = new CommitLog({ vfs, directory: `${directory}/xact`, pageBytes: geometry.size, readOnly: true });
  return {
    kind: 'blockwright',
    geometry,
    segmentBlocks: control.segmentBlocks,
    checksums: control.dataChecksums,
    isShutDown,
    xids,
    fates: xids && fatesOf(Transactions.offline({ commitLog }), xids, sink),
    endOfWal: isShutDown ? { high: highWord(checkpoint.record), low: lowWord(checkpoint.record) } : undefined,
    readTables: () => (isShutDown ? ourTables(vfs, directory, xids, sink) : new Map()),
    tablespaceDirectory: undefined,
    close: () => commitLog.close(),
  };
}

function ourTables(
  vfs: Vfs,
  directory: string,
  xids: XidRange | undefined,
  sink: FindingSink,
): Map<string, CheckedTable> {
  const tables = new Map<string, CheckedTable>();
  orUnreadable(sink, () => {
    // Catalogs, read once.
    const settings = openSettings({ readOnly: true, vfs, sharedBuffers: '1MB' });
    const { core, lock } = runSync(openSteps(directory, settings));
    try {
      for (const entry of core.catalog.entries()) addOurTable(core, entry, xids, tables);
    } finally {
      core.shutDown();
      lock?.release();
    }
  });
  return tables;
}

function addOurTable(
  { parts: { relations } }: Core,
  entry: CatalogEntry,
  xids: XidRange | undefined,
  tables: Map<string, CheckedTable>,
): void {
  const path = relations.handleOf(entry).storage.name;
  tables.set(path, { descriptor: entry.descriptor, isUtf8: true, xids });
  for (const one of entry.indexes) {
    const { format, former, btree } = relations.indexOf(entry, one);
    const { name, isUnique, nullsNotDistinct } = one;
    const index = { name, format, isUnique, nullsNotDistinct, heap: { name: entry.name, path, former } };
    tables.set(btree.relation.storage.name, { index, isUtf8: true, xids });
  }
}

function postgresPremises(vfs: Vfs, directory: string, sink: FindingSink): CheckPremises {
  const control = readPgControlFile(vfs, directory);
  const { location, nextXid, nextXidEpoch, oldestXid } = control.checkpoint;
  const { nextMultiXact, nextMultiOffset, oldestMultiXact } = control.checkpoint;
  // A standby that was shut down, or a server that crashed, has pages that are newer than its last checkpoint.
  const isShutDown = control.state === 'shut down';
  if (!isShutDown) sayNotShutDown(control.state, sink);
  const multixacts = { next: nextMultiXact, oldest: oldestMultiXact };
  const xids = isShutDown ? { next: nextXid, nextEpoch: nextXidEpoch, oldest: oldestXid, multixacts } : undefined;
  const opened: PostgresDirectory[] = [];
  const pageBytes = control.blockSize;
  const commitLog = new CommitLog({ vfs, directory: `${directory}/pg_xact`, pageBytes, readOnly: true });
  const transactions = Transactions.offline({
    commitLog,
    multixacts: new MultiXacts({
      vfs,
      directory: `${directory}/pg_multixact`,
      pageBytes,
      nextMultiXact,
      nextMultiOffset,
      oldestMultiXact,
    }),
  });
  return {
    kind: 'postgresql',
    geometry: BlockGeometry.of(control.blockSize),
    segmentBlocks: control.segmentBlocks,
    checksums: control.dataChecksumVersion !== 0,
    isShutDown,
    xids,
    fates: xids && fatesOf(transactions, xids, sink),
    endOfWal: isShutDown ? parseLsn(location) : undefined,
    readTables: () => (isShutDown ? postgresTables(vfs, directory, xids, opened, sink) : new Map()),
    tablespaceDirectory: `PG_${readPgVersion(vfs, directory)}_${control.catalogVersion}`,
    close: () => {
      for (const postgres of opened) postgres.close();
      commitLog.close();
    },
  };
}

function fatesOf(transactions: Transactions, xids: XidRange, sink: FindingSink): Fates {
  const onUnreadable = ({ message }: Error): void =>
    sink({ code: 'commit_log.unreadable', severity: 'error', message: `rows cannot be held against it: ${message}` });
  return new Fates({ transactions, xids, onUnreadable });
}

/** In a directory that was not shut down, what a crash leaves behind, and recovery puts right, is no damage yet. */
function sayNotShutDown(state: string, sink: FindingSink): void {
  sink({
    code: 'control.not_shut_down',
    severity: 'info',
    message:
      `the directory was not shut down (its state is "${state}"): it is checked as it lies on the disk, before ` +
      'recovery. Attributes, ids, LSNs and the commit log are left out; checksums, and maps against the heap, count as ' +
      'warnings, since recovery may put them right',
  });
}

/** The tables of every database. One whose catalogs cannot be read costs the others nothing. */
function postgresTables(
  vfs: Vfs,
  directory: string,
  xids: XidRange | undefined,
  opened: PostgresDirectory[],
  sink: FindingSink,
): Map<string, CheckedTable> {
  const tables = new Map<string, CheckedTable>();
  const databases = orUnreadable(sink, () => PostgresDirectory.databases(directory, { vfs })) ?? [];
  for (const database of databases) {
    orUnreadable(sink, () => {
      const postgres = PostgresDirectory.open(directory, { database, vfs });
      opened.push(postgres);
      addTables(postgres, xids, tables, sink);
    });
  }
  return tables;
}

function addTables(
  postgres: PostgresDirectory,
  xids: XidRange | undefined,
  tables: Map<string, CheckedTable>,
  sink: FindingSink,
): void {
  const said = new Set<string>();
  // A damaged page of pg_attribute costs every table its columns, and is said once.
  const once: FindingSink = (finding) => {
    if (!said.has(finding.message)) sink(finding);
    said.add(finding.message);
  };
  const add = (relation: PostgresRelation): void => {
    const isToast = relation.kind === 't';
    const { descriptor, unreadable } = isToast
      ? { descriptor: TOAST_DESCRIPTOR, unreadable: new Map() }
      : postgres.tableOf(relation);
    const isUtf8 = postgres.isUtf8 && relation.locator.database !== 0; // a shared table holds names of every encoding
    const toast = toastLookup(postgres, relation, sink);
    tables.set(postgres.path(relation), { descriptor, isUtf8, xids: xidsOf(relation, xids), toast });
    addPostgresIndexes(postgres, { ...relation, descriptor, unreadable }, xids, toast, tables, once);
  };
  for (const relation of postgres.relations()) {
    // A warning: rows of pg_attribute without hint bits are not read, which is no damage.
    if ('rmt'.includes(relation.kind)) orUnreadable(once, () => add(relation), 'warning');
  }
}

/** The B-tree indexes of a table. Where the order of one is not known, its structure alone is checked, which is said. */
function addPostgresIndexes(
  postgres: PostgresDirectory,
  table: PostgresTable,
  xids: XidRange | undefined,
  toast: ToastLookup | undefined,
  tables: Map<string, CheckedTable>,
  sink: FindingSink,
): void {
  for (const index of orUnreadable(sink, () => postgres.indexesOf(table), 'warning') ?? []) {
    const { name, method, refusal, isUnique, nullsNotDistinct } = index;
    if (method !== 'btree') continue;
    const path = postgres.path(index);
    if (refusal !== undefined) {
      tables.set(path, { index: { name, refusal }, isUtf8: postgres.isUtf8, xids });
      continue;
    }
    const former = formerOf(table, index, postgres.geometry, toast);
    const heap = { name: table.name, path: postgres.path(table), former };
    const checked = { name, format: former.format, isUnique, nullsNotDistinct, heap };
    tables.set(path, { index: checked, isUtf8: postgres.isUtf8, xids });
  }
}

function formerOf(
  { descriptor }: PostgresTable,
  { columns, keys }: PostgresIndex,
  geometry: BlockGeometry,
  toast: ToastLookup | undefined,
): IndexTupleFormer {
  const format = IndexTupleFormat.of(TupleDescriptor.of(columns.map((column) => descriptor.columns[column])), keys);
  return new IndexTupleFormer(format, descriptor, columns, {
    toastTarget: geometry.maxHeapTupleSize >>> 4, // PostgreSQL: `TOAST_INDEX_TARGET`
    fetchToast: (pointer) => {
      const bytes = toast?.(pointer);
      if (bytes === undefined)
        throw new StorageError('58P01', 'the value is stored out of line, and cannot be looked up');
      return bytes;
    },
  });
}

/** Looks values up in a table's TOAST table; one that cannot be scanned is said once, and not asked again. */
function toastLookup(
  postgres: PostgresDirectory,
  relation: PostgresRelation,
  sink: FindingSink,
): ToastLookup | undefined {
  if (relation.toastOid === 0) return undefined;
  let fetch: ReturnType<PostgresDirectory['toastReader']>;
  let isBroken = false;
  return (pointer) => {
    if (isBroken) return undefined;
    try {
      fetch ??= postgres.toastReader(relation);
      return fetch?.(pointer);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (error.message.startsWith('TOAST table')) throw error; // this value is at fault
      isBroken = true;
      if (error.code === '58P01') return undefined; // whether every relation has its file is not what is checked here
      const message = `what "${relation.name}" stores out of line cannot be read, and is not checked: ${error.message}`;
      sink({ code: 'toast.unreadable', severity: 'error', message });
      return undefined;
    }
  };
}

function xidsOf(relation: PostgresRelation, xids: XidRange | undefined): XidRange | undefined {
  if (xids?.multixacts === undefined) return xids;
  const multixacts = { ...xids.multixacts, oldestInRelation: relation.minMultiXact };
  return { ...xids, oldestInRelation: relation.frozenXid, multixacts };
}

/** Columns of every TOAST table. PostgreSQL: `create_toast_table`, toasting.c. */
const TOAST_DESCRIPTOR = TupleDescriptor.of([
  { name: 'chunk_id', type: oid() },
  { name: 'chunk_seq', type: int4() },
  { name: 'chunk_data', type: bytea() },
]);

/** A server that runs, as against damage. */
const IN_USE = ['F0001', '55006', '55000'];

/** Without catalogs the files are checked all the same, tuples less deeply; that is said. */
function orUnreadable<Result>(sink: FindingSink, read: () => Result, severity: Severity = 'error'): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (!isStorageError(error)) throw error;
    sink({
      code: 'catalog.unreadable',
      severity: IN_USE.includes(error.code) ? 'warning' : severity,
      message: `the catalogs cannot be read, so that attributes are not checked: ${error.message}`,
    });
    return undefined;
  }
}
