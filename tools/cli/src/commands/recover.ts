// `blockwright recover`: replays the WAL of a data directory that was not shut down, and shuts it down.
import { lsnText } from '@blockwright/base';
import type { RecoveryReport, ResourceManagerCounts } from '@blockwright/recovery';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { openDatabase } from '../open.ts';
import { addExamples, byteSize, choiceOf, dataDirectory, dataOption, jsonOption } from '../options.ts';
import { printable } from '../output/errors.ts';
import { formatBytes, formatCount, formatDuration } from '../output/format.ts';

interface Options {
  readonly directory?: string;
  readonly sharedBuffers: number;
  readonly compaction: string;
  readonly json?: boolean;
}

const KILOBYTE = 1024;
const COMPACTIONS = ['sort', 'workspace', 'adaptive'];

export function recoverCommand(context: Context): Command {
  const command = new Command('recover')
    .description('recover a data directory after a crash, and shut it down cleanly')
    .argument('[dir]', 'the same as -D')
    .addOption(dataOption())
    .addOption(
      new Option('--shared-buffers <size>', 'memory of the buffer pool')
        .default(131072 * KILOBYTE, '128MB')
        .argParser(byteSize('--shared-buffers', 16 * KILOBYTE, 2 ** 40)),
    )
    .addOption(
      new Option('--compaction <how>', `how pages are compacted: ${COMPACTIONS.join(', ')}`)
        .default('adaptive')
        .argParser(choiceOf('--compaction', COMPACTIONS)),
    )
    .addOption(jsonOption())
    .action((argument: string | undefined, options: Options) => recover(context, argument, options));
  return addExamples(command, [
    ['blockwright recover -D ./data', 'what any command that writes does first'],
    ['blockwright recover -D ./data --verbose', 'records by kind, and where the time went'],
  ]);
}

async function recover(context: Context, argument: string | undefined, options: Options): Promise<void> {
  const directory = dataDirectory(context, options, argument);
  const database = await openDatabase(context, directory, {
    sharedBuffers: options.sharedBuffers,
    compaction: options.compaction as 'adaptive',
    recoveryTiming: context.verbose || options.json === true,
  });
  const report = database.recovery;
  database.close();
  if (options.json === true) {
    context.json({ directory, recovered: report !== undefined, ...(report === undefined ? {} : toJson(report)) });
    return;
  }
  if (report === undefined) {
    context.out.line(`${printable(directory)} had been shut down cleanly: there was nothing to recover`);
    return;
  }
  context.out.line(summary(directory, report));
  if (context.verbose) await printDetails(context, report);
}

function summary(directory: string, report: RecoveryReport): string {
  const { records, bytes, usage, checkpointSeconds } = report;
  const work = `${formatCount(records)} records, ${formatBytes(bytes)}, in ${formatDuration(usage.elapsedSeconds * 1000)}`;
  return `recovered ${printable(directory)}: ${work}; checkpoint in ${formatDuration(checkpointSeconds * 1000)}`;
}

/** Positions as text, as everywhere in JSON. */
function toJson(report: RecoveryReport): object {
  const { checkpoint } = report;
  return {
    ...report,
    redoStart: lsnText(report.redoStart),
    redoEnd: lsnText(report.redoEnd),
    lastRecord: lsnText(report.lastRecord),
    checkpoint: {
      ...checkpoint,
      record: lsnText(checkpoint.record),
      recordEnd: lsnText(checkpoint.recordEnd),
      redo: lsnText(checkpoint.redo),
    },
  };
}

async function printDetails(context: Context, report: RecoveryReport): Promise<void> {
  const { formatTable } = await import('../output/table.ts');
  const right = { align: 'right' } as const;
  const columns = [
    { title: 'records of' },
    { title: 'records', ...right },
    { title: 'size', ...right },
    { title: 'images', ...right },
    { title: 'size', ...right },
  ];
  const rows = [...report.byResourceManager.flatMap(countRows), countRow('total', report)];
  context.out.line();
  context.out.write(formatTable(columns, rows, context.colors));
  context.out.line();
  for (const line of shareLines(report)) context.out.line(line);
  const { filesRemoved, unloggedReset, compactions } = report;
  context.out.line(`pages compacted: ${formatCount(compactions)}`);
  context.out.line(`files removed of transactions that did not end: ${formatCount(filesRemoved)} relations`);
  context.out.line(`unlogged relations made empty: ${formatCount(unloggedReset)}`);
  context.out.line(`end of the WAL: ${printable(report.endReason)}`);
}

type Counts = Pick<RecoveryReport, 'records' | 'bytes' | 'images' | 'imageBytes'>;

/** One line a kind of record; of a manager with one kind only, one line. */
function countRows(manager: ResourceManagerCounts): string[][] {
  return manager.kinds.map((kind) => countRow(`${manager.name}/${kind.name}`, kind));
}

function countRow(name: string, { records, bytes, images, imageBytes }: Counts): string[] {
  return [name, formatCount(records), formatBytes(bytes), formatCount(images), formatBytes(imageBytes)];
}

/** Where redo's time went: `compaction 0.12 s (10 %)`. */
function shareLines({ shares, usage }: RecoveryReport): string[] {
  if (shares === undefined) return [];
  const { elapsedSeconds } = usage;
  const line = (what: string, seconds: number): string => {
    const percent = elapsedSeconds > 0 ? Math.round((seconds / elapsedSeconds) * 100) : 0;
    return `${what}: ${seconds.toFixed(3)} s, ${percent} % of redo`;
  };
  return [
    line('page compaction', shares.compactionSeconds),
    line('buffer look-up and reading', shares.lookupSeconds),
    line('opening files', shares.openSeconds),
  ];
}
