// `blockwright inspect`: prints what is on the pages of a relation file.

import type { InspectedPage } from '@blockwright/pageinspect';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { CommandFailure } from '../failures.ts';
import { addExamples, blockSizeValue, checkPath, wholeNumber } from '../options.ts';
import { ExitStatus } from '../output/errors.ts';
import { toJson } from '../output/json.ts';
import type { OpenRelationFile } from '../relation-files.ts';

interface Options {
  readonly block?: number;
  readonly blockSize?: ReturnType<typeof blockSizeValue>;
  readonly items?: boolean;
  readonly data?: boolean;
  readonly json?: boolean;
}

const LAST_BLOCK = 4294967294;

export function inspectCommand(context: Context): Command {
  const command = new Command('inspect')
    .description("print what is on the pages of a relation file, PostgreSQL's or ours")
    .argument('<file>', 'a relation file: any fork, any segment')
    .addOption(
      new Option('--block <number>', "this block alone, counted from the fork's first").argParser(
        wholeNumber('--block', 0, LAST_BLOCK),
      ),
    )
    .addOption(new Option('--block-size <size>', 'where neither control file nor pages tell').argParser(blockSizeValue))
    .addOption(new Option('--items', 'line pointers and tuple headers too (always with --block)'))
    .addOption(new Option('--data', "with the items, their data's bytes"))
    .addOption(new Option('--json', "print an object a page, one a line, with pageinspect's names"))
    .action((file: string, options: Options) => inspect(context, checkPath(file, 'the file'), options));
  return addExamples(command, [
    ['blockwright inspect base/16384/16509', 'one line a page'],
    ['blockwright inspect base/16384/16509 --block=3', 'header, line pointers and tuples of block 3'],
    ['blockwright inspect base/16384/16509_vm --json', 'the visibility map, as JSON Lines'],
  ]);
}

async function inspect(context: Context, path: string, options: Options): Promise<void> {
  const { openRelationFile } = await import('../relation-files.ts');
  const file = await openRelationFile(path, options.blockSize);
  try {
    await printPages(context, file, options);
    if (file.tail > 0) {
      context.warning(`${path} ends with ${file.tail} bytes that are no whole block of ${file.geometry.size}`);
      context.status = ExitStatus.damaged;
    }
    if (file.blocks === 0) context.message(`${path} has no blocks`);
  } finally {
    file.close();
  }
}

async function printPages(context: Context, file: OpenRelationFile, options: Options): Promise<void> {
  const [{ inspectPage }, text] = await Promise.all([
    import('@blockwright/pageinspect'),
    import('../output/page-text.ts'),
  ]);
  const { fork, geometry, checksums, firstBlock, blocks } = file;
  const last = firstBlock + blocks - 1;
  const [from, to] = options.block === undefined ? [firstBlock, last] : [options.block, options.block];
  if (options.block !== undefined && (from < firstBlock || from > last)) {
    throw new CommandFailure(`there is no block ${from} in "${file.path}"`, {
      detail: blocks === 0 ? 'The file has no blocks.' : `It holds blocks ${firstBlock} to ${last}.`,
    });
  }
  const isInFull = options.items === true || options.data === true || options.block !== undefined;
  if (options.json !== true && !isInFull && blocks > 0) context.out.write(text.summaryHeader(context.colors));
  let breathed = performance.now();
  for (let block = from; block <= to; block++) {
    const page = inspectPage(file.read(block), block, { geometry, fork, checksums });
    const faulty = isFaulty(page);
    if (faulty) context.status = ExitStatus.damaged;
    if (options.json === true) context.out.line(toJson(page));
    else if (isInFull) context.out.write(text.pageText(page, faulty, options.data === true, context.colors));
    else context.out.write(text.summaryLine(page, faulty, context.colors));
    if (context.out.isFull) await context.out.flush();
    if (performance.now() - breathed > 20) {
      await context.breathe();
      breathed = performance.now();
    }
  }
}

/** Whether the page's note tells of damage; that a page is not a heap's, or was never used, is no fault. */
function isFaulty({ kind, note }: InspectedPage): boolean {
  if (kind === 'damaged') return true;
  if (kind === 'new') return false;
  return kind === 'heap' || kind === 'vm' || kind === 'fsm' ? note !== '' : note.includes('; ');
}
