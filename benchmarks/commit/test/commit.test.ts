// The benchmark end to end, small: what it reports, what it refuses, and that a lost commit is found.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchmarkContext } from '@blockwright/benchmark';
import { commitBenchmark } from '@blockwright/benchmark-commit';
import { type CommitPeer, openSqliteCommits, sqliteIsInstalled } from '@blockwright/peers';
import { afterAll, describe, expect, it } from 'vitest';
import { type CommitSubject, openSubject } from '../src/subject.ts';
import { modesOf, variantOf } from '../src/variants.ts';

const folder = mkdtempSync(join(tmpdir(), 'blockwright-commit-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal: new AbortController().signal };

describe('bench commit', () => {
  it('measures each way at each block size, beside SQLite, and leaves nothing behind', async () => {
    const report = await commitBenchmark.run({ blockSizes: ['1kB', '8kB'], commits: 4, group: 3, folder }, context);
    const ours = report.results.filter(({ engine }) => engine === 'blockwright');
    expect(ours.map(({ blockSize, variant }) => `${blockSize} ${variant}`)).toEqual(
      [1024, 8192].flatMap((size) =>
        ['synchronous', 'asynchronous'].flatMap((how) =>
          ['alone', 'in groups of 3'].map((each) => `${size} ${how}, ${each}`),
        ),
      ),
    );
    for (const { perSecond, walBytes } of ours) {
      expect(perSecond).toBeGreaterThan(0);
      expect(walBytes).toBeGreaterThan(60);
    }
    expect(report.aims).toHaveLength(8);
    if (sqliteIsInstalled()) {
      expect(report.results).toHaveLength(ours.length + 2);
      for (const { measured } of report.aims) expect(measured).toBeGreaterThan(0);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves nothing behind when it is stopped', async () => {
    const stop = new AbortController();
    const running = commitBenchmark.run(
      { blockSizes: ['8kB'], commits: 4, folder },
      { ...context, progress: () => stop.abort(new Error('enough')), signal: stop.signal },
    );
    await expect(running).rejects.toThrow('enough');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses a folder that does not exist', async () => {
    const missing = join(folder, 'nowhere');
    await expect(commitBenchmark.run({ folder: missing }, context)).rejects.toThrow(
      /--folder ".*nowhere" is not a directory/,
    );
    expect(existsSync(missing)).toBe(false);
  });
});

describe('a way to commit', () => {
  /** Says that it commits, and forgets every tenth. */
  class Forgetful implements CommitSubject {
    readonly blockSize = 8192;
    readonly synchronous = true;
    private kept = 0;
    commit(id: number): void {
      if (id % 10 !== 9) this.kept++;
    }
    async commitInGroup(id: number): Promise<void> {
      this.commit(id);
    }
    rows(): number {
      return this.kept;
    }
    walBytes(): number {
      return 0;
    }
    remove(): void {}
  }

  it('that loses a commit is found, alone and in groups', async () => {
    for (const mode of modesOf([new Forgetful()], [], { commits: 20, group: 4 })) {
      await mode.run();
      expect(() => mode.verify()).toThrow(/blockwright has \d+ rows after \d+ commits of one/);
    }
  });

  it('counts what it committed', async () => {
    const subject = openSubject({ folder, blockSize: 4096, synchronous: false });
    try {
      const [alone, groups] = modesOf([subject], [], { commits: 2, group: 5 });
      expect(await alone.run()).toBe(32);
      expect(await groups.run()).toBe(32);
      expect(subject.rows()).toBe(64);
      alone.verify();
      expect(() => variantOf(alone).check(31)).toThrow('blockwright committed 31 of 32 transactions');
    } finally {
      subject.remove();
    }
  });

  it.runIf(sqliteIsInstalled())('of a peer is held against the peer’s own rows', async () => {
    const peer: CommitPeer = await openSqliteCommits({ folder, synchronous: true });
    try {
      const [mode] = modesOf([], [peer], { commits: 3, group: 2 });
      expect(mode.title).toBe('synchronous, alone');
      await mode.run();
      mode.verify();
      peer.commit(99, 'one more');
      expect(() => mode.verify()).toThrow('has 4 rows after 3 commits of one');
    } finally {
      peer.close();
    }
  });
});
