// Whole directories and lone files: what is selected, what is known of it, what is refused, what the report adds up to.
import { type Finding, isStorageError, runSync } from '@blockwright/base';
import { PostgresDirectory } from '@blockwright/catalog';
import { crc32c } from '@blockwright/control';
import { type CheckOptions, type CheckReport, checkPath } from '@blockwright/engine';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
} from '@blockwright/page';
import { AttributePlaces, locateAttributes, type TupleDescriptor } from '@blockwright/tuple';
import type { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ourDirectory, postgresCopy, writeFile } from './directories.ts';

interface Checked {
  readonly report: CheckReport;
  readonly findings: readonly Finding[];
  readonly codes: readonly string[];
}

function check(vfs: MemoryVfs, path: string, options: CheckOptions = {}): Checked {
  const findings: Finding[] = [];
  const report = runSync(checkPath(path, (finding) => findings.push(finding), { vfs, ...options }));
  return { report, findings, codes: findings.map(({ code }) => code) };
}

function flipByte(vfs: MemoryVfs, path: string, at: number): void {
  const bytes = vfs.readFile(path);
  bytes[at] ^= 0x10;
  writeFile(vfs, path, bytes);
}

/** Changes bytes of PostgreSQL's control file and puts its CRC right again. */
function changePgControl(vfs: MemoryVfs, change: (view: DataView) => void): void {
  const bytes = vfs.readFile('/pg/global/pg_control');
  const view = new DataView(bytes.buffer);
  change(view);
  view.setUint32(288, crc32c(bytes.subarray(0, 288)), true);
  writeFile(vfs, '/pg/global/pg_control', bytes);
}

function changePage(
  vfs: MemoryVfs,
  path: string,
  size: BlockSize,
  block: number,
  change: (words: Uint16Array) => void,
): void {
  const bytes = vfs.readFile(path).slice(block * size, (block + 1) * size);
  const m = pageMemory(bytes.buffer as ArrayBuffer);
  change(m.u16);
  pageSetChecksum(m, 0, BlockGeometry.of(size), block);
  writeFile(vfs, path, m.u8, block * size);
}

/** Where the first out-of-line value of a file's first page is pointed to. */
function firstToastPointer(
  m: PageMemory,
  descriptor: TupleDescriptor,
): { offset: number; attribute: number; at: number } | undefined {
  const places = new AttributePlaces(descriptor.columns.length);
  for (let offset = 1; offset <= pageMaxOffset(m, 0); offset++) {
    const lp = linePointer(m, 0, offset);
    if (lpFlags(lp) !== LP_NORMAL) continue;
    locateAttributes(descriptor, m.u8, lpOffset(lp), lpLength(lp), descriptor.columns.length, places);
    const i = places.forms.indexOf(3);
    if (i >= 0) return { offset, attribute: i + 1, at: places.starts[i] };
  }
  return undefined;
}

