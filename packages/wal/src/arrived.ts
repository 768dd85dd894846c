// What a write that failed has put into a file in spite of it.

/** What a disk writes as a whole. */
const SECTOR_BYTES = 512;

/**
 * Up to which index `wanted` may have been written over a file that now has `found`: the last sector that has all of it and
 * is not zero (sectors arrive in any order), or as far as both begin alike. `position` is that of the first byte.
 */
export function arrivedUpTo(found: Uint8Array, wanted: Uint8Array, position: number): number {
  let arrived = 0;
  while (arrived < wanted.length && found[arrived] === wanted[arrived]) arrived++;
  for (let from = arrived; from < wanted.length; ) {
    const to = Math.min(wanted.length, from + SECTOR_BYTES - ((position + from) & (SECTOR_BYTES - 1)));
    let isSame = true;
    let isZero = true;
    for (let i = from; i < to; i++) {
      if (found[i] !== wanted[i]) isSame = false;
      if (wanted[i] !== 0) isZero = false;
    }
    if (isSame && !isZero) arrived = to;
    from = to;
  }
  return arrived;
}
