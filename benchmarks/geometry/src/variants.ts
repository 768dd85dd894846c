// The loop of an index-only scan, once for each way to find a heap block's bits. All come from one template: they differ
// in the lines that find the byte, and in nothing else. Each call makes function instances of its own, so that the
// compiler has seen nothing but one block size and one walk in any of them.
import type { BlockGeometry } from '@blockwright/geometry';
import type { VisibilityCursor } from '@blockwright/visibilitymap';
import { type MapMemory, NOT_VISIBLE, type Tids } from './walks.ts';

/** Walks TIDs [from, to) and gives the sum of the offsets of those on all-visible blocks (see `rightAnswer`). */
export type Walk = (tids: Tids, from: number, to: number) => number;

export const VARIANTS = {
  literal: 'division and remainder by a literal for each TID, as in a server compiled for this block size',
  'literal window': 'the window of a map page as its own loop, every constant a literal',
  window: 'the same loop with the geometry read at run time, hoisted into locals',
  cursor: "VisibilityCursor over a buffer pool, asked for each TID's block",
  'cursor, runs': 'VisibilityCursor, asked once for a run of TIDs on one block',
  fold: 'the quotient folded out for each TID, no window',
  multiplication: 'as fold, with page address and first block by multiplications by the block size',
  division: 'division and remainder by a number read at run time, for each TID',
} as const;
export type VariantName = keyof typeof VARIANTS;

/** What every variant is called with, whether it uses it or not, so that all are called alike. */
export interface Surroundings {
  readonly map: MapMemory;
  readonly geometry: BlockGeometry;
  readonly cursor: VisibilityCursor;
}

/** A new function for a variant, bound to what it is called with. */
export function makeWalk(name: VariantName, surroundings: Surroundings): Walk {
  const compiled = compileWalk(name, surroundings.geometry);
  return (tids, from, to) => callWalk(compiled, surroundings, tids, from, to);
}

/** @internal A new function for a variant. */
export function compileWalk(name: VariantName, g: BlockGeometry): CompiledWalk {
  const literal = { shift: String(g.shift), size: String(g.size), perPage: String(g.heapBlocksPerVmPage) };
  const body = BODIES[name](literal, { shift: 'shift', size: 'size', perPage: 'perPage' });
  // The function's name is what profilers and disassemblies show. `>>> 0` tells the compiler that the limit is unsigned,
  // as the block numbers are that it is compared with: else each compare has a check before it.
  const identifier = `${name.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}Walk`;
  const source = `"use strict";
return function ${identifier}(blocks, offsets, from, to, u8, bufferOf, g, cursor) {
  const shift = g.shift;
  const size = g.size;
  const perPage = g.heapBlocksPerVmPage >>> 0;
  let answer = 0;
  ${body}
  return answer;
};`;
  return (new Function(source) as () => CompiledWalk)();
}

type CompiledWalk = (
  blocks: Uint32Array,
  offsets: Uint16Array,
  from: number,
  to: number,
  u8: Uint8Array,
  bufferOf: Int32Array,
  g: BlockGeometry,
  cursor: VisibilityCursor,
) => number;

/**
 * The one place from which compiled walks are called: it sees too many of them for the compiler to inline any, and with
 * it the geometry and the memory of one run as constants.
 */
function callWalk(
  walk: CompiledWalk,
  { map, geometry, cursor }: Surroundings,
  tids: Tids,
  from: number,
  to: number,
): number {
  return walk(tids.blocks, tids.offsets, from, to, map.u8, map.bufferOf, geometry, cursor);
}

interface Constants {
  readonly shift: string;
  readonly size: string;
  readonly perPage: string;
}

const TAKE = `answer = (answer + ((bits & 1) !== 0 ? offsets[i] : ${NOT_VISIBLE})) | 0;`;
const BITS = 'const bits = u8[at + byte] >>> ((block & 3) << 1);';

const flat = (before: string, each: string): string => `${before}
  for (let i = from; i < to; i++) {
    const block = blocks[i];
    ${each}
    ${TAKE}
  }`;

const windowed = ({ shift, perPage }: Constants, pageOf: string, firstOf: string): string => `let i = from;
  while (i < to) {
    const start = blocks[i];
    const page = ${pageOf};
    const first = ${firstOf};
    const at = (bufferOf[page] << ${shift}) + 24;
    for (; i < to; i++) {
      const block = blocks[i];
      const n = (block - first) >>> 0;
      if (n >= ${perPage}) break;
      const byte = n >>> 2;
      ${BITS}
      ${TAKE}
    }
  }`;

const dividing = ({ shift, perPage }: Constants): string =>
  flat(
    'let pinned = -1; let at = 0;',
    `const page = (block / ${perPage}) >>> 0;
    if (page !== pinned) {
      pinned = page;
      at = (bufferOf[page] << ${shift}) + 24;
    }
    const byte = (block % ${perPage}) >>> 2;
    ${BITS}`,
  );

const BODIES: Readonly<Record<VariantName, (literal: Constants, runTime: Constants) => string>> = {
  literal: (literal) => dividing(literal),
  division: (_, runTime) => dividing(runTime),
  'literal window': (literal) =>
    windowed(literal, `(start / ${literal.perPage}) >>> 0`, `Math.imul(page, ${literal.perPage}) >>> 0`),
  window: (_, runTime) => windowed(runTime, 'g.vmBlockOf(start) >>> 0', 'g.firstHeapBlockOf(page) >>> 0'),
  cursor: () => flat('', 'const bits = cursor.status(block);'),
  'cursor, runs': () =>
    flat('let last = -1; let bits = 0;', 'if (block !== last) { last = block; bits = cursor.status(block); }'),
  fold: (_, { shift }) =>
    flat(
      'let pinned = -1; let first = 0; let at = 0;',
      `const page = g.vmBlockOf(block) >>> 0;
    if (page !== pinned) {
      pinned = page;
      first = g.firstHeapBlockOf(page) >>> 0;
      at = (bufferOf[page] << ${shift}) + 24;
    }
    const byte = (block - first) >>> 2;
    ${BITS}`,
    ),
  multiplication: (_, { size, perPage }) =>
    flat(
      'let pinned = -1; let buffer = 0;',
      `const page = g.vmBlockOf(block) >>> 0;
    if (page !== pinned) {
      pinned = page;
      buffer = bufferOf[page];
    }
    const at = Math.imul(buffer, ${size}) + 24;
    const byte = (block - Math.imul(page, ${perPage})) >>> 2;
    ${BITS}`,
    ),
};
