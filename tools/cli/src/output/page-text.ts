// A page's record as text for people: a line a page, or header, line pointers and tuples in full.
import {
  type BtItemRecord,
  type FreeSpaceRecord,
  type HeapItemRecord,
  heapTupleInfomaskFlags,
  type InspectedPage,
  type VisibilityRecord,
} from '@blockwright/pageinspect';
import type { Colors } from './colors.ts';
import { printable } from './errors.ts';
import { formatCount, wrapWords } from './format.ts';
import { formatTable } from './table.ts';

/** Widths of the columns of a line a page: fixed, so that lines can be printed as they are read. */
const SUMMARY: readonly (readonly [title: string, width: number])[] = [
  ['block', 10],
  ['kind', -8],
  ['lsn', -18],
  ['checksum', 8],
  ['flags', 5],
  ['lower', 5],
  ['upper', 5],
  ['items', 5],
];

function padded(texts: readonly string[]): string {
  const cells = texts.map((text, i) => {
    const width = SUMMARY[i]?.[1] ?? 0;
    return width < 0 ? text.padEnd(-width) : text.padStart(width);
  });
  return cells.join('  ').trimEnd();
}

/** The header over the lines of {@link summaryLine}. */
export function summaryHeader(colors: Colors): string {
  return `${colors.bold(padded(SUMMARY.map(([title]) => title)))}\n`;
}

/** One line a page, and its note below it. */
export function summaryLine(page: InspectedPage, isFaulty: boolean, colors: Colors): string {
  const { lsn, checksum, flags, lower, upper } = page.header;
  const items = page.items ?? page.visibility ?? page.freeSpace;
  const fields = [page.block, page.kind, lsn, checksum, flags, lower, upper, items?.length ?? ''];
  return `${padded(fields.map(String))}\n${noteLine(page, isFaulty, colors, '            ')}`;
}

function noteLine({ note }: Pick<InspectedPage, 'note'>, isFaulty: boolean, colors: Colors, indent: string): string {
  if (note === '') return '';
  const style = isFaulty ? colors.red : colors.dim;
  return printable(note, true)
    .split('\n')
    .map((line) => `${indent}${style(line)}\n`)
    .join('');
}

export interface PageTextOptions {
  /** What stands between the header and the items: the page's map, or nothing. */
  readonly map: string;
  readonly items: boolean;
  readonly data: boolean;
  readonly columns: number;
}

/** All that is known of a page. */
export function pageText(page: InspectedPage, isFaulty: boolean, options: PageTextOptions, colors: Colors): string {
  const { lsn, checksum, flags, lower, upper, special, pagesize, version, prune_xid } = page.header;
  const header = (text: string): string => indented(`${wrapWords(text, options.columns - 2)}\n`);
  return [
    colors.bold(`block ${page.block}: ${page.kind}\n`),
    noteLine({ note: wrapWords(page.note, options.columns - 2) }, isFaulty, colors, '  '),
    header(`lsn ${lsn}  checksum ${checksum}  flags ${flagsText(flags)}  prune_xid ${prune_xid}`),
    header(`lower ${lower}  upper ${upper}  special ${special}  pagesize ${pagesize}  version ${version}`),
    options.map,
    page.metap === undefined ? '' : `\n${fieldsText(page.metap, options.columns)}`,
    page.stats === undefined ? '' : `\n${fieldsText(page.stats, options.columns)}`,
    options.items && page.items !== undefined && page.items.length > 0
      ? `\n${itemsText(page.items, options.data, colors)}`
      : '',
    page.visibility === undefined ? '' : `\n${visibilityText(page.visibility)}`,
    page.freeSpace === undefined ? '' : `\n${freeSpaceText(page.freeSpace, colors)}`,
    page.freeSpace?.length === 0 && page.contents !== undefined ? indented(page.contents) : '',
    '\n',
  ].join('');
}

const FLAG_NAMES = ['has free lines', 'page full', 'all visible'];

/** `4 (all visible)`. */
function flagsText(flags: number): string {
  const names = FLAG_NAMES.filter((_, bit) => (flags & (1 << bit)) !== 0);
  if (flags > 7) names.push('unknown bits');
  return names.length === 0 ? String(flags) : `${flags} (${names.join(', ')})`;
}

const LP_STATES = ['unused', 'normal', 'redirect', 'dead'];

type Item = NonNullable<InspectedPage['items']>[number];

function isHeapItem(item: Item): item is HeapItemRecord {
  return 't_xmin' in item;
}

/** `name value` of every field, as many on a line as it holds. */
function fieldsText(record: object, columns: number): string {
  const words = Object.entries(record).map(([name, value]) => `${name}\u00a0${String(value)}`);
  return indented(`${wrapWords(words.join('  '), columns - 2).replaceAll('\u00a0', ' ')}\n`);
}

function itemsText(items: readonly Item[], withData: boolean, colors: Colors): string {
  const entries = items.filter((item) => !isHeapItem(item)) as readonly BtItemRecord[];
  return entries.length > 0
    ? entriesText(entries, withData, colors)
    : tuplesText(items.filter(isHeapItem), withData, colors);
}

