import {
  type BlockNumber,
  type BufferId,
  blockNumber,
  FORK_NAMES,
  ForkNumber,
  forkSuffix,
  GLOBAL_TABLESPACE,
  INVALID_BLOCK_NUMBER,
  MAX_BLOCK_NUMBER,
  type OffsetNumber,
  offsetNumber,
  refuseBigEndianHost,
  relationPath,
  uint32,
  type Xid,
} from '@blockwright/base';
import { afterEach, describe, expect, it, vi } from 'vitest';

describe('flavoured numbers', () => {
  it('take plain numbers, and never each other', () => {
    const takesBlock = (block: BlockNumber): number => block;
    const offset: OffsetNumber = 1;
    const buffer: BufferId = 2;
    const xid: Xid = 3;
    expect(takesBlock(7 + 1)).toBe(8);
    // @ts-expect-error: an offset number is no block number
    expect(takesBlock(offset)).toBe(1);
    // @ts-expect-error: a buffer is no block number
    expect(takesBlock(buffer)).toBe(2);
    // @ts-expect-error: a transaction is no block number
    expect(takesBlock(xid)).toBe(3);
  });

  it.each([0, 1, 2 ** 31 - 1, 2 ** 31, MAX_BLOCK_NUMBER])('%i is a block number', (value) =>
    expect(blockNumber(value)).toBe(value),
  );
  it.each([-1, 0.5, INVALID_BLOCK_NUMBER, 2 ** 32, Number.NaN, Infinity, '7' as never])('%s is none', (value) =>
    expect(() => blockNumber(value)).toThrow(RangeError),
  );
  it('an offset number counts from 1 to the most that a page holds', () => {
    expect([offsetNumber(1), offsetNumber(8192)]).toEqual([1, 8192]);
    for (const value of [0, -1, 8193, 1.5, Number.NaN]) expect(() => offsetNumber(value)).toThrow(RangeError);
  });
  it('a uint32 is named when it is none', () => {
    expect(uint32(0xffff_ffff, 'xid')).toBe(0xffff_ffff);
    for (const value of [-1, 2 ** 32, 1.5, Number.NaN]) {
      expect(() => uint32(value, 'xid')).toThrow(`xid ${value} is not an integer from 0 to 4294967295`);
    }
  });
});

describe('relation paths', () => {
  const locator = { tablespace: 1663, database: 5, relfilenode: 16384 };
  it('are those of PostgreSQL', () => {
    expect(FORK_NAMES.map((name) => relationPath(locator, ForkNumber[name]))).toEqual([
      'base/5/16384',
      'base/5/16384_fsm',
      'base/5/16384_vm',
      'base/5/16384_init',
    ]);
    expect(relationPath({ tablespace: GLOBAL_TABLESPACE, database: 0, relfilenode: 1260 }, ForkNumber.vm)).toBe(
      'global/1260_vm',
    );
  });
  it('number forks as PostgreSQL does', () => {
    expect(ForkNumber).toEqual({ main: 0, fsm: 1, vm: 2, init: 3 });
    expect(FORK_NAMES.map((name, number) => ForkNumber[name] === number)).toEqual([true, true, true, true]);
    expect(forkSuffix(ForkNumber.main)).toBe('');
  });
});

describe('the byte order of the host', () => {
  afterEach(() => vi.unstubAllGlobals());
  it('is looked at when the package is imported', async () => {
    vi.resetModules();
    vi.stubGlobal(
      'Uint16Array',
      class {
        readonly buffer = new Uint8Array([0, 1]).buffer; // how a big-endian host lays down a 1
      },
    );
    await expect(import('@blockwright/base')).rejects.toThrow('big-endian');
    vi.unstubAllGlobals();
    vi.resetModules();
    await expect(import('@blockwright/base')).resolves.toBeDefined();
  });
  it('is refused when the first byte of 1 is not 1', () => {
    expect(() => refuseBigEndianHost(0)).toThrow('big-endian');
    expect(() => refuseBigEndianHost(1)).not.toThrow();
    expect(() => refuseBigEndianHost()).not.toThrow();
  });
});

it('the tests run against the source', () => {
  expect(import.meta.resolve('@blockwright/base')).toMatch(/\/src\/index\.ts$/);
});
