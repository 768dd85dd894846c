// A real PostgreSQL in a directory of its own, for as long as it is wanted: for tests that let it judge files, and for
// benchmarks that run it on the same rows.
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { checkOptions, StorageError } from '@blockwright/base';
import { CopyIn } from './copy-in.ts';
import { findBinaries, isReachable, NOBODY, type PostgresBinaries, runnableBinaries } from './postgres-binaries.ts';
import { isRoot, PostgresProcess, runProgram } from './postgres-process.ts';
import { importPeer } from './resolve.ts';

export interface PostgresOptions {
  /** Whether the cluster has data checksums. By default it has, as PostgreSQL 18 does. */
  readonly dataChecksums?: boolean;
  /** Server settings, as in postgresql.conf, over those that {@link PostgresServer.settings} shows. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Extensions to create, such as `pageinspect`. */
  readonly extensions?: readonly string[];
}

/**
 * Alone on the machine's socket, no durability (the data lasts as long as the run), no background work that changes
 * pages, one process a query. Commits stay synchronous: after an asynchronous one, hint bits and all-visible marks would
 * have to wait for the flush.
 */
const BASE_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '4GB',
  autovacuum: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  shared_buffers: '128MB',
  log_min_messages: 'warning',
  timezone: 'UTC',
};

/** A row of a result: numbers of PostgreSQL's int8 and numeric come as strings, bytea as a Buffer. */
export type PostgresRow = Record<string, unknown>;

/** The part of `pg`'s client that is used here. A query with a name is prepared when it is first run. */
export interface PostgresClient {
  connect(): Promise<unknown>;
  query(query: { name?: string; text: string; values?: readonly unknown[] }): Promise<{ rows: PostgresRow[] }>;
  query(query: CopyIn): CopyIn;
  on(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
}

/** The files of a relation by what follows the relation's file number: `''` main, `'.1'`, `'_vm'`, `'_fsm'`. */
export type RelationFiles = Readonly<Record<string, string | Uint8Array>>;

/** Starts a new, empty PostgreSQL. @throws StorageError 58P01 when a package is missing, 58030 when it does not start. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  checkOptions('startPostgres', options, ['dataChecksums', 'settings', 'extensions']);
  const { Client } = (await importPeer('pg', "PostgreSQL's client")).default as { Client: ClientClass };
  const binaries = findBinaries();
  const scratch = makeScratch();
  let server: PostgresServer | undefined;
  try {
    const bin = join(runnableBinaries(binaries, scratch, isRoot()), 'bin');
    server = new PostgresServer(binaries, bin, scratch, Client, options);
    server.initialise(options.dataChecksums ?? true);
    await server.start();
    for (const extension of options.extensions ?? []) await server.query(`CREATE EXTENSION ${extension}`);
    return server;
  } catch (error) {
    await server?.close();
    rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
}

type ClientClass = new (options: Record<string, unknown>) => PostgresClient;

/** A PostgreSQL of one's own. Close it after use: that stops the server and removes its directory. */
export class PostgresServer implements AsyncDisposable {
  /** Such as `18.4`. */
  readonly version: string;
  /** The cluster's PGDATA. */
  readonly dataDirectory: string;
  /** What the server runs with. */
  readonly settings: Readonly<Record<string, string>>;
  private readonly bin: string;
  private readonly scratch: string;
  private readonly Client: ClientClass;
  private running: PostgresProcess | undefined;
  private session: PostgresClient | undefined;

  /** @internal Use {@link startPostgres}. */
  constructor(
    binaries: PostgresBinaries,
    bin: string,
    scratch: string,
    Client: ClientClass,
    { settings = {} }: PostgresOptions,
  ) {
    this.version = binaries.version.split('.').slice(0, 2).join('.');
    this.bin = bin;
    this.scratch = scratch;
    this.dataDirectory = join(scratch, 'data');
    this.Client = Client;
    const given = Object.entries(settings).map(([name, value]) => [name, settingText(value)]);
    this.settings = { ...BASE_SETTINGS, ...Object.fromEntries(given) };
  }

  /** @internal */
  initialise(dataChecksums: boolean): void {
    const args = ['-D', this.dataDirectory, '-U', 'postgres', '--auth=trust', '--no-locale', '--encoding=UTF8'];
    const checksums = dataChecksums ? '--data-checksums' : '--no-data-checksums';
    runProgram(join(this.bin, 'initdb'), [...args, checksums, '--no-sync', '--no-instructions'], this.scratch);
  }

