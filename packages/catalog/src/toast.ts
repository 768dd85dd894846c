// Values that PostgreSQL stores out of line: their chunks, found by one scan of the TOAST table and put together.
import type { Relation } from '@blockwright/access';
import { type Oid, StorageError } from '@blockwright/base';
import { HeapScan, heapFetch } from '@blockwright/heap';
import { bytea, type FetchToast, int4, oid, RowDecoder, TupleDescriptor } from '@blockwright/tuple';

/** The columns of every TOAST table. PostgreSQL: `create_toast_table`, toasting.c. */
const TOAST_COLUMNS: TupleDescriptor = TupleDescriptor.of([
  { name: 'chunk_id', type: oid().nullable() },
  { name: 'chunk_seq', type: int4().nullable() },
  { name: 'chunk_data', type: bytea().nullable() },
]);

interface Chunk {
  readonly sequence: number;
  readonly block: number;
  readonly offset: number;
}

/**
 * A function that fetches out-of-line values of one TOAST table. The first call scans the table for where its chunks
 * are, their bytes left where they lie. A chunk whose header does not say whether it is visible counts: the row that
 * points to it is, and its chunks came with it. PostgreSQL: `HeapTupleSatisfiesToast`.
 */
export function toastReader(toast: Relation): FetchToast {
  let places: Map<Oid, Chunk[]> | undefined;
  const decoder = RowDecoder.for(TOAST_COLUMNS, [2]);
  return ({ valueId, externalSize }) => {
    places ??= findChunks(toast);
    const chunks = places.get(valueId) ?? [];
    chunks.sort((a, b) => a.sequence - b.sequence);
    const damaged = (detail: string): StorageError =>
      new StorageError('XX001', `TOAST table "${toast.name}": value ${valueId} is damaged`, { detail });
    // A pointer that was damaged may claim up to 1 GiB: no more than the chunks can hold is taken.
    if (externalSize > chunks.length * toast.geometry.size)
      throw damaged(`It has ${chunks.length} chunks for ${externalSize} bytes.`);
    const value = new Uint8Array(externalSize);
    let at = 0;
    for (const [index, { sequence, block, offset }] of chunks.entries()) {
      if (sequence !== index) throw damaged(`Chunk ${index} is missing.`);
      const bytes = heapFetch(toast, decoder, block, offset, { unknown: 'include' })?.chunk_data as
        | Uint8Array
        | null
        | undefined;
      if (bytes === null || bytes === undefined || at + bytes.length > externalSize) {
        throw damaged(`Chunk ${index} is not what its pointer says.`);
      }
      value.set(bytes, at);
      at += bytes.length;
    }
    if (at !== externalSize) throw damaged(`Its chunks hold ${at} bytes where its pointer says ${externalSize}.`);
    return value;
  };
}

function findChunks(toast: Relation): Map<Oid, Chunk[]> {
  const places = new Map<Oid, Chunk[]>();
  const scan = new HeapScan(toast, TOAST_COLUMNS, { columns: [0, 1], unknown: 'include' });
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
    const [ids, sequences] = batch.vectors;
    if (ids.kind !== 'int' || sequences.kind !== 'int') throw new TypeError('the TOAST columns are integers');
    for (let i = 0; i < batch.length; i++) {
      const chunk = { sequence: sequences.values[i], block: batch.blocks[i], offset: batch.offsets[i] };
      const valueId = ids.values[i] >>> 0;
      const chunks = places.get(valueId);
      if (chunks === undefined) places.set(valueId, [chunk]);
      else chunks.push(chunk);
    }
  }
  return places;
}
