// bytea in PostgreSQL's hex text form.

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => (byte + 0x100).toString(16).slice(1));

/** `\x` and two digits a byte. PostgreSQL: `byteaout` with `bytea_output = hex`. */
export function byteaHex(bytes: Uint8Array): string {
  let text = '\\x';
  for (const byte of bytes) text += HEX[byte] as string;
  return text;
}
