// `blockwright inspect`: prints what is on a page.
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { addExamples, blockSizeValue, jsonOption, wholeNumber } from '../options.ts';

interface Options {
  readonly block?: number;
  readonly blockSize?: ReturnType<typeof blockSizeValue>;
  readonly items?: boolean;
  readonly json?: boolean;
}

const LAST_BLOCK = 4294967294;

export function inspectCommand(context: Context): Command {
  const command = new Command('inspect')
    .description("print what is on the pages of a relation file, PostgreSQL's or ours")
    .argument('<file>', 'a relation file, a further segment of one, or its _vm or _fsm')
    .addOption(new Option('--block <number>', 'this block alone').argParser(wholeNumber('--block', 0, LAST_BLOCK)))
    .addOption(new Option('--block-size <size>', 'where the pages do not tell').argParser(blockSizeValue))
    .addOption(new Option('--items', 'line pointers and tuple headers too (always with --block)'))
    .addOption(jsonOption())
    .action((file: string, options: Options) => inspect(context, file, options));
  return addExamples(command, [
    ['blockwright inspect base/16384/16509', 'one line a page'],
    ['blockwright inspect base/16384/16509 --block=3', 'header, line pointers and tuples of block 3'],
    ['blockwright inspect base/16384/16509_vm --json', 'the visibility map, as JSON Lines'],
  ]);
}

async function inspect(_context: Context, _file: string, _options: Options): Promise<void> {
  throw new Error('not yet');
}
