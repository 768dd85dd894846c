// A page before and after compaction, one map below the other, and what it did in words.
import type { CompactionPreview, PageLayout } from '@blockwright/pageinspect';
import type { Colors } from './colors.ts';
import { printable } from './errors.ts';
import { formatCount } from './format.ts';
import { indentFor, pageBytesText, pageMap, paragraph } from './page-map.ts';

/** The map of a page, what its bytes are, and what is wrong with its line pointers. */
export function layoutText(layout: PageLayout, columns: number, colors: Colors, before?: PageLayout): string {
  return [
    pageMap(layout, before === undefined ? { columns, colors } : { columns, colors, before }),
    pageBytesText(layout, columns),
    faultsText(layout, columns, colors),
  ].join('');
}

const MOST_FAULTS = 8;

function faultsText({ findings }: PageLayout, columns: number, colors: Colors): string {
  const lines = findings.slice(0, MOST_FAULTS).map(({ message }) => paragraph(printable(message), columns, colors.red));
  const more = findings.length - MOST_FAULTS;
  if (more > 0) lines.push(paragraph(`and ${formatCount(more)} more faults of line pointers`, columns, colors.red));
  return lines.join('');
}

const INDEX_NOTE = 'An index page has no holes: each deletion closes its gap. Only the order of the data can change.';

/** Before, after, and the difference; or why there is none. */
export function compactionText(preview: CompactionPreview, isIndex: boolean, columns: number, colors: Colors): string {
  const { strategy, before, after, refusal } = preview;
  const first = `\n${indentFor(columns)}${colors.bold('before')}\n${layoutText(before, columns, colors)}`;
  if (after === null) {
    const damaged = refusal?.code === 'XX001';
    const text = `not compacted${damaged ? ' (XX001)' : ''}: ${printable(refusal?.message ?? '')}`;
    return `${first}\n${paragraph(text, columns, damaged ? colors.red : colors.yellow)}`;
  }
  const second = `\n${indentFor(columns)}${colors.bold(`after ${strategy}`)}\n${layoutText(after, columns, colors, before)}`;
  return `${first}${second}\n${paragraph(differenceText(preview, after), columns)}${isIndex ? paragraph(INDEX_NOTE, columns, colors.dim) : ''}`;
}

function differenceText(preview: CompactionPreview, after: PageLayout): string {
  const { before, movedItems, movedBytes } = preview;
  const change = (from: number, to: number): string =>
    from === to ? formatCount(from) : `${formatCount(from)} → ${formatCount(to)}`;
  const order = (is: boolean): string => (is ? 'yes' : 'no');
  return [
    `${formatCount(movedItems)} of ${formatCount(before.items)} tuples moved (${formatCount(movedBytes)} bytes${before.deadItems > 0 ? ', dead ones included' : ''})`,
    `free space ${change(before.bytes.free, after.bytes.free)} bytes`,
    ...(before.linePointers === after.linePointers
      ? []
      : [`line pointers ${change(before.linePointers, after.linePointers)}`]),
    `data in line-pointer order: ${
      before.isInOrder === after.isInOrder
        ? order(after.isInOrder)
        : `${order(before.isInOrder)} → ${order(after.isInOrder)}`
    }`,
  ].join(', ');
}
