// Pages changed through the log, brought back for redo, and bits of the map inside the changes: at three block sizes.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  PAGE_KEEP_DATA,
  PAGE_STANDARD,
  PAGE_WILL_INIT,
  PageLog,
  REDO_MISSING,
  RedoPages,
  Relation,
} from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { pageInit } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { NodeVfs } from '@blockwright/vfs';
import * as visibilitymap from '@blockwright/visibilitymap';
import { createWal, RM_HEAP, WalReader, WalWriter } from '@blockwright/wal';

const { VisibilityMap } = visibilitymap;
const BLOCKS = 40;
const DATA = new Uint8Array(60);

/** An engine in small. */
function open(parent, size) {
  const directory = join(parent, `changes${size}`);
  mkdirSync(join(directory, 'base', '5'), { recursive: true });
  const vfs = new NodeVfs();
  const geometry = BlockGeometry.of(size);
  const place = { vfs, directory: join(directory, 'wal'), segmentSize: 1 << 20, systemIdentifier: '1', incarnation: 1 };
  const start = createWal(place);
  const wal = new WalWriter({ ...place, start, previous: 0 });
  const log = new PageLog({ geometry, wal, hintImages: true });
  const storage = new StorageManager({ vfs, directory, geometry });
  const pool = new BufferPool({ geometry, buffers: 256, wal });
  const locator = { tablespace: 1663, database: 5, relfilenode: 16384 };
  const relation = new Relation({ pool, storage: storage.open(locator), log });
  relation.main.create();
  pool.extend(relation.main, BLOCKS);
  const map = new VisibilityMap({ pool, fork: relation.vm });
  const redoStorage = new StorageManager({ vfs, directory, geometry });
  const pages = new RedoPages({ pool: new BufferPool({ geometry, buffers: 256 }), storage: redoStorage });
  const readers = [];
  return { geometry, wal, log, pool, relation, map, pages, place, start, readers };
}

/** A change of a page and of its map page, as an update makes it. */
function change(engine, n) {
  const { log, pool, relation, map, geometry } = engine;
  const block = n % BLOCKS;
  const mapId = map.pinToClear(block);
  const id = pool.pin(relation.main, block);
  log.begin(relation, RM_HEAP, 0, 2, 100);
  if (n < BLOCKS) pageInit(pool.memory(id), pool.base(id), geometry);
  log.u32(n);
  log.u8(1);
  log.page(
    0,
    relation.main,
    id,
    n < BLOCKS ? PAGE_WILL_INIT : n % 3 === 0 ? PAGE_STANDARD | PAGE_KEEP_DATA : PAGE_STANDARD,
  );
  log.bytes(DATA, 0, DATA.length);
  if (mapId >= 0) {
    map.clearPinned(mapId, block, 3);
    log.page(2, relation.vm, mapId, 0);
  }
  log.main();
  log.u16(7);
  log.finish(n + 3);
  pool.unpin(id);
  if (mapId >= 0) pool.unpin(mapId);
}

/** Bits are set in a change of their own; hints without one. */
function mark(engine, n) {
  const { log, pool, relation, map } = engine;
  const mapId = map.pinToSet(n % BLOCKS);
  log.begin(relation, RM_HEAP, 0x10, 1, 0);
  map.setPinned(mapId, n % BLOCKS, 3);
  log.page(2, relation.vm, mapId, 0);
  log.finish(0);
  pool.unpin(mapId);
}

function hint(engine, n) {
  const { log, pool, relation } = engine;
  const id = pool.pin(relation.main, n % BLOCKS);
  log.hint(relation, relation.main, id);
  pool.unpin(id);
}

/** The next record of the engine's WAL that has page references; from its start again when it has ended. */
function nextRecord(engine) {
  const { readers, place, start, wal } = engine;
  for (;;) {
    if (readers.length === 0) {
      wal.flush(wal.insertedUpTo);
      const reader = new WalReader(place);
      reader.seek(start);
      readers.push(reader);
    }
    const [reader] = readers;
    if (reader.next()) return reader.record;
    reader.close();
    readers.length = 0;
  }
}

