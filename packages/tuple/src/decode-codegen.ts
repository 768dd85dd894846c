// Source text of a batch decoder for one plan. Two loops are generated:
//
//   plain   for tuples without nulls: fixed offsets up to the first variable-width attribute, then one byte read an
//           attribute (its 1-byte header);
//   general for tuples with or without nulls: a bit of the bitmap is asked before each attribute.
//
// Both stop at the first tuple that is not what they are for; the caller sends it elsewhere. A page holds its tuples from
// its end downward, so the loops run from the last to the first: addresses then rise, which memory delivers 1.7 times as
// fast as falling ones where a table is larger than the caches. Only where text is appended to a vector, row by row, do
// they run forward. They return how far they came: rows from there on (backward: rows below it) are left. The walk checks once, at its end, that it did not pass the end of the tuple: what is stored before that is of a row which
// then is not handed out. `reach` keeps every read inside the memory though its lengths are not yet trusted.

import {
  type DecodePlan,
  type PlannedAttribute,
  type PlannedSlot,
  PUT_BYTE,
  PUT_BYTES,
  PUT_CHAR,
  PUT_FLOAT4,
  PUT_FLOAT8,
  PUT_INT2,
  PUT_INT4,
  PUT_INT8,
  PUT_SCALED,
  PUT_TEXT,
} from './decode-plan.ts';
import { HEAP_NATTS_MASK, HEAP_TUPLE_HEADER_BYTES, heapHeaderBytes } from './heap-header.ts';
import { INDEX_NULL_MASK, INDEX_TUPLE_HEADER_BYTES, indexTupleDataOffset } from './index-header.ts';

const HOFF_WITHOUT_NULLS: number = heapHeaderBytes(0, false);
const INDEX_DATA_AFTER_BITMAP: number = indexTupleDataOffset(INDEX_NULL_MASK);
/** The word of t_info in an index tuple, counted from its start. */
const INDEX_INFO_WORD = 1;
/** The word of t_infomask, t_hoff and the first byte of the bitmap: what a tuple without nulls has under the mask. */
const PLAIN_MASK = 0xff0001;
const PLAIN_WORD: number = HOFF_WITHOUT_NULLS << 16;
/** Longest attribute with a 1-byte header, and the slack for reads of four bytes at its end. */
const SHORT_REACH = 127 + 8;

/** Bytes from a tuple's start that the walk can look at before it knows that the tuple is long enough. */
function planReach(plan: DecodePlan): number {
  // The header with the longest bitmap first.
  const header = plan.layout === 'heap' ? 256 + 16 : INDEX_DATA_AFTER_BITMAP;
  return plan.attributes.reduce((sum, a) => sum + (a.attlen < 0 ? SHORT_REACH : a.attlen + 8), header);
}

/** Whether the loops run from the last tuple to the first. */
export function isBackward(plan: DecodePlan): boolean {
  return plan.attributes.every((a) => a.slots.every((s) => s.put !== PUT_BYTES && s.put !== PUT_TEXT));
}

/** Source of a factory `(helpers) => { plain, general }`. It is made of the plan's numbers only. */
export function generateBatchSource(plan: DecodePlan): string {
  return [
    "'use strict';",
    'const { scaled, text, codePoint, grow, skip, bad } = helpers;',
    `const plain = ${loopSource(plan, false)};`,
    `const general = ${loopSource(plan, true)};`,
    'return { plain, general };',
  ].join('\n');
}

function loopSource(plan: DecodePlan, withNulls: boolean): string {
  return [
    'function (m, view, positions, lengths, from, count, vectors, at) {',
    'const u8 = m.u8, u32 = m.u32;',
    `const limit = u8.length - ${planReach(plan)};`,
    ...plan.attributes.flatMap((a) => a.slots.flatMap((s) => prologue(s))),
    `let h = 0, q = 0, x = 0, y = 0, d = 0, e = 0, f = 0, n = 0, v = 0, wrong = 0, i = ${isBackward(plan) ? 'count - 1' : 'from'};`,
    isBackward(plan) ? 'for (; i >= from; i--) {' : 'for (; i < count; i++) {',
    'const p = positions[i] | 0, end = p + lengths[i], w = p >>> 2, r = at + i;',
    headerCheck(plan, withNulls),
    ...walk(plan, withNulls),
    'if (q > end) break;',
    '}',
    'if (wrong < 0) bad();',
    isBackward(plan) ? 'return i + 1;' : 'return i;',
    '}',
  ].join('\n');
}