/** Of a posting list the number of its TIDs; JSON has all of them. */
function entriesText(items: readonly BtItemRecord[], withData: boolean, colors: Colors): string {
  const right = { align: 'right' } as const;
  const columns = [
    { title: 'item', ...right },
    { title: 'ctid' },
    { title: 'len', ...right },
    { title: 'flags' },
    { title: 'htid' },
    { title: 'tids', ...right },
  ];
  const rows = items.map((item) => [
    item.itemoffset,
    item.ctid ?? '',
    item.itemlen ?? '',
    [item.dead === true ? 'dead' : '', item.nulls === true ? 'nulls' : '', item.vars === true ? 'vars' : '']
      .filter((word) => word !== '')
      .join(' '),
    item.htid ?? '',
    item.tids?.length ?? '',
  ]);
  const text = indented(formatTable(columns, rows, colors));
  if (!withData) return text;
  const data = items.flatMap((item) =>
    item.data === null ? [] : [`  ${String(item.itemoffset).padStart(5)}  ${item.data}\n`],
  );
  return `${text}\n${data.join('')}`;
}

/** The fields that tell a row's life; JSON has all of them, and the masks as they are. */
function tuplesText(items: readonly HeapItemRecord[], withData: boolean, colors: Colors): string {
  const right = { align: 'right' } as const;
  const columns = [
    { title: 'lp', ...right },
    { title: 'state' },
    { title: 'off', ...right },
    { title: 'len', ...right },
    { title: 'xmin' },
    { title: 'xmax' },
    { title: 'ctid' },
    { title: 'flags' },
  ];
  const rows = items.map((item) => [
    item.lp,
    LP_STATES[item.lp_flags] ?? item.lp_flags,
    item.lp_flags === REDIRECT ? `→ ${item.lp_off}` : item.lp_off,
    item.lp_len,
    ...tupleCells(item),
  ]);
  const text = indented(formatTable(columns, rows, colors));
  return withData ? text + dataText(items) : text;
}

const REDIRECT = 2;

function tupleCells(item: HeapItemRecord): string[] {
  if (item.t_infomask === null || item.t_infomask2 === null) return [];
  const { raw_flags, combined_flags } = heapTupleInfomaskFlags(item.t_infomask, item.t_infomask2);
  const flags = new Set([...raw_flags, ...combined_flags].map((name) => name.replace(/^HEAP_/, '')));
  const words = (names: Readonly<Record<string, string>>) =>
    Object.keys(names).flatMap((name) => (flags.has(name) ? [names[name] as string] : []));
  // Frozen is both of the other two bits.
  const xmin = flags.has('XMIN_FROZEN') ? ['frozen'] : words({ XMIN_COMMITTED: 'committed', XMIN_INVALID: 'aborted' });
  const xmax = words({ XMAX_IS_MULTI: 'multi', XMAX_LOCK_ONLY: 'lock', XMAX_COMMITTED: 'committed' });
  if (flags.has('XMAX_INVALID') && item.t_xmax !== '0') xmax.push('invalid');
  const rest = words({
    HOT_UPDATED: 'hot-updated',
    ONLY_TUPLE: 'heap-only',
    KEYS_UPDATED: 'keys-updated',
    HASNULL: 'nulls',
    HASEXTERNAL: 'external',
    COMBOCID: 'combocid',
    MOVED_OFF: 'moved-off',
    MOVED_IN: 'moved-in',
  });
  return [[item.t_xmin, ...xmin].join(' '), [item.t_xmax, ...xmax].join(' '), item.t_ctid ?? '', rest.join(' ')];
}

function dataText(items: readonly HeapItemRecord[]): string {
  let text = '\n';
  for (const item of items) {
    if (item.t_data === null) continue;
    const bits = item.t_bits === null ? '' : `  nulls ${item.t_bits}`;
    text += `  ${String(item.lp).padStart(5)}${bits}  ${item.t_data}\n`;
  }
  return text;
}

/** Runs of blocks with the same bits: a map page has thousands of blocks and few runs. */
function visibilityText(records: readonly VisibilityRecord[]): string {
  if (records.length === 0) return '  no bit is set\n';
  let text = '';
  for (let from = 0; from < records.length; ) {
    const first = records[from] as VisibilityRecord;
    let to = from;
    while (sameBits(records[to + 1], first)) to++;
    const last = records[to] as VisibilityRecord;
    const blocks = from === to ? `block ${first.blkno}` : `blocks ${first.blkno} to ${last.blkno}`;
    const bits = [first.all_visible ? 'all-visible' : '', first.all_frozen ? 'all-frozen' : ''].filter(
      (bit) => bit !== '',
    );
    text += `  ${blocks}: ${bits.length === 0 ? 'no bit' : bits.join(', ')}\n`;
    from = to + 1;
  }
  return text;
}

function sameBits(record: VisibilityRecord | undefined, first: VisibilityRecord): boolean {
  return record?.all_visible === first.all_visible && record.all_frozen === first.all_frozen;
}

function freeSpaceText(records: readonly FreeSpaceRecord[], colors: Colors): string {
  if (records.length === 0) return '';
  const rows = records.map(({ blkno, avail }) => [blkno, formatCount(avail)]);
  const columns = [
    { title: 'block', align: 'right' as const },
    { title: 'free bytes', align: 'right' as const },
  ];
  return indented(formatTable(columns, rows, colors));
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