function redo(engine) {
  const record = nextRecord(engine);
  const { pages } = engine;
  for (let i = 0; i < record.blockCount; i++) {
    const result = record.willInit[i] === 0 ? pages.fetch(record, i) : pages.init(record, i);
    if (result === REDO_MISSING) continue;
    if (record.willInit[i] !== 0) pageInit(pages.memory, pages.base, engine.geometry);
    pages.changed(pages.buffer, record);
    pages.release(pages.buffer);
  }
}

/** A record whose first page redo makes anew, or not; it stays as it is. */
function recordOf({ place, start, wal }, isInit) {
  wal.flush(wal.insertedUpTo);
  const reader = new WalReader(place);
  reader.seek(start);
  while (reader.next()) if (reader.record.blockCount > 0 && (reader.record.willInit[0] !== 0) === isInit) break;
  return reader.record;
}

const method = (type, name, call, through = []) => ({
  id: `${type.name}.${name}`,
  fn: type.prototype[name],
  call,
  through,
});

/** @returns the functions that change pages and bring them back. */
export function changeTargets(directory, sizes) {
  const engines = sizes.map((size) => open(directory, size));
  for (const engine of engines) {
    for (let n = 0; n < 4000; n++) {
      if (n === 2000) engine.log.redoPoint = engine.wal.insertedUpTo;
      change(engine, n);
      if (n % 5 === 0) mark(engine, n);
      if (n % 7 === 0) hint(engine, n);
      if (n % 500 === 0) engine.pool.flushAll();
    }
    for (let n = 0; n < 4000; n++) redo(engine);
  }
  const engineOf = (n) => engines[n % engines.length];
  const changing = (name) => method(PageLog, name, (n) => change(engineOf(n), BLOCKS + n), [change]);
  const redoing = (name) => method(RedoPages, name, (n) => redo(engineOf(n)), [redo]);
  const onMap = (name) =>
    method(VisibilityMap, name, (n) => {
      const { map, pool } = engineOf(n);
      const id = map.pinToSet(n % BLOCKS);
      map[name](id, n % BLOCKS, 3);
      pool.unpin(id);
    });
  const bits = (name) => ({
    id: name,
    fn: visibilitymap[name],
    call: (n) => {
      const { map, pool, geometry } = engineOf(n);
      const id = map.pinToSet(0);
      visibilitymap[name](pool.memory(id), pool.base(id), geometry, n % 4000, 3);
      pool.unpin(id);
    },
  });
  const fixed = (name, isInit) => {
    const records = engines.map((engine) => recordOf(engine, isInit));
    return method(RedoPages, name, (n) => {
      redo(engineOf(n));
      const { pages } = engineOf(n);
      pages[name](records[n % engines.length], 0);
      pages.release(pages.buffer);
    });
  };
  const onPage = (name) =>
    method(BufferPool, name, (n) => {
      const { pool, relation } = engineOf(n);
      const id = pool.pin(relation.main, 0);
      pool[name](id);
      pool.unpin(id);
    });
  return [
    ...['begin', 'page', 'finish', 'main', 'u8', 'u16', 'u32', 'bytes'].map(changing),
    method(PageLog, 'hint', (n) => hint(engineOf(n), n), [hint]),
    onMap('setPinned'),
    onMap('clearPinned'),
    method(VisibilityMap, 'pinToSet', (n) => mark(engineOf(n), n), [mark]),
    method(VisibilityMap, 'pinToClear', (n) => {
      const { map, pool } = engineOf(n);
      const id = map.pinToClear(n % BLOCKS);
      if (id >= 0) pool.unpin(id);
    }),
    bits('setVisibilityBits'),
    bits('clearVisibilityBits'),
    fixed('fetch', false),
    fixed('init', true),
    ...['changed', 'release'].map(redoing),
    onPage('isDirty'),
    onPage('pinCount'),
    method(BufferPool, 'pinZeroed', (n) => {
      const { pool, relation } = engineOf(n);
      if (!relation.fsm.exists()) relation.fsm.create();
      if (n % 4 === 0 || relation.fsm.blockCount() === 0) pool.extend(relation.fsm, 1);
      pool.unpin(pool.pinZeroed(relation.fsm, 0));
    }),
  ];
}
