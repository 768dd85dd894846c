// Generated code: nothing of a user's text gets into it, and where it is refused the same values come out.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { generateBatchSource } from '../src/decode-codegen.ts';
import { planDecoding } from '../src/decode-plan.ts';
import * as t from '../src/index.ts';
import { layOut, TYPED_VALUES } from './arbitraries.ts';

const HOSTILE = [
  '__proto__',
  'constructor',
  'x]; globalThis.hacked = true; //',
  "'+globalThis.hacked=1+'",
  '`${globalThis.hacked = 1}`',
  '\u2028globalThis.hacked = 1\n',
  '"',
  '\\',
  '',
];
const hostile = (type: t.ColumnType): t.TupleDescriptor =>
  t.TupleDescriptor.of(HOSTILE.map((name) => ({ name, type })));

test('a plan is the same whatever the names are, and the source has only what the generator wrote', () => {
  for (const { type } of TYPED_VALUES) {
    const plain = t.TupleDescriptor.of(HOSTILE.map((_, i) => ({ name: `c${i}`, type })));
    const columns = plain.liveColumns();
    const source = (d: t.TupleDescriptor): string =>
      generateBatchSource(planDecoding(d, columns, {}) as NonNullable<ReturnType<typeof planDecoding>>);
    expect(source(hostile(type))).toBe(source(plain));
    expect(source(hostile(type))).not.toMatch(/hacked|__proto__|constructor/);
    expect(source(hostile(type))).toMatch(/^[\w\s'"{}()[\],;:.=<>&|^!?+*~-]*$/);
  }
});

test('rows by hostile names hold their values as own properties', () => {
  const descriptor = hostile(t.int4());
  const laid = layOut(descriptor, [HOSTILE.map((_, i) => i)]);
  const row = t.RowDecoder.for(descriptor).object(laid.memory, laid.positions[0], laid.lengths[0]);
  expect(Object.entries(row)).toEqual(HOSTILE.map((name, i) => [name, i]));
  expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  const decoder = t.BatchDecoder.for(descriptor);
  const vectors = decoder.createVectors(1);
  decoder.decode(laid.memory, laid.positions, laid.lengths, 1, vectors, 0);
  expect(vectors.map((v, i) => t.vectorValue(descriptor.columns[i].type, v, 0))).toEqual(HOSTILE.map((_, i) => i));
  expect((globalThis as Record<string, unknown>).hacked).toBeUndefined();
});

test('a host that refuses to generate code gets the interpreter, and the same values', () => {
  const script = fileURLToPath(new URL('refused.ts', import.meta.url));
  const run = (...flags: string[]): string =>
    execFileSync(process.execPath, [
      ...flags,
      '--conditions=@blockwright/source',
      '--import',
      'tsx',
      script,
    ]).toString();
  const refused = run('--disallow-code-generation-from-strings').split('\n');
  const allowed = run().split('\n');
  expect([refused[0], allowed[0]]).toEqual(['generated: false', 'generated: true']);
  expect(refused.slice(1)).toEqual(allowed.slice(1));
  expect(allowed.length).toBeGreaterThan(400);
});

test('one plan is compiled once', () => {
  const made: t.BatchDecoder[] = [];
  for (let i = 0; i < 3; i++)
    made.push(t.BatchDecoder.for(t.TupleDescriptor.of([{ name: `n${i}`, type: t.numeric(15, 2) }])));
  expect(made.every((d) => d.isGenerated)).toBe(true);
});

test('more attributes than code is generated for are interpreted', () => {
  const descriptor = t.TupleDescriptor.of(Array.from({ length: 1600 }, (_, i) => ({ name: `c${i}`, type: t.int2() })));
  const row = Array.from({ length: 1600 }, (_, i) => i - 800);
  const laid = layOut(descriptor, [row]);
  const decoder = t.BatchDecoder.for(descriptor);
  expect(decoder.isGenerated).toBe(false);
  const vectors = decoder.createVectors(1);
  decoder.decode(laid.memory, laid.positions, laid.lengths, 1, vectors, 0);
  expect(vectors.map((v) => (v as t.IntVector).values[0])).toEqual(row);
});
