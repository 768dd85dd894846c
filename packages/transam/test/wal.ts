// Transactions over a real WAL in memory, and what it reads back as.
import { MemoryVfs } from '@blockwright/vfs/memory';
import { createWal, WalReader, WalWriter } from '@blockwright/wal';
import { commitLogRecords, transactionRecords } from '../src/index.ts';
import { type EngineOptions, engine, type TestEngine } from './engine.ts';

const SEGMENT = 1 << 20;
const SYSTEM = '7234017283807667300';

export interface LoggedEngine extends TestEngine {
  readonly wal: WalWriter;
}

export function loggedEngine(options: EngineOptions = {}): LoggedEngine {
  const vfs = new MemoryVfs();
  const start = createWal({ vfs, directory: '/wal', segmentSize: SEGMENT });
  const wal = new WalWriter({
    vfs,
    directory: '/wal',
    segmentSize: SEGMENT,
    systemIdentifier: SYSTEM,
    incarnation: 1,
    start,
    previous: 0,
    bufferBytes: 1 << 16,
  });
  return { ...engine({ ...options, vfs, wal }), wal };
}

export function readerOf(vfs: MemoryVfs): WalReader {
  const reader = new WalReader({ vfs, directory: '/wal', segmentSize: SEGMENT, systemIdentifier: SYSTEM });
  reader.seek(SEGMENT);
  return reader;
}

/** Every record that is in the files, as `xid NAME KIND description`. */
export function printed(vfs: MemoryVfs): string[] {
  const reader = readerOf(vfs);
  const lines: string[] = [];
  while (reader.next()) {
    const { record } = reader;
    const manager = [commitLogRecords, transactionRecords].find(({ id }) => id === record.rmgr);
    lines.push(`${record.xid} ${manager?.name} ${manager?.identify(record.info)} ${manager?.describe(record)}`);
  }
  reader.close();
  return lines;
}
