// What this file is for, in one to five lines.

/** What it does, with units, ranges, errors thrown, and the PostgreSQL source it corresponds to. */
export function twice(n: number): number {
  return n + n;
}