  /** Starts the server again after {@link stop}. */
  async start(): Promise<void> {
    if (this.running !== undefined) return;
    const settings = Object.entries(this.settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.running = new PostgresProcess(
      this.bin,
      ['-D', this.dataDirectory, '-k', this.scratch, ...settings],
      this.scratch,
    );
    await this.running.waitUntilReady();
    this.session = await this.connect();
  }

  /** Shuts the server down cleanly; every connection ends. Its files are then as it left them. */
  async stop(): Promise<void> {
    const { session, running } = this;
    this.session = undefined;
    this.running = undefined;
    await session?.end().catch(() => {});
    await running?.stop();
  }

  /** Stops the server at once, as a crash would: {@link start} has it recover, and {@link logTail} says how that went. */
  async crash(): Promise<void> {
    const { session, running } = this;
    this.session = undefined;
    this.running = undefined;
    await running?.stop('immediate');
    await session?.end().catch(() => {});
  }

  /** The end of what the server has said since it was started. */
  get logTail(): string {
    return this.running?.logTail ?? '';
  }

  /** Stops the server and removes all that it had. */
  async close(): Promise<void> {
    try {
      await this.stop();
    } finally {
      rmSync(this.scratch, { recursive: true, force: true, maxRetries: 10 });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A further connection: `pg`'s client. The caller ends it, or {@link stop} does. */
  async connect(): Promise<PostgresClient> {
    const client = new this.Client({ host: this.scratch, user: 'postgres', database: 'postgres' });
    client.on('error', () => {}); // a server that is stopped says so to its clients
    try {
      await client.connect();
    } catch (cause) {
      const detail = this.running?.logTail.trim();
      throw new StorageError('58030', 'cannot connect to PostgreSQL', { detail, cause });
    }
    return client;
  }

  private client(): PostgresClient {
    if (this.session === undefined) throw new StorageError('55000', 'PostgreSQL is stopped');
    return this.session;
  }

  /** Runs SQL on the server's own connection: one statement with `values`, or several without. */
  async query(text: string, values?: readonly unknown[]): Promise<PostgresRow[]> {
    const result = await this.client().query(values === undefined ? { text } : { text, values });
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  }

  /**
   * Loads text into a table by one COPY.
   * @param target The table, and columns if not all: `lineitem`, `t (a, b)`.
   * @param format COPY's options, by default `DELIMITER '|'`.
   */
  async copyFrom(target: string, chunks: Iterable<Uint8Array>, format = "DELIMITER '|'"): Promise<void> {
    const copy = new CopyIn(`COPY ${target} FROM STDIN (${format})`, chunks);
    void this.client().query(copy);
    await copy.done;
  }

  /** The path of a relation's main file; segments and forks lie beside it. */
  async relationPath(relation: string): Promise<string> {
    const [row] = await this.query('SELECT pg_relation_filepath($1::regclass) AS path', [relation]);
    if (typeof row.path !== 'string') throw new StorageError('42704', `${relation} has no file`);
    return join(this.dataDirectory, row.path);
  }

  /** Stops the server, calls `work`, and starts it again, whatever comes of that. */
  async whileStopped<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await this.stop();
    try {
      return await work();
    } finally {
      await this.start();
    }
  }

  /**
   * Puts files in place of a relation's own, while the server is stopped: all segments and forks that it had are
   * removed. A file is given by its bytes or by the path of one to copy.
   */
  async replaceRelation(relation: string, files: RelationFiles): Promise<void> {
    const path = await this.relationPath(relation);
    await this.query('CHECKPOINT');
    await this.whileStopped(() => {
      removeRelationFiles(path);
      for (const [suffix, content] of Object.entries(files)) {
        if (typeof content === 'string') copyFileSync(content, path + suffix);
        else writeFileSync(path + suffix, content);
        this.adopt(path + suffix);
      }
    });
  }

  /** Gives a file that was put into the data directory to the server's user, with the mode that PostgreSQL expects. */
  adopt(path: string): void {
    chmodSync(path, 0o600);
    if (isRoot()) chownSync(path, NOBODY, NOBODY);
  }
}

function settingText(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
}

/** A new folder that the server's user owns, in a place that it can reach. */
function makeScratch(): string {
  const parents = [tmpdir(), '/tmp'].filter((folder) => existsSync(folder));
  const parent = isRoot() ? (parents.find(isReachable) ?? parents[0]) : parents[0];
  const scratch = mkdtempSync(join(parent, 'blockwright-postgres-'));
  if (isRoot()) {
    chmodSync(scratch, 0o755);
    chownSync(scratch, NOBODY, NOBODY);
  }
  return scratch;
}

/** `123`, `123.1`, `123_vm`, `123_vm.1`, … */
function removeRelationFiles(path: string): void {
  const name = basename(path);
  for (const entry of readdirSync(dirname(path))) {
    if (entry === name || (entry.startsWith(name) && /^(_fsm|_vm|_init)?(\.\d+)?$/.test(entry.slice(name.length)))) {
      rmSync(join(dirname(path), entry));
    }
  }
}