/** Breaks out of the loop at a tuple that is not for it. */
function headerCheck(plan: DecodePlan, withNulls: boolean): string {
  if (plan.layout === 'index') return indexHeaderCheck(withNulls);
  const least = plan.attributes.length;
  const spare = plan.tableAttributes - least;
  if (!withNulls)
    return (
      `if (((p & 7) | ((u32[w + 5] & ${PLAIN_MASK}) ^ ${PLAIN_WORD})) !== 0 || p > limit || ` +
      `((((u32[w + 4] >>> 16) & ${HEAP_NATTS_MASK}) - ${least}) >>> 0) > ${spare}) break;`
    );
  return [
    'if ((p & 7) !== 0 || p > limit) break;',
    `n = (u32[w + 4] >>> 16) & ${HEAP_NATTS_MASK};`,
    `if (((n - ${least}) >>> 0) > ${spare}) break;`,
    'x = u32[w + 5];',
    'const none = (x & 1) === 0;',
    'h = (x >>> 16) & 0xff;',
    `if (h !== (none ? ${HOFF_WITHOUT_NULLS} : (${HEAP_TUPLE_HEADER_BYTES + 7} + ((n + 7) >> 3)) & -8)) break;`,
    'q = p + h;',
  ].join('\n');
}

/** The same for index tuples, which have every attribute: a bitmap follows the header where there are nulls. */
function indexHeaderCheck(withNulls: boolean): string {
  const info = `(u32[w + ${INDEX_INFO_WORD}] >>> 16)`;
  if (!withNulls) return `if (((p & 7) | (${info} & ${INDEX_NULL_MASK})) !== 0 || p > limit) break;`;
  return [
    'if ((p & 7) !== 0 || p > limit) break;',
    `const none = (${info} & ${INDEX_NULL_MASK}) === 0;`,
    `q = p + (none ? ${INDEX_TUPLE_HEADER_BYTES} : ${INDEX_DATA_AFTER_BITMAP});`,
  ].join('\n');
}

function prologue(slot: PlannedSlot): string[] {
  const k = slot.vector;
  const lines = [
    `const o${k} = vectors[${k}];`,
    `let z${k} = o${k}.nulls;`,
    `if (z${k} !== undefined) z${k}.fill(0, at + from, at + count);`,
  ];
  switch (slot.put) {
    case PUT_INT8:
      lines.push(`const l${k} = o${k}.lo, g${k} = o${k}.hi;`);
      break;
    case PUT_TEXT:
      break;
    case PUT_BYTES:
      lines.push(`const s${k} = o${k}.starts;`, `let b${k} = o${k}.data, t${k} = s${k}[at + from];`);
      break;
    default:
      lines.push(`const a${k} = o${k}.values;`);
  }
  return lines;
}

/** The attributes in order. `fixed` is the offset from p while it is known, else -1 and q is where we are. */
function walk({ attributes, layout }: DecodePlan, withNulls: boolean): string[] {
  const lines: string[] = [];
  const bitmap = layout === 'heap' ? HEAP_TUPLE_HEADER_BYTES : INDEX_TUPLE_HEADER_BYTES;
  const data = layout === 'heap' ? HOFF_WITHOUT_NULLS : INDEX_TUPLE_HEADER_BYTES;
  let fixed = withNulls ? -1 : data;
  attributes.forEach((attribute, i) => {
    const body: string[] = [];
    if (attribute.attlen < 0) {
      if (fixed >= 0) body.push(`q = p + ${fixed};`);
      fixed = -1;
      body.push(...varlena(attribute));
    } else {
      if (fixed >= 0) {
        fixed = (fixed + attribute.alignment - 1) & -attribute.alignment;
        body.push(...attribute.slots.flatMap((s) => putFixed(s, attribute.attlen, `p + ${fixed}`)));
        fixed += attribute.attlen;
      } else {
        if (attribute.alignment > 1) body.push(`q = (q + ${attribute.alignment - 1}) & ${-attribute.alignment};`);
        body.push(...attribute.slots.flatMap((s) => putFixed(s, attribute.attlen, 'q')));
        body.push(`q += ${attribute.attlen};`);
      }
    }
    if (!withNulls) lines.push(...body);
    else
      lines.push(
        `if (none || (u8[p + ${bitmap + (i >> 3)}] & ${1 << (i & 7)}) !== 0) {`,
        ...body,
        '} else {',
        ...attribute.slots.flatMap(putNull),
        '}',
      );
  });
  if (fixed >= 0) lines.push(`q = p + ${fixed};`);
  return lines;
}

