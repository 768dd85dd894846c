// Who may use a table: loads that take the place of its files, snapshots older than them, refusals, savepoints.
import { isStorageError } from '@blockwright/base';
import { int4 } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database, type DatabaseTransaction, initdb, type LoadBatch, type Tid, table } from '../src/index.ts';

const t = table('t', { id: int4() });
const u = table('u', { id: int4() });
let db: Database;
let vfs: MemoryVfs;

beforeEach(() => {
  vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs });
  db.createTable(t);
  db.createTable(u);
});
afterEach(() => db.close());

const batch = (...ids: number[]): LoadBatch[] => [
  { length: ids.length, columns: [{ kind: 'int', values: Int32Array.from(ids), nulls: new Uint8Array(ids.length) }] },
];
const ids = (from: Pick<Database, 'scan'>): number[] =>
  [...from.scan(u, { columns: ['id'] }).rows()].map(({ id }) => id).sort();
const repeatable = (): DatabaseTransaction => db.begin({ isolation: 'repeatable read' });

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return isStorageError(error) ? error.code : String(error);
  }
  return undefined;
}

describe('a frozen load in repeatable read', () => {
  it('is refused where rows were committed since the snapshot, and they stay', () => {
    const tx = repeatable();
    tx.count(t);
    db.insert(u, [{ id: 1 }, { id: 2 }]);
    expect(codeOf(() => tx.loadSync(u, batch(100)))).toBe('40001');
    expect(tx.count(t).rows).toBe(0); // nothing was changed: it goes on
    expect(ids(db)).toEqual([1, 2]); // and keeps nobody out
    tx.rollback();
    expect(
      db.transaction((again) => codeOf(() => again.loadSync(u, batch(100))), { isolation: 'repeatable read' }),
    ).toBe('55000');
  });

  it('is refused where the snapshot sees rows that were deleted since', () => {
    const tids: Tid[] = [];
    db.insert(u, [{ id: 1 }], { tids });
    const tx = repeatable();
    expect(tx.count(t).rows).toBe(0);
    db.delete(u, tids[0].block, tids[0].offset);
    expect(codeOf(() => tx.loadSync(u, batch(100)))).toBe('40001');
    tx.rollback();
  });

  it.each(['read committed', 'repeatable read'] as const)('counts its own rows: %s', (isolation) => {
    const tids: Tid[] = [];
    db.insert(u, [{ id: 1 }], { tids });
    const tx = db.begin({ isolation });
    expect(codeOf(() => tx.loadSync(u, batch(100)))).toBe('55000');
    tx.delete(u, tids[0].block, tids[0].offset);
    tx.insert(u, [{ id: 2 }]);
    const own = tx.lastTid;
    expect(codeOf(() => tx.loadSync(u, batch(100)))).toBe('55000');
    tx.delete(u, own.block, own.offset);
    expect(tx.loadSync(u, batch(100, 101))).toBe(2);
    tx.commit();
    expect(ids(db)).toEqual([100, 101]);
  });

  it('is refused while another transaction has rows there that nobody sees yet', () => {
    const other = db.begin();
    other.insert(u, [{ id: 1 }]);
    const tx = repeatable();
    expect(codeOf(() => tx.loadSync(u, batch(100)))).toBe('55006');
    other.commit();
    expect(codeOf(() => tx.loadSync(u, batch(100)))).toBe('40001'); // the first statement took the snapshot
    tx.rollback();
    expect(ids(db)).toEqual([1]);
  });
});