/** The largest table that is no catalog: of several pages at every block size. */
function mainFile(vfs: MemoryVfs): string {
  const { report } = check(vfs, '/pg');
  const isTable = (file: string): boolean => file.startsWith('base/') && Number(file.replace(/.*\//, '')) >= 16384;
  const heaps = report.files.filter(({ kind, file }) => kind === 'heap' && isTable(file));
  return `/pg/${heaps.sort((a, b) => b.tuples - a.tuples)[0]?.file}`;
}

describe.each(BLOCK_SIZES)('a directory of %i-byte blocks', (size) => {
  it('of ours is clean, and its numbers are right', () => {
    const { vfs, path } = ourDirectory(size);
    const { report, findings } = check(vfs, '/data');
    expect(findings).toEqual([]);
    expect(report).toMatchObject({
      path: '/data',
      kind: 'blockwright',
      blockSize: size,
      dataChecksums: true,
      errors: 0,
      warnings: 0,
    });
    const name = path.replace('/data/', '');
    const pages = vfs.readFile(path).length / size;
    expect(report.files.find(({ file }) => file === name)).toEqual({
      file: name,
      fork: 'main',
      segment: 0,
      kind: 'heap',
      pages,
      zeroPages: 0,
      checksums: pages,
      linePointers: 500,
      tuples: 500,
      decodedTuples: 500,
      judgedTuples: 500,
      hotChains: 0,
      hotLinks: 0,
      indexTuples: 0,
      heldEntries: 0,
      mapBits: expect.any(Number),
      errors: 0,
      warnings: 0,
    });
    for (const { file, pages: counted } of report.files)
      expect(counted).toBe(vfs.readFile(`/data/${file}`).length / size);
  });

  it('of ours without checksums is judged without them', () => {
    const { vfs, path } = ourDirectory(size, { dataChecksums: false });
    changePage(vfs, path, size, 0, () => {}); // pd_checksum is no longer 0, and does not matter
    const bytes = vfs.readFile(path);
    bytes[8] ^= 1;
    writeFile(vfs, path, bytes);
    const { report, findings } = check(vfs, '/data');
    expect(findings).toEqual([]);
    expect(report.dataChecksums).toBe(false);
    expect(report.files.every(({ checksums }) => checksums === 0)).toBe(true);
  });

  it('with one bad file among many good ones: that one is named, the others are verified', () => {
    const { vfs, path } = ourDirectory(size);
    flipByte(vfs, path, size - 5);
    const { report, findings } = check(vfs, '/data');
    const name = path.replace('/data/', '');
    expect(report.errors).toBe(findings.filter(({ severity }) => severity === 'error').length);
    expect(report.errors).toBeGreaterThan(0);
    expect(findings.every(({ file, block }) => file === name && block === 0)).toBe(true);
    expect(report.files.filter(({ errors }) => errors > 0).map(({ file }) => file)).toEqual([name]);
    expect(report.files.length).toBeGreaterThan(3);
  });

  it('is selected from by name alone', () => {
    const { vfs, path } = ourDirectory(size);
    const directory = path.replace(/\/\d+$/, '');
    const before = check(vfs, '/data').report.files.map(({ file }) => file);
    for (const name of [
      '.123',
      '_fsm',
      '_vm',
      '_init',
      '_fsm.123',
      'pg_internal.init',
      '.DS_Store',
      't3_16384',
      '16384.0',
      'PG_VERSION',
    ]) {
      writeFile(vfs, `${directory}/${name}`, Uint8Array.of(1, 2, 3));
    }
    vfs.mkdir(`${directory}/pgsql_tmp`);
    writeFile(vfs, `${directory}/pgsql_tmp/99991`, Uint8Array.of(1));
    vfs.mkdir('/data/base/pgsql_tmp');
    writeFile(vfs, '/data/base/pgsql_tmp/99991', Uint8Array.of(1));
    expect(check(vfs, '/data')).toMatchObject({ findings: [], report: { errors: 0 } });
    expect(check(vfs, '/data').report.files.map(({ file }) => file)).toEqual(before);
    // These are relations: empty ones, one that is garbage, a map without its heap, a directory.
    writeFile(vfs, `${directory}/99990`, new Uint8Array(0));
    expect(check(vfs, '/data').findings).toEqual([]);
    writeFile(vfs, `${directory}/99990`, Uint8Array.of(1));
    writeFile(vfs, `${directory}/99991_vm`, new Uint8Array(0));
    writeFile(vfs, `${directory}/99992_fsm.1`, new Uint8Array(size));
    vfs.mkdir(`${directory}/99993`);
    const below = directory.replace('/data/', '');
    expect(check(vfs, '/data').findings.map(({ code, file }) => `${code} ${file}`)).toEqual([
      `file.partial_block ${below}/99990`,
      `file.missing_main ${below}/99991_vm`,
      `file.missing_segment ${below}/99992_fsm.1`,
      `file.is_directory ${below}/99993`,
    ]);
  });

  it('has a file of three bytes too many, and one whose block 0 says another block size', () => {
    const { vfs, path } = ourDirectory(size);
    const name = path.replace('/data/', '');
    writeFile(vfs, path, Uint8Array.of(0, 0, 0), vfs.readFile(path).length);
    const other = size === 1024 ? 2048 : 1024;
    changePage(vfs, path, size, 0, (words) => (words[9] = other | 4));
    const { report, findings } = check(vfs, '/data');
    expect(findings.map(({ code, file }) => [code, file])).toEqual([
      ['file.partial_block', name],
      ['page.header.block_size', name],
    ]);
    expect(report.blockSize).toBe(size);
    // By itself: what most of its pages say. By itself and of one page: nobody guesses.
    const lone = vfs.readFile(path);
    writeFile(vfs, '/lone', lone);
    if (lone.length > 4 * size) expect(check(vfs, '/lone').report).toMatchObject({ kind: 'relation', blockSize: size });
    writeFile(vfs, '/page', lone.slice(0, size));
    expect(() => check(vfs, '/page')).toThrow(
      expect.objectContaining({ code: '55000', hint: expect.stringContaining('--block-size') }),
    );
    expect(check(vfs, '/page', { blockSize: size }).codes).toContain('page.header.block_size');
  });

  it('is the only one that says its block size: another one asked for is refused', () => {
    const { vfs, path } = ourDirectory(size);
    const other = size === 1024 ? 2048 : 1024;
    for (const subject of ['/data', path]) {
      expect(() => check(vfs, subject, { blockSize: other })).toThrow(
        expect.objectContaining({ code: '55000', message: expect.stringMatching(new RegExp(`${size}.*${other}`)) }),
      );
      expect(check(vfs, subject, { blockSize: size }).findings).toEqual([]);
    }
  });

  it('of PostgreSQL has a TOAST pointer to nothing', () => {
    const vfs = postgresCopy(size);
    using postgres = PostgresDirectory.open('/pg', { vfs });
    const table = postgres.table('toasted');
    const name = postgres.path(table);
    const bytes = vfs.readFile(`/pg/${name}`);
    const pointer = firstToastPointer(pageMemory(bytes.buffer as ArrayBuffer), table.descriptor);
    if (pointer === undefined) {
      expect(size).toBe(32768); // there the fixture's values fit their pages
      return;
    }
    const { offset, attribute, at } = pointer;
    bytes[at + 10] ^= 0x55; // va_valueid
    pageSetChecksum(pageMemory(bytes.buffer as ArrayBuffer), 0, BlockGeometry.of(size), 0);
    writeFile(vfs, `/pg/${name}`, bytes);
    const { findings } = check(vfs, '/pg');
    expect(findings).toMatchObject([
      { code: 'heap.tuple.attribute', severity: 'error', file: name, block: 0, offsetNumber: offset, attribute },
    ]);
    expect(findings[0]?.message).toMatch(
      /TOAST table "pg_toast\..*": value \d+ is damaged|TOAST table "pg_toast_\d+": value/,
    );
  });

  it('of PostgreSQL is clean, and not one byte of it is written', () => {
    const vfs = postgresCopy(size);
    vfs.recording = true;
    const { findings, report } = check(vfs, '/pg');
    expect(findings).toEqual([]);
    expect(report).toMatchObject({ kind: 'postgresql', blockSize: size, dataChecksums: true });
    const reading = new Set(['open', 'stat', 'size', 'read', 'readdir', 'readFile']);
    expect(vfs.journal.filter(({ operation }) => !reading.has(operation))).toEqual([]);
  });
});

describe('a directory of PostgreSQL', () => {
  it('with checksums switched off in its control file: pd_checksum is not judged', () => {
    const vfs = postgresCopy(8192);
    const path = mainFile(vfs);
    flipByte(vfs, path, 8);
    expect(check(vfs, '/pg').codes).toEqual(['page.checksum']);
    changePgControl(vfs, (view) => view.setUint32(252, 0, true));
    expect(check(vfs, '/pg')).toMatchObject({ findings: [], report: { dataChecksums: false } });
  });

  it('whose control file is half old and half new, or says an impossible block size, is refused', () => {
    const vfs = postgresCopy(8192);
    const good = vfs.readFile('/pg/global/pg_control');
    const half = good.slice();
    half.fill(0x55, 100, 200);
    writeFile(vfs, '/pg/global/pg_control', half);
    expect(() => check(vfs, '/pg')).toThrow(expect.objectContaining({ code: 'XX001' }));
    for (const blockSize of [3000, 0, 65536]) {
      writeFile(vfs, '/pg/global/pg_control', good);
      changePgControl(vfs, (view) => view.setUint32(216, blockSize, true));
      expect(() => check(vfs, '/pg')).toThrow(
        expect.objectContaining({ code: 'XX001', message: expect.stringContaining(`${blockSize}`) }),
      );
    }
    // A lone file below it still has its pages to say it.
    const lone = check(vfs, mainFile(postgresCopy(8192)));
    expect(lone).toMatchObject({
      codes: ['control.unreadable'],
      report: { kind: 'relation', blockSize: 8192, errors: 0, warnings: 1 },
    });
  });

  it('whose server runs, or crashed, is checked without what its control file says of ids', () => {
    const vfs = postgresCopy(8192);
    const path = mainFile(vfs);
    changePage(vfs, path, 8192, 0, (words) => (words[0] = 7)); // an LSN from the future
    expect(check(vfs, '/pg').codes).toEqual(['page.lsn_in_future']);
    changePgControl(vfs, (view) => view.setUint32(16, 6, true)); // in production
    const { findings, report } = check(vfs, '/pg');
    expect(findings).toEqual([expect.objectContaining({ code: 'control.not_shut_down', severity: 'info' })]);
    expect(report.files.every(({ decodedTuples, judgedTuples }) => decodedTuples + judgedTuples === 0)).toBe(true);
    expect(report.files.reduce((sum, { tuples }) => sum + tuples, 0)).toBeGreaterThan(3000);
  });

  it('with a postmaster.pid is checked, and it is said that the catalogs were not read', () => {
    const vfs = postgresCopy(8192);
    writeFile(vfs, '/pg/postmaster.pid', Uint8Array.of(0x31));
    expect(check(vfs, '/pg')).toMatchObject({ codes: ['catalog.unreadable'], report: { errors: 0, warnings: 1 } });
  });

  it('whose catalogs are damaged is checked as far as can be', () => {
    const vfs = postgresCopy(8192);
    const whole = check(vfs, '/pg').report;
    const database = whole.files.map(({ file }) => file).find((file) => /^base\/\d+\/1259$/.test(file));
    flipByte(vfs, `/pg/${database}`, 8000);
    const { codes, report } = check(vfs, '/pg');
    expect(codes).toContain('catalog.unreadable');
    expect(codes).toContain('page.checksum');
    expect(report.files.length).toBe(whole.files.length);
  });

  it('has tuples that are younger than the next transaction, or older than the table admits', () => {
    const vfs = postgresCopy(8192);
    changePgControl(vfs, (view) => view.setUint32(64, 760, true));
    expect(new Set(check(vfs, '/pg').codes)).toContain('heap.tuple.xmin.in_future');
    changePgControl(vfs, (view) => {
      view.setUint32(64, 779, true);
      view.setUint32(84, 760, true);
    });
    expect(new Set(check(vfs, '/pg').codes)).toContain('heap.tuple.xmin.before_oldest');
    const other = postgresCopy(8192);
    using postgres = PostgresDirectory.open('/pg', { vfs: other });
    const types = postgres.table('types');
    expect(types.frozenXid).toBeGreaterThan(postgres.control.checkpoint.oldestXid);
    changePage(other, `/pg/${postgres.path(types)}`, 8192, 0, (words) => {
      words[(words[12] & 0x7fff) >> 1] = types.frozenXid - 1; // t_xmin of the first tuple
    });
    expect(check(other, '/pg').codes).toEqual(['heap.tuple.xmin.before_relation']);
  });

  it('has relations in tablespaces of its own; those of another cluster in the same place are left', () => {
    const vfs = postgresCopy(8192);
    const bytes = vfs.readFile(mainFile(vfs));
    const version = new DataView(vfs.readFile('/pg/global/pg_control').buffer).getUint32(12, true);
    for (const path of [
      '/pg/pg_tblspc',
      '/pg/pg_tblspc/17000',
      `/pg/pg_tblspc/17000/PG_15_${version}`,
      '/pg/pg_tblspc/17000/PG_14_1',
      `/pg/pg_tblspc/17000/PG_15_${version}/5`,
      '/pg/pg_tblspc/17000/PG_14_1/5',
    ]) {
      if (!vfs.exists(path)) vfs.mkdir(path);
    }
    writeFile(vfs, `/pg/pg_tblspc/17000/PG_15_${version}/5/20000`, bytes);
    writeFile(vfs, '/pg/pg_tblspc/17000/PG_14_1/5/20000', bytes);
    const { findings, report } = check(vfs, '/pg');
    expect(findings).toEqual([]);
    expect(report.files.filter(({ file }) => file.startsWith('pg_tblspc')).map(({ file }) => file)).toEqual([
      `pg_tblspc/17000/PG_15_${version}/5/20000`,
    ]);
  });
});

describe('what cannot be read', () => {
  it('is a finding, and the rest is checked: a file, a block, a directory', () => {
    const { vfs, path } = ourDirectory(8192);
    const name = path.replace('/data/', '');
    const whole = check(vfs, '/data').report.files.length;
    const unopened = vfs.plant({ operation: 'open', path: `${path}_fsm`, errno: 'EACCES', times: 99 });
    expect(check(vfs, '/data')).toMatchObject({
      findings: [{ code: 'file.unreadable', file: `${name}_fsm` }],
      report: { errors: 1 },
    });
    unopened.remove();
    const damaged = vfs.plant({ operation: 'read', path: new RegExp(`${path}$`), errno: 'EIO', times: 999 });
    const { findings, report } = check(vfs, '/data');
    expect(new Set(findings.map(({ code, file }) => `${code} ${file}`))).toEqual(new Set([`page.unreadable ${name}`]));
    expect(report.files).toHaveLength(whole);
    damaged.remove();
    const closed = vfs.plant({ operation: 'readdir', path: '/data/base', errno: 'EACCES', times: 999 });
    expect(check(vfs, '/data').codes).toContain('directory.unreadable');
    closed.remove();
    expect(check(vfs, '/data').findings).toEqual([]);
  });
});

describe('what is no subject of a check', () => {
  it('is refused in words', () => {
    const { vfs, path } = ourDirectory(8192);
    vfs.mkdir('/other');
    writeFile(vfs, '/other/file', Uint8Array.of(1));
    writeFile(vfs, '/text', new TextEncoder().encode('no relation, but a text'));
    const refusal = (subject: string, options: CheckOptions = {}): unknown => {
      try {
        return check(vfs, subject, options);
      } catch (error) {
        return isStorageError(error) ? error.code : error;
      }
    };
    expect(refusal('/nowhere')).toBe('58P01');
    expect(refusal('/other')).toBe('55000');
    expect(refusal('/text')).toBe('55000');
    expect(refusal(path, { blockSize: 3000 })).toBeInstanceOf(RangeError);
    expect(refusal(path, { blocksize: 8192 } as never)).toBeInstanceOf(TypeError);
    vfs.unlink('/data/global/control');
    expect(refusal('/data')).toBe('58P01');
  });
});

describe('random damage', () => {
  it.each(BLOCK_SIZES)('anywhere in any file of a directory ends in findings or a refusal, at %i', (size) => {
    const { vfs } = ourDirectory(size);
    const files = [
      '/data/global/control',
      '/data/BLOCKWRIGHT_VERSION',
      ...check(vfs, '/data').report.files.map(({ file }) => `/data/${file}`),
    ];
    fc.assert(
      fc.property(
        fc.nat(files.length - 1),
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 100 }),
        fc.boolean(),
        (which, where, bytes, cut) => {
          const path = files[which];
          const before = vfs.readFile(path);
          const at = where % (before.length + 1);
          if (cut) {
            const file = vfs.open(path, 'r+');
            file.truncate(at);
            file.close();
          } else writeFile(vfs, path, bytes, at);
          try {
            const { report, findings } = check(vfs, '/data');
            expect(report.errors).toBe(findings.filter(({ severity }) => severity === 'error').length);
          } catch (error) {
            if (!isStorageError(error)) throw error;
          } finally {
            vfs.unlink(path);
            writeFile(vfs, path, before);
          }
        },
      ),
      { numRuns: 20 },
    );
  });
});
