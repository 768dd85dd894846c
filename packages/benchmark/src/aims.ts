// Aims: what a benchmark stands under, judged from ratios within the run.
import type { Aim } from './report.ts';
import type { Comparison } from './statistics.ts';

/** `measured` must be `aim` or more; null when it could not be measured. */
export function aimAtLeast(name: string, aim: number, measured: number | Comparison | null): Aim {
  return judge(name, aim, 'at least', measured);
}

/** `measured` must be `aim` or less; null when it could not be measured. */
export function aimAtMost(name: string, aim: number, measured: number | Comparison | null): Aim {
  return judge(name, aim, 'at most', measured);
}

function judge(name: string, aim: number, comparison: Aim['comparison'], measured: number | Comparison | null): Aim {
  if (measured === null) return { name, aim, comparison, measured: null, met: null };
  const value = typeof measured === 'number' ? measured : measured.ratio;
  const met = comparison === 'at least' ? value >= aim : value <= aim;
  const judged = { name, aim, comparison, measured: value, met };
  return typeof measured === 'number' ? judged : { ...judged, interval: [measured.low, measured.high] };
}

/** In words: `8 kB count: 15.3, aim at least 15: met`. */
export function aimText(aim: Aim): string {
  const wanted = `aim ${aim.comparison} ${aim.aim}`;
  if (aim.measured === null) return `${aim.name}: not measured, ${wanted}`;
  const interval = aim.interval === undefined ? '' : ` (${aim.interval.map((end) => end.toFixed(3)).join(' to ')})`;
  return `${aim.name}: ${aim.measured.toFixed(3)}${interval}, ${wanted}: ${aim.met === true ? 'met' : 'not met'}`;
}
