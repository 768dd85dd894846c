// `blockwright waldump`: prints the records of a WAL, or counts them. Nothing is written.
import { basename, dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { lsnText, nearestName, parseLsn, StorageError } from '@blockwright/base';
import type { RecordDescriber, ResourceManagers, WalReader, WalRecord } from '@blockwright/wal';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { addExamples, choiceOf, dataDirectory, dataOption, wholeNumber } from '../options.ts';
import { ExitStatus } from '../output/errors.ts';
import { toJson } from '../output/json.ts';

interface Options {
  readonly directory?: string;
  readonly path?: string;
  readonly timeline?: number;
  readonly follow?: boolean;
  readonly start?: number;
  readonly end?: number;
  readonly limit?: number;
  readonly rmgr?: string;
  readonly relation?: string;
  readonly block?: number;
  readonly fork?: string;
  readonly xid?: number;
  readonly fullpage?: boolean;
  readonly bkpDetails?: boolean;
  readonly stats?: boolean | string;
  readonly json?: boolean;
}

const FORKS = ['main', 'fsm', 'vm', 'init'] as const;
const UINT32_MAX = 4294967295;

export function waldumpCommand(context: Context): Command {
  const command = new Command('waldump')
    .description('print the records of a write-ahead log, as pg_waldump does')
    .argument('[dir]', 'the same as -D; a directory of segments alone will do; or the segment file to begin with')
    .argument('[end]', 'the last segment file; without it, the first one alone')
    .addOption(dataOption())
    .addOption(new Option('-p, --path <dir>', 'the same as -D'))
    .addOption(new Option('-t, --timeline <number>', 'only 1: there are no others').argParser(timelineValue))
    .addOption(new Option('-s, --start <lsn>', 'the first record at or after it').argParser(lsnValue('--start')))
    .addOption(new Option('-e, --end <lsn>', 'no record that ends after it').argParser(lsnValue('--end')))
    .addOption(
      new Option('-n, --limit <number>', 'so many records at most').argParser(
        wholeNumber('--limit', 1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(new Option('-f, --follow', 'wait for more at the end of the WAL, until Ctrl-C'))
    .addOption(new Option('-r, --rmgr <name>', 'of this resource manager; "list" lists them'))
    .addOption(new Option('-R, --relation <t/d/r>', 'that change this relation').argParser(relationValue))
    .addOption(
      new Option('-B, --block <number>', 'with --relation: that change this block').argParser(
        wholeNumber('--block', 0, UINT32_MAX - 1),
      ),
    )
    .addOption(
      new Option('-F, --fork <name>', `that change this fork: ${FORKS.join(', ')}`).argParser(
        choiceOf('--fork', FORKS),
      ),
    )
    .addOption(new Option('-x, --xid <xid>', 'of this transaction').argParser(wholeNumber('--xid', 0, UINT32_MAX)))
    .addOption(new Option('-w, --fullpage', 'that have an image of a page'))
    .addOption(new Option('-b, --bkp-details', 'say more of block references'))
    .addOption(
      new Option('-z, --stats [what]', 'count instead, by resource manager; with "record", by kind too').argParser(
        choiceOf('--stats', ['record']),
      ),
    )
    .addOption(new Option('--json', "an object a record, one a line, with pg_walinspect's names"))
    .action((first: string | undefined, last: string | undefined, options: Options) =>
      waldump(context, first, last, options),
    );
  return addExamples(command, [
    ['blockwright waldump -D ./data', 'every record from the oldest segment on'],
    ['blockwright waldump -D ./data --start=0/1528A60 --limit=10', 'ten from there'],
    ['blockwright waldump -D ./data --relation=1663/5/16384 --block=0', 'what happened to a block'],
    ['blockwright waldump -D ./data --stats=record', 'what takes the room'],
    ['blockwright waldump ./data/wal/000000010000000000000001', 'one segment'],
    ['blockwright waldump -D ./data --follow', 'what an engine at work writes'],
    ['blockwright waldump -D ./data --quiet', 'no records: the exit status alone says how the WAL ends'],
  ]);
}

async function waldump(
  context: Context,
  first: string | undefined,
  last: string | undefined,
  options: Options,
): Promise<void> {
  if (options.block !== undefined && options.relation === undefined) {
    throw new UsageError('--block counts the blocks of a relation: --relation says which', {
      hint: 'Add "--relation=T/D/R": tablespace, database and file number.',
    });
  }
  const { allRecordDescribers } = await import('@blockwright/recovery');
  const managers = allRecordDescribers();
  if (options.rmgr === 'list') {
    for (const { name } of managers.all()) context.out.line(name);
    return;
  }
  const isWanted = filter(options, managers);
  const named = namedSegments(first, last);
  const wal = await openWal(context, waldumpDirectory(context, options, named === undefined ? first : named.directory));
  try {
    const range = named === undefined ? options : segmentRange(wal, named, options);
    seekStart(context, wal, range.start);
    const stopped = await print(context, wal.reader, managers, { ...options, ...range }, isWanted);
    if (!stopped) tellEnd(context, wal);
  } finally {
    wal.reader.close();
  }
}

/** Where the WAL is: `-p` is another word for `-D`. */
function waldumpDirectory(context: Context, options: Options, argument: string | undefined): string {
  const { directory, path } = options;
  if (path !== undefined && directory !== undefined && path !== directory) {
    throw new UsageError(`two directories were named: "${directory}" and "${path}"`);
  }
  return dataDirectory(context, { directory: directory ?? path }, argument);
}

interface NamedSegments {
  /** Where the first one lies, if its name says so. */
  readonly directory: string | undefined;
  readonly first: string;
  readonly last: string | undefined;
}

/** The segment files that the arguments name; undefined when the first one is no such name. */
function namedSegments(first: string | undefined, last: string | undefined): NamedSegments | undefined {
  const isSegment = (path: string): boolean => /^[0-9A-F]{24}$/.test(basename(path));
  if (first === undefined || !isSegment(first)) {
    if (last === undefined) return undefined;
    throw new UsageError(`"${first}" is no segment file, and "${last}" comes after it`, {
      hint: 'Name the first and the last segment file, or a directory.',
    });
  }
  if (last !== undefined && !isSegment(last)) {
    throw new UsageError(`"${last}" is no segment file`, { hint: 'Their names are 24 hexadecimal digits.' });
  }
  const directory = first.includes('/') ? dirname(first) : undefined;
  return { directory, first: basename(first), last: last === undefined ? undefined : basename(last) };
}

/** From where to where the named segments reach; `--start` and `--end` choose within them. */
function segmentRange(
  wal: OpenWal,
  named: NamedSegments,
  options: Options,
): { start: number; end: number | undefined } {
  const { segmentSize, segments } = wal;
  const startOf = (name: string): number => {
    if (!name.startsWith('00000001')) {
      throw new CommandFailure(`segment ${name} is of timeline ${Number.parseInt(name.slice(0, 8), 16)}`, {
        hint: 'There is only timeline 1.',
      });
    }
    const start = Number.parseInt(name.slice(8, 16), 16) * 2 ** 32 + Number.parseInt(name.slice(16), 16) * segmentSize;
    if (segments.includes(start)) return start;
    throw new CommandFailure(`there is no segment ${name} in "${wal.directory}"`);
  };
  const from = startOf(named.first);
  const to = startOf(named.last ?? named.first) + segmentSize;
  if (to <= from) throw new UsageError(`segment ${named.last} comes before segment ${named.first}`);
  const { start = from, end } = options;
  for (const [name, position] of [
    ['--start', start],
    ['--end', end ?? to],
  ] as const) {
    if (position >= from && position <= to) continue;
    throw new UsageError(`${name} ${lsnText(position)} lies outside the segments, ${lsnText(from)} to ${lsnText(to)}`);
  }
  const isOpen = options.follow === true && named.last === undefined;
  return { start, end: end ?? (isOpen ? undefined : to) };
}

interface OpenWal {
  /** Bytes of a segment. */
  readonly segmentSize: number;
  readonly directory: string;
  readonly reader: WalReader;
  /** Where each segment begins. */
  readonly segments: readonly number[];
  /** Up to where the control file says that the WAL is durable; 0 without one. */
  readonly durable: number;
}

/** The WAL of a data directory, or a directory of segments: the segments themselves say how to read them. */
async function openWal(context: Context, directory: string): Promise<OpenWal> {
  const [{ NodeVfs }, { surveyWal, WalReader }, { directoryKind, readControlFile }] = await Promise.all([
    import('@blockwright/vfs'),
    import('@blockwright/wal'),
    import('@blockwright/control'),
  ]);
  const vfs = new NodeVfs();
  const kind = directoryKind(vfs, directory);
  if (kind === 'postgresql') {
    throw new CommandFailure(`"${directory}" is a PostgreSQL's data directory`, {
      hint: 'Its WAL has another format: pg_waldump reads it.',
    });
  }
  if (kind === 'missing') throw new CommandFailure(`directory "${directory}" does not exist`);
  if (kind === 'file') {
    throw new CommandFailure(`"${directory}" is not a directory`, { hint: 'Name the data directory.' });
  }
  const path = kind === 'blockwright' ? `${directory}/wal` : directory;
  const survey = surveyWal(vfs, path);
  if (survey === undefined) {
    throw new CommandFailure(`there is no WAL in "${path}"`, {
      detail: 'No file there is a segment with a good first page.',
    });
  }
  let systemIdentifier: string | undefined;
  let durable = 0;
  if (kind === 'blockwright') {
    try {
      const control = readControlFile(vfs, directory);
      systemIdentifier = control.systemIdentifier;
      durable = control.checkpoint.durable;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      context.warning(`${error.message}; the segments are read as they are`);
    }
  }
  const { segmentSize, segments } = survey;
  const reader = new WalReader({ vfs, directory: path, segmentSize, systemIdentifier, followIncarnations: true });
  return { segmentSize, directory: path, reader, segments, durable };
}

/** @throws CommandFailure when no record begins there or later. */
function seekStart(context: Context, wal: OpenWal, start: number | undefined): void {
  const { reader, segments } = wal;
  if (start !== undefined) {
    const first = reader.find(start);
    if (first === 0) {
      throw new CommandFailure(`there is no record at or after ${lsnText(start)}`, { detail: `${reader.endReason}.` });
    }
    if (first !== start) {
      context.message(
        `the first record after ${lsnText(start)} is at ${lsnText(first)}: ${first - start} bytes are skipped`,
      );
    }
    return;
  }
  // Segments that were made for what comes, or lost their start, have no record of their own.
  for (const segment of segments) if (reader.find(segment) !== 0) return;
  throw new CommandFailure(`there is no record in "${wal.directory}"`, { detail: `${reader.endReason}.` });
}

/** Prints or counts what is wanted. @returns whether it stopped before the end of the WAL. */
async function print(
  context: Context,
  reader: WalReader,
  managers: ResourceManagers<RecordDescriber>,
  options: Options,
  isWanted: (record: WalRecord) => boolean,
): Promise<boolean> {
  const [text, { WalCounts }] = await Promise.all([import('../output/wal-text.ts'), import('../output/wal-stats.ts')]);
  const counts = options.stats === undefined ? undefined : new WalCounts(managers, options.stats === 'record');
  const { record } = reader;
  const end = options.end ?? Number.POSITIVE_INFINITY;
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  let incarnation = -1;
  let breathed = performance.now();
  let stopped = false;
  while (reader.next() || (await hasMore(context, reader, options))) {
    stopped = record.endLsn > end;
    if (stopped) break;
    if (incarnation >= 0 && record.incarnation !== incarnation) tellIncarnation(context, reader);
    incarnation = record.incarnation;
    if (isWanted(record)) {
      if (counts !== undefined) counts.add(record);
      else if (context.quiet) {
        // Only how it ends is asked for.
      } else if (options.json === true) context.out.line(toJson(text.recordJson(record, managers)));
      else context.out.line(text.recordLine(record, managers, options.bkpDetails === true));
      left--;
      stopped = left === 0;
      if (stopped) break;
    }
    if (context.out.isFull) await context.out.flush();
    if (performance.now() - breathed > 20) {
      await context.breathe();
      breathed = performance.now();
    }
  }
  if (counts !== undefined && !context.quiet) {
    if (options.json === true) context.json(counts.json());
    else context.out.write(counts.text());
  }
  if (options.follow === true) context.throwIfInterrupted();
  return stopped;
}

const POLL_MS = 200;

/** With `--follow`: waits until there is another record, which is then read. @returns false after Ctrl-C, or without it. */
async function hasMore(context: Context, reader: WalReader, options: Options): Promise<boolean> {
  if (options.follow !== true) return false;
  const { signal } = context.io;
  while (!signal.aborted) {
    await context.out.flush();
    await setTimeout(POLL_MS, undefined, { signal }).catch(() => {});
    reader.seek(reader.endLsn);
    if (reader.next()) return true;
  }
  return false;
}

function tellIncarnation(context: Context, reader: WalReader): void {
  const { incarnationEnd, record } = reader;
  if (incarnationEnd === undefined) return;
  const { incarnation, lsn, reason } = incarnationEnd;
  context.message(`incarnation ${incarnation} ends at ${lsnText(lsn)}: ${reason}`);
  context.message(`incarnation ${record.incarnation} begins at ${lsnText(record.lsn)}`);
}

/**
 * Says why there are no more records. Where the control file, or pages behind the end, say that more was durable, that is
 * damage; unless the WAL has grown meanwhile, because an engine is at work.
 */
function tellEnd(context: Context, { reader, durable: promised }: OpenWal): void {
  const { endLsn, endReason } = reader;
  const durable = Math.max(reader.durableBeyondEnd(), promised);
  context.message(`the WAL ends at ${lsnText(endLsn)}: ${endReason}`);
  if (durable <= endLsn) return;
  reader.seek(endLsn);
  if (reader.next()) {
    context.message('it has grown since: it is being written');
    return;
  }
  context.warning(`the WAL is damaged after ${lsnText(endLsn)}: it was durable up to ${lsnText(durable)} at least`);
  context.status = ExitStatus.damaged;
}

/** Which records the options ask for. */
function filter(options: Options, managers: ResourceManagers<RecordDescriber>): (record: WalRecord) => boolean {
  const { xid, block, relation, fullpage } = options;
  const rmgr = options.rmgr === undefined ? undefined : managerNamed(options.rmgr, managers);
  const fork = options.fork === undefined ? undefined : FORKS.indexOf(options.fork as (typeof FORKS)[number]);
  const [tablespace, database, relfilenode] = (relation ?? '').split('/').map(Number);
  const isBlockWanted = (record: WalRecord, i: number): boolean =>
    (fork === undefined || record.fork[i] === fork) &&
    (block === undefined || record.block[i] === block) &&
    (relation === undefined ||
      (record.tablespace[i] === tablespace &&
        record.database[i] === database &&
        record.relfilenode[i] === relfilenode));
  const asksForBlocks = relation !== undefined || fork !== undefined;
  return (record) => {
    if (rmgr !== undefined && record.rmgr !== rmgr) return false;
    if (xid !== undefined && record.xid !== xid) return false;
    const indexes = Array.from({ length: record.blockCount }, (_, i) => i);
    if (fullpage === true && !indexes.some((i) => record.hasImage[i] === 1)) return false;
    return !asksForBlocks || indexes.some((i) => isBlockWanted(record, i));
  };
}

function managerNamed(name: string, managers: ResourceManagers<RecordDescriber>): number {
  const all = managers.all();
  const found = all.find((manager) => manager.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found.id;
  const custom = /^custom(\d{3})$/.exec(name);
  if (custom !== null && Number(custom[1]) < 256) return Number(custom[1]);
  const names = all.map((manager) => manager.name);
  const nearest = nearestName(name, names);
  throw new UsageError(`invalid value for --rmgr: "${name}" is no resource manager`, {
    hint: nearest === undefined ? `They are ${names.join(', ')}.` : `Did you mean "${nearest}"?`,
  });
}

/** A parser of positions, `0/1528A60`. */
function lsnValue(name: string): (text: string) => number {
  return (text) => {
    let value: number;
    try {
      const { high, low } = parseLsn(text);
      value = high * 2 ** 32 + low;
    } catch (error) {
      throw new UsageError(`invalid value for ${name}: ${(error as Error).message}`);
    }
    if (Number.isSafeInteger(value)) return value;
    throw new UsageError(`invalid value for ${name}: "${text}" is beyond the last position, 1FFFFF/FFFFFFFF`);
  };
}

function timelineValue(text: string): number {
  if (text === '1') return 1;
  throw new UsageError(`invalid value for --timeline: "${text}" is not 1`, { hint: 'There is only timeline 1.' });
}

function relationValue(text: string): string {
  const parts = /^(\d{1,10})\/(\d{1,10})\/(\d{1,10})$/.exec(text)?.slice(1).map(Number);
  if (parts?.every((part) => part <= UINT32_MAX) === true) return parts.join('/');
  throw new UsageError(`invalid value for --relation: "${text}" is not T/D/R`, {
    hint: 'Write tablespace, database and file number, such as "1663/5/16384".',
  });
}
