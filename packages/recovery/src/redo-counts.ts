// What redo counts a record: by resource manager and kind, in arrays, so that counting allocates nothing.
import type { ResourceManager, ResourceManagers, WalRecord } from '@blockwright/wal';
import type { RecordCounts, ResourceManagerCounts } from './report.ts';

/** Kinds of record: a byte for the resource manager, four bits for the kind. */
const KINDS = 256 << 4;

export class RedoCounts {
  records = 0;
  private readonly byKind = new Float64Array(KINDS);
  private readonly bytes = new Float64Array(KINDS);
  private readonly images = new Float64Array(KINDS);
  private readonly imageBytes = new Float64Array(KINDS);

  note(record: WalRecord): void {
    const kind = (record.rmgr << 4) | (record.info >>> 4);
    this.records++;
    this.byKind[kind]++;
    this.bytes[kind] += record.totalLength;
    const { blockCount, hasImage } = record;
    for (let i = 0; i < blockCount; i++) {
      if (hasImage[i] === 0) continue;
      this.images[kind]++;
      this.imageBytes[kind] += record.imageLength[i];
    }
  }

  /** Those kinds that there were, by resource manager and number. */
  of(managers: ResourceManagers<ResourceManager>): ResourceManagerCounts[] {
    const found: ResourceManagerCounts[] = [];
    for (const manager of managers.all()) {
      const kinds: RecordCounts[] = [];
      for (let info = 0; info < 16; info++) {
        const kind = (manager.id << 4) | info;
        if (this.byKind[kind] !== 0) kinds.push(this.kind(kind, manager.identify(info << 4)));
      }
      if (kinds.length > 0) found.push({ ...sum(manager.name, kinds), kinds });
    }
    return found;
  }

  /** All of them together. */
  total(): RecordCounts {
    const add = (values: Float64Array) => values.reduce((all, value) => all + value, 0);
    return {
      name: 'total',
      records: this.records,
      bytes: add(this.bytes),
      images: add(this.images),
      imageBytes: add(this.imageBytes),
    };
  }

  private kind(kind: number, name: string): RecordCounts {
    return {
      name,
      records: this.byKind[kind],
      bytes: this.bytes[kind],
      images: this.images[kind],
      imageBytes: this.imageBytes[kind],
    };
  }
}

function sum(name: string, kinds: readonly RecordCounts[]): RecordCounts {
  const add = (field: 'records' | 'bytes' | 'images' | 'imageBytes') =>
    kinds.reduce((all, kind) => all + kind[field], 0);
  return { name, records: add('records'), bytes: add('bytes'), images: add('images'), imageBytes: add('imageBytes') };
}
