// Counts of WAL records by resource manager, or by kind too, printed as pg_waldump --stats does.
import { lsnText } from '@blockwright/base';
import type { RecordDescriber, ResourceManagers, WalRecord } from '@blockwright/wal';
import { imageBytes } from './wal-text.ts';

interface Row {
  readonly manager: string;
  readonly kind: string | undefined;
  count: number;
  recordBytes: number;
  imageBytes: number;
}

export class WalCounts {
  private readonly managers: ResourceManagers<RecordDescriber>;
  private readonly byKind: boolean;
  private readonly rows: Map<number, Row> = new Map();
  private from: number = 0;
  private to: number = 0;

  constructor(managers: ResourceManagers<RecordDescriber>, byKind: boolean) {
    this.managers = managers;
    this.byKind = byKind;
    if (!byKind) for (const { id } of managers.all()) this.row(id, 0);
  }

  add(record: WalRecord): void {
    const images = imageBytes(record);
    const row = this.row(record.rmgr, record.info);
    row.count++;
    row.recordBytes += record.totalLength - images;
    row.imageBytes += images;
    if (this.from === 0) this.from = record.lsn;
    this.to = record.endLsn;
  }

  /** The table, in pg_waldump's columns. */
  text(): string {
    const { count, recordBytes, imageBytes } = this.total();
    const combined = recordBytes + imageBytes;
    const lines = [
      `WAL statistics between ${lsnText(this.from)} and ${lsnText(this.to)}:`,
      columns('Type', ['N', '(%)', 'Record size', '(%)', 'FPI size', '(%)', 'Combined size', '(%)']),
      columns('----', ['-', '---', '-----------', '---', '--------', '---', '-------------', '---']),
    ];
    for (const row of this.sorted()) {
      const name = row.kind === undefined ? row.manager : `${row.manager}/${row.kind}`;
      lines.push(
        columns(name, [
          ...share(row.count, count),
          ...share(row.recordBytes, recordBytes),
          ...share(row.imageBytes, imageBytes),
          ...share(row.recordBytes + row.imageBytes, combined),
        ]),
      );
    }
    lines.push(columns('', ['--------', '', '--------', '', '--------', '', '--------', '']).trimEnd());
    lines.push(
      columns('Total', [
        String(count),
        '',
        String(recordBytes),
        `[${percent(recordBytes, combined).toFixed(2)}%]`,
        String(imageBytes),
        `[${percent(imageBytes, combined).toFixed(2)}%]`,
        String(combined),
        '[100%]',
      ]),
    );
    return `${lines.join('\n')}\n`;
  }

  /** The same with the names of pg_get_wal_stats. */
  json(): object {
    const total = this.total();
    const combined = total.recordBytes + total.imageBytes;
    return {
      start_lsn: lsnText(this.from),
      end_lsn: lsnText(this.to),
      stats: this.sorted().map((row) => ({
        resource_manager: row.manager,
        ...(row.kind === undefined ? {} : { record_type: row.kind }),
        count: row.count,
        count_percentage: percent(row.count, total.count),
        record_size: row.recordBytes,
        record_size_percentage: percent(row.recordBytes, total.recordBytes),
        fpi_size: row.imageBytes,
        fpi_size_percentage: percent(row.imageBytes, total.imageBytes),
        combined_size: row.recordBytes + row.imageBytes,
        combined_size_percentage: percent(row.recordBytes + row.imageBytes, combined),
      })),
      total: {
        count: total.count,
        record_size: total.recordBytes,
        fpi_size: total.imageBytes,
        combined_size: combined,
      },
    };
  }

  private row(rmgr: number, info: number): Row {
    // The low four bits of info are the WAL's own.
    const key = (rmgr << 8) | (this.byKind ? info & 0xf0 : 0);
    let row = this.rows.get(key);
    if (row === undefined) {
      const manager = this.managers.get(rmgr);
      row = {
        manager: manager?.name ?? `custom${String(rmgr).padStart(3, '0')}`,
        kind: this.byKind ? (manager?.identify(info & 0xf0) ?? `UNKNOWN (${info.toString(16)})`) : undefined,
        count: 0,
        recordBytes: 0,
        imageBytes: 0,
      };
      this.rows.set(key, row);
    }
    return row;
  }

  private sorted(): Row[] {
    return [...this.rows].sort(([a], [b]) => a - b).map(([, row]) => row);
  }

  private total(): { count: number; recordBytes: number; imageBytes: number } {
    const total = { count: 0, recordBytes: 0, imageBytes: 0 };
    for (const row of this.rows.values()) {
      total.count += row.count;
      total.recordBytes += row.recordBytes;
      total.imageBytes += row.imageBytes;
    }
    return total;
  }
}

function columns(name: string, cells: readonly string[]): string {
  return name.padEnd(27) + cells.map((cell, i) => ` ${cell.padStart(i % 2 === 0 ? 20 : 8)}`).join('');
}

function share(part: number, whole: number): string[] {
  return [String(part), `(${percent(part, whole).toFixed(2).padStart(6)})`];
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}
