// Measures what the choices in this package rest on: from which length on zlib's CRC is quicker than tables, and what an
// insert costs. After a build, in this directory: npm run measure [-- crc|insert]
import { MemoryVfs } from '@blockwright/vfs/memory';
import { crc32ByTables, crc32ByZlib } from '../dist/crc.js';
import { createWal, RM_HEAP, WalReader, WalWriter } from '../dist/index.js';

const ROUNDS = 15;

/** CPU time of the process: on a machine that others use, too, it says more than a clock. */
function cpuNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

/** Medians in nanoseconds a call of variants that take turns. */
function medians(variants: Readonly<Record<string, () => number>>, calls: number): Record<string, number> {
  const times: Record<string, number[]> = {};
  let sum = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(variants)) {
      const start = cpuNs();
      for (let i = 0; i < calls; i++) sum += run();
      (times[name] ??= []).push((cpuNs() - start) / calls);
    }
  }
  if (sum === 0.5) console.log(sum); // nothing is optimised away
  return Object.fromEntries(
    Object.entries(times).map(([name, list]) => [name, list.sort((a, b) => a - b)[list.length >> 1] as number]),
  );
}

function crc(): void {
  const bytes = new Uint8Array(65536).map((_, i) => (i * 2654435761) >>> 24);
  const view = new DataView(bytes.buffer);
  console.log('CRC of so many bytes      tables ns   zlib ns');
  for (const length of [24, 40, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024, 2048, 4096, 8192, 32768]) {
    let at = 0;
    const next = () => {
      at = (at + 8) & 4095;
      return at;
    };
    const { tables, zlib } = medians(
      {
        tables: () => crc32ByTables(view, next(), length, 1),
        zlib: () => crc32ByZlib(bytes, next(), length, 1),
      },
      Math.max(200, 2_000_000 / (length + 40)),
    ) as { tables: number; zlib: number };
    console.log(`${String(length).padStart(20)} ${tables.toFixed(0).padStart(15)} ${zlib.toFixed(0).padStart(9)}`);
  }
}

function insert(): void {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  vfs.mkdir('/d');
  const options = { vfs, directory: '/d/wal', segmentSize: 1 << 24 };
  const start = createWal(options);
  const wal = new WalWriter({
    ...options,
    systemIdentifier: '1',
    incarnation: 1,
    start,
    previous: 0,
    syncMethod: 'off',
  });
  const { record } = wal;
  const relation = { tablespace: 1663, database: 5, relfilenode: 16384 };
  const page = new Uint8Array(8192).map((_, i) => (i * 2654435761) >>> 24);
  const small = (data: number) => () => {
    record.begin(RM_HEAP, 0);
    record.block(0, relation, 0, 7, false);
    record.bytes(page, 100, data);
    record.main();
    record.u16(3);
    record.u8(0);
    wal.insert(731);
    return wal.lastStart;
  };
  const image = (hole: number) => () => {
    record.begin(RM_HEAP, 0);
    record.block(0, relation, 0, 7, false);
    record.image(page, 0, 8192, 300, hole, false);
    record.main();
    record.u16(3);
    record.u8(0);
    wal.insert(731);
    return wal.lastStart;
  };
  const runs = {
    'insert, 60 bytes': small(11),
    'insert, 200 bytes': small(151),
    'insert, image of 8 kB': image(0),
    'insert, image of 8 kB, hole of 4 kB': image(4096),
  };
  // Room is made between the runs, so that what is measured is the insert.
  const times: Record<string, number[]> = {};
  for (let round = 0; round < 10 * ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const calls = name.includes('image') ? 380 : 10_000;
      wal.write(wal.insertedUpTo);
      wal.reserve(7 << 19);
      const begun = cpuNs();
      for (let i = 0; i < calls; i++) run();
      (times[name] ??= []).push((cpuNs() - begun) / calls);
      wal.recycle(wal.insertedUpTo, 4);
    }
  }
  for (const [name, list] of Object.entries(times)) {
    console.log(
      `${name.padEnd(40)} ${(list.sort((a, b) => a - b)[list.length >> 1] as number).toFixed(0).padStart(6)} ns`,
    );
  }
}

function read(): void {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  vfs.mkdir('/d');
  const options = { vfs, directory: '/d/wal', segmentSize: 1 << 24 };
  const start = createWal(options);
  const wal = new WalWriter({
    ...options,
    systemIdentifier: '1',
    incarnation: 1,
    start,
    previous: 0,
    syncMethod: 'off',
  });
  const { record } = wal;
  const relation = { tablespace: 1663, database: 5, relfilenode: 16384 };
  const page = new Uint8Array(8192).map((_, i) => (i * 2654435761) >>> 24);
  const records = 200_000;
  for (let i = 0; i < records; i++) {
    record.begin(RM_HEAP, 0);
    record.block(0, relation, 0, i, false);
    record.bytes(page, 100, 60);
    record.main();
    record.u32(i);
    wal.insert(731);
  }
  wal.write(wal.insertedUpTo);
  const list: number[] = [];
  for (let round = 0; round < 9; round++) {
    const reader = new WalReader(options);
    reader.seek(start);
    const begun = cpuNs();
    let count = 0;
    while (reader.next()) count++;
    if (count !== records) throw new Error(`${count} records instead of ${records}: ${reader.endReason}`);
    list.push((cpuNs() - begun) / records);
    reader.close();
  }
  console.log(`${'read, 112 bytes'.padEnd(40)} ${(list.sort((a, b) => a - b)[4] as number).toFixed(0).padStart(6)} ns`);
}

const what = process.argv[2];
if (what !== 'insert') crc();
if (what !== 'crc') {
  insert();
  read();
}
