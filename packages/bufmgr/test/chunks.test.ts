// Both kinds of a chunk's memory, and what happens when the platform gives one of them, or neither.
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { KERNEL_CHUNK_BYTES } from '../src/frames.ts';
import { look, put, stampedPage } from './pages.ts';
import { SparseFork } from './sparse-fork.ts';

/** Whether the page lies in memory that a kernel reads. */
const isInWebAssembly = (pool: BufferPool, f: SparseFork): boolean =>
  pool.withPage(f, 0, ({ kernel, u8 }) => {
    expect(kernel === null || kernel.memory.buffer === u8.buffer).toBe(true);
    return kernel !== null;
  });

/** Whether block `b` was written with this number on it and the right checksum. */
const wasWritten = (f: SparseFork, g: BlockGeometry, b: number, value: number): boolean =>
  Buffer.compare(f.written.get(b) as Uint8Array, stampedPage(g, b, value)) === 0;

describe.each(BLOCK_SIZES)('chunks of pages of %i bytes', (size) => {
  const geometry = BlockGeometry.of(size);
  const kernelBuffers = KERNEL_CHUNK_BYTES / size;

  test.each([
    ['ordinary', kernelBuffers - 1, false],
    ['WebAssembly', kernelBuffers, true],
  ])('in %s memory: checksums are written, verified, and wrong ones found', (_, buffers, inWebAssembly) => {
    const pool = new BufferPool({ geometry, buffers });
    const f = new SparseFork(geometry, 20);
    for (let b = 0; b < 20; b++) put(pool, f, b, b + 7);
    expect(isInWebAssembly(pool, f)).toBe(inWebAssembly);
    expect(pool.flushAll()).toBe(20);
    for (let b = 0; b < 20; b++) expect([b, wasWritten(f, geometry, b, b + 7)]).toEqual([b, true]);
    pool.dropFork(f, 0);
    for (let b = 0; b < 19; b++) expect(look(pool, f, b)).toBe(b + 7);
    (f.written.get(19) as Uint8Array)[size - 5]! ^= 1;
    expect(() => pool.pin(f, 19)).toThrow(expect.objectContaining({ code: 'XX001' }));
    pool.close();
  });

  test('a last chunk that is small is ordinary memory, beside others that are not', () => {
    const pool = new BufferPool({ geometry, buffers: kernelBuffers + 16, chunkBytes: KERNEL_CHUNK_BYTES });
    const f = new SparseFork(geometry, kernelBuffers + 16);
    for (let b = 0; b < kernelBuffers + 16; b++) put(pool, f, b, b);
    const ids = [0, kernelBuffers].map((b) => pool.pin(f, b));
    expect(ids.map((id) => pool.memory(id).kernel !== null)).toEqual([true, false]);
    for (const id of ids) pool.unpin(id);
    expect(pool.flushAll()).toBe(kernelBuffers + 16);
    for (const b of [0, kernelBuffers - 1, kernelBuffers, kernelBuffers + 15]) {
      expect([b, wasWritten(f, geometry, b, b)]).toEqual([b, true]);
    }
  });
});

describe('pools after pools', () => {
  const geometry = BlockGeometry.of('8kB');

  test('many at once, and many more that were closed, all have memory', () => {
    const buffers = KERNEL_CHUNK_BYTES >>> geometry.shift;
    const f = new SparseFork(geometry, 4);
    const open: BufferPool[] = [];
    for (let i = 0; i < 800; i++) {
      const pool = new BufferPool({ geometry, buffers });
      put(pool, f, 1, i);
      expect(isInWebAssembly(pool, f)).toBe(true);
      if (i < 200) open.push(pool);
      else pool.close();
    }
    expect(open.map((pool) => look(pool, f, 1))).toEqual(open.map((_, i) => i));
    for (const pool of open) pool.abandon();
  });
});

describe('when the platform refuses', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });
  const geometry = BlockGeometry.of('8kB');
  const buffers = KERNEL_CHUNK_BYTES >>> geometry.shift;
  const { WebAssembly: original } = globalThis as unknown as { WebAssembly: Record<string, unknown> };
  class NoMemory {
    constructor() {
      throw new RangeError('could not allocate memory');
    }
  }
  /** The package, where a WebAssembly.Memory is refused. */
  async function freshPool(): Promise<typeof BufferPool> {
    vi.stubGlobal('WebAssembly', {
      Module: original['Module'],
      Instance: original['Instance'],
      Memory: NoMemory,
    });
    vi.resetModules();
    return (await import('@blockwright/bufmgr')).BufferPool;
  }

  test('a WebAssembly memory, the chunk is ordinary memory', async () => {
    const pool = new (await freshPool())({ geometry, buffers });
    const f = new SparseFork(geometry, 4);
    put(pool, f, 2, 9);
    expect(isInWebAssembly(pool, f)).toBe(false);
    pool.close();
    expect(wasWritten(f, geometry, 2, 9)).toBe(true);
  });

  test('all memory, the error says what was asked for, and the pool goes on with what it has', async () => {
    const pool = new (await freshPool())({ geometry, buffers: 2 * buffers, chunkBytes: KERNEL_CHUNK_BYTES });
    const f = new SparseFork(geometry, 2 * buffers);
    for (let b = 0; b < buffers; b++) put(pool, f, b, b);
    vi.stubGlobal('ArrayBuffer', NoMemory);
    expect(() => pool.pin(f, buffers)).toThrow(
      expect.objectContaining({
        code: '53200',
        message: 'no memory for another 1048576 bytes of the buffer pool',
        detail: `The pool was given ${2 * buffers} buffers of 8192 bytes; ${buffers} have been used so far.`,
      }),
    );
    vi.unstubAllGlobals();
    expect(look(pool, f, 5)).toBe(5);
    put(pool, f, buffers, 1);
    pool.close();
    expect(f.written.size).toBe(buffers + 1);
  });
});