describe('a snapshot', () => {
  it('cannot be used on a table whose files came after it', () => {
    const tids: Tid[] = [];
    db.insert(u, [{ id: 1 }, { id: 2 }], { tids });
    const old = repeatable();
    old.count(t);
    for (const { block, offset } of tids) db.delete(u, block, offset);
    db.loadSync(u, batch(7, 8, 9));
    for (const use of [
      () => ids(old),
      () => old.count(u),
      () => old.insert(u, [{ id: 3 }]),
      () => old.fetch(u, 0, 1),
    ]) {
      expect(use).toThrow(expect.objectContaining({ code: '40001', message: expect.stringContaining('table "u"') }));
    }
    expect(old.count(t).rows).toBe(0);
    old.rollback();
    const fresh = repeatable();
    expect(ids(fresh)).toEqual([7, 8, 9]);
    fresh.commit();
    expect(db.transaction((tx) => ids(tx))).toEqual([7, 8, 9]);
  });

  it('is not asked about what its own transaction loads, nor about loads that were rolled back', () => {
    const old = repeatable();
    old.count(t);
    const other = db.begin();
    other.loadSync(u, batch(1));
    other.rollback();
    expect(ids(old)).toEqual([]);
    old.loadSync(u, batch(2));
    expect(ids(old)).toEqual([2]);
    old.commit();
    expect(ids(db)).toEqual([2]);
  });

  it('is tried again with the others', async () => {
    let attempts = 0;
    const sum = await db.transactionAsync(
      async (tx) => {
        attempts++;
        tx.count(t);
        if (attempts === 1) db.loadSync(u, batch(4, 5));
        return ids(tx);
      },
      { isolation: 'repeatable read', retries: 1 },
    );
    expect(sum).toEqual([4, 5]);
    expect(attempts).toBe(2);
  });
});

describe('what is refused', () => {
  it('keeps nobody from the table afterwards', () => {
    db.insert(u, [{ id: 1 }]);
    const tx = db.begin();
    expect(codeOf(() => tx.loadSync(u, batch(2)))).toBe('55000');
    expect(db.count(u).rows).toBe(1);
    const scan = tx.scan(u, { columns: ['id'] });
    expect(codeOf(() => tx.dropTable(u))).toBe('55006');
    expect(db.count(u).rows).toBe(1);
    scan.close();
    const reading = db.begin({ readOnly: true });
    expect(codeOf(() => reading.dropTable(t))).toBe('25006');
    expect(codeOf(() => reading.createTable(table('new', { id: int4() })))).toBe('25006');
    expect(db.count(t).rows).toBe(0);
    db.createTable(table('new', { id: int4() }));
    reading.rollback();
    tx.commit();
  });

  it('for want of room is a table that others use as before, once it is rolled back', () => {
    db.insert(u, [{ id: 1 }]);
    const tx = db.begin();
    tx.savepoint();
    const fault = vfs.plant({ operation: 'open', path: 'base/5/', errno: 'ENOSPC', times: Number.POSITIVE_INFINITY });
    expect(codeOf(() => tx.loadSync(t, batch(1)))).toBe('53100');
    fault.remove();
    tx.rollbackTo(1);
    expect(db.insert(t, [{ id: 5 }])).toBe(1);
    tx.rollback();
  });
});

describe('a savepoint that is rolled back', () => {
  it('gives up the tables that were used in it, and no others', () => {
    const tx = db.begin();
    tx.count(t);
    tx.savepoint();
    tx.count(t);
    tx.savepoint();
    tx.count(u);
    tx.releaseSavepoint(2);
    expect(codeOf(() => db.dropTable(u))).toBe('55006');
    tx.rollbackTo(1);
    db.dropTable(u);
    expect(codeOf(() => db.dropTable(t))).toBe('55006');
    tx.releaseSavepoint(1);
    tx.commit();
    db.dropTable(t);
  });

  it('keeps what was taken before it, also when it was taken again within', () => {
    const tx = db.begin();
    tx.loadSync(u, batch(1));
    tx.savepoint();
    tx.dropTable(u);
    tx.rollbackTo(1);
    expect(codeOf(() => db.count(u))).toBe('55006');
    tx.releaseSavepoint(1);
    tx.commit();
    expect(ids(db)).toEqual([1]);
  });

  it('ends the scans that were begun in it, and says why', () => {
    db.insert(u, [{ id: 1 }]);
    const tx = db.begin();
    const before = tx.scan(u, { columns: ['id'] }).rows();
    tx.savepoint();
    tx.createTable(table('new', { id: int4() }));
    const within = tx.scan(table('new', { id: int4() }), { columns: ['id'] });
    tx.savepoint();
    const deeper = tx.scan(u, { columns: ['id'] });
    tx.releaseSavepoint(2);
    tx.rollbackTo(1);
    expect(() => within.next()).toThrow(/scan of table "new" was closed: its savepoint was rolled back/);
    expect(() => deeper.next()).toThrow(/scan of table "u" was closed: its savepoint was rolled back/);
    expect([...before]).toEqual([{ id: 1 }]);
    tx.commit();
  });
});

