// Source text of a comparison of two index tuples, for one plan. Two ways through it:
//
//   plain    neither tuple has nulls: fixed offsets up to the first attribute of variable width, straight code after it;
//   general  a bit of each bitmap is asked before each attribute.
//
// Integers are compared in line, two 1-byte headers are taken apart in line; all else is a call of key-bytes.ts. Made of
// the plan's numbers only.

import { INDEX_NULL_MASK, INDEX_TUPLE_HEADER_BYTES } from './index-header.ts';
import {
  KEY_BLANKS,
  KEY_BYTE,
  KEY_BYTES,
  KEY_CSTRING,
  KEY_FIXED,
  KEY_FLOAT4,
  KEY_FLOAT8,
  KEY_INT2,
  KEY_INT4,
  KEY_INT8,
  KEY_NUMERIC,
  KEY_UINT4,
  type PlannedKey,
} from './index-keys.ts';
import {
  afterCstring,
  afterVarlena,
  compareBlankPadded,
  compareByteRuns,
  compareCstrings,
  compareFixed,
  compareFloat4,
  compareFloat8,
  compareNumerics,
  compareVarlenas,
} from './key-bytes.ts';
import type { CompareKeys } from './key-interpreter.ts';

const HELPERS = {
  [`data${KEY_BYTES}`]: compareByteRuns,
  [`data${KEY_BLANKS}`]: compareBlankPadded,
  [`data${KEY_NUMERIC}`]: compareNumerics,
  float4: compareFloat4,
  float8: compareFloat8,
  fixed: compareFixed,
  cstrings: compareCstrings,
  varlenas: compareVarlenas,
  afterCstring,
  afterVarlena,
};

const made = new Map<string, CompareKeys>();

/** The comparison of a plan, generated; `undefined` where the host refuses to generate code. */
export function generateKeys(keys: readonly PlannedKey[]): CompareKeys | undefined {
  const source = generateKeysSource(keys);
  let compare = made.get(source);
  if (compare === undefined) {
    try {
      compare = new Function('helpers', source)(HELPERS) as CompareKeys;
    } catch (error) {
      // A content security policy, or node --disallow-code-generation-from-strings.
      if (error instanceof EvalError) return undefined;
      throw error;
    }
    made.set(source, compare);
  }
  return compare;
}

/** Source of a factory `(helpers) => compare`. */
export function generateKeysSource(keys: readonly PlannedKey[]): string {
  return [
    "'use strict';",
    `const { ${Object.keys(HELPERS).join(', ')} } = helpers;`,
    'function general(am, ap, bm, bp, natts, ah, bh) {',
    ...views(keys),
    `const an = ah ? am.u32[(ap >>> 2) + ${INDEX_TUPLE_HEADER_BYTES / 4}] | 0 : -1;`,
    `const bn = bh ? bm.u32[(bp >>> 2) + ${INDEX_TUPLE_HEADER_BYTES / 4}] | 0 : -1;`,
    `let p = ap + (ah ? 16 : ${INDEX_TUPLE_HEADER_BYTES}), q = bp + (bh ? 16 : ${INDEX_TUPLE_HEADER_BYTES}), x = 0, y = 0;`,
    ...keys.flatMap(generalStep),
    'return 0;',
    '}',
    'return function compare(am, ap, bm, bp, natts) {',
    `const ah = am.u16[(ap >>> 1) + 3] & ${INDEX_NULL_MASK}, bh = bm.u16[(bp >>> 1) + 3] & ${INDEX_NULL_MASK};`,
    'if ((ah | bh) !== 0) return general(am, ap, bm, bp, natts, ah !== 0, bh !== 0);',
    ...views(keys),
    'let p = 0, q = 0, x = 0, y = 0;',
    ...plainSteps(keys),
    'return 0;',
    '};',
  ].join('\n');
}

/** The views that the kinds need. */
function views(keys: readonly PlannedKey[]): string[] {
  const lines: string[] = [];
  const isWord = (kind: number): boolean => kind >= KEY_INT4 && kind <= KEY_FLOAT8;
  if (keys.some(({ kind }) => isWord(kind))) lines.push('const a4 = am.u32, b4 = bm.u32;');
  if (keys.some(({ kind }) => kind === KEY_INT2)) lines.push('const a2 = am.u16, b2 = bm.u16;');
  if (keys.some(({ kind }) => kind === KEY_BYTE || kind > KEY_FLOAT8)) lines.push('const a = am.u8, b = bm.u8;');
  return lines;
}

