// A table generated in parts is the table generated whole, and a batch holds what the text says.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  TextPool,
  TPCH_TABLE_NAMES,
  TPCH_TABLES,
  type TpchBatch,
  type TpchColumn,
  type TpchTableName,
  type TpchVector,
  tableBatches,
  unitCount,
} from '../src/index.ts';
import { textOf } from './support.ts';

const SCALE = 0.001;

let pool: TextPool;
const whole = new Map<TpchTableName, string>();
beforeAll(() => {
  pool = TextPool.open();
  for (const table of TPCH_TABLE_NAMES) whole.set(table, textOf(table, SCALE, { pool }));
}, 120_000);
afterAll(() => pool.close());

describe('split generation', () => {
  for (const table of TPCH_TABLE_NAMES) {
    it(`of ${table} equals the whole`, () => {
      const units = unitCount(table, SCALE);
      fc.assert(
        fc.property(fc.uniqueArray(fc.nat({ max: units }), { maxLength: 5 }), (cuts) => {
          const bounds = [0, ...cuts.sort((a, b) => a - b), units];
          const parts = bounds.slice(1).map((to, i) => textOf(table, SCALE, { pool, from: bounds[i], to }));
          expect(parts.join('') === whole.get(table)).toBe(true);
        }),
        { numRuns: 5 },
      );
    });
  }
});

/** A value as dbgen prints it. */
function printed(vector: TpchVector, column: TpchColumn, row: number): string {
  switch (vector.kind) {
    case 'int':
      if (column.type === 'date') {
        return new Date(Date.UTC(2000, 0, 1 + vector.values[row])).toISOString().slice(0, 10);
      }
      return String(vector.values[row]);
    case 'int8':
      return String((BigInt(vector.hi[row]) << 32n) | BigInt(vector.lo[row]));
    case 'scaled': {
      if (column.name === 'l_quantity') return String(vector.values[row] / 100);
      return (vector.values[row] / 100).toFixed(2);
    }
    case 'bytes': {
      const bytes = vector.data.subarray(vector.starts[row], vector.starts[row + 1]);
      const text = Buffer.from(bytes).toString('latin1');
      if (column.type !== 'char') return text;
      if (text.length !== column.length) throw new Error(`${column.name} is not padded: ${JSON.stringify(text)}`);
      return text.trimEnd();
    }
  }
}

function printedBatch(table: TpchTableName, batch: TpchBatch): string {
  let text = '';
  for (let row = 0; row < batch.length; row++) {
    batch.columns.forEach((vector, i) => {
      text += `${printed(vector, TPCH_TABLES[table][i], row)}|`;
    });
    text += '\n';
  }
  return text;
}

describe('batches', () => {
  for (const table of TPCH_TABLE_NAMES) {
    it(`of ${table} hold what its text says`, () => {
      for (const batchRows of [7, 61, undefined]) {
        let text = '';
        let mostRows = 0;
        for (const batch of tableBatches(table, SCALE, { pool, batchRows })) {
          mostRows = Math.max(mostRows, batch.length);
          text += printedBatch(table, batch);
        }
        expect(mostRows).toBeLessThanOrEqual(batchRows ?? 2048);
        expect(text === whole.get(table)).toBe(true);
      }
    });
  }

  it('of a part of lineitem hold that part', () => {
    const text = [...tableBatches('lineitem', SCALE, { pool, from: 1000, to: 1003 })].map((batch) =>
      printedBatch('lineitem', batch),
    );
    expect(text.join('')).toBe(textOf('lineitem', SCALE, { pool, from: 1000, to: 1003 }));
  });

  it('can be iterated twice', () => {
    const batches = tableBatches('region', SCALE, { pool });
    const texts = [1, 2].map(() => [...batches].map((batch) => printedBatch('region', batch)).join(''));
    expect(texts).toEqual([whole.get('region'), whole.get('region')]);
  });
});

describe('text', () => {
  it('leaves out the last bar on request', () => {
    const lines = textOf('region', 1, { pool, trailingBar: false }).split('\n');
    expect(lines[1]).toBe('1|AMERICA|hs use ironic, even requests. s');
  });
});
