// The SIMD kernel of the checksum: compiled once, when first asked for, and bound to each memory that pages lie in.
// Where there is no WebAssembly, or one without SIMD, or no room for another memory, the answer is null, and checksum.ts
// computes the same in TypeScript.
import { KERNEL_HEX } from './kernel-bytes.ts';

/** The part of the WebAssembly interface that is used here: this package knows the types of no browser and no Node.js. */
export interface WebAssemblyHost {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: { env: { memory: object } }) => { readonly exports: object };
  readonly Memory: new (limits: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
}

interface KernelExports {
  hash(at: number, size: number): number;
  hashes(at: number, size: number, count: number, to: number): void;
}

/** A WebAssembly memory has whole pages of 64 kB, and never grows here: that would take the views away. */
const WASM_PAGE_SHIFT = 16;
/** So many hashes can be asked for in one call; they have room behind the memory's bytes. */
export const MOST_HASHES = 1024;
/** After the platform refused a memory, which costs it several garbage collections, so many requests are not tried. */
const REQUESTS_AFTER_REFUSAL = 63;

/** The kernel over one memory. */
export class ChecksumKernel {
  readonly buffer: ArrayBuffer;
  /** The WebAssembly.Memory of {@link buffer}, for other kernels over the same bytes. */
  readonly memory: object;
  /** The hash, int32, of the `size` bytes at `at`. */
  readonly hash: (at: number, size: number) => number;
  /** Puts the hashes of `count` pages, up to {@link MOST_HASHES}, at the start of {@link results}. */
  readonly hashes: (at: number, size: number, count: number, to: number) => void;
  readonly results: Uint32Array;

  /** @internal Bytes of the memory below `resultsAt` are for pages. */
  constructor(memory: { readonly buffer: ArrayBuffer }, exports: KernelExports, resultsAt: number) {
    const { buffer } = memory;
    this.buffer = buffer;
    this.memory = memory;
    this.hash = exports.hash;
    this.hashes = exports.hashes;
    this.results = new Uint32Array(buffer, resultsAt, MOST_HASHES);
  }
}

/** Makes memories with kernels, as far as the host can. */
export class ChecksumKernels {
  private readonly host: WebAssemblyHost | undefined;
  private module: object | null | undefined;
  private refusals = 0;

  constructor(host: WebAssemblyHost | undefined) {
    this.host = host;
  }

  /** Whether the host has WebAssembly with SIMD. */
  get supported(): boolean {
    return this.compiled() !== null;
  }

  /** A kernel over a new memory, all zero, of at least `bytes` bytes, at most 1 GiB; null when there can be none. */
  over(bytes: number): ChecksumKernel | null {
    const module = this.compiled();
    if (module === null || this.host === undefined) return null;
    if (this.refusals > 0) {
      this.refusals--;
      return null;
    }
    const resultsAt = (bytes + 7) & ~7;
    const pages = ((resultsAt + (MOST_HASHES << 2) - 1) >>> WASM_PAGE_SHIFT) + 1;
    try {
      const memory = new this.host.Memory({ initial: pages, maximum: pages });
      const { exports } = new this.host.Instance(module, { env: { memory } });
      return new ChecksumKernel(memory, exports as KernelExports, resultsAt);
    } catch {
      this.refusals = REQUESTS_AFTER_REFUSAL;
      return null;
    }
  }

  /** Validates the module too: without SIMD it is no valid one. */
  private compiled(): object | null {
    if (this.module === undefined) {
      try {
        this.module = this.host === undefined ? null : new this.host.Module(kernelBytes());
      } catch {
        this.module = null;
      }
    }
    return this.module;
  }
}

function kernelBytes(): Uint8Array {
  const bytes = new Uint8Array(KERNEL_HEX.length >>> 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(KERNEL_HEX.slice(i << 1, (i + 1) << 1), 16);
  return bytes;
}

/** The kernels of this process. */
export const KERNELS: ChecksumKernels = new ChecksumKernels(
  (globalThis as { WebAssembly?: WebAssemblyHost }).WebAssembly,
);
