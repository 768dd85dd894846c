import { describe, expect, it } from 'vitest';
import * as lists from '../src/lists.ts';

describe('lists', () => {
  it('weigh together what the grammar says', () => {
    const totals = {
      GRAMMAR: 11,
      NOUN_PHRASES: 90,
      VERB_PHRASES: 72,
      TERMINATORS: 55,
      NOUNS: 340,
      VERBS: 174,
      ADJECTIVES: 289,
      ADVERBS: 262,
      AUXILIARIES: 18,
      PREPOSITIONS: 456,
    } as const;
    for (const [name, total] of Object.entries(totals)) {
      const list = lists[name as keyof typeof totals];
      expect([name, list.total, list.picks().length]).toEqual([name, total, total]);
    }
  });

  it('pick a word for as many draws as it weighs', () => {
    const picks = lists.NOUN_PHRASES.picks();
    expect([picks[9], picks[10], picks[29], picks[30], picks[39], picks[40], picks[89]]).toEqual([0, 1, 1, 2, 2, 3, 3]);
  });

  it('have as many words as dbgen', () => {
    const counts = {
      PART_TYPES: 150,
      CONTAINERS: 40,
      MANUFACTURERS: 5,
      BRANDS: 25,
      SHIP_INSTRUCTIONS: 4,
      SHIP_MODES: 7,
      PRIORITIES: 5,
      SEGMENTS: 5,
      REGIONS: 5,
      NATIONS: 25,
      COLOURS: 92,
    } as const;
    for (const [name, count] of Object.entries(counts)) {
      const list = lists[name as keyof typeof counts];
      expect([name, list.words.length, new Set(list.words).size]).toEqual([name, count, count]);
      list.words.forEach((word, i) => {
        const bytes = list.data.subarray(list.starts[i], list.starts[i] + list.lengths[i]);
        expect(String.fromCharCode(...bytes)).toBe(word);
      });
    }
    expect(lists.NATION_REGIONS).toHaveLength(25);
    expect(lists.PART_TYPES.words[7]).toBe('STANDARD BURNISHED BRASS');
    expect(lists.BRANDS.words[3 * 5 + 1]).toBe('Brand#42');
  });
});