describe('a table whose rows a statement is writing', () => {
  const keyed = table('keyed', { id: int4(), k: int4() }, { primaryKey: ['id'] });
  const rows = [1, 2, 3].map((id) => ({ id, k: id }));
  type Change = (tx: DatabaseTransaction) => unknown;
  const changes: [string, Change][] = [
    ['creates an index', (tx) => tx.createIndexSync(keyed, { columns: ['k'], name: 'by_k' })],
    ['drops an index', (tx) => tx.dropIndex('keyed_pkey')],
    ['drops it', (tx) => tx.dropTable(keyed)],
    ['loads it', (tx) => tx.loadSync(keyed, [])],
  ];
  const within: [string, (tx: DatabaseTransaction, change: () => void) => unknown][] = [
    [
      'an insert',
      (tx, change) =>
        tx.insert(
          keyed,
          (function* () {
            yield { id: 10, k: 10 };
            change();
            yield { id: 11, k: 11 };
          })(),
        ),
    ],
    ['an update', (tx, change) => tx.update(keyed, 0, 2, () => (change(), { k: 50 }))],
    ['an update by key', (tx, change) => tx.updateByKey(keyed, 2, () => (change(), { k: 50 }))],
    // biome-ignore lint/suspicious/noExplicitAny: a key that asks for something when it is read
    [
      'a key',
      (tx, change) => tx.deleteByKey(keyed, Object.defineProperty([2], 0, { get: () => (change(), 2) }) as any),
    ],
  ];

  it.each(changes.flatMap((change) => within.map((place) => [change[0], place[0], change[1], place[1]] as const)))(
    'is as it is when its function %s, in %s',
    (_, __, change, statement) => {
      db.createTable(keyed);
      db.insert(keyed, rows);
      const refused: unknown[] = [];
      db.transaction((tx) => {
        statement(tx, () => refused.push(codeOf(() => change(tx))));
        expect(tx.indexes(keyed).map(({ name }) => name)).toEqual(['keyed_pkey']);
        const inTable = [...tx.scan(keyed, { columns: ['id'] }).rows()].map(({ id }) => id);
        const inIndex = [...tx.scan(keyed, { index: 'keyed_pkey', columns: ['id'] }).rows()].map(({ id }) => id);
        expect(inIndex).toEqual(inTable.sort((a, b) => a - b));
        // Once it is over, it may: another table might at any time.
        expect(codeOf(() => tx.createIndexSync(keyed, { columns: ['k'], name: 'by_k' }))).toBeUndefined();
        expect(tx.count(keyed, { index: 'by_k' }).rows).toBe(inTable.length);
      });
      expect([...new Set(refused)]).toEqual(['55006']);
    },
  );

  it('keeps no other table from being changed', () => {
    db.createTable(keyed);
    db.transaction((tx) => {
      const more = function* () {
        tx.createIndexSync(u, { columns: ['id'], name: 'u_id' });
        yield* rows;
      };
      expect(tx.insert(keyed, more())).toBe(3);
    });
    expect(db.indexes(u).map(({ name }) => name)).toEqual(['u_id']);
  });
});
