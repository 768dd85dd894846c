// `inspect`: its JSON against what PostgreSQL's own tools said of the fixtures' pages, and its text.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { relationFileName } from '../src/relation-files.ts';
import { cli } from './fake-io.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));
const SIZES = ['1k', '2k', '4k', '8k', '16k', '32k'];

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-inspect-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function relationFile(size: string, table: string): string {
  const lines = readFileSync(join(FIXTURES, size, 'expect/relations.txt'), 'utf8').split('\n');
  const path = lines.map((line) => line.split(' ')).find(([name]) => name === table)?.[2];
  return join(FIXTURES, size, 'pgdata', path as string);
}

type Json = any;

function expectation(size: string, name: string): Json[] {
  const bytes = readFileSync(join(FIXTURES, size, 'expect', name));
  const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  return jsonLines(text);
}

function jsonLines(text: string): Json[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

describe.each(SIZES)("--json agrees with PostgreSQL's tools at %s:", (size) => {
  test.each(['types', 'churn', 'vacuumed', 'nocols', 'altered', 'toasted'])('%s', async (table) => {
    const { status, stdout } = await cli(['inspect', relationFile(size, table), '--json']);
    expect(status).toBe(0);
    const pages = jsonLines(stdout);
    // A checksum is 0 in the expectation where the page had not been written yet.
    const headers = pages.map(({ block, header }) => ({ block, ...header, checksum: 0 }));
    expect(headers).toEqual(expectation(size, `${table}.page_header.jsonl`).map((page) => ({ ...page, checksum: 0 })));
    const items = pages.flatMap(({ block, items }) =>
      items.map(({ t_data, ...item }: Json) => ({ block, ...item, t_data_md5: md5OfHex(t_data) })),
    );
    expect(items).toEqual(expectation(size, `${table}.items.jsonl.gz`));
  });

  test('the visibility map', async () => {
    const { stdout } = await cli(['inspect', `${relationFile(size, 'vacuumed')}_vm`, '--json']);
    const records = jsonLines(stdout).flatMap((page) => page.visibility);
    const expected = expectation(size, 'vacuumed.visibility.jsonl');
    // Blocks after the last one with a bit are not in the map's records.
    while (expected.length > 0 && !expected.at(-1).all_visible && !expected.at(-1).all_frozen) expected.pop();
    expect(records).toEqual(expected);
  });
});

function md5OfHex(hex: string | null): string | null {
  return hex === null
    ? null
    : createHash('md5')
        .update(Buffer.from(hex.slice(2), 'hex'))
        .digest('hex');
}

test('a visibility map of two pages', async () => {
  const { stdout } = await cli(['inspect', `${relationFile('1k', 'crossing')}_vm`, '--json']);
  const pages = jsonLines(stdout);
  expect(pages.map((page) => page.block)).toEqual([0, 1]);
  const seen = new Map(pages.flatMap((page) => page.visibility).map((record) => [record.blkno, record]));
  for (const record of expectation('1k', 'crossing.visibility.jsonl')) {
    const { all_visible, all_frozen } = seen.get(record.blkno) ?? { all_visible: false, all_frozen: false };
    expect({ blkno: record.blkno, all_visible, all_frozen }).toEqual(record);
  }
});

describe('text', () => {
  test('one line a page, in 80 columns', async () => {
    const { stdout } = await cli(['inspect', relationFile('8k', 'churn')]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toBe('     block  kind      lsn                 checksum  flags  lower  upper  items');
    expect(lines[1]).toBe('         0  heap      0/1E02258              45005      0    876   2112    213');
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('a block in full: header, line pointers, tuples', async () => {
    const { stdout } = await cli(['inspect', relationFile('8k', 'churn'), '--block=0']);
    expect(stdout).toContain('block 0: heap\n  lsn 0/1E02258  checksum 45005  flags 0  prune_xid 744\n');
    expect(stdout).toMatch(/^ +1 {2}normal +8152 +35 {2}740 committed {2}749 lock +\(0,1\) +keys-updated$/m);
    expect(stdout).toMatch(/^ +5 {2}redirect +→ 158 +0$/m);
    expect(stdout).toMatch(/^ +7 {2}dead +0 +0$/m);
    expect(stdout).toMatch(/^ +23 {2}normal .* 1 multi +\(0,206\) +hot-updated$/m);
    expect(stdout).toMatch(/^ +164 {2}normal .* 744 aborted +0 +\(0,164\) +heap-only$/m);
  });

  test('--data shows the bytes', async () => {
    const { stdout } = await cli(['inspect', relationFile('8k', 'types'), '--block=0', '--data']);
    expect(stdout).toMatch(/^ +49 {2}\\x31/m);
  });

  test('a map page as runs of blocks', async () => {
    const { stdout } = await cli(['inspect', `${relationFile('8k', 'vacuumed')}_vm`, '--items']);
    expect(stdout).toMatch(/blocks \d+ to \d+: all-visible, all-frozen\n/);
    expect((await cli(['inspect', `${relationFile('8k', 'vacuumed')}_fsm`, '--block=2'])).stdout).toMatch(/^ +0 +64$/m);
  });

  test('an index page is no heap page, and no fault', async () => {
    const { status, stdout } = await cli(['inspect', relationFile('8k', 'churn_pkey')]);
    expect(status).toBe(0);
    expect(stdout).toContain("not a plain heap page: a B-tree's root, internal page of level 1");
  });
});

describe('damage', () => {
  /** A fixture's file outside of its directory, or inside a copy of it. */
  function copy(table: string, change: (bytes: Buffer) => void, inDirectory = false): string {
    const directory = mkdtempSync(join(root, 'case-'));
    const source = relationFile('8k', table);
    let path = join(directory, 'file');
    if (inDirectory) {
      mkdirSync(join(directory, 'base/5'), { recursive: true });
      cpSync(join(FIXTURES, '8k/pgdata/PG_VERSION'), join(directory, 'PG_VERSION'));
      cpSync(join(FIXTURES, '8k/pgdata/global'), join(directory, 'global'), { recursive: true });
      path = join(directory, 'base/5/16462');
    }
    const bytes = readFileSync(source);
    change(bytes);
    writeFileSync(path, bytes);
    return path;
  }

  test('a wrong checksum is said, with status 3, where the control file says that there are checksums', async () => {
    const flip = (bytes: Buffer) => {
      bytes[8192 * 3 + 5000] = (bytes[8192 * 3 + 5000] as number) ^ 1;
    };
    const inside = await cli(['inspect', copy('churn', flip, true)]);
    expect(inside.status).toBe(3);
    expect(inside.stdout).toMatch(/^ +3 {2}heap .*\n +.*checksum.*\n +4 {2}heap/m);
    expect((await cli(['inspect', copy('churn', () => {}, true)])).status).toBe(0);
  });

  test('the size word of block 0 garbled: the control file or the other pages say the size', async () => {
    const garble = (bytes: Buffer) => bytes.writeUInt16LE(0x1234, 18);
    for (const inDirectory of [true, false]) {
      const { status, stdout } = await cli(['inspect', copy('churn', garble, inDirectory)]);
      expect(status).toBe(3);
      expect(stdout).toMatch(/^ +0 {2}damaged/m);
      expect(stdout).toMatch(/^ +10 {2}heap/m);
    }
  });

  test('a size that nothing tells is asked for, never assumed', async () => {
    const noise = join(root, 'noise');
    writeFileSync(noise, Buffer.alloc(65536, 0xa5));
    const asked = await cli(['inspect', noise]);
    expect(asked).toMatchObject({ status: 1, stdout: '' });
    expect(asked.stderr).toMatch(/block size .* cannot be told.*\nhint: .*--block-size/);
    const told = await cli(['inspect', noise, '--block-size=16kB']);
    expect(told.status).toBe(3);
    expect(told.stdout.match(/damaged/g)).toHaveLength(4);
  });

  test('a size that disagrees with the control file or the pages is refused, naming both', async () => {
    const inside = await cli(['inspect', relationFile('8k', 'types'), '--block-size=4kB']);
    expect(inside).toMatchObject({ status: 1, stdout: '' });
    expect(inside.stderr).toMatch(/pg_control" says that the block size is 8kB, not 4kB/);
    const alone = await cli(['inspect', copy('types', () => {}), '--block-size=4kB']);
    expect(alone.stderr).toMatch(/pages of .* say that the block size is 8kB, not 4kB/);
  });

  test('bytes after the last whole block are told', async () => {
    const path = copy('types', () => {});
    truncateSync(path, 8192 * 2 + 100);
    const { status, stdout, stderr } = await cli(['inspect', path]);
    expect(status).toBe(3);
    expect(stdout.trimEnd().split('\n')).toHaveLength(3);
    expect(stderr).toMatch(/warning: .* ends with 100 bytes that are no whole block of 8192/);
  });

  test('any bytes: every page is printed, nothing is thrown', async () => {
    const path = join(root, 'random');
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1024, maxLength: 1024 }), fc.boolean(), async (bytes, plausible) => {
        // A plausible header leads further in than noise does.
        if (plausible) bytes.set([0, 0, 28 + (bytes[30] as number), 0, 0, 3, 0, 4, 4, 4], 10);
        writeFileSync(path, bytes);
        for (const flag of ['--json', '--data', '--quiet']) {
          const { status, stderr } = await cli(['inspect', path, '--block-size=1kB', flag]);
          expect([0, 3]).toContain(status);
          expect(stderr).toBe('');
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('files that cannot be inspected', () => {
  test.each([
    ['nosuch', /does not exist|No such file|nosuch/],
    ['.', /is a directory/],
  ])('%s', async (name, message) => {
    const { status, stdout, stderr } = await cli(['inspect', join(root, name)]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('internal error');
  });

  test('an empty file has no blocks', async () => {
    const path = relationFile('8k', 'nothing');
    const { status, stdout, stderr } = await cli(['inspect', path]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toContain('has no blocks');
    expect(await cli(['inspect', path, '--block=0'])).toMatchObject({ status: 1 });
  });

  test('a block past the end', async () => {
    for (const block of ['11', '2147483647', '2147483648', '4294967294']) {
      const { status, stderr } = await cli(['inspect', relationFile('8k', 'churn'), `--block=${block}`]);
      expect(status).toBe(1);
      expect(stderr).toContain(`there is no block ${block} in`);
      expect(stderr).toContain('detail: It holds blocks 0 to 10.');
    }
  });
});

test.each([
  ['16384', 'main', 0],
  ['base/5/16384.1', 'main', 1],
  ['16384_vm', 'vm', 0],
  ['16384_fsm.123', 'fsm', 123],
  ['16384_init', 'init', 0],
  ['t5_16384_vm', 'vm', 0],
  ['copy-of-16384', 'main', 0],
  ['lineitem.bin', 'main', 0],
])('the name %s is of fork %s, segment %i', (path, fork, segment) => {
  expect(relationFileName(path)).toEqual({ fork, segment });
});

test('blocks of a further segment are counted from the fork, and their checksums with them', async () => {
  const directory = mkdtempSync(join(root, 'segment-'));
  const path = join(directory, '16462.1');
  writeFileSync(path, readFileSync(relationFile('8k', 'churn')).subarray(0, 8192 * 2));
  const { stdout } = await cli(['inspect', path, '--json']);
  expect(jsonLines(stdout).map((page) => page.block)).toEqual([131072, 131073]);
});
