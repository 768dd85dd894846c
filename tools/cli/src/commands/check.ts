// `blockwright check`: verifies data directories and relation files, and reports what it finds.

import { availableParallelism } from 'node:os';
import { type Finding, isStorageError } from '@blockwright/base';
import type { CheckReport } from '@blockwright/engine';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Context } from '../context.ts';
import { UsageError } from '../failures.ts';
import { addExamples, blockSizeValue, checkPath, DATA_VARIABLE, dataOption, jsonOption } from '../options.ts';
import { findingLine, printReport } from '../output/check-text.ts';
import { ExitStatus, tellError } from '../output/errors.ts';

const MOST_JOBS = 256;

interface Options {
  readonly directory?: string;
  readonly blockSize?: ReturnType<typeof blockSizeValue>;
  readonly jobs: number;
  readonly files?: boolean;
  readonly json?: boolean;
}

/** One path, checked; or why it could not be. */
interface Checked {
  readonly path: string;
  readonly report?: CheckReport;
  readonly findings: readonly Finding[];
  readonly failure?: unknown;
}

export function checkCommand(context: Context): Command {
  const command = new Command('check')
    .description("verify data directories, ours or PostgreSQL's, and relation files; nothing is repaired")
    .argument('[path...]', 'data directories of stopped servers, and relation files')
    .addOption(dataOption())
    .addOption(
      new Option('--block-size <size>', 'of a relation file, where nothing else tells').argParser(blockSizeValue),
    )
    .addOption(
      new Option(
        '-j, --jobs <number>',
        'threads that work at once on a large directory; below 64 MB, and for a lone file, it is one',
      )
        .argParser(jobsValue)
        .default(availableParallelism(), 'as many as the machine runs at once'),
    )
    .addOption(new Option('--files', 'list every file, also where there are many'))
    .addOption(jsonOption())
    .action((paths: string[], options: Options) => check(context, paths, options));
  return addExamples(command, [
    ['blockwright check ./data', 'everything below a data directory'],
    ['blockwright check base/16384/16509', "one relation file with its maps, PostgreSQL's or ours"],
    ['blockwright check /srv/pg/* --json', 'several, as one JSON object'],
  ]);
}

function jobsValue(text: string): number {
  const jobs = Number(text);
  if (!/^\d+$/.test(text) || jobs < 1 || jobs > MOST_JOBS) {
    throw new InvalidArgumentError(`It is a number from 1 to ${MOST_JOBS}.`);
  }
  return jobs;
}

/** Every path is checked, whatever was found on the ones before: the worst finding decides the exit status. */
async function check(context: Context, named: readonly string[], options: Options): Promise<void> {
  const checked: Checked[] = [];
  for (const path of pathsOf(context, named, options)) checked.push(await checkOne(context, path, options));
  if (options.json === true) printJson(context, checked);
  if (context.status !== ExitStatus.damaged && checked.some(({ failure }) => failure !== undefined))
    context.status = ExitStatus.failed;
}

function pathsOf(context: Context, named: readonly string[], options: Options): readonly string[] {
  const paths = options.directory === undefined ? [...named] : [options.directory, ...named];
  const fallback = context.io.env[DATA_VARIABLE];
  if (paths.length === 0 && fallback !== undefined) paths.push(fallback);
  if (paths.length === 0) {
    throw new UsageError('no path was named', { hint: 'Name data directories or relation files.' });
  }
  return paths.map((path) => checkPath(path, 'a path'));
}

async function checkOne(context: Context, path: string, options: Options): Promise<Checked> {
  const engine = await import('@blockwright/engine');
  const findings: Finding[] = [];
  try {
    const report = await context.withProgress(({ onProgress, pause }) => {
      const sink = (finding: Finding): void => {
        findings.push(finding);
        // At once: whoever reads the output may have seen enough before the end.
        if (finding.severity === 'error') context.status = ExitStatus.damaged;
        if (options.json === true) return;
        pause();
        context.out.line(findingLine(finding, context.colors));
        context.out.send();
      };
      return context.drive(
        engine.checkPath(path, sink, { blockSize: options.blockSize, jobs: options.jobs }),
        onProgress,
      );
    });
    if (options.json !== true) {
      await printReport(context, report, findings, options.files === true);
      await context.out.flush();
    }
    return { path, report, findings };
  } catch (failure) {
    if (!isStorageError(failure)) throw failure;
    // Said at once, and the other paths are checked all the same.
    await context.out.flush();
    for (const line of tellError(failure, { verbose: context.verbose }).lines) context.err.line(line);
    return { path, findings, failure };
  }
}

function printJson(context: Context, checked: readonly Checked[]): void {
  const count = (severity: Finding['severity']) =>
    checked.reduce((sum, { findings }) => sum + findings.filter((finding) => finding.severity === severity).length, 0);
  context.json({
    paths: checked.map(({ path, report, findings, failure }) => ({
      path,
      ...report,
      findings,
      ...(isStorageError(failure) ? { failure: { code: failure.code, message: failure.message } } : {}),
    })),
    errors: count('error'),
    warnings: count('warning'),
  });
}
