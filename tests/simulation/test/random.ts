// Random choices from a seed: the same ones again for the same seed.

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** A whole number from 0 to `n` - 1 (splitmix32). */
  below(n: number): number {
    this.state = (this.state + 0x9e37_79b9) | 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0_aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a_2d97);
    return Math.floor((((z ^ (z >>> 15)) >>> 0) / 0x1_0000_0000) * n);
  }

  /** Whether it happens, once in `n`. */
  once(n: number): boolean {
    return this.below(n) === 0;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** One of the names, each as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[];
    let at = this.below(names.reduce((sum, name) => sum + weights[name], 0));
    return names.find((name) => {
      at -= weights[name];
      return at < 0;
    }) as Name;
  }
}
