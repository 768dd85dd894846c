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

/** The kernel over one memory. */
export interface ChecksumKernel {
  /** The WebAssembly.Memory, for other kernels over the same bytes. It never grows: that would take the views away. */
  readonly memory: { readonly buffer: ArrayBuffer };
  /** The hash, int32, of the `size` bytes at `at`. */
  readonly hash: (at: number, size: number) => number;
}

/** A WebAssembly memory has whole pages of 64 kB. */
const WASM_PAGE_SHIFT = 16;
/** After the platform refused a memory, which costs it several garbage collections, so many requests are not tried. */
export const REQUESTS_AFTER_REFUSAL = 63;

/** Makes memories with kernels, as far as the host can. */
export class ChecksumKernels {
  private readonly host: WebAssemblyHost | undefined;
  private module: object | null | undefined;
  private untried = 0;

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
    if (this.untried > 0) {
      this.untried--;
      return null;
    }
    const pages = (bytes + (1 << WASM_PAGE_SHIFT) - 1) >>> WASM_PAGE_SHIFT;
    try {
      const memory = new this.host.Memory({ initial: pages, maximum: pages });
      const { exports } = new this.host.Instance(module, { env: { memory } });
      return { memory, hash: (exports as Pick<ChecksumKernel, 'hash'>).hash };
    } catch {
      this.untried = REQUESTS_AFTER_REFUSAL;
      return null;
    }
  }

  /** To compile is to validate: without SIMD it is no valid module. */
  private compiled(): object | null {
    if (this.module === undefined) {
      try {
        this.module = this.host === undefined ? null : new this.host.Module(bytesOfHex(KERNEL_HEX));
      } catch {
        this.module = null;
      }
    }
    return this.module;
  }
}

const modules = new Map<string, object>();

/**
 * What another WebAssembly module exports, bound to the memory of a kernel of this package as its `env.memory`; null
 * where there is no WebAssembly, or no such memory. A module is compiled once.
 * @param hex its bytes, in hexadecimal
 * @throws the platform's CompileError or LinkError for what is no module over a memory alone.
 */
export function kernelInstance(hex: string, kernel: Pick<ChecksumKernel, 'memory'> | null): object | null {
  const host = platform();
  if (kernel === null || host === undefined) return null;
  let module = modules.get(hex);
  if (module === undefined) {
    module = new host.Module(bytesOfHex(hex));
    modules.set(hex, module);
  }
  return new host.Instance(module, { env: { memory: kernel.memory } }).exports;
}

function bytesOfHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length >>> 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(i << 1, (i + 1) << 1), 16);
  return bytes;
}

function platform(): WebAssemblyHost | undefined {
  return (globalThis as { WebAssembly?: WebAssemblyHost }).WebAssembly;
}

/** The kernels of this process. */
export const KERNELS: ChecksumKernels = new ChecksumKernels(platform());
