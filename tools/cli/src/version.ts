// The package's own version, read from its package.json: it is written down once.
import { readFileSync } from 'node:fs';

/** Such as `0.1.0`. */
export function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
