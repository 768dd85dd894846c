// The kernel's bytes against its source, its answers against the TypeScript, and what happens where there is no kernel.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  checksumKernel,
  kernelInstance,
  kernelMemory,
  type PageMemory,
  PageMemoryViews,
  pageChecksum,
  pageHash,
  pageHashes,
  pageHashPortable,
} from '@blockwright/page';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { KERNEL } from '../scripts/kernel.ts';
import { ChecksumKernels, REQUESTS_AFTER_REFUSAL, type WebAssemblyHost } from '../src/kernel.ts';

const host = (globalThis as unknown as { WebAssembly: WebAssemblyHost }).WebAssembly;

/** The same bytes, in memory without a kernel. */
const ordinary = (m: PageMemory): PageMemory => new PageMemoryViews(m.u8.buffer, 0, m.u8.length);

describe('the bytes of the kernel', () => {
  const source = readFileSync(KERNEL.source, 'utf8');

  it('are what its source compiles to', async () => {
    expect(KERNEL.textOf(await KERNEL.compile(source))).toBe(readFileSync(KERNEL.file, 'utf8'));
  });

  it('canary: a source that was changed since is found', async () => {
    const changed = source.replace('16777619', '16777617');
    expect(changed).not.toBe(source);
    expect(KERNEL.textOf(await KERNEL.compile(changed))).not.toBe(readFileSync(KERNEL.file, 'utf8'));
  });

  it('canary: a source that does not compile is an error', async () => {
    await expect(KERNEL.compile(source.replace('v128.load(at)', 'v128.load(nowhere)'))).rejects.toThrow(/nowhere/);
  });

  it('are few enough that browsers compile them in the main thread', async () => {
    expect((await KERNEL.compile(source)).length).toBeLessThan(4096);
  });
});

describe.each(BLOCK_SIZES)('the hash of pages of %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  const PAGES = 4;
  const m = kernelMemory(PAGES * size + 8);
  const last = PAGES * size - size + 8;

  function expectAllAlike(base: number): void {
    const right = pageHashPortable(m, base, g);
    const before = Buffer.from(m.u8);
    expect(pageHash(m, base, g)).toBe(right);
    expect(pageHash(ordinary(m), base, g)).toBe(right);
    expect(before.equals(m.u8)).toBe(true);
  }

  it('is computed by the kernel here', () => {
    expect(checksumKernel()).toBe('simd');
    expect(m.kernel).not.toBe(null);
    expect(ordinary(m).kernel).toBe(null);
  });

  it('is the same in place, on a copy and in TypeScript, wherever the page lies', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: last >>> 3 }), fc.nat(3), (seed, eighth, sparse) => {
        let word = seed || 1;
        for (let i = 0; i < m.u32.length; i++) {
          word ^= word << 13;
          word ^= word >>> 17;
          word ^= word << 5;
          m.u32[i] = (word & sparse) === 0 ? word : 0;
        }
        expectAllAlike(eighth << 3);
      }),
      { numRuns: 60 },
    );
    for (const pattern of [0x00, 0xff, 0x01, 0x80]) {
      m.u8.fill(pattern);
      expectAllAlike(last);
    }
  });

  it('is the same at every base', () => {
    for (let i = 0; i < m.u32.length; i++) m.u32[i] = Math.imul(i + 3, 0x9e3779b1) ^ (i << 7);
    for (let base = 0; base <= last; base += 8) {
      const right = pageHashPortable(m, base, g);
      if (pageHash(m, base, g) !== right || pageHash(ordinary(m), base, g) !== right) expect(base).toBe('alike');
    }
  });

  it('sees each byte but those of pd_checksum', () => {
    const hash = pageHash(m, 0, g);
    for (let at = 0; at < size; at++) {
      m.u8[at]! ^= 0x80;
      expect([at, pageHash(m, 0, g) === hash]).toEqual([at, at === 8 || at === 9]);
      m.u8[at]! ^= 0x80;
    }
  });

  it('of a page at the very end of a WebAssembly memory is computed without a trap', () => {
    const whole = kernelMemory(65536);
    expect(whole.u8.buffer.byteLength).toBe(65536);
    whole.u8.fill(0x5a, 65536 - size);
    expect(pageHash(whole, 65536 - size, g)).toBe(pageHashPortable(whole, 65536 - size, g));
  });

  it('goes into the checksum of every block', () => {
    for (const pattern of [0x00, 0xff, 0x01, 0x80]) {
      m.u8.fill(pattern);
      for (const block of [0, 50, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2]) {
        const sum = pageChecksum(m, size, g, block);
        expect(sum).toBe((((pageHashPortable(m, size, g) ^ block) >>> 0) % 65535) + 1);
        expect(pageChecksum(ordinary(m), size, g, block)).toBe(sum);
      }
    }
  });

  it('is the same for many pages at once', () => {
    const many = kernelMemory(Math.max(67 * 1024, 3 * size) & ~(size - 1));
    for (let i = 0; i < many.u32.length; i++) many.u32[i] = Math.imul(i + 1, 0x85ebca6b);
    const count = (many.u8.length >>> g.shift) - 1;
    const right = Uint32Array.from({ length: count }, (_, i) => pageHashPortable(many, (i + 1) << g.shift, g));
    for (const memory of [many, ordinary(many)]) {
      const out = new Uint32Array(count + 1).fill(7);
      pageHashes(memory, size, g, count, out);
      expect([...out]).toEqual([...right, 7]);
      pageHashes(memory, 0, g, 0, out.fill(7));
      expect(new Set(out)).toEqual(new Set([7]));
      expect(() => pageHashes(memory, 0, g, count + 1, new Uint32Array(count))).toThrow(RangeError);
    }
  });
});

