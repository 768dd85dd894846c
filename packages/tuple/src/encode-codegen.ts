// Source text of an encoder of one row of vectors, for rows without nulls and values that are plain: straight code, each
// vector read at its own place so that each place sees one kind of object. What is not plain makes it return -1, and the
// row is written the careful way (vector-append.ts). Made of numbers only, as the decoders are.

import { PLANNED_ATTRIBUTES_MAX } from './decode-plan.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { VARATT_SHORT_DATA_MAX } from './varlena.ts';
import type { Vector } from './vectors.ts';

/** Writes row `row` at byte `at` of `out`, which has `room` bytes from there; returns the byte after it, or -1. */
export type EncodeRow = (
  vectors: readonly Vector[],
  row: number,
  out: Uint8Array,
  view: DataView,
  at: number,
  room: number,
  header: Int32Array,
) => number;

const HEADER = 24;
const INT32_END = 2 ** 31;

interface EncodedColumn {
  readonly attlen: number;
  readonly alignment: number;
  readonly kind: 'int' | 'int8' | 'float' | 'scaled' | 'bytes';
  readonly scale: number;
  readonly precision: number;
  readonly characters: number;
  readonly padded: boolean;
}

const made = new Map<string, EncodeRow>();

/**
 * The function for a table; `undefined` when one of its columns needs the careful way, or the host refuses to generate
 * code.
 */
export function generateEncodeRow(descriptor: TupleDescriptor): EncodeRow | undefined {
  const columns = plan(descriptor);
  if (columns === undefined) return undefined;
  const source = generateEncodeSource(columns);
  let encode = made.get(source);
  if (encode === undefined) {
    try {
      encode = new Function(`'use strict'; return ${source};`)() as EncodeRow;
    } catch (error) {
      if (error instanceof EvalError) return undefined;
      throw error;
    }
    made.set(source, encode);
  }
  return encode;
}

function plan(descriptor: TupleDescriptor): EncodedColumn[] | undefined {
  if (descriptor.columns.length > PLANNED_ATTRIBUTES_MAX) return undefined;
  const columns: EncodedColumn[] = [];
  for (const { type, isDropped } of descriptor.columns) {
    const { codec, attlen, typmod } = type;
    const kind = codec.vector;
    const isCareful = (kind === 'scaled' && codec.scale > 4) || (kind === 'bytes' && attlen >= 0) || kind === 'text';
    const isNarrow = (kind === 'int' || kind === 'float') && attlen < (kind === 'int' ? 4 : 8);
    if (isDropped || isCareful || isNarrow) return undefined;
    columns.push({
      attlen,
      alignment: type.attalign === 'd' ? 8 : 4,
      kind: kind as EncodedColumn['kind'],
      scale: codec.scale,
      precision: kind === 'scaled' ? (typmod - 4) >> 16 : 0,
      characters: codec.characters,
      padded: codec.padded,
    });
  }
  return columns;
}

function generateEncodeSource(columns: readonly EncodedColumn[]): string {
  const lines = [
    'function (vectors, row, out, view, at, room, header) {',
    `let need = ${most(columns)}, q = 0, z = 0;`,
  ];
  columns.forEach((column, k) => {
    lines.push(`const o${k} = vectors[${k}], m${k} = o${k}.nulls;`);
    lines.push(`if (o${k}.kind !== '${column.kind}' || (m${k} !== undefined && m${k}[row] !== 0)) return -1;`);
    if (column.kind === 'bytes') lines.push(...measure(column, k));
    if (column.kind === 'scaled') lines.push(`if (o${k}.scale !== ${column.scale}) return -1;`);
  });
  lines.push('if (need > room) return -1;');
  for (let word = 0; word < HEADER / 4; word++) lines.push(`view.setInt32(at + ${word * 4}, header[${word}], true);`);
  let fixed = HEADER; // offset from `at` while it is known, else -1 and q is where we are
  columns.forEach((column, k) => {
    if (column.attlen < 0) {
      if (fixed >= 0) lines.push(`q = at + ${fixed};`);
      fixed = -1;
      lines.push(...(column.kind === 'bytes' ? putBytes(column, k) : putScaled(column, k)));
      return;
    }
    if (fixed >= 0) {
      const aligned = (fixed + column.alignment - 1) & -column.alignment;
      for (; fixed < aligned; fixed++) lines.push(`out[at + ${fixed}] = 0;`);
      lines.push(...putFixed(column, k, `at + ${fixed}`));
      fixed += column.attlen;
    } else {
      lines.push(`while (((q - at) & ${column.alignment - 1}) !== 0) out[q++] = 0;`, ...putFixed(column, k, 'q'));
      lines.push(`q += ${column.attlen};`);
    }
  });
  lines.push(fixed >= 0 ? `return at + ${fixed};` : 'return q;', '}');
  return lines.join('\n');
}

