// `npm run readme`: runs the main job and writes the table that it printed, and the sentence that sums it up, into the
// README, where a test holds them.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root } from './setup.mjs';
import { mainJobArguments } from './start.mjs';

const BEGIN = '<!-- npm start: begin (npm run readme writes it) -->';
const END = '<!-- npm start: end -->';

/** The machine, the first table, and the sentence in short; the quartiles and a sentence a query are left out. */
export function excerpt(printed) {
  const paragraphs = printed.trimEnd().split('\n\n');
  const [machine, table] = paragraphs;
  const short = /^In short:.*(?:\n {2}.*)*/m.exec(printed);
  if (table === undefined || short === null) throw new Error(`the main job printed something else:\n${printed}`);
  return `${machine}\n\n${table}\n\n${short[0]}`;
}

/** The README with another excerpt. */
export function withExcerpt(readme, shown) {
  const [before, rest] = readme.split(BEGIN);
  const [, after] = rest.split(END);
  return `${before}${BEGIN}\n\`\`\`text\n${shown}\n\`\`\`\n${END}${after}`;
}

if (isMain(import.meta.url)) {
  const cli = join(root, 'tools', 'cli', 'bin', 'blockwright.js');
  const result = spawnSync(process.execPath, [cli, ...mainJobArguments([]), '--no-progress'], { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`the main job ended with ${result.status}: ${result.stderr}`);
  const path = join(root, 'README.md');
  writeFileSync(path, withExcerpt(readFileSync(path, 'utf8'), excerpt(result.stdout)));
}
