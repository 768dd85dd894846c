// Amounts of memory as people write them.

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  kb: 2 ** 10,
  m: 2 ** 20,
  mb: 2 ** 20,
  g: 2 ** 30,
  gb: 2 ** 30,
};

/**
 * Bytes of a size: a number, or text such as `128MB`, `512k`, `1 GB`. PostgreSQL: memory units of guc.c.
 * @throws RangeError naming `what` for anything else.
 */
export function parseMemorySize(what: string, size: number | string): number {
  const match = /^\s*(\d+)\s*([a-z]*)\s*$/i.exec(String(size));
  const unit = match === null ? undefined : UNITS[(match[2] as string).toLowerCase()];
  const bytes = match === null || unit === undefined ? Number.NaN : Number(match[1]) * unit;
  if (!Number.isSafeInteger(bytes)) {
    throw new RangeError(`${what} "${String(size)}" is not a size: bytes, or a number with kB, MB or GB`);
  }
  return bytes;
}
