// What `check` prints for people: a line a finding, then what was verified, file by file.
import type { Finding, Severity } from '@blockwright/base';
import type { CheckReport } from '@blockwright/engine';
import type { Context } from '../context.ts';
import type { Colors } from './colors.ts';
import { printable } from './errors.ts';
import { formatCount, wrapWords } from './format.ts';

/** `error: base/5/16384, block 3, offset 7: … [heap.tuple.xmin_in_future]`. */
export function findingLine(finding: Finding, colors: Colors): string {
  const { file, block, offsetNumber, attribute, byteOffset } = finding;
  const place = [
    file,
    block === undefined ? undefined : `block ${block}`,
    offsetNumber === undefined ? undefined : `offset ${offsetNumber}`,
    attribute === undefined ? undefined : `attribute ${attribute}`,
    offsetNumber !== undefined || byteOffset === undefined ? undefined : `byte ${byteOffset}`,
  ].filter((part) => part !== undefined);
  const where = place.length === 0 ? '' : `${place.join(', ')}: `;
  const severity = severityColor(finding.severity, colors)(finding.severity);
  return `${severity}: ${printable(where + finding.message)} ${colors.dim(`[${finding.code}]`)}`;
}

function severityColor(severity: Severity, colors: Colors): (text: string) => string {
  return severity === 'error' ? colors.red : severity === 'warning' ? colors.yellow : colors.cyan;
}

type CheckedFile = CheckReport['files'][number];
type Counted =
  | 'pages'
  | 'checksums'
  | 'linePointers'
  | 'tuples'
  | 'judgedTuples'
  | 'hotChains'
  | 'mapBits'
  | 'indexTuples'
  | 'heldEntries';

/** More files than these are listed on request only: a new PostgreSQL directory has a thousand. */
const FEW_FILES = 40;

/** The table of files, and a sentence that sums it up. */
export async function printReport(
  context: Context,
  report: CheckReport,
  findings: readonly Finding[],
  allFiles: boolean,
): Promise<void> {
  const { out } = context;
  const { files } = report;
  const listed = allFiles || files.length <= FEW_FILES ? files : files.filter(hasFindings);
  if (findings.length > 0) out.line();
  if (listed.length > 0) {
    await printFiles(context, listed);
    out.line();
  }
  printSum(context, report, findings);
  if (listed.length < files.length) {
    out.line(context.colors.dim(`  --files lists ${listed.length === 0 ? 'them' : 'the others too'}.`));
  }
}

function hasFindings(file: CheckedFile): boolean {
  return file.errors + file.warnings > 0;
}

async function printFiles({ out, colors }: Context, files: readonly CheckedFile[]): Promise<void> {
  const { formatTable } = await import('./table.ts');
  const right = { align: 'right' } as const;
  const columns = [
    { title: 'file' },
    { title: 'kind' },
    { title: 'pages', ...right },
    { title: 'checksums', ...right },
    { title: 'items', ...right },
    { title: 'tuples', ...right },
    { title: 'map bits', ...right },
    { title: 'found', ...right },
  ];
  const rows = files.map((file) => [
    file.file,
    SHORT_KINDS[file.kind] ?? file.kind,
    formatCount(file.pages),
    formatCount(file.checksums),
    formatCount(file.linePointers),
    formatCount(file.tuples),
    formatCount(file.mapBits),
    hasFindings(file) ? formatCount(file.errors + file.warnings) : '',
  ]);
  out.write(formatTable(columns, rows, colors));
}

function printSum({ out, columns }: Context, { files, path }: CheckReport, findings: readonly Finding[]): void {
  const sum = (field: Counted, which: (file: CheckedFile) => boolean = () => true) =>
    files.reduce((total, file) => total + (which(file) ? file[field] : 0), 0);
  const counted = [
    plural(files.length, 'file'),
    plural(sum('pages'), 'page'),
    plural(sum('checksums'), 'checksum'),
    plural(sum('linePointers'), 'line pointer'),
    plural(sum('tuples'), 'tuple'),
    plural(sum('hotChains'), 'HOT chain'),
    plural(sum('indexTuples'), 'index tuple'),
    // A map's bits stand with the map and with the heap that they were compared with.
    plural(
      sum('mapBits', (file) => file.fork === 'vm'),
      'map bit',
    ),
  ].join(', ');
  const judged = sum('judgedTuples');
  const log = judged === 0 ? '' : `, ${plural(judged, 'tuple')} against the commit log`;
  const held = sum('heldEntries');
  const rows =
    held === 0
      ? ''
      : `, ${plural(held, 'index entry', 'index entries')} against ${held === 1 ? 'its row' : 'their rows'}`;
  out.line(wrapWords(`${printable(path)}: ${counted} verified${log}${rows}: ${verdict(findings)}.`, columns, '  '));
}

/** Names that are too long for a column. */
const SHORT_KINDS: Readonly<Record<string, string>> = { 'visibility map': 'vm', 'free space map': 'fsm' };

function verdict(findings: readonly Finding[]): string {
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  const [errors, warnings] = [of('error'), of('warning')];
  if (errors === 0 && warnings === 0) return 'no fault found';
  return [errors === 0 ? '' : plural(errors, 'error'), warnings === 0 ? '' : plural(warnings, 'warning')]
    .filter((part) => part !== '')
    .join(' and ');
}

function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : nouns}`;
}
