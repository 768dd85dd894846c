// No division in the optimised machine code of the functions that map block numbers and walk pages, run from `dist`
// under a real workload, inlined code included. Each canary divides in a way of its own, and must be found.
import { beforeAll, describe, expect, it } from 'vitest';
import { type CodeBlock, divisions } from './disassembly.ts';
import { build, type Run, runWorkload } from './run.ts';

/** Methods that are not asked for, with the reason. */
const EXEMPT: Readonly<Record<string, readonly string[]>> = {
  BlockGeometry: [],
  VisibilityCursor: ['close', 'leave'], // give a pin back: nothing is computed, and BufferPool.unpin is a target
};

let run: Run;
beforeAll(() => {
  build();
  run = runWorkload();
}, 300_000);

/** @throws when the function was not optimised, or its code was not printed. */
function blockOf(id: string): CodeBlock {
  const target = run.targets.find((candidate) => candidate.id === id);
  if (target === undefined) throw new Error(`${id} is no target of the workload`);
  const blocks = (run.printed.get(id) ?? []).filter(
    ({ name, compiler }) => name === target.name && compiler.startsWith('turbofan'),
  );
  const block = blocks.at(-1);
  if (block === undefined || block.instructions.length === 0) {
    throw new Error(`no optimised code of ${id} (${target.name}) was printed on ${process.version}`);
  }
  return block;
}

const isCanary = (id: string): boolean => id.startsWith('canary.') || id === 'index-only scan: division';

describe('the machine code', () => {
  it('is that of the built packages', () => {
    expect(run.resolved).toMatch(/\/packages\/geometry\/dist\/index\.js$/);
  });

  it('was printed for every target', () => {
    expect(run.targets.length).toBeGreaterThan(50);
    expect(new Set(run.targets.map(({ id }) => id)).size).toBe(run.targets.length);
    for (const { id } of run.targets) {
      const { instructions } = blockOf(id);
      expect([id, instructions.length > 5]).toEqual([id, true]);
      // every function returns: the block was read to where it does
      expect([id, instructions.some((line) => /^ret/.test(line))]).toEqual([id, true]);
    }
  });

  it('divides nowhere', () => {
    const found = run.targets
      .filter(({ id }) => !isCanary(id))
      .flatMap(({ id }) => divisions(blockOf(id)).map((instruction) => `${id}: ${instruction}`));
    expect(found).toEqual([]);
  });

  it.each([
    'geometry',
    'cursor',
    'buffers',
    'line pointers',
    'heap',
    'changes',
    'redo',
    'compaction',
    'TIDs',
    'B-trees',
    'index-only scan',
  ] as const)('covers %s', (what) => {
    const some = {
      geometry: ['BlockGeometry.vmBlockOf', 'BlockGeometry.fsmPhysicalOf', 'BlockGeometry.clogByteOf'],
      cursor: ['VisibilityCursor.status', 'VisibilityCursor.cross'],
      buffers: ['BufferPool.pin', 'BufferPool.unpin', 'BufferPool.base'],
      'line pointers': ['linePointer', 'lpOffset', 'checkedItem'],
      heap: [
        'HeapScan.next',
        'HeapScan.readPage',
        'collectVisible',
        'collectForSnapshot',
        'countForSnapshot',
        'satisfiesMvcc',
        'heapCount',
      ],
      changes: ['PageLog.begin', 'PageLog.page', 'PageLog.finish', 'VisibilityMap.pinToClear'],
      redo: ['RedoPages.fetch', 'RedoPages.init', 'BufferPool.pinZeroed', 'clearVisibilityBits'],
      compaction: ['pageRepairFragmentation', 'pageIndexMultiDelete', 'moveThroughScratch', 'moveRuns', 'sortItems'],
      TIDs: ['RadixTidStore.has', 'RadixTidStore.add', 'RadixTree.find', 'SortedArrayTidStore.has'],
      'B-trees': ['collectItems', 'binarySearch', 'descend', 'BtreeScan.nextPage', 'BtreeLookup.next'],
      'index-only scan': [
        'index-only scan: window',
        'index-only scan: cursor, runs',
        'index-only scan: entries of a leaf',
      ],
    }[what];
    for (const id of some) expect(() => blockOf(id)).not.toThrow();
  });

  it('is asked for of every function that the geometry exports', () => {
    expect(run.functions.length).toBeGreaterThan(2);
    expect(run.targets.map(({ id }) => id)).toEqual(expect.arrayContaining([...run.functions]));
  });

  it('is asked for of every method of the geometry and of the cursor', () => {
    for (const [type, methods] of Object.entries(run.prototypes)) {
      const asked = run.targets.filter(({ id }) => id.startsWith(`${type}.`)).map(({ name }) => name);
      expect([type, [...asked, ...(EXEMPT[type] ?? [])].sort()]).toEqual([type, [...methods].sort()]);
    }
  });
});

describe('the search', () => {
  it.each([
    'canary.inlined',
    'canary.signed',
    'canary.unsigned',
    'canary.double',
    'canary.doubleRemainder',
    'canary.bigint',
    'index-only scan: division',
  ])('finds the division of %s', (id) => {
    expect(divisions(blockOf(id))).not.toEqual([]);
  });

  it('finds an inlined one in the caller, not in a block of its own', () => {
    const names = (run.printed.get('canary.inlined') ?? []).map(({ name }) => name);
    expect(names).toContain('canaryInlined');
    expect(names).not.toContain('slotOf');
  });

  it.each(['innocent.shift', 'innocent.text'])('finds none in %s', (id) => {
    expect(divisions(blockOf(id))).toEqual([]);
  });

  it('fails where a block is missing', () => {
    expect(() => blockOf('BlockGeometry.noSuchMethod')).toThrow('is no target');
    const before = run;
    run = { ...run, printed: new Map([...run.printed].filter(([id]) => id !== 'BufferPool.pin')) };
    expect(() => blockOf('BufferPool.pin')).toThrow('no optimised code of BufferPool.pin (pin)');
    run = before;
  });

  it.each([
    'idivl r8',
    'divl [rbp-0x10]',
    'idivq rbx',
    'divq rcx',
    'vdivsd xmm0,xmm0,xmm1',
    'divsd xmm0,xmm1',
    'vdivps xmm0,xmm1',
    'fprem',
    'sdiv w0, w1, w2',
    'udiv x0, x1, x2',
    'fdiv d0, d0, d1',
    'call 0x7f (BigIntDivideNoThrow)    ;; near builtin entry',
    'call 0x7f (Modulus_WithFeedback)    ;; near builtin entry',
  ])('knows %s', (line) => {
    expect(divisions({ name: 'f', compiler: 'turbofan', instructions: [line] })).toEqual([line]);
  });

  it.each([
    'shrl rcx, 13',
    'imull rax,rdx,0x7fa0',
    'movq rdi,[rsi+0x3f]',
    "call [r13-0x38]    ;; debug: deopt reason 'division by zero'",
    'call 0x7f (DoubleToI)    ;; near builtin entry',
  ])('leaves %s alone', (line) => {
    expect(divisions({ name: 'f', compiler: 'turbofan', instructions: [line] })).toEqual([]);
  });
});
