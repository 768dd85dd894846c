// Pages of ours and of the server, compared.
import { type Finding, runSync } from '@blockwright/base';
import { checkPath } from '@blockwright/engine';
import { BlockGeometry } from '@blockwright/geometry';
import { maskHeapPage } from '@blockwright/heap';
import { pageFlags, pageMemory } from '@blockwright/page';
import { SERVER_BLOCK_SIZE } from './oracle.ts';

const GEOMETRY = BlockGeometry.of(SERVER_BLOCK_SIZE);

/**
 * Where two heaps differ, in words; undefined when nowhere. LSN, checksum, xids and hint bits may; page flags only unless
 * `flags` is set. Pages of zeros at the end of `theirs` are left out: a COPY extends a table by several at a time.
 */
export function difference(ours: Uint8Array, theirs: Uint8Array, options: { flags: boolean }): string | undefined {
  const size = SERVER_BLOCK_SIZE;
  const full = pagesInUse(theirs);
  if (ours.length !== full * size) return `${ours.length / size} pages instead of ${full}`;
  const [a, b] = [pageMemory(new Uint8Array(ours).buffer), pageMemory(new Uint8Array(theirs).buffer)];
  for (let base = 0; base < ours.length; base += size) {
    const page = base / size;
    if (options.flags && pageFlags(a, base) !== pageFlags(b, base)) {
      return `page ${page} has flags ${pageFlags(a, base)} instead of ${pageFlags(b, base)}`;
    }
    for (const memory of [a, b]) maskHeapPage(memory, base, GEOMETRY);
    for (let at = 0; at < size; at++) if (a.u8[base + at] !== b.u8[base + at]) return `page ${page}, byte ${at}`;
  }
  return undefined;
}

/** Pages before the zeros at the end. */
export function pagesInUse(file: Uint8Array): number {
  let pages = file.length / SERVER_BLOCK_SIZE;
  const isUnused = (page: number): boolean =>
    file.subarray(page * SERVER_BLOCK_SIZE, (page + 1) * SERVER_BLOCK_SIZE).every((byte) => byte === 0);
  while (pages > 0 && isUnused(pages - 1)) pages--;
  return pages;
}

/** What our checker finds wrong with a whole PostgreSQL directory, errors and warnings. */
export function checkFindings(directory: string): Finding[] {
  const findings: Finding[] = [];
  const report = runSync(checkPath(directory, (finding) => findings.push(finding)));
  if (report.files.length < 500) throw new Error(`only ${report.files.length} files were checked`);
  return findings.filter(({ severity }) => severity !== 'info');
}
