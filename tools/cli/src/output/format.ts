// Numbers, sizes and times as people read them, and lines that fit a terminal.

/** Made once, and only by who prints a number: it takes as long to make as thousands of numbers to print. */
let counts: Intl.NumberFormat | undefined;

/** A whole number with thousands apart: `1,234,567`. */
export function formatCount(value: number | bigint): string {
  counts ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
  return counts.format(value);
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A size as PostgreSQL's `pg_size_pretty` shows it: the largest unit that leaves at least 10 of it. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 10240 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Math.round(value)} ${UNITS[unit] as string}`;
}

/** A time as people read it: `850 ms`, `12.3 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Breaks a line of words so that it fits the terminal; further lines begin with `indent`. */
export function wrapWords(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && line.length + 1 + word.length >= columns) {
      lines.push(line);
      line = indent + word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join('\n');
}
