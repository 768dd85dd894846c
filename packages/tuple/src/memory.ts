// The memory in which tuples lie, as decoders and header accessors see it. The `page` package's PageMemory is one.

/** Three views of one buffer, little-endian, all beginning at its first byte. */
export interface TupleMemory {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
}

/**
 * Views over bytes that stand alone, such as the output of an encoder.
 * @throws RangeError when `bytes` does not begin at a multiple of 8 in its buffer.
 */
export function tupleMemory(bytes: Uint8Array): TupleMemory {
  if ((bytes.byteOffset & 7) !== 0)
    throw new RangeError(`the bytes begin at ${bytes.byteOffset} of their buffer; tuples need a multiple of 8`);
  return {
    u8: bytes,
    u16: new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 1),
    u32: new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2),
  };
}
