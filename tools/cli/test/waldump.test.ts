// `waldump`: every record in pg_waldump's shape, what the options choose, the counts, and how it speaks of the end.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Database, initdb, table } from '@blockwright/engine';
import { int4 } from '@blockwright/tuple';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from './fake-io.ts';

type Json = any;

let root: string;
/** Shut down, with a few hundred records. */
let clean: string;
/** As a crash left it, then recovered and used: two incarnations. */
let recovered: string;
let counter = 0;

const numbers = table('numbers', { n: int4(), square: int4() }, { fillfactor: 80 });

function fill(directory: string, crashedCopy?: string): void {
  const db = Database.open(directory);
  try {
    const tids: { block: number; offset: number }[] = [];
    if (!db.tables().some(({ name }) => name === 'numbers')) db.createTable(numbers);
    db.insert(
      numbers,
      Array.from({ length: 300 }, (_, n) => ({ n, square: 0 })),
      { tids },
    );
    db.transaction((tx) => {
      tids.slice(0, 100).forEach(({ block, offset }, n) => tx.update(numbers, block, offset, { square: n * n }));
    });
    if (crashedCopy !== undefined) cpSync(directory, crashedCopy, { recursive: true });
  } finally {
    db.close();
  }
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-waldump-'));
  clean = join(root, 'clean');
  recovered = join(root, 'recovered');
  initdb(clean, { blockSize: '4kB', walSegmentSize: '1MB' });
  fill(clean, recovered);
  rmSync(join(recovered, 'blockwright.pid'));
  fill(recovered);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function copy(of: string): string {
  const directory = join(root, `copy${counter++}`);
  cpSync(of, directory, { recursive: true });
  return directory;
}

async function records(directory: string, ...more: string[]): Promise<Json[]> {
  const { stdout } = await cli(['waldump', directory, '--json', ...more]);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

const lsn = (text: string): number => {
  const [high, low] = text.split('/').map((word) => Number.parseInt(word, 16));
  return (high as number) * 2 ** 32 + (low as number);
};

function segment(directory: string): string {
  return join(directory, 'wal/000000010000000000000001');
}

/** Changes a byte of the first segment. */
function flip(directory: string, offset: number): void {
  const bytes = readFileSync(segment(directory));
  bytes[offset] = (bytes[offset] as number) ^ 0x40;
  writeFileSync(segment(directory), bytes);
}

const LINE =
  /^rmgr: (\S+) +len \(rec\/tot\): +(\d+)\/ *(\d+), tx: +(\d+), lsn: ([0-9A-F]+\/[0-9A-F]{8}), prev ([0-9A-F]+\/[0-9A-F]{8}), desc: ([A-Z_0-9+]+) ?(.*?)((?:, blkref #\d+: rel \d+\/\d+\/\d+(?: fork (?:fsm|vm|init))? blk \d+(?: FPW)?)*)$/;

describe('a directory that was shut down', () => {
  test('is printed from its first record to its last, each in the shape of pg_waldump', async () => {
    const { status, stdout, stderr } = await cli(['waldump', '-D', clean]);
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^the WAL ends at 0\/[0-9A-F]+: invalid record length at 0\/[0-9A-F]+: expected at least 24, got 0\n$/,
    );
    const lines = stdout.trimEnd().split('\n');
    const all = await records(clean);
    expect(lines).toHaveLength(all.length);
    let previous = 0;
    for (const [i, line] of lines.entries()) {
      const [, manager, rec, total, xid, start, prev, kind] = LINE.exec(line) ?? [line];
      const json = all[i];
      expect([manager, Number(total), Number(xid), kind]).toEqual([
        json.resource_manager,
        json.record_length,
        json.xid,
        json.record_type,
      ]);
      expect(Number(rec)).toBe(json.record_length - json.fpi_length);
      expect(lsn(start as string)).toBe(lsn(json.start_lsn));
      expect(lsn(prev as string)).toBe(previous);
      expect(line).toContain(json.description);
      const blocks = [...line.matchAll(/blkref #(\d+): rel (\d+)\/(\d+)\/(\d+)(?: fork (\w+))? blk (\d+)( FPW)?/g)];
      expect(blocks.map((m) => [m[1], m[2], m[3], m[4], m[6]].map(Number))).toEqual(
        json.blocks.map((b: Json) => [b.block_id, b.reltablespace, b.reldatabase, b.relfilenode, b.relblocknumber]),
      );
      expect(blocks.map((m) => m[7] !== undefined)).toEqual(json.blocks.map((b: Json) => 'hole_offset' in b));
      previous = lsn(json.start_lsn);
    }
    expect(lines[0]).toMatch(
      /^rmgr: XLOG .*lsn: 0\/00100030, prev 0\/00000000, desc: CHECKPOINT_SHUTDOWN redo 0\/100030/,
    );
    expect(lines.at(-1)).toMatch(/desc: CHECKPOINT_SHUTDOWN/);
    expect(stdout).toMatch(/desc: HOT_UPDATE /);
    expect(stdout).toMatch(/ FPW$/m);
  });

  test('--quiet prints nothing: the status alone tells', async () => {
    for (const more of [[], ['--json'], ['--stats']]) {
      expect(await cli(['waldump', '-D', clean, '--quiet', ...more])).toEqual({ status: 0, stdout: '', stderr: '' });
    }
  });

  test('--bkp-details gives each block reference a line', async () => {
    const { stdout } = await cli(['waldump', clean, '-b', '--fullpage', '--limit=1']);
    expect(stdout.split('\n')[1]).toMatch(
      /^\tblkref #0: rel \d+\/\d+\/\d+ fork main blk \d+ \(FPW\); hole: offset: \d+, length: \d+$/,
    );
  });

  test('is not touched, and a directory of segments alone is enough', async () => {
    const directory = copy(clean);
    const digests = () =>
      readdirSync(directory, { recursive: true, withFileTypes: true }).map((entry) =>
        entry.isFile()
          ? createHash('md5')
              .update(readFileSync(join(entry.parentPath, entry.name)))
              .digest('hex')
          : entry.name,
      );
    const before = digests();
    const wanted = await cli(['waldump', directory]);
    expect(await cli(['waldump', join(directory, 'wal')])).toEqual(wanted);
    expect(digests()).toEqual(before);
  });

  test('a control file that is damaged is warned of, and does not matter', async () => {
    const directory = copy(clean);
    writeFileSync(join(directory, 'global/control'), 'nonsense');
    const { status, stdout, stderr } = await cli(['waldump', directory]);
    expect([status, stdout]).toEqual([0, (await cli(['waldump', clean])).stdout]);
    expect(stderr).toMatch(/^blockwright: warning: .*control.*; the segments are read as they are\n/);
  });
});

describe('what is chosen', () => {
  test('--start begins at the next record, --end stops before what ends later, --limit counts', async () => {
    const all = await records(clean);
    const from = lsn(all[40].start_lsn);
    expect(await records(clean, `--start=${all[40].start_lsn}`)).toEqual(all.slice(40));
    const inside = await cli(['waldump', clean, `--start=0/${(from + 8).toString(16)}`, '--json']);
    expect(inside.stdout.split('\n')[0]).toBe(JSON.stringify(all[41]));
    expect(inside.stderr).toMatch(/^the first record after 0\/[0-9A-F]+ is at 0\/[0-9A-F]+: \d+ bytes are skipped\n/);
    expect(await records(clean, `--start=${all[40].start_lsn}`, `--end=${all[50].end_lsn}`)).toEqual(all.slice(40, 51));
    expect(await records(clean, `-s${all[40].start_lsn}`, '-n7')).toEqual(all.slice(40, 47));
    expect((await cli(['waldump', clean, '--limit=3'])).stderr).toBe('');
    const beyond = await cli(['waldump', clean, '--start=0/FFFFFF']);
    expect([beyond.status, beyond.stdout]).toEqual([1, '']);
    expect(beyond.stderr).toMatch(
      /^blockwright: error: there is no record at or after 0\/FFFFFF\ndetail: .*magic number|segment/,
    );
  });

  test.each<[string[], (record: Json) => boolean]>([
    [['--rmgr=heap'], (r) => r.resource_manager === 'Heap'],
    [['-r', 'Transaction'], (r) => r.resource_manager === 'Transaction'],
    [['--xid=3'], (r) => r.xid === 3],
    [['--xid=0'], (r) => r.xid === 0],
    [['--fullpage'], (r) => r.fpi_length > 0],
    [['--fork=vm'], (r) => r.blocks.some((b: Json) => b.relforknumber === 2)],
    [['-R', '1663/5/1259'], (r) => r.blocks.some((b: Json) => b.relfilenode === 1259)],
    [
      ['-R', '1663/5/16384', '-B', '1'],
      (r) => r.blocks.some((b: Json) => b.relfilenode === 16384 && b.relblocknumber === 1),
    ],
    [['-R', '1663/6/16384'], () => false],
    [
      ['--rmgr=Heap', '--fullpage', '--relation=1663/5/1249'],
      (r) => r.resource_manager === 'Heap' && r.fpi_length > 0 && r.blocks.some((b: Json) => b.relfilenode === 1249),
    ],
  ])('%j', async (options, isWanted) => {
    const wanted = (await records(clean)).filter(isWanted);
    if (!['--fork=vm', '1663/6/16384'].some((option) => options.includes(option)))
      expect(wanted.length).toBeGreaterThan(0);
    expect(await records(clean, ...options)).toEqual(wanted);
  });

  test('--rmgr=list names the resource managers', async () => {
    const { status, stdout } = await cli(['waldump', '--rmgr=list']);
    expect(status).toBe(0);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['XLOG', 'Transaction', 'Storage', 'CLOG', 'Heap2', 'Heap']),
    );
  });

  test.each<[string[], RegExp]>([
    [['--block=1'], /--block counts the blocks of a relation/],
    [['--start=12'], /invalid value for --start: "12" is not an LSN/],
    [['--end=FFFFFFFF/0'], /is beyond the last position/],
    [['--rmgr=Heep'], /"Heep" is no resource manager\nhint: Did you mean "Heap"/],
    [['--relation=1/2'], /"1\/2" is not T\/D\/R/],
    [['--relation=1/2/4294967296'], /is not T\/D\/R/],
    [['--fork=map'], /"map" is not one of main, fsm, vm, init/],
    [['--stats=kind'], /"kind" is not one of record/],
    [['--limit=0'], /"0" is not a whole number from 1/],
  ])('%j is wrong usage', async (options, message) => {
    const { status, stdout, stderr } = await cli(['waldump', clean, ...options]);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});

describe('--stats', () => {
  test.each([['--stats'], ['--stats=record']])('%s counts what is there', async (option) => {
    const all = await records(clean);
    const { stdout } = await cli(['waldump', clean, option, '--json']);
    const { start_lsn, end_lsn, stats, total }: Json = JSON.parse(stdout);
    expect([start_lsn, end_lsn]).toEqual([all[0].start_lsn, all.at(-1).end_lsn]);
    const key = (r: Json) => (option === '--stats' ? r.resource_manager : `${r.resource_manager}/${r.record_type}`);
    const wanted = new Map<string, number[]>();
    for (const record of all) {
      const row = wanted.get(key(record)) ?? [0, 0, 0];
      row[0]++;
      row[1] += record.record_length - record.fpi_length;
      row[2] += record.fpi_length;
      wanted.set(key(record), row);
    }
    const rows = stats.filter((row: Json) => row.count > 0);
    expect(new Map(rows.map((row: Json) => [key(row), [row.count, row.record_size, row.fpi_size]]))).toEqual(wanted);
    expect(total.count).toBe(all.length);
    expect(total.combined_size).toBe(all.reduce((sum, record) => sum + record.record_length, 0));
    for (const name of ['count', 'record_size', 'fpi_size', 'combined_size']) {
      const sum = stats.reduce((so: number, row: Json) => so + row[`${name}_percentage`], 0);
      expect(sum).toBeCloseTo(100);
    }
    const text = await cli(['waldump', clean, option]);
    const lines = text.stdout.trimEnd().split('\n');
    expect(lines[0]).toBe(`WAL statistics between ${start_lsn} and ${end_lsn}:`);
    expect(lines[1]).toBe(
      'Type                                           N      (%)          Record size      (%)             FPI size      (%)        Combined size      (%)',
    );
    expect(lines).toHaveLength(3 + stats.length + 2);
    expect(lines.at(-1)).toMatch(/^Total +\d+ +\d+ +\[\d+\.\d\d%\] +\d+ +\[\d+\.\d\d%\] +\d+ +\[100%\]$/);
    expect(new Set([lines[1], lines[2], ...lines.slice(3, -2), lines.at(-1)].map((line) => line?.length)).size).toBe(1);
  });

  test('without records there are no percentages to divide by', async () => {
    const { status, stdout } = await cli(['waldump', clean, '--stats', '--xid=4000000000']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^WAL statistics between 0\/0 and 0\/0:/);
    expect(stdout).not.toMatch(/NaN/);
  });
});

describe('after a crash', () => {
  test('both incarnations are printed, and where one ends and the other begins is said', async () => {
    const { status, stdout, stderr } = await cli(['waldump', recovered]);
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^incarnation 1 ends at 0\/[0-9A-F]+: .+\nincarnation 2 begins at 0\/[0-9A-F]+\nthe WAL ends at 0\/[0-9A-F]+: invalid record length .+\n$/,
    );
    expect(stdout.match(/CHECKPOINT_SHUTDOWN|END_OF_RECOVERY/g)?.length).toBeGreaterThan(1);
    const all = await records(recovered);
    expect(new Set(all.map((record) => record.incarnation))).toEqual(new Set([1, 2]));
    const second = all.find((record) => record.incarnation === 2);
    expect(stderr).toContain(`incarnation 2 begins at ${second.start_lsn}\n`);
    expect(lsn(second.start_lsn) % 4096).toBeLessThan(64);
  });
});

describe('damage', () => {
  test('of what was durable has status 3, after all records before it', async () => {
    const directory = copy(clean);
    const all = await records(directory);
    const victim = all[Math.floor(all.length / 2)];
    flip(directory, lsn(victim.start_lsn) - 0x100000 + 10);
    const { status, stdout, stderr } = await cli(['waldump', directory]);
    expect(status).toBe(3);
    expect(stdout.trimEnd().split('\n')).toHaveLength(Math.floor(all.length / 2));
    expect(stderr).toMatch(
      /the WAL ends at 0\/[0-9A-F]+: (incorrect checksum of the record|record with incorrect back link)/,
    );
    expect(stderr).toMatch(
      /\nblockwright: warning: the WAL is damaged after 0\/[0-9A-F]+: it was durable up to 0\/[0-9A-F]+ at least\n$/,
    );
  });

  test('of the very first page: there is nothing to begin with', async () => {
    const directory = copy(clean);
    flip(directory, 4);
    const { status, stdout, stderr } = await cli(['waldump', directory]);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^blockwright: error: there is no WAL in ".*"\ndetail: /);
  });

  test("a segment of another system's is refused", async () => {
    const directory = copy(clean);
    const other = join(root, `other${counter++}`);
    initdb(other, { blockSize: '4kB', walSegmentSize: '1MB' });
    cpSync(segment(other), segment(directory));
    const { status, stderr } = await cli(['waldump', directory]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/is of another WAL: system identifier \d+ instead of \d+\nhint: /);
  });
});

test('what is no WAL of ours is told apart', async () => {
  const run = async (path: string) => {
    const { status, stdout, stderr } = await cli(['waldump', path]);
    expect([status, stdout]).toEqual([1, '']);
    return stderr;
  };
  expect(await run(join(root, 'nowhere'))).toMatch(/does not exist/);
  const file = join(root, 'file');
  writeFileSync(file, '');
  expect(await run(file)).toMatch(/is not a directory/);
  mkdirSync(join(root, 'empty'));
  expect(await run(join(root, 'empty'))).toMatch(/there is no WAL in/);
  const fixture = fileURLToPath(new URL('../../../fixtures/pg/8k/pgdata', import.meta.url));
  expect(await run(fixture)).toMatch(/is a PostgreSQL's data directory\nhint: .*pg_waldump/);
});

describe('as pg_waldump takes them', () => {
  const FIRST = '000000010000000000000001';

  test('-p and -t', async () => {
    const all = await cli(['waldump', clean]);
    expect(await cli(['waldump', '-p', clean, '-t', '1'])).toEqual(all);
    const other = await cli(['waldump', '-p', clean, '--timeline=2']);
    expect([other.status, other.stderr]).toEqual([2, expect.stringContaining('--timeline: "2" is not 1')]);
    const two = await cli(['waldump', '-p', clean, '-D', recovered]);
    expect([two.status, two.stderr]).toEqual([2, expect.stringContaining('two directories were named')]);
  });

  test('segment files: the first alone, or up to the last', async () => {
    const all = await cli(['waldump', clean]);
    const alone = await cli(['waldump', join(clean, 'wal', FIRST)]);
    expect(alone.status).toBe(0);
    expect(alone.stdout).toBe(all.stdout);
    expect((await cli(['waldump', '-p', join(clean, 'wal'), FIRST, FIRST])).stdout).toBe(all.stdout);
    const [, second] = (await records(clean)).map(({ start_lsn: lsn }) => lsn as string);
    const part = await cli(['waldump', '-p', clean, FIRST, `--start=${second}`]);
    expect(part.stdout).toBe(all.stdout.slice(all.stdout.indexOf('\n') + 1));
  });

  test.each<[number, string, ...string[]]>([
    [1, 'there is no segment 000000010000000000000099', '000000010000000000000099'],
    [1, 'is of timeline 2', '000000020000000000000001'],
    [2, '"nonsense" is no segment file', FIRST, 'nonsense'],
    [2, '--start 0/99999999 lies outside', FIRST, '--start=0/99999999'],
    [2, 'comes after it', 'nonsense', FIRST],
  ])('%i: %s', async (status, message, ...args: string[]) => {
    const ran = await cli(['waldump', '-p', clean, ...args]);
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([status, '', expect.stringContaining(message)]);
  });

  test('--follow prints what comes, until it is enough or Ctrl-C', async () => {
    const directory = copy(clean);
    const before = (await records(directory)).length;
    const following = cli(['waldump', directory, '--follow', '--json', `--limit=${before + 20}`]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const db = Database.open(directory);
    db.insert(
      numbers,
      Array.from({ length: 1000 }, (_, n) => ({ n, square: 0 })),
    );
    db.close();
    const { status, stdout } = await following;
    expect(status).toBe(0);
    expect(stdout.trimEnd().split('\n')).toEqual(
      (await cli(['waldump', directory, '--json', `--limit=${before + 20}`])).stdout.trimEnd().split('\n'),
    );
    const interrupt = new AbortController();
    const endless = cli(['waldump', directory, '--follow', '--stats'], { signal: interrupt.signal });
    setTimeout(() => interrupt.abort(), 400);
    const ended = await endless;
    expect([ended.status, ended.stdout]).toEqual([130, expect.stringContaining('Heap')]);
  });
});
