// A WAL record as a line in pg_waldump's shape, and as JSON with pg_walinspect's field names.
import { FORK_NAMES, formatLsn, highWord, lowWord, lsnText } from '@blockwright/base';
import type { RecordDescriber, ResourceManagers, WalRecord } from '@blockwright/wal';
import { printable } from './errors.ts';

/** Bytes of all images of a record, without holes. PostgreSQL: `XLogRecGetLen`. */
export function imageBytes(record: WalRecord): number {
  let bytes = 0;
  for (let i = 0; i < record.blockCount; i++) bytes += record.imageLength[i] as number;
  return bytes;
}

/** What a resource manager says of a record; where its bytes are not what it expects, that. */
function wordsOf(
  record: WalRecord,
  managers: ResourceManagers<RecordDescriber>,
): { manager: string; kind: string; description: string } {
  const manager = managers.get(record.rmgr);
  if (manager === undefined) {
    return {
      manager: `custom${String(record.rmgr).padStart(3, '0')}`,
      kind: `UNKNOWN (${record.info.toString(16)})`,
      description: `rmid: ${record.rmgr}`,
    };
  }
  const kind = manager.identify(record.info);
  try {
    return { manager: manager.name, kind, description: manager.describe(record) };
  } catch (error) {
    return { manager: manager.name, kind, description: `(cannot be described: ${(error as Error).message})` };
  }
}

/** The line that pg_waldump prints; with `details`, a line for each block reference too. */
export function recordLine(record: WalRecord, managers: ResourceManagers<RecordDescriber>, details: boolean): string {
  const { manager, kind, description } = wordsOf(record, managers);
  const bytes = record.totalLength - imageBytes(record);
  const line =
    `rmgr: ${manager.padEnd(11)} len (rec/tot): ${String(bytes).padStart(6)}/${String(record.totalLength).padStart(6)}, ` +
    `tx: ${String(record.xid).padStart(10)}, lsn: ${paddedLsn(record.lsn)}, prev ${paddedLsn(record.previous)}, ` +
    `desc: ${printable(description === '' ? `${kind} ` : `${kind} ${description}`)}`;
  let blocks = '';
  for (let i = 0; i < record.blockCount; i++) {
    const relation = `blkref #${record.blockId[i]}: rel ${locatorText(record, i)}`;
    const fork = FORK_NAMES[record.fork[i] as number] as string;
    const named = fork === 'main' && !details ? '' : ` fork ${fork}`;
    blocks += `${details ? '\n\t' : ', '}${relation}${named} blk ${record.block[i]}`;
    if (record.hasImage[i] === 0) continue;
    blocks += details ? ` (FPW); hole: offset: ${record.holeOffset[i]}, length: ${record.holeLength[i]}` : ' FPW';
  }
  return line + blocks;
}

/** Tablespace, database and file number of a block reference, `T/D/R`. */
function locatorText(record: WalRecord, i: number): string {
  return `${record.tablespace[i]}/${record.database[i]}/${record.relfilenode[i]}`;
}

/** As pg_waldump has it: the low word with eight digits. */
function paddedLsn(lsn: number): string {
  const [high] = formatLsn(highWord(lsn), 0).split('/');
  return `${high}/${lowWord(lsn).toString(16).toUpperCase().padStart(8, '0')}`;
}

/** The record with the names of pg_get_wal_records_info and pg_get_wal_block_info. */
export function recordJson(record: WalRecord, managers: ResourceManagers<RecordDescriber>): object {
  const { manager, kind, description } = wordsOf(record, managers);
  return {
    start_lsn: lsnText(record.lsn),
    end_lsn: lsnText(record.endLsn),
    prev_lsn: lsnText(record.previous),
    incarnation: record.incarnation,
    xid: record.xid,
    resource_manager: manager,
    record_type: kind,
    record_length: record.totalLength,
    main_data_length: record.dataLength,
    fpi_length: imageBytes(record),
    description,
    blocks: Array.from({ length: record.blockCount }, (_, i) => ({
      block_id: record.blockId[i],
      reltablespace: record.tablespace[i],
      reldatabase: record.database[i],
      relfilenode: record.relfilenode[i],
      relforknumber: record.fork[i],
      relblocknumber: record.block[i],
      will_init: record.willInit[i] === 1,
      block_data_length: record.blockDataLength[i],
      block_fpi_length: record.imageLength[i],
      ...(record.hasImage[i] === 1 ? { hole_offset: record.holeOffset[i], hole_length: record.holeLength[i] } : {}),
    })),
  };
}
