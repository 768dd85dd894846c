// Command ids of a tuple that one transaction wrote and deleted, against the plain pair.
import { HEAP_COMBOCID, setTupleCommandId, setTupleInfomask, tupleMemory } from '@blockwright/tuple';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeOf, engine } from './engine.ts';

test('a number stands for a pair, the same for the same, and gives it back', () => {
  const command = fc.oneof(fc.nat(5), fc.integer({ min: 0, max: 0xffff_fffe }));
  fc.assert(
    fc.property(fc.array(fc.tuple(command, command), { maxLength: 60 }), (pairs) => {
      const { transactions } = engine();
      const tx = transactions.begin();
      const other = transactions.begin();
      const m = tupleMemory(new Uint8Array(64));
      const made = new Map<number, string>();
      for (const [cmin, cmax] of pairs) {
        const combo = tx.comboCid(cmin, cmax);
        expect(made.get(combo) ?? `${cmin}/${cmax}`).toBe(`${cmin}/${cmax}`);
        made.set(combo, `${cmin}/${cmax}`);
        setTupleCommandId(m, 8, combo);
        setTupleInfomask(m, 8, HEAP_COMBOCID);
        expect([tx.cmin(m, 8), tx.cmax(m, 8)]).toEqual([cmin, cmax]);
        expect(() => other.cmin(m, 8)).toThrow(RangeError);
        setTupleInfomask(m, 8, 0);
        setTupleCommandId(m, 8, cmax);
        expect([tx.cmin(m, 8), tx.cmax(m, 8)]).toEqual([cmax, cmax]);
      }
      expect(made.size).toBe(new Set(pairs.map(String)).size);
    }),
  );
});

test('pairs outlive a savepoint that is rolled back', () => {
  const tx = engine().transactions.begin();
  tx.savepoint();
  const combo = tx.comboCid(3, 8);
  tx.rollbackTo(1);
  expect(tx.comboCid(3, 8)).toBe(combo);
});

test('commands count up, and end', () => {
  const tx = engine().transactions.begin();
  expect(tx.snapshot().commandId).toBe(0);
  tx.nextCommand();
  expect(tx.snapshot().commandId).toBe(1);
  tx.commandId = 0xffff_fffd;
  tx.nextCommand();
  codeOf(() => tx.nextCommand(), '54000');
  expect(tx.commandId).toBe(0xffff_fffe);
});
