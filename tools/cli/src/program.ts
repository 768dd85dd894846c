// The command line as a whole: reads it, runs the one command that it names, and turns whatever happens into messages
// and an exit status.

import { nearestName } from '@blockwright/base';
import { Command, CommanderError } from 'commander';
import { benchCommand } from './commands/bench.ts';
import { checkCommand } from './commands/check.ts';
import { controldataCommand } from './commands/controldata.ts';
import { dumpCommand } from './commands/dump.ts';
import { initdbCommand } from './commands/initdb.ts';
import { inspectCommand } from './commands/inspect.ts';
import { loadCommand } from './commands/load.ts';
import { recoverCommand } from './commands/recover.ts';
import { tablesCommand } from './commands/tables.ts';
import { waldumpCommand } from './commands/waldump.ts';
import { type CommonFlags, Context } from './context.ts';
import { ClosedPipe, UsageError } from './failures.ts';
import type { Io } from './io.ts';
import { wantsColors } from './output/colors.ts';
import { ExitStatus, tellError } from './output/errors.ts';
import { version } from './version.ts';

/**
 * Runs the command line `args` (without the program's name) and returns its exit status: 0 done and clean, 1 failed,
 * 2 wrong usage, 3 ran to its end and found damage, 130 interrupted. Throws nothing; when it returns, everything that
 * it printed has been handed to `io`'s streams.
 */
export async function runCli(args: readonly string[], io: Io): Promise<ExitStatus> {
  const context = new Context(io);
  let status: ExitStatus;
  let program: Command | undefined;
  try {
    program = await createProgram(context, args);
    await program.parseAsync([...args], { from: 'user' });
    context.throwIfInterrupted();
    await context.out.flush();
    status = context.status;
  } catch (error) {
    status = await tell(context, args, error instanceof CommanderError ? translate(error, program, args) : error);
  }
  await context.err.flush().catch(() => {});
  return status;
}

/** Prints what is to be said of a failure, after what was printed before it; gives the exit status. */
async function tell(context: Context, args: readonly string[], thrown: unknown): Promise<ExitStatus> {
  let error = thrown;
  await context.out.flush().catch((failure: unknown) => {
    error ??= failure;
  });
  if (error === undefined) return ExitStatus.done;
  if (error instanceof ClosedPipe) return context.status; // nobody is there to be told, but damage stays damage
  // An error of usage can come before the flags are known.
  const { status, lines } = tellError(error, { verbose: context.verbose || args.includes('--verbose') });
  try {
    for (const line of lines) context.err.line(line);
  } catch (failure) {
    if (!(failure instanceof ClosedPipe)) throw failure;
  }
  return status;
}

/** Commander's errors in our words; undefined for its way of saying that help or version was printed. */
function translate(error: CommanderError, program: Command | undefined, args: readonly string[]): Error | undefined {
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') {
    if (args[0] === 'help' && args[1] !== undefined) {
      const names = program?.commands.map((command) => command.name()) ?? [];
      const nearest = nearestName(args[1], names);
      return new UsageError(`unknown command "${args[1]}"`, {
        hint: nearest === undefined ? `The commands are ${names.join(', ')}.` : `Did you mean "${nearest}"?`,
      });
    }
    return new UsageError('no command was named', {
      hint: `Run "blockwright ${args.length === 0 ? '' : `${args[0]} `}--help" to see the commands.`,
    });
  }
  // The suggestion for a misspelt command is the message's second line.
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const message = first.replace(/'/g, '"').replace(/\.$/, '');
  const suggested = /\(Did you mean (?:one of )?(.*)\?\)/.exec(rest.join(' '))?.[1]?.split(', ') ?? [];
  if (error.code === 'commander.unknownOption' && suggested.length === 0) {
    const flag = /"(--[^"=]*)/.exec(message)?.[1];
    const nearest = flag === undefined ? undefined : nearestName(flag, knownFlags(program, args));
    if (nearest !== undefined) suggested.push(nearest);
  }
  const hint =
    suggested.length === 0
      ? 'Run the command with --help to see what it takes.'
      : `Did you mean ${suggested.map((name) => `"${name}"`).join(' or ')}?`;
  return new UsageError(message, { hint });
}

/** The long flags of the command that `args` name, and of those above it. */
function knownFlags(program: Command | undefined, args: readonly string[]): string[] {
  const flags: string[] = ['--help'];
  let command = program;
  for (const arg of ['', ...args]) {
    if (arg !== '') command = command?.commands.find((child) => child.name() === arg) ?? command;
    for (const { long, hidden } of command?.options ?? []) if (typeof long === 'string' && !hidden) flags.push(long);
  }
  return [...new Set(flags)];
}

async function createProgram(context: Context, args: readonly string[]): Promise<Command> {
  const program = new Command('blockwright')
    .description(
      "PostgreSQL's storage layer with the block size chosen at initdb: create, load, scan, check, inspect, recover; and its write-ahead log.",
    )
    .usage('COMMAND [options]')
    .version(`blockwright ${version()}`, '-V, --version', 'print the version and exit')
    .option('-q, --quiet', 'print results and errors only')
    .option('--no-progress', 'show no progress bar')
    .option('--verbose', 'print more: where an error came from, what a recovery did, what the engine logs');
  const commands = [
    initdbCommand(context),
    controldataCommand(context),
    loadCommand(context),
    tablesCommand(context),
    dumpCommand(context),
    inspectCommand(context),
    checkCommand(context),
    waldumpCommand(context),
    recoverCommand(context),
    await benchCommand(context, args),
  ];
  for (const command of commands) program.addCommand(command);
  adopt(program, context);
  program.addHelpText(
    'after',
    `
Exit status: 0 done and clean, 1 failed, 2 wrong usage, 3 ran to its end and
found damage, 130 interrupted. BLOCKWRIGHT_DATA names the data directory where
-D does not; NO_COLOR turns colours off.

Run "blockwright COMMAND --help" for a command's options and examples.`,
  );
  program.hook('preAction', (_program, command) => context.setFlags(command.optsWithGlobals<CommonFlags>()));
  return program;
}

/** Gives a command and those below it the settings of the program. */
function adopt(command: Command, context: Context): void {
  inherit(command, context);
  for (const child of command.commands) adopt(child, context);
}

function inherit(command: Command, context: Context): void {
  if (command.commands.length > 0) {
    command.helpCommand('help [command]', 'print the help of a command and exit');
  }
  const width = Math.max(60, Math.min(100, context.columns));
  command
    .exitOverride()
    .showSuggestionAfterError(true)
    .helpOption('-h, --help', 'print this help and exit')
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => context.colors.bold(title) })
    .configureOutput({
      writeOut: (text) => context.out.write(text),
      writeErr: () => {}, // errors are told by runCli, in the one form that all errors have
      outputError: () => {},
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
      getOutHasColors: () => wantsColors(context.io.stdout, context.io.env),
      getErrHasColors: () => false,
    });
}
