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
console.log(`generated: ${decoder.isGenerated}`);
for (let row = 0; row < tuples.length; row++) {
  const values = TYPES.columns.map(({ type }, k) => t.vectorValue(type, vectors[k], row));
  console.log(values.map((v, k) => (v === null ? 'null' : TYPES.columns[k].type.toText(v))).join('|'));
}
