// Random numbers from a seed: the same seed gives the same inputs on every machine.

/** Mulberry32. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** The generator of input `index` of a run: any input can be made again without those before it. */
  static ofInput(seed: number, index: number): Random {
    return new Random(Math.imul(seed ^ Math.imul(index + 1, 0x9e37_79b1), 0x85eb_ca6b));
  }

  uint32(): number {
    this.state = (this.state + 0x6d2b_79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** 0 to `bound` - 1. */
  below(bound: number): number {
    return this.uint32() % bound;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)];
  }

  /** Whether one of `of` chances came up. */
  oneIn(of: number): boolean {
    return this.below(of) === 0;
  }
}
