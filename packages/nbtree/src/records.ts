// A B-tree's records in words, as pg_waldump prints them. PostgreSQL: nbtdesc.c.
import { type RecordDescriber, RM_BTREE, type WalRecord } from '@blockwright/wal';
import {
  BLOCK_PAGE,
  CLEANUP_BLOCK_META,
  DEDUP_BYTES,
  DELETE_BYTES,
  HALFDEAD_BYTES,
  INSERT_BYTES,
  METADATA_BYTES,
  NEWROOT_BYTES,
  REUSE_PAGE_BYTES,
  SPLIT_BYTES,
  UNLINK_BYTES,
  VACUUM_BYTES,
  XLOG_BTREE_DEDUP,
  XLOG_BTREE_DELETE,
  XLOG_BTREE_INSERT_LEAF,
  XLOG_BTREE_INSERT_META,
  XLOG_BTREE_INSERT_POST,
  XLOG_BTREE_INSERT_UPPER,
  XLOG_BTREE_MARK_PAGE_HALFDEAD,
  XLOG_BTREE_META_CLEANUP,
  XLOG_BTREE_NEWROOT,
  XLOG_BTREE_OPMASK,
  XLOG_BTREE_REUSE_PAGE,
  XLOG_BTREE_SPLIT_L,
  XLOG_BTREE_SPLIT_R,
  XLOG_BTREE_UNLINK_PAGE,
  XLOG_BTREE_UNLINK_PAGE_META,
  XLOG_BTREE_VACUUM,
} from './record-format.ts';

/** A kind's name, the least bytes of its main data, and its words. */
type Kind = readonly [name: string, bytes: number, describe: (record: WalRecord, at: number) => string];

const KINDS: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  [XLOG_BTREE_INSERT_LEAF, ['INSERT_LEAF', INSERT_BYTES, describeInsert]],
  [XLOG_BTREE_INSERT_UPPER, ['INSERT_UPPER', INSERT_BYTES, describeInsert]],
  [XLOG_BTREE_INSERT_META, ['INSERT_META', INSERT_BYTES, describeInsert]],
  [XLOG_BTREE_SPLIT_L, ['SPLIT_L', SPLIT_BYTES, describeSplit]],
  [XLOG_BTREE_SPLIT_R, ['SPLIT_R', SPLIT_BYTES, describeSplit]],
  [XLOG_BTREE_INSERT_POST, ['INSERT_POST', INSERT_BYTES, describeInsert]],
  [XLOG_BTREE_DEDUP, ['DEDUP', DEDUP_BYTES, (record, at) => `nintervals: ${record.u16(at)}`]],
  [XLOG_BTREE_DELETE, ['DELETE', DELETE_BYTES, describeDelete]],
  [XLOG_BTREE_UNLINK_PAGE, ['UNLINK_PAGE', UNLINK_BYTES, describeUnlink]],
  [XLOG_BTREE_UNLINK_PAGE_META, ['UNLINK_PAGE_META', UNLINK_BYTES, describeUnlink]],
  [XLOG_BTREE_NEWROOT, ['NEWROOT', NEWROOT_BYTES, (record, at) => `level: ${record.u32(at + 4)}`]],
  [XLOG_BTREE_MARK_PAGE_HALFDEAD, ['MARK_PAGE_HALFDEAD', HALFDEAD_BYTES, describeHalfDead]],
  [XLOG_BTREE_VACUUM, ['VACUUM', VACUUM_BYTES, describeVacuum]],
  [XLOG_BTREE_REUSE_PAGE, ['REUSE_PAGE', REUSE_PAGE_BYTES, describeReuse]],
  [XLOG_BTREE_META_CLEANUP, ['META_CLEANUP', 0, describeCleanup]],
]);

/** The describer of RM_BTREE. */
export const btreeRecords: RecordDescriber = { id: RM_BTREE, name: 'Btree', identify, describe };

function identify(info: number): string {
  return KINDS.get(info & XLOG_BTREE_OPMASK)?.[0] ?? `UNKNOWN (${(info & XLOG_BTREE_OPMASK).toString(16)})`;
}

function describe(record: WalRecord): string {
  const kind = KINDS.get(record.info & XLOG_BTREE_OPMASK);
  return kind === undefined || record.dataLength < kind[1] ? '' : kind[2](record, record.dataAt);
}

