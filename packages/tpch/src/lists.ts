// The word lists of TPC-H, in their order, which is part of the data. A list with weights is written `word weight`;
// after a `1:` the words, parted by commas, weigh 1 each.

/** A list of strings to pick from, as bytes one after the other. */
export class PickList {
  readonly words: readonly string[];
  readonly data: Uint8Array;
  readonly starts: Int32Array;
  readonly lengths: Int32Array;

  constructor(words: readonly string[]) {
    this.words = words;
    this.data = Uint8Array.from(words.join('').padEnd(words.join('').length + 8), (letter) => letter.charCodeAt(0));
    this.starts = new Int32Array(words.length);
    this.lengths = Int32Array.from(words, (word) => word.length);
    for (let i = 1; i < words.length; i++) this.starts[i] = this.starts[i - 1] + words[i - 1].length;
  }
}

/** Words with weights: a draw j in [1, total] picks the first whose cumulative weight reaches j. */
export class WeightedList {
  readonly words: readonly string[];
  readonly weights: readonly number[];
  readonly total: number;

  constructor(entries: readonly (readonly [word: string, weight: number])[]) {
    this.words = entries.map(([word]) => word);
    this.weights = entries.map(([, weight]) => weight);
    this.total = this.weights.reduce((sum, weight) => sum + weight, 0);
  }

  /** For each draw from 0 (a draw of 1) on, the number of the word that it picks. */
  picks(): Int32Array {
    const picks: number[] = [];
    this.weights.forEach((weight, word) => {
      for (let i = 0; i < weight; i++) picks.push(word);
    });
    return Int32Array.from(picks);
  }
}

/** `packages 40; foxes 20; 1: frets, dinos; bold 20` */
function weighted(text: string): WeightedList {
  const entries: [string, number][] = [];
  for (const part of text.split('; ')) {
    const item = part.trim();
    if (item.startsWith('1:')) {
      for (const word of item.slice(2).split(',')) entries.push([word.trim(), 1]);
    } else {
      const space = item.lastIndexOf(' ');
      entries.push([item.slice(0, space), Number(item.slice(space + 1))]);
    }
  }
  return new WeightedList(entries);
}

/** Sentence forms: N noun phrase, V verb phrase, P preposition with its noun phrase, T terminator. */
export const GRAMMAR: WeightedList = new WeightedList([
  ['NVT', 3],
  ['NVPT', 3],
  ['NVNT', 3],
  ['NPVNT', 1],
  ['NPVPT', 1],
]);

/** Noun phrases: N noun, J adjective, D adverb; the comma stands after the first adjective. */
export const NOUN_PHRASES: WeightedList = new WeightedList([
  ['N', 10],
  ['JN', 20],
  ['J,JN', 10],
  ['DJN', 50],
]);

/** Verb phrases: V verb, X auxiliary, D adverb. */
export const VERB_PHRASES: WeightedList = new WeightedList([
  ['V', 30],
  ['XV', 1],
  ['VD', 40],
  ['XVD', 1],
]);

export const TERMINATORS: WeightedList = new WeightedList([
  ['.', 50],
  [';', 1],
  [':', 1],
  ['?', 1],
  ['!', 1],
  ['--', 1],
]);

export const NOUNS: WeightedList = weighted(
  'packages 40; requests 40; accounts 40; deposits 40; foxes 20; ideas 20; theodolites 20; pinto beans 20; ' +
    'instructions 20; dependencies 10; excuses 10; platelets 10; asymptotes 10; courts 5; dolphins 5; ' +
    '1: multipliers, sauternes, warthogs, frets, dinos, attainments, somas, Tiresias, patterns, forges, braids, ' +
    'frays, warhorses, dugouts, notornis, epitaphs, pearls, tithes, waters, orbits, gifts, sheaves, depths, ' +
    'sentiments, decoys, realms, pains, grouches, escapades, hockey players',
);

export const VERBS: WeightedList = weighted(
  'sleep 20; wake 20; are 20; cajole 20; haggle 20; nag 10; use 10; boost 10; affix 5; detect 5; integrate 5; ' +
    '1: maintain, nod, was, lose, sublate, solve, thrash, promise, engage, hinder, print, x-ray, breach, eat, grow, ' +
    'impress, mold, poach, serve, run, dazzle, snooze, doze, unwind, kindle, play, hang, believe, doubt',
);

export const ADJECTIVES: WeightedList = weighted(
  'special 20; pending 20; unusual 20; express 20; ' +
    '1: furious, sly, careful, blithe, quick, fluffy, slow, quiet, ruthless, thin, close, dogged, daring, brave, ' +
    'stealthy, permanent, enticing, idle, busy; ' +
    'regular 50; final 40; ironic 40; even 30; bold 20; silent 10',
);

