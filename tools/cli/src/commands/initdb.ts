// `blockwright initdb`: creates a data directory.
import { DEFAULT_BLOCK_SIZE, formatBlockSize } from '@blockwright/geometry';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { addExamples, blockSizeValue, dataDirectory, dataOption, jsonOption, powerOfTwoSize } from '../options.ts';
import { printable } from '../output/errors.ts';
import { formatBytes } from '../output/format.ts';
import { controlJson } from './controldata.ts';

interface Options {
  readonly directory?: string;
  readonly blockSize: ReturnType<typeof blockSizeValue>;
  readonly dataChecksums?: boolean;
  readonly walSegsize: number;
  readonly json?: boolean;
}

const MEGABYTE = 1048576;

export function initdbCommand(context: Context): Command {
  const command = new Command('initdb')
    .description('create a data directory')
    .argument('[dir]', 'the same as -D')
    .addOption(dataOption())
    .addOption(
      new Option('--block-size <size>', 'bytes of a block: 1kB, 2kB, 4kB, 8kB, 16kB or 32kB')
        .default(DEFAULT_BLOCK_SIZE, '8kB')
        .argParser(blockSizeValue),
    )
    .addOption(new Option('-k, --data-checksums', 'protect each page with a checksum (the default)'))
    .addOption(new Option('--no-data-checksums', 'write pages without checksums'))
    .addOption(
      new Option('--wal-segsize <size>', 'size of a WAL segment, a power of two from 1MB to 1GB')
        .default(16 * MEGABYTE, '16MB')
        .argParser(powerOfTwoSize('--wal-segsize', MEGABYTE, 1024 * MEGABYTE)),
    )
    .addOption(jsonOption())
    .action((argument: string | undefined, options: Options) => initialise(context, argument, options));
  return addExamples(command, [
    ['blockwright initdb -D ./data --block-size=16kB', 'a data directory with blocks of 16 kB'],
    ['blockwright initdb -D ./data --no-data-checksums', 'pages without checksums'],
  ]);
}

async function initialise(context: Context, argument: string | undefined, options: Options): Promise<void> {
  const directory = dataDirectory(context, options, argument);
  const { initdb } = await import('@blockwright/engine');
  const control = initdb(directory, {
    blockSize: options.blockSize,
    dataChecksums: options.dataChecksums ?? true,
    walSegmentSize: options.walSegsize,
  });
  if (options.json === true) {
    context.json({ directory, ...controlJson(control) });
    return;
  }
  const checksums = control.dataChecksums ? 'on' : 'off';
  context.out.line(
    `created ${printable(directory)}: block size ${formatBlockSize(control.blockSize)}, data checksums ${checksums}, ` +
      `WAL segments of ${formatBytes(control.walSegmentSize)}`,
  );
  context.message(`Load rows with: blockwright load tpch -D ${shellWord(directory)} --scale=0.01`);
}

/** A path as it can be pasted into a shell. */
function shellWord(path: string): string {
  return /^[\w@%+=:,./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
