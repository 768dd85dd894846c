// The constants against PostgreSQL itself (what servers of the six sizes wrote in their control files), against values
// looked up in its headers, and against the README's table.
import { readFileSync } from 'node:fs';
import { BLOCK_SIZES, BlockGeometry, formatBlockSize } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { constantsTable, README, TABLE } from '../scripts/constants-table.ts';

const FIXTURES = new URL('../../../fixtures/pg/', import.meta.url);

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const { constants, ...g } = BlockGeometry.of(size);
  it('pg_controldata of a real server says the same', () => {
    const text = readFileSync(new URL(`${size / 1024}k/expect/controldata.txt`, FIXTURES), 'utf8');
    const field = (name: string): number => Number(new RegExp(`^${name}: +(\\d+)$`, 'm').exec(text)?.[1]);
    expect(field('Database block size')).toBe(constants.BLCKSZ);
    expect(field('Blocks per segment of large relation')).toBe(constants.RELSEG_SIZE);
    expect(field('Maximum size of a TOAST chunk')).toBe(constants.TOAST_MAX_CHUNK_SIZE);
    expect(field('Size of a large-object chunk')).toBe(constants.LOBLKSIZE);
  });
  it('what the hot path reads is what the table says', () => {
    expect(g).toMatchObject({
      size: constants.BLCKSZ,
      segmentShift: Math.log2(constants.RELSEG_SIZE),
      segmentMask: constants.RELSEG_SIZE - 1,
      maxOffsetNumber: constants.MaxOffsetNumber,
      maxHeapTupleSize: constants.MaxHeapTupleSize,
      maxHeapTuplesPerPage: constants.MaxHeapTuplesPerPage,
      heapBlocksPerVmPage: constants.HEAPBLOCKS_PER_PAGE,
      slotsPerFsmPage: constants.SlotsPerFSMPage,
      fsmTreeDepth: constants.FSM_TREE_DEPTH,
    });
  });
  it('limits keep their relations', () => {
    const c = constants;
    expect(c.MaxHeapTupleSize % 8).toBe(0);
    expect(c.MaxHeapTuplesPerPage).toBeLessThan(c.MaxIndexTuplesPerPage);
    expect(c.MaxIndexTuplesPerPage).toBeLessThan(c.MaxOffsetNumber);
    // three index tuples, the special area and the header fill a B-tree page
    expect(24 + 16 + 3 * (c.BTMaxItemSize + 8 + 4)).toBeLessThanOrEqual(size);
    // four TOAST chunks, each with tuple header, key and length, fill a page
    expect(24 + 4 * (4 + 24 + 8 + 4 + c.TOAST_MAX_CHUNK_SIZE)).toBeLessThanOrEqual(size);
    expect(c.LeafNodesPerPage + c.NonLeafNodesPerPage).toBe(c.NodesPerPage);
    expect(c.FSM_CAT_STEP * 256).toBe(size);
    expect(c.FSM_ROOT_LEVEL).toBe(c.FSM_TREE_DEPTH - 1);
    expect(c.MULTIXACT_MEMBERGROUPS_PER_PAGE * 20).toBeLessThanOrEqual(size);
  });
});

/** The formatter pads the cells of a table in Markdown. */
const unpadded = (table: string): string => table.replace(/ +/g, ' ').replace(/-{2,}/g, '--').replace(/\n\n/g, '\n');

it('8 kB has the numbers that every PostgreSQL user knows', () => {
  expect(BlockGeometry.of(8192).constants).toEqual({
    BLCKSZ: 8192,
    RELSEG_SIZE: 131072,
    MaxOffsetNumber: 2048,
    MaxHeapTupleSize: 8160,
    MaxHeapTuplesPerPage: 291,
    TOAST_TUPLE_THRESHOLD: 2032,
    TOAST_TUPLE_TARGET_MAIN: 8160,
    TOAST_MAX_CHUNK_SIZE: 1996,
    LOBLKSIZE: 2048,
    MaxIndexTuplesPerPage: 408,
    MaxTIDsPerBTreePage: 1358,
    BTMaxItemSize: 2704,
    MAPSIZE: 8168,
    HEAPBLOCKS_PER_PAGE: 32672,
    NodesPerPage: 8164,
    NonLeafNodesPerPage: 4095,
    LeafNodesPerPage: 4069,
    SlotsPerFSMPage: 4069,
    FSM_CAT_STEP: 32,
    MaxFSMRequestSize: 8160,
    FSM_TREE_DEPTH: 3,
    FSM_ROOT_LEVEL: 2,
    CLOG_XACTS_PER_PAGE: 32768,
    SUBTRANS_XACTS_PER_PAGE: 2048,
    COMMIT_TS_XACTS_PER_PAGE: 819,
    MULTIXACT_OFFSETS_PER_PAGE: 2048,
    MULTIXACT_MEMBERGROUPS_PER_PAGE: 409,
    MULTIXACT_MEMBERS_PER_PAGE: 1636,
  });
});

it('the free space map is 4 deep at 1 and 2 kB and 3 above', () => {
  expect(BLOCK_SIZES.map((size) => BlockGeometry.of(size).fsmTreeDepth)).toEqual([4, 4, 3, 3, 3, 3]);
});

describe("the README's table", () => {
  const text = readFileSync(README, 'utf8');
  it('is what the code says', () => expect(unpadded(TABLE.exec(text)?.[0] ?? '')).toBe(unpadded(constantsTable())));
  it('names the file of every constant', () => expect(constantsTable()).not.toContain('?'));
  it('has a column a size', () => {
    for (const size of BLOCK_SIZES) expect(constantsTable().split('\n')[1]).toContain(formatBlockSize(size));
  });
});
