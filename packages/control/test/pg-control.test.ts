// pg_control of real servers against what pg_controldata (the six block sizes, and version 15 with values reset to be
// told apart) and the server's own pg_control_* functions (13, 14, 16, 17, 18) say of the same file.
import { readFileSync } from 'node:fs';
import { isStorageError, type StorageError } from '@blockwright/base';
import { crc32c, formatTime, pgControlLabels, readPgControl } from '@blockwright/control';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const here = (path: string) => new URL(path, import.meta.url);
const bytesOf = (path: string) => new Uint8Array(readFileSync(here(path)));

/** pg_controldata's lines: a label, a colon, spaces, a value. */
function parseControldata(text: string): [string, string][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    });
}

describe('pg_controldata says the same', () => {
  test.each(['1k', '2k', '4k', '8k', '16k', '32k'])('of the server with blocks of %s', (size) => {
    const control = readPgControl(bytesOf(`../../../fixtures/pg/${size}/pgdata/global/pg_control`));
    const expected = readFileSync(here(`../../../fixtures/pg/${size}/expect/controldata.txt`), 'utf8');
    expect(pgControlLabels(control)).toEqual(parseControldata(expected));
    expect(control.blockSize).toBe(Number.parseInt(size, 10) * 1024);
  });

  test('of a version 15 whose every counter has its own value', () => {
    const control = readPgControl(bytesOf('./fixtures/pg15.pg_control'));
    const expected = readFileSync(here('./fixtures/pg15.controldata.txt'), 'utf8');
    expect(pgControlLabels(control)).toEqual(parseControldata(expected));
    expect(control.checkpoint).toMatchObject({ nextXid: 4_000_000_000, nextXidEpoch: 3, redo: 'A1/B700028' });
    expect(control.dataChecksumVersion).toBe(0);
  });
});

describe('the server itself says the same', () => {
  test.each([
    [13, 1300],
    [14, 1300],
    [16, 1300],
    [17, 1700],
    [18, 1800],
  ])('version %i, pg_control version %i', (major, version) => {
    const control = readPgControl(bytesOf(`./fixtures/pg${major}.pg_control`));
    const said = JSON.parse(
      // Above 2^53: read as text.
      readFileSync(here(`./fixtures/pg${major}.json`), 'utf8').replace(/("system_identifier": )(\d+)/, '$1"$2"'),
    );
    expect(control.pgControlVersion).toBe(version);
    const c = control.checkpoint;
    const iso = (ms: number) => new Date(ms).toISOString().replace('.000Z', '+00:00');
    expect({
      checkpoint_lsn: c.location,
      redo_lsn: c.redo,
      redo_wal_file: c.redoWalFile,
      timeline_id: c.timeline,
      prev_timeline_id: c.previousTimeline,
      full_page_writes: c.fullPageWrites,
      next_xid: `${c.nextXidEpoch}:${c.nextXid}`,
      next_oid: String(c.nextOid),
      next_multixact_id: String(c.nextMultiXact),
      next_multi_offset: String(c.nextMultiOffset),
      oldest_xid: String(c.oldestXid),
      oldest_xid_dbid: String(c.oldestXidDatabase),
      oldest_active_xid: String(c.oldestActiveXid),
      oldest_multi_xid: String(c.oldestMultiXact),
      oldest_multi_dbid: String(c.oldestMultiXactDatabase),
      oldest_commit_ts_xid: String(c.oldestCommitTimestampXid),
      newest_commit_ts_xid: String(c.newestCommitTimestampXid),
      checkpoint_time: iso(c.timeMs),
    }).toEqual(said.checkpoint);
    expect({
      pg_control_version: control.pgControlVersion,
      catalog_version_no: control.catalogVersion,
      system_identifier: control.systemIdentifier,
      pg_control_last_modified: iso(control.modifiedMs),
    }).toEqual(said.system);
    expect({
      max_data_alignment: control.maxAlign,
      database_block_size: control.blockSize,
      blocks_per_segment: control.segmentBlocks,
      wal_block_size: control.walBlockSize,
      bytes_per_wal_segment: control.walSegmentSize,
      max_identifier_length: control.maxIdentifierLength,
      max_index_columns: control.maxIndexColumns,
      max_toast_chunk_size: control.toastMaxChunkSize,
      large_object_chunk_size: control.largeObjectChunkSize,
      float8_pass_by_value: control.float8ByValue,
      data_page_checksum_version: control.dataChecksumVersion,
      ...(control.charSigned === undefined ? {} : { default_char_signedness: control.charSigned }),
    }).toEqual(said.init);
    expect({
      min_recovery_end_lsn: control.minRecoveryPoint,
      min_recovery_end_timeline: control.minRecoveryPointTimeline,
      backup_start_lsn: control.backupStartPoint,
      backup_end_lsn: control.backupEndPoint,
      end_of_backup_record_required: control.backupEndRequired,
    }).toEqual(said.recovery);
    expect(control.maxConnections).toBe(77); // the servers were started with it
    expect(control.state).toBe('in production');
  });

  test('the nonce starts right after the signedness of char in 18', () => {
    const bytes = bytesOf('./fixtures/pg18.pg_control');
    const nonce = Buffer.from(bytes.subarray(257, 289)).toString('hex');
    expect(readPgControl(bytes).mockAuthenticationNonce).toBe(nonce);
    expect([...bytes.subarray(289, 292)]).toEqual([0, 0, 0]); // padding in front of the CRC
  });

  test('the signedness of char is a line from 18 on', () => {
    const labels = (major: number) =>
      pgControlLabels(readPgControl(bytesOf(`./fixtures/pg${major}.pg_control`))).map(([label]) => label);
    expect(labels(18).at(-2)).toBe('Default char data signedness');
    expect(labels(17)).not.toContain('Default char data signedness');
  });
});

