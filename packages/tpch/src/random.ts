// The one random number generator of TPC-H's data: seed' = seed * 16807 mod (2^31 - 1), and jumps along it. Every
// column of every table has a stream of its own, which uses up a fixed number of draws for each row.

/** 2^31 - 1. */
export const MODULUS = 2147483647;
const MULTIPLIER = 16807;

/** The seed after `seed`. In 32-bit halves, and the modulus folded: a double's remainder would be ten times slower. */
export function nextSeed(seed: number): number {
  const high = Math.imul(seed >>> 16, MULTIPLIER);
  const sum = (Math.imul(seed & 0xffff, MULTIPLIER) + ((high & 0x7fff) << 16) + (high >>> 15)) | 0;
  return (sum & MODULUS) + (sum >>> 31);
}

/**
 * The draw that the advanced `seed` stands for: an integer from `low` on, one of `range`. Exact for ranges up to 2^53:
 * first the division, then the product, each rounded to a double.
 */
export function drawn(seed: number, low: number, range: number): number {
  return low + Math.floor((seed / MODULUS) * range);
}

/** a * b mod 2^31 - 1. Every partial product stays below 2^47, so that doubles are exact. */
export function multiplySeed(a: number, b: number): number {
  const high = ((a >>> 16) * b) % MODULUS;
  return (high * 65536 + (a & 0xffff) * b) % MODULUS;
}

/** 16807^draws mod 2^31 - 1: what `draws` draws multiply a seed by. `draws` is an integer below 2^53. */
export function seedPower(draws: number): number {
  let rest = draws;
  let square = MULTIPLIER;
  let power = 1;
  while (rest > 0) {
    if (rest % 2 === 1) power = multiplySeed(power, square);
    square = multiplySeed(square, square);
    rest = Math.floor(rest / 2);
  }
  return power;
}

/** The seed after `draws` draws from `seed`. */
export function skipDraws(seed: number, draws: number): number {
  return multiplySeed(seed, seedPower(draws));
}

/** One column's stream, standing before the first draw of a row. */
export class Stream {
  seed: number;
  /** Draws a row. */
  readonly budget: number;

  constructor([firstSeed, budget]: StreamStart, fromRow: number) {
    this.seed = skipDraws(firstSeed, fromRow * budget);
    this.budget = budget;
  }
}

/** The seed before row 0, and the number of draws that a row uses up. */
export type StreamStart = readonly [seed: number, budget: number];

/** A row of `lineitem` streams is an order (7 lines), a row of `partsupp` streams a part (4 suppliers). */
export const STREAMS = {
  p_name: [709314158, 92],
  p_mfgr: [1, 1],
  p_brand: [46831694, 1],
  p_type: [1841581359, 1],
  p_size: [1193163244, 1],
  p_container: [727633698, 1],
  p_comment: [804159733, 2],
  ps_availqty: [1671059989, 4],
  ps_supplycost: [1051288424, 4],
  ps_comment: [1961692154, 8],
  s_address: [706178559, 9],
  s_nation: [110356601, 1],
  s_phone: [884434366, 3],
  s_acctbal: [962338209, 1],
  s_comment: [1341315363, 2],
  s_noteNoise: [263032577, 1],
  s_noteType: [753643799, 1],
  s_noteSelect: [202794285, 1],
  s_noteOffset: [715851524, 1],
  c_address: [881155353, 9],
  c_nation: [1489529863, 1],
  c_phone: [1521138112, 3],
  c_acctbal: [298370230, 1],
  c_mktsegment: [1140279430, 1],
  c_comment: [1335826707, 2],
  n_comment: [606179079, 2],
  r_comment: [1500869201, 2],
  o_custkey: [851767375, 1],
  o_orderdate: [1066728069, 1],
  o_orderpriority: [591449447, 1],
  o_clerk: [1171034773, 1],
  o_comment: [276090261, 2],
  o_lineCount: [1434868289, 1],
  l_quantity: [209208115, 7],
  l_discount: [554590007, 7],
  l_tax: [721958466, 7],
  l_shipinstruct: [1371272478, 7],
  l_shipmode: [675466456, 7],
  l_partkey: [1808217256, 7],
  l_suppkey: [2095021727, 7],
  l_shipdate: [1769349045, 7],
  l_commitdate: [904914315, 7],
  l_receiptdate: [373135028, 7],
  l_returnflag: [717419739, 7],
  l_comment: [1095462486, 14],
} as const;

/** The text pool's stream has no rows: one seed, and the pool is drawn from it in one go. */
export const TEXT_POOL_SEED = 933588178;
