// A page drawn in proportion: rows of cells, each some bytes, with a glyph and a colour a kind, so that it reads without
// colours too. Tuples carry their numbers where there is room.
//
//     0  ███:::::::::::···············
//   256  ····························░░
//   512  3━━━━━━2━━━━━━░░░░░░░1━━━━━━━━
import type { PageLayout, PageRegion } from '@blockwright/pageinspect';
import type { Colors } from './colors.ts';
import { formatCount, wrapWords } from './format.ts';

type Look =
  | 'header'
  | 'linePointers'
  | 'free'
  | 'tuple'
  | 'dead'
  | 'moved'
  | 'movedDead'
  | 'hole'
  | 'special'
  | 'contents'
  | 'overlap';

const GLYPHS: Readonly<Record<Look, string>> = {
  header: '█',
  linePointers: ':',
  free: '·',
  tuple: '━',
  moved: '═',
  dead: 'x',
  movedDead: 'X',
  hole: '░',
  special: '▓',
  contents: '▒',
  overlap: '!',
};

const LEGEND: Readonly<Record<Look, string>> = {
  header: 'header',
  linePointers: 'line pointers',
  free: 'free',
  tuple: 'tuple',
  moved: 'moved tuple',
  dead: 'dead tuple',
  movedDead: 'moved dead tuple',
  hole: 'hole',
  special: 'special space',
  contents: 'not of tuples',
  overlap: 'overlap',
};

/** The first cell of a tuple that has no room for its number. */
const START = '┝';
const START_LEGEND = 'tuple without room for its number';

function paint(look: Look, colors: Colors): (text: string) => string {
  switch (look) {
    case 'header':
    case 'special':
      return colors.magenta;
    case 'linePointers':
      return colors.cyan;
    case 'tuple':
      return colors.green;
    case 'moved':
      return colors.blue;
    case 'dead':
    case 'movedDead':
    case 'hole':
      return colors.yellow;
    case 'overlap':
      return colors.red;
    default:
      return colors.dim;
  }
}

/** How many cells a row has, and how many bytes a cell: powers of two. */
interface Scale {
  readonly cells: number;
  readonly cellBytes: number;
}

const MOST_ROWS = 32;

/** The finest scale at which a page of `size` bytes has no more than 32 rows in a terminal of so many columns. */
function scaleFor(size: number, columns: number): Scale {
  let cells = 128;
  while (cells > 8 && gutterOf(size, columns).length + cells > columns) cells /= 2;
  // A line pointer has 4 bytes; a small page drawn finer than that is no clearer.
  let cellBytes = size <= 2048 ? 4 : 8;
  while (size > cells * cellBytes * MOST_ROWS) cellBytes *= 2;
  return { cells, cellBytes };
}

/** What stands before a row's cells is as long as this: the offset of its first byte, and blanks. */
function gutterOf(size: number, columns: number): string {
  return `${indentFor(columns)}${' '.repeat(String(size).length)}  `;
}

/** Where columns are dear, none goes to indentation. */
export function indentFor(columns: number): string {
  return columns < 60 ? '' : '  ';
}

interface Cell {
  readonly look: Look;
  readonly glyph: string;
}

export interface PageMapOptions {
  readonly columns: number;
  readonly colors: Colors;
  /** The layout before it was compacted: tuples that stood elsewhere are shown as moved. */
  readonly before?: PageLayout;
}

/** The page as rows of cells, with a legend of what is on it. */
export function pageMap(layout: PageLayout, options: PageMapOptions): string {
  const { columns, colors } = options;
  const size = layout.regions.at(-1)?.to ?? 0;
  const scale = scaleFor(size, columns);
  const cells = cellsOf(layout, scale, size, startsOf(options.before));
  const gutter = gutterOf(size, columns).length - 2;
  let text = '';
  for (let first = 0; first < cells.length; first += scale.cells) {
    const offset = String(first * scale.cellBytes).padStart(gutter);
    text += `${colors.dim(offset)}  ${rowText(cells.slice(first, first + scale.cells), colors)}\n`;
  }
  return `${text}${legend(entriesOf(cells, colors), scale, columns, colors)}`;
}

/** Where each item stood, by offset number. */
function startsOf(layout: PageLayout | undefined): ReadonlyMap<number, number> | undefined {
  if (layout === undefined) return undefined;
  return new Map(layout.regions.flatMap((r) => (r.kind === 'item' ? [[r.offsetNumber as number, r.from]] : [])));
}

function lookOf({ kind, dead, from, offsetNumber }: PageRegion, starts: ReadonlyMap<number, number> | undefined): Look {
  if (kind === 'padding') return 'hole';
  if (kind !== 'item') return kind;
  const isMoved = starts !== undefined && starts.get(offsetNumber as number) !== from;
  if (dead === true) return isMoved ? 'movedDead' : 'dead';
  return isMoved ? 'moved' : 'tuple';
}