function putFixed(slot: PlannedSlot, attlen: number, at: string): string[] {
  const k = slot.vector;
  switch (slot.put) {
    case PUT_INT4:
      return [`a${k}[r] = u32[(${at}) >>> 2];`];
    case PUT_INT2:
      return [`a${k}[r] = view.getInt16(${at}, true);`];
    case PUT_BYTE:
      return [`a${k}[r] = u8[${at}];`];
    case PUT_INT8:
      return [`l${k}[r] = u32[(${at}) >>> 2];`, `g${k}[r] = u32[(${at} + 4) >>> 2];`];
    case PUT_FLOAT4:
      return [`a${k}[r] = view.getFloat32(${at}, true);`];
    case PUT_FLOAT8:
      return [`a${k}[r] = view.getFloat64(${at}, true);`];
    default:
      return putBytes(k, at, String(attlen));
  }
}

function putBytes(k: number, at: string, size: string): string[] {
  return [
    `if (t${k} + ${size} > b${k}.length) b${k} = grow(o${k}, t${k}, ${size});`,
    `for (x = ${at}, y = x + ${size}; x < y; x++) b${k}[t${k}++] = u8[x];`,
    `s${k}[r + 1] = t${k};`,
  ];
}

function putNull(slot: PlannedSlot): string[] {
  const k = slot.vector;
  const lines = [`if (z${k} === undefined) z${k} = helpers.addNulls(o${k});`, `z${k}[r] = 1;`];
  switch (slot.put) {
    case PUT_INT8:
      lines.push(`l${k}[r] = 0; g${k}[r] = 0;`);
      break;
    case PUT_TEXT:
      lines.push(`o${k}.starts[r + 1] = o${k}.starts[r];`);
      break;
    case PUT_BYTES:
      lines.push(`s${k}[r + 1] = t${k};`);
      break;
    default:
      lines.push(`a${k}[r] = 0;`);
  }
  return lines;
}

function varlena({ alignment, slots }: PlannedAttribute): string[] {
  const first = slots[0];
  if (first === undefined)
    return [
      'h = u8[q];',
      `if ((h & 1) !== 0 && h !== 1) q += h >>> 1; else { q = skip(u8, p, q, ${alignment}, end); if (q < 0) break; }`,
    ];
  if (slots.length === 1 && first.put === PUT_SCALED && first.scale <= 4) return scaledNumeric(first);
  if (slots.length === 1 && first.put === PUT_CHAR) return oneCharacter(first.vector);
  return [
    'h = u8[q];',
    'if ((h & 1) !== 0) { if (h === 1) break; q += 1; n = (h >>> 1) - 1; }',
    'else {',
    `x = (q + ${alignment - 1}) & ${-alignment};`,
    'if (x !== q && h !== 0) break;',
    'y = view.getInt32(x, true);',
    'n = (y >>> 2) - 4; q = x + 4;',
    'if ((y & 3) !== 0 || n < 0 || n > end - q) break;',
    '}',
    ...slots.flatMap(putVarlena),
    'q += n;',
  ];
}

