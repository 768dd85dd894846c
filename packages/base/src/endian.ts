// Pages are little-endian and read through typed arrays, which have the host's byte order.

/** @throws Error on a big-endian host: pages would be read wrongly there. Called when the package is imported. */
export function refuseBigEndianHost(
  firstByteOfOne: number = new Uint8Array(new Uint16Array([1]).buffer)[0] as number,
): void {
  if (firstByteOfOne !== 1) {
    throw new Error('Blockwright reads little-endian pages in place and cannot run on a big-endian host');
  }
}
