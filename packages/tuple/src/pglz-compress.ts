// pglz compression, making the very bytes that PostgreSQL's compressor makes with its default strategy: the same chains
// of earlier positions, tried in the same order, with the same patience.
//
// Positions of the last 4096 bytes hang in chains by a hash of four bytes, newest first. A position's chain is searched
// for the longest match until one is good enough, and what is good enough shrinks by a tenth an entry.
// PostgreSQL: pg_lzcompress.c (pglz_compress, PGLZ_strategy_default).

const HISTORY = 4096;
const OFFSET_END = 0xfff;
const MATCH_MAX = 273;
const INPUT_MIN = 32;
const GOOD_MATCH = 128;
/** Output without any match after which the attempt is given up. */
const FIRST_MATCH_BY = 1024;

const heads = new Int16Array(8192);
const next = new Int16Array(HISTORY + 1);
const previous = new Int16Array(HISTORY + 1);
const hashes = new Int16Array(HISTORY + 1);
const positions = new Int32Array(HISTORY + 1);

function tableSize(length: number): number {
  return length < 128 ? 512 : length < 256 ? 1024 : length < 512 ? 2048 : length < 1024 ? 4096 : 8192;
}

/** PostgreSQL hashes signed bytes on x86-64. */
function signed(byte: number): number {
  return (byte << 24) >> 24;
}

/**
 * The compressed form of `data`, or `undefined` when it would not save a quarter.
 */
export function pglzCompress(data: Uint8Array): Uint8Array | undefined {
  const length = data.length;
  if (length < INPUT_MIN) return undefined;
  const limit = Math.floor((length * 75) / 100);
  const out = new Uint8Array(limit + 8);
  const mask = tableSize(length) - 1;
  heads.fill(0, 0, mask + 1);
  const hash = (at: number): number =>
    (length - at < 4
      ? signed(data[at])
      : (signed(data[at]) << 6) ^ (signed(data[at + 1]) << 4) ^ (signed(data[at + 2]) << 2) ^ signed(data[at + 3])) &
    mask;

  let entry = 1;
  let isFull = false;
  const remember = (at: number): void => {
    if (isFull) unlink(entry);
    const slot = hash(at);
    const head = heads[slot];
    next[entry] = head;
    previous[entry] = 0;
    hashes[entry] = slot;
    positions[entry] = at;
    previous[head] = entry;
    heads[slot] = entry;
    if (++entry > HISTORY) {
      entry = 1;
      isFull = true;
    }
  };

  let to = 0;
  let control = 0; // where the current control byte lies
  let bit = 0x100;
  let hasMatch = false;
  for (let at = 0; at < length; ) {
    if (to >= limit || (!hasMatch && to >= FIRST_MATCH_BY)) return undefined;
    if (bit > 0x80) {
      control = to;
      out[to++] = 0;
      bit = 1;
    }
    const match = findMatch(data, at, heads[hash(at)]);
    if (match === 0) {
      out[to++] = data[at];
      remember(at++);
    } else {
      const size = match >>> 12;
      const offset = match & 0xfff;
      out[control] |= bit;
      out[to++] = ((offset & 0xf00) >> 4) | (size > 17 ? 0x0f : size - 3);
      out[to++] = offset;
      if (size > 17) out[to++] = size - 18;
      for (const end = at + size; at < end; ) remember(at++);
      hasMatch = true;
    }
    bit <<= 1;
  }
  return to < limit ? out.slice(0, to) : undefined;
}

function unlink(entry: number): void {
  const before = previous[entry];
  const after = next[entry];
  if (before === 0) heads[hashes[entry]] = after;
  else next[before] = after;
  previous[after] = before;
}

/** The best match at `at` among the chain from `entry`, as length << 12 | offset; 0 for none of at least three bytes. */
function findMatch(data: Uint8Array, at: number, entry: number): number {
  let best = 0;
  let bestOffset = 0;
  let good = GOOD_MATCH;
  const most = Math.min(MATCH_MAX, data.length - at);
  while (entry !== 0) {
    const from = positions[entry];
    if (at - from >= OFFSET_END) break;
    let size = 0;
    while (size < most && data[at + size] === data[from + size]) size++;
    if (size > best) {
      best = size;
      bestOffset = at - from;
    }
    entry = next[entry];
    if (entry !== 0) {
      if (best >= good) break;
      good -= Math.floor((good * 10) / 100);
    }
  }
  return best > 2 ? (best << 12) | bestOffset : 0;
}
