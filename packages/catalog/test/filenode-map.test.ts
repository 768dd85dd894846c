// The relation map: any entries come back, and no flipped bit of a map is believed.
import { crc32c } from '@blockwright/control';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFilenodeMap } from '../src/index.ts';
import { POSTGRES_VERSIONS, postgresFiles } from './bench.ts';

/** A map as PostgreSQL writes it: room for 62 entries before version 16, for 64 since. */
function mapBytes(entries: readonly (readonly [number, number])[], room: 62 | 64, count = entries.length): Uint8Array {
  const crcAt = 8 + room * 8;
  const bytes = new Uint8Array(room === 62 ? 512 : 524);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x592717, true);
  view.setInt32(4, count, true);
  entries.forEach(([oid, relfilenode], i) => {
    view.setUint32(8 + i * 8, oid, true);
    view.setUint32(12 + i * 8, relfilenode, true);
  });
  view.setUint32(crcAt, crc32c(bytes.subarray(0, crcAt)), true);
  return bytes;
}

const entries = fc.uniqueArray(fc.tuple(fc.nat(0xffffffff), fc.nat(0xffffffff)), {
  selector: ([oid]) => oid,
  maxLength: 62,
});
const damaged = expect.objectContaining({ code: 'XX001', message: 'relation map "m" is damaged' });

describe('a relation map', () => {
  it.each([62, 64] as const)('with room for %i gives its entries back', (room) => {
    fc.assert(
      fc.property(entries, (list) => {
        expect([...readFilenodeMap(mapBytes(list, room), 'm')]).toEqual(list);
      }),
    );
  });

  it('can be full', () => {
    for (const room of [62, 64] as const) {
      const list = Array.from({ length: room }, (_, i) => [i + 1, i + 1000] as const);
      expect([...readFilenodeMap(mapBytes(list, room), 'm')]).toEqual(list);
    }
  });

  it('is not believed with any one bit flipped up to its checksum’s end', () => {
    for (const room of [62, 64] as const) {
      const bytes = mapBytes([[1259, 16390], [1249, 16391]], room); // biome-ignore format: two
      for (let bit = 0; bit < (8 + room * 8 + 4) * 8; bit++) {
        bytes[bit >> 3] ^= 1 << (bit & 7);
        expect(() => readFilenodeMap(bytes, 'm')).toThrow(damaged);
        bytes[bit >> 3] ^= 1 << (bit & 7);
      }
      expect(readFilenodeMap(bytes, 'm').size).toBe(2);
    }
  });

  it('is not believed when it is cut, or counts entries that it has no room for, its checksum right', () => {
    const bytes = mapBytes([[1259, 16390]], 64);
    for (let length = 0; length < 524; length++) {
      const cut = length >= 8 + 64 * 8 + 4 ? undefined : damaged;
      if (cut !== undefined) expect(() => readFilenodeMap(bytes.subarray(0, length), 'm')).toThrow(cut);
    }
    for (const count of [-1, 65, 0x7fffffff]) {
      expect(() => readFilenodeMap(mapBytes([], 64, count), 'm')).toThrow(
        expect.objectContaining({ code: 'XX001', detail: `It says that it has ${count} entries.` }),
      );
    }
    expect(() => readFilenodeMap(mapBytes([], 62, 63), 'm')).toThrow(damaged);
  });

  it('may begin at any byte of its buffer', () => {
    const bytes = mapBytes([[1, 2]], 62);
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect([...readFilenodeMap(shifted.subarray(3), 'm')]).toEqual([[1, 2]]);
  });

  it.each(POSTGRES_VERSIONS)('of PostgreSQL %i is read', (version) => {
    for (const [path, bytes] of postgresFiles(version)) {
      if (!path.endsWith('pg_filenode.map')) continue;
      const map = readFilenodeMap(bytes, path);
      // pg_attribute was rewritten, so that its file number is not its object id any more.
      if (path.startsWith('base/')) expect(map.get(1249)).toBeGreaterThan(16383);
      expect(map.get(path.startsWith('base/') ? 1259 : 1262)).toBe(path.startsWith('base/') ? 1259 : 1262);
    }
  });
});
