// What the TID store's figures mean, and what was found: each sentence stands only where the figures say so.
import { distinct } from './figures.mjs';
import { listed } from './tables.mjs';

/** `1,000,000 × 30` of a cell's variant. */
export const caseOf = ({ variant }) => variant.replace(/, [a-z]+-search$/, '');
/** One dead TID a block. */
export const isSparse = ({ ntids, nkeys }) => ntids === nkeys;

const code = (names) => listed(names.map((name) => `\`${name}\``));
const variants = (cells) => code(cells.map(({ variant }) => variant));
const cases = (cells) => code(distinct(cells.map(caseOf)));
/** One cell a case: memory and load are the same whatever is searched. */
const onePerCase = (cells) => distinct(cells.map(caseOf)).map((name) => cells.find((cell) => caseOf(cell) === name));

/** Offsets that do not fit the tree's own words: more than 31 of a block, or more than two from anywhere. */
const hasBitmap = ({ variant, ntids, nkeys }) => ntids > 31 * nkeys || (/spread/.test(variant) && ntids > 2 * nkeys);
const isFarApart = (cell) => isSparse(cell) && /apart/.test(cell.variant);

const isFaster = ({ ratio, differenceSeen }) => differenceSeen && ratio > 1;
const isSlower = ({ ratio, differenceSeen }) => differenceSeen && ratio < 1;
const isUnseen = ({ differenceSeen }) => !differenceSeen;

/** The array's memory over the tree's. */
export const timesTheMemory = (f, cells) => f.range(cells, 'memory_ratio', 'significant');

export function means(f, cells) {
  const dense = cells.filter((cell) => !isSparse(cell));
  const sparse = cells.filter(isSparse);
  const lines = [];
  if (dense.length > 0) {
    lines.push(
      `- **For who writes an engine:** with several dead TIDs a block, the array takes ${timesTheMemory(f, dense)} times the tree's memory. ${memoryText(dense)} ${searchText(f, dense)}`,
      `- **For who chooses a block size:** a larger block has more offsets under one key. The tree pays for a key once, however many of the block's tuples are dead${dense.some(hasBitmap) ? ', and for a bitmap where their offsets are many or far from each other' : ''}; the array pays for each tuple.`,
    );
  }
  if (sparse.length > 0) lines.push(sparseText(f, sparse));
  return lines.join('\n');
}

/** What the memory means to a vacuum with a limit. */
function memoryText(dense) {
  const dear = dense.filter(({ memory_ratio: ratio }) => ratio < 1);
  if (dear.length === 0) {
    return 'One memory limit then holds more dead tuples in the tree, and vacuum passes over the indexes less often.';
  }
  const where = dear.length === dense.length ? 'In every case' : `In ${cases(dear)}`;
  const others =
    dear.length === dense.length ? '' : ', elsewhere more of them, so that it passes over the indexes less often';
  return `${where} the tree takes more: one memory limit holds fewer dead tuples there, and vacuum passes over the indexes more often${others}.`;
}

