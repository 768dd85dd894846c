// The kernel of the page checksum: src/checksum.ts says what it computes, and is what it must equal.
//
// AssemblyScript. Eight vectors of four lanes stay in registers, so a page is read once, 128 bytes a round. It is not
// written to: what the first round would take in of pd_checksum is in the lanes before, and so drops out. Nothing here
// has static data or an allocator: the memory belongs to the pages. scripts/kernel.ts compiles it into
// src/kernel-bytes.ts, which is committed.

const PRIME: i32 = 16777619;

/** One round of four lanes. */
function mix(lanes: v128, words: v128): v128 {
  const x = v128.xor(lanes, words);
  return v128.xor(i32x4.mul(x, i32x4.splat(PRIME)), i32x4.shr_u(x, 17));
}

/** The two rounds of zero words that end a page. */
function end(lanes: v128): v128 {
  const x = v128.xor(i32x4.mul(lanes, i32x4.splat(PRIME)), i32x4.shr_u(lanes, 17));
  return v128.xor(i32x4.mul(x, i32x4.splat(PRIME)), i32x4.shr_u(x, 17));
}

/** The hash of the page of `size` bytes at `at`. */
export function hash(at: usize, size: usize): i32 {
  const behind = at + size;
  const checksum = v128.and(v128.load(at), i32x4(0, 0, 0xffff, 0));
  let a = v128.xor(i32x4(0x5b1f36e9, 0xb8525960, 0x02ab50aa, 0x1de66d2a), checksum);
  let b = i32x4(0x79ff467a, 0x9bb9f8a3, 0x217e7cd2, 0x83e13d2c);
  let c = i32x4(0xf8d4474f, 0xe39eb970, 0x42c6ae16, 0x993216fa);
  let d = i32x4(0x7b093b5d, 0x98daff3c, 0xf718902a, 0x0b1c9cdb);
  let e = i32x4(0xe58f764b, 0x187636bc, 0x5d7b3bb1, 0xe73de7de);
  let f = i32x4(0x92bec979, 0xcca6c0b2, 0x304a0979, 0x85aa43d4);
  let g = i32x4(0x783125bb, 0x6ca8eaa2, 0xe407eac6, 0x4b5cfc3e);
  let h = i32x4(0x9fbf8c76, 0x15ca20be, 0xf2ca9fd3, 0x959bd756);
  for (; at < behind; at += 128) {
    a = mix(a, v128.load(at));
    b = mix(b, v128.load(at, 16));
    c = mix(c, v128.load(at, 32));
    d = mix(d, v128.load(at, 48));
    e = mix(e, v128.load(at, 64));
    f = mix(f, v128.load(at, 80));
    g = mix(g, v128.load(at, 96));
    h = mix(h, v128.load(at, 112));
  }
  const first = v128.xor(v128.xor(end(a), end(b)), v128.xor(end(c), end(d)));
  const second = v128.xor(v128.xor(end(e), end(f)), v128.xor(end(g), end(h)));
  const four = v128.xor(first, second);
  const two = i64x2.extract_lane(four, 0) ^ i64x2.extract_lane(four, 1);
  return <i32>two ^ <i32>(two >> 32);
}
