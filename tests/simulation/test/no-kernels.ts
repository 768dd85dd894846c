// A WebAssembly memory reserves gigabytes of addresses and costs milliseconds. A simulation opens thousands of databases:
// here none can be made, and checksums are computed in TypeScript. To be imported before the engine.

class NoMemory {
  constructor() {
    throw new RangeError('no WebAssembly memories in the simulation');
  }
}

const host = globalThis as unknown as { WebAssembly?: { Memory: unknown } };
if (host.WebAssembly !== undefined) host.WebAssembly.Memory = NoMemory;