function searchText(f, dense) {
  const [faster, slower, unseen] = [isFaster, isSlower, isUnseen].map((is) => dense.filter(is));
  if (unseen.length === dense.length) return 'No difference was seen between searches in the two.';
  const parts = [];
  if (faster.length > 0) {
    const where = faster.length === dense.length ? '' : ` in ${f.total(faster)} of ${f.total(dense)} searches`;
    parts.push(`the tree finds a TID ${f.range(faster, 'ratio', 'significant')} times as fast${where}`);
  }
  if (slower.length > 0) {
    parts.push(
      `the tree is slower in ${variants(slower)}, at ${f.range(slower, 'ratio', 'significant')} times the array's speed`,
    );
  }
  if (unseen.length > 0) parts.push(`no difference was seen in ${variants(unseen)}`);
  const text = parts.join('; ');
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function sparseText(f, sparse) {
  const dear = sparse.filter(({ memory_ratio: ratio }) => ratio < 1);
  if (dear.length === 0) {
    return `- **Where it was expected to look worst**, one dead TID a block, the array still takes ${timesTheMemory(f, sparse)} times the tree's memory.`;
  }
  return `- **Where it looks worst**, one dead TID a block, the array's memory is ${timesTheMemory(f, sparse)} times the tree's: in ${cases(dear)} the tree takes more.`;
}

export function findings(f, cells) {
  return [
    loadText(f, onePerCase(cells)),
    offsetsText(cells),
    memoText(f, cells),
    slowerText(f, cells),
    unseenText(cells),
  ]
    .filter((text) => text !== '')
    .map((text) => `- ${text}`)
    .join('\n');
}

/** Loading without new memory, and why the tree is behind where it is. */
function loadText(f, all) {
  const loaded = all.filter(({ reload_ratio: ratio }) => Number.isFinite(ratio));
  if (loaded.length === 0) return '';
  const slower = loaded.filter((cell) => cell.rt_reload_q1_ms > cell.array_reload_q3_ms);
  const why = [
    [slower.filter((cell) => !hasBitmap(cell)), 'nodes are built, where the array copies six bytes a TID'],
    [slower.filter(hasBitmap), 'each block gets a bitmap of its own'],
  ].filter(([found]) => found.length > 0);
  const more =
    slower.length === 0
      ? ''
      : `, and more than it, beyond the quartiles, in ${f.total(slower)} of ${f.total(loaded)} cases: ${why.map(([found, reason]) => `in ${cases(found)} ${reason}`).join('; ')}`;
  return `The first load of the array pays for memory that the system gives page by page as it is touched; loading again does not. Compared that way, the tree took ${f.range(loaded, 'reload_ratio', 'significant')} times the array's time${more}.`;
}

function offsetsText(cells) {
  const kind =
    'The first offsets of each block, as the discussion loads them, are the kindest case: they stand in the tree’s own words.';
  if (!cells.some((cell) => !isSparse(cell) && !hasBitmap(cell))) return '';
  return cells.some(({ variant }) => /spread/.test(variant))
    ? `${kind} The case “spread” draws as many at random from what a heap page can have, and needs a bitmap a block.`
    : kind;
}

/** What remembering gives the tree in order, beside an array that remembers too where that was measured. */
function memoText(f, cells) {
  const ordered = cells.filter(({ query }) => query === 'seq-search');
  if (ordered.length === 0) return '';
  const lead = ordered.some(isFaster)
    ? 'Part of the lead in order comes from what the tree remembers, the last leaf and the last block’s offsets'
    : 'In order the tree is helped by what it remembers, the last leaf and the last block’s offsets';
  const remembering = ordered.filter(({ array_memo_search_ms: ms }) => Number.isFinite(ms));
  const told = remembering.map((cell) => `${memoTimes(f, cell)} in \`${caseOf(cell)}\``);
  const beside =
    told.length === 0 ? '' : ` An array that remembers its last block too, over the tree: ${listed(told)}.`;
  return `${lead}; an index that is not in the table’s order has little of it.${beside}`;
}

/** The remembering array's time over the tree's. */
function memoTimes(f, cell) {
  const { memo_ratio: ratio, memo_ratio_low: low, memo_ratio_high: high } = cell;
  const times = Number.isFinite(ratio)
    ? f.show(cell, 'memo_ratio', 'significant')
    : f.take('ratio', [`${cell.path}/array_memo_search_ms`, `${cell.path}/rt_search_ms`], 'significant');
  return `${times} times the time${low <= 1 && high >= 1 ? ' (no difference seen)' : ''}`;
}

function slowerText(f, cells) {
  const behind = cells.filter(isSlower);
  if (behind.length === 0) return 'No search was seen to be slower in the tree.';
  const list = (found) =>
    listed(found.map((cell) => `\`${cell.variant}\` (${f.show(cell, 'ratio', 'significant')} times)`));
  const [far, others] = [behind.filter(isFarApart), behind.filter((cell) => !isFarApart(cell))];
  return [
    ...(others.length === 0 ? [] : [`The array was searched faster in ${list(others)}.`]),
    ...(far.length === 0
      ? []
      : [`The array was searched faster in ${list(far)}: there the tree has no neighbours to gain from.`]),
  ].join(' ');
}

function unseenText(cells) {
  const unseen = cells.filter(isUnseen);
  return unseen.length === 0 ? '' : `No difference was seen in the search of ${variants(unseen)}.`;
}