function describeInsert(record: WalRecord, at: number): string {
  return `off: ${record.u16(at)}`;
}

function describeSplit(record: WalRecord, at: number): string {
  const offsets = `firstrightoff: ${record.u16(at + 4)}, newitemoff: ${record.u16(at + 6)}`;
  return `level: ${record.u32(at)}, ${offsets}, postingoff: ${record.u16(at + 8)}`;
}

function describeDelete(record: WalRecord, at: number): string {
  const [deleted, updated] = [record.u16(at + 4), record.u16(at + 6)];
  const counts = `snapshotConflictHorizon: ${record.u32(at)}, ndeleted: ${deleted}, nupdated: ${updated}`;
  const isCatalog = `, isCatalogRel: ${trueOrFalse(record.u8(at + 8))}`;
  return `${counts}${isCatalog}${deletedItems(record, deleted, updated)}`;
}

function describeVacuum(record: WalRecord, at: number): string {
  const [deleted, updated] = [record.u16(at), record.u16(at + 2)];
  return `ndeleted: ${deleted}, nupdated: ${updated}${deletedItems(record, deleted, updated)}`;
}

/** Offsets, and numbers of TIDs; nothing when an image stands for them, or they are cut short. PostgreSQL: `delvacuum_desc`. */
function deletedItems(record: WalRecord, deleted: number, updated: number): string {
  const index = record.indexOf(BLOCK_PAGE);
  if (index < 0 || record.blockDataLength[index] === 0) return '';
  const start = record.blockDataAt[index];
  const end = start + record.blockDataLength[index];
  const updatedAt = start + (deleted << 1);
  let at = updatedAt + (updated << 1);
  if (at > end) return '';
  const updates: string[] = [];
  for (let i = 0; i < updated; i++) {
    const count = at + 2 > end ? 0 : record.u16(at);
    const numbersAt = at + 2;
    at = numbersAt + (count << 1);
    if (at > end) return '';
    const numbers = list(count, (n) => record.u16(numbersAt + (n << 1)));
    updates.push(`{ off: ${record.u16(updatedAt + (i << 1))}, nptids: ${count}, ptids: ${numbers} }`);
  }
  return `, deleted: ${list(deleted, (i) => record.u16(start + (i << 1)))}, updated: [${updates.join(', ')}]`;
}

function describeHalfDead(record: WalRecord, at: number): string {
  const siblings = `left: ${record.u32(at + 8)}, right: ${record.u32(at + 12)}`;
  return `topparent: ${record.u32(at + 16)}, leaf: ${record.u32(at + 4)}, ${siblings}`;
}

function describeUnlink(record: WalRecord, at: number): string {
  const target = `left: ${record.u32(at)}, right: ${record.u32(at + 4)}, level: ${record.u32(at + 8)}`;
  const leaf = `leafleft: ${record.u32(at + 24)}, leafright: ${record.u32(at + 28)}`;
  return `${target}, safexid: ${fullXidText(record, at + 16)}, ${leaf}, leaftopparent: ${record.u32(at + 32)}`;
}

function describeReuse(record: WalRecord, at: number): string {
  const relation = `${record.u32(at)}/${record.u32(at + 4)}/${record.u32(at + 8)}`;
  const horizon = `snapshotConflictHorizon: ${fullXidText(record, at + 16)}`;
  return `rel: ${relation}, ${horizon}, isCatalogRel: ${trueOrFalse(record.u8(at + 24))}`;
}

function describeCleanup(record: WalRecord): string {
  const index = record.indexOf(CLEANUP_BLOCK_META);
  if (index < 0 || record.blockDataLength[index] < METADATA_BYTES) return '';
  return `last_cleanup_num_delpages: ${record.u32(record.blockDataAt[index] + 20)}`;
}

function fullXidText(record: WalRecord, at: number): string {
  return `${record.u32(at + 4)}:${record.u32(at)}`;
}

function trueOrFalse(byte: number): string {
  return byte === 0 ? 'F' : 'T';
}

function list(count: number, element: (index: number) => number): string {
  return `[${Array.from({ length: count }, (_, i) => element(i)).join(', ')}]`;
}
