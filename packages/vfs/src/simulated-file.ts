// Files of the simulated disk: of what was written since the last sync, each sector has on the disk what was durable, or
// what it held in the cache after any of the writes since.
import { highWord, lowWord } from '@blockwright/base';
import { type SharedBytes, SparseBytes } from './sparse.ts';
import { type Choices, EACH_SECTOR, EACH_WRITE, KEEP_ALL, KEEP_PREFIX, LOSE_ALL } from './survival.ts';

/** What is durable of a file from an operation on. */
export interface FileState {
  readonly operation: number;
  /** The last change that the sync has seen; what came after it may be lost. */
  readonly through: number;
  readonly bytes: SharedBytes;
  /** Whether a sync has failed: what the process sees is not what will be durable. */
  readonly diverged?: boolean;
}

/** A write, or (without data) a truncate to `size`. Zeros are not kept: segments of the WAL are filled with them. */
export interface FileChange {
  readonly operation: number;
  readonly position: number;
  readonly length: number;
  readonly data: Uint8Array | 'zeros' | undefined;
  /** Bytes of the file after it. */
  readonly size: number;
}

const SECTOR_SHIFT = 9;
const SECTOR_BYTES = 1 << SECTOR_SHIFT;
const SECTORS_A_WORD = 1 << (32 - SECTOR_SHIFT);

function sectorOf(position: number): number {
  return highWord(position) * SECTORS_A_WORD + (lowWord(position) >>> SECTOR_SHIFT);
}

/** A file's bytes after a crash before `operation`. */
export function survivingBytes(
  states: readonly FileState[],
  changes: readonly FileChange[],
  operation: number,
  choices: Choices,
): SparseBytes {
  const state = states.findLast((one) => one.operation < operation) as FileState;
  const from = changes.findLastIndex((change) => change.operation <= state.through) + 1;
  const to = changes.findLastIndex((change) => change.operation < operation) + 1;
  const bytes = SparseBytes.from(state.bytes);
  if (from >= to) return bytes;
  const pending = changes.slice(from, to);
  const style = choices.style();
  if (style !== LOSE_ALL) new Survivor(bytes, pending, style, choices).apply();
  return bytes;
}

/** Puts what survives of some changes into the durable bytes. */
class Survivor {
  private readonly bytes: SparseBytes;
  private readonly pending: readonly FileChange[];
  private readonly style: number;
  private readonly choices: Choices;
  /** For KEEP_PREFIX: the index of the change that is torn; those after it are lost. */
  private readonly torn: number;
  /** For each sector, the index of the last write that reached it. */
  private readonly reached: Map<number, number> = new Map();

  constructor(bytes: SparseBytes, pending: readonly FileChange[], style: number, choices: Choices) {
    this.bytes = bytes;
    this.pending = pending;
    this.style = style;
    this.choices = choices;
    this.torn = style === KEEP_PREFIX ? choices.below(pending.length) : pending.length;
  }

  apply(): void {
    const { pending } = this;
    // Zeros over zeros: which of them reached the disk cannot be told.
    const firstToTell = this.bytes.isAllZero
      ? pending.findIndex(({ data }) => data !== 'zeros' && data !== undefined)
      : 0;
    for (let i = firstToTell < 0 ? pending.length : firstToTell; i < pending.length; i++) this.land(i);
    // The size, and which sectors belong to the file, are one thing with an order of its own: it is as it was after
    // change `mapped`.
    const mapped = this.mapped();
    let size = this.bytes.size;
    // Sectors from here on were cut off by a truncate that was lost: what was written there later is lost with it.
    let cutOff = Number.POSITIVE_INFINITY;
    for (let i = 0; i < pending.length; i++) {
      const change = pending[i] as FileChange;
      if (i <= mapped) size = change.size;
      if (change.data === undefined) {
        if (i <= mapped) this.bytes.truncate(change.size);
        else cutOff = Math.min(cutOff, change.size);
      } else if (firstToTell >= 0 && i >= firstToTell) {
        this.write(i, change, cutOff);
      }
    }
    this.bytes.truncate(size);
  }

  /** Decides which sectors write `i` reached. */
  private land(i: number): void {
    const { data, position, length } = this.pending[i] as FileChange;
    if (data === undefined || i > this.torn || this.style === KEEP_ALL) return;
    const first = sectorOf(position);
    const end = sectorOf(position + length - 1) + 1;
    if (this.style === EACH_SECTOR) {
      for (let sector = first; sector < end; sector++) if (this.choices.keeps()) this.reached.set(sector, i);
      return;
    }
    let from = first;
    let until = end;
    if (i === this.torn) {
      until = first + this.choices.below(end - first + 1);
    } else if (this.style === EACH_WRITE && !this.choices.keeps()) {
      // Lost, or torn: its beginning or its end is there.
      const cut = first + this.choices.below(end - first);
      const kind = this.choices.below(3);
      if (kind === 0) from = end;
      else if (kind === 1) from = cut + 1;
      else until = cut;
    }
    for (let sector = from; sector < until; sector++) this.reached.set(sector, i);
  }

  /** Index of the last change of the size that survives; -1: none. */
  private mapped(): number {
    const { length } = this.pending;
    if (this.style === KEEP_ALL) return length - 1;
    if (this.style === KEEP_PREFIX) return this.choices.below(2) === 0 ? this.torn - 1 : this.torn;
    const kind = this.choices.below(4);
    if (kind < 2) return length - 1;
    return kind === 2 ? -1 : this.choices.below(length + 1) - 1;
  }

  /** Puts the sectors of write `i` in place that it, or a later write of them, reached. */
  private write(i: number, { data, position, length }: FileChange, cutOff: number): void {
    const end = Math.min(position + length, cutOff);
    if (this.style === KEEP_ALL) {
      this.put(data, position, position, end);
      return;
    }
    let runStart = -1;
    for (let at = position; at < end; ) {
      const there = (this.reached.get(sectorOf(at)) ?? -1) >= i;
      if (there && runStart < 0) runStart = at;
      if (!there && runStart >= 0) {
        this.put(data, position, runStart, at);
        runStart = -1;
      }
      at += SECTOR_BYTES - (lowWord(at) & (SECTOR_BYTES - 1));
    }
    if (runStart >= 0) this.put(data, position, runStart, end);
  }

  private put(data: FileChange['data'], position: number, from: number, to: number): void {
    if (from >= to) return;
    if (data === 'zeros') this.bytes.clear(to - from, from);
    else this.bytes.write(data as Uint8Array, from - position, to - from, from);
  }
}
