// `blockwright inspect`: prints what is on the pages of a relation file, and draws one of them.

import type { Compaction } from '@blockwright/page';
import type { CompactionPreview, InspectedPage, PageLayout } from '@blockwright/pageinspect';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { addExamples, blockSizeValue, checkPath, choiceOf, wholeNumber } from '../options.ts';
import { ExitStatus } from '../output/errors.ts';
import { toJson } from '../output/json.ts';
import type { OpenRelationFile } from '../relation-files.ts';

interface Options {
  readonly block?: number;
  readonly blockSize?: ReturnType<typeof blockSizeValue>;
  readonly items?: boolean;
  readonly data?: boolean;
  readonly compact?: Compaction;
  readonly json?: boolean;
}

const LAST_BLOCK = 4294967294;

/** Written down here, so that "--help" loads no page: a test holds them against the page package's. */
export const STRATEGIES: readonly Compaction[] = ['sort', 'workspace', 'adaptive'];

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
    .addOption(
      new Option(
        '--items',
        'line pointers and tuple headers, or index entries, too (with --block always, but for --compact)',
      ),
    )
    .addOption(new Option('--data', "with the items, their data's bytes"))
    .addOption(
      new Option(
        '--compact <strategy>',
        'draw the block before and after its gaps are closed, on a copy; of sort, workspace, adaptive; exit status 1 ' +
          'where there is nothing to compact: a page of a map, a metapage, one never used',
      ).argParser(choiceOf('--compact', STRATEGIES)),
    )
    .addOption(
      new Option('--json', "print an object a page, one a line, with pageinspect's names; with --block, its layout"),
    )
    .action((file: string, options: Options) => inspect(context, checkPath(file, 'the file'), options));
  return addExamples(command, [
    ['blockwright inspect base/16384/16509', 'one line a page'],
    ['blockwright inspect base/16384/16509 --block=3', 'a map of block 3, its header, line pointers and tuples'],
    [
      'blockwright inspect base/16384/16509 --block=3 --compact=adaptive',
      'what compacting it would do; nothing is written',
    ],
    ['blockwright inspect base/16384/16509_vm --json', 'the visibility map, as JSON Lines'],
  ]);
}

async function inspect(context: Context, path: string, options: Options): Promise<void> {
  if (options.compact !== undefined && options.block === undefined) {
    throw new UsageError('--compact draws one block: --block says which', {
      hint: `Add "--block=N", such as "--block=0 --compact=${options.compact}".`,
    });
  }
  const { openRelationFile } = await import('../relation-files.ts');
  const file = await openRelationFile(path, options.blockSize);
  try {
    if (options.block === undefined) await printPages(context, file, options);
    else await printBlock(context, file, options.block, options);
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
  const isInFull = options.items === true || options.data === true;
  if (options.json !== true && !isInFull && blocks > 0) context.out.write(text.summaryHeader(context.colors));
  let breathed = performance.now();
  for (let block = firstBlock; block < firstBlock + blocks; block++) {
    const page = inspectPage(file.read(block), block, { geometry, fork, checksums });
    const faulty = isFaulty(page);
    if (faulty) context.status = ExitStatus.damaged;
    const inFull = { map: '', items: true, data: options.data === true, columns: context.columns };
    if (options.json === true) context.out.line(toJson(page));
    else if (isInFull) context.out.write(text.pageText(page, faulty, inFull, context.colors));
    else context.out.write(text.summaryLine(page, faulty, context.colors));
    if (context.out.isFull) await context.out.flush();
    if (performance.now() - breathed > 20) {
      await context.breathe();
      breathed = performance.now();
    }
  }
}

/** One block in full, with its map. */
async function printBlock(context: Context, file: OpenRelationFile, block: number, options: Options): Promise<void> {
  const { fork, geometry, checksums, firstBlock, blocks } = file;
  const last = firstBlock + blocks - 1;
  if (block < firstBlock || block > last) {
    throw new CommandFailure(`there is no block ${block} in "${file.path}"`, {
      detail: blocks === 0 ? 'The file has no blocks.' : `It holds blocks ${firstBlock} to ${last}.`,
    });
  }
  const [inspecting, text, maps] = await Promise.all([
    import('@blockwright/pageinspect'),
    import('../output/page-text.ts'),
    import('../output/page-compaction.ts'),
  ]);
  const bytes = file.read(block);
  const page = inspecting.inspectPage(bytes, block, { geometry, fork, checksums });
  const layout = inspecting.inspectLayout(bytes, { geometry, fork });
  const preview =
    options.compact === undefined
      ? undefined
      : inspecting.previewCompaction(bytes, options.compact, { geometry, fork });
  const faulty = isFaulty(page);
  if (faulty || layout.findings.length > 0 || preview?.refusal?.code === 'XX001') context.status = ExitStatus.damaged;
  else if (preview?.refusal) context.status = ExitStatus.failed;
  if (options.json === true) {
    context.out.line(toJson(withLayout(page, layout, preview)));
    return;
  }
  const { colors, columns } = context;
  const map =
    preview === undefined
      ? `\n${maps.layoutText(layout, columns, colors)}`
      : maps.compactionText(preview, page.kind === 'btree', columns, colors);
  const items = preview === undefined || options.items === true || options.data === true;
  context.out.write(text.pageText(page, faulty, { map, items, data: options.data === true, columns }, colors));
}

/** The record with the page's layout, and what compacting it would do. */
function withLayout(page: InspectedPage, layout: PageLayout, preview: CompactionPreview | undefined): object {
  if (preview === undefined) return { ...page, layout };
  const { before: _, ...compaction } = preview;
  return { ...page, layout, compaction };
}

/** Whether the page's note tells of damage; that a page is not a heap's, or was never used, is no fault. */
function isFaulty({ kind, note }: InspectedPage): boolean {
  if (kind === 'damaged') return true;
  if (kind === 'new') return false;
  return kind === 'heap' || kind === 'vm' || kind === 'fsm' ? note !== '' : note.includes('; ');
}
