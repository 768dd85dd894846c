// PostgreSQL's relation map: the file numbers of the few catalogs that could not be looked up in pg_class.
//
//    bytes       | field        | meaning
//    4           | magic        | 0x592717
//    4           | num_mappings | int32
//    8 each      | mappings     | object id, file number
//    4           | crc          | CRC-32C of all before it, after the room for 62 mappings (64 from version 16 on)
//
// PostgreSQL: `RelMapFile`, relmapper.c.
import { type Oid, StorageError } from '@blockwright/base';
import { crc32c } from '@blockwright/control';

const MAGIC = 0x592717;

/** Object id to file number. @throws StorageError XX001 naming `path` when the file is damaged. */
export function readFilenodeMap(bytes: Uint8Array, path: string): Map<Oid, Oid> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const damaged = (detail: string): StorageError =>
    new StorageError('XX001', `relation map "${path}" is damaged`, { detail });
  if (bytes.length < 12) throw damaged(`It has ${bytes.length} bytes.`);
  if (view.getInt32(0, true) !== MAGIC) throw damaged(`It begins with ${view.getUint32(0, true).toString(16)}.`);
  // Room for 62 mappings up to version 15, for 64 from 16 on: the CRC stands behind it.
  const crcAt = [8 + 62 * 8, 8 + 64 * 8].find(
    (at) => at + 4 <= bytes.length && crc32c(bytes.subarray(0, at)) === view.getUint32(at, true),
  );
  if (crcAt === undefined) throw damaged('Its checksum does not match.');
  const count = view.getInt32(4, true);
  if (count < 0 || 8 + count * 8 > crcAt) throw damaged(`It says that it has ${count} entries.`);
  return new Map(
    Array.from(
      { length: count },
      (_, i) => [view.getUint32(8 + i * 8, true), view.getUint32(12 + i * 8, true)] as const,
    ),
  );
}
