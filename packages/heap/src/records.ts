// The heap's records in words, as pg_waldump prints them. PostgreSQL: heapdesc.c.
import type { RecordDescriber, WalRecord } from '@blockwright/wal';
import { RM_HEAP, RM_HEAP2 } from '@blockwright/wal';
import { PruneRecord } from './prune-redo.ts';
import {
  infobitsText,
  MULTI_INSERT_BYTES,
  XLHP_HAS_CONFLICT_HORIZON,
  XLHP_IS_CATALOG_REL,
  XLOG_HEAP_DELETE,
  XLOG_HEAP_HOT_UPDATE,
  XLOG_HEAP_INIT_PAGE,
  XLOG_HEAP_INSERT,
  XLOG_HEAP_LOCK,
  XLOG_HEAP_OPMASK,
  XLOG_HEAP_UPDATE,
  XLOG_HEAP2_MULTI_INSERT,
  XLOG_HEAP2_PRUNE_ON_ACCESS,
  XLOG_HEAP2_PRUNE_VACUUM_CLEANUP,
  XLOG_HEAP2_PRUNE_VACUUM_SCAN,
  XLOG_HEAP2_VISIBLE,
} from './record-format.ts';

const HEAP_NAMES: ReadonlyMap<number, string> = new Map([
  [XLOG_HEAP_INSERT, 'INSERT'],
  [XLOG_HEAP_DELETE, 'DELETE'],
  [XLOG_HEAP_UPDATE, 'UPDATE'],
  [XLOG_HEAP_HOT_UPDATE, 'HOT_UPDATE'],
  [XLOG_HEAP_LOCK, 'LOCK'],
]);

const HEAP2_NAMES: ReadonlyMap<number, string> = new Map([
  [XLOG_HEAP2_PRUNE_ON_ACCESS, 'PRUNE_ON_ACCESS'],
  [XLOG_HEAP2_PRUNE_VACUUM_SCAN, 'PRUNE_VACUUM_SCAN'],
  [XLOG_HEAP2_PRUNE_VACUUM_CLEANUP, 'PRUNE_VACUUM_CLEANUP'],
  [XLOG_HEAP2_VISIBLE, 'VISIBLE'],
  [XLOG_HEAP2_MULTI_INSERT, 'MULTI_INSERT'],
]);

/** The describers of RM_HEAP and RM_HEAP2. */
export const heapRecords: readonly RecordDescriber[] = [
  { id: RM_HEAP, name: 'Heap', identify: (info) => nameOf(HEAP_NAMES, info), describe: describeHeap },
  { id: RM_HEAP2, name: 'Heap2', identify: (info) => nameOf(HEAP2_NAMES, info), describe: describeHeap2 },
];

function nameOf(names: ReadonlyMap<number, string>, info: number): string {
  const name = names.get(info & XLOG_HEAP_OPMASK);
  if (name === undefined) return `UNKNOWN (${(info & 0xf0).toString(16)})`;
  return (info & XLOG_HEAP_INIT_PAGE) === 0 ? name : `${name}+INIT`;
}

function describeHeap(record: WalRecord): string {
  const at = record.dataAt;
  switch (record.info & XLOG_HEAP_OPMASK) {
    case XLOG_HEAP_INSERT:
      return `off: ${record.u16(at)}, flags: ${hex(record.u8(at + 2))}`;
    case XLOG_HEAP_DELETE:
    case XLOG_HEAP_LOCK:
      return `xmax: ${record.u32(at)}, off: ${record.u16(at + 4)}, infobits: ${infobitsText(record.u8(at + 6))}, flags: ${hex(record.u8(at + 7))}`;
    case XLOG_HEAP_UPDATE:
    case XLOG_HEAP_HOT_UPDATE: {
      const old = `old_xmax: ${record.u32(at)}, old_off: ${record.u16(at + 4)}, old_infobits: ${infobitsText(record.u8(at + 6))}`;
      return `${old}, flags: ${hex(record.u8(at + 7))}, new_xmax: ${record.u32(at + 8)}, new_off: ${record.u16(at + 12)}`;
    }
    default:
      return '';
  }
}

function describeHeap2(record: WalRecord): string {
  const at = record.dataAt;
  switch (record.info & XLOG_HEAP_OPMASK) {
    case XLOG_HEAP2_PRUNE_ON_ACCESS:
    case XLOG_HEAP2_PRUNE_VACUUM_SCAN:
    case XLOG_HEAP2_PRUNE_VACUUM_CLEANUP:
      return describePrune(record);
    case XLOG_HEAP2_VISIBLE:
      return `snapshotConflictHorizon: ${record.u32(at)}, flags: ${hex(record.u8(at + 4))}`;
    case XLOG_HEAP2_MULTI_INSERT: {
      const count = record.u16(at + 2);
      const text = `ntuples: ${count}, flags: ${hex(record.u8(at))}`;
      if ((record.info & XLOG_HEAP_INIT_PAGE) !== 0) return text;
      return `${text}, offsets: ${list(count, (i) => record.u16(at + MULTI_INSERT_BYTES + (i << 1)))}`;
    }
    default:
      return '';
  }
}

function describePrune(record: WalRecord): string {
  const at = record.dataAt;
  const flags = record.u8(at + 1);
  // Without a horizon it begins with the comma, as pg_waldump has it.
  const horizon = (flags & XLHP_HAS_CONFLICT_HORIZON) !== 0 ? `snapshotConflictHorizon: ${record.u32(at + 2)}` : '';
  const text = `${horizon}, isCatalogRel: ${(flags & XLHP_IS_CATALOG_REL) !== 0 ? 'T' : 'F'}`;
  const prune = new PruneRecord();
  if (!prune.read(record)) return text;
  const parts = [
    text,
    `nplans: ${prune.planCount}`,
    `nredirected: ${prune.redirectedCount}`,
    `ndead: ${prune.deadCount}`,
    `nunused: ${prune.unusedCount}`,
  ];
  if (prune.planCount !== 0) parts.push(`plans: ${plansText(record, prune)}`);
  if (prune.redirectedCount !== 0) {
    const pair = (i: number): string =>
      `${record.u16(prune.redirectedAt + (i << 2))}->${record.u16(prune.redirectedAt + (i << 2) + 2)}`;
    parts.push(`redirected: ${list(prune.redirectedCount, pair)}`);
  }
  if (prune.deadCount !== 0) parts.push(`dead: ${list(prune.deadCount, (i) => record.u16(prune.deadAt + (i << 1)))}`);
  if (prune.unusedCount !== 0) {
    parts.push(`unused: ${list(prune.unusedCount, (i) => record.u16(prune.unusedAt + (i << 1)))}`);
  }
  return parts.join(', ');
}

function plansText(record: WalRecord, prune: PruneRecord): string {
  let offsetsAt = prune.frozenAt;
  return list(prune.planCount, (i) => {
    const plan = prune.planAt(i);
    const count = record.u16(plan + 10);
    const from = offsetsAt;
    offsetsAt += count << 1;
    const offsets = list(count, (j) => record.u16(from + (j << 1)));
    return `{ xmax: ${record.u32(plan)}, infomask: ${record.u16(plan + 6)}, infomask2: ${record.u16(plan + 4)}, ntuples: ${count}, offsets: ${offsets} }`;
  });
}

function list(count: number, element: (index: number) => unknown): string {
  return `[${Array.from({ length: count }, (_, i) => String(element(i))).join(', ')}]`;
}

function hex(flags: number): string {
  return `0x${flags.toString(16).toUpperCase().padStart(2, '0')}`;
}
