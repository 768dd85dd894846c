// A progress bar on stderr, when that is a terminal and nobody asked for silence.
import type { Progress } from '@blockwright/base';
import cliProgress from 'cli-progress';
import type { OutputStream } from '../io.ts';
import { formatCount, formatDuration } from './format.ts';

/** Where long work says how far it is. */
export interface ProgressDisplay {
  readonly onProgress: (progress: Progress) => void;
  /** Takes the bar away. To be called however the work ends: the terminal's cursor is hidden until then. */
  stop(): void;
}

const SILENT: ProgressDisplay = { onProgress: () => {}, stop: () => {} };

/** A bar on `stream`; nothing at all where `wanted` is false or the stream is no terminal. */
export function progressDisplay(stream: OutputStream, wanted: boolean): ProgressDisplay {
  if (!wanted || stream.isTTY !== true) return SILENT;
  let started: number | undefined;
  let latest: Progress = { phase: '', done: 0, total: 0, unit: '' };
  const bar = new cliProgress.SingleBar({
    stream: stream as NodeJS.WriteStream,
    clearOnComplete: true,
    hideCursor: true,
    gracefulExit: false, // Ctrl-C is ours: an AbortSignal, and then stop()
    fps: 10,
    format: () => progressLine(latest, performance.now() - (started ?? 0), stream.columns ?? 80),
  });
  return {
    onProgress(progress) {
      // A new phase counts something else: the clock that the estimate stands on starts again.
      if (started === undefined) bar.start(1, 0);
      if (started === undefined || progress.phase !== latest.phase) started = performance.now();
      latest = progress;
      bar.update(0);
    },
    stop() {
      if (started !== undefined) bar.stop();
      started = undefined;
    },
  };
}

const NARROWEST_BAR = 8;
const WIDEST_BAR = 30;

/** One line, narrower than the terminal: `loading lineitem  ████░░░░   42 %  25,000 of 60,175 rows  1.2 s left`. */
export function progressLine(progress: Progress, elapsedMs: number, columns: number): string {
  const { phase, done, total, unit } = progress;
  const room = Math.max(0, columns - 1);
  if (!(total > 0)) return `${phase}  ${formatCount(done)} ${unit}`.slice(0, room);
  const fraction = Math.min(1, done / total);
  const parts = [
    `${String(Math.floor(fraction * 100)).padStart(3)} %`,
    `${formatCount(done)} of ${formatCount(total)} ${unit}`,
  ];
  if (fraction > 0.02 && fraction < 1 && elapsedMs > 500) {
    parts.push(`${formatDuration((elapsedMs * (1 - fraction)) / fraction)} left`);
  }
  // The bar takes what room there is; where there is too little, the last parts go first.
  for (;;) {
    const width = Math.min(WIDEST_BAR, room - [phase, '', ...parts].join('  ').length);
    if (width >= NARROWEST_BAR) return [phase, bar(fraction, width), ...parts].join('  ');
    if (parts.length === 1) return [phase, ...parts].join('  ').slice(0, room);
    parts.pop();
  }
}

function bar(fraction: number, width: number): string {
  const filled = Math.round(fraction * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
