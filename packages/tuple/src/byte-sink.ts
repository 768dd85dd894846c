// A growing buffer to which values are written before their length is known.

/** Bytes that grow; `bytes` is replaced when it does, so read it again after {@link ByteSink.reserve}. */
export class ByteSink {
  bytes: Uint8Array = new Uint8Array(256);
  length = 0;

  /** Makes room for `more` further bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  append(source: Uint8Array): void {
    this.reserve(source.length);
    this.bytes.set(source, this.length);
    this.length += source.length;
  }
}
