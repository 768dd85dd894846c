// `npm run readme`: runs the main job and writes what it printed into the README, where a test holds it.

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';
import { mainJobArguments } from './start.mjs';

const path = join(root, 'README.md');
const cli = join(root, 'tools', 'cli', 'bin', 'blockwright.js');
const result = spawnSync(process.execPath, [cli, ...mainJobArguments([]), '--no-progress'], { encoding: 'utf8' });
if (result.status !== 0) throw new Error(`the main job ended with ${result.status}: ${result.stderr}`);
const [begin, end] = ['<!-- npm start: begin (npm run readme writes it) -->', '<!-- npm start: end -->'];
const text = readFileSync(path, 'utf8');
const [before, rest] = text.split(begin);
const [, after] = rest.split(end);
const shown = result.stdout.trimEnd();
writeFileSync(path, `${before}${begin}\n\`\`\`text\n${shown}\n\`\`\`\n${end}${after}`);