/** Without nulls. `fixed` is the offset from the tuple's start while it is known, else -1 and p and q are where we are. */
function plainSteps(keys: readonly PlannedKey[]): string[] {
  const lines: string[] = [];
  let fixed = INDEX_TUPLE_HEADER_BYTES;
  keys.forEach((key, i) => {
    const { attlen, alignment } = key;
    if (attlen > 0 && fixed >= 0) fixed = (fixed + alignment - 1) & -alignment;
    if (i === 0) lines.push('if (natts < 1) return 0;');
    if (attlen < 0 && fixed >= 0) lines.push(`p = ap + ${fixed}; q = bp + ${fixed};`);
    if (attlen < 0) fixed = -1;
    if (fixed >= 0) {
      lines.push(...difference(key, i, `ap + ${fixed}`, `bp + ${fixed}`));
      fixed += attlen;
    } else {
      if (attlen > 0) lines.push(...aligned(alignment));
      lines.push(...difference(key, i, 'p', 'q'));
    }
    if (i + 1 < keys.length) {
      lines.push(`if (natts === ${i + 1}) return 0;`);
      if (fixed < 0) lines.push(...step(key));
    }
  });
  return lines;
}

/** With or without nulls. */
function generalStep(key: PlannedKey, i: number): string[] {
  const before = key.nullsFirst ? 0 - (i + 1) : i + 1;
  return [
    `if (natts < ${i + 1}) return 0;`,
    `x = (an >>> ${i}) & 1; y = (bn >>> ${i}) & 1;`,
    `if ((x ^ y) !== 0) return x === 0 ? ${before} : ${0 - before};`,
    'if (x !== 0) {',
    ...(key.attlen > 0 ? aligned(key.alignment) : []),
    ...difference(key, i, 'p', 'q'),
    ...step(key),
    '}',
  ];
}

function aligned(alignment: number): string[] {
  if (alignment === 1) return [];
  const align = (at: string): string => `${at} = (${at} + ${alignment - 1}) & ${-alignment};`;
  return [align('p'), align('q')];
}

/** Moves p and q behind the attribute, which was equal. */
function step({ attlen }: PlannedKey): string[] {
  if (attlen > 0) return [`p += ${attlen}; q += ${attlen};`];
  const after = attlen === -1 ? 'afterVarlena' : 'afterCstring';
  return [`p = ${after}(a, p); q = ${after}(b, q);`];
}

/** Returns from the comparison where the attributes at p and q differ. */
function difference({ kind, attlen, descending }: PlannedKey, i: number, p: string, q: string): string[] {
  const less = descending ? i + 1 : 0 - (i + 1);
  const more = 0 - less;
  const load = (view: string, shift: number, cast: string): string[] => [
    `x = ${view.replace('*', 'a')}[(${p})${shift > 0 ? ` >>> ${shift}` : ''}]${cast};`,
    `y = ${view.replace('*', 'b')}[(${q})${shift > 0 ? ` >>> ${shift}` : ''}]${cast};`,
  ];
  const decide = `if (x !== y) return x < y ? ${less} : ${more};`;
  const call = (expression: string): string[] => [
    `x = ${expression};`,
    `if (x !== 0) return x < 0 ? ${less} : ${more};`,
  ];
  const word = (of: 'a' | 'b', offset: number): string =>
    `${of}4[(${of === 'a' ? p : q}${offset > 0 ? ` + ${offset}` : ''}) >>> 2] | 0`;
  switch (kind) {
    case KEY_BYTE:
      return [...load('*', 0, ''), decide];
    case KEY_INT2:
      // Compared in the upper half of a word, where the sign is.
      return [...load('*2', 1, ' << 16'), decide];
    case KEY_INT4:
      return [...load('*4', 2, ' | 0'), decide];
    case KEY_UINT4:
      return [...unsigned(word('a', 0), word('b', 0)), decide];
    case KEY_INT8:
      return [`x = ${word('a', 4)};`, `y = ${word('b', 4)};`, decide, ...unsigned(word('a', 0), word('b', 0)), decide];
    case KEY_FLOAT4:
      return call(`float4(${word('a', 0)}, ${word('b', 0)})`);
    case KEY_FLOAT8:
      return call(`float8(${word('a', 0)}, ${word('a', 4)}, ${word('b', 0)}, ${word('b', 4)})`);
    case KEY_FIXED:
      return call(`fixed(a, ${p}, b, ${q}, ${attlen})`);
    case KEY_CSTRING:
      return call(`cstrings(a, ${p}, b, ${q})`);
    default:
      return varlenas(kind, less, more);
  }
}

/** Unsigned words, with the sign bit turned so that they stay small integers. */
function unsigned(a: string, b: string): string[] {
  return [`x = (${a}) ^ -2147483648;`, `y = (${b}) ^ -2147483648;`];
}

/** Two 1-byte headers in line (1 alone is a pointer); else through the call that knows all forms. */
function varlenas(kind: number, less: number, more: number): string[] {
  return [
    'x = a[p]; y = b[q];',
    `x = (x & y & 1) !== 0 && x > 1 && y > 1 ? data${kind}(a, p + 1, (x >>> 1) - 1, b, q + 1, (y >>> 1) - 1)`,
    `: varlenas(${kind}, a, p, b, q);`,
    `if (x !== 0) return x < 0 ? ${less} : ${more};`,
  ];
}
