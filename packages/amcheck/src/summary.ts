// What was verified in one file, counted: a check that finds nothing still says what it looked at.
import { FORK_NAMES, type ForkName, type ForkNumber } from '@blockwright/base';

/** What was verified in one segment file. */
export interface FileSummary {
  /** Path as shown. */
  readonly file: string;
  readonly fork: ForkName;
  readonly segment: number;
  /** What the pages are: `heap`, `btree`, …, `visibility map`, `free space map`; `empty` for a file without sound pages. */
  kind: string;
  /** Pages that were read, zero and damaged ones included. */
  pages: number;
  /** All-zero pages among them. */
  zeroPages: number;
  /** Pages whose checksum was verified: those that are not new, where there are checksums. */
  checksums: number;
  /** Line pointers of heap and B-tree pages. */
  linePointers: number;
  /** Heap tuples whose header was verified. */
  tuples: number;
  /** Tuples among them whose attributes were walked, because the table's columns are known. */
  decodedTuples: number;
  /** Tuples among them whose hint bits were held against the commit log. */
  judgedTuples: number;
  /** HOT chains that were followed on their page, from a root or a redirect. */
  hotChains: number;
  /** Heap-only tuples among the tuples that one of them leads to. */
  hotLinks: number;
  /** Tuples of a B-tree on all its levels, whose order and links were verified. */
  indexTuples: number;
  /** Entries of a B-tree's leaves that were held against the rows that they lead to; each TID of a posting list. */
  heldEntries: number;
  /** Set bits of the visibility map: of a heap file those its pages were held against, of a map's file those it has. */
  mapBits: number;
  errors: number;
  warnings: number;
}

export function newSummary(file: string, fork: ForkNumber, segment: number, forkKind: string | undefined): FileSummary {
  return {
    file,
    fork: FORK_NAMES[fork],
    segment,
    kind: forkKind ?? 'empty',
    pages: 0,
    zeroPages: 0,
    checksums: 0,
    linePointers: 0,
    tuples: 0,
    decodedTuples: 0,
    judgedTuples: 0,
    hotChains: 0,
    hotLinks: 0,
    indexTuples: 0,
    heldEntries: 0,
    mapBits: 0,
    errors: 0,
    warnings: 0,
  };
}