/** Bytes that the row takes at most, its text not counted. */
function most(columns: readonly EncodedColumn[]): number {
  return columns.reduce(
    (sum, c) => sum + (c.attlen >= 0 ? c.attlen + 7 : c.kind === 'scaled' ? 20 : 8 + (c.padded ? c.characters : 0)),
    HEADER,
  );
}

function measure({ characters }: EncodedColumn, k: number): string[] {
  return [
    `const b${k} = o${k}.data, f${k} = o${k}.starts[row], n${k} = o${k}.starts[row + 1] - f${k};`,
    `if (f${k} < 0 || n${k} < 0 || f${k} + n${k} > b${k}.length) return -1;`,
    characters > 0 ? `if (n${k} > ${characters}) return -1;` : '',
    `need += n${k};`,
  ];
}

function putFixed({ kind }: EncodedColumn, k: number, at: string): string[] {
  switch (kind) {
    case 'int':
      return [`view.setInt32(${at}, o${k}.values[row], true);`];
    case 'int8':
      return [`view.setInt32(${at}, o${k}.lo[row], true);`, `view.setInt32(${at} + 4, o${k}.hi[row], true);`];
    default:
      // NaN is written as PostgreSQL's own, the positive quiet one.
      return [
        `if (o${k}.values[row] === o${k}.values[row]) view.setFloat64(${at}, o${k}.values[row], true);`,
        `else { view.setInt32(${at}, 0, true); view.setInt32(${at} + 4, 0x7ff80000, true); }`,
      ];
  }
}

function putBytes({ characters, padded, alignment }: EncodedColumn, k: number): string[] {
  const total = padded ? String(characters) : `n${k}`;
  const short = `out[q++] = ((${total} + 1) << 1) | 1;`;
  const long = [
    `while (((q - at) & ${alignment - 1}) !== 0) out[q++] = 0;`,
    `view.setInt32(q, (${total} + 4) << 2, true); q += 4;`,
  ].join(' ');
  const header =
    characters > 0 && characters <= VARATT_SHORT_DATA_MAX
      ? short
      : `if (${total} <= ${VARATT_SHORT_DATA_MAX}) { ${short} } else { ${long} }`;
  return [
    header,
    `for (let x = f${k}, e = x + n${k}; x < e; x++) { z |= b${k}[x]; out[q++] = b${k}[x]; }`,
    // Characters are as many as bytes only in ASCII.
    characters > 0 ? 'if ((z & 128) !== 0) return -1;' : 'z = 0;',
    padded ? `for (let e = ${characters} - n${k}; e > 0; e--) out[q++] = 32;` : '',
  ];
}

/** A scaled integer from 0 to 2^31 - 1 in line, as up to three digits. */
function putScaled({ scale, precision }: EncodedColumn, k: number): string[] {
  const head = (weight: number): number => 0x8000 | (scale << 7) | (weight & 0x7f);
  const put = (digits: string[], weight: number): string => {
    const size = 3 + digits.length * 2;
    const first = (size << 1) | 1 | (head(weight) << 8);
    if (digits.length === 0) return `out[q] = 7; view.setUint16(q + 1, ${head(0)}, true); q += 3;`;
    const start = `view.setInt32(q, ${first}, true);`;
    if (digits.length === 1) return `${start} view.setUint16(q + 3, ${digits[0]}, true); q += 5;`;
    const two = `${start} view.setInt32(q + 3, ${digits[0]} | (${digits[1]} << 16), true);`;
    return digits.length === 2 ? `${two} q += 7;` : `${two} view.setUint16(q + 7, ${digits[2]}, true); q += 9;`;
  };
  const unit = 10 ** scale;
  const limit = Math.min(10 ** precision, INT32_END, scale === 0 ? 1e8 : INT32_END);
  const tooLarge = limit < INT32_END ? ` || x >= ${limit}` : '';
  return [
    '{',
    `const v = o${k}.values[row], x = v | 0;`,
    `if (x !== v || x < 0${tooLarge}) return -1;`,
    scale === 0 ? 'const w = x, f = 0;' : `const w = (x / ${unit}) | 0, f = (x - w * ${unit}) * ${10 ** (4 - scale)};`,
    'if (w < 10000) {',
    `if (f !== 0) { if (w !== 0) { ${put(['w', 'f'], 0)} } else { ${put(['f'], -1)} } }`,
    `else if (w !== 0) { ${put(['w'], 0)} } else { ${put([], 0)} }`,
    '} else {',
    'const h = (w / 10000) | 0, l = w - h * 10000;',
    `if (f !== 0) { ${put(['h', 'l', 'f'], 1)} }`,
    `else if (l !== 0) { ${put(['h', 'l'], 1)} } else { ${put(['h'], 1)} }`,
    '}',
    '}',
  ];
}
