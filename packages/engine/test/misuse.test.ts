// What is asked for wrongly is refused, and told as what it is: nothing that only looks like true or false, no promise in
// place of a change, no bound that bounds nothing; and an index that is being filled is not called damaged.
import { isStorageError } from '@blockwright/base';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database, type DatabaseTransaction, initdb, type LoadBatch, table } from '../src/index.ts';

const t = table('t', { id: int4(), a: int4().nullable(), s: text().nullable() }, { primaryKey: ['id'] });
const rows = [1, 2, 3].map((id) => ({ id, a: id, s: `s${id}` }));
let db: Database;

beforeEach(() => {
  const vfs = new MemoryVfs();
  vfs.recording = false;
  initdb('/data', { vfs, walSegmentSize: '1MB' });
  db = Database.open('/data', { vfs });
  db.createTable(t);
  db.insert(t, rows);
});
afterEach(() => db.close());

/** Whatever is asked for wrongly has no type. */
// biome-ignore lint/suspicious/noExplicitAny: what JavaScript may pass
type Anything = any;

const scanned = (options: Anything): unknown => [...db.scan(t, { columns: ['id'], ...options }).rows()];
const index = (options: Anything): unknown => db.createIndexSync(t, options);
const update = (changes: Anything): unknown => db.transaction((tx) => tx.updateByKey(t, 1, changes));

const MISUSE: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['descending', () => index({ columns: [{ column: 'a', descending: 'no' }] }), /"a".*"t".*"descending".*not "no"/],
  ['nullsFirst', () => index({ columns: [{ column: 'a', nullsFirst: 'false' }] }), /"a".*"t".*"nullsFirst".*"false"/],
  ['unique', () => index({ columns: ['a'], unique: 'false' }), /"t".*"unique" is true or false/],
  ['nullsNotDistinct', () => index({ columns: ['a'], unique: true, nullsNotDistinct: 0 }), /"nullsNotDistinct".*not 0/],
  ['deduplicate', () => index({ columns: ['a'], deduplicate: null }), /"deduplicate".*not null/],
  ['a name of an index', () => index({ columns: ['a'], name: 5 }), /name 5 is no string/],
  ['no options', () => index(undefined), /"t": an object is wanted, not undefined/],
  ['a column null', () => index({ columns: [null] }), /column of an index of table "t": an object is wanted, not null/],
  [
    'a key of a table',
    () => table('x', { id: int4() }, { primaryKey: { columns: ['id'], deduplicate: 'no' } as Anything }),
    /"x".*"deduplicate"/,
  ],
  ['unlogged', () => table('x', { id: int4() }, { unlogged: 'false' as Anything }), /"x": "unlogged"/],
  ['a table by its name, scanned', () => db.scan('t' as Anything, { columns: ['id'] }), /not as "t", a string/],
  ['a table null, counted', () => db.count(null as Anything), /a table is given as .* not as null/],
  ['no table, looked up', () => db.get(undefined as Anything, 1), /not as undefined/],
  [
    'a table by its name',
    () => db.createIndexSync('t' as Anything, { columns: ['a'] }),
    /a table is given as .*not as "t", a string/,
  ],
  ['an index without a name', () => db.dropIndex(undefined as Anything), /named by a string, not undefined/],
  [
    'fromExclusive',
    () => scanned({ index: 't_pkey', from: 1, fromExclusive: 'no' }),
    /"t_pkey": "fromExclusive".*"no"/,
  ],
  ['toExclusive', () => db.count(t, { index: 't_pkey', to: 1, toExclusive: 1 as Anything }), /"toExclusive".*not 1/],
  ['fromExclusive without from', () => scanned({ index: 't_pkey', fromExclusive: true }), /"from", which is not given/],
  ['toExclusive without to', () => scanned({ index: 't_pkey', toExclusive: true }), /"to", which is not given/],
  ['in, and fromExclusive', () => scanned({ index: 't_pkey', in: [1], fromExclusive: true }), /"in" says/],
  ['in, and toExclusive', () => scanned({ index: 't_pkey', in: [1], toExclusive: true }), /"in" says/],
  ['map, with an index', () => db.count(t, { index: 't_pkey', map: 'no' as Anything }), /"map".*"no"/],
  ['map', () => db.count(t, { map: 'no' as Anything }), /"map".*"no"/],
  ['index null', () => scanned({ index: null }), /table "t": an index is named by a string, not null/],
  ['index 5', () => db.get(t, 1, { index: 5 as Anything }), /table "t": an index is named by a string, not 5/],
  ['get with null', () => db.get(t, 1, null as Anything), /an object is wanted, not null/],
  ['freeze', () => db.transaction((tx) => tx.loadSync(t, [], { freeze: 'no' as Anything })), /"freeze"/],
  ['synchronousCommit', () => db.begin({ synchronousCommit: 'off' as Anything }), /"synchronousCommit".*"off"/],
  ['readOnly', () => db.transaction(() => 0, { readOnly: 1 as Anything }), /"readOnly".*not 1/],
  ['a change from a promise', () => update(async () => ({ a: 5 })), /"t": the function returned a promise/],
  ['a promise of a change', () => update(Promise.resolve({ a: 5 })), /"t": an object is wanted, not a promise/],
  ['a change that is none', () => update(() => 5), /"t": an object is wanted, not 5/],
  ['a change null', () => update(null), /"t": an object is wanted, not null/],
  ['a change from a function, null', () => update(() => null), /"t": an object is wanted, not null/],
  ['a promise of a row', () => db.insert(t, [Promise.resolve(rows[0]) as Anything]), /rows\[0\].*not a promise/],
  ['a row null', () => db.insert(t, [null as Anything]), /rows\[0\].*not null/],
];

