// The checksum once more, from its description and not from the package's code: what every answer is compared with.
// One row of 32 words after the other, all sums in an array, a plain remainder.

const PRIME = 16777619;
const SUMS = 32;
const ROW_BYTES = SUMS * 4;
/** Where the sums start: facts of PostgreSQL's storage/checksum_impl.h. */
const STARTS = Uint32Array.from(
  (
    '5B1F36E9 B8525960 02AB50AA 1DE66D2A 79FF467A 9BB9F8A3 217E7CD2 83E13D2C F8D4474F E39EB970 42C6AE16 993216FA ' +
    '7B093B5D 98DAFF3C F718902A 0B1C9CDB E58F764B 187636BC 5D7B3BB1 E73DE7DE 92BEC979 CCA6C0B2 304A0979 85AA43D4 ' +
    '783125BB 6CA8EAA2 E407EAC6 4B5CFC3E 9FBF8C76 15CA20BE F2CA9FD3 959BD756'
  )
    .split(' ')
    .map((hex) => Number.parseInt(hex, 16)),
);

/** The checksum of the page `bytes` as block `block` of its fork. */
function secondOpinion(bytes: Uint8Array, block: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sums = STARTS.slice();
  for (let row = 0; row < bytes.length + 2 * ROW_BYTES; row += ROW_BYTES) {
    for (let i = 0; i < SUMS; i++) {
      let word = row < bytes.length ? view.getUint32(row + i * 4, true) : 0;
      if (row === 0 && i === 2) word = Math.floor(word / 65536) * 65536;
      const mixed = (sums[i] as number) ^ word;
      sums[i] = Math.imul(mixed, PRIME) ^ (mixed >>> 17);
    }
  }
  const all = sums.reduce((a, b) => a ^ b);
  return (((all ^ block) >>> 0) % 65535) + 1;
}

/** The checksums of the pages of `size` bytes in `bytes`, the first one's block being 0. */
export function secondOpinions(bytes: Uint8Array, size: number): Uint32Array {
  const count = Math.floor(bytes.length / size);
  return Uint32Array.from({ length: count }, (_, i) => secondOpinion(bytes.subarray(i * size, (i + 1) * size), i));
}
