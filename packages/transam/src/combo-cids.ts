// Combo command ids: a tuple has one field for the command that wrote it and the command that deleted it. When both
// are the same transaction's, the field holds a number that stands for the pair, known to that transaction alone; nobody
// else ever looks. PostgreSQL: combocid.c.

/** The pairs of one transaction. */
export class ComboCids {
  private readonly cmins: number[] = [];
  private readonly cmaxs: number[] = [];
  private readonly known: Map<number, Map<number, number>> = new Map();

  /** The number that stands for the pair: the same one for the same pair. PostgreSQL: `GetComboCommandId`. */
  of(cmin: number, cmax: number): number {
    let ofCmin = this.known.get(cmin);
    if (ofCmin === undefined) {
      ofCmin = new Map();
      this.known.set(cmin, ofCmin);
    }
    let combo = ofCmin.get(cmax);
    if (combo === undefined) {
      combo = this.cmins.length;
      this.cmins.push(cmin);
      this.cmaxs.push(cmax);
      ofCmin.set(cmax, combo);
    }
    return combo;
  }

  /** @throws RangeError when this transaction has not made that number. */
  cmin(combo: number): number {
    this.needKnown(combo);
    return this.cmins[combo];
  }

  /** @throws RangeError when this transaction has not made that number. */
  cmax(combo: number): number {
    this.needKnown(combo);
    return this.cmaxs[combo];
  }

  private needKnown(combo: number): void {
    if (combo >= this.cmins.length) throw new RangeError(`combo command id ${combo} was not made by this transaction`);
  }
}
