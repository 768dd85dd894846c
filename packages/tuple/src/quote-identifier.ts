// A name as SQL writes it.

/** The name, in double quotes unless it needs none. PostgreSQL: `quote_identifier`. */
export function quoteIdentifier(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

const RESERVED: ReadonlySet<string> = new Set<string>();
