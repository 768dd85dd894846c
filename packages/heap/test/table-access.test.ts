// What indexes see of a heap: whether an entry's row is there now, the version that a snapshot sees, which entries are dead
// to everybody, every tuple that a new index needs; and which indexed columns an update changes.
import { TABLE_ABSENT, TABLE_DEAD, TABLE_IN_PROGRESS, TABLE_LIVE } from '@blockwright/access';
import { runSync } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { pageMemory } from '@blockwright/page';
import { int2, int4, int8, RowDecoder, TupleDescriptor, TupleEncoder, text } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeapTableAccess, heapPrunePage, IndexedColumns, TM_OK } from '../src/index.ts';
import { COLUMNS, WritingBench } from './writing-bench.ts';

const decoder = RowDecoder.for(COLUMNS);
const row = (id: number, n = 0) => [id, n, 'x'];

describe.each(BLOCK_SIZES)('a heap of %i-byte blocks', (size) => {
  it('says whether a row is there now, whatever snapshots see', () => {
    const bench = new WritingBench(size);
    const { writer, transactions, relation } = bench;
    const access = new HeapTableAccess(relation, transactions);
    bench.run((tx) => writer.insert(tx, row(1)));
    const [block, offset] = [writer.block, writer.offset];
    const ask = (tx?: Parameters<HeapTableAccess['uniqueCheck']>[0]) => access.uniqueCheck(tx, block, offset);
    expect(ask()).toBe(TABLE_LIVE);

    // A HOT update of another: one of the two versions will be there.
    const old = transactions.snapshot();
    const updating = transactions.begin();
    const seen = updating.snapshot();
    expect(writer.update(updating, block, offset, row(1, 1), seen, true)).toBe(TM_OK);
    expect(writer.wasHot).toBe(true);
    expect(ask()).toBe(TABLE_IN_PROGRESS);
    expect(access.conflictXid).toBe(updating.topXid);
    expect(ask(updating)).toBe(TABLE_LIVE); // its own newer version
    seen.release();
    updating.commit();
    expect(ask()).toBe(TABLE_LIVE);

    // A deletion in a savepoint names the transaction, and is nothing once it is rolled back.
    const deleting = transactions.begin();
    deleting.writeXid();
    deleting.savepoint();
    const look = deleting.snapshot();
    expect(writer.delete(deleting, block, writer.offset, look)).toBe(TM_OK);
    look.release();
    expect(ask()).toBe(TABLE_IN_PROGRESS);
    expect(access.conflictXid).toBe(deleting.topXid);
    expect(deleting.xid).not.toBe(deleting.topXid);
    expect(ask(deleting)).toBe(TABLE_ABSENT);
    deleting.rollbackTo(1);
    expect(ask(deleting)).toBe(TABLE_LIVE);
    deleting.abort();
    expect(ask()).toBe(TABLE_LIVE);

    const newest = transactions.snapshot();
    const at = access.fetch(block, offset, newest);
    access.release();
    newest.release();
    bench.run((tx, snapshot) => expect(writer.delete(tx, block, at, snapshot)).toBe(TM_OK));
    expect(ask()).toBe(TABLE_ABSENT); // somebody still sees a version
    old.release();
    bench.wal.flush(bench.wal.insertedUpTo);
    ask(); // the hint bits
    expect(ask()).toBe(TABLE_DEAD);
    expect(access.uniqueCheck(undefined, 7, 1)).toBe(TABLE_DEAD); // no such block

    const inserting = transactions.begin();
    writer.insert(inserting, row(2));
    expect(access.uniqueCheck(undefined, writer.block, writer.offset)).toBe(TABLE_IN_PROGRESS);
    expect(access.uniqueCheck(inserting, writer.block, writer.offset)).toBe(TABLE_LIVE);
    inserting.abort();
    access.uniqueCheck(undefined, writer.block, writer.offset);
    expect(access.uniqueCheck(undefined, writer.block, writer.offset)).toBe(TABLE_DEAD);
  });

  it.each([
    [false, TABLE_ABSENT],
    [true, TABLE_DEAD],
  ])('calls a pruned row dead only once no crash can bring it back; unlogged: %s', (unlogged, before) => {
    const bench = new WritingBench(size, { unlogged });
    const { writer, transactions, relation, pool, wal } = bench;
    const access = new HeapTableAccess(relation, transactions);
    bench.run((tx) => writer.insert(tx, row(1)));
    const { block, offset } = writer;
    bench.run((tx, snapshot) => writer.update(tx, block, offset, row(1, 1), snapshot, true));
    const at = writer.offset;
    const prune = (): void => {
      const id = pool.pin(relation.main, block);
      heapPrunePage(relation, id, transactions);
      pool.unpin(id);
    };
    prune(); // the root leads on
    const tx = transactions.begin({ synchronousCommit: false });
    const seen = tx.snapshot();
    expect(writer.delete(tx, block, at, seen)).toBe(TM_OK);
    seen.release();
    tx.commit();
    prune(); // nothing of it is left
    const look = (): [number, boolean] => {
      const snapshot = transactions.snapshot();
      expect(access.fetch(block, offset, snapshot)).toBe(0);
      access.release();
      snapshot.release();
      return [access.uniqueCheck(undefined, block, offset), access.allDead];
    };
    expect(look()).toEqual([before, before === TABLE_DEAD]);
    wal.flush(wal.insertedUpTo);
    expect(look()).toEqual([TABLE_DEAD, true]);

    // Of commits that were waited for, the pruning itself may be lost: the rows are as dead without it.
    bench.run((inserting) => writer.insert(inserting, row(2)));
    const second = writer.offset;
    bench.run((deleting, snapshot) => writer.delete(deleting, block, second, snapshot));
    prune();
    if (!unlogged) expect(wal.flushedUpTo).toBeLessThan(wal.insertedUpTo);
    expect(access.uniqueCheck(undefined, block, second)).toBe(TABLE_DEAD);
  });

  it('agrees with a model: what is seen, what is dead, what a new index needs', () => {
    const step = fc.record({
      what: fc.constantFrom('insert', 'update', 'hot', 'delete', 'abort', 'look', 'forget', 'prune'),
      which: fc.nat(30),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const bench = new WritingBench(size, { fillfactor: 50 });
        const { writer, transactions, relation, pool } = bench;
        const access = new HeapTableAccess(relation, transactions);
        /** Entries: the TID that an index would have, the id, and the row's value as long as it is there. */
        interface Entry {
          readonly id: number;
          readonly block: number;
          readonly offset: number;
          at: number;
          value: number | undefined;
        }
        const entries: Entry[] = [];
        const looks: {
          release(): void;
          seen: (number | undefined)[];
          snapshot: ReturnType<typeof transactions.snapshot>;
        }[] = [];
        let next = 1;
        const enter = (value: number) =>
          entries.push({ id: next++, block: writer.block, offset: writer.offset, at: writer.offset, value });
        for (const { what, which } of steps) {
          const live = entries.filter(({ value }) => value !== undefined);
          const entry = live[which % (live.length || 1)];
          if (what === 'insert') {
            bench.run((tx) => writer.insert(tx, row(next, 0)));
            enter(0);
          } else if (what === 'look') {
            const snapshot = transactions.snapshot();
            looks.push({ snapshot, seen: entries.map(({ value }) => value), release: () => snapshot.release() });
          } else if (what === 'forget') looks.shift()?.release();
          else if (what === 'prune' && entries.length > 0) {
            const id = pool.pin(relation.main, entries[which % entries.length].block);
            heapPrunePage(relation, id, transactions);
            pool.unpin(id);
          } else if (entry !== undefined && what === 'delete') {
            bench.run((tx, snapshot) => expect(writer.delete(tx, entry.block, entry.at, snapshot)).toBe(TM_OK));
            entry.value = undefined;
          } else if (entry !== undefined && (what === 'update' || what === 'hot')) {
            const value = (entry.value as number) + 1;
            bench.run((tx, snapshot) => {
              const code = writer.update(tx, entry.block, entry.at, row(entry.id, value), snapshot, what === 'hot');
              expect(code).toBe(TM_OK);
            });
            if (writer.wasHot) {
              entry.at = writer.offset;
              entry.value = value;
            } else {
              entry.value = undefined;
              entries.push({ ...entry, block: writer.block, offset: writer.offset, at: writer.offset, value });
            }
          } else if (entry !== undefined && what === 'abort') {
            const tx = transactions.begin();
            const snapshot = tx.snapshot();
            writer.update(tx, entry.block, entry.at, row(entry.id, -1), snapshot, true);
            snapshot.release();
            tx.abort();
          }
        }
        const now = transactions.snapshot();
        looks.push({ snapshot: now, seen: entries.map(({ value }) => value), release: () => now.release() });
        for (const { snapshot, seen } of looks) {
          entries.forEach(({ block, offset, id }, i) => {
            const at = access.fetch(block, offset, snapshot);
            if (seen[i] === undefined) expect(at).toBe(0);
            else {
              expect(at).not.toBe(0);
              const { memory, position, length } = access;
              expect(decoder.object(memory, position, length)).toMatchObject({ id, n: seen[i] });
            }
          });
        }
        access.release();
        const sorted = [...entries].sort((a, b) => a.block - b.block || a.offset - b.offset);
        const out = new Uint8Array(sorted.length).fill(9);
        const count = access.deletable(
          Uint32Array.from(sorted, ({ block }) => block),
          Uint16Array.from(sorted, ({ offset }) => offset),
          sorted.length,
          out,
          1000,
        );
        expect([...out].reduce((sum, dead) => sum + dead, 0)).toBe(count);
        const seenBySomebody = (entry: Entry): boolean => {
          const i = entries.indexOf(entry);
          return looks.some(({ seen }) => seen[i] !== undefined);
        };
        sorted.forEach((entry, i) => {
          if (seenBySomebody(entry)) expect(out[i]).toBe(0);
          else if (looks.length === 1) expect(out[i]).toBe(1); // nobody holds the horizon back
        });
        const built = new Map<string, number>();
        runSync(
          access.buildScan((m, pos, length, block, root, isAlive) => {
            const { n } = decoder.object(m, pos, length) as { n: number };
            if (isAlive) built.set(`${block}.${root}`, n);
          }, undefined),
        );
        const expected = entries.filter(({ value }) => value !== undefined);
        expect(Object.fromEntries(built)).toEqual(
          Object.fromEntries(expected.map(({ block, offset, value }) => [`${block}.${offset}`, value])),
        );
        for (const look of looks) look.release();
        expect(pool.pinned()).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});

describe('deletable', () => {
  it('looks at no more blocks than it may', () => {
    const bench = new WritingBench(1024);
    const { writer, transactions, relation } = bench;
    const tids: [number, number][] = [];
    bench.run((tx) => {
      for (let id = 0; id < 60; id++) {
        writer.insert(tx, row(id));
        tids.push([writer.block, writer.offset]);
      }
    });
    bench.run((tx, snapshot) => {
      for (const [block, offset] of tids) writer.delete(tx, block, offset, snapshot);
    });
    const out = new Uint8Array(60);
    const blocks = Uint32Array.from(tids, ([block]) => block);
    const offsets = Uint16Array.from(tids, ([, offset]) => offset);
    const inFirst = tids.filter(([block]) => block === 0).length;
    const access = new HeapTableAccess(relation, transactions);
    expect(access.deletable(blocks, offsets, 60, out, 1)).toBe(inFirst);
    expect([...out]).toEqual(tids.map(([block]) => (block === 0 ? 1 : 0)));
    expect(access.deletable(blocks, offsets, 60, out, 100)).toBe(60);
  });
});

describe('a new index', () => {
  it('knows the newest version of a chain, and tells of those that an old snapshot sees', () => {
    const bench = new WritingBench(8192);
    const { writer, transactions, relation } = bench;
    const access = new HeapTableAccess(relation, transactions);
    bench.run((tx) => writer.insert(tx, row(1)));
    const old = transactions.snapshot();
    bench.run((tx, snapshot) => writer.update(tx, 0, 1, row(1, 5), snapshot, true));
    const seen: [number, number, boolean][] = [];
    const build = () => {
      seen.length = 0;
      return runSync(
        access.buildScan((m, pos, length, _, root, isAlive) => {
          seen.push([(decoder.object(m, pos, length) as { n: number }).n, root, isAlive]);
        }, undefined),
      );
    };
    expect(build()).toEqual({ tuples: 1, leftOut: 1 });
    expect(seen).toEqual([[5, 1, true]]);
    bench.run((tx, snapshot) => writer.delete(tx, 0, 2, snapshot));
    expect(build()).toEqual({ tuples: 1, leftOut: 1 });
    expect(seen).toEqual([[5, 1, false]]);
    old.release();
    expect(build()).toEqual({ tuples: 0, leftOut: 0 });
  });

  it('is refused where another transaction writes', () => {
    const bench = new WritingBench(8192);
    const { writer, transactions, relation } = bench;
    const tx = transactions.begin();
    writer.insert(tx, row(1));
    const access = new HeapTableAccess(relation, transactions);
    expect(() => runSync(access.buildScan(() => {}, undefined))).toThrow(expect.objectContaining({ code: '55P03' }));
    expect(runSync(access.buildScan(() => {}, tx))).toEqual({ tuples: 1, leftOut: 0 });
    tx.abort();
  });
});

describe('the columns of indexes', () => {
  const shapes = [
    [int4(), int8(), int2()],
    [int4(), text(), int4()],
    [int4().nullable(), int8().nullable(), text().nullable()],
  ] as const;
  const value = fc.record({ a: fc.integer({ min: 0, max: 2 }), nul: fc.boolean() });

  it.each(shapes.map((types, i) => [i, types] as const))('are compared by what is stored, shape %i', (_, types) => {
    const descriptor = TupleDescriptor.of(types.map((type, i) => ({ name: `c${i}`, type: type as never })));
    const encoder = TupleEncoder.for(descriptor);
    const values = (of: readonly { a: number; nul: boolean }[]) =>
      of.map(({ a, nul }, i) => {
        const type = types[i] as { isNullable: boolean; sqlName: string };
        if (nul && type.isNullable) return null;
        return type.sqlName === 'text' ? 'y'.repeat(a * 100) : type.sqlName === 'int8' ? BigInt(a) : a;
      });
    const columns = fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(columns, { minLength: 1, maxLength: 3 }),
        fc.nat(3),
        fc.tuple(value, value, value),
        fc.tuple(value, value, value),
        (indexes, unique, first, second) => {
          const keys = indexes.slice(0, unique).map((index) => index.slice(0, 1 + (unique & 1)));
          const before = values(first);
          const after = values(second);
          const put = (row: readonly unknown[], at: number) => {
            const bytes = new Uint8Array(1024);
            return { m: pageMemory(bytes.buffer), length: encoder.encode(row, bytes, at) };
          };
          const compared = new IndexedColumns(descriptor, indexes, keys);
          const old = put(before, 64);
          const made = put(after, 0);
          compared.compare(old.m, 64, old.length, made.m, made.length);
          const differs = (list: readonly number[]) => list.some((column) => before[column] !== after[column]);
          expect([...compared.changes]).toEqual(indexes.map((index) => (differs(index) ? 1 : 0)));
          expect(compared.keepsIndexed).toBe(!indexes.some(differs));
          expect(compared.keepsKey).toBe(!keys.some((key) => differs(key)));
        },
      ),
    );
  });
});
