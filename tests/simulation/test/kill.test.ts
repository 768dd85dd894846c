// Real kills: a child under load, killed by SIGKILL at a moment drawn at random, again and again on one directory; each time
// what it acknowledged is there, what it did not is there as a whole or not at all, and `check` finds nothing.
// Set BLOCKWRIGHT_KILL_SEED to draw the same moments and the same work again (as far as a scheduler lets it).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Finding, runSync } from '@blockwright/base';
import { checkPath, Database, initdb } from '@blockwright/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Expected } from './kill-log.ts';

const CHILD = fileURLToPath(new URL('./kill-child.ts', import.meta.url));
const KILLS = process.env.BLOCKWRIGHT_SLOW === undefined ? 5 : 50;
const SEED = Number(process.env.BLOCKWRIGHT_KILL_SEED ?? Date.now() % 1_000_000);
/** The most that a child gets to commit. */
const MOST_COMMITS = 120;
const MOST_OPENING_MS = 150;
/** How long after a commit a child dies at the latest, in milliseconds: some transactions long. */
const MOST_DELAY_MS = 8;

let home: string;
let data: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'blockwright-kill-'));
  data = join(home, 'data');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A number from 0 to 1 that follows from the seed and a counter. */
function draw(counter: number): number {
  let x = (SEED * 2654435761 + counter * 40503 + 12345) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 2246822519) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 3266489917) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

/** When a child dies: so many milliseconds after it began to open the directory, or after its n-th commit. */
interface Life {
  readonly kind: 'honest' | 'early' | 'idle';
  readonly openingMs?: number;
  readonly commits?: number;
  /** After the commit: without it, every child would die just after one. */
  readonly delayMs?: number;
}

/** Lets a child work, and kills it; gives what it wrote down. */
async function live(life: Life, seed: number): Promise<string> {
  const log = join(home, `log-${seed}`);
  const child = spawn(
    process.execPath,
    ['--conditions=@blockwright/source', '--import', 'tsx', CHILD, data, log, String(seed), life.kind],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let [output, errors] = ['', ''];
  let isDoomed = false;
  child.stderr.on('data', (bytes) => {
    errors += String(bytes);
  });
  child.stdout.on('data', (bytes) => {
    output += String(bytes);
    const { openingMs, commits = 0, delayMs = 0 } = life;
    if (isDoomed || (openingMs === undefined && output.split('.').length <= commits)) return;
    isDoomed = true;
    setTimeout(() => child.kill('SIGKILL'), openingMs ?? delayMs);
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal !== 'SIGKILL') throw new Error(`the child ended by itself, with status ${code}: ${errors}`);
  return existsSync(log) ? readFileSync(log, 'utf8') : '';
}

/** Opens what a kill left, and holds it against what was acknowledged. */
function verify(expected: Expected): string[] {
  const database = Database.open(data);
  let faults: string[];
  try {
    faults = expected.faults(database);
  } finally {
    database.close();
  }
  const findings: Finding[] = [];
  runSync(checkPath(data, (finding) => findings.push(finding)));
  faults.push(...findings.filter(({ severity }) => severity !== 'info').map((finding) => `check: ${finding.message}`));
  faults.push(...orphans());
  return faults;
}

/** Files of relations that no table has. */
function orphans(): string[] {
  const database = Database.open(data, { readOnly: true });
  try {
    const paths = database.tables().flatMap(({ path, indexes }) => [path, ...indexes.map((index) => index.path)]);
    const known = new Set(paths.map((path) => path.split('/').at(-1)));
    const files = readdirSync(join(data, 'base/5')).filter((name) => !known.has(name.split(/[_.]/)[0]));
    return files.map((name) => `base/5/${name} belongs to no table`);
  } finally {
    database.close();
  }
}

describe('a child that is killed', () => {
  test(
    `loses nothing that it acknowledged: ${KILLS} kills, seed ${SEED}`,
    async () => {
      initdb(data, { blockSize: '2kB', walSegmentSize: '1MB' });
      const expected = new Expected();
      for (let kill = 0; kill < KILLS; kill++) {
        const commits = 1 + Math.floor(draw(kill * 3) * MOST_COMMITS);
        const delayMs = draw(kill * 3 + 2) * MOST_DELAY_MS;
        expected.read(await live({ kind: 'honest', commits, delayMs }, SEED + kill));
        // After one in three, another child is killed while it recovers what the first one left.
        const openingMs = draw(kill * 3 + 1) * MOST_OPENING_MS;
        if (kill % 3 === 1) await live({ kind: 'idle', openingMs }, SEED + kill);
        const when = `seed ${SEED}, kill ${kill} ${delayMs} ms after ${commits} commits, then ${openingMs} ms`;
        expect(verify(expected), when).toEqual([]);
      }
      expect(expected.acknowledged).toBeGreaterThan(KILLS * 5);
    },
    KILLS * 30_000,
  );

  test('and acknowledges before it commits is found', async () => {
    initdb(data, { blockSize: '2kB', walSegmentSize: '1MB' });
    const expected = new Expected();
    expected.read(await live({ kind: 'early', commits: 1000 }, 4711));
    expect(expected.acknowledged).toBeGreaterThan(10);
    expect(verify(expected).join('\n')).toMatch(/slot \d: neither with nor without/);
  });
});