export const ADVERBS: WeightedList = weighted(
  'sometimes 1; always 1; never 1; furiously 50; slyly 50; carefully 50; blithely 40; quickly 30; fluffily 20; ' +
    '1: slowly, quietly, ruthlessly, thinly, closely, doggedly, daringly, bravely, stealthily, permanently, ' +
    'enticingly, idly, busily, regularly, finally, ironically, evenly, boldly, silently',
);

export const AUXILIARIES: WeightedList = weighted(
  '1: do, may, might, shall, will, would, can, could, should, ought to, must, will have to, shall have to, ' +
    'could have to, should have to, must have to, need to, try to',
);

/** `whithout` is in the data. */
export const PREPOSITIONS: WeightedList = weighted(
  'about 50; above 50; according to 50; across 50; after 50; against 40; along 40; alongside of 30; among 30; ' +
    'around 20; at 10; ' +
    '1: atop, before, behind, beneath, beside, besides, between, beyond, by, despite, during, except, for, from, ' +
    'in place of, inside, instead of, into, near, of, on, outside, over, past, since, through, throughout, to, ' +
    'toward, under, until, up, upon, whithout, with, within',
);

function combined(separator: string, ...parts: readonly (readonly string[])[]): string[] {
  return parts.reduce<string[]>(
    (made, words) => (made.length === 0 ? [...words] : made.flatMap((a) => words.map((b) => a + separator + b))),
    [],
  );
}

export const PART_TYPES: PickList = new PickList(
  combined(
    ' ',
    ['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'],
    ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'],
    ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'],
  ),
);
export const CONTAINERS: PickList = new PickList(
  combined(' ', ['SM', 'LG', 'MED', 'JUMBO', 'WRAP'], ['CASE', 'BOX', 'BAG', 'JAR', 'PACK', 'PKG', 'CAN', 'DRUM']),
);
export const MANUFACTURERS: PickList = new PickList(combined('', ['Manufacturer#'], ['1', '2', '3', '4', '5']));
/** Brand `mb` stands at (m - 1) * 5 + b - 1. */
export const BRANDS: PickList = new PickList(
  combined('', ['Brand#'], ['1', '2', '3', '4', '5'], ['1', '2', '3', '4', '5']),
);
export const SHIP_INSTRUCTIONS: PickList = new PickList([
  'DELIVER IN PERSON',
  'COLLECT COD',
  'TAKE BACK RETURN',
  'NONE',
]);
export const SHIP_MODES: PickList = new PickList(['REG AIR', 'AIR', 'RAIL', 'TRUCK', 'MAIL', 'FOB', 'SHIP']);
/** Return flags (R and A are drawn), line statuses (O and F) and order statuses. */
export const FLAGS: PickList = new PickList(['R', 'A', 'N', 'O', 'F', 'P']);
export const PRIORITIES: PickList = new PickList(['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']);
export const SEGMENTS: PickList = new PickList(['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY']);
export const REGIONS: PickList = new PickList(['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST']);

const NATIONS_AND_REGIONS: readonly (readonly [name: string, region: number])[] = [
  ['ALGERIA', 0],
  ['ARGENTINA', 1],
  ['BRAZIL', 1],
  ['CANADA', 1],
  ['EGYPT', 4],
  ['ETHIOPIA', 0],
  ['FRANCE', 3],
  ['GERMANY', 3],
  ['INDIA', 2],
  ['INDONESIA', 2],
  ['IRAN', 4],
  ['IRAQ', 4],
  ['JAPAN', 2],
  ['JORDAN', 4],
  ['KENYA', 0],
  ['MOROCCO', 0],
  ['MOZAMBIQUE', 0],
  ['PERU', 1],
  ['CHINA', 2],
  ['ROMANIA', 3],
  ['SAUDI ARABIA', 4],
  ['VIETNAM', 2],
  ['RUSSIA', 3],
  ['UNITED KINGDOM', 3],
  ['UNITED STATES', 1],
];
export const NATIONS: PickList = new PickList(NATIONS_AND_REGIONS.map(([name]) => name));
export const NATION_REGIONS: readonly number[] = NATIONS_AND_REGIONS.map(([, region]) => region);

export const COLOURS: PickList = new PickList(
  (
    'almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse ' +
    'chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest ' +
    'frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light ' +
    'lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale ' +
    'papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky ' +
    'slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow'
  ).split(' '),
);