/** A cell shows what most of its bytes are, but an overlap however small. An item's padding is shown as the item. */
function cellsOf(
  layout: PageLayout,
  { cellBytes }: Scale,
  size: number,
  starts: ReadonlyMap<number, number> | undefined,
): Cell[] {
  const owners = new Array<PageRegion | undefined>(size / cellBytes);
  const most = new Float64Array(owners.length);
  const regions = withoutPadding(layout.regions);
  for (const region of regions) {
    for (let cell = Math.floor(region.from / cellBytes); cell * cellBytes < region.to; cell++) {
      const to = Math.min(region.to, (cell + 1) * cellBytes);
      const bytes = to - Math.max(region.from, cell * cellBytes) + (region.kind === 'overlap' ? cellBytes : 0);
      if (bytes <= (most[cell] as number)) continue;
      most[cell] = bytes;
      owners[cell] = region;
    }
  }
  const cells = owners.map((region) => {
    const look = lookOf(region as PageRegion, starts);
    return { look, glyph: GLYPHS[look] };
  });
  number(owners as PageRegion[], cells);
  return cells;
}

function withoutPadding(regions: readonly PageRegion[]): PageRegion[] {
  const list: PageRegion[] = [];
  for (const region of regions) {
    const last = list.at(-1);
    if (region.kind === 'padding' && last !== undefined) list[list.length - 1] = { ...last, to: region.to };
    else list.push(region);
  }
  return list;
}

/** Writes each item's number into its first cells; one cell at least stays free, so that two numbers never touch. */
function number(owners: readonly PageRegion[], cells: Cell[]): void {
  for (let from = 0; from < cells.length; ) {
    const region = owners[from] as PageRegion;
    let to = from + 1;
    while (owners[to] === region) to++;
    if (region.kind === 'item') {
      const digits = String(region.offsetNumber);
      const { look } = cells[from] as Cell;
      if (digits.length < to - from)
        for (let i = 0; i < digits.length; i++) cells[from + i] = { look, glyph: digits[i] as string };
      else if (to - from > 1) cells[from] = { look, glyph: START };
    }
    from = to;
  }
}

/** Neighbours of one colour are painted together. */
function rowText(cells: readonly Cell[], colors: Colors): string {
  let text = '';
  for (let from = 0; from < cells.length; ) {
    const { look } = cells[from] as Cell;
    let to = from;
    let glyphs = '';
    while (cells[to]?.look === look) glyphs += (cells[to++] as Cell).glyph;
    text += paint(look, colors)(glyphs);
    from = to;
  }
  return text;
}

interface LegendEntry {
  readonly glyphs: string;
  readonly meaning: string;
  readonly style: (text: string) => string;
}

/** What of the legend is on these cells. */
function entriesOf(cells: readonly Cell[], colors: Colors): LegendEntry[] {
  const looks = (Object.keys(GLYPHS) as Look[]).filter((look) => cells.some((cell) => cell.look === look));
  const entries = looks.map((look) => ({
    glyphs: `${isNumbered(look) ? '1' : ''}${GLYPHS[look]}`,
    meaning: LEGEND[look],
    style: paint(look, colors),
  }));
  const start = cells.find(({ glyph }) => glyph === START);
  if (start !== undefined) entries.push({ glyphs: START, meaning: START_LEGEND, style: paint(start.look, colors) });
  return entries;
}

/** Wrapped by hand: colours must not count. */
function legend(entries: readonly LegendEntry[], { cellBytes }: Scale, columns: number, colors: Colors): string {
  const first = `one cell: ${cellBytes} bytes`;
  const lines: string[] = [];
  let [plain, painted] = [first, colors.dim(first)];
  for (const { glyphs, meaning, style } of entries) {
    const entry = `${glyphs} ${meaning}`;
    if (plain.length + 3 + entry.length + 2 > columns) {
      lines.push(painted);
      [plain, painted] = ['', ''];
    }
    const text = `${style(glyphs)}${colors.dim(` ${meaning}`)}`;
    painted += plain === '' ? text : `   ${text}`;
    plain += plain === '' ? entry : `   ${entry}`;
  }
  lines.push(painted);
  return lines.map((line) => `${indentFor(columns)}${line}\n`).join('');
}

function isNumbered(look: Look): boolean {
  return look === 'tuple' || look === 'moved' || look === 'dead' || look === 'movedDead';
}

/** What the page's bytes are, added up. */
export function pageBytesText(layout: PageLayout, columns: number): string {
  const { bytes, linePointers, unused, items, deadItems } = layout;
  const size = Object.values(bytes).reduce((sum, count) => sum + count);
  const parts: [number, string][] = [
    [bytes.header, 'header'],
    [
      bytes.linePointers,
      `line pointers (${formatCount(linePointers)}${unused > 0 ? `, ${formatCount(unused)} unused` : ''})`,
    ],
    [bytes.free, 'free'],
    [bytes.live, `tuples (${formatCount(items - deadItems)})`],
    [bytes.dead, `dead tuples (${formatCount(deadItems)})`],
    [bytes.padding, 'padding'],
    [bytes.hole, 'holes'],
    [bytes.overlap, 'overlapping'],
    [bytes.contents, 'not of tuples'],
    [bytes.special, 'special space'],
  ];
  const text = parts.flatMap(([count, name]) => (count > 0 ? [`${formatCount(count)} ${name}`] : [])).join(' + ');
  return paragraph(`${formatCount(size)} bytes = ${text}`, columns);
}

/** Words that fit the terminal, indented as the map is; further lines a little more. */
export function paragraph(text: string, columns: number, style: (line: string) => string = (line) => line): string {
  const indent = indentFor(columns);
  const lines = wrapWords(text, columns - indent.length, '  ').split('\n');
  return lines.map((line) => `${indent}${style(line)}\n`).join('');
}
