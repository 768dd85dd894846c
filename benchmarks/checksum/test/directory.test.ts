// The directory part's answers, not its times: on a directory that is made small.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchmarkContext, WrongAnswerError } from '@blockwright/benchmark';
import { afterAll, describe, expect, it } from 'vitest';
import { findPlantedFaults, measureDirectory } from '../src/directory.ts';
import { ownCommand, variantOf, verifications } from '../src/directory-variants.ts';
import { makeDirectory } from '../src/made-directory.ts';
import { findTools, runProgram } from '../src/postgres-tools.ts';

const signal = new AbortController().signal;
const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal };
const tools = findTools(undefined);
const ours = await makeDirectory(undefined, 200_000, signal);
afterAll(() => {
  ours.remove();
});

const leftovers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('blockwright-checksum-'));

describe('a directory that is made', () => {
  it('of ours has the rows asked for, and goes when it is removed', async () => {
    const made = await makeDirectory(undefined, 300_000, signal);
    expect(made.madeBy).toBe('blockwright');
    expect(existsSync(made.tableFile)).toBe(true);
    made.remove();
    expect(existsSync(made.path)).toBe(false);
  });

  it('goes when it is stopped half-way', async () => {
    const before = leftovers();
    const stop = new AbortController();
    const making = makeDirectory(undefined, 20_000_000, stop.signal);
    setTimeout(() => {
      stop.abort(new Error('enough'));
    }, 50);
    await expect(making).rejects.toThrow('enough');
    expect(leftovers()).toEqual(before);
  });
});

describe('the part about a directory', () => {
  it('measures a directory of ours, says what check verifies more, and leaves it as it was', async () => {
    const report = await measureDirectory(
      { directory: ours.path, bytes: 0, pgBin: undefined, rounds: 9, seed: 1, canaryBytes: 100_000, usePeer: false },
      context,
    );
    expect(report.results.map(({ variant }) => variant)).toEqual([
      'check in process, 2 threads',
      'check in process, 1 thread',
    ]);
    expect(report.aims).toMatchObject([{ aim: 1.5, measured: null, met: null }]);
    expect(report.notes?.[0]).toContain('pg_checksums verifies the checksum of each block');
    expect(new Set(report.results.map(({ units }) => units)).size).toBe(1);
  });

  it.runIf(tools !== undefined)(
    'has both find a changed bit in a directory of PostgreSQL, and agree on the rest',
    async () => {
      const made = await makeDirectory(tools, 500_000, signal);
      try {
        const blocks: number[] = [];
        for (const [name, verify] of verifications({ tools, command: undefined, jobs: 2 })) {
          const verified = await verify(made.path, signal);
          expect([name, verified.isDamaged]).toEqual([name, false]);
          blocks.push(verified.blocks);
        }
        expect(blocks.length).toBe(3);
        expect(new Set(blocks).size).toBe(1);
      } finally {
        made.remove();
      }
    },
  );
});

describe('what is not believed', () => {
  it('is a way that counts other blocks, or finds damage in a clean directory', async () => {
    const right = { blocks: 7, isDamaged: false };
    const variant = variantOf('a way', () => Promise.resolve(right), '/nowhere', 7, signal);
    variant.check(right);
    expect(() => variant.check({ blocks: 6, isDamaged: false })).toThrow(WrongAnswerError);
    expect(() => variant.check({ blocks: 7, isDamaged: true })).toThrow(WrongAnswerError);
  });

  it('is a way that misses the planted fault', async () => {
    const blind = new Map([['a blind way', () => Promise.resolve({ blocks: 7, isDamaged: false })]]);
    await expect(findPlantedFaults(blind, ours, signal)).rejects.toThrow('a blind way did not find the bit');
    const seeing = verifications({ tools: undefined, command: undefined, jobs: 1 });
    await findPlantedFaults(seeing, ours, signal);
  });
});

describe('programs', () => {
  it('are PostgreSQL’s where they are given, and a folder without them is refused', () => {
    const empty = mkdtempSync(join(tmpdir(), 'blockwright-no-tools-'));
    try {
      expect(() => findTools(empty)).toThrow('does not have all of initdb, postgres, pg_checksums');
    } finally {
      rmSync(empty, { recursive: true });
    }
    if (tools !== undefined) expect(findTools(tools.bin)).toEqual(tools);
  });

  it('give their status and what they print, and end when they are stopped', async () => {
    const program = [
      '-e',
      'process.stdin.on("data", (d) => { console.log(String(d).toUpperCase()); process.exitCode = 3; })',
    ];
    expect(await runProgram(process.execPath, program, { input: 'abc' })).toEqual({ status: 3, output: 'ABC\n' });
    const stop = new AbortController();
    const running = runProgram(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { signal: stop.signal });
    setTimeout(() => {
      stop.abort(new Error('enough'));
    }, 50);
    await expect(running).rejects.toThrow('enough');
  });

  it('that run this process are told from others', () => {
    expect(ownCommand(['node', '/x/vitest.mjs'])).toBe(undefined);
    expect(ownCommand(['node', '/x/bin/blockwright.js'])?.at(-1)).toBe('/x/bin/blockwright.js');
    expect(ownCommand(['node', '/x/node_modules/.bin/blockwright'])?.[0]).toBe(process.execPath);
  });
});
