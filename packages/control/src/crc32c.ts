// CRC-32C (Castagnoli, reflected, as in iSCSI): the check of control files. PostgreSQL: pg_crc32c_sb8.c.

const POLYNOMIAL = 0x82f6_3b78;

const TABLE: Uint32Array = makeTable();

function makeTable(): Uint32Array {
  const table = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ POLYNOMIAL;
    table[byte] = crc;
  }
  return table;
}

/**
 * CRC-32C of `bytes` from index `from` up to `to`, as uint32.
 * @param crc the result for the bytes before these, to go on from.
 */
export function crc32c(bytes: Uint8Array, from: number = 0, to: number = bytes.length, crc: number = 0): number {
  let c = ~crc;
  for (let i = from; i < to; i++) c = (TABLE[(c ^ (bytes[i] as number)) & 0xff] as number) ^ (c >>> 8);
  return ~c >>> 0;
}
