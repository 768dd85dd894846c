// `npm run build`: builds every package through turbo, which keeps what it built in .turbo and skips what has not changed.
import { delimiter, join } from 'node:path';
import { checkNode, install, root, run } from './setup.mjs';

checkNode();
await install();
// turbo looks for pnpm on the PATH; it reports on its use unless it is told not to.
const pathName = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'; // Windows: Path
const path = join(root, 'node_modules', '.bin') + delimiter + (process.env[pathName] ?? '');
const turbo = join(root, 'node_modules', 'turbo', 'bin', 'turbo');
const args = [turbo, 'run', 'build', ...process.argv.slice(2)];
process.exitCode = await run(process.execPath, args, { env: { [pathName]: path, TURBO_TELEMETRY_DISABLED: '1' } });