describe('damage', () => {
  const good = (major = 16): Uint8Array => bytesOf(`./fixtures/pg${major}.pg_control`);
  function refusal(bytes: Uint8Array): StorageError {
    try {
      readPgControl(bytes, '/pg/global/pg_control');
    } catch (error) {
      if (isStorageError(error)) return error;
      throw error;
    }
    throw new Error('the bytes were taken for a pg_control');
  }
  function forged(change: (view: DataView) => void): Uint8Array {
    const bytes = good();
    const view = new DataView(bytes.buffer);
    change(view);
    view.setUint32(288, crc32c(bytes, 0, 288), true);
    return bytes;
  }

  test.each([16, 18])('any byte of version %i changed is noticed', (major) => {
    const used = major === 18 ? 296 : 292;
    for (let i = 0; i < used; i++) {
      const bytes = good(major);
      bytes[i] = (bytes[i] as number) ^ 0x10;
      expect(refusal(bytes).code).toBe(i >= 8 && i < 12 ? '0A000' : 'XX001');
    }
  });

  test('a file cut short is noticed, one without the zeros at its end is not', () => {
    for (let length = 0; length < 292; length++) {
      expect(refusal(good().subarray(0, length)).message).toContain(`is cut short: it has ${length} bytes`);
    }
    expect(readPgControl(good().subarray(0, 292)).pgControlVersion).toBe(1300);
  });

  test.each([1201, 1002, 1801, 1900, 0, 0xffff_ffff])('version %i is refused by its number', (version) => {
    const error = refusal(forged((view) => view.setUint32(8, version, true)));
    expect(error.code).toBe('0A000');
    expect(error.message).toBe(`"/pg/global/pg_control" has pg_control version ${version}`);
    expect(error.detail).toContain('1300 (PostgreSQL 13 to 16), 1700 (PostgreSQL 17), 1800 (PostgreSQL 18)');
  });

  test('a file of a big-endian machine is named as such', () => {
    expect(refusal(forged((view) => view.setUint32(8, 1300, false))).hint).toContain('big-endian');
  });

  test.each([3000, 0, 512, 65536])('a block size of %i under a right CRC is refused', (blockSize) => {
    const error = refusal(forged((view) => view.setUint32(216, blockSize, true)));
    expect(error.code).toBe('XX001');
    expect(error.message).toContain(`a block size of ${blockSize}`);
  });

  test.each<[string, (view: DataView) => void, string]>([
    ['alignment', (view) => view.setUint32(204, 4, true), 'another alignment'],
    ['float format', (view) => view.setFloat64(208, 1, true), 'another form of floats'],
    ['segments', (view) => view.setUint32(220, 0, true), 'segments of 0 blocks'],
    ['WAL segments', (view) => view.setUint32(228, 12345, true), 'WAL segments of 12345 bytes'],
  ])('a wrong %s under a right CRC is refused', (_, change, words) => {
    expect(refusal(forged(change)).message).toContain(words);
  });

  test('an unknown state and WAL level are shown as pg_controldata shows them', () => {
    const control = readPgControl(
      forged((view) => {
        view.setUint32(16, 99, true);
        view.setUint32(172, 99, true);
      }),
    );
    expect(control.state).toBe('unrecognized status code');
    expect(control.walLevel).toBe('unrecognized "wal_level"');
  });

  test('fields that are zero in every server at rest are read from their places', () => {
    const lines = new Map(
      pgControlLabels(
        readPgControl(
          forged((view) => {
            view.setUint32(60, 0xffff_ffff, true); // padding
            view.setUint32(120, 0xfedc_ba98, true); // oldestActiveXid
            view.setUint32(124, 0xffff_ffff, true); // padding
            view.setBigUint64(136, 0xffff_ffff_ffff_fffen, true); // minRecoveryPoint
            view.setUint32(144, 7, true); // minRecoveryPointTLI
            view.setBigUint64(152, 0x1_0000_0002n, true); // backupStartPoint
            view.setBigUint64(160, 0x3_0000_0004n, true); // backupEndPoint
            view.setUint8(168, 1); // backupEndRequired
            view.setUint8(176, 1); // wal_log_hints
            view.setInt32(192, 55, true); // max_prepared_xacts
            view.setUint8(200, 1); // track_commit_timestamp
          }),
        ),
      ),
    );
    expect(Object.fromEntries(lines)).toMatchObject({
      "Latest checkpoint's oldestActiveXID": '4275878552',
      'Minimum recovery ending location': 'FFFFFFFF/FFFFFFFE',
      "Min recovery ending loc's timeline": '7',
      'Backup start location': '1/2',
      'Backup end location': '3/4',
      'End-of-backup record required': 'yes',
      'wal_log_hints setting': 'on',
      'max_prepared_xacts setting': '55',
      'track_commit_timestamp setting': 'on',
    });
  });

  test('random bytes are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(['XX001', '0A000']).toContain(refusal(bytes).code);
      }),
    );
  });

  test('whatever a right CRC covers is read without an exception of another kind', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 288, maxLength: 288 }), fc.nat(287), fc.nat(287), (noise, a, b) => {
        const bytes = forged((view) => {
          for (let i = Math.min(a, b); i < Math.max(a, b); i++) {
            if (i < 8 || i >= 12) view.setUint8(i, noise[i] as number);
          }
        });
        try {
          pgControlLabels(readPgControl(bytes));
        } catch (error) {
          expect(isStorageError(error)).toBe(true);
        }
      }),
    );
  });
});

test('times are printed as C prints them', () => {
  expect(formatTime(0)).toBe('Thu Jan  1 00:00:00 1970');
  expect(formatTime(Date.UTC(2026, 10, 30, 15, 27, 26))).toBe('Mon Nov 30 15:27:26 2026');
  expect(formatTime(Number.NaN)).toBe('???');
  expect(formatTime(1e20)).toBe('???');
});
