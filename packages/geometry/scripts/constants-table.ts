// Prints the README's table of constants from the code; with --write, puts it into the README.
//   node --conditions=@blockwright/source --import tsx packages/geometry/scripts/constants-table.ts [--write]
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BLOCK_SIZES, BlockGeometry, formatBlockSize, type GeometryConstants } from '@blockwright/geometry';

export const README: string = fileURLToPath(new URL('../README.md', import.meta.url));
const CONSTANTS: string = fileURLToPath(new URL('../src/constants.cold.ts', import.meta.url));
/** From the first to the last line of the table, markers included. */
export const TABLE: RegExp = /<!-- constants -->[\s\S]*<!-- \/constants -->/;

/** In which of PostgreSQL's files each constant stands: the last word of its comment in the source. */
function whereDefined(): Map<string, string> {
  const source = readFileSync(CONSTANTS, 'utf8');
  const body = source.slice(source.indexOf('export interface GeometryConstants'));
  const found = new Map<string, string>();
  for (const [, comment, name] of body.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly (\w+):/g)) {
    const file = /\b([a-z_]+\.[ch])\b/.exec(comment as string);
    if (file !== null) found.set(name as string, file[1] as string);
  }
  return found;
}

export function constantsTable(): string {
  const all = BLOCK_SIZES.map((size) => BlockGeometry.of(size).constants);
  const files = whereDefined();
  const names = Object.keys(all[0] as GeometryConstants) as (keyof GeometryConstants)[];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    '<!-- constants -->',
    line(['constant', 'PostgreSQL’s file', ...BLOCK_SIZES.map(formatBlockSize)]),
    line(['---', '---', ...BLOCK_SIZES.map(() => '--:')]),
    ...names.map((name) =>
      line([`\`${name}\``, files.get(name) ?? '?', ...all.map((constants) => String(constants[name]))]),
    ),
    '<!-- /constants -->',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const table = constantsTable();
  if (process.argv.includes('--write')) {
    const text = readFileSync(README, 'utf8');
    if (!TABLE.test(text)) throw new Error(`${README} has no table between the markers`);
    writeFileSync(README, text.replace(TABLE, table));
  } else console.log(table);
}
