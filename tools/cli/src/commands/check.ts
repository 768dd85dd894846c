// `blockwright check`: verifies data directories and relation files, and reports what it finds.
import { Command } from 'commander';
import type { Context } from '../context.ts';
import { addExamples, jsonOption } from '../options.ts';
import { CommandFailure } from '../output/errors.ts';

export function checkCommand(_context: Context): Command {
  const command = new Command('check')
    .description("verify data directories, ours or PostgreSQL's, and relation files")
    .argument('<path...>', 'data directories and relation files')
    .addOption(jsonOption())
    .action(async () => {
      throw new CommandFailure('check is not there yet');
    });
  return addExamples(command, [
    ['blockwright check ./data', 'everything below a data directory'],
    ['blockwright check base/16384/16509', "one relation file, PostgreSQL's or ours"],
  ]);
}
