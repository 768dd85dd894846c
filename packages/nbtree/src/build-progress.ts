// The phases of a build, under the names that PostgreSQL's pg_stat_progress_create_index has for them.
import type { Progress } from '@blockwright/base';

export function scanningProgress(progress: Progress): Progress {
  return { ...progress, phase: 'building index: scanning table' };
}

export function sortingProgress(done: number, total: number): Progress {
  return { phase: 'building index: sorting live tuples', done, total, unit: 'tuples' };
}

export function loadingProgress(done: number, total: number): Progress {
  return { phase: 'building index: loading tuples in tree', done, total, unit: 'tuples' };
}
