#!/usr/bin/env node
// The stub of the command, committed so that its link exists before a build. The program is dist/main.js.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const program = new URL('../dist/main.js', import.meta.url);
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `blockwright: error: Node.js ${process.versions.node} is too old\nhint: Use Node.js 20.19 or later.\n`,
  );
  process.exitCode = 1;
} else if (!existsSync(program)) {
  process.stderr.write(
    `blockwright: error: the program is not built: ${fileURLToPath(program)} does not exist\n` +
      'hint: Run "npm start" or "npx pnpm run build" in the repository first.\n',
  );
  process.exitCode = 1;
} else {
  const { main } = await import(program.href);
  await main();
}
