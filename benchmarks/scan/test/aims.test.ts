// The aims and sentences, from made-up samples.
import type { Cell } from '@blockwright/benchmark';
import { describe, expect, it } from 'vitest';
import { scanAims } from '../src/aims.ts';
import type { Query, Sampled } from '../src/subject.ts';
import { summarySentences } from '../src/summary.ts';

function sampled(engine: string, query: Query, blockSize: number, ns: number): Sampled {
  const samplesNs = Array.from({ length: 9 }, (_, i) => ns + i / 100);
  const cell = {
    engine,
    query,
    blockSize,
    medianNs: ns,
    q1Ns: ns - 1,
    q3Ns: ns + 1,
    units: 1,
    nsPerUnit: ns,
    rounds: 9,
    bytes: 1000 * blockSize,
    tailWaste: 60,
    pages: 1000,
  };
  return { query, samplesNs, cell: cell as Cell, subject: { engine, blockSize } as Sampled['subject'] };
}

describe('aims', () => {
  const both = [sampled('blockwright', 'q1', 8192, 10), sampled('PostgreSQL 18.4', 'q1', 8192, 180)];

  it('are ratios to PostgreSQL in the same rounds at 8 kB', () => {
    const [aim, stretch] = scanAims(both, 0.1);
    expect(aim).toMatchObject({ aim: 15, met: true });
    expect(aim.measured).toBeCloseTo(18, 0);
    expect(stretch).toMatchObject({ aim: 20, met: false });
  });

  it('are not measured without PostgreSQL, or on too few rows', () => {
    for (const aims of [scanAims(both.slice(0, 1), 0.1), scanAims(both, 0.01)]) {
      expect(aims.map(({ met }) => met)).toEqual([null, null]);
    }
  });

  it('hold the block sizes against each other in Q1', () => {
    const spread = scanAims([sampled('blockwright', 'q1', 1024, 20), sampled('blockwright', 'q1', 8192, 10)], 0.1).at(
      -1,
    );
    expect(spread).toMatchObject({ aim: 1.5, measured: 2, met: false });
  });
});

describe('the sentences', () => {
  it('name the fastest and the slowest size', () => {
    const cells = [sampled('blockwright', 'count', 1024, 20), sampled('blockwright', 'count', 8192, 10)].map(
      ({ cell }) => cell,
    );
    expect(summarySentences(cells)[0]).toMatch(/^In short: .* of count\(\*\) with the map by 2.00 times\.$/);
    expect(summarySentences(cells)[1]).toMatch(/fastest at 8 ?kB, 10 ns a row; 1 ?kB takes 2.00 times as long/);
  });

  it('see no difference where the quartiles overlap', () => {
    const cells = [sampled('blockwright', 'count', 1024, 10.5), sampled('blockwright', 'count', 8192, 10)].map(
      ({ cell }) => cell,
    );
    expect(summarySentences(cells)[0]).toBe(
      'In short: no difference between the block sizes was seen in the time a row.',
    );
    expect(summarySentences(cells)[1]).toContain('no difference seen');
  });
});
