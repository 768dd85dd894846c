// The pictures of nodes and values, in the source and in the README, against the constants and the code.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Arena, GRANULE_SHIFT } from '../src/arena.ts';
import { CAPACITY, GRANULES, KEYS, NODE_4, NODE_16, NODE_32, NODE_128, NODE_256, RANKS, SLOTS } from '../src/node.ts';
import { pairOf, readOffsets, writeBitmap } from '../src/offsets.ts';

const KINDS = [NODE_4, NODE_16, NODE_32, NODE_128, NODE_256];
const text = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const wordsOf = (kind: number): number => GRANULES[kind]! << GRANULE_SHIFT;

describe('a node', () => {
  test('has the words that its picture says', () => {
    const picture = text('src/node.ts');
    const line = /^\/\/ {3}kind .*$/m.exec(picture)![0];
    const kinds = [...line.matchAll(/(\d) = (\d+)/g)].map(([, kind, room]) => [Number(kind), Number(room)]);
    expect(kinds).toEqual(KINDS.map((kind) => [kind, CAPACITY[kind]]));
    const words = /^\/\/ {3}words +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$/m.exec(picture)!.slice(1).map(Number);
    expect(words).toEqual(KINDS.map(wordsOf));
  });

  test('has the bytes that the README says', () => {
    const rows = [...text('README.md').matchAll(/^\| (\d+) \| count[^|]*\| (\d+) \|/gm)];
    expect(rows.map(([, room, bytes]) => [Number(room), Number(bytes)])).toEqual(
      KINDS.map((kind) => [CAPACITY[kind], wordsOf(kind) * 4]),
    );
  });

  test('has one part behind the other, and no more than a word is spare', () => {
    for (const kind of KINDS) {
      const keys = kind <= NODE_16 ? CAPACITY[kind]! >>> 2 : 8;
      const ranks = kind === NODE_32 || kind === NODE_128 ? 2 : 0;
      expect(KEYS).toBe(1);
      if (ranks > 0) expect(RANKS).toBe(KEYS + keys);
      expect(SLOTS[kind]).toBe(KEYS + keys + ranks);
      const spare = wordsOf(kind) - SLOTS[kind]! - CAPACITY[kind]!;
      expect([0, 1]).toContain(spare);
    }
  });
});

describe('a value', () => {
  const arena = new Arena(Infinity);
  const read = (value: number): number[] => {
    const to = new Uint16Array(8192);
    return [...to.subarray(0, readOffsets(arena, value, to))];
  };

  test('of low offsets is their bits', () => {
    expect(read(0b1000_0000_0000_0000_0000_0000_0000_0111)).toEqual([1, 2, 31]);
  });

  test('of one or two is 13 bits each, less one', () => {
    expect([pairOf(1, 1), pairOf(32, 8192), pairOf(8192, 8192)]).toEqual([
      2,
      (8191 << 15) | (31 << 2) | 2,
      0x0fff_fffe,
    ]);
    expect([pairOf(33, 33), pairOf(32, 8192), pairOf(8192, 8192)].map(read)).toEqual([[33], [32, 8192], [8192]]);
  });

  test('of more is a granule: first word, words and count, then the words from the first offset on', () => {
    arena.reserve(200);
    const value = writeBitmap(arena, Uint16Array.of(65, 66, 128), 3);
    const granule = value >>> 2;
    expect(value & 3).toBe(0);
    const words = arena.chunks[0]!.subarray(granule << GRANULE_SHIFT);
    expect([...words.subarray(0, 3)]).toEqual([(3 << 17) | (2 << 8) | 2, 0b11, 0x8000_0000 | 0]);
    expect(read(value)).toEqual([65, 66, 128]);
  });
});