describe('kernelMemory', () => {
  it('is of the size that was asked for, and zero', () => {
    for (const bytes of [0, 4, 1024, 65532, 65536, 65540, 3 << 20]) {
      const { u8, u16, u32 } = kernelMemory(bytes);
      expect([u8.length, u16.length, u32.length]).toEqual([bytes, bytes >>> 1, bytes >>> 2]);
      expect(u8.every((byte) => byte === 0)).toBe(true);
    }
  });

  it('refuses what is no number of whole words up to 1 GiB', () => {
    for (const bytes of [-4, 1, 1022, 1.5, 2 ** 30 + 4, Number.NaN, 2 ** 40]) {
      expect(() => kernelMemory(bytes)).toThrow(RangeError);
    }
  });

  it('reaches 1 GiB, the pages at its end included', () => {
    const m = kernelMemory(2 ** 30);
    const g = BlockGeometry.of('32kB');
    m.u8.fill(0x33, 2 ** 30 - g.size);
    expect(m.kernel).not.toBe(null);
    expect(pageHash(m, 2 ** 30 - g.size, g)).toBe(pageHashPortable(m, 2 ** 30 - g.size, g));
  });

  it('can be had many hundred times', () => {
    const all = Array.from({ length: 600 }, () => kernelMemory(65536));
    expect(all.every(({ kernel }) => kernel !== null)).toBe(true);
  });
});

describe('kernelInstance', () => {
  // (module (import "env" "memory" (memory 1)) (func (export "first") (result i32) (i32.load (i32.const 0))))
  const HEX =
    '0061736d010000000105016000017f020f0103656e76066d656d6f727902000103020100' +
    '07090105666972737400000a0901070041002802000b';
  afterEach(() => vi.unstubAllGlobals());

  it('binds another module to the memory of a page, and compiles it once', () => {
    let compiled = 0;
    class Module {
      constructor(bytes: Uint8Array) {
        compiled++;
        return new host.Module(bytes);
      }
    }
    vi.stubGlobal('WebAssembly', { Module, Instance: host.Instance });
    const memories = [kernelMemory(1024), kernelMemory(1024)];
    for (const [i, memory] of memories.entries()) {
      memory.u32[0] = 77 + i;
      expect((kernelInstance(HEX, memory.kernel) as { first(): number }).first()).toBe(77 + i);
    }
    expect(compiled).toBe(1);
  });

  it('is null where there is no WebAssembly, or no kernel to the memory', () => {
    const { kernel } = kernelMemory(1024);
    expect(kernelInstance(HEX, null)).toBe(null);
    vi.stubGlobal('WebAssembly', undefined);
    expect(kernelInstance(HEX, kernel)).toBe(null);
  });

  it('throws for what is no module', () => {
    expect(() => kernelInstance('00', kernelMemory(1024).kernel)).toThrow(/WebAssembly.Module/);
  });
});