function putVarlena(slot: PlannedSlot): string[] {
  const k = slot.vector;
  switch (slot.put) {
    case PUT_SCALED:
      return [`a${k}[r] = scaled(u8, q, n, ${slot.scale});`];
    case PUT_TEXT:
      return [`text(o${k}, r, u8, q, n);`];
    case PUT_CHAR:
      return [`a${k}[r] = codePoint(u8, q, n);`];
    default:
      return putBytes(k, 'q', 'n');
  }
}

/** char(1) as a code point: one ASCII byte in line, the rest through a call. */
function oneCharacter(k: number): string[] {
  return [
    `if (u8[q] === 5 && (x = u8[q + 1]) < 128) { a${k}[r] = x; q += 2; }`,
    'else {',
    'h = u8[q];',
    'if ((h & 1) === 0 || h === 1) break;',
    `a${k}[r] = codePoint(u8, q + 1, (h >>> 1) - 1); q += h >>> 1;`,
    '}',
  ];
}

/** floor(d / 10^(4 - scale)) for d up to 9999, without a division: multiplier and shift. */
const FRACTION: Readonly<Record<number, readonly [number, number, number]>> = {
  1: [8389, 23, 1000],
  2: [5243, 19, 100],
  3: [6554, 16, 10],
};

/** Value of a digit that stands right after the point; `wrong` turns negative where it has more decimals than the scale. */
function fraction(digit: string, scale: number): { before: string; value: string } {
  if (scale === 4) return { before: '', value: digit };
  const [multiplier, shift, divisor] = FRACTION[scale];
  return { before: `y = (${digit} * ${multiplier}) >>> ${shift}; wrong |= y * ${divisor} - ${digit};`, value: 'y' };
}

/**
 * A numeric of up to three base-10000 digits in line, by its header byte (11, 15, 19: one, two, three digits) and its
 * 16-bit header. Comparing the length instead of adding it lets the processor guess where the next attribute begins.
 * A digit above 9999 turns `wrong` negative; the batch is then done again carefully.
 */
function scaledNumeric({ vector: k, scale }: PlannedSlot): string[] {
  const head = (weight: number): number => 0x8000 | (scale << 7) | (weight & 0x7f);
  const unit = 10 ** scale;
  const other = (bytes: number): string => `v = scaled(u8, q + 1, ${bytes}, ${scale});`;
  const whole = (expression: string): string => (scale === 0 ? expression : `(${expression}) * ${unit}`);
  const withFraction = (weight: number, high: string, digit: string): string => {
    if (scale === 0) return '';
    const part = fraction(digit, scale);
    const sum = high === '' ? part.value : `${whole(high)} + ${part.value}`;
    return `else if (x === ${head(weight)}) { ${part.before} v = ${sum}; }`;
  };
  return [
    'h = u8[q];',
    'if (h === 11) {',
    'x = view.getInt32(q + 1, true); d = x >>> 16; x &= 0xffff; wrong |= 9999 - d;',
    `if (x === ${head(0)}) v = ${whole('d')}; ${withFraction(-1, '', 'd')} else ${other(4)}`,
    'q += 5;',
    '} else if (h === 15) {',
    'x = view.getInt32(q + 1, true); e = view.getUint16(q + 5, true); d = x >>> 16; x &= 0xffff;',
    'wrong |= (9999 - d) | (9999 - e);',
    `if (x === ${head(1)}) v = ${whole('d * 10000 + e')}; ${withFraction(0, 'd', 'e')} else ${other(6)}`,
    'q += 7;',
    '} else if (h === 19) {',
    'x = view.getInt32(q + 1, true); f = view.getInt32(q + 5, true); d = x >>> 16; x &= 0xffff;',
    'e = f & 0xffff; f >>>= 16; wrong |= (9999 - d) | (9999 - e) | (9999 - f);',
    scale === 0
      ? `if (x === ${head(2)}) v = d * 1e8 + e * 10000 + f; else ${other(8)}`
      : `${withFraction(1, 'd * 10000 + e', 'f').replace(/^else /, '')} else ${other(8)}`,
    'q += 9;',
    '} else if ((h & 1) !== 0 && h !== 1) {',
    `v = scaled(u8, q + 1, (h >>> 1) - 1, ${scale}); q += h >>> 1;`,
    '} else break;',
    `a${k}[r] = v;`,
  ];
}