describe('a TypeError says what is wanted', () => {
  it.each(MISUSE)('%s', (_, call, message) => {
    let thrown: unknown;
    try {
      call();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect((thrown as Error).message).toMatch(message);
    expect([...db.scan(t, { columns: ['id', 'a', 's'] }).rows()]).toEqual(rows);
    expect(db.indexes(t)).toHaveLength(1);
  });

  it('what is right is done', () => {
    index({ columns: [{ column: 'a', descending: false, nullsFirst: undefined }], unique: false, name: 'by_a' });
    expect(db.indexes(t).find(({ name }) => name === 'by_a')).toMatchObject({ columns: [{ descending: false }] });
    expect(scanned({ index: 'by_a', fromExclusive: false, toExclusive: undefined })).toHaveLength(3);
    expect(update(() => undefined)).toBe(false);
    expect(update({})).toBe(true);
  });
});

it('an index that cannot be dropped now says so', () => {
  const scan = db.scan(t, { index: 't_pkey', columns: ['id'] });
  expect(() => db.dropIndex('t_pkey')).toThrow(/table "t" cannot be stripped of index "t_pkey"/);
  scan.close();
});

describe('an index that is being filled', () => {
  const batches: LoadBatch[] = [[4], [5]].map((ids) => ({
    length: 1,
    columns: [
      { kind: 'int', values: Int32Array.from(ids), nulls: new Uint8Array(1) },
      { kind: 'int', values: Int32Array.from(ids), nulls: new Uint8Array(1) },
      { kind: 'bytes', starts: Int32Array.of(0, 0), data: new Uint8Array(0), nulls: Uint8Array.of(1) },
    ],
  }));
  const reads: [string, (tx: DatabaseTransaction, name: string) => unknown][] = [
    ['scanned', (tx, name) => [...tx.scan(t, { index: name, columns: ['id'] }).rows()]],
    ['counted', (tx, name) => tx.count(t, { index: name })],
    ['looked up in', (tx, name) => tx.get(t, 1, { index: name })],
    ['searched', (tx, name) => tx.find(t, 1, { index: name })],
  ];

  it.each(reads)('is not %s, and not called damaged, while a load goes on', (_, read) => {
    db.transaction((tx) => {
      tx.dropTable(t);
      tx.createTable(t);
      const codes: unknown[] = [];
      const watched = function* () {
        for (const batch of batches) {
          codes.push(
            codeOf(() => read(tx, 't_pkey')),
            codeOf(() => tx.get(t, 1)),
          );
          yield batch;
        }
      };
      expect(tx.loadSync(t, watched())).toBe(2);
      expect(codes).toEqual(['55006', '55006', '55006', '55006']);
      expect(codeOf(() => read(tx, 't_pkey'))).toBeUndefined();
      expect(tx.get(t, 4)).toMatchObject({ id: 4 });
    });
  });

  it.each(reads)('is not %s, and not called damaged, while it is created; the others are', (_, read) => {
    db.transaction((tx) => {
      const steps = tx.createIndexSteps(t, { columns: ['a'], unique: true, name: 'by_a' });
      let between = 0;
      for (let step = steps.next(); step.done !== true; step = steps.next()) {
        expect(codeOf(() => read(tx, 'by_a'))).toBe('55006');
        expect(codeOf(() => read(tx, 't_pkey'))).toBeUndefined();
        between++;
      }
      expect(between).toBeGreaterThan(0);
      expect(codeOf(() => read(tx, 'by_a'))).toBeUndefined();
    });
  });
});

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return isStorageError(error) ? error.code : String(error);
  }
  return undefined;
}
