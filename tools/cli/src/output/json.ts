// JSON as the command prints it: int8 as a string, NaN and the infinities as strings, bytea as `\x…`.

/** The value as JSON text, on one line, or indented by `indent` blanks. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, replaceValue, indent);
}

function replaceValue(this: unknown, _key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array) return toHex(value);
  if (value instanceof Map) return Object.fromEntries(value);
  return value;
}

/** Bytes in PostgreSQL's hex form, `\x00ff`. */
function toHex(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}
