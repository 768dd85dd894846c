// `blockwright controldata`: prints a control file, ours or PostgreSQL's.
import { lsnText } from '@blockwright/base';
import type { ControlFile } from '@blockwright/control';
import { Command } from 'commander';
import type { Context } from '../context.ts';
import { addExamples, dataDirectory, dataOption, jsonOption } from '../options.ts';
import { printable } from '../output/errors.ts';
import { dataDirectoryKind } from '../sources.ts';

interface Options {
  readonly directory?: string;
  readonly json?: boolean;
}

export function controldataCommand(context: Context): Command {
  const command = new Command('controldata')
    .description("print the control file of a data directory, ours or PostgreSQL's")
    .argument('[dir]', 'the same as -D')
    .addOption(dataOption())
    .addOption(jsonOption())
    .action((argument: string | undefined, options: Options) => controldata(context, argument, options));
  return addExamples(command, [
    ['blockwright controldata -D ./data', 'as pg_controldata prints it'],
    ['blockwright controldata /var/lib/postgresql/16/main --json', "a PostgreSQL's, as JSON"],
  ]);
}

async function controldata(context: Context, argument: string | undefined, options: Options): Promise<void> {
  const directory = dataDirectory(context, options, argument);
  const [control, { NodeVfs }] = await Promise.all([import('@blockwright/control'), import('@blockwright/vfs')]);
  const vfs = new NodeVfs();
  if ((await dataDirectoryKind(directory)) === 'postgresql') {
    const file = control.readPgControlFile(vfs, directory);
    if (options.json === true) context.json(file);
    else printLabels(context, control.pgControlLabels(file));
    return;
  }
  control.checkDataDirectory(vfs, directory);
  const file = control.readControlFile(vfs, directory);
  if (options.json === true) context.json(controlJson(file));
  else printLabels(context, controlLabels(file, control.formatTime));
}

/** Our control file with its positions in the WAL as text. */
export function controlJson(file: ControlFile): object {
  const { record, redo, durable, ...rest } = file.checkpoint;
  return { ...file, checkpoint: { record: lsnText(record), redo: lsnText(redo), durable: lsnText(durable), ...rest } };
}

/** Our control file in pg_controldata's words, where it has words for it. */
function controlLabels(file: ControlFile, formatTime: (ms: number) => string): [label: string, value: string][] {
  const { checkpoint } = file;
  return [
    ['Control file version number', String(file.version)],
    ['Database system identifier', file.systemIdentifier],
    ['Database cluster state', file.state],
    ['Control file created', formatTime(file.createdMs)],
    ['Control file last modified', formatTime(file.modifiedMs)],
    ['WAL incarnation', String(file.walIncarnation)],
    ['Latest checkpoint location', lsnText(checkpoint.record)],
    ["Latest checkpoint's REDO location", lsnText(checkpoint.redo)],
    ["Latest checkpoint's WAL incarnation", String(checkpoint.incarnation)],
    ['WAL durable at latest checkpoint', lsnText(checkpoint.durable)],
    ['Time of latest checkpoint', checkpoint.timeMs === 0 ? 'never' : formatTime(checkpoint.timeMs)],
    ['NextXID', `${file.nextXidEpoch}:${file.nextXid}`],
    ['oldestXID', String(file.oldestXid)],
    ['NextOID', String(file.nextOid)],
    ['Database block size', String(file.blockSize)],
    ['Blocks per segment of large relation', String(file.segmentBlocks)],
    ['Bytes per WAL segment', String(file.walSegmentSize)],
    ['Data page checksum version', file.dataChecksums ? '1' : '0'],
  ];
}

/** Column at which pg_controldata prints its values. */
const VALUE_COLUMN = 38;

function printLabels(context: Context, labels: readonly (readonly [label: string, value: string])[]): void {
  for (const [label, value] of labels) context.out.line(`${`${label}:`.padEnd(VALUE_COLUMN)}${printable(value)}`);
}
