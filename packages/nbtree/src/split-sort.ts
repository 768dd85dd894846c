// The order of split points of equal merit is what PostgreSQL's sort leaves, which is not stable: so this is that sort,
// Bentley and McIlroy's "Engineering a sort function" (1993) with a look for sorted input. PostgreSQL: sort_template.h.

/**
 * Sorts `count` numbers of `order`, from `start` on, by the key that `keys` has for each, as PostgreSQL's `qsort` does:
 * the same swaps in the same order.
 */
export function sortSplits(order: Uint16Array, keys: Int16Array, start: number, count: number): void {
  let a = start;
  let n = count;
  for (;;) {
    if (n < 7) return insertionSort(order, keys, a, n);
    if (isSorted(order, keys, a, n)) return;
    swap(order, a, pivotOf(order, keys, a, n));
    const pivot = keys[order[a]];
    let pa = a + 1;
    let pb = a + 1;
    let pc = a + n - 1;
    let pd = pc;
    for (;;) {
      for (; pb <= pc && keys[order[pb]] <= pivot; pb++) if (keys[order[pb]] === pivot) swap(order, pa++, pb);
      for (; pb <= pc && keys[order[pc]] >= pivot; pc--) if (keys[order[pc]] === pivot) swap(order, pc, pd--);
      if (pb > pc) break;
      swap(order, pb++, pc--);
    }
    const end = a + n;
    swapMany(order, a, pb, pa - a < pb - pa ? pa - a : pb - pa);
    swapMany(order, pb, end, pd - pc < end - pd - 1 ? pd - pc : end - pd - 1);
    const low = pb - pa;
    const high = pd - pc;
    // The smaller part first, by recursion; the larger one by another round.
    if (low <= high) {
      if (low > 1) sortSplits(order, keys, a, low);
      if (high <= 1) return;
      a = end - high;
      n = high;
    } else {
      if (high > 1) sortSplits(order, keys, end - high, high);
      if (low <= 1) return;
      n = low;
    }
  }
}

function insertionSort(order: Uint16Array, keys: Int16Array, a: number, n: number): void {
  for (let i = a + 1; i < a + n; i++)
    for (let j = i; j > a && keys[order[j - 1]] > keys[order[j]]; j--) swap(order, j, j - 1);
}

function isSorted(order: Uint16Array, keys: Int16Array, a: number, n: number): boolean {
  for (let i = a + 1; i < a + n; i++) if (keys[order[i - 1]] > keys[order[i]]) return false;
  return true;
}

/** The middle one, of three above 7, of three times three above 40. */
function pivotOf(order: Uint16Array, keys: Int16Array, a: number, n: number): number {
  let middle = a + (n >>> 1);
  if (n === 7) return middle;
  let low = a;
  let high = a + n - 1;
  if (n > 40) {
    const d = n >>> 3;
    low = median(order, keys, low, low + d, low + 2 * d);
    middle = median(order, keys, middle - d, middle, middle + d);
    high = median(order, keys, high - 2 * d, high - d, high);
  }
  return median(order, keys, low, middle, high);
}

function median(order: Uint16Array, keys: Int16Array, a: number, b: number, c: number): number {
  const ka = keys[order[a]];
  const kb = keys[order[b]];
  const kc = keys[order[c]];
  if (ka < kb) return kb < kc ? b : ka < kc ? c : a;
  return kb > kc ? b : ka < kc ? a : c;
}

function swap(order: Uint16Array, i: number, j: number): void {
  const other = order[i];
  order[i] = order[j];
  order[j] = other;
}

/** Swaps `n` from `a` on with the `n` that end before `end`. */
function swapMany(order: Uint16Array, a: number, end: number, n: number): void {
  for (let i = 0; i < n; i++) swap(order, a + i, end - n + i);
}