describe('where there is no kernel', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  /** The package as another platform loads it. */
  async function loadedWith(webAssembly: unknown): Promise<typeof import('@blockwright/page')> {
    vi.stubGlobal('WebAssembly', webAssembly);
    vi.resetModules();
    return import('@blockwright/page');
  }
  class Refusing {
    constructor() {
      throw new Error('refused');
    }
  }

  it.each([
    ['no WebAssembly', undefined, 'typescript'],
    ['a WebAssembly that does not take SIMD', { ...host, Module: Refusing }, 'typescript'],
    [
      'no room for a WebAssembly memory',
      { ...host, Memory: Refusing, Module: host.Module, Instance: host.Instance },
      'simd',
    ],
  ])('%s: all is as before, in TypeScript', async (_, webAssembly, kernel) => {
    const page = await loadedWith(webAssembly);
    expect(page.checksumKernel()).toBe(kernel);
    for (const size of BLOCK_SIZES) {
      const g = BlockGeometry.of(size);
      const m = page.kernelMemory(size * 2);
      expect([m.kernel, m.u8.length]).toEqual([null, size * 2]);
      m.u8.fill(0xa7);
      const right = pageHashPortable(m, size, g);
      expect(page.pageHash(m, size, g)).toBe(right);
      const out = new Uint32Array(1);
      page.pageHashes(m, size, g, 1, out);
      expect(out[0]).toBe(right);
      expect(page.pageChecksum(m, size, g, 7)).toBe(pageChecksum(m, size, g, 7));
    }
    expect(() => page.kernelMemory(2)).toThrow(RangeError);
  });

  it('a refused memory is not asked for at once again, and not given up for ever', () => {
    let asked = 0;
    let room = false;
    class Memory {
      constructor(limits: { initial: number; maximum: number }) {
        asked++;
        if (!room) throw new RangeError('could not allocate memory');
        return new host.Memory(limits);
      }
    }
    const kernels = new ChecksumKernels({
      Module: host.Module,
      Instance: host.Instance,
      Memory: Memory as unknown as WebAssemblyHost['Memory'],
    });
    expect(kernels.over(1024)).toBe(null);
    room = true;
    for (let i = 0; i < REQUESTS_AFTER_REFUSAL; i++) expect(kernels.over(1024)).toBe(null);
    expect(asked).toBe(1);
    expect(kernels.over(1024)).not.toBe(null);
    expect(asked).toBe(2);
  });

  it('a process without a compiler for WebAssembly computes the same', () => {
    const program = `
      import { BlockGeometry } from '@blockwright/geometry';
      import { checksumKernel, Page } from '@blockwright/page';
      const page = Page.create('8kB');
      page.add(Uint8Array.of(1, 2, 3));
      console.log(checksumKernel(), page.checksum(5));`;
    const run = (...flags: string[]): string => {
      const args = [
        ...flags,
        '--conditions=@blockwright/source',
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        program,
      ];
      const { stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: fileURLToPath(new URL('..', import.meta.url)),
        encoding: 'utf8',
      });
      return stdout.trim() || stderr;
    };
    const [kernel, sum] = run().split(' ');
    expect(kernel).toBe('simd');
    expect(run('--jitless')).toBe(`typescript ${sum}`);
  });
});
