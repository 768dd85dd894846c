// What a crash leaves of changes that were not synced, drawn from a seed.
import { highWord } from '@blockwright/base';

/**
 * What survives a crash of what was not synced: `all` of it, as when the process alone is killed; nothing of it, only
 * what was `synced`; or, for a number, what a generator with that seed chooses.
 */
export type Survival = 'all' | 'synced' | number;

/** How the changes of one file are dealt with. */
export const LOSE_ALL = 0;
export const KEEP_ALL = 1;
/** The changes up to one moment; the last of them torn. */
export const KEEP_PREFIX = 2;
/** Each write by itself: kept, lost or torn. */
export const EACH_WRITE = 3;
/** Each sector by itself. */
export const EACH_SECTOR = 4;
const STYLES = 5;

/** The choices that make one crash. */
export class Choices {
  private state: number;
  private readonly fixed: number;
  /** Of 256: how likely a single write or sector is kept. */
  private readonly keeping: number;

  /** @throws RangeError when a seed is no whole number. */
  constructor(survival: Survival) {
    if (typeof survival === 'number' && !Number.isSafeInteger(survival)) {
      throw new RangeError(`seed ${survival} is not a whole number`);
    }
    this.state = typeof survival === 'number' ? survival >>> 0 : 0;
    this.keeping = [32, 128, 224][this.below(3)] as number;
    // One crash in two treats all files alike: the engine's worst ones are those where one kind of file is ahead.
    const style = this.below(2 * STYLES);
    this.fixed = survival === 'all' ? KEEP_ALL : survival === 'synced' ? LOSE_ALL : style < STYLES ? style : -1;
  }

  /** A whole number from 0 to `n` - 1. */
  below(n: number): number {
    // splitmix32
    this.state = (this.state + 0x9e37_79b9) | 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0_aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a_2d97);
    z = (z ^ (z >>> 15)) >>> 0;
    return highWord(z * n);
  }

  /** How one file, or one directory, is dealt with. */
  style(): number {
    return this.fixed >= 0 ? this.fixed : this.below(STYLES);
  }

  /** Whether a write or a sector by itself is kept. */
  keeps(): boolean {
    return this.below(256) < this.keeping;
  }
}
