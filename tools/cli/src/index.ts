export type { Io, OutputStream } from './io.ts';
export { ExitStatus } from './output/errors.ts';
export { runCli } from './program.ts';
