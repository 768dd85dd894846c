// Run by generated.test.ts in a process of its own, with code generation allowed and refused: prints what it decodes.
import * as t from '../src/index.ts';
import { fixtureTable, TYPES } from './fixtures.ts';

const { memory, tuples } = fixtureTable('8k', 'types');
const decoder = t.BatchDecoder.for(TYPES);
const vectors = decoder.createVectors(tuples.length);
decoder.decode(
  memory,
  tuples.map((x) => x.pos),
  tuples.map((x) => x.length),
  tuples.length,
  vectors,
  0,
);
const order = TYPES.columns.map(() => ({ descending: true, nullsFirst: false }));
const format = t.IndexTupleFormat.of(TYPES, order);
if (format.isGenerated !== decoder.isGenerated) throw new Error('one of them was generated, the other not');
console.log(`generated: ${decoder.isGenerated}`);
for (let row = 0; row < tuples.length; row++) {
  const values = TYPES.columns.map(({ type }, k) => t.vectorValue(type, vectors[k], row));
  console.log(values.map((v, k) => (v === null ? 'null' : TYPES.columns[k].type.toText(v))).join('|'));
}
const former = new t.IndexTupleFormer(
  format,
  TYPES,
  TYPES.columns.map((_, i) => i),
);
const keys = tuples.map(({ pos, length, block, offset }) => {
  former.fromHeap(memory, pos, length, block as never, offset as never);
  return t.tupleMemory(former.memory.u8.slice(0, former.length));
});
for (let i = 1; i < keys.length; i++) console.log(format.compare(keys[i - 1], 0, keys[i], 0, TYPES.columns.length));
