// Sorting a run of places whose tuples have the same leading key: by comparison, stable, merging upwards.
import type { Steps } from '@blockwright/base';
import { sortingProgress } from './build-progress.ts';

type ComparePlaces = (a: number, b: number) => number;

/** Runs this short are sorted by insertion. */
const SHORT_RUN = 12;
/** Comparisons between two steps, or a few more: some milliseconds. */
const STEP_COMPARES = 0x8000;

/** Sorts `places` from `start` to `end`. @param scratch as long as `places` */
export function* sortTies(
  places: Uint32Array,
  start: number,
  end: number,
  compare: ComparePlaces,
  scratch: Uint32Array,
): Steps<void> {
  if (end - start <= SHORT_RUN) {
    insert(places, start, end, compare);
    return;
  }
  let sorted = start + 1;
  while (sorted < end && compare(places[sorted - 1], places[sorted]) <= 0) sorted++;
  if (sorted === end) return;
  yield sortingProgress(start, places.length);
  let compares = 0;
  for (let at = start; at < end; at += SHORT_RUN) {
    insert(places, at, Math.min(at + SHORT_RUN, end), compare);
    compares += SHORT_RUN << 2;
    if (compares > STEP_COMPARES) {
      compares = 0;
      yield sortingProgress(start, places.length);
    }
  }
  for (let width = SHORT_RUN; width < end - start; width += width) {
    for (let left = start; left + width < end; left += width + width) {
      const middle = left + width;
      const right = Math.min(middle + width, end);
      // Both halves in order side by side, as of a table that is nearly in order, cost one comparison.
      compares += 1;
      if (compare(places[middle - 1], places[middle]) > 0) {
        yield* mergeHalves(places, left, middle, right, compare, scratch);
        compares += right - left;
      }
      if (compares > STEP_COMPARES) {
        compares = 0;
        yield sortingProgress(start, places.length);
      }
    }
  }
}

function insert(places: Uint32Array, start: number, end: number, compare: ComparePlaces): void {
  for (let i = start + 1; i < end; i++) {
    const place = places[i];
    let at = i;
    for (; at > start && compare(places[at - 1], place) > 0; at--) places[at] = places[at - 1];
    places[at] = place;
  }
}

/** Merges two neighbours, the left one from its copy in `scratch`. */
function* mergeHalves(
  places: Uint32Array,
  left: number,
  middle: number,
  right: number,
  compare: ComparePlaces,
  scratch: Uint32Array,
): Steps<void> {
  scratch.set(places.subarray(left, middle), left);
  let a = left;
  let b = middle;
  let to = left;
  while (a < middle && b < right) {
    const stop = Math.min(right, to + STEP_COMPARES);
    while (a < middle && b < right && to < stop) {
      const fromLeft = compare(scratch[a], places[b]) <= 0;
      places[to++] = fromLeft ? scratch[a++] : places[b++];
    }
    if (to === stop && to < right) yield sortingProgress(to, places.length);
  }
  places.set(scratch.subarray(a, middle), to);
}
